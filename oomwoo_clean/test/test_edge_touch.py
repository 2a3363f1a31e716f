"""Edges that only touch finds: in the job list, with the job, rehearsed, and the true edge."""
import math

from edge_worlds import box, Rider, room
import numpy as np
from oomwoo_clean.contour_scenarios import SCENARIOS
from oomwoo_clean.edge_reach import low_elements, low_outline_m, reachable_edge
from oomwoo_clean.edge_rehearsal import rehearse_job
from oomwoo_clean.edge_run import EdgeRun
from oomwoo_clean.edge_store import JobStore
from oomwoo_clean.edge_sweep import EdgeSweep, felt_points
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import layout_from_dict
from oomwoo_sim_support.layout_map import layout_grid
import pytest

START = (-1.0, -1.0, 0.0)
POST = np.array([(0.0, 0.0), (0.02, 0.0)])         # touched in the middle of the room
STANDOFF_M = load_robot().edge_cleaning.standoff


def sweep():
    return EdgeSweep(room(), START)


def drive(swept, points, following=True):
    for x, y in points:
        swept.observe((x, y, 0.0), following)


def circle(radius, turns=1.0):
    angles = np.linspace(0.0, turns * math.tau, round(turns * 80))
    return np.stack([0.01 + radius * np.cos(angles), radius * np.sin(angles)], axis=1)


def test_what_was_touched_on_open_floor_becomes_an_edge_and_is_ticked_off():
    job = sweep()
    before = job.figures()
    assert job.learn(POST) == 0.0
    after = job.figures()
    assert after.edges_m - before.edges_m == pytest.approx(math.tau * STANDOFF_M, abs=0.2)
    ring = job.rings.points[job.felt]
    assert np.hypot(*(ring - [0.01, 0.0]).T) == pytest.approx(STANDOFF_M, abs=0.03)
    assert job.learn(POST) is None
    drive(job, circle(STANDOFF_M))
    assert job.swept[job.felt].all() and job.figures().swept_m == pytest.approx(
        after.edges_m - before.edges_m, abs=0.05)


def test_what_was_traced_before_it_was_known_is_ticked_off_with_its_own_tolerance():
    job = sweep()
    drive(job, circle(STANDOFF_M + 0.12))               # farther off than a seen edge may be
    assert job.swept_m == 0.0
    new_m = job.learn(POST)
    assert new_m == pytest.approx(math.tau * STANDOFF_M, abs=0.2) == job.swept_m
    job = sweep()
    drive(job, circle(STANDOFF_M), following=False)     # merely passed: not cleaned
    assert job.learn(POST) == 0.0 == job.swept_m


def test_what_is_ticked_off_late_is_stamped_with_when_it_was_passed():
    job = sweep()
    drive(job, circle(STANDOFF_M + 0.12))
    job.learn(POST)
    assert job.stamp_m[job.felt].min() < 0.1 * job.driven_m
    assert 0.9 * job.driven_m < job.stamp_m[job.felt].max() <= job.driven_m


def test_what_is_seen_beside_what_was_touched_has_its_tolerance_too():
    job = sweep()
    touched = np.array([(0.0, -1.45)])                  # half a metre off the wall
    job.learn(touched)
    away = np.hypot(*(job.rings.points - touched).T)
    assert job.felt[away < 0.36].all() and not job.felt[away > 0.40].any()
    at_wall = np.abs(job.rings.points[:, 1] + 1.745) < 0.01
    assert (job.felt & at_wall).any() and not (job.felt & at_wall).all()


def test_only_crumbs_of_what_was_touched_are_ticked_off_unswept():
    job = sweep()
    job.learn(POST)
    drive(job, circle(STANDOFF_M))
    drive(job, [(x, -1.72) for x in np.arange(-1.0, 1.0, 0.01)])
    felt, seen = np.flatnonzero(job.felt)[:20], int(np.argmin(
        np.hypot(*(job.rings.points - [0.0, -1.72]).T)))
    assert job.swept[felt].all() and job.swept[seen] and not job.felt[seen]
    job.swept[[felt[3], seen, *felt[10:12]]] = False
    job.stamp_m[felt[3]] = np.nan
    assert job.tick_off_crumbs() == pytest.approx(job.rings.length[felt[3]])
    assert job.swept[felt[3]] and job.stamp_m[felt[3]] == job.stamp_m[felt[[2, 4]]].min()
    assert not job.swept[felt[10:12]].any() and not job.swept[seen]


def test_a_touch_of_what_is_on_the_map_changes_nothing():
    job = sweep()
    ring = job.rings.points.copy()
    assert job.learn(np.array([(-1.92, 0.0), (0.5, 1.95)])) is None
    assert np.array_equal(job.rings.points, ring)
    assert job.learn(np.zeros((0, 2))) is None
    assert job.learn(np.array([(50.0, 50.0)])) is None  # off the map


def test_what_is_swept_stays_so_and_what_touch_makes_unreachable_is_no_edge():
    job = sweep()
    wall = [(x, -1.72) for x in np.arange(-1.0, 1.0, 0.01)]
    drive(job, wall)
    swept_m = job.swept_m
    lip = np.array([(0.0, y) for y in np.arange(-1.85, -1.5, 0.02)])    # across that strip
    job.learn(lip)
    assert job.swept_m == pytest.approx(swept_m, abs=0.8)
    blocked = np.hypot(*(job.rings.points - [0.0, -1.72]).T) < 0.17
    assert not blocked.any()
    assert job.learn(np.zeros((0, 2))) is not None      # it was soft, and is gone
    assert not job.felt.any() and job.swept_m == pytest.approx(swept_m, abs=0.8)


def test_the_inside_of_what_was_touched_all_round_is_no_edge():
    job = sweep()
    angles = np.linspace(0.0, math.tau, 60)
    job.learn(0.45 * np.stack([np.cos(angles), np.sin(angles)], axis=1))
    away = np.hypot(*job.rings.points[job.felt].T)
    assert away.min() == pytest.approx(0.45 + STANDOFF_M, abs=0.04)


def test_the_job_keeps_what_was_touched(tmp_path):
    run = EdgeRun(sweep())
    run.start()
    run.sweep.learn(POST)
    drive(run.sweep, circle(STANDOFF_M, 0.5))
    store = JobStore(tmp_path / 'job.npz')
    store.snapshot(run)
    again = EdgeRun(sweep())
    JobStore(tmp_path / 'job.npz').load(again)
    assert np.array_equal(again.sweep.touched, run.sweep.touched)
    assert np.array_equal(again.sweep.swept, run.sweep.swept) and again.sweep.swept.any()
    other = EdgeSweep(room(solids=[box(1.0, 1.0, 0.2, 0.2)]), START)
    with pytest.raises(ValueError, match='another map'):
        other.restore(run.state())


def test_a_run_goes_for_what_touch_has_found():
    run = EdgeRun(sweep())
    rider = Rider(run, START)
    run.start()
    rider.ride(most_s=20.0)
    for _ in range(30):
        rider.tick(touched=POST)
    assert run.sweep.felt.any() and any('known by touch' in event for event in rider.events)
    rider.ride()
    assert run.phase == 'DONE' and run.sweep.swept[run.sweep.felt].all()


def test_touches_that_leave_no_edge_are_refused_with_one_warning_and_the_job_goes_on():
    everywhere = np.stack(np.meshgrid(*2 * [np.arange(-1.6, 1.65, 0.1)]), axis=-1).reshape(-1, 2)
    run = EdgeRun(sweep())
    edges_m = run.sweep.figures().edges_m
    rider = Rider(run, START)
    run.start()
    rider.ride(most_s=5.0)
    for _ in range(40):
        rider.tick(touched=everywhere)
    warnings = [event for event in rider.events if getattr(event, 'warning', False)]
    assert len(warnings) == 1 and 'leaves no edge' in warnings[0]
    assert run.sweep.figures().edges_m == edges_m and run.running
    for _ in range(30):
        rider.tick(touched=POST)
    assert run.sweep.felt.any(), 'a good bump map is taken in afterwards'


def test_a_stretch_by_touch_may_be_longer_without_anything_new_but_not_endless():
    run = EdgeRun(sweep())
    run.start()
    rider = Rider(run, START)
    rider.ride(until=lambda: run.phase == 'FOLLOW')
    run.sweep.swept[:] = True                          # nothing new anywhere
    run.sweep.stamp_m[:] = 1e9                         # and no lap, either
    for i in range(2000):
        x = 0.5 * math.sin(0.02 * i)                   # back and forth
        rider.tick(pose=np.array([x, -1.72, 0.0]), follower='TOUCH')
        if run.phase != 'FOLLOW':
            break
    assert 'by touch' in ' '.join(rider.events)
    assert run.sweep.driven_m > run.settings.touch_no_new_m


def test_points_of_a_bump_map_are_thinned_to_what_was_touched():
    cells = np.full((40, 40), -1, dtype=np.int8)
    cells[10:13, 10:13] = 100                          # a touch with its width
    cells[30, 5:20] = 100                              # too thin to have an inside
    points = felt_points(OccupancyGrid(cells, 0.025))
    assert len(points) == 16
    assert np.hypot(*(points - [0.2875, 0.2875]).T).min() == pytest.approx(0.0, abs=1e-9)
    assert felt_points(OccupancyGrid(np.full((5, 5), -1, dtype=np.int8), 0.1)).shape == (0, 2)


def test_a_lip_is_rehearsed_to_the_end():
    """In a small room: nothing is written off, and the true edge is swept, the lip's too."""
    layout, robot = SCENARIOS['lip'].layout(), load_robot()
    result = rehearse_job(layout, layout_grid(layout), seed=2)
    assert result.run.phase == 'DONE'
    figures = result.run.sweep.figures()
    assert figures.swept_pct >= 99.5 and figures.written_off_m <= 0.1
    edge = reachable_edge(layout, robot)
    assert edge.swept_pct(result.truth[:, :2], 0.31) >= 99.5
    assert edge.of('lip').swept_pct(result.truth[:, :2], 0.31) == 100.0
    assert 1 <= result.contacts <= low_outline_m(layout, robot) / 0.15


def test_the_true_edge_is_what_a_disc_can_touch():
    robot = load_robot()
    layout = layout_from_dict({
        'name': 'slot', 'start': [0.0, 1.0, 0.0],
        'floor': [[-2, -2], [2, -2], [2, 2], [-2, 2]],
        'boxes': [{'name': 'low', 'center': [-0.5, 0.0], 'size': [0.7, 0.4], 'z': [0.0, 0.06]},
                  {'name': 'high', 'center': [0.45, 0.0], 'size': [0.7, 0.4]}]})
    edge = reachable_edge(layout, robot)
    # 25 cm of slot between the boxes: of its walls, the disc gets at the first millimetres.
    assert edge.of('low').length_m == pytest.approx(2 * 0.7 + 0.4, abs=0.12)
    assert low_elements(layout, robot) == ['low']
    assert low_outline_m(layout, robot) == pytest.approx(2 * (0.7 + 0.4), abs=0.03)
    above = np.array([(x, 0.45) for x in np.arange(-1.0, 0.0, 0.02)])
    swept = edge.of('low').swept(above, 0.31)
    assert edge.of('low').points[swept][:, 1].min() > 0.1      # not through the box
    assert edge.swept_pct(np.zeros((0, 2)), 0.31) == 0.0
    nowhere = reachable_edge(layout, robot, (-0.5, 0.0))
    assert nowhere.length_m == 0.0 and nowhere.swept_pct(above, 0.31) == 100.0
