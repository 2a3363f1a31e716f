"""What both job nodes do about another map, another job and a reflex, stepped by hand."""
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticStatus
from edge_worlds import disc, room
from launch.actions import EmitEvent, LogInfo
import numpy as np
from oomwoo_clean.clean_manager_node import CleanManagerNode
from oomwoo_clean.coverage_planner_node import CoveragePlannerNode
from oomwoo_clean.drivers_ros_support import OtherCleaners
from oomwoo_clean.job_run import CANCELLED, HELD, IDLE, NOT_DONE_STATUS, PAUSED, WAITING
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.ros_support import grid_to_msg
import pytest
import rclpy
from rclpy.parameter import Parameter
from std_msgs.msg import Bool, String

POSE = np.array([-0.45, -0.35, 0.0])
FIRST = room(2.2, 1.8, [disc(0.0, 0.0, 0.05)])
SECOND = room(2.4, 1.8, [disc(0.2, 0.0, 0.05)])


def made(kind, folder):
    """Yield a node of a kind, to which its timers do nothing: nobody spins it."""
    rclpy.init()
    values = {'autostart': False}
    if kind is CleanManagerNode:
        values['output_dir'] = str(folder)
    node = kind(parameter_overrides=[
        Parameter(name, value=value) for name, value in values.items()])
    node._pose = lambda now_s, frame=None: POSE
    node._missing = lambda now_s: ''
    yield node
    node.destroy_node()
    rclpy.shutdown()


@pytest.fixture(params=[CleanManagerNode, CoveragePlannerNode])
def node(request, tmp_path):
    """Return a node of either kind."""
    yield from made(request.param, tmp_path)


@pytest.fixture
def manager(tmp_path):
    """Return an edge manager."""
    yield from made(CleanManagerNode, tmp_path)


def ticks(node, count=3):
    for _ in range(count):
        node._tick()


def prepared(node, grid=FIRST):
    node._on_map(grid_to_msg(grid))
    ticks(node, 1)
    assert node._run.phase == IDLE
    return node


def status(node):
    return node._status.message


def test_a_paused_job_stays_paused_on_another_map_until_it_is_resumed(node):
    prepared(node)
    assert node._command('start')[0]
    ticks(node)
    assert node._run.running and node._command('pause')[0]
    ticks(node)
    node._on_map(grid_to_msg(SECOND))
    assert status(node) == HELD, 'what becomes of the job is said'
    ticks(node)
    assert node._run.phase == PAUSED and node._grid.shape == SECOND.shape
    assert status(node) == HELD
    goal = node._navigator
    assert not goal.active or goal._cancelled_s is not None, 'what it was driving to is cancelled'
    assert node._command('resume')[0]
    ticks(node)
    assert node._run.running


def test_a_running_job_begins_anew_on_another_map_and_a_held_one_can_be_cancelled(node):
    prepared(node)
    node._command('start')
    ticks(node)
    node._on_map(grid_to_msg(SECOND))
    ticks(node)
    assert node._run.running
    node._command('pause')
    node._on_map(grid_to_msg(FIRST))
    assert node._command('cancel')[0]
    ticks(node)
    assert node._run.phase == IDLE and node._command('start')[0]


def other_of(node):
    return 'coverage_planner' if node.get_name() == 'clean_manager' else 'clean_manager'


def says(node, state):
    node._others._on_state(other_of(node), state)


def test_who_cleans_is_named_and_nothing_is_started_beside_it(node):
    prepared(node)
    publisher = node.create_publisher(String, f'{other_of(node)}/state', 1)
    says(node, 'GOTO')
    for command in ('start', 'resume'):
        done, why = node._command(command)
        assert not done and f'{other_of(node)} is cleaning (GOTO)' in why
    node._wanted = True                             # as autostart says
    ticks(node)
    assert node._run.phase == IDLE and not node._wanted
    assert status(node).startswith(f'not started: {other_of(node)} is cleaning')
    says(node, PAUSED)
    assert node._others.problem() == ''
    says(node, 'GOTO')
    node.destroy_publisher(publisher)
    assert node._command('start')[0], 'one that is gone cleans no more'
    ticks(node)
    assert node._run.running


def test_of_two_that_begin_at_once_the_first_named_goes_on(node):
    prepared(node)
    publisher = node.create_publisher(String, f'{other_of(node)}/state', 1)
    node._command('start')
    ticks(node)
    says(node, 'GOTO')
    ticks(node)
    manager = isinstance(node, CleanManagerNode)
    assert node._run.phase == (node._run.phase if manager else PAUSED)
    assert node._run.running == manager
    assert manager or 'paused: clean_manager is cleaning (GOTO)' in status(node)
    node.destroy_publisher(publisher)


def test_waiting_is_cleaning_only_when_somebody_cleans():
    rclpy.init()
    node = rclpy.create_node('coverage_planner')
    node.create_publisher(String, 'clean_manager/state', 1)
    own = []
    others = OtherCleaners(node, lambda: bool(own))
    others._on_state('clean_manager', WAITING)
    assert others.problem() == '', 'it has not begun'
    own.append(True)
    others._on_active(Bool(data=True))
    assert others.problem() == '', 'that was the node itself'
    own.clear()
    others._on_active(Bool(data=True))
    assert 'clean_manager' in others.problem()
    others._on_active(Bool(data=False))
    assert others.problem() == ''
    others._on_state('clean_manager', 'FOLLOW')
    others._on_state('clean_manager', WAITING)
    assert 'clean_manager' in others.problem(), 'at work, it waits for something'
    node.destroy_node()
    rclpy.shutdown()


def is_warning(node):
    return node._status.level == DiagnosticStatus.WARN


def test_what_is_missing_while_all_is_started_together_is_no_warning_until_it_stays(node):
    node._grace = SimpleNamespace(over=False, begin=lambda: None)
    node._pose = lambda now_s, frame=None: None
    node._on_map(grid_to_msg(FIRST))
    ticks(node)
    assert 'no pose' in status(node) and not is_warning(node)
    node._grace.over = True
    ticks(node)
    assert 'no pose' in status(node) and is_warning(node)

    node._grace.over = False
    node._pose = lambda now_s, frame=None: POSE
    node._missing = lambda now_s: 'a thing that is late'
    ticks(node)
    node._command('start')
    ticks(node)
    assert status(node) == 'waiting for a thing that is late' and not is_warning(node)
    node._grace.over = True
    ticks(node)
    assert status(node) == 'waiting for a thing that is late' and is_warning(node)
    node._missing = lambda now_s: ''
    ticks(node)
    assert not is_warning(node)
    node._missing = lambda now_s: 'a thing that is gone'
    ticks(node)
    assert is_warning(node), 'later it is one at once'


def test_a_tick_asks_for_the_time_once_and_for_the_navigator_once_a_second(node):
    asked, navigator = Counter(), node._navigator
    time_s = [50.0]

    def there():
        asked['server'] += 1
        return True

    def now_s():
        asked['time'] += 1
        return time_s[0]

    node.now_s, navigator._client.server_is_ready = now_s, there
    del node._missing
    node._missing_beside = lambda now_s: ''
    prepared(node)
    if isinstance(node, CleanManagerNode):
        node._follower.enabled = False              # it has said that it stands
    node._command('start')
    ticks(node, 2)
    assert navigator.active and node._run.phase == 'GOTO'
    navigator._heard_s = 60.0
    asked.clear()
    for _ in range(40):
        time_s[0] += 0.1
        node._tick()
    assert navigator.active and 3 <= asked['server'] <= 5 and asked['time'] == 40
    navigator._client.server_is_ready = lambda: False
    time_s[0] += 1.0
    node._tick()
    assert navigator.report.message == 'the navigator is gone'


def test_a_job_that_rests_asks_for_no_odometry_and_counts_none_when_it_goes_on(manager):
    frames, odom = [], [np.zeros(3)]

    def pose_in(now_s, frame=None):
        frames.append(frame)
        return POSE if frame is None else odom[0]

    manager._pose = pose_in
    prepared(manager)
    ticks(manager, 2)
    assert set(frames) == {None}
    manager._command('start')
    ticks(manager, 2)
    assert frames[-1] == 'odom' and manager._run.odometer_m == 0.0
    manager._command('pause')
    ticks(manager, 2)
    odom[0] = np.array([0.2, 0.0, 0.0])                 # pushed
    manager._command('resume')
    ticks(manager, 2)
    odom[0] = np.array([0.3, 0.0, 0.0])
    ticks(manager, 1)
    assert manager._run.odometer_m == pytest.approx(0.1)


def test_no_goal_is_sent_to_a_navigator_that_has_just_gone(node):
    time_s, navigator, sent = [50.0], node._navigator, []
    navigator._client.server_is_ready = lambda: True
    navigator._client.send_goal_async = lambda *_: sent.append(1)
    assert navigator.ready(time_s[0])
    navigator._client.server_is_ready = lambda: False
    assert navigator.ready(time_s[0] + 0.5), 'which is not noticed at once'
    navigator.go(1, (0.0, 0.0, 0.0), time_s[0] + 0.5)
    assert not sent and not navigator.active and not navigator.ready(time_s[0] + 0.6)


def test_several_events_of_a_tick_are_said_with_the_state_of_each(node):
    prepared(node)
    told = []
    node.set_status = lambda level, message, state, *more: told.append((message, state))
    node._command('start')
    node._command('pause')
    node._command('cancel')
    node._tick()
    assert [state for _, state in told] == ['PLAN', PAUSED, CANCELLED]
    assert told[1][0] == 'paused'


def test_a_person_who_pauses_while_a_reflex_holds_is_told_that_it_takes_effect(manager):
    prepared(manager)
    manager._command('start')
    ticks(manager)
    manager._reflex = SimpleNamespace(active=True, over=lambda: False)
    ticks(manager)
    assert manager._run.phase == PAUSED
    answer = manager._on_command('pause', SimpleNamespace())
    assert answer.success and 'stays so' in answer.message
    again = manager._on_command('pause', SimpleNamespace())
    assert not again.success
    manager._reflex = SimpleNamespace(active=False, over=lambda: True)
    ticks(manager)
    assert manager._run.phase == PAUSED


def test_a_bump_map_in_another_frame_or_one_that_leaves_no_edge_is_refused(manager):
    warnings = []
    manager.get_logger = lambda: SimpleNamespace(
        info=lambda *_, **__: None, error=print,
        warning=lambda text, **_: warnings.append(text))
    prepared(manager)
    manager._command('start')
    edges_m = manager._run.sweep.figures().edges_m
    everything = OccupancyGrid(np.full_like(FIRST.cells, 100), FIRST.resolution, FIRST.origin)
    manager._on_bump_map(grid_to_msg(everything, 'odom'))
    assert manager._touched is None and "frame_id is 'odom', not 'map'" in warnings[-1]
    manager._on_bump_map(grid_to_msg(everything))
    ticks(manager)
    assert manager._run.running and manager._run.sweep.figures().edges_m == edges_m
    assert any('leaves no edge' in text for text in warnings)


@pytest.mark.parametrize('status,ends', [
    (0, True), (2, True), (NOT_DONE_STATUS, True), (1, False), (-9, False)])
@pytest.mark.parametrize('comes_back', [True, False])
def test_a_manager_that_broke_down_is_started_again_and_one_that_ended_ends_the_launch(
        status, ends, comes_back):
    """Where it shares a process with what cannot be started again, that ends the launch, too."""
    path = Path(__file__).resolve().parents[1] / 'launch' / 'edge_clean.launch.py'
    spec = spec_from_file_location('edge_clean_launch', path)
    launch_file = module_from_spec(spec)
    spec.loader.exec_module(launch_file)
    event = SimpleNamespace(returncode=status, action=SimpleNamespace(comes_back=comes_back))
    action, = launch_file._manager_ended(event, None)
    assert isinstance(action, EmitEvent if ends or not comes_back else LogInfo)
