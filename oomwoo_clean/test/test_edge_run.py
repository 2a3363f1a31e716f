"""The job as a state machine: what it orders, when it gives up, and that nothing swept is lost."""
import contextlib
import math
import random

from edge_worlds import box, disc, Rider, room
import numpy as np
from oomwoo_clean.edge_run import EdgeRun, FOLLOW, Inputs
from oomwoo_clean.edge_store import JobStore, StoreError
from oomwoo_clean.edge_sweep import EdgeSweep
from oomwoo_clean.job_run import CANCELLED, DONE, GOTO, IDLE, NavReport, PAUSED, STUCK, WAITING
import pytest

START = (-1.0, -1.0, 0.0)
ROOM = room(3.0, 3.0, [disc(0.0, 0.0, 0.1)])


def new_run(grid=ROOM, pose=START):
    return EdgeRun(EdgeSweep(grid, pose))


def started(grid=ROOM, **behaviour):
    run = new_run(grid)
    assert run.start()[0]
    return run, Rider(run, START, **behaviour)


def test_the_whole_job():
    run, rider = started()
    rider.ride()
    figures = run.sweep.figures()
    assert run.phase == DONE and figures.swept_pct == 100.0 and figures.written_off_m == 0.0
    assert run.segments == 2 and len(rider.goals) == 2
    assert figures.driven_m < figures.edges_m + 2 * 0.35 + 2.0
    assert run.elapsed_s == pytest.approx(rider.time_s, abs=0.2)


def test_a_ring_is_left_where_it_is_done_and_not_when_that_is_noticed():
    run, rider = started()
    rider.ride(until=lambda: run.segments == 1)
    began = run.sweep.driven_m
    rider.ride(until=lambda: run.phase != FOLLOW)
    length = run.sweep.rings.length[
        run.sweep.rings.ring == run.sweep.rings.ring[run.target.spot]].sum()
    assert run.sweep.driven_m - began == pytest.approx(length, abs=0.1)
    assert run.reason.endswith('no dirty edge is ahead')


def test_clean_edge_is_driven_along_when_there_is_dirt_behind_it():
    run, rider = started(room(3.0, 3.0))
    rings = run.sweep.rings
    rider.ride(until=lambda: run.sweep.swept_m > 0.5)
    here = int(np.argmin(np.hypot(*(rings.points - rider.pose[:2]).T)))
    run.sweep.swept[rings.ahead(here, 1.4)] = True
    rider.ride()
    assert run.phase == DONE and run.segments == 1


def test_nothing_moves_before_the_start_and_after_the_end():
    run = new_run()
    rider = Rider(run, START)
    for _ in range(5):
        _, orders = rider.tick()
        assert orders.goal is None and not orders.follow and orders.state == IDLE
    assert run.elapsed_s == 0.0
    run.start()
    rider.ride()
    for _ in range(3):
        _, orders = rider.tick()
        assert orders.goal is None and not orders.follow


def test_the_navigator_gets_no_goal_while_the_follower_still_drives():
    run, rider = started()
    for _ in range(3):
        orders = rider.run.step(inputs_of(rider, following=True))
        assert orders.goal is None
    assert run.step(inputs_of(rider, following=False)).goal is not None


def inputs_of(rider, **changes):
    rider.time_s += 0.1
    fields = {'time_s': rider.time_s, 'pose': np.array(START), 'follower': 'IDLE'} | changes
    return Inputs(**fields)


def test_swept_only_once_the_follower_has_acknowledged_and_drives():
    run, rider = started()
    rider.ride(until=lambda: run.phase == FOLLOW)
    spot = run.sweep.rings.points[run.target.spot]
    pose = np.array([*spot, 0.0])
    for state, following, swept in (
            ('FOLLOW', False, False), ('LOST', True, False), ('IDLE', True, False),
            ('ARC', True, True)):
        pose = pose + (0.011, 0.0, 0.0)
        run.step(inputs_of(rider, pose=pose, follower=state, following=following))
        assert (run.sweep.swept_m > 0) == swept, state


# -- failures ------------------------------------------------------------------------------------


def test_a_spot_that_cannot_be_reached_is_written_off_and_the_rest_is_cleaned():
    blocked = np.array([0.0, 1.25])

    def obeys(goal):
        return math.dist(goal[:2], blocked) > 0.6
    run, rider = started(obeys=obeys, stops=lambda x, y: math.dist((x, y), blocked) < 0.3)
    rider.ride()
    figures = run.sweep.figures()
    assert run.phase == DONE
    off = run.sweep.rings.points[run.sweep.written_off]
    assert 0.3 < figures.written_off_m < 1.4
    assert (np.hypot(*(off - blocked).T) < 0.9).all()
    assert figures.swept_m + figures.written_off_m == pytest.approx(figures.edges_m)


def test_a_second_attempt_comes_before_giving_up_and_from_farther_back():
    refused = []

    def obeys(goal):
        if not refused:
            refused.append(goal)
            return False
        return True
    run, rider = started(obeys=obeys)
    rider.ride()
    assert run.phase == DONE and run.sweep.figures().written_off_m == 0.0
    assert any('put off' in event for event in rider.events)


def test_three_different_targets_in_a_row_mean_the_robot_is_stuck():
    run, rider = started(obeys=lambda goal: False)
    rider.ride()
    assert run.phase == STUCK and len(rider.goals) == 3
    apart = [math.dist(a[:2], b[:2]) for i, a in enumerate(rider.goals) for b in rider.goals[:i]]
    assert min(apart) > 0.3
    assert 'different targets failed in a row' in run.reason
    assert run.sweep.figures().written_off_m == 0.0, 'the room is not written off'


def test_failures_with_a_success_between_them_are_no_reason_to_be_stuck():
    corners = [(1.2, 1.2), (-1.2, 1.2), (1.2, -1.2), (-1.2, -1.2)]

    def stops(x, y):
        return min(math.dist((x, y), corner) for corner in corners) < 0.15
    run, rider = started(stops=stops)
    rider.ride()
    figures = run.sweep.figures()
    assert run.phase == DONE
    assert figures.swept_pct > 80.0
    assert figures.swept_m + figures.written_off_m == pytest.approx(figures.edges_m)


def test_a_follower_that_runs_off_the_rings_is_called_back():
    run, rider = started()
    rider.ride(until=lambda: run.sweep.swept_m > 0.5)
    driven = run.sweep.driven_m
    pose = np.array([0.6, 0.6, 0.0])
    while run.phase == FOLLOW and run.sweep.driven_m < driven + 5.0:
        pose = pose + (0.0, 0.015, 0.0) if pose[1] < 1.0 else np.array([0.6, 0.6, 0.0])
        run.step(inputs_of(rider, pose=pose, follower='FOLLOW', following=True))
    assert run.phase != FOLLOW and run.sweep.driven_m - driven < 1.7
    assert 'nothing new' in run.reason


def test_a_follower_that_stands_or_is_lost_is_called_back():
    for state, limit_s in (('LOST', 2.0), ('HALT', 2.0), ('FOLLOW', 11.0)):
        run, rider = started()
        rider.ride(until=lambda run=run: run.sweep.swept_m > 0.5)
        began = rider.time_s
        while run.phase == FOLLOW and rider.time_s < began + 30.0:
            run.step(inputs_of(rider, pose=rider.pose, follower=state, following=True))
        assert rider.time_s - began < limit_s, state


def test_a_navigator_that_never_arrives_is_not_waited_for_forever():
    run, rider = started()
    orders = run.step(inputs_of(rider))
    while run.phase == GOTO and rider.time_s < 400.0:
        orders = run.step(inputs_of(rider, nav=NavReport(orders.goal_id, 'ACTIVE')))
    assert rider.time_s < 190.0 and orders.goal is None


# -- what is missing -----------------------------------------------------------------------------


@pytest.mark.parametrize('gone', [{'pose': None}, {'missing': 'the contour follower'}])
@pytest.mark.parametrize('phase', [GOTO, FOLLOW])
def test_what_is_missing_stops_the_robot_and_when_it_is_back_the_job_goes_on(gone, phase):
    run, rider = started()
    rider.ride(until=lambda: run.phase == phase)
    rider.ride(1.0)
    for _ in range(30):
        _, orders = rider.tick(**gone)
        assert orders.goal is None and not orders.follow and orders.state == WAITING
    assert 'waiting for' in run.reason
    rider.ride()
    assert run.phase == DONE and run.sweep.figures().swept_pct == 100.0
    assert run.sweep.figures().written_off_m == 0.0, 'what is missing is not the fault of a target'


def test_time_that_goes_back_does_not_count():
    run, rider = started()
    rider.ride(until=lambda: run.phase == FOLLOW)
    before = run.elapsed_s
    rider.time_s -= 50.0
    rider.tick()
    assert before <= run.elapsed_s <= before + 0.2
    rider.ride()
    assert run.phase == DONE


# -- commands ------------------------------------------------------------------------------------


def test_pause_stands_still_and_resume_loses_nothing():
    run, rider = started()
    rider.ride(until=lambda: run.sweep.swept_m > 3.0)
    swept, elapsed = run.sweep.swept.copy(), run.elapsed_s
    assert run.pause() == (True, 'paused') and not run.pause()[0]
    for _ in range(50):
        _, orders = rider.tick()
        assert orders.goal is None and not orders.follow and orders.state == PAUSED
    assert (run.sweep.swept == swept).all() and run.elapsed_s == elapsed
    assert not run.start()[0] and run.resume()[0] and not run.resume()[0]
    rider.ride()
    assert run.phase == DONE and run.sweep.swept.all()


def test_cancel_ends_the_job_and_commands_make_sense_in_every_state():
    run = new_run()
    assert not run.pause()[0] and not run.resume()[0]
    run.start()
    assert not run.start()[0]
    rider = Rider(run, START)
    rider.ride(2.0)
    assert run.cancel()[0] and run.phase == CANCELLED and not run.cancel()[0]
    _, orders = rider.tick()
    assert orders.goal is None and not orders.follow
    assert not run.start()[0] and not run.resume()[0]


# -- survival ------------------------------------------------------------------------------------


@pytest.mark.parametrize('seed', range(6))
def test_killed_at_any_tick_and_restored_loses_no_swept_spot(tmp_path, seed):
    random_ = random.Random(seed)
    grid = room(3.0, 3.0, [disc(0.0, 0.0, 0.05), box(0.7, -0.7, 0.2, 0.2)])
    path = tmp_path / 'job.npz'
    run, store, pose = new_run(grid), JobStore(path), np.array(START)
    lives = 0
    run.start()
    while run.phase != DONE:
        rider = Rider(run, pose)
        for _ in range(random_.randint(1, 250)):
            inputs, orders = rider.tick()
            if orders.save or store._journal is None:
                store.snapshot(run)
            else:
                store.note(run, inputs.pose)
            if run.ended:
                break
        if run.ended:
            break
        before, pose = run, rider.pose
        run, store = new_run(grid, pose), JobStore(path)
        store.load(run)
        for name, value in before.state().items():
            same = run.state()[name]
            if name not in ('phase', 'reason', 'on_track_m'):
                assert np.array_equal(value, same, equal_nan=value.dtype.kind == 'f'), name
        assert run.phase == IDLE and run.start()[0]
        lives += 1
        assert lives < 200
    assert lives > 2 and run.sweep.swept.all()


def test_a_torn_journal_line_costs_one_tick_and_a_stale_journal_is_ignored(tmp_path):
    run, rider = started()
    store = JobStore(tmp_path / 'job.npz')
    rider.ride(until=lambda: run.phase == FOLLOW)
    store.snapshot(run)
    for _ in range(20):
        inputs, _ = rider.tick()
        store.note(run, inputs.pose)
    store.journal_path.write_text(store.journal_path.read_text()[:-7])
    again = new_run()
    JobStore(store.path).load(again)
    lost = run.sweep.swept_m - again.sweep.swept_m
    assert 0.0 <= lost <= 0.04 and again.sweep.swept_m > 0.2
    store.journal_path.write_text('12345\n' + json_line(0.0))
    other = new_run()
    JobStore(store.path).load(other)
    assert other.sweep.driven_m < again.sweep.driven_m


def json_line(x):
    return f'[{x}, 0.0, 0.0, 1, null, 9.0]\n'


@pytest.mark.parametrize('line', [
    '5', 'null', '"abcdef"', '[1, 2, 3]', '["a", 0, 0, 1, 0, 0]', '[NaN, 0, 0, 1, 0, 0]',
    '[null, 0, 0, 1, 0, 0]', '[0, 0, 0, 1, "x", 0]', '[[], [], [], [], [], []]'])
def test_a_journal_line_of_nonsense_ends_the_journal(tmp_path, line):
    run, store = new_run(), JobStore(tmp_path / 'job.npz')
    store.snapshot(run)
    good = json_line(START[0])
    store.journal_path.write_text(f'1\n{good}{line}\n{good.replace("9.0", "20.0")}')
    again = new_run()
    JobStore(store.path).load(again)
    assert again.elapsed_s == 9.0


@pytest.mark.parametrize('name, value', [
    ('failures', 5.0), ('track', 5.0), ('last', 5.0), ('last', []), ('version', []),
    ('snapshot', [1, 2]), ('elapsed_s', []), ('passed', [0.5])])
def test_a_field_of_another_shape_is_no_saved_job(tmp_path, name, value):
    store = JobStore(tmp_path / 'job.npz')
    store.snapshot(new_run())
    with np.load(store.path) as archive:
        state = dict(archive)
    np.savez(store.path, **state | {name: np.array(value)})
    with pytest.raises(StoreError, match='job.npz'):
        JobStore(store.path).load(new_run())


def test_whatever_byte_of_a_save_is_spoilt_it_is_read_or_refused_by_name(tmp_path):
    store, random = JobStore(tmp_path / 'job.npz'), np.random.default_rng(5)
    store.snapshot(new_run())
    whole = store.path.read_bytes()
    head = len(whole) - whole.index(b'PK\x01\x02')          # the list of what is in the archive
    for place in random.integers(head, size=200):
        spoilt = bytearray(whole)
        spoilt[-1 - place] ^= 1 << random.integers(8)
        store.path.write_bytes(spoilt)
        with contextlib.suppress(StoreError):
            JobStore(store.path).load(new_run())


@pytest.mark.parametrize('content', [b'', b'not an archive', b'PK\x03\x04 half'])
def test_a_broken_save_is_named_and_refused(tmp_path, content):
    path = tmp_path / 'job.npz'
    path.write_bytes(content)
    with pytest.raises(StoreError, match='job.npz'):
        JobStore(path).load(new_run())


def test_a_save_of_another_map_is_refused_and_pause_and_end_survive(tmp_path):
    run, rider = started()
    rider.ride(3.0)
    run.pause()
    store = JobStore(tmp_path / 'sub' / 'job.npz')
    store.snapshot(run)
    with pytest.raises(ValueError, match='another map'):
        store.load(new_run(room(3.0, 3.0)))
    again = new_run()
    store.load(again)
    assert again.phase == PAUSED and again.resume()[0]
    again.cancel()
    store.snapshot(again)
    third = new_run()
    store.load(third)
    assert third.phase == CANCELLED
    store.remove()
    assert not store.exists()
