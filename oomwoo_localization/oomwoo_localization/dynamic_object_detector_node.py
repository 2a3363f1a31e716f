"""A marker on each thing that is not on the map, from the scored scan: a hook for perception."""

from dataclasses import dataclass
import sys

from geometry_msgs.msg import Point
import numpy as np
from oomwoo_localization.dynamic_objects import DynamicObjects, DynamicSettings
from oomwoo_localization.frames import transform_points
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import OK, scan_from_msg, SENSOR_QOS, SuiteNode, WARN
from oomwoo_localization.scans import scan_points, ScanError
from oomwoo_localization.settings import setting
from rclpy.duration import Duration
from rclpy.time import Time
from sensor_msgs.msg import LaserScan
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

HEIGHT_M = 0.3
LASTS_S = 1.0  # a marker that is not renewed goes away by itself
STALE_S = 2.0


@dataclass(frozen=True)
class DetectorNodeSettings(DynamicSettings):
    """The detector's settings and those of the node."""

    map_frame: str = setting('map', 'frame in which things are followed', live=False)
    robot_frame: str = setting(
        'base_footprint', "frame of the body's middle on the floor", live=False
    )


class DynamicObjectDetectorNode(SuiteNode):
    """Follows blobs of off-map returns in the map frame."""

    def __init__(self):
        """Declare parameters and topics."""
        super().__init__('dynamic_object_detector', DetectorNodeSettings)
        self._objects = DynamicObjects(self.settings)
        self._frames = FrameTree(self)
        self._out = self.create_publisher(MarkerArray, '~/markers', 10)
        self.create_subscription(
            LaserScan, 'localization_health/scan_scored', self._on_scan, SENSOR_QOS
        )
        self._heard_s = self.now_s()
        self._shown = set()
        self.create_timer(0.5, self._watch)

    def _on_scan(self, msg):
        try:
            scan = scan_from_msg(msg)
            if len(msg.intensities) != len(msg.ranges):
                raise ScanError(f'{len(msg.intensities)} intensities for {len(msg.ranges)} ranges')
        except ScanError as error:
            self.get_logger().warning(
                f'topic localization_health/scan_scored: {error}; ignored',
                throttle_duration_sec=5.0,
            )
            return
        mount = self._frames.matrix(self.settings.robot_frame, msg.header.frame_id)
        pose = self._frames.pose(
            self.settings.map_frame, self.settings.robot_frame, Time.from_msg(msg.header.stamp)
        )
        if mount is None or pose is None:
            self.set_status(WARN, self._frames.error, 'WAITING', 'no_transform')
            return
        self._heard_s = self.now_s()
        points, beams = scan_points(scan, mount)
        near = np.hypot(*points[:, :2].T) <= self.settings.range_max_m
        off = near & (np.asarray(msg.intensities)[beams] < self.settings.static_below)
        tracks = self._objects.update(transform_points(pose, points[off, :2]), scan.stamp_s)
        self._publish(tracks, msg.header.stamp)
        self.set_status(OK, 'watches for what is not on the map', 'WATCHING')

    def _publish(self, tracks, stamp):
        markers = []
        numbers = {track.number for track in tracks}
        for number in self._shown - numbers:
            marker = Marker(ns='dynamic', id=number, action=Marker.DELETE)
            marker.header.frame_id, marker.header.stamp = self.settings.map_frame, stamp
            markers.append(marker)
        for track in tracks:
            x, y = track.blob.center
            marker = Marker(
                ns='dynamic',
                id=track.number,
                type=Marker.CYLINDER,
                action=Marker.ADD,
                lifetime=Duration(seconds=LASTS_S).to_msg(),
                color=ColorRGBA(r=1.0, g=0.5, b=0.0, a=0.6),
            )
            marker.header.frame_id, marker.header.stamp = self.settings.map_frame, stamp
            marker.pose.position = Point(x=float(x), y=float(y), z=HEIGHT_M / 2)
            marker.pose.orientation.w = 1.0
            marker.scale.x = marker.scale.y = max(0.05, 2.0 * track.blob.radius)
            marker.scale.z = HEIGHT_M
            markers.append(marker)
        self._shown = numbers
        if markers:
            self._out.publish(MarkerArray(markers=markers))

    def _watch(self):
        if self.now_s() - self._heard_s > STALE_S:
            self.set_status(
                WARN,
                f'topic {self.resolve_topic_name("localization_health/scan_scored")} is silent',
                'WAITING',
                'no_scan',
            )

    def settings_changed(self):
        """Go on with the new settings."""
        self._objects.settings = self.settings

    def time_went_back(self):
        """Forget what is newer than the clock."""
        self._frames.clear()
        self._objects.reset()
        self._heard_s = self.now_s()


def main(args=None):
    """Run the node."""
    return run_node(DynamicObjectDetectorNode, args)


if __name__ == '__main__':
    sys.exit(main())
