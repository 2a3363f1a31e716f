"""Lanes over the floor: all of it once, nothing twice, out of pockets, and an end in any room."""
import math

from edge_worlds import box, disc, room
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.coverage_sweep import CoverageSettings, CoverageSweep, LANE, PATCH
from oomwoo_localization.floor import between
from oomwoo_localization.frames import transform_points
from oomwoo_localization.grids import GridError
from oomwoo_localization.robot import load_robot
import pytest

RADIUS_M = load_robot().body.radius
SPACING_M = CoverageSettings().lane_spacing_m


def ride(sweep, pose, most=400):
    """Do all legs in straight lines, whatever is between; return them and the metres on them."""
    legs, on_legs_m = [], 0.0
    while (leg := sweep.next_leg(pose)) is not None:
        assert len(legs) < most, 'no end of it'
        sweep.observe(leg.begin, cleaning=False)
        new_m2 = sweep.observe((*np.add(leg.begin[:2], 1e-3 * RADIUS_M), 0.0))
        new_m2 += sweep.observe(leg.begin)
        for point in between(leg.begin[:2], (leg.end or leg.begin)[:2], 0.1):
            new_m2 += sweep.observe((*point, 0.0))
        if new_m2 < 0.01:
            sweep.give_up(leg)
        legs.append(leg)
        on_legs_m += leg.length_m
        pose = leg.end or leg.begin
    return legs, on_legs_m


def test_an_empty_room_takes_its_lanes_and_no_patches():
    sweep = CoverageSweep(room(5.0, 3.0), (0.0, 0.0, 0.0))
    legs, on_legs_m = ride(sweep, (-2.0, -1.0, 0.0))
    # Middles keep radius and 3 cm from walls that are one cell thick.
    width_m, height_m = 5.0 - 2.0 * (RADIUS_M + 0.055), 3.0 - 2.0 * (RADIUS_M + 0.055)
    lanes = math.ceil(height_m / SPACING_M) + 1
    assert [leg.kind for leg in legs] == [LANE] * lanes
    assert on_legs_m == pytest.approx(lanes * width_m, rel=0.03)
    assert sweep.coverage.ratio > 0.98 and sweep.progress > 0.98


def test_lanes_run_along_the_longer_side():
    for width_m, height_m, axis in ((5.0, 2.0, 0), (2.0, 5.0, 1)):
        lanes = CoverageSweep(room(width_m, height_m), (0.0, 0.0, 0.0))
        leg = lanes.next_leg((0.0, 0.0, 0.0))
        along = np.abs(np.subtract(leg.end[:2], leg.begin[:2]))
        assert along[axis] > 4.0 and along[1 - axis] < 1e-6


def test_lane_follows_lane_each_a_spacing_on_and_the_other_way():
    sweep = CoverageSweep(room(5.0, 3.0), (0.0, 0.0, 0.0))
    legs, _ = ride(sweep, (-2.3, -1.3, 0.0))
    for before, after in zip(legs, legs[1:]):
        assert math.dist(before.end[:2], after.begin[:2]) <= SPACING_M + 0.03
        assert abs(before.begin[2] - after.begin[2]) == pytest.approx(math.pi, abs=1e-6)


def test_what_was_passed_over_is_skipped():
    sweep = CoverageSweep(room(5.0, 3.0), (0.0, 0.0, 0.0))
    every = len(sweep.lanes())
    for y in np.arange(-1.3, -0.1, 0.1):
        for x in np.arange(-2.25, 2.26, 0.05):
            sweep.observe((x, y, 0.0))
    left = sweep.grid.cells_to_points(sweep.lanes().reshape(-1, 2))
    assert every / 2 <= len(sweep.lanes()) < every
    assert left[:, 1].min() > -0.2


def test_half_a_lane_passed_leaves_the_other_half():
    sweep = CoverageSweep(room(5.0, 0.6), (0.0, 0.0, 0.0))
    for x in np.arange(-2.25, 0.5, 0.05):
        for y in (-0.07, 0.07):
            sweep.observe((x, y, 0.0))
    leg = sweep.next_leg((0.45, 0.0, 0.0))
    assert leg.kind == LANE and 0.3 < leg.begin[0] < 0.8 and leg.end[0] > 2.2


def test_no_leg_begins_or_ends_in_a_pocket_until_it_is_lifted():
    sweep = CoverageSweep(room(4.0, 3.0), (0.0, 0.0, 0.0))
    pocket = (0.6, 0.3, 0.4)
    sweep.keep_out([pocket])
    legs, _ = ride(sweep, (0.0, 0.0, 0.0))
    for leg in legs:
        for end in filter(None, (leg.begin, leg.end)):
            assert math.dist(end[:2], pocket[:2]) > pocket[2] - 0.02, leg
    assert sweep.left.any(), 'its floor is not called covered'
    sweep.keep_out([])
    assert sweep.next_leg((0.0, 0.0, 0.0)) is None or math.dist(
        sweep.next_leg((0.0, 0.0, 0.0)).begin[:2], pocket[:2]) < 0.6


def test_a_leg_that_is_given_up_does_not_come_again():
    sweep = CoverageSweep(room(4.0, 3.0), (0.0, 0.0, 0.0))
    pose, seen = (0.0, 0.0, 0.0), []
    while (leg := sweep.next_leg(pose)) is not None:
        assert leg not in seen and len(seen) < 300
        seen.append(leg)
        sweep.give_up(leg)
    assert sweep.coverage.covered_m2 == 0.0
    assert {leg.kind for leg in seen} == {LANE, PATCH}
    assert sweep.progress > 0.75, 'what is given up is no more work'


def test_legs_to_avoid_come_last():
    sweep = CoverageSweep(room(4.0, 3.0), (0.0, 0.0, 0.0))
    pose = (-1.7, -1.2, 0.0)
    first = sweep.next_leg(pose)
    other = sweep.next_leg(pose, [first.begin[:2]], 0.25)
    assert math.dist(other.begin[:2], first.begin[:2]) > 0.25
    everywhere = sweep.grid.cells_to_points(np.argwhere(sweep.reachable)[::50])
    assert sweep.next_leg(pose, everywhere, 1.0) is not None


def test_a_smaller_body_goes_closer_to_the_walls():
    near, far = (
        CoverageSweep(room(4.0, 3.0), (0.0, 0.0, 0.0), CoverageSettings(robot_radius=radius_m))
        for radius_m in (0.10, 0.0))
    assert near.reachable.sum() > far.reachable.sum()
    first = [sweep.next_leg((0.0, -1.4, 0.0)).begin for sweep in (near, far)]
    assert first[1][1] - first[0][1] == pytest.approx(RADIUS_M - 0.10, abs=0.03)


def test_no_floor_is_said():
    with pytest.raises(GridError, match='no floor'):
        CoverageSweep(room(4.0, 3.0), (9.0, 9.0, 0.0))


@hypothesis_settings(max_examples=6)
@given(
    st.lists(st.tuples(
        st.floats(-1.6, 1.6), st.floats(-1.2, 1.2), st.floats(0.05, 0.9), st.booleans()),
        max_size=5),
    st.floats(-math.pi, math.pi))
def test_in_any_room_it_ends_and_all_but_slivers_is_covered(things, turned):
    solids = [disc(x, y, size / 2) if round_ else box(x, y, size, size / 2)
              for x, y, size, round_ in things]
    grid = room(4.0, 3.0, solids, origin_yaw=turned)
    free = np.argwhere(grid.obstacle_distance > RADIUS_M + 0.05)
    start = (*grid.cells_to_points(free[len(free) // 2][None])[0], 0.0)
    sweep = CoverageSweep(grid, start)
    legs, _ = ride(sweep, start)
    for leg in legs:
        for end in filter(None, (leg.begin, leg.end)):
            assert grid.lookup(sweep.reachable, [end[:2]], False)[0]
    # What is left lies beside things, too thin to go for.
    assert sweep.coverage.ratio > 0.85
    fresh = sweep.left & ~sweep.given_up
    assert fresh.sum() * grid.resolution ** 2 < 0.15 * sweep.coverage.floor_m2


@pytest.mark.parametrize('turned', [0.3, -1.2, 2.0])
def test_a_turned_origin_turns_the_lanes_and_nothing_else(turned):
    plain = CoverageSweep(room(5.0, 3.0), (0.5, 0.5, 0.0))
    grid = room(5.0, 3.0, origin_yaw=turned)
    pose = (*transform_points((0.0, 0.0, turned), [(0.5, 0.5)])[0], 0.0)
    leg, other = plain.next_leg((0.5, 0.5, 0.0)), CoverageSweep(grid, pose).next_leg(pose)
    np.testing.assert_allclose(
        transform_points((0.0, 0.0, turned), [leg.begin[:2], leg.end[:2]]),
        [other.begin[:2], other.end[:2]], atol=0.03)
    assert other.length_m == pytest.approx(leg.length_m, abs=0.03)
