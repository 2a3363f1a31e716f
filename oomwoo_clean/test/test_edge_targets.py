"""Where a ring is entered, and what is cleaned on the way past it."""
import math

from edge_worlds import box, disc, Rider, room
import numpy as np
from oomwoo_clean.edge_run import DONE, EdgeRun
from oomwoo_clean.edge_sweep import EdgeSettings, EdgeSweep
from oomwoo_clean.edge_ways import FloorWays
from oomwoo_localization.grids import floor_distances
import pytest

START = (-2.4, 0.0, 0.0)


def spots_of(sweep, x, y):
    """Return the spots of the ring around (x, y), which is no wall."""
    rings = sweep.rings
    middles = {ring: rings.points[rings.ring == ring].mean(axis=0) for ring in set(rings.ring)}
    small = [ring for ring in middles if rings.length[rings.ring == ring].sum() < 8.0]
    best = min(small, key=lambda ring: math.dist(middles[ring], (x, y)))
    return np.flatnonzero(rings.ring == best)


def test_a_ring_dirty_all_round_is_entered_where_the_way_on_is_short():
    partition = box(0.0, 0.5, 0.1, 2.0)                     # leaves a passage below y = -0.5
    sweep = EdgeSweep(room(6.0, 3.0, [partition, disc(1.6, 0.3, 0.05)]), START)
    points, leg = sweep.rings.points, spots_of(sweep, 1.6, 0.3)
    target = sweep.next_target(START)
    assert target.spot not in leg, 'walls and partition, one ring, are next, as the nearest'
    assert math.dist(target.pose[:2], (0.0, -0.5)) < 0.5, 'entered at the passage to the leg'
    sweep.swept[leg] = True
    nearest = points[np.argmin(np.hypot(*(points - START[:2]).T))]
    assert nearest[0] < -2.7, 'which is not the nearest spot: that is behind the robot'
    assert math.dist(sweep.next_target(START).pose[:2], nearest) < 0.05, 'with nothing after it'


def job(grid, **settings):
    run = EdgeRun(EdgeSweep(grid, START, EdgeSettings(**settings)))
    run.start()
    rider = Rider(run, START)
    rider.ride()
    assert run.phase == DONE and run.sweep.swept.all()
    return run


def test_a_lone_leg_close_to_the_way_is_cleaned_on_the_way():
    # Two legs, each 0.3 m off the wall's ring, at opposite ends of the room.
    grid = room(6.0, 3.0, [disc(-1.5, 0.7, 0.02), disc(2.0, -0.7, 0.02)])
    on_the_way, afterwards = job(grid, detour_m=0.5), job(grid, detour_m=0.0)
    assert on_the_way.segments > afterwards.segments == 3
    assert on_the_way.sweep.driven_m < afterwards.sweep.driven_m - 2.0


def test_legs_that_stand_together_are_left_for_their_turn():
    legs = [disc(x, y, 0.02) for x in (-0.3, 0.3) for y in (0.1, 0.7)]
    assert job(room(6.0, 3.0, legs)).segments == 5


def test_crumbs_and_failed_spots_are_no_reason_for_a_detour():
    grid = room(6.0, 3.0, [disc(-1.5, 0.7, 0.02)])
    sweep = EdgeSweep(grid, START)
    leg = spots_of(sweep, -1.5, 0.7)
    target = sweep.next_target(START)
    near = sweep.rings.points[leg][np.argmax(sweep.rings.points[leg][:, 1])] + (0.0, 0.3)
    pose = (*near, math.pi)
    found = sweep.on_the_way(pose, target)
    assert found is not None and found.spot in leg
    assert found.distance_m == pytest.approx(0.3, abs=0.06)
    assert sweep.on_the_way((0.5, 1.2, 0.0), target) is None, 'not two metres before it'
    assert sweep.on_the_way(pose, target, avoid=[sweep.rings.points[leg[0]]]) is None
    sweep.swept[leg[8:]] = True
    assert sweep.on_the_way(pose, target) is None, '16 cm are left for later'


# -- rings that are dirty but for a little -------------------------------------------------------


def test_a_ring_of_which_a_little_is_clean_is_entered_where_it_is_near():
    sweep = EdgeSweep(room(6.0, 3.0, [disc(1.0, 0.0, 0.4)]), START)
    ring = spots_of(sweep, 1.0, 0.0)
    points = sweep.rings.points
    sweep.swept[:] = True
    sweep.swept[ring] = False
    behind = ring[np.argmax(points[ring][:, 0])]
    sweep.swept[sweep.rings.ahead(behind, 0.3)] = True
    target = sweep.next_target((0.0, 0.0, 0.0))
    assert math.dist(target.pose[:2], (0.37, 0.0)) < 0.05, 'on this side, not at the clean part'
    assert target.stretch_m == pytest.approx(sweep.rings.length[ring].sum() - 0.3, abs=0.03)
    sweep.swept[sweep.rings.ahead(behind, 1.5)] = True
    start = sweep.next_target((0.0, 0.0, 0.0))
    assert start.spot == sweep.rings.walk(behind, 1.5), 'half of it: that is begun behind it'


def test_such_a_ring_is_done_in_one_go_past_the_clean_part():
    sweep = EdgeSweep(room(6.0, 3.0, [disc(1.0, 0.0, 0.4)]), START)
    ring = spots_of(sweep, 1.0, 0.0)
    sweep.swept[:] = True
    sweep.swept[ring] = False
    behind = ring[np.argmax(sweep.rings.points[ring][:, 0])]
    clean = sweep.rings.ahead(behind, 0.6)
    sweep.swept[clean], sweep.stamp_m[clean] = True, -10.0         # an earlier time round
    run = EdgeRun(sweep)
    run.start()
    rider = Rider(run, (0.0, 0.0, 0.0))
    rider.ride()
    assert run.phase == DONE and sweep.swept.all() and run.segments == 1
    assert 'no dirty edge is ahead' in rider.events[-2]


def test_a_ring_with_a_spot_given_up_is_not_driven_round():
    sweep = EdgeSweep(room(6.0, 3.0, [disc(1.0, 0.0, 0.4)]), START)
    ring = spots_of(sweep, 1.0, 0.0)
    sweep.swept[:] = True
    sweep.swept[ring] = False
    behind = ring[np.argmax(sweep.rings.points[ring][:, 0])]
    sweep.write_off(behind, 0.3)
    target = sweep.next_target((0.0, 0.0, 0.0))
    assert target.spot == sweep.rings.walk(behind, 0.3)


# -- narrow gaps ---------------------------------------------------------------------------------

TEETH = [box(-0.6, -0.7, 0.8, 0.9), box(0.6, -0.7, 0.8, 0.9)]       # 0.4 m apart


def beyond_a_gap():
    """Return a job of which the last of a tooth is left, behind the gap in driving order."""
    sweep = EdgeSweep(room(4.0, 4.0, TEETH), (0.0, 1.0, 0.0))
    sweep.swept[:] = True
    rings = sweep.rings
    narrow = max(rings.runs(rings.narrow), key=len)
    spot = rings.after[narrow[-1]]
    sweep.swept[rings.ahead(spot, 0.5)] = False
    return sweep, narrow[0], int(spot)


def test_what_begins_behind_a_gap_is_begun_on_the_side_where_the_robot_is():
    sweep, before, behind = beyond_a_gap()
    points = sweep.rings.points
    out = 0.3 * (points[behind] - points[before]) / math.dist(points[behind], points[before])
    there = sweep.next_target((*(points[behind] + out), 0.0))
    assert there.spot == behind and math.dist(there.pose[:2], points[behind]) < 1e-6
    here = sweep.next_target((*(points[before] - out), 0.0))
    assert here.spot == behind and math.dist(here.pose[:2], points[before]) < 0.05
    assert here.lead_m == pytest.approx(math.dist(points[before], points[behind]), abs=0.1)


def test_ways_are_as_long_as_the_floor_and_longer_through_a_gap():
    grid = room(4.0, 4.0, TEETH)
    sweep = EdgeSweep(grid, (0.0, 1.0, 0.0))
    points = np.array([(-1.4, 1.2), (1.4, 1.2), (0.0, 0.0), (0.0, -1.5), (9.0, 0.0)])
    body_m, standoff_m = sweep.robot.body.radius, sweep.robot.edge_cleaning.standoff
    ways = FloorWays(grid, sweep.reachable, points, body_m, standoff_m)
    cell = np.rint(grid.points_to_cells(points[:1])).astype(int)
    floor = grid.lookup(floor_distances(sweep.reachable, grid.resolution, cell), points[:4])
    assert ways.from_pose((-1.4, 1.2, 0.0))[:3] == pytest.approx(floor[:3], abs=0.03)
    assert ways.of(np.array([1, 0])) == pytest.approx(
        np.minimum(ways.of(np.array([0])), ways.of(np.array([1]))))
    through = ways.of(np.array([2]))[3]
    assert 1.5 + 0.5 < through < 1.5 * 9.0
    assert ways.of(np.array([0]))[4] == math.inf == ways.of(np.array([4]))[0]
