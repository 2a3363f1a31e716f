"""Where a ring is entered, and what is cleaned on the way past it."""
import math

from edge_worlds import box, disc, Rider, room
import numpy as np
from oomwoo_clean.edge_run import DONE, EdgeRun
from oomwoo_clean.edge_sweep import EdgeSettings, EdgeSweep
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
