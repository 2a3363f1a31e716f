"""The manager's node over real DDS, against a navigator and a follower on rails."""
import json
import signal
import subprocess
import sys
import time

from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticStatus
from edge_worlds import disc, room
from manager_world import end, PATIENCE_S, start_manager, World
import numpy as np
from oomwoo_clean.edge_store import JobStore
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization_msgs.action import CleanEdges
import pytest
import rclpy

GRID = room(2.2, 1.8, [disc(0.0, 0.0, 0.05)], origin_yaw=0.3)
START = (-0.45, -0.35, 0.0)


@pytest.fixture()
def world():
    """Return a fresh world; take it down afterwards."""
    rclpy.init()
    node = World(GRID, START)
    yield node
    node.destroy_node()
    rclpy.shutdown()


@pytest.fixture()
def manager(tmp_path):
    """Return a function that starts managers; none survives the test."""
    started = []

    def start(**parameters):
        started.append(start_manager(tmp_path, **parameters))
        return started[-1]
    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


def ended(process):
    return lambda: process.poll() is not None


def test_the_whole_job_killed_on_the_way_and_started_again(world, manager, tmp_path):
    world.send_map()
    first = manager()
    assert world.run(PATIENCE_S, lambda: world.progress > 0.3), (world.status, end(first))
    assert world.driving == 'follower' and world.keep_alives > 3
    assert world.wanted > 0, 'the navigator hears that somebody still wants the goal'
    assert world.heard['active'][-1].data is True
    first.kill()
    first.wait()
    before, goals = world.progress, len(world.goals)
    world.run(3.0)
    assert world.driving == 'follower', 'this follower has no lease; the next manager must stop it'
    world.heard['progress'].clear()
    world.switched.clear()
    second = manager()
    assert world.run(PATIENCE_S, ended(second)), (world.state, world.status)
    status, output = end(second)
    assert status == 0, output
    assert world.switched[0] is False, 'the new manager first makes the robot stand'
    seen = [msg.data for msg in world.heard['progress']]
    assert min(seen) >= before - 1e-3, 'no swept metre is lost'
    assert world.progress == 1.0 and world.state == 'DONE' and world.conflicts == 0
    assert len(world.goals) > goals
    assert 'goes on with the saved job' in output and 'EDGE CLEAN DONE in' in output
    report = json.loads((tmp_path / 'edge_clean.json').read_text())
    assert report['outcome'] == 'DONE'
    assert report['swept_pct'] == 100.0 and report['written_off_m'] == 0.0
    assert report['edges_m'] == pytest.approx(world.rings.length.sum(), abs=0.01)
    assert (tmp_path / 'edge_clean.png').stat().st_size > 20000
    assert world.heard['active'][-1].data is False
    markers = {marker.ns: marker for marker in world.heard['edges'][-1].markers}
    assert markers['swept'].header.frame_id == 'map' and markers['swept'].color.g > 0.5
    assert len(markers['swept'].points) == len(world.rings.points) and not markers['dirty'].points


def test_bad_input_commands_at_any_time_and_what_goes_missing(world, manager, tmp_path):
    process = manager(autostart='false', exit_when_done='false')
    said, message = world.call('start')
    assert not said and 'too early' in message and 'no map' in message
    for cells, resolution, words in (
            (np.full((40, 40), -1), 0.05, 'every cell is unknown'),
            (np.zeros((8, 8)), 0.5, 'too coarse'), (np.zeros((0, 0)), 0.05, 'empty')):
        grid = OccupancyGrid(cells.astype(np.int8), resolution)
        world.send_map(grid)
        assert world.run(PATIENCE_S, lambda words=words: words in world.status), words
        assert world.heard['status'][-1].level == DiagnosticStatus.ERROR
    world.send_map()
    assert world.run(PATIENCE_S, lambda: world.state == 'IDLE'), world.status
    assert world.driving == '' and not world.call('pause')[0] and not world.call('resume')[0]

    refused = []
    world.accepts = lambda goal: bool(refused) or refused.append(goal)
    assert world.call('start')[0] and not world.call('start')[0]
    assert world.run(PATIENCE_S, lambda: world.driving == 'follower'), world.status
    assert refused, 'the first goal was rejected, and the job went on with another'

    assert world.call('pause')[0] and world.run(PATIENCE_S, lambda: world.state == 'PAUSED')
    assert world.run(PATIENCE_S, lambda: world.driving == '')
    here = world.pose.copy()
    world.run(3.0)
    assert (world.pose == here).all()
    assert world.call('resume')[0] and world.run(PATIENCE_S, lambda: world.driving == 'follower')

    world.kill_follower()
    assert world.run(PATIENCE_S, lambda: 'for the contour follower' in world.status), world.status
    assert world.run(PATIENCE_S, lambda: world.state == 'WAITING' and world.driving == '')
    world.follower_alive = True
    assert world.run(PATIENCE_S, lambda: world.driving == 'follower'), world.status

    world.send_tf = False
    assert world.run(PATIENCE_S, lambda: 'waiting for the pose' in world.status), world.status
    assert world.run(PATIENCE_S, lambda: world.driving == '')
    world.send_tf = True
    assert world.run(PATIENCE_S, lambda: world.driving == 'follower'), world.status

    world.jump_back(60.0)
    world.run(3.0)
    before = world.progress
    assert world.run(PATIENCE_S, lambda: world.progress > before + 0.05), world.status

    world.bump_next = world.driving == 'follower'
    assert world.call('cancel')[0] and not world.call('cancel')[0]
    assert world.run(PATIENCE_S, lambda: world.state == 'CANCELLED' and world.driving == '')
    assert world.conflicts == 0 and process.poll() is None
    report = tmp_path / 'edge_clean.json'
    assert world.run(PATIENCE_S, report.exists)
    assert json.loads(report.read_text())['outcome'] == 'CANCELLED'
    assert end(process)[0] == 0, 'cancelled is what a person wanted'


def test_an_escape_reflex_pauses_the_job_which_then_goes_on_by_itself(world, manager):
    world.send_map()
    manager()
    assert world.run(PATIENCE_S, lambda: world.driving == 'follower'), world.status
    world.reflex_drives = True
    assert world.run(PATIENCE_S, lambda: world.state == 'PAUSED'), world.state
    assert world.run(PATIENCE_S, lambda: world.driving == ''), 'nobody drives beside a reflex'
    assert world.run(PATIENCE_S, lambda: not world.heard['active'][-1].data)
    here, goals = world.pose.copy(), len(world.goals)
    world.run(4.0)
    assert world.state == 'PAUSED' and (world.pose == here).all() and len(world.goals) == goals
    before = world.progress
    world.end_reflex()
    assert world.run(PATIENCE_S, lambda: world.progress > before), (world.state, world.status)
    assert world.run(PATIENCE_S, lambda: world.heard['active'][-1].data)
    assert world.conflicts == 0
    # What a person paused while a reflex drove stays so after it.
    world.reflex_drives = True
    assert world.run(PATIENCE_S, lambda: world.state == 'PAUSED'), world.state
    said, message = world.call('pause')
    assert said and 'stays so' in message
    world.end_reflex()
    world.run(4.0)
    assert world.state == 'PAUSED' and world.driving == ''


def test_the_job_as_an_action_and_a_robot_that_is_stuck(world, manager):
    world.send_map()
    process = manager(autostart='false')
    assert world.run(PATIENCE_S, lambda: world.state == 'IDLE' and world.job.server_is_ready())
    feedback = []
    goal = world.wait(world.job.send_goal_async(
        CleanEdges.Goal(), lambda msg: feedback.append(msg.feedback)))
    assert goal.accepted
    assert world.run(PATIENCE_S, lambda: len(feedback) > 2 and feedback[-1].swept_m > 0.3)
    assert feedback[-1].state in ('FOLLOW', 'GOTO', 'PLAN')
    assert feedback[-1].edges_m == pytest.approx(world.rings.length.sum(), abs=0.01)
    again = world.wait(world.job.send_goal_async(CleanEdges.Goal()))
    assert not again.accepted, 'one job at a time'
    world.obeys = lambda pose: False
    world.kill_follower()
    assert world.run(PATIENCE_S, lambda: world.state == 'WAITING')
    world.follower_alive = True
    answer = world.wait(goal.get_result_async())
    assert answer.result.outcome == 'STUCK' and 'different targets failed' in answer.result.reason
    assert answer.result.swept_m > 0.3 and answer.result.written_off_m == 0.0
    assert world.run(PATIENCE_S, ended(process)) and end(process)[0] == 3


def test_a_saved_job_of_another_map_is_refused_when_told_so(world, manager, tmp_path):
    from oomwoo_clean.edge_run import EdgeRun
    from oomwoo_clean.edge_sweep import EdgeSweep
    other = EdgeRun(EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0)))
    other.start()
    JobStore(tmp_path / 'edge_clean_state.npz').snapshot(other)
    world.send_map()
    process = manager(other_map='refuse')
    assert world.run(PATIENCE_S, lambda: 'another map' in world.status), world.status
    world.run(3.0)
    assert world.driving == '' and not world.goals and world.state == 'IDLE'
    assert world.call('start')[0], 'told to start, it begins anew'
    assert world.run(PATIENCE_S, lambda: world.driving == 'follower')
    process.send_signal(signal.SIGINT)
    assert world.run(PATIENCE_S, ended(process))
    assert world.driving == '', 'it leaves the robot standing'
    assert end(process)[0] == 0


def test_a_job_cancelled_while_it_is_prepared_never_begins(world, manager):
    world.send_map()
    process = manager(autostart='false', exit_when_done='false')
    assert world.run(PATIENCE_S, lambda: world.state == 'IDLE' and world.job.server_is_ready())
    world.send_tf = False                     # nothing can be prepared without a pose
    world.run(30.0)
    goal = world.wait(world.job.send_goal_async(CleanEdges.Goal(fresh=True)))
    assert goal.accepted
    world.wait(goal.cancel_goal_async())
    answer = world.wait(goal.get_result_async())
    assert answer.status == GoalStatus.STATUS_CANCELED
    assert answer.result.outcome == 'CANCELLED' and 'before it began' in answer.result.reason
    world.send_tf = True
    world.run(6.0)
    assert not world.goals and world.driving == '' and world.state in ('IDLE', 'WAITING')
    assert world.call('start')[0] and world.run(PATIENCE_S, lambda: world.driving == 'follower')
    assert process.poll() is None


def test_two_managers_do_not_share_one_saved_job(world, manager):
    world.send_map()
    first = manager(autostart='false', exit_when_done='false')
    assert world.run(PATIENCE_S, lambda: world.state == 'IDLE')
    second = manager(autostart='false')
    assert world.run(PATIENCE_S, ended(second))
    status, output = end(second)
    assert status == 2 and 'edge_clean_state.npz: another edge manager' in output
    assert first.poll() is None


@pytest.mark.parametrize('parameter,words', [
    ('tolerance_m:=-1.0', 'tolerance_m'), ('side:=up', 'side'),
    ('output_dir:=/proc/nowhere', '/proc/nowhere')])
def test_bad_parameters_are_named_and_refused(parameter, words):
    done = subprocess.run(
        [sys.executable, '-m', 'oomwoo_clean.clean_manager_node', '--ros-args', '-p', parameter],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and words in done.stderr + done.stdout


def test_the_follower_stops_when_nobody_keeps_it_alive():
    rclpy.init()
    process = subprocess.Popen(
        [sys.executable, '-m', 'oomwoo_clean.contour_follower_node', '--ros-args',
         '-p', 'lease_s:=0.8'])
    try:
        from std_msgs.msg import Empty, String
        from std_srvs.srv import SetBool
        node = rclpy.create_node('lease_test')
        states = []
        node.create_subscription(
            String, 'contour_follower/state', lambda msg: states.append(msg.data), 10)
        alive = node.create_publisher(Empty, 'contour_follower/keep_alive', 1)
        client = node.create_client(SetBool, 'contour_follower/enable')
        assert client.wait_for_service(30.0)
        for _ in range(5):        # an answer is lost while the server does not know the client yet
            future = client.call_async(SetBool.Request(data=True))
            rclpy.spin_until_future_complete(node, future, timeout_sec=5.0)
            if future.done():
                break
        assert future.result().success

        def spin(seconds, talk):
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                if talk:
                    alive.publish(Empty())
                rclpy.spin_once(node, timeout_sec=0.1)
        spin(2.5, talk=True)
        assert states[-1] != 'IDLE', 'kept alive, it stays enabled'
        assert len(states) >= 3, 'it says its state again and again'
        spin(3.0, talk=False)
        assert states[-1] == 'IDLE'
        node.destroy_node()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        rclpy.shutdown()
