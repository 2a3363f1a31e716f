"""The docking node over real DDS, with the embedded simulator around it."""
import math
from pathlib import Path
import signal
import subprocess
import sys
import time

from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Twist
from nav2_msgs.action import DockRobot, NavigateToPose, UndockRobot
from nav_msgs.msg import Odometry
from oomwoo_clean.dock_drive_node import NodeSettings
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.ros_support import LATCHED_QOS, pose_from_msg, pose_to_msg
from oomwoo_localization.settings import settings_table
import pytest
import rclpy
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_msgs.msg import Bool, String
from unique_identifier_msgs.msg import UUID

HERE = Path(__file__).parents[1]
DOCK = (-2.11, -0.5, 0.0)
SUCCEEDED, ABORTED, CANCELED = (
    GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_ABORTED, GoalStatus.STATUS_CANCELED)


def start(module, *parameters, remappings=()):
    """Start a node as a process of its own."""
    arguments = [part for parameter in parameters for part in ('-p', parameter)]
    arguments += [part for remapping in remappings for part in ('-r', remapping)]
    return subprocess.Popen(
        [sys.executable, '-m', module, '--ros-args', *arguments], stderr=subprocess.PIPE,
        text=True, cwd=HERE)


def end(process):
    """Stop a process; return what it wrote."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    return process.communicate(timeout=30)[1]


class Bench:
    """A client of the two actions, and ears for what the node says."""

    def __init__(self, **kwargs):
        """Listen."""
        self.node = rclpy.create_node('bench', **kwargs)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.states, self.commands, self.feedback, self.status = [], [], [], []
        self.truth, self.diagnostics = None, {}
        listen = self.node.create_subscription
        listen(String, 'dock_drive/state', lambda m: self.states.append(m.data), LATCHED_QOS)
        listen(Twist, 'cmd_vel', lambda m: self.commands.append((m.linear.x, m.angular.z)), 10)
        listen(DiagnosticStatus, 'dock_drive/status', self.status.append, LATCHED_QOS)
        listen(Odometry, 'odom_truth', self._on_truth, 10)
        listen(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self.dock = ActionClient(self.node, DockRobot, 'dock_robot')
        self.undock = ActionClient(self.node, UndockRobot, 'undock_robot')

    def _on_truth(self, msg):
        self.truth = pose_from_msg(msg.pose.pose)

    def _on_diagnostics(self, msg):
        for status in msg.status:
            self.diagnostics.update({pair.key: pair.value for pair in status.values})

    def wait(self, until, seconds=90.0):
        """Spin until something holds; fail when it does not."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            self.executor.spin_once(timeout_sec=0.02)
            if until():
                return
        raise AssertionError(f'nothing came of it; states {self.states}')

    def send(self, client, goal):
        """Send a goal; return its handle."""
        future = client.send_goal_async(
            goal, feedback_callback=lambda msg: self.feedback.append(msg.feedback))
        self.wait(future.done, 30.0)
        assert future.result().accepted
        return future.result()

    def result(self, handle, seconds=120.0):
        """Wait for a goal's end; return (status, result)."""
        future = handle.get_result_async()
        self.wait(future.done, seconds)
        return future.result().status, future.result().result

    def in_dock(self):
        """Return the robot's true pose in the dock frame."""
        return compose(inverse(DOCK), self.truth)

    def stand(self):
        """Wait until the robot stands for half a second of wall time."""
        self.wait(lambda: self.commands and self.commands[-1] == (0.0, 0.0), 30.0)


@pytest.fixture(scope='module')
def bench():
    """Return a bench beside simulator and docking node; one for all, they take long to start."""
    processes = [
        start('oomwoo_sim_support.embedded_sim_node', 'world:=kitchen_dining', 'x_pose:=-1.4',
              'y_pose:=-0.9', 'yaw:=2.0', 'real_time_factor:=3.0', 'command_wait_s:=0.2'),
        start('oomwoo_clean.dock_drive_node', 'use_sim_time:=true', 'frame_patience_s:=0.5',
              'navigate_beyond_m:=0.6')]
    rclpy.init()
    bench = Bench(parameter_overrides=[Parameter('use_sim_time', value=True)])
    try:
        assert bench.dock.wait_for_server(90.0) and bench.undock.wait_for_server(30.0)
        bench.wait(lambda: bench.truth is not None)
        yield bench
    finally:
        for process in processes:
            end(process)
        bench.executor.shutdown()
        bench.node.destroy_node()
        rclpy.try_shutdown()


def pose_goal(frame, pose=DOCK):
    """Return a goal with a dock pose."""
    goal = DockRobot.Goal(use_dock_id=False)
    goal.dock_pose.header.frame_id = frame
    goal.dock_pose.pose = pose_to_msg(pose)
    return goal


@pytest.mark.parametrize('goal, code, words', [
    (DockRobot.Goal(use_dock_id=True, dock_id='attic'), DockRobot.Result.DOCK_NOT_IN_DB,
     "dock_id 'attic' is not known; there is 'home_dock'"),
    (DockRobot.Goal(dock_type='charger_9000'), DockRobot.Result.DOCK_NOT_VALID,
     "dock_type 'charger_9000' is not known"),
    (pose_goal('attic'), DockRobot.Result.DOCK_NOT_VALID, "dock pose in frame 'attic'"),
    (pose_goal(''), DockRobot.Result.DOCK_NOT_VALID, 'header.frame_id is empty'),
    (pose_goal('odom', (math.nan, 0.0, 0.0)), DockRobot.Result.DOCK_NOT_VALID, 'is no pose')])
def test_a_goal_that_cannot_be_served_is_told_why(bench, goal, code, words):
    status, result = bench.result(bench.send(bench.dock, goal))
    assert status == ABORTED and not result.success and result.error_code == code
    assert words in result.error_msg


def test_while_another_behaviour_drives_no_docking_begins(bench):
    cleaning = bench.node.create_publisher(Bool, 'cleaning_active', LATCHED_QOS)
    cleaning.publish(Bool(data=True))
    time.sleep(1.0)                         # for the node to hear of it
    status, result = bench.result(bench.send(bench.dock, DockRobot.Goal()))
    assert status == ABORTED and result.error_code == DockRobot.Result.UNKNOWN
    assert 'the robot is cleaning' in result.error_msg
    # Gone without a word, it is no reason any more: the next goals of this module are served.
    bench.node.destroy_publisher(cleaning)
    time.sleep(1.0)


def test_undocking_in_the_open_is_refused(bench):
    status, result = bench.result(bench.send(bench.undock, UndockRobot.Goal()))
    assert status == ABORTED and result.error_code == UndockRobot.Result.DOCK_NOT_VALID
    assert 'not in a dock' in result.error_msg


def test_cancelled_on_its_way_it_stands(bench):
    handle = bench.send(bench.dock, DockRobot.Goal(dock_id='home_dock'))
    bench.wait(lambda: any(linear > 0.05 for linear, _ in bench.commands))
    cancel = handle.cancel_goal_async()
    bench.wait(cancel.done)
    status, result = bench.result(handle)
    assert status == CANCELED and not result.success
    bench.stand()
    bench.wait(lambda: bench.states[-1] == 'CANCELLED', 10.0)
    assert bench.in_dock()[0] > 0.2


def test_while_an_escape_reflex_drives_it_commands_nothing_and_then_looks_anew(bench):
    reflex = bench.node.create_publisher(Bool, 'escape_reflex/active', LATCHED_QOS)
    handle = bench.send(bench.dock, DockRobot.Goal(dock_id='home_dock'))
    bench.commands.clear()
    bench.wait(lambda: any(linear > 0.05 for linear, _ in bench.commands))
    bench.status.clear()

    def said():
        reflex.publish(Bool(data=True))
        return any('escape reflex drives' in status.message for status in bench.status)

    bench.wait(said)
    bench.commands.clear()
    until = time.monotonic() + 1.0
    bench.wait(lambda: said() and time.monotonic() > until)
    assert all(command == (0.0, 0.0) for command in bench.commands)
    reflex.publish(Bool(data=False))
    bench.wait(lambda: any(command != (0.0, 0.0) for command in bench.commands))
    bench.wait(handle.cancel_goal_async().done)
    assert bench.result(handle)[0] == CANCELED
    bench.stand()
    bench.node.destroy_publisher(reflex)


class Navigator:
    """Plays ``navigate_to_pose``: takes goals and ends them as it is told to."""

    def __init__(self, bench, outcome):
        """Serve beside the bench; ``outcome`` 'arrive', 'fail', or 'drive' until cancelled."""
        self._node, self.outcome, self.goals = bench.node, outcome, []
        self.ids, self.kept_alive, self.cancelled = [], [], 0
        bench.node.create_subscription(
            UUID, 'navigate_to_pose/keep_alive',
            lambda msg: self.kept_alive.append(bytes(msg.uuid)), 10)
        self.server = ActionServer(
            bench.node, NavigateToPose, 'navigate_to_pose', execute_callback=self._execute,
            cancel_callback=lambda _: CancelResponse.ACCEPT)

    async def _execute(self, handle):
        self.goals.append(handle.request.pose)
        self.ids.append(bytes(handle.goal_id.uuid))
        result = NavigateToPose.Result()
        if self.outcome == 'arrive':
            handle.succeed()
        elif self.outcome == 'fail':
            result.error_code, result.error_msg = 208, 'a sofa is in the way'
            handle.abort()
        else:
            while not handle.is_cancel_requested:
                await self._pause()
                if self.outcome == 'gone':
                    await Future()                      # which never comes
            self.cancelled += 1
            handle.canceled()
        return result

    def go_away(self):
        """Be no server any more, whatever is under way."""
        if self.outcome != 'gone':
            self.outcome = 'gone'
            self.server.destroy()

    async def _pause(self):
        done = Future()
        timer = self._node.create_timer(0.05, lambda: done.done() or done.set_result(None))
        await done
        timer.destroy()


@pytest.fixture
def navigator(bench):
    """Return a function that puts a navigator beside the node for one test."""
    playing = []

    def play(outcome):
        playing.append(Navigator(bench, outcome))
        bench.wait(lambda: bench.node.get_publishers_info_by_topic(
            '/navigate_to_pose/_action/status'))
        time.sleep(1.0)                     # for the node to hear of it, too
        return playing[0]

    yield play
    playing[0].go_away()


def test_a_dock_far_away_is_navigated_to_first(bench, navigator):
    navigator = navigator('fail')
    odom_from_dock = compose(inverse((-1.4, -0.9, 2.0)), DOCK)
    goal = pose_goal('odom', odom_from_dock)
    status, result = bench.result(bench.send(bench.dock, goal))
    assert status == ABORTED and result.error_code == DockRobot.Result.FAILED_TO_STAGE
    assert 'the navigator gave up: a sofa is in the way' in result.error_msg
    # Where it is to be brought: 60 cm before the mouth, its back to it.
    asked, = navigator.goals
    assert asked.header.frame_id == 'odom'
    assert compose(inverse(odom_from_dock), pose_from_msg(asked.pose)) == pytest.approx(
        (0.6, 0.0, 0.0), abs=1e-6)
    navigator.outcome = 'drive'
    handle = bench.send(bench.dock, goal)
    bench.wait(lambda: len(navigator.goals) == 2)
    bench.wait(lambda: navigator.kept_alive.count(navigator.ids[-1]) > 2)
    cancel = handle.cancel_goal_async()
    bench.wait(cancel.done)
    status, result = bench.result(handle)
    assert status == CANCELED and 'on the way to the dock' in result.error_msg
    goal.navigate_to_staging_pose = False
    handle = bench.send(bench.dock, goal)
    bench.wait(lambda: bench.states[-1] == 'SEARCH')
    assert len(navigator.goals) == 2
    bench.wait(handle.cancel_goal_async().done)
    assert bench.result(handle)[0] == CANCELED


def test_a_navigator_that_takes_too_long_is_stopped_and_one_that_dies_ends_the_goal(
        bench, navigator):
    navigator = navigator('drive')
    goal = pose_goal('odom', compose(inverse((-1.4, -0.9, 2.0)), DOCK))
    goal.max_staging_time = 1.0
    status, result = bench.result(bench.send(bench.dock, goal))
    assert status == ABORTED and result.error_code == DockRobot.Result.FAILED_TO_STAGE
    assert 'not brought to the dock within 1 s' in result.error_msg
    bench.wait(lambda: navigator.cancelled == 1, 10.0)
    goal.max_staging_time = 1000.0
    handle = bench.send(bench.dock, goal)
    bench.wait(lambda: len(navigator.goals) == 2)
    navigator.go_away()
    status, result = bench.result(handle, 20.0)
    assert status == ABORTED and 'the navigator is gone' in result.error_msg


def test_it_docks_and_a_second_goal_meanwhile_is_refused(bench):
    bench.states.clear(), bench.feedback.clear()
    handle = bench.send(bench.dock, DockRobot.Goal())
    bench.wait(lambda: 'GOTO' in bench.states)
    for client, goal in ((bench.dock, DockRobot.Goal()), (bench.undock, UndockRobot.Goal())):
        status, result = bench.result(bench.send(client, goal))
        assert status == ABORTED and 'busy with another goal to dock' in result.error_msg
    status, result = bench.result(handle)
    assert status == SUCCEEDED and result.success and result.error_code == 0
    bench.wait(lambda: bench.states[-1] == 'DONE')
    assert bench.states[-5:] == ['SEARCH', 'GOTO', 'TURN', 'BACK', 'DONE']
    said = {feedback.state for feedback in bench.feedback}
    assert {DockRobot.Feedback.NAV_TO_STAGING_POSE, DockRobot.Feedback.CONTROLLING} <= said
    bench.stand()
    x, y, yaw = bench.in_dock()
    assert -0.157 < x < -0.150 and abs(y) < 0.005 and abs(math.degrees(yaw)) < 1.5
    bench.wait(lambda: bench.status[-1].message.startswith('docked: lateral '), 10.0)
    bench.diagnostics.clear()
    bench.wait(lambda: 'dock_touched' in bench.diagnostics, 30.0)
    assert bench.diagnostics['dock_touched'] == '0'
    assert float(bench.diagnostics['dock_push_m']) < 0.0005
    assert bench.status[-1].message.endswith(' deg')


def test_docked_already_is_done_without_a_move(bench):
    before = bench.in_dock()
    status, result = bench.result(bench.send(bench.dock, DockRobot.Goal()))
    assert status == SUCCEEDED and result.success
    assert bench.in_dock() == pytest.approx(before, abs=1e-3)


def test_it_undocks_to_the_staging_point(bench):
    status, result = bench.result(bench.send(bench.undock, UndockRobot.Goal()))
    assert status == SUCCEEDED and result.success
    bench.wait(lambda: bench.states[-1] == 'DONE', 10.0)
    bench.stand()
    x, y, yaw = bench.in_dock()
    assert x == pytest.approx(0.35, abs=0.03) and abs(y) < 0.02 and abs(yaw) < 0.08


def test_a_known_pose_of_the_dock_is_taken_for_a_hint(bench):
    odom_from_dock = compose(inverse((-1.4, -0.9, 2.0)), DOCK)
    status, result = bench.result(bench.send(bench.dock, pose_goal('odom', odom_from_dock)))
    assert status == SUCCEEDED and result.success, result.error_msg


def docks_elsewhere(remapping, *parameters):
    """Run a node in another namespace until it gives docking up; return (status, stderr)."""
    process = start('oomwoo_clean.dock_drive_node', 'dock_on_start:=true', 'exit_when_done:=true',
                    *parameters, remappings=('__ns:=/other', remapping))
    try:
        errors = process.communicate(timeout=90)[1]
    finally:
        end(process)
    return process.returncode, errors


@pytest.mark.parametrize('sim_time, words', [
    ('false', 'NO_SCAN: no fresh scan for 1 s'),
    ('true', 'NO_CLOCK: nothing on /clock: is the simulator running?')])
def test_what_never_comes_ends_the_docking_and_the_node_with_status_1(sim_time, words):
    status, errors = docks_elsewhere(
        '/clock:=/no_clock', 'patience_s:=1.0', 'start_patience_s:=1.0',
        f'use_sim_time:={sim_time}')
    assert status == 1
    assert f'docking failed: {words}' in errors
    assert 'docking given up; exiting' in errors


def test_a_base_that_does_not_listen_is_named_and_not_taken_for_a_robot_that_is_stuck(bench):
    status, errors = docks_elsewhere('scan:=/scan', 'use_sim_time:=true')
    assert status == 1
    assert 'NO_BASE: nobody listens to /other/cmd_vel: is the base running?' in errors, errors


def test_a_parameter_that_makes_no_sense_ends_the_node_and_is_named():
    process = start('oomwoo_clean.dock_drive_node', 'staging_m:=0.01')
    assert process.wait(90) == 2 and 'staging_m' in process.stderr.read()


def test_the_readmes_parameter_table_is_up_to_date():
    readme = (HERE / 'README.md').read_text(encoding='utf-8')
    assert settings_table(NodeSettings) in readme
