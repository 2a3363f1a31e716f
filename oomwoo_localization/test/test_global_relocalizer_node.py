"""The service over DDS: right answers, and a reason for every question that has none."""

import math
import os
import signal
import subprocess
import sys
import time

from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import OccupancyGrid as OccupancyGridMsg
import numpy as np
from oomwoo_localization.frames import compose, inverse, wrap_angle
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.ros_support import grid_to_msg, LATCHED_QOS, pose_from_msg, SENSOR_QOS
from oomwoo_localization_msgs.srv import Relocalize
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from reloc_world import l_shaped_map, scan_ranges
from sensor_msgs.msg import LaserScan
from tf2_ros import StaticTransformBroadcaster

BEAMS = 180
MOUNT = (0.1, -0.05, math.radians(170.0))  # turned, beside the middle, and upside down
POSE = np.array([1.3, 0.8, 0.6])


class Asker(Node):
    """Publishes map, scan and the mount, and asks."""

    def __init__(self):
        super().__init__('asker')
        self.map = self.create_publisher(OccupancyGridMsg, 'map', LATCHED_QOS)
        self.scan = self.create_publisher(LaserScan, 'scan', SENSOR_QOS)
        self.client = self.create_client(Relocalize, 'global_relocalizer/relocalize')
        self.tf = StaticTransformBroadcaster(self)

    def send_mount(self):
        """Publish the scanner's place: turned over about x, so that it counts clockwise."""
        msg = TransformStamped(child_frame_id='laser')
        msg.header.frame_id = 'base_footprint'
        t, q = msg.transform.translation, msg.transform.rotation
        t.x, t.y, t.z = MOUNT[0], MOUNT[1], 0.2
        half = MOUNT[2] / 2
        q.x, q.y, q.z, q.w = math.cos(half), math.sin(half), 0.0, 0.0
        self.tf.sendTransform(msg)

    def ask(self, scan=None):
        """Return the future of an answer."""
        return self.client.call_async(Relocalize.Request(scan=scan or LaserScan()))


def scan_msg(node, grid, pose=POSE, age_s=0.0):
    """Return what the overturned scanner sees from a pose of the base."""
    scanner = compose(pose, (MOUNT[0], MOUNT[1], MOUNT[2]))
    increment = 2 * math.pi / BEAMS
    angles = -math.pi + increment * np.arange(BEAMS)
    msg = LaserScan(
        angle_min=-math.pi,
        angle_max=math.pi - increment,
        angle_increment=increment,
        range_min=0.05,
        range_max=10.0,
    )
    # Upside down: positive angles are to the right.
    msg.ranges = scan_ranges(grid, scanner, -angles).tolist()
    msg.header.frame_id = 'laser'
    msg.header.stamp = (node.get_clock().now() - rclpy.duration.Duration(seconds=age_s)).to_msg()
    return msg


@pytest.fixture(scope='module')
def graph():
    """Run the node in a process and an asker here."""
    rclpy.init()
    process = subprocess.Popen(
        [sys.executable, '-m', 'oomwoo_localization.global_relocalizer_node'],
        env=dict(os.environ, OMP_NUM_THREADS='1'),
    )
    node = Asker()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    assert node.client.wait_for_service(90.0), 'the service did not come up'
    yield node, executor
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    node.destroy_node()
    rclpy.shutdown()


def answers(graph, *futures):
    """Return the results of all futures."""
    _, executor = graph
    until = time.monotonic() + 20.0
    while time.monotonic() < until and not all(f.done() for f in futures):
        executor.spin_once(timeout_sec=0.1)
    assert all(f.done() for f in futures), 'no answer'
    return [f.result() for f in futures]


def eventually(graph, reason, scan=None):
    """
    Ask until the answer has a reason code.

    Messages that were sent before may still be under way.
    """
    until = time.monotonic() + 15.0
    while time.monotonic() < until:
        (answer,) = answers(graph, graph[0].ask(scan))
        if answer.reason_code == reason:
            return answer
    raise AssertionError(
        f'wanted {reason!r}, the last answer is {answer.reason_code!r}: {answer.message}'
    )


def test_every_question_gets_an_answer(graph):
    """From nothing at all to a pose, and then everything that can be wrong with map and scan."""
    node, _ = graph
    grid = l_shaped_map()
    good = scan_msg(node, grid)
    (answer,) = answers(graph, node.ask(good))
    assert (answer.success, answer.reason_code) == (False, 'no_map')
    assert '/map' in answer.message
    node.map.publish(grid_to_msg(grid))
    assert '/scan' in eventually(graph, 'no_scan').message
    assert 'laser' in eventually(graph, 'no_transform', good).message
    node.send_mount()

    found = eventually(graph, '', good)
    assert found.success and found.confidence >= 0.6 and found.score > 0.8
    assert found.pose.header.frame_id == 'map' and found.pose.header.stamp == good.header.stamp
    assert close(found)
    covariance = np.array(found.pose.pose.covariance).reshape(6, 6)
    assert 0 < covariance[0, 0] < 0.01 and 0 < covariance[5, 5] < 0.01 and covariance[2, 2] == 0

    node.scan.publish(scan_msg(node, grid))
    assert close(eventually(graph, ''))
    node.scan.publish(scan_msg(node, grid, age_s=3.0))
    assert '3.' in eventually(graph, 'stale_scan').message

    broken = scan_msg(node, grid)
    broken.angle_increment = math.nan
    assert 'angle_increment' in eventually(graph, 'bad_scan', broken).message
    nameless = scan_msg(node, grid)
    nameless.header.frame_id = ''
    assert 'frame_id' in eventually(graph, 'bad_scan', nameless).message
    blind = scan_msg(node, grid)
    blind.ranges = [math.inf] * BEAMS
    assert '0 ends of 180' in eventually(graph, 'too_few_beams', blind).message


def test_two_requests_at_once_and_a_map_that_changes(graph):
    """
    Both are answered from the map that was there when they were asked.

    And say so when it is no longer.
    """
    node, _ = graph
    grid = l_shaped_map()
    node.send_mount()
    node.map.publish(grid_to_msg(grid))
    scan = scan_msg(node, grid)
    eventually(graph, '', scan)
    other = np.array([-1.2, -1.4, -2.0])
    one, two = answers(graph, node.ask(scan), node.ask(scan_msg(node, grid, other)))
    assert one.success and two.success
    assert close(one) and close(two, other)
    shifted = OccupancyGrid(grid.cells, grid.resolution, (10.0, 0.0, 0.0))
    asked = [node.ask(scan) for _ in range(4)]
    node.map.publish(grid_to_msg(shifted))
    there = compose((10.0, 0.0, 0.0), compose(inverse(grid.origin), POSE))
    for answer in answers(graph, *asked):
        assert answer.success
        assert close(answer) or close(answer, there)
        if 'new map' in answer.message:
            assert close(answer)
    until = time.monotonic() + 10
    while not close(answers(graph, node.ask(scan))[0], there):
        assert time.monotonic() < until


@pytest.mark.parametrize('value', [0, -1])
def test_map_that_is_no_use(graph, value):
    """A map that is all free, or all unknown, is refused by name; a good one after it is taken."""
    node, _ = graph
    grid = l_shaped_map()
    node.send_mount()
    node.map.publish(grid_to_msg(OccupancyGrid(np.full((40, 40), value, np.int8), 0.05)))
    scan = scan_msg(node, grid)
    answer = eventually(graph, 'bad_map', scan)
    assert 'occupied' in answer.message or 'unknown' in answer.message
    assert not answer.success
    node.map.publish(grid_to_msg(grid))
    assert eventually(graph, '', scan).success


def close(answer, pose=POSE):
    """Return whether an answer is within 5 cm and a degree of a pose."""
    found = pose_from_msg(answer.pose.pose.pose)
    turn = abs(math.degrees(wrap_angle(found[2] - pose[2])))
    return math.hypot(*(found - pose)[:2]) < 0.05 and turn < 1.0
