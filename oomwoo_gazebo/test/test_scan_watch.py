"""Why there is no scan: the reason for each stage that Gazebo may be stuck at, and the node."""
import time

from oomwoo_gazebo.scan_watch import CLOCK, diagnosis, JOINTS, SCAN
from oomwoo_gazebo.scan_watch_node import ScanWatchNode
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, LaserScan


@pytest.mark.parametrize('heard, software, card, reason, words', [
    ((), False, True, 'no_gazebo', 'has not started'),
    ((CLOCK,), False, True, 'no_robot', 'ros_gz_sim create'),
    ((CLOCK, JOINTS), True, False, 'no_rendering', 'libegl1'),
    ((CLOCK, JOINTS), False, True, 'no_rendering', 'try LIBGL_ALWAYS_SOFTWARE=1'),
    ((CLOCK, JOINTS), False, False, 'no_rendering', 'headless:=true'),
    ((CLOCK, JOINTS, SCAN), False, True, 'scan_ceased', 'ceased')])
def test_each_stage_has_its_reason_and_what_to_do(heard, software, card, reason, words):
    """The furthest that was reached counts."""
    code, sentence = diagnosis(set(heard), software, card)
    assert code == reason and words in sentence


def test_the_node_says_so_in_time_and_takes_it_back():
    """First nothing, then a robot without scans, then scans, then none any more."""
    rclpy.init(args=['--ros-args', '-p', 'first_s:=1.0', '-p', 'stale_s:=0.6'])
    watch, node = ScanWatchNode(), rclpy.create_node('scan_watch_test')
    executor = SingleThreadedExecutor()
    executor.add_node(watch)
    executor.add_node(node)
    speakers = {kind: node.create_publisher(kind, topic, 10) for kind, topic in (
        (Clock, '/clock'), (JointState, 'joint_states'), (LaserScan, 'scan'))}

    def reason_after(*kinds):
        """Return the reason codes that it goes through while ``kinds`` are published."""
        seen, end = [], time.monotonic() + 30.0
        while time.monotonic() < end:
            for kind in kinds:
                speakers[kind].publish(kind())
            executor.spin_once(timeout_sec=0.05)
            code = {kv.key: kv.value for kv in watch._status.values}['reason_code']
            if code not in seen:
                seen.append(code)
            yield seen

    try:
        def until(wanted, *kinds):
            return any(wanted in seen for seen in reason_after(*kinds))

        assert until('no_gazebo')
        assert until('no_rendering', Clock, JointState)
        assert 'no scan on /scan: Gazebo runs and does not render' in watch._status.message
        assert until('', Clock, JointState, LaserScan)
        assert watch._status.message == 'scans come in' and not watch._clues
        assert until('scan_ceased', Clock)
    finally:
        executor.shutdown()
        watch.destroy_node()
        node.destroy_node()
        rclpy.try_shutdown()
