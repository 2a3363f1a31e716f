"""
The LiDAR of the robot in the ROS graph: ``scan``, and why there is none.

The driver is :mod:`oomwoo_bringup.lidar_driver`; this node is its adapter.
"""
from array import array
from dataclasses import dataclass
import sys

import numpy as np
from oomwoo_bringup.lidar_driver import beams_of, LidarReader, LidarSettings
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import ERROR, OK, SENSOR_QOS, SuiteNode, WARN
from oomwoo_localization.settings import setting
from rclpy.time import Time
from sensor_msgs.msg import LaserScan

_LOOK_PERIOD_S = 0.25
_GARBAGE_AFTER_S = 3.0        # bytes without a turn; a LiDAR takes a second or two to spin up


@dataclass(frozen=True)
class LidarDriverSettings(LidarSettings):
    """Settings of the driver and of its node."""

    frame_id: str = setting('base_scan', 'frame of the scanner', live=False)
    robot_file: str = setting('', 'robot file; empty: the packaged one', live=False)
    stale_s: float = setting(
        0.5, 'without a turn for this long, something is wrong', 's', 0.1, 10.0)


class LidarDriverNode(SuiteNode):
    """Publishes each turn; says what is wrong when there is none."""

    def __init__(self):
        """Begin to read."""
        super().__init__('lidar_driver', LidarDriverSettings)
        self._facts = load_robot(self.settings.robot_file or None).lidar
        self._scans = self.create_publisher(LaserScan, 'scan', SENSOR_QOS)
        self._heard_s = self._began_s = self.now_s()
        self._turns, self._received = 0, 0
        self._byte_s = None             # when bytes came last
        self.set_status(WARN, f'opening {self.settings.port}', 'OPENING')
        self._reader = LidarReader(self.settings, self._on_turn, self.now_s)
        self.create_timer(_LOOK_PERIOD_S, self._look)

    def _on_turn(self, turn):
        """Publish a turn, in the reader's thread."""
        facts, settings = self._facts, self.settings
        beams = beams_of(
            turn, facts.beams, facts.range_min, facts.range_max, settings.clockwise,
            settings.order)
        msg = LaserScan()
        msg.header.frame_id = settings.frame_id
        msg.header.stamp = Time(nanoseconds=int(beams.stamp_s * 1e9)).to_msg()
        msg.angle_min, msg.angle_increment = beams.angle_min, beams.angle_increment
        msg.angle_max = beams.angle_min + beams.angle_increment * (facts.beams - 1)
        msg.time_increment, msg.scan_time = beams.time_increment_s, beams.scan_time_s
        msg.range_min, msg.range_max = facts.range_min, facts.range_max
        msg.ranges = array('f', beams.ranges.astype(np.float32).tobytes())
        msg.intensities = array('f', beams.intensities.astype(np.float32).tobytes())
        self._scans.publish(msg)

    def _look(self):
        """Say how things are."""
        now, reader, port = self.now_s(), self._reader, self.settings.port
        if reader.turns != self._turns:
            self._turns, self._heard_s = reader.turns, now
        if reader.received != self._received:
            self._received, self._byte_s = reader.received, now
        silent_s = now - self._heard_s
        bytes_come = self._byte_s is not None and now - self._byte_s <= self.settings.stale_s
        if reader.error:
            self._began_s, self._byte_s = now, None
            self.set_status(
                ERROR, f'no scans: {reader.error}; trying again', 'LOST', 'port')
        elif self._turns and silent_s <= self.settings.stale_s:
            self._began_s = now
            self.set_status(OK, f'{self.settings.model} at {port} is scanning', 'SCANNING')
        elif bytes_come and now - self._began_s > _GARBAGE_AFTER_S:
            self.set_status(
                ERROR, f'no scans: what comes from {port} is no data of a '
                f'{self.settings.model}; check model and baud', 'GARBAGE', 'protocol')
        elif not bytes_come and now - self._began_s > self.settings.stale_s:
            self.set_status(
                ERROR if self._turns else WARN,
                f'no scans: nothing comes from {port}; check power, wiring and motor', 'SILENT',
                'no_data')

    def time_went_back(self):
        """Measure silence from the new time."""
        self._heard_s = self._began_s = self.now_s()
        self._byte_s = None

    def stop(self):
        """Stop the motor, if the driver drives it, and free the port."""
        self._reader.close()


def main(args=None):
    """Run the node."""
    return run_node(LidarDriverNode, args)


if __name__ == '__main__':
    sys.exit(main())
