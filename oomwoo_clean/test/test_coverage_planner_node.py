"""The coverage planner over DDS, with a navigator, reflexes and a localizer on rails."""
import math
import time

from diagnostic_msgs.msg import DiagnosticStatus
from edge_worlds import room
from geometry_msgs.msg import TransformStamped
from nav2_msgs.action import NavigateToPose
from nav_msgs.msg import OccupancyGrid
import numpy as np
from oomwoo_clean.coverage_planner_node import CoveragePlannerNode
from oomwoo_clean.job_run import CANCELLED, DONE, PAUSED, WAITING
from oomwoo_localization.ros_support import grid_to_msg, LATCHED_QOS, pose_from_msg, pose_to_msg
import pytest
import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_msgs.msg import Bool, Float32, String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from unique_identifier_msgs.msg import UUID
from visualization_msgs.msg import Marker, MarkerArray

STEP_M = 0.25                 # a tick; below what counts as a jump
PATIENCE_S = 60.0


class World:
    """All but the planner, and the executor that both run in."""

    def __init__(self, **parameters):
        self.node = rclpy.create_node('world')
        self.planner = CoveragePlannerNode(parameter_overrides=[
            Parameter(name, value=value) for name, value in parameters.items()])
        self.pose, self.send_tf, self.drives = np.zeros(3), True, True
        self.accepts = lambda goal: True
        self.goals, self.states, self.active, self.progress, self.status = [], [], [], [], []
        create = self.node.create_publisher
        self._tf = create(TFMessage, '/tf', 100)
        self.map = create(OccupancyGrid, 'map', LATCHED_QOS)
        self.lost = create(Bool, 'localization_health/lost', LATCHED_QOS)
        self.escape = create(Bool, 'escape_reflex/active', LATCHED_QOS)
        self.pockets = create(MarkerArray, 'escape_reflex/pockets', LATCHED_QOS)
        for kind, topic, into in (
                (String, 'coverage_planner/state', self.states),
                (Bool, 'cleaning_active', self.active),
                (Float32, 'coverage_planner/progress', self.progress)):
            self.node.create_subscription(
                kind, topic, lambda msg, into=into: into.append(msg.data), LATCHED_QOS)
        self.node.create_subscription(
            DiagnosticStatus, 'coverage_planner/status', self.status.append, LATCHED_QOS)
        self._handle = None
        self._ended = {}
        self.reflex_says = None       # said again and again, as the reflex does
        self._said_s = 0.0
        self._server = self._serve()
        self.executor = SingleThreadedExecutor()
        for node in (self.node, self.planner):
            self.executor.add_node(node)

    def _serve(self):
        return ActionServer(
            self.node, NavigateToPose, 'navigate_to_pose', execute_callback=self._execute,
            goal_callback=lambda request: (
                GoalResponse.ACCEPT if self.accepts(request) else GoalResponse.REJECT),
            cancel_callback=lambda handle: CancelResponse.ACCEPT)

    def lose_navigator(self):
        self._server.destroy()
        self._server = self._handle = None

    async def _execute(self, handle):
        assert self._handle is None, 'two goals at once'
        self._handle = handle
        self.goals.append(pose_from_msg(handle.request.pose.pose))
        self._ended[id(handle)] = Future()
        await self._ended[id(handle)]
        self._handle = None
        (handle.canceled if handle.is_cancel_requested else handle.succeed)()
        return NavigateToPose.Result()

    @property
    def state(self):
        return self.states[-1] if self.states else ''

    @property
    def cleaning(self):
        return bool(self.active and self.active[-1])

    @property
    def driving(self):
        return self._handle is not None

    def step(self):
        handle = self._handle
        if handle is not None and handle.is_cancel_requested:
            self._end(handle)
        elif handle is not None and self.drives:
            way = self.goals[-1][:2] - self.pose[:2]
            far_m = math.hypot(*way)
            self.pose[:2] += way * min(1.0, STEP_M / max(far_m, 1e-9))
            if far_m < 1e-3:
                self._end(handle)
        if handle is not None:
            handle.publish_feedback(NavigateToPose.Feedback())
        if self.send_tf:
            tf = TransformStamped(child_frame_id='base_footprint')
            tf.header.frame_id = 'map'
            tf.header.stamp = self.node.get_clock().now().to_msg()
            at = pose_to_msg(self.pose)
            tf.transform.translation.x, tf.transform.translation.y = at.position.x, at.position.y
            tf.transform.rotation = at.orientation
            self._tf.publish(TFMessage(transforms=[tf]))
        if self.reflex_says is not None and time.monotonic() - self._said_s > 0.4:
            self._said_s = time.monotonic()
            self.escape.publish(Bool(data=self.reflex_says))
        until = time.monotonic() + 0.05
        while (left := until - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)

    def _end(self, handle):
        if not self._ended[id(handle)].done():
            self._ended[id(handle)].set_result(None)

    def until(self, condition, most_s=PATIENCE_S):
        end_s = time.monotonic() + most_s
        while not condition() and time.monotonic() < end_s:
            self.step()
        assert condition(), (self.states, [s.message for s in self.status[-3:]])

    def says(self, words):
        self.until(lambda: self.status and words in self.status[-1].message)

    def call(self, name):
        client = self.node.create_client(Trigger, f'coverage_planner/{name}')
        self.until(client.service_is_ready)
        future = client.call_async(Trigger.Request())
        self.until(future.done)
        return future.result()

    def close(self):
        self.planner.stop()
        self.executor.shutdown()
        if self._server is not None:
            self._server.destroy()
        self.planner.destroy_node()
        self.node.destroy_node()


@pytest.fixture(scope='module')
def ros():
    rclpy.init()
    yield
    rclpy.shutdown()


@pytest.fixture
def start(ros):
    worlds = []

    def make(grid=None, **parameters):
        worlds.append(World(**parameters))
        if grid is not None:
            worlds[-1].map.publish(grid_to_msg(grid))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def reason(world):
    values = {pair.key: pair.value for pair in world.status[-1].values}
    return values['reason_code']


def test_a_room_is_covered_goal_by_goal_and_a_new_start_begins_anew(start):
    world = start(room(2.0, 1.4, origin_yaw=0.4))
    world.until(lambda: world.state == DONE)
    world.until(lambda: world.active[-2:] == [True, False] and world.progress[-1] > 0.9)
    world.says('%)')
    assert not world.driving
    count = len(world.goals)
    assert world.call('start').success
    world.until(lambda: len(world.goals) > count)
    world.until(lambda: world.state != DONE and world.cleaning)


def test_a_goal_is_kept_alive_while_it_is_wanted_and_no_longer(start):
    world = start(room(3.0, 2.0))
    world.drives, said = False, []
    world.node.create_subscription(
        UUID, 'navigate_to_pose/keep_alive', lambda msg: said.append(bytes(msg.uuid)), 10)
    world.until(lambda: len(said) > 2)
    assert set(said) == {bytes(world._handle.goal_id.uuid)}
    assert world.call('pause').success
    world.until(lambda: not world.driving)
    count = len(said)
    for _ in range(15):
        world.step()
    assert len(said) == count


def test_what_it_waits_for_is_said(start):
    world = start(autostart=False)
    world.send_tf = False
    world.until(lambda: world.status)
    assert reason(world) == 'NO_MAP'
    world.says('topic /map')
    bad = grid_to_msg(room(2.0, 1.4))
    bad.info.resolution = 0.0
    world.map.publish(bad)
    world.until(lambda: reason(world) == 'BAD_MAP')
    world.says('resolution')
    world.map.publish(grid_to_msg(room(2.0, 1.4)))
    world.until(lambda: reason(world) == 'NO_POSE')
    world.says('base_footprint')
    assert not world.call('pause').success
    assert world.call('start').success
    world.send_tf = True
    world.until(lambda: world.goals)
    world.until(lambda: world.state != WAITING)


def test_lost_or_without_pose_or_navigator_it_stands_and_goes_on(start):
    world = start(room(3.0, 2.0))
    world.drives = False
    world.until(lambda: world.driving)
    world.lost.publish(Bool(data=True))
    world.until(lambda: world.state == WAITING and not world.driving)
    world.says('lost')
    world.lost.publish(Bool(data=False))
    world.until(lambda: world.driving)
    world.send_tf = False
    world.until(lambda: world.state == WAITING and not world.driving)
    world.says('pose')
    world.send_tf = True
    world.until(lambda: world.driving)
    world.lose_navigator()
    world.says('the navigator')
    world.until(lambda: world.state == WAITING)


def test_while_a_reflex_drives_it_stands_aside_and_its_pocket_is_kept_out_of(start):
    world = start(room(3.0, 2.0))
    world.drives = False
    world.until(lambda: world.driving)
    first = world.goals[-1]
    pocket = Marker(type=Marker.CYLINDER, action=Marker.ADD)
    pocket.pose, pocket.scale.x = pose_to_msg(first), 0.8
    world.pockets.publish(MarkerArray(markers=[pocket]))
    world.reflex_says = True
    world.until(lambda: world.state == 'ESCAPE' and not world.driving)
    count = len(world.goals)
    for _ in range(10):
        world.step()
    assert len(world.goals) == count and world.cleaning
    world.reflex_says = False
    world.until(lambda: world.driving)
    assert math.dist(world.goals[-1][:2], first[:2]) > 0.35


def test_a_reflex_that_died_while_it_drove_is_not_waited_for(start):
    world = start(room(3.0, 2.0))
    world.drives = False
    world.until(lambda: world.driving)
    world.escape.publish(Bool(data=True))       # and no more, though its publisher is known still
    world.until(lambda: world.state == 'ESCAPE' and not world.driving)
    world.until(lambda: world.driving, 20.0)


def test_without_contact_awareness_reflexes_are_none_of_its_business(start):
    world = start(room(2.0, 1.4), contact_aware=False)
    world.escape.publish(Bool(data=True))
    world.until(lambda: world.state == DONE)
    assert 'ESCAPE' not in world.states


@pytest.mark.parametrize('cancelled,status', [(True, 0), (False, 3)])
def test_a_job_that_was_cancelled_ended_as_wanted_and_one_that_is_stuck_did_not(
        start, cancelled, status):
    world = start(
        room(1.6, 1.2), stuck_s=1.0, stuck_after=2, autostart=False, exit_when_done=True)
    world.accepts = lambda request: False
    world.until(lambda: world.state == 'IDLE')
    assert world.call('cancel' if cancelled else 'start').success
    world.until(lambda: getattr(world.planner, 'done', False))
    assert world.planner.exit_status == status


def test_goals_that_are_rejected_are_put_off_and_given_up_in_words(start):
    world = start(room(1.6, 1.2), stuck_s=1.0, stuck_after=2)
    world.accepts = lambda request: False
    world.until(lambda: world.state in (DONE, 'STUCK'))
    world.until(lambda: world.status[-1].level == DiagnosticStatus.ERROR and not world.cleaning)
    world.says('goal rejected')
    assert world.state == 'STUCK'


def test_pause_resume_cancel(start):
    world = start(room(3.0, 2.0))
    world.drives = False
    world.until(lambda: world.driving)
    assert world.call('pause').success
    world.until(lambda: world.state == PAUSED and not world.driving)
    world.until(lambda: not world.cleaning)
    assert world.call('resume').success
    world.until(lambda: world.driving)
    assert world.call('cancel').success
    world.until(lambda: world.state == CANCELLED and not world.driving)
    world.until(lambda: not world.cleaning)
    assert not world.call('pause').success
