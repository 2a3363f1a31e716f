"""The LiDAR driver's node over real DDS, its LiDAR a pseudo terminal."""
import os
import subprocess
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
from lidar_stream import FakeLidar
from lidar_stream import turn as turn_bytes
from oomwoo_localization.ros_support import LATCHED_QOS, scan_from_msg, SENSOR_QOS
import pytest
import rclpy
from sensor_msgs.msg import LaserScan

PATIENCE_S = 60.0             # of a loaded machine


class Listener:
    """Collects scans and the driver's status."""

    def __init__(self):
        """Join the graph."""
        rclpy.init()
        self.node = rclpy.create_node('listener')
        self.scans, self.states = [], {}
        self.node.create_subscription(LaserScan, 'scan', self.scans.append, SENSOR_QOS)
        self.node.create_subscription(
            DiagnosticStatus, 'lidar_driver/status', self._on_status, LATCHED_QOS)

    def _on_status(self, msg):
        values = {pair.key: pair.value for pair in msg.values}
        self.states[values.get('state')] = msg.message

    def wait(self, happened):
        """Spin until ``happened()``."""
        until = time.monotonic() + PATIENCE_S
        while not happened():
            assert time.monotonic() < until, self.states
            rclpy.spin_once(self.node, timeout_sec=0.1)

    def close(self):
        """Leave the graph."""
        self.node.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def listener():
    """Return a listener."""
    found = Listener()
    yield found
    found.close()


def started(*parameters):
    """Start the node."""
    command = [sys.executable, '-m', 'oomwoo_bringup.lidar_driver_node', '--ros-args']
    for parameter in parameters:
        command += ['-p', parameter]
    return subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.PIPE, text=True)


def test_scans_then_silence_then_garbage_then_no_port(listener):
    fake = FakeLidar(turn_bytes())
    process = started(f'port:={fake.port}', 'frame_id:=front_scan')
    try:
        listener.wait(lambda: len(listener.scans) >= 2 and 'SCANNING' in listener.states)
        msg = listener.scans[-1]
        scan = scan_from_msg(msg)
        assert msg.header.frame_id == 'front_scan' and len(scan.ranges) == 360
        # Ahead is the far wall, on the right the near one: the LiDAR turns clockwise.
        assert scan.ranges[180] == pytest.approx(2.0, abs=0.01)
        assert scan.ranges[90] == pytest.approx(0.8, abs=0.01)
        assert scan.ranges[270] == pytest.approx(1.5, abs=0.01)
        assert scan.ranges[0] == pytest.approx(1.0, abs=0.01)
        assert 0.0 < msg.scan_time < 1.0
        assert abs(listener.node.get_clock().now().nanoseconds * 1e-9 - scan.stamp_s) < 20.0
        fake.packets = []
        listener.wait(lambda: 'SILENT' in listener.states)
        listener.scans.clear()
        fake.packets = [bytes(range(256))]
        listener.wait(lambda: 'GARBAGE' in listener.states)
        assert 'model and baud' in listener.states['GARBAGE'] and not listener.scans
        fake.unplug()
        listener.wait(lambda: 'LOST' in listener.states)
        assert fake.port in listener.states['LOST']
    finally:
        process.terminate()
        assert process.wait(20) == 0
        fake.unplug()


def test_a_model_that_is_none_is_named():
    process = started('model:=LD999')
    _, error = process.communicate(timeout=60)
    assert process.returncode == 2 and "'LD999' is none of" in error
