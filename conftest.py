"""
Give each pytest process a ROS domain of its own, and Hypothesis time.

Packages are tested in parallel, and several checkouts may share a machine: a test must not see
another's topics. Whoever runs pytest below this folder gets a domain that no other such process
holds, for as long as it runs; its child processes inherit it.
"""

import fcntl
import os
import re
import socket
import tempfile

import hypothesis
import pytest

# A busy machine is no reason for a test to fail, and two runs of one commit say the same.
# HYPOTHESIS_PROFILE=search looks for new counterexamples instead.
hypothesis.settings.register_profile('oomwoo', deadline=None, derandomize=True)
hypothesis.settings.register_profile('search', deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'oomwoo'))

# env.sh gives people 1 to 19; above 101 the ports of a domain may be taken by others on Linux.
TEST_DOMAINS = range(20, 102)
_DAEMON_PORT = 11511
_GRAPH = re.compile(r'\b(rclpy|ros2|Popen|LaunchService)\b')


def claim_domain():
    """Return a domain number that no other process has claimed, or the last if all are taken."""
    first = os.getpid() % len(TEST_DOMAINS)
    for offset in range(len(TEST_DOMAINS)):
        domain = TEST_DOMAINS[(first + offset) % len(TEST_DOMAINS)]
        path = os.path.join(tempfile.gettempdir(), f'oomwoo-{os.getuid()}-domain-{domain}.lock')
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        return domain  # the open descriptor holds the lock until the process ends
    return domain


def pytest_configure(config):
    """Claim the domain before any test imports rclpy."""
    os.environ['ROS_DOMAIN_ID'] = str(claim_domain())
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'


@pytest.fixture(scope='module', autouse=True)
def domain_of_the_module():
    """Give each module its own domain: it does not hear what a failed test left running."""
    stop_daemon()
    os.environ['ROS_DOMAIN_ID'] = str(claim_domain())


def pytest_collection_modifyitems(items):
    """Mark tests of the modules that start processes of a graph: they wait more than compute."""
    waits = {}
    for item in items:
        path = item.path
        if path not in waits:
            waits[path] = bool(_GRAPH.search(path.read_text(encoding='utf-8')))
        if waits[path]:
            item.add_marker(pytest.mark.graph)


def pytest_unconfigure(config):
    """Leave no daemon behind."""
    stop_daemon()


def stop_daemon():
    """Stop the ros2 daemon of this domain, if a test had one started."""
    address = ('127.0.0.1', _DAEMON_PORT + int(os.environ['ROS_DOMAIN_ID']))
    try:
        socket.create_connection(address, timeout=0.2).close()
    except OSError:
        return
    os.system('ros2 daemon stop >/dev/null 2>&1')
