"""The navigator over DDS: the action's life, missing inputs, and time that jumps."""
import math
import os
import subprocess
import sys
import time

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped, TransformStamped, Twist
from nav2_msgs.action import NavigateToPose
from nav_msgs.msg import OccupancyGrid, Path
from nav_worlds import block, room
import numpy as np
from oomwoo_localization.ros_support import grid_to_msg, LATCHED_QOS, pose_to_msg
from oomwoo_sim_support.embedded_navigator import Code
import pytest
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Bool
from tf2_msgs.msg import TFMessage
from unique_identifier_msgs.msg import UUID
from visualization_msgs.msg import Marker, MarkerArray

SPEED_UP = 5.0
TICK_S = 0.02                 # simulated
DOMAIN = 45


class World(Node):
    """A kinematic robot on a map, with /clock, tf, scan, bumper, and an action client."""

    def __init__(self):
        super().__init__('navigator_test_world')
        self.time_s = 100.0
        self.pose = np.array([0.0, 0.0, 0.0])
        self.command = (0.0, 0.0)
        self.commands = []
        self.plans = []
        self.feedback = []
        self.send_tf = True
        self.wall_at_x = math.inf
        self._clock = self.create_publisher(Clock, '/clock', 10)
        self._tf = self.create_publisher(TFMessage, '/tf', 100)
        self._map = self.create_publisher(OccupancyGrid, 'map', LATCHED_QOS)
        self._bumper = self.create_publisher(Bool, 'bumper/left', 10)
        self.keep_alive = self.create_publisher(UUID, 'navigate_to_pose/keep_alive', 10)
        self.pockets = self.create_publisher(MarkerArray, 'escape_reflex/pockets', LATCHED_QOS)
        self._scan = self.create_publisher(LaserScan, 'scan', qos_profile_sensor_data)
        self.create_subscription(Twist, 'cmd_vel', self._on_command, 10)
        self.create_subscription(Path, 'plan', lambda msg: self.plans.append(msg), 10)
        self.client = ActionClient(self, NavigateToPose, 'navigate_to_pose')
        self.executor_ = SingleThreadedExecutor()
        self.executor_.add_node(self)

    def send_map(self, grid):
        """Publish a map, latched."""
        self._map.publish(grid_to_msg(grid))

    def send_scan(self, ranges):
        """Publish one scan of beams over the front +-45 degrees."""
        msg = LaserScan(
            angle_min=-0.785, angle_max=0.785, angle_increment=1.57 / (len(ranges) - 1),
            range_min=0.05, range_max=8.0, ranges=[float(r) for r in ranges])
        msg.header.frame_id = 'base_scan'
        msg.header.stamp = self._stamp()
        self._scan.publish(msg)

    def press(self, pressed):
        """Publish the left bumper."""
        self._bumper.publish(Bool(data=pressed))

    def _on_command(self, msg):
        self.command = (msg.linear.x, msg.angular.z)
        self.commands.append(self.command)

    def _stamp(self):
        return rclpy.time.Time(seconds=self.time_s).to_msg()

    def tick(self):
        """Move on by one tick of simulated time."""
        self.time_s += TICK_S
        v, w = self.command
        x, y, yaw = self.pose
        self.pose = np.array(
            [x + v * math.cos(yaw) * TICK_S, y + v * math.sin(yaw) * TICK_S, yaw + w * TICK_S])
        self._clock.publish(Clock(clock=self._stamp()))
        if self.send_tf:
            tf = TransformStamped(child_frame_id='base_footprint')
            tf.header.frame_id, tf.header.stamp = 'map', self._stamp()
            pose = pose_to_msg(self.pose)
            tf.transform.translation.x = pose.position.x
            tf.transform.translation.y = pose.position.y
            tf.transform.rotation = pose.orientation
            mount = TransformStamped(child_frame_id='base_scan')
            mount.header.frame_id, mount.header.stamp = 'base_footprint', self._stamp()
            mount.transform.translation.z = 0.088
            self._tf.publish(TFMessage(transforms=[tf, mount]))

    def run(self, seconds, until=None):
        """Run for simulated ``seconds``, or until ``until()``; return whether that came."""
        end = self.time_s + seconds
        while self.time_s < end:
            if until is not None and until():
                return True
            due = time.monotonic() + TICK_S / SPEED_UP
            self.tick()
            while (left := due - time.monotonic()) > 0:
                self.executor_.spin_once(timeout_sec=left)
        return until is not None and bool(until())

    def wait(self, future, seconds=60.0):
        """Run until a future is done and return its result."""
        assert self.run(seconds, future.done), 'no answer in time'
        return future.result()

    def go(self, x, y, yaw=0.0, frame='map'):
        """Send a goal; return its handle."""
        goal = NavigateToPose.Goal()
        goal.pose = PoseStamped(pose=pose_to_msg((x, y, yaw)))
        goal.pose.header.frame_id = frame
        return self.wait(
            self.client.send_goal_async(goal, lambda msg: self.feedback.append(msg.feedback)),
            10.0)


@pytest.fixture(scope='module')
def node_process():
    """Start the navigator as its own process."""
    env = dict(os.environ, ROS_DOMAIN_ID=str(DOMAIN))
    process = subprocess.Popen(
        [sys.executable, '-m', 'oomwoo_sim_support.embedded_navigator_node', '--ros-args',
         '-p', 'use_sim_time:=true',
         '-p', 'patience_s:=8.0'], env=env, stderr=subprocess.PIPE, text=True)
    yield process
    process.terminate()
    try:
        assert process.wait(10) == 0
    finally:
        process.kill()


@pytest.fixture(scope='module')
def graph():
    """Join the graph on the test's own domain."""
    context = rclpy.Context()
    rclpy.init(domain_id=DOMAIN)
    yield context
    rclpy.shutdown()


@pytest.fixture(scope='module')
def shared_world(graph, node_process):
    """Return the world, once the navigator is up."""
    world = World()
    assert world.run(100.0, world.client.server_is_ready), 'the action server did not come up'
    yield world
    world.destroy_node()


@pytest.fixture
def world(shared_world):
    """Return the world with the robot standing in the middle of an empty room."""
    shared_world.pose = np.array([0.0, 0.0, 0.0])
    shared_world.command = (0.0, 0.0)
    shared_world.send_tf = True
    shared_world.run(1.0)
    for record in (shared_world.commands, shared_world.plans, shared_world.feedback):
        record.clear()
    return shared_world


def result_of(world, handle, seconds=60.0):
    """Return (status, result) of a goal."""
    response = world.wait(handle.get_result_async(), seconds)
    return response.status, response.result


def test_without_a_map_the_goal_fails_with_a_message(world):
    # First in the file: the map is latched, and there is none yet.
    status, result = result_of(world, world.go(1.0, 0.0), 20.0)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Code.NO_PLANNER
    assert 'map' in result.error_msg
    assert set(world.commands) == {(0.0, 0.0)}
    world.send_map(room())


def test_reaches_the_goal_with_feedback_and_stops(world):
    world.send_map(room())
    handle = world.go(1.2, 0.5, 1.0)
    assert handle.accepted
    status, result = result_of(world, handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, Code.NONE)
    assert np.hypot(*(world.pose[:2] - [1.2, 0.5])) < 0.05
    assert abs(world.pose[2] - 1.0) < 0.1
    remaining = [f.distance_remaining for f in world.feedback]
    assert remaining[0] == pytest.approx(1.3, abs=0.15) and remaining[-1] < 0.2
    assert np.all(np.diff(remaining) < 0.02)
    assert world.feedback[-1].navigation_time.sec >= 3
    assert world.feedback[0].current_pose.header.frame_id == 'map'
    assert [
        world.plans[0].poses[-1].pose.position.x,
        world.plans[0].poses[-1].pose.position.y] == [1.2, 0.5]
    world.run(0.2)
    assert world.commands[-1] == (0.0, 0.0)
    count = len(world.commands)
    world.run(0.5)
    assert len(world.commands) == count, 'cmd_vel is only written while there is a goal'


def test_cancel_stops_the_robot(world):
    handle = world.go(2.0, 0.0)
    assert world.run(10.0, lambda: world.command[0] > 0.2)
    world.wait(handle.cancel_goal_async(), 20.0)
    assert result_of(world, handle)[0] == GoalStatus.STATUS_CANCELED
    assert world.run(5.0, lambda: world.command == (0.0, 0.0))


def test_a_new_goal_preempts_the_old_one(world):
    first = world.go(2.0, 0.0)
    assert world.run(10.0, lambda: world.command[0] > 0.2)
    second = world.go(0.3, 0.8, 1.57)
    status, result = result_of(world, first)
    assert status == GoalStatus.STATUS_ABORTED and 'preempted' in result.error_msg
    assert result_of(world, second)[0] == GoalStatus.STATUS_SUCCEEDED
    assert np.hypot(*(world.pose[:2] - [0.3, 0.8])) < 0.05


def put_back(world):
    """Keep the goal far away from a robot that makes progress all the same."""
    if world.pose[0] > 0.8:
        world.pose[0] = 0.0


def test_a_goal_whose_client_falls_silent_is_not_driven_to_its_end(world):
    world.send_map(room())
    handle = world.go(2.0, 0.0)
    world.keep_alive.publish(UUID(uuid=[7] * 16))        # of somebody else's goal
    assert world.run(10.0, lambda: world.command[0] > 0.05)
    for _ in range(10):                                  # longer than the lease
        world.keep_alive.publish(handle.goal_id)
        world.run(0.5, lambda: put_back(world))
    assert world.command[0] > 0.05, 'kept alive, it goes on'
    silent_s = world.time_s
    while world.command[0] > 0.0 and world.time_s < silent_s + 40.0:
        put_back(world)
        world.run(0.1)
    assert world.time_s - silent_s > 2.0 and world.command == (0.0, 0.0)
    status, result = result_of(world, handle, 20.0)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Code.UNKNOWN)
    assert result.error_msg == 'who sent the goal is gone: no sign of life for 3.0 s'


def test_unreachable_goals_carry_nav2s_codes(world):
    world.send_map(block(room(), -3.0, 0.95, 3.0, 1.0))
    world.run(0.5)
    status, result = result_of(world, world.go(0.0, 2.0))
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Code.NO_VALID_PATH)
    status, result = result_of(world, world.go(9.0, 0.0))
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Code.GOAL_OUTSIDE_MAP)
    assert '(9.00, 0.00)' in result.error_msg
    world.send_map(block(room(), 1.0, -0.5, 2.0, 0.5))
    world.run(0.5)
    status, result = result_of(world, world.go(1.5, 0.0))
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Code.GOAL_OCCUPIED)
    world.send_map(room())
    world.run(0.5)
    assert set(world.commands) == {(0.0, 0.0)}


def test_goal_in_the_robots_frame_is_transformed_and_an_unknown_frame_refused(world):
    world.pose = np.array([0.5, 0.0, math.pi / 2])
    world.run(0.3)
    assert result_of(world, world.go(0.6, 0.0, 0.0, 'base_footprint'))[
        0] == GoalStatus.STATUS_SUCCEEDED
    assert np.hypot(*(world.pose[:2] - [0.5, 0.6])) < 0.05
    for frame in ('no_such_frame', ''):
        status, result = result_of(world, world.go(1.0, 0.0, 0.0, frame))
        assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Code.TF_ERROR)
        assert frame in result.error_msg


def test_a_goal_that_is_no_pose_is_rejected(world):
    assert not world.go(math.nan, 0.0).accepted


def test_stands_while_the_transform_is_stale_and_gives_up_after_its_patience(world):
    handle = world.go(2.0, 0.0)
    assert world.run(10.0, lambda: world.command[0] > 0.2)
    world.send_tf = False
    assert world.run(
        4.0, lambda: world.command == (0.0, 0.0)), 'zero velocity soon after the last pose'
    world.send_tf = True
    assert world.run(4.0, lambda: world.command[0] > 0.2), 'and on when it is back'
    world.send_tf = False
    status, result = result_of(world, handle, 30.0)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Code.TF_ERROR)
    assert 'older' in result.error_msg and world.command == (0.0, 0.0)


def test_a_contact_makes_it_back_off_and_go_round(world):
    handle = world.go(2.0, 0.0)
    assert world.run(8.0, lambda: world.pose[0] > 0.5)
    world.press(True)
    world.run(0.1)
    world.press(False)
    assert world.run(5.0, lambda: world.command[0] < -0.05)
    assert result_of(world, handle)[0] == GoalStatus.STATUS_SUCCEEDED
    # the contact and the plan round it
    assert max(f.number_of_recoveries for f in world.feedback) == 2
    assert len(world.plans) == 2


def test_a_thing_that_is_not_in_the_map_is_planned_round(world):
    handle = world.go(2.0, 0.0)
    assert world.run(8.0, lambda: world.pose[0] > 0.2)
    ranges = np.full(91, 3.0)
    ranges[35:56] = 0.6       # a box 20 cm wide, straight ahead
    seen_at = world.pose[0]
    world.send_scan(ranges)
    assert world.run(5.0, lambda: len(world.plans) == 2)
    box = seen_at + 0.6
    way = np.array([[p.pose.position.x, p.pose.position.y] for p in world.plans[-1].poses])
    assert np.hypot(way[:, 0] - box, way[:, 1]).min() > 0.25
    assert result_of(world, handle)[0] == GoalStatus.STATUS_SUCCEEDED


def test_a_pocket_of_the_reflex_is_gone_round_until_it_is_lifted(world):
    world.send_map(room())
    pocket = Marker(type=Marker.CYLINDER, action=Marker.ADD, pose=pose_to_msg((0.8, 0.0, 0.0)))
    pocket.scale.x = 0.6
    detours = []
    for markers in ([pocket], [Marker(action=Marker.DELETEALL)]):
        world.pockets.publish(MarkerArray(markers=markers))
        world.run(1.0)
        world.plans.clear()
        handle = world.go(1.6, 0.0)
        assert world.run(10.0, lambda: world.plans)
        way = np.array([[p.pose.position.x, p.pose.position.y] for p in world.plans[0].poses])
        detours.append(np.hypot(*(way - [0.8, 0.0]).T).min())
        world.wait(handle.cancel_goal_async(), 20.0)
        result_of(world, handle)
        world.pose = np.array([0.0, 0.0, 0.0])
    assert detours[0] > 0.28 and detours[1] < 0.1


def test_clock_jumping_back_ends_the_goal_and_the_next_one_works(world):
    handle = world.go(2.0, 0.0)
    assert world.run(10.0, lambda: world.command[0] > 0.2)
    world.time_s -= 50.0
    status, result = result_of(world, handle, 20.0)
    assert status == GoalStatus.STATUS_ABORTED and 'clock' in result.error_msg
    world.run(0.3)
    assert world.command == (0.0, 0.0)
    assert result_of(world, world.go(0.8, 0.0))[0] == GoalStatus.STATUS_SUCCEEDED


def test_a_bad_parameter_is_refused_by_name(graph):
    done = subprocess.run(
        [
            sys.executable, '-m', 'oomwoo_sim_support.embedded_navigator_node', '--ros-args', '-p',
            'lookahead_m:=-1.0'],
        env=dict(os.environ, ROS_DOMAIN_ID=str(DOMAIN)), capture_output=True, text=True,
        timeout=20)
    assert done.returncode == 2
    assert 'lookahead_m' in done.stderr and 'Traceback' not in done.stderr
