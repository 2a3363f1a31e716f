"""
Give each pytest process a ROS domain of its own.

Packages are tested in parallel, and several checkouts may share a machine: a test must not see
another's topics. Whoever runs pytest below this folder gets a domain that no other such process
holds, for as long as it runs; its child processes inherit it.
"""

import fcntl
import os
import socket
import tempfile

# env.sh gives people 1 to 19; above 101 the ports of a domain may be taken by others on Linux.
TEST_DOMAINS = range(20, 102)
_DAEMON_PORT = 11511
_held = []


def claim_domain():
    """Return a domain number that no other process has claimed, or the last if all are taken."""
    first = os.getpid() % len(TEST_DOMAINS)
    for offset in range(len(TEST_DOMAINS)):
        domain = TEST_DOMAINS[(first + offset) % len(TEST_DOMAINS)]
        path = os.path.join(tempfile.gettempdir(), f'oomwoo-{os.getuid()}-domain-{domain}.lock')
        handle = open(path, 'w')
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.close()
            continue
        _held.append(handle)  # the lock is let go when the process ends
        return domain
    return domain


def pytest_configure(config):
    """Claim the domain before any test imports rclpy."""
    os.environ['ROS_DOMAIN_ID'] = str(claim_domain())
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'


def pytest_unconfigure(config):
    """Stop the ros2 daemon of this domain, if a test had one started."""
    address = ('127.0.0.1', _DAEMON_PORT + int(os.environ['ROS_DOMAIN_ID']))
    try:
        socket.create_connection(address, timeout=0.2).close()
    except OSError:
        return
    os.system('ros2 daemon stop >/dev/null 2>&1')
