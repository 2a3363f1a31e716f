"""The coverage meter: floor, events, and the node that measures a window and ends."""
import math
import os
import subprocess
import sys
import time
from types import SimpleNamespace

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from nav_msgs.msg import OccupancyGrid, Odometry
from nav_worlds import room
import numpy as np
from oomwoo_localization.grids import GridError
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import grid_to_msg, LATCHED_QOS, pose_to_msg
from oomwoo_sim_support.coverage_meter import CoverageMeter, EventCounter
from oomwoo_sim_support.coverage_meter_node import CoverageMeterNode
import pytest
from rcl_interfaces.msg import Log
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool, Float32
from unique_identifier_msgs.msg import UUID

RADIUS_M = load_robot().body.radius


def test_what_is_driven_over_while_cleaning_is_covered():
    meter = CoverageMeter(room(4.0, 3.0), (0.0, 0.0, 0.0))
    for x in np.arange(0.0, 1.001, 0.05):
        meter.observe((x, 0.0, 0.0), cleaning=True)
    covered_m2 = 2.0 * RADIUS_M * 1.0 + math.pi * RADIUS_M ** 2
    assert meter.coverage.covered_m2 == pytest.approx(covered_m2, rel=0.08)
    covered_m2 = meter.coverage.covered_m2
    assert meter.ratio == pytest.approx(covered_m2 / meter.coverage.floor_m2)
    for x in np.arange(1.0, 1.6, 0.05):
        meter.observe((x, 1.0, 0.0), cleaning=False)
    assert meter.coverage.covered_m2 == covered_m2
    assert '%), 1.0 m driven' in meter.line()


def test_a_robot_in_the_wall_has_no_floor_to_cover():
    with pytest.raises(GridError, match='no floor'):
        CoverageMeter(room(4.0, 3.0), (7.0, 0.0, 0.0))


def test_contacts_count_once_however_many_halves_and_only_while_cleaning():
    counter = EventCounter()
    counter.bumper(0, True)
    counter.bumper(0, False)
    assert counter.contacts == 0
    counter.cleaning = True
    for side, pressed in ((0, True), (1, True), (0, False), (1, False), (1, True), (1, True)):
        counter.bumper(side, pressed)
    assert counter.contacts == 2


def test_aborts_failed_goals_and_reflexes_are_counted():
    counter = EventCounter()
    counter.log('detected collision ahead')
    counter.goal_aborted(b'before')
    counter.cleaning = True
    for _ in range(3):
        counter.log('RegulatedPurePursuitController detected collision ahead!')
    counter.log('goal reached')
    for goal in (b'before', b'one', b'one', b'two'):
        counter.goal_aborted(goal)
    for active in (False, True, True, False, True):
        counter.reflex(active)
    assert counter.line() == (
        '0 bumper contacts, 3 collision aborts, 2 failed goals, 2 peel-offs')


class Drive:
    """A robot that drives straight on, with everything that a meter listens to."""

    def __init__(self):
        self.node = rclpy.create_node('embedded_navigator')
        self.ratios, self.time_s, self.x = [], 10.0, 0.0
        create = self.node.create_publisher
        self.map, self.truth = create(OccupancyGrid, 'map', LATCHED_QOS), create(
            Odometry, 'odom_truth', 10)
        self.cleaning = create(Bool, 'cleaning_active', LATCHED_QOS)
        self.bumper = create(Bool, 'bumper/left', 10)
        self.reflex = create(Bool, 'escape_reflex/active', LATCHED_QOS)
        self.goals = create(
            GoalStatusArray, 'navigate_to_pose/_action/status', LATCHED_QOS)
        self.clock = create(Clock, '/clock', 10)
        self.log = create(Log, '/rosout', rclpy.qos.QoSProfile(
            depth=1000, durability=rclpy.qos.DurabilityPolicy.TRANSIENT_LOCAL))
        self.node.create_subscription(
            Float32, 'coverage_meter/ratio', lambda msg: self.ratios.append(msg.data), LATCHED_QOS)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)

    def step(self, speed=0.0):
        self.time_s += 0.1
        self.x += 0.1 * speed
        stamp = Time(seconds=self.time_s).to_msg()
        self.clock.publish(Clock(clock=stamp))
        msg = Odometry()
        msg.header.frame_id, msg.header.stamp = 'map', stamp
        msg.pose.pose = pose_to_msg((self.x, 0.0, 0.0))
        self.truth.publish(msg)
        until = time.monotonic() + 0.01
        while (left := until - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)

    def until(self, condition, speed=0.0, most_s=60.0):
        end_s = time.monotonic() + most_s
        while not condition() and time.monotonic() < end_s:
            self.step(speed)
        assert condition()


@pytest.fixture
def drive():
    rclpy.init()
    drive = Drive()
    yield drive
    drive.executor.shutdown()
    drive.node.destroy_node()
    rclpy.shutdown()


def start_meter(**parameters):
    command = [sys.executable, '-m', 'oomwoo_sim_support.coverage_meter_node', '--ros-args']
    for name, value in ({'use_sim_time': 'true'} | parameters).items():
        command += ['-p', f'{name}:={value}']
    return subprocess.Popen(
        command, env=dict(os.environ, OMP_NUM_THREADS='1'), stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True)


def test_the_node_measures_a_window_says_one_line_and_ends(drive):
    drive.map.publish(grid_to_msg(room(4.0, 3.0)))
    drive.cleaning.publish(Bool(data=False))
    meter = start_meter(window_s=5.0)
    try:
        drive.until(lambda: drive.ratios, speed=0.0)
        assert drive.ratios[-1] == 0.0
        drive.cleaning.publish(Bool(data=True))
        drive.until(lambda: drive.ratios[-1] > 0.0)
        drive.log.publish(Log(name='embedded_navigator', msg='detected collision ahead: abort 1'))
        drive.log.publish(Log(name='somebody', msg='detected collision ahead: not a controller'))
        for pressed in (True, False, True, False):
            drive.bumper.publish(Bool(data=pressed))
        drive.reflex.publish(Bool(data=True))
        goal = GoalStatus(status=GoalStatus.STATUS_ABORTED)
        goal.goal_info = GoalInfo(goal_id=UUID(uuid=list(range(16))))
        drive.goals.publish(GoalStatusArray(status_list=[goal]))
        drive.until(lambda: meter.poll() is not None, speed=0.2)
    finally:
        meter.kill()
        said = meter.communicate()[1]
    assert meter.returncode == 0
    line = next(line for line in said.splitlines() if 'COVERAGE in 5 s: covered' in line)
    assert '2 bumper contacts, 1 collision aborts, 1 failed goals, 1 peel-offs' in line
    percent = float(line.split('(')[-1].split(' %')[0])
    assert 1.0 < percent < 5.0, 'a metre at most, of 11 m2'


def test_where_nothing_cleans_it_gives_up_and_says_why():
    meter = start_meter(window_s=5.0, patience_s=2.0)
    said = meter.communicate(timeout=90)[1]
    assert meter.returncode == 1
    assert 'nothing has begun to clean in 2 s' in said and 'no map yet' in said


@pytest.fixture
def meter():
    rclpy.init()
    node = CoverageMeterNode()
    yield node
    node.destroy_node()
    rclpy.shutdown()


def truth_at(x):
    msg = Odometry()
    msg.header.frame_id, msg.pose.pose = 'map', pose_to_msg((x, 0.0, 0.0))
    return msg


def test_what_is_missing_becomes_a_warning_when_it_stays(meter):
    meter._grace = SimpleNamespace(over=False)
    meter._tick()
    assert meter._status.message.startswith('no pose') and meter._status.level == b'\0'
    meter._grace.over = True
    meter._tick()
    assert meter._status.message.startswith('no pose') and meter._status.level == b'\1'
    meter._on_map(grid_to_msg(room(4.0, 3.0)))
    meter._on_truth(truth_at(0.0))
    assert meter._status.message == 'nobody cleans' and meter._status.level == b'\0'


def test_a_pose_that_is_not_finite_is_ignored_another_map_begins_anew_and_the_dead_do_not_clean(
        meter):
    meter._on_truth(truth_at(math.nan))
    meter._on_map(grid_to_msg(room(4.0, 3.0)))
    meter._on_cleaning(Bool(data=True))
    for x in (math.nan, 0.0, 0.1, math.inf, math.nan, 0.2):
        meter._on_truth(truth_at(x))
    assert 'covered' in meter.report() and '0.2 m driven' in meter.report()
    meter._counter.bumper(0, True)
    meter._on_map(grid_to_msg(room(4.0, 3.0)))
    assert '0.2 m driven' in meter.report(), 'the same map again changes nothing'
    meter._on_map(grid_to_msg(room(3.0, 2.0)))
    meter._on_truth(truth_at(0.0))
    assert '0.0 m driven, 0 bumper contacts' in meter.report()
    assert meter._meter.coverage.floor_m2 < 6.0
    meter._tick()                             # nobody publishes cleaning_active in this graph
    covered_m2 = meter._meter.coverage.covered_m2
    for x in (0.3, 0.6):
        meter._on_truth(truth_at(x))
    assert meter._meter.coverage.covered_m2 == covered_m2
