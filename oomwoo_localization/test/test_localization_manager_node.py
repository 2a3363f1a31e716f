"""The manager over DDS, with everything else played by the test."""

import math
import signal
import subprocess
import sys
import time

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped, Twist
from nav_msgs.msg import OccupancyGrid as OccupancyGridMsg
import numpy as np
from oomwoo_localization.frames import compose, quaternion_from_yaw
from oomwoo_localization.localization_manager_node import LocalizationManagerNode, RECENT_QOS
from oomwoo_localization.ros_support import (
    grid_to_msg,
    LATCHED_QOS,
    pose_from_msg,
    pose_to_msg,
    SENSOR_QOS,
    twist_msg,
)
from oomwoo_localization_msgs.srv import Relocalize
import pytest
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time
from reloc_world import room
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

STEP_S = 0.05
# A step takes a few milliseconds of wall time, an answer over DDS on a busy machine many.
PATIENT = {
    'clear_s': 30.0, 'answer_s': 30.0, 'confirm_s': 10.0, 'stale_s': 3.0,
    'health_patience_s': 10.0}
TRUE = np.array([1.0, 0.5, 0.3])
TWIN = np.array([-1.0, -0.5, 0.3 - math.pi])


class Robot(Node):
    """A simulated clock, base, health, relocalizer, cleaning job, follower and navigator."""

    def __init__(self):
        super().__init__('world')
        self.time_s, self.odom, self.correction = 100.0, np.zeros(3), np.zeros(3)
        self.lost, self.health, self.tf_there, self.scanning = False, True, True, True
        self.takes_seeds, self.heals = True, True
        self.job, self.follower, self.goals = None, None, 0
        self.words, self.seeds, self.commands, self.calls, self.asked = [], [], [], [], 0
        self.answers = []
        self.manager = None
        self.pace_s = 0.006  # wall time of a step
        self.command, self.command_s = (0.0, 0.0), -1e9
        self.clock_out = self.create_publisher(Clock, '/clock', 10)
        self.tf, self.static_tf = TransformBroadcaster(self), StaticTransformBroadcaster(self)
        self.lost_out = self.create_publisher(Bool, 'localization_health/lost', LATCHED_QOS)
        self.scan_out = self.create_publisher(LaserScan, 'scan', SENSOR_QOS)
        self.bumper_out = self.create_publisher(Bool, 'bumper/left', 10)
        self.map_out = self.create_publisher(OccupancyGridMsg, 'map', LATCHED_QOS)
        self.cmd_out = self.create_publisher(Twist, 'cmd_vel', 10)
        self.seed_out = self.create_publisher(PoseWithCovarianceStamped, 'initialpose', 10)
        self.job_out = self.create_publisher(String, 'clean_manager/state', LATCHED_QOS)
        self.follower_out = self.create_publisher(String, 'contour_follower/state', LATCHED_QOS)
        self.goals_out = self.create_publisher(
            GoalStatusArray, 'navigate_to_pose/_action/status', LATCHED_QOS
        )
        self.create_subscription(
            String, 'localization_manager/recovery_action', lambda m: self.words.append(m.data), 50
        )
        self.create_subscription(PoseWithCovarianceStamped, 'initialpose', self.on_seed, 10)
        self.create_subscription(Twist, 'cmd_vel', self.on_command, 10)
        self.create_service(Relocalize, 'global_relocalizer/relocalize', self.on_question)
        for name in ('pause', 'resume'):
            self.create_service(
                Trigger, f'clean_manager/{name}', lambda q, r, name=name: self.on_job(name, r)
            )
        self.create_service(SetBool, 'contour_follower/enable', self.on_enable)
        self.create_service(CancelGoal, 'navigate_to_pose/_action/cancel_goal', self.on_cancel)
        self.retry = self.create_client(Trigger, 'localization_manager/retry')
        self.loop = EventsExecutor()
        self.loop.add_node(self)
        msg = TransformStamped(child_frame_id='base_scan')
        msg.header.frame_id = 'base_footprint'
        msg.transform.translation.z, msg.transform.rotation.w = 0.1, 1.0
        self.static_tf.sendTransform(msg)

    # -- what the others do

    def on_seed(self, msg):
        pose = pose_from_msg(msg.pose.pose)
        self.seeds.append((pose, msg))
        if self.takes_seeds:
            x, y, yaw = self.odom
            c, s = math.cos(yaw), math.sin(yaw)
            self.correction = compose(pose, (-c * x - s * y, s * x - c * y, -yaw))
            if self.heals:
                self.lost = False

    def on_command(self, msg):
        self.command, self.command_s = (msg.linear.x, msg.angular.z), self.time_s
        self.commands.append(self.command)

    def on_question(self, request, response):
        self.asked += 1
        fill = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        response.pose.header.frame_id = 'map'
        response.pose.header.stamp = Time(nanoseconds=round((self.time_s - STEP_S) * 1e9)).to_msg()
        fill(response)
        return response

    def on_job(self, name, response):
        self.calls.append(name)
        if self.job is not None:
            self.job = 'PAUSED' if name == 'pause' else 'PLAN'
            self.job_out.publish(String(data=self.job))
        response.success = self.job is not None
        return response

    def on_enable(self, request, response):
        self.calls.append(f'enable {request.data}')
        self.follower = 'ALIGN' if request.data else 'IDLE'
        self.follower_out.publish(String(data=self.follower))
        response.success = True
        return response

    def on_cancel(self, request, response):
        self.calls.append('cancel')
        self.set_goals(0)
        return response

    def set_goals(self, count):
        self.goals = count
        self.goals_out.publish(
            GoalStatusArray(
                status_list=[GoalStatus(goal_info=GoalInfo(), status=GoalStatus.STATUS_EXECUTING)]
                * count
            )
        )

    def end(self, *others):
        """
        Take this world and other nodes down, for good.

        An executor that is not shut down keeps its nodes alive, and what they have latched is
        heard in the next test.
        """
        for node in (*others, self):
            self.loop.remove_node(node)
            node.destroy_node()
        self.loop.shutdown()

    def discovered(self):
        """Tell whether the manager and this world see each other."""
        return (
            self.count_subscribers('localization_health/lost') > 0
            and self.count_publishers('localization_manager/recovery_action') > 0
            and self.count_clients('global_relocalizer/relocalize') > 0
        )

    # -- time

    def step(self):
        """Go on by a step; the base stops half a second after the last command."""
        self.time_s += STEP_S
        if self.time_s - self.command_s <= 0.5:
            linear, angular = self.command
            self.odom = compose(self.odom, (linear * STEP_S, 0.0, angular * STEP_S))
        stamp = Time(nanoseconds=round(self.time_s * 1e9)).to_msg()
        self.clock_out.publish(Clock(clock=stamp))
        if self.tf_there:
            for parent, child, pose in (
                ('odom', 'base_footprint', self.odom),
                ('map', 'odom', self.correction),
            ):
                msg = TransformStamped(child_frame_id=child)
                msg.header.frame_id, msg.header.stamp = parent, stamp
                t, q = msg.transform.translation, msg.transform.rotation
                t.x, t.y = pose[:2].tolist()
                q.x, q.y, q.z, q.w = quaternion_from_yaw(float(pose[2]))
                self.tf.sendTransform(msg)
        if self.health:
            self.lost_out.publish(Bool(data=self.lost))
        if self.scanning:
            scan = LaserScan(
                angle_min=-math.pi,
                angle_increment=math.pi / 90,
                range_min=0.05,
                range_max=8.0,
                ranges=[2.0] * 180,
            )
            scan.header.frame_id, scan.header.stamp = 'base_scan', stamp
            self.scan_out.publish(scan)
        soon, late = time.monotonic() + self.pace_s, time.monotonic() + 2.0
        while time.monotonic() < soon or (not self.followed() and time.monotonic() < late):
            self.loop.spin_once(timeout_sec=0.003)

    def followed(self):
        """Tell whether a manager in this process has heard everything of this step."""
        if self.manager is None:
            return True
        frames = self.manager._frames
        seen = frames.stamped_pose('odom', 'base_footprint')
        late_s = 0.0 if not self.tf_there or self.time_s < 50.0 else (
            self.time_s - (seen[1] if seen else 0.0))
        return self.manager.now_s() >= self.time_s - 1e-6 and late_s < 1e-6

    def until(self, what, sim_s=20.0, wall_s=60.0):
        """Let simulated time go on until something is so."""
        end_s, end = self.time_s + sim_s, time.monotonic() + wall_s
        while not what():
            assert self.time_s < end_s and time.monotonic() < end, (
                f'waited in vain: {self.words}, {self.calls}, {self.asked} questions'
            )
            self.step()

    def run(self, sim_s):
        """Let some simulated time go on."""
        end_s = self.time_s + sim_s
        self.until(lambda: self.time_s >= end_s, sim_s + 1.0)


def accepted(pose):
    """Return a filler of an answer that is sure."""

    def fill(response):
        response.success = True
        response.pose.pose.pose = pose_to_msg(pose)
        covariance = np.zeros((6, 6))
        covariance[[0, 1, 5], [0, 1, 5]] = 1e-4
        response.pose.pose.covariance = covariance.ravel().tolist()

    return fill


def refused(reason, *candidates):
    """Return a filler of an answer that is not."""

    def fill(response):
        response.reason_code, response.message = reason, f'because of {reason}'
        response.candidates = [pose_to_msg(pose) for pose in candidates]
        response.candidate_scores = [0.9] * len(candidates)
        response.candidates_complete = True

    return fill


@pytest.fixture(autouse=True)
def ros():
    """Begin each test with nothing latched."""
    rclpy.init()
    yield
    rclpy.shutdown()


@pytest.fixture
def robot(request):
    """Return the world with a manager, in one process but over DDS."""
    world = Robot()
    manager = LocalizationManagerNode(
        parameter_overrides=[
            Parameter(name, value=value)
            for name, value in {
                'use_sim_time': True, **PATIENT, **getattr(request, 'param', {})}.items()
        ]
    )
    world.manager = manager
    world.loop.add_node(manager)
    world.until(world.discovered, 300.0, 60.0)
    world.run(1.0)
    yield world
    manager.stop()
    world.end(manager)


def test_the_job_stands_while_lost_and_goes_on_after_a_commit(robot):
    robot.job, robot.answers = 'FOLLOW', [accepted(TRUE)]
    robot.job_out.publish(String(data='FOLLOW'))
    robot.set_goals(1)
    robot.run(0.5)
    assert robot.calls == []
    robot.lost = True
    robot.until(lambda: 'confirmed' in robot.words)
    assert robot.words == ['lost', 'commit', 'confirmed']
    robot.until(lambda: 'resume' in robot.calls)
    assert {'pause', 'cancel'} <= set(robot.calls) and robot.calls[-1] == 'resume'
    pose, msg = robot.seeds[0]
    np.testing.assert_allclose(pose, TRUE, atol=1e-6)
    assert msg.header.frame_id == 'map' and msg.pose.covariance[0] == pytest.approx(1e-4)
    assert robot.time_s - (msg.header.stamp.sec + msg.header.stamp.nanosec * 1e-9) > 0.0
    assert robot.commands == []
    late = []
    robot.create_subscription(
        String, 'localization_manager/recovery_action', lambda m: late.append(m.data), RECENT_QOS)
    robot.until(lambda: len(late) == 3)
    assert late == robot.words, 'who asks late hears how it came'


def test_a_job_that_somebody_else_paused_is_not_resumed(robot):
    robot.job, robot.answers = 'PAUSED', [accepted(TRUE)]
    robot.job_out.publish(String(data='PAUSED'))
    robot.lost = True
    robot.until(lambda: 'confirmed' in robot.words)
    robot.run(1.5)
    assert robot.calls == []


def test_two_places_decide_and_the_follower_stands_meanwhile(robot):
    """Ambiguous at first; after a drive, only one of the two is among what fits then."""
    elsewhere = np.array([5.0, 5.0, 0.0])

    def second(response):
        refused('ambiguous', elsewhere, compose(TRUE, robot.odom))(response)

    robot.answers = [refused('ambiguous', TWIN, TRUE), second]
    robot.follower = 'FOLLOW'
    robot.follower_out.publish(String(data='FOLLOW'))
    robot.lost = True
    robot.until(lambda: 'moving' in robot.words)
    assert robot.calls == ['enable False']
    robot.until(lambda: 'commit' in robot.words, 40.0)
    assert 0.3 < math.hypot(*robot.odom[:2]) < 1.7
    assert robot.commands[-1] == (0.0, 0.0)
    assert max(abs(linear) for linear, _ in robot.commands) <= 0.2 + 1e-6
    np.testing.assert_allclose(robot.seeds[0][0], compose(TRUE, robot.odom), atol=0.05)
    robot.until(lambda: 'enable True' in robot.calls)


def test_it_gives_way_to_whoever_drives(robot):
    robot.answers = [refused('ambiguous', TWIN, TRUE)]
    robot.lost = True
    robot.until(lambda: any(linear > 0.0 for linear, _ in robot.commands))

    def stopped():
        robot.cmd_out.publish(twist_msg(0.123, 0.0))
        return 'blocked' in robot.words

    robot.until(stopped)
    robot.run(2.0)
    robot.commands.clear()
    robot.run(1.0)
    assert robot.commands == [], 'it goes on writing'


def test_a_bumper_stops_it_and_it_steps_back(robot):
    robot.answers = [refused('ambiguous', TWIN, TRUE)]
    robot.lost = True
    robot.until(lambda: any(linear > 0.0 for linear, _ in robot.commands))
    robot.bumper_out.publish(Bool(data=True))
    robot.until(lambda: any(linear < 0.0 for linear, _ in robot.commands))
    robot.bumper_out.publish(Bool(data=False))
    robot.until(lambda: 'stopped' in robot.words)


def test_terminated_while_driving_it_leaves_the_base_standing():
    process = subprocess.Popen(
        [
            sys.executable,
            '-m',
            'oomwoo_localization.localization_manager_node',
            '--ros-args',
            '-p',
            'use_sim_time:=true',
        ]
    )
    world = Robot()
    world.pace_s = STEP_S  # another process has to keep up
    try:
        world.until(world.discovered, 300.0, 60.0)
        world.run(1.0)
        world.answers = [refused('ambiguous', TWIN, TRUE)]
        world.lost = True
        world.until(lambda: any(linear > 0.0 for linear, _ in world.commands), 300.0)
        process.send_signal(signal.SIGTERM)
        world.until(lambda: process.poll() is not None, 300.0)
        world.run(0.2)
        assert world.commands[-1] == (0.0, 0.0)
        assert process.poll() == 0
    finally:
        process.kill()
        world.end()


@pytest.mark.parametrize('robot', [{'confirm_s': 1.0, 'retry_wait_s': 0.2}], indirect=True)
def test_a_localizer_that_ignores_initialpose_is_given_up(robot):
    robot.takes_seeds, robot.answers = False, [accepted(TRUE)]
    robot.lost = True
    robot.until(lambda: robot.words.count('ignored') == 4)
    robot.run(3.0)
    assert robot.asked == 3 and robot.words.count('commit') == 3


@pytest.mark.parametrize('robot', [{'unknown_after': 2, 'retry_wait_s': 0.2}], indirect=True)
def test_an_unknown_room_is_said_once_and_a_map_or_a_retry_asks_again(robot):
    robot.answers = [refused('low_score')]
    robot.lost = True
    robot.until(lambda: 'unknown_room' in robot.words)
    robot.run(5.0)
    assert robot.asked == 2 and robot.commands == []
    answer = robot.retry.call_async(Trigger.Request())
    robot.until(answer.done)
    assert answer.result().success
    robot.until(lambda: robot.words.count('unknown_room') == 2)
    robot.answers = [accepted(TRUE)]
    robot.map_out.publish(grid_to_msg(room()))
    robot.until(lambda: 'confirmed' in robot.words)


@pytest.mark.parametrize(
    'robot', [{'health_patience_s': 2.0, 'clear_s': 3.0}], indirect=True)
def test_missing_inputs_and_a_clock_that_jumps_back(robot):
    """No tf, no scan, silent health, a broken map: it stands, and goes on after."""
    robot.answers = [refused('ambiguous', TWIN, TRUE)]
    robot.health = False
    robot.run(3.0)
    robot.tf_there, robot.scanning, robot.health, robot.lost = False, False, True, True
    robot.map_out.publish(OccupancyGridMsg())
    robot.until(lambda: 'ambiguous' in robot.words)
    assert robot.commands == []
    robot.time_s -= 60.0
    robot.tf_there = robot.scanning = True
    robot.answers = [accepted(TRUE)]
    robot.until(lambda: 'confirmed' in robot.words)
