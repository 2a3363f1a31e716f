"""What calls navigation healthy: somebody who takes goals, and Nav2 only when it is active."""
from contextlib import contextmanager
from pathlib import Path
import subprocess
import sys
import threading

from nav2_msgs.action import NavigateToPose
import pytest
import rclpy
from rclpy.action import ActionServer
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

CHECK = Path(__file__).resolve().parents[1] / 'navigation_ready.py'


@contextmanager
def navigator(active=None):
    """Offer the action; ``active`` is what a lifecycle manager says, None for none."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('navigator', context=context)
    server = ActionServer(node, NavigateToPose, 'navigate_to_pose', lambda handle: None)

    def answer(request, response):
        response.success = active
        return response

    if active is not None:
        node.create_service(Trigger, 'lifecycle_manager_navigation/is_active', answer)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    try:
        yield
    finally:
        executor.shutdown()
        thread.join()
        server.destroy()
        node.destroy_node()
        context.shutdown()


def check(patience_s):
    """Run the check; return its exit status and what it said."""
    ended = subprocess.run(
        [sys.executable, CHECK, '--patience', str(patience_s)], capture_output=True, text=True,
        timeout=90)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize('active', [None, True])
def test_who_takes_goals_is_healthy(active):
    with navigator(active):
        assert check(30.0) == (0, '')


def test_nav2_that_is_not_active_is_not():
    with navigator(False):
        status, said = check(3.0)
    assert status == 1 and 'lifecycle_manager_navigation has not brought up Nav2' in said


def test_nobody_is_not():
    status, said = check(0.5)
    assert (status, said) == (1, 'navigation: navigate_to_pose has no server\n')
