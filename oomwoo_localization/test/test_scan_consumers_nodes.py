"""Filter and detector over DDS, from one scored scan to a filtered one and a marker."""

import math

from geometry_msgs.msg import TransformStamped
import numpy as np
from oomwoo_localization.dynamic_object_detector_node import DynamicObjectDetectorNode
from oomwoo_localization.ros_support import SENSOR_QOS
from oomwoo_localization.scan_filter_node import ScanFilterNode
import pytest
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from sensor_msgs.msg import LaserScan
from tf2_ros import StaticTransformBroadcaster
from visualization_msgs.msg import Marker, MarkerArray

BEAMS = 180
THING = slice(40, 50)


class Scene(Node):
    """A scanner turned by half a turn at x 1 m of a robot at (2, 1), looking along y."""

    def __init__(self):
        super().__init__('scene')
        self.filtered, self.markers = [], []
        self.out = self.create_publisher(LaserScan, 'localization_health/scan_scored', SENSOR_QOS)
        self.raw = self.create_publisher(LaserScan, 'scan', SENSOR_QOS)
        self.create_subscription(LaserScan, 'scan_filtered', self.filtered.append, SENSOR_QOS)
        self.create_subscription(
            MarkerArray, 'dynamic_object_detector/markers', self.markers.append, 10
        )
        self.static = StaticTransformBroadcaster(self)
        frames = []
        for parent, child, x, y, yaw in (
            ('map', 'base_footprint', 2.0, 1.0, math.pi / 2),
            ('base_footprint', 'laser', 0.1, 0.0, math.pi),
        ):
            msg = TransformStamped(child_frame_id=child)
            msg.header.frame_id = parent
            msg.transform.translation.x, msg.transform.translation.y = x, y
            msg.transform.rotation.z, msg.transform.rotation.w = (
                math.sin(yaw / 2),
                math.cos(yaw / 2),
            )
            frames.append(msg)
        self.static.sendTransform(frames)

    def scored(self, intensities=None, out=None):
        """Publish a scan: all 3 m, a thing at 1 m that is not on the map."""
        ranges, static = np.full(BEAMS, 3.0), np.ones(BEAMS)
        ranges[THING], static[THING] = 1.0, 0.0
        msg = LaserScan(
            angle_min=-math.pi,
            angle_increment=2 * math.pi / BEAMS,
            range_min=0.05,
            range_max=8.0,
            ranges=ranges.tolist(),
            intensities=static.tolist() if intensities is None else intensities,
        )
        msg.header.frame_id, msg.header.stamp = 'laser', self.get_clock().now().to_msg()
        (out or self.out).publish(msg)


@pytest.fixture
def scene():
    """Run both nodes beside a scene."""
    rclpy.init()
    nodes = [Scene(), ScanFilterNode(), DynamicObjectDetectorNode()]
    executor = EventsExecutor()
    for node in nodes:
        executor.add_node(node)
    nodes[0].loop = executor
    yield nodes[0]
    for node in nodes:
        executor.remove_node(node)
        node.destroy_node()
    executor.shutdown()
    rclpy.shutdown()


def until(scene, what, intensities=None):
    """Publish a scan ten times a second until something is so."""
    for _ in range(150):
        scene.scored(intensities)
        for _ in range(10):
            scene.loop.spin_once(timeout_sec=0.01)
        if what():
            return
    pytest.fail('waited in vain')


def test_the_thing_is_taken_out_and_marked_where_it_is(scene):
    until(scene, lambda: scene.filtered and scene.markers)
    ranges = np.array(scene.filtered[-1].ranges)
    assert np.isinf(ranges[THING]).all() and np.isfinite(np.delete(ranges, THING)).all()
    marker = scene.markers[-1].markers[0]
    bearing = -math.pi + 2 * math.pi / BEAMS * 44.5 + math.pi + math.pi / 2
    wanted = np.array([2.0, 1.1]) + np.array([math.cos(bearing), math.sin(bearing)])
    found = np.array([marker.pose.position.x, marker.pose.position.y])
    np.testing.assert_allclose(found, wanted, atol=0.06)
    assert marker.header.frame_id == 'map' and marker.action == Marker.ADD
    assert 0.2 < marker.scale.x < 0.5 and marker.lifetime.sec == 1


def test_a_scan_without_scores_is_left_alone_and_a_good_one_after_it_is_taken(scene):
    for _ in range(5):
        scene.scored([1.0, 0.0])
        for _ in range(5):
            scene.loop.spin_once(timeout_sec=0.01)
    assert scene.filtered == [] and scene.markers == []
    until(scene, lambda: scene.filtered and scene.markers)


def test_scans_pass_whole_until_they_are_scored(scene):
    """Else nobody who matches the filtered scan would ever have a pose to score by."""
    for _ in range(150):
        scene.scored(out=scene.raw)
        for _ in range(5):
            scene.loop.spin_once(timeout_sec=0.01)
        if scene.filtered:
            break
    np.testing.assert_allclose(np.array(scene.filtered[-1].ranges)[THING], 1.0)
    until(scene, lambda: np.isinf(np.array(scene.filtered[-1].ranges)[THING]).all())
    scene.filtered.clear()
    for _ in range(3):
        scene.scored(out=scene.raw)
        scene.scored()
        for _ in range(10):
            scene.loop.spin_once(timeout_sec=0.01)
    assert scene.filtered, 'scored scans come through'
    assert all(np.isinf(np.array(msg.ranges)[THING]).all() for msg in scene.filtered)
