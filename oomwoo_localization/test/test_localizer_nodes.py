"""Localizer and health over DDS: the whole life of both, with everything that can be wrong."""
import math
import os
import signal
import subprocess
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
from exact_rooms import draw, PLACE, ROOM, scan_from
from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
from nav_msgs.msg import OccupancyGrid as OccupancyGridMsg
import numpy as np
from oomwoo_localization.frames import compose, inverse, quaternion_from_yaw
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.ros_support import (
    grid_to_msg,
    LATCHED_QOS,
    pose_from_msg,
    pose_to_msg,
    seconds,
    SENSOR_QOS,
)
from oomwoo_localization_msgs.msg import LocalizationHealth
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import LaserScan
from tf2_msgs.msg import TFMessage

MOUNT = (-0.08, 0.05, 2.0)                       # behind the middle, beside it, and turned
STEP_S = 0.1
PACE_S = 0.05                 # wall time in which the nodes take a scan in
LATE_S = 0.2                  # ... and what they are given on top on a busy machine
START = np.array([*PLACE, 0.4])
NODES = ('scan_localizer', 'localization_health')


class World(Node):
    """A robot that stands in the room, with a clock of its own; what it sends can be spoilt."""

    def __init__(self):
        super().__init__('world', parameter_overrides=[
            Parameter('use_sim_time', Parameter.Type.BOOL, True)])
        self.time_s, self.truth, self.odom = 50.0, START.copy(), np.array([2.0, -1.0, 0.7])
        self.spoil, self.send_scans = None, True
        self.statuses, self.poses, self.health, self.scored = {}, [], [], []
        self.tf = TFMessage()
        self._clock_out = self.create_publisher(Clock, '/clock', 10)
        self._tf = self.create_publisher(TFMessage, '/tf', 100)
        self._scan = self.create_publisher(LaserScan, 'scan', SENSOR_QOS)
        self.map = self.create_publisher(OccupancyGridMsg, 'map', LATCHED_QOS)
        self.initial = self.create_publisher(PoseWithCovarianceStamped, 'initialpose', 10)
        for name in NODES:
            self.create_subscription(
                DiagnosticStatus, f'{name}/status',
                lambda msg, name=name: self._on_status(name, msg), LATCHED_QOS)
        self.create_subscription(PoseWithCovarianceStamped, 'pose', self.poses.append, 10)
        self.create_subscription(
            LocalizationHealth, 'localization_health/health', self.health.append, 10)
        self.create_subscription(
            LaserScan, 'localization_health/scan_scored', self.scored.append, SENSOR_QOS)
        self.frames = FrameTree(self)
        self.executor_ = SingleThreadedExecutor()
        self.executor_.add_node(self)

    def _on_status(self, name, msg):
        values = {pair.key: pair.value for pair in msg.values}
        self.statuses[name] = (msg.level, msg.message, values['state'], values['reason_code'])

    def reason(self, name):
        """Return the reason code that a node gives now."""
        return self.statuses.get(name, (None, '', '', None))[3]

    def stamp(self, ago_s=0.0):
        """Return the present as a message."""
        return Time(nanoseconds=round((self.time_s - ago_s) * 1e9)).to_msg()

    def step(self):
        """Go on by a scan: clock, tf, then the scan."""
        self.time_s += STEP_S
        self._clock_out.publish(Clock(clock=self.stamp()))
        moving, fixed = TransformStamped(child_frame_id='base_footprint'), TransformStamped()
        for msg, parent, child, pose in ((moving, 'odom', 'base_footprint', self.odom),
                                         (fixed, 'base_footprint', 'laser', MOUNT)):
            msg.header.stamp, msg.header.frame_id, msg.child_frame_id = self.stamp(), parent, child
            msg.transform.translation.x, msg.transform.translation.y = pose[0], pose[1]
            msg.transform.translation.z = 0.1
            q = msg.transform.rotation
            q.x, q.y, q.z, q.w = quaternion_from_yaw(pose[2])
        self._tf.publish(TFMessage(transforms=[moving, fixed]))
        if self.send_scans:
            scan = scan_from(self.truth, ROOM, 180, 0.01, round(self.time_s * 10), mount=MOUNT)
            msg = LaserScan(
                angle_min=scan.angle_min, angle_increment=scan.angle_increment,
                range_min=0.05, range_max=8.0, ranges=scan.ranges.tolist())
            msg.header.frame_id, msg.header.stamp = 'laser', self.stamp()
            if self.spoil:
                self.spoil(msg)
            self._scan.publish(msg)
        until = time.monotonic() + PACE_S
        late = until + LATE_S
        while (left := (late if self.behind() else until) - time.monotonic()) > 0:
            self.executor_.spin_once(timeout_sec=min(left, 0.01))

    def behind(self):
        """Tell whether a node that took the scans in up to now is a few scans behind."""
        heard = [seconds(said[-1].header.stamp) for said in (self.poses, self.health) if said]
        return any(2.5 * STEP_S < self.time_s - stamp_s < 20 * STEP_S for stamp_s in heard)

    def run(self, until, what, most=600):
        """Go on until a condition holds."""
        for _ in range(most):
            if until():
                return
            self.step()
        raise AssertionError(f'{what}; statuses: {self.statuses}')

    def becomes(self, name, reason):
        """Go on until a node gives a reason code."""
        self.run(lambda: self.reason(name) == reason, f'{name} does not say {reason!r}')

    def tell(self, pose, frame='map', std_m=0.05):
        """Publish an initial pose."""
        msg = PoseWithCovarianceStamped()
        msg.header.frame_id, msg.header.stamp = frame, self.stamp()
        msg.pose.pose = pose_to_msg(pose)
        msg.pose.covariance[0] = msg.pose.covariance[7] = std_m ** 2
        msg.pose.covariance[35] = 0.01
        self.initial.publish(msg)

    def error_m(self):
        """Return how far the last pose is from the truth, infinite before the first."""
        if not self.poses:
            return math.inf
        return float(np.hypot(*(pose_from_msg(self.poses[-1].pose.pose) - self.truth)[:2]))


def start(name, *parameters):
    """Start a node in a process of its own."""
    arguments = ['--ros-args', '-p', 'use_sim_time:=true']
    for parameter in parameters:
        arguments += ['-p', parameter]
    return subprocess.Popen(
        [sys.executable, '-m', f'oomwoo_localization.{name}_node', *arguments],
        env=dict(os.environ, OMP_NUM_THREADS='1'), stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope='module')
def world():
    """Run both nodes and the world."""
    rclpy.init()
    world = World()
    processes = [start(name) for name in NODES]
    patience = time.monotonic() + 90.0
    while len(world.statuses) < len(NODES) and time.monotonic() < patience:
        world.executor_.spin_once(timeout_sec=0.2)
    yield world
    for process in processes:
        process.send_signal(signal.SIGINT)
    assert [process.wait(60) for process in processes] == [0, 0]
    world.executor_.shutdown()
    world.destroy_node()
    rclpy.shutdown()


def test_from_nothing_to_a_pose(world):
    """No map, a bad one, no pose, bad poses: each says what is missing, and none ends the node."""
    world.becomes('scan_localizer', 'no_map')
    world.becomes('localization_health', 'no_map')
    nothing = OccupancyGrid(np.full((30, 30), -1, np.int8), 0.05)
    world.map.publish(grid_to_msg(nothing))
    world.becomes('scan_localizer', 'bad_map')
    world.becomes('localization_health', 'bad_map')
    empty = OccupancyGrid(np.zeros((30, 30), np.int8), 0.05)
    world.map.publish(grid_to_msg(empty))
    world.run(lambda: 'no cell is occupied' in world.statuses['scan_localizer'][1], 'all free')
    world.map.publish(grid_to_msg(draw(0.025, 0.6)))
    world.becomes('scan_localizer', 'no_pose')
    world.becomes('localization_health', 'no_transform')
    world.tell((math.nan, 0.0, 0.0))
    world.tell(START, frame='attic')
    world.tell(START, frame='')
    for _ in range(5):
        world.step()
    assert world.reason('scan_localizer') == 'no_pose' and not world.poses
    world.tell(START + [0.04, -0.03, 0.05])
    world.run(lambda: world.error_m() < 0.01, 'no pose')
    world.becomes('scan_localizer', '')
    world.becomes('localization_health', '')


def test_pose_transform_and_covariance_agree(world):
    world.odom = compose(world.odom, (0.05, 0.0, 0.1))
    world.truth = compose(world.truth, (0.05, 0.0, 0.1))
    world.run(lambda: world.error_m() < 0.01, 'the pose does not follow')
    for _ in range(5):
        world.step()
    world.run(
        lambda: abs(world.frames.stamped_pose('map', 'odom')[1]
                    - seconds(world.poses[-1].header.stamp) - 0.2) < 0.11,
        'the transform is not dated ahead of the pose, to be used with newer odometry')
    msg = world.poses[-1]
    assert msg.header.frame_id == 'map'
    covariance = np.array(msg.pose.covariance).reshape(6, 6)
    assert 1e-4 < math.sqrt(covariance[0, 0]) < 0.02
    assert 1e-4 < math.sqrt(covariance[5, 5]) < 0.02
    map_from_odom = world.frames.pose('map', 'odom')
    expected = compose(pose_from_msg(msg.pose.pose), inverse(world.odom))
    np.testing.assert_allclose(map_from_odom, expected, atol=0.01)
    found = world.frames.pose('map', 'base_footprint')
    assert np.hypot(*(found - world.truth)[:2]) < 0.01


def test_the_health_of_a_robot_that_knows_where_it_is(world):
    world.run(lambda: world.health and world.scored, 'no health')
    assert world.health[-1].score > 0.97 and not world.health[-1].lost
    assert world.health[-1].beams == 180
    assert np.mean(world.scored[-1].intensities) > 0.95
    assert len(world.scored[-1].intensities) == len(world.scored[-1].ranges) == 180


@pytest.mark.parametrize('spoil, reason', [
    (lambda msg: setattr(msg, 'angle_increment', 0.0), 'bad_scan'),
    (lambda msg: setattr(msg, 'range_max', 0.01), 'bad_scan'),
    (lambda msg: setattr(msg.header, 'frame_id', ''), 'bad_scan'),
    (lambda msg: setattr(msg.header, 'frame_id', 'kitchen'), 'no_transform'),
    (lambda msg: setattr(msg.header, 'stamp', Time(seconds=3).to_msg()), 'old_scan'),
    (lambda msg: setattr(msg.header, 'stamp', Time(seconds=90000).to_msg()), 'bad_scan'),
])
def test_a_bad_scan_is_named_and_the_next_good_one_goes_on(world, spoil, reason):
    world.spoil = spoil
    world.becomes('scan_localizer', reason)
    world.becomes('localization_health', reason)
    world.spoil = None
    world.becomes('scan_localizer', '')
    world.becomes('localization_health', '')
    assert world.error_m() < 0.01


def test_no_returns_ride_on_odometry_and_say_so(world):
    def blind(msg):
        msg.ranges = [math.nan, math.inf, 0.0] * 60

    world.spoil = blind
    world.becomes('scan_localizer', 'no_match')
    world.becomes('localization_health', 'few_beams')
    assert not world.health[-1].lost and world.health[-1].beams == 0
    world.spoil = None
    world.becomes('scan_localizer', '')
    assert world.error_m() < 0.02


def test_silence_is_noticed(world):
    world.send_scans = False
    world.becomes('scan_localizer', 'no_scan')
    world.becomes('localization_health', 'no_scan')
    world.send_scans = True
    world.becomes('scan_localizer', '')


def test_a_bad_map_leaves_the_old_one_and_a_good_one_takes_over(world):
    world.map.publish(grid_to_msg(OccupancyGrid(np.full((5, 5), -1, np.int8), 0.05)))
    world.becomes('scan_localizer', 'bad_map')
    assert 'stays' in world.statuses['scan_localizer'][1]
    count = len(world.poses)
    world.run(lambda: len(world.poses) > count + 2, 'no more poses')
    assert world.error_m() < 0.01
    world.map.publish(grid_to_msg(draw(0.05, -0.4)))
    world.becomes('scan_localizer', '')
    count = len(world.poses)
    world.run(lambda: len(world.poses) > count + 4, 'no more poses')
    assert world.error_m() < 0.02


def test_kidnapped_is_lost_within_a_second_and_told_is_found(world):
    world.truth = np.array([2.3, -0.2, 2.0])
    began_s = world.time_s
    world.run(lambda: world.health[-1].lost, 'not lost')
    assert world.health[-1].score < 0.5
    assert seconds(world.health[-1].header.stamp) - began_s <= 1.0 + 2 * STEP_S
    assert world.reason('localization_health') in ('', 'lost')
    world.becomes('localization_health', 'lost')
    world.becomes('scan_localizer', 'no_match')
    odom_from_map = inverse(compose(pose_from_msg(world.poses[-1].pose.pose), inverse(world.odom)))
    world.tell(compose(odom_from_map, world.truth), frame='odom')
    world.run(lambda: not world.health[-1].lost, 'still lost')
    assert world.error_m() < 0.02
    world.becomes('scan_localizer', '')


def test_the_clock_jumps_back(world):
    world.time_s = 10.0
    world.health.clear()
    world.poses.clear()
    world.run(lambda: len(world.health) > 5 and len(world.poses) > 5, 'nothing after the jump')
    assert world.error_m() < 0.02
    assert 10.0 < seconds(world.health[-1].header.stamp) < 60.0
    assert not world.health[-1].lost


@pytest.mark.parametrize('name, parameter, says', [
    ('scan_localizer', 'kernel_m:=-1.0', 'parameter kernel_m'),
    ('scan_localizer', 'x_pose:=left', 'parameter x_pose: expected a number'),
    ('localization_health', 'yaml_filename:=/nowhere.yaml', '/nowhere.yaml: cannot be read'),
    ('localization_health', 'lost_below:=2.0', 'parameter lost_below')])
def test_bad_parameters_end_the_node_and_name_the_parameter(name, parameter, says):
    process = start(name, parameter)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2 and says in errors
