"""The watchdog: what it makes of what it sees, and over real DDS."""
from pathlib import Path
import subprocess
import sys
import time

import pytest
import rclpy
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from scan_watchdog import diagnose, Facts, running
from sensor_msgs.msg import LaserScan

WATCHDOG = Path(__file__).resolve().parents[1] / 'scan_watchdog.py'
GAZEBO = {'gazebo', 'bridge'}


@pytest.mark.parametrize('facts, says', [
    (Facts(), 'no simulator is running'),
    (Facts({'bridge'}), 'no simulator is running'),
    (Facts({'gazebo'}), 'ros_gz_bridge is not running'),
    (Facts(GAZEBO), 'still loading its world'),
    (Facts({'embedded'}), 'embedded simulator is still starting'),
    (Facts(GAZEBO, (5.0, 5.0), 1), 'paused'),
    (Facts(GAZEBO, (5.0, 9.0), 0), 'nobody publishes it'),
    (Facts(GAZEBO, (5.0, 9.0), 1), 'there is no graphics card'),
    (Facts(GAZEBO, (5.0, 9.0), 1, software_gl=True), 'complained about EGL'),
    (Facts(GAZEBO, (5.0, 9.0), 1, render_device=True), 'OOMWOO_GL=software'),
    (Facts({'embedded'}, (5.0, 9.0), 1), 'too slow for this machine'),
    (Facts(GAZEBO, (5.0, 9.0), 1, True, shared_memory_mb=64), '--shm-size')])
def test_the_reason_follows_from_what_is_seen(facts, says):
    assert says in '; '.join(diagnose(facts))


def test_programs_are_known_by_their_command_lines(tmp_path):
    for number, line in enumerate([
            b'ruby\0/usr/bin/gz\0sim\0-r\0room.sdf',
            b'/opt/ros/lib/ros_gz_bridge/parameter_bridge', b'bash',
            b'ros2 launch oomwoo_sim_support embedded_sim']):
        folder = tmp_path / str(number + 1)
        folder.mkdir()
        (folder / 'cmdline').write_bytes(line)
    assert running(tmp_path) == GAZEBO


def watchdog(*arguments):
    """Start the watchdog."""
    return subprocess.Popen(
        [sys.executable, WATCHDOG, *arguments], stderr=subprocess.PIPE, text=True)


def test_it_says_within_twenty_seconds_that_none_comes_and_then_that_some_do():
    process = watchdog('--topic', 'kitchen/scan', '--patience', '3')
    rclpy.init()
    node = rclpy.create_node('simulator')
    try:
        began = time.monotonic()
        line = process.stderr.readline()
        assert 'no scan on kitchen/scan' in line and ' for ' in line
        assert time.monotonic() - began < 40.0          # of a loaded machine
        scans = node.create_publisher(LaserScan, 'kitchen/scan', qos_profile_sensor_data)
        clocks = node.create_publisher(Clock, 'clock', 10)
        timer = node.create_timer(
            0.05, lambda: (scans.publish(LaserScan()), clocks.publish(Clock())))
        until = time.monotonic() + 20.0
        while time.monotonic() < until and process.poll() is None:
            rclpy.spin_once(node, timeout_sec=0.1)
            if scans.get_subscription_count() and time.monotonic() > until - 15.0:
                break
        assert scans.get_subscription_count() == 1
        ending = time.monotonic() + 4.0
        while time.monotonic() < ending:
            rclpy.spin_once(node, timeout_sec=0.1)
        timer.cancel()
        process.terminate()
        assert 'scans arrive on kitchen/scan' in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        node.destroy_node()
        rclpy.shutdown()


def test_once_tells_by_its_status():
    process = watchdog('--once', '--patience', '1')
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and 'no scan on scan for 1 s: ' in said
