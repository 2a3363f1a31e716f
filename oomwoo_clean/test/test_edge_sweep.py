"""Rings against formulas, and the bookkeeping of what is swept and what is next."""
import math

from edge_worlds import box, disc, room
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.edge_sweep import EdgeSettings, EdgeSweep
from oomwoo_localization.grids import GridError, OccupancyGrid
import pytest

STANDOFF = 0.23
RES = 0.025


def ring_lengths(sweep):
    return np.bincount(sweep.rings.ring, sweep.rings.length)


def ring_near(sweep, x, y):
    """Return the spots, in driving order, of the ring whose middle is nearest to (x, y)."""
    rings = sweep.rings
    middles = [rings.points[rings.ring == i].mean(axis=0) for i in range(len(rings.closed))]
    best = int(np.argmin(np.hypot(*(np.array(middles) - (x, y)).T)))
    return np.flatnonzero(rings.ring == best)


def short_ring(sweep):
    """Return the spots, in driving order, of the shortest ring."""
    return np.flatnonzero(sweep.rings.ring == int(np.argmin(ring_lengths(sweep))))


def ride(sweep, spots, following=True):
    """Drive over the spots; return the observations."""
    return [sweep.observe((*sweep.rings.points[i], sweep.rings.yaw[i]), following) for i in spots]


# -- rings ---------------------------------------------------------------------------------------


def test_room_and_pillar_have_the_lengths_that_geometry_says():
    sweep = EdgeSweep(room(4.0, 4.0, [disc(0.5, 0.5, 0.3)]), (-1.0, -1.0, 0.0))
    lengths = np.sort(ring_lengths(sweep))
    assert len(lengths) == 2 and sweep.rings.closed.all()
    assert lengths[0] == pytest.approx(2 * math.pi * (0.3 + STANDOFF), rel=0.02)
    assert lengths[1] == pytest.approx(4 * (4.0 - 2 * RES - 2 * STANDOFF), rel=0.005)


@hypothesis_settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 0.7), st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))
def test_ring_round_a_disc_is_a_circle_at_the_standoff(radius, x0, y0):
    sweep = EdgeSweep(room(4.0, 4.0, [disc(x0, y0, radius)]), (-1.6, -1.6, 0.0))
    spots = short_ring(sweep)
    gaps = np.hypot(*(sweep.rings.points[spots] - (x0, y0)).T) - radius
    assert np.abs(gaps - STANDOFF).max() < 0.75 * RES
    assert sweep.rings.length[spots].sum() == pytest.approx(
        2 * math.pi * (radius + STANDOFF), rel=0.04)


@hypothesis_settings(max_examples=25, deadline=None)
@given(st.floats(0.1, 1.2), st.floats(0.1, 1.2))
def test_ring_round_a_box_is_its_perimeter_and_four_quarter_circles(width, height):
    width, height = (2 * RES * round(v / RES / 2) for v in (width, height))
    sweep = EdgeSweep(room(4.0, 4.0, [box(0.0, 0.0, width, height)]), (-1.6, -1.6, 0.0))
    spots = short_ring(sweep)
    assert sweep.rings.length[spots].sum() == pytest.approx(
        2 * (width + height) + 2 * math.pi * STANDOFF, rel=0.02)


@pytest.mark.parametrize('side,sign', [('right', -1.0), ('left', 1.0)])
def test_obstacle_is_on_the_follow_side_of_the_driving_direction(side, sign):
    pillar = room(4.0, 4.0, [disc(0.0, 0.0, 0.3)])
    sweep = EdgeSweep(pillar, (-1.5, 0.0, 0.0), EdgeSettings(side=side))
    spots = short_ring(sweep)
    points, yaw = sweep.rings.points[spots], sweep.rings.yaw[spots]
    to_pillar = -points / np.hypot(*points.T)[:, None]
    left = np.stack([-np.sin(yaw), np.cos(yaw)], axis=1)
    assert (sign * (to_pillar * left).sum(axis=1) > 0.9).all()
    turned = np.unwrap(yaw)
    assert turned[-1] - turned[0] == pytest.approx(sign * 2 * math.pi, abs=0.2)


def test_a_turned_origin_turns_the_rings():
    straight = EdgeSweep(room(4.0, 3.0, [disc(0.4, 0.2, 0.2)]), (-1.0, -1.0, 0.0))
    turned = EdgeSweep(room(4.0, 3.0, [disc(0.4, 0.2, 0.2)], origin_yaw=0.7), (0.0, -0.9, 0.0))
    c, s = math.cos(0.7), math.sin(0.7)
    turn = np.array([[c, s], [-s, c]])
    assert np.allclose(turned.rings.points, straight.rings.points @ turn, atol=1e-6)
    assert np.allclose(np.cos(turned.rings.yaw), np.cos(straight.rings.yaw + 0.7), atol=1e-6)


def test_a_gap_too_narrow_for_the_standoff_has_its_edges_in_the_middle_a_closed_room_none_at_all():
    # A gap from y = 0 to 0.425.
    walls = [box(0.0, -1.3, 0.1, 2.6), box(0.0, 1.2125, 0.1, 1.575)]
    sweep = EdgeSweep(room(4.0, 4.0, walls), (-1.0, 0.0, 0.0))
    points = sweep.rings.points
    assert (points[:, 0] > 0.3).any(), 'the far room is reached through the gap'
    in_gap = (np.abs(points[:, 0]) < 0.05) & (points[:, 1] > 0.0) & (points[:, 1] < 0.425)
    assert np.abs(points[in_gap, 1] - 0.2125).max() < 0.03
    # Once for each side, in opposite directions, and one pass cleans both.
    assert sweep.rings.length[in_gap].sum() == pytest.approx(0.2, abs=0.05)
    assert (np.cos(sweep.rings.yaw[in_gap]) > 0.7).sum() == pytest.approx(in_gap.sum() / 2, abs=1)
    assert sweep.rings.narrow[in_gap].all()
    shut = EdgeSweep(room(4.0, 4.0, [box(0.0, 0.0, 0.1, 4.0)]), (-1.0, 0.0, 0.0))
    assert (shut.rings.points[:, 0] < 0.0).all()


def test_edges_beside_the_unknown_are_cut_where_the_known_floor_ends():
    grid = room(4.0, 4.0)
    cells = grid.cells.copy()
    cells[:, 120:] = -1
    sweep = EdgeSweep(OccupancyGrid(cells, RES, grid.origin), (-1.0, 0.0, 0.0))
    assert sweep.rings.points[:, 0].max() <= 1.0 + RES
    assert not sweep.rings.closed.any()
    assert sweep.rings.length.sum() == pytest.approx(
        4 - 2 * RES - 2 * STANDOFF + 2 * (3 - RES - STANDOFF), rel=0.02)


# -- maps that cannot be used --------------------------------------------------------------------


@pytest.mark.parametrize('grid,words', [
    (OccupancyGrid(np.zeros((0, 0), dtype=np.int8), 0.05), 'is empty'),
    (OccupancyGrid(np.full((50, 50), -1, dtype=np.int8), 0.05), 'every cell is unknown'),
    (OccupancyGrid(np.zeros((50, 50), dtype=np.int8), 0.25), 'too coarse'),
    (OccupancyGrid(np.full((50, 50), 100, dtype=np.int8), 0.05), 'no floor'),
])
def test_an_unusable_map_is_refused_with_the_reason(grid, words):
    with pytest.raises(GridError, match=words):
        EdgeSweep(grid, (1.0, 1.0, 0.0))


def test_a_robot_outside_the_map_is_refused():
    with pytest.raises(GridError, match='no floor'):
        EdgeSweep(room(), (30.0, 0.0, 0.0))


def test_a_map_without_obstacles_is_a_job_without_edges():
    sweep = EdgeSweep(OccupancyGrid(np.zeros((80, 80), dtype=np.int8), 0.05), (1.0, 1.0, 0.0))
    assert sweep.next_target((1.0, 1.0, 0.0)) is None
    assert sweep.observe((1.2, 1.0, 0.0), True).new_m == 0.0
    assert sweep.figures().swept_pct == 100.0 and sweep.figures().progress == 1.0


# -- ticking off ---------------------------------------------------------------------------------


def test_being_driven_past_an_edge_does_not_sweep_it_but_passes_over_the_floor():
    sweep = EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0))
    spots = ring_near(sweep, 0.0, 0.0)
    ride(sweep, spots[:100], following=False)
    assert sweep.swept_m == 0.0 and sweep.figures().passed_m2 > 0.35 and sweep.driven_m > 1.9
    ride(sweep, spots[:100])
    assert sweep.swept_m > 1.9


def test_the_tolerance_decides_what_is_swept():
    for aside, swept in ((0.07, True), (0.09, False)):
        sweep = EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0))
        x = 1.5 - RES - STANDOFF - aside
        for y in np.arange(-0.5, 0.5, 0.015):
            sweep.observe((x, y, math.pi / 2), True)
        assert (sweep.swept_m > 0.9) == swept


def test_a_jump_of_the_localizer_sweeps_nothing_on_the_way():
    sweep = EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0))
    x = 1.5 - RES - STANDOFF
    sweep.observe((x, -1.0, 0.0), True)
    seen = sweep.observe((x, 1.0, 0.0), True)
    assert seen.driven_m == 0.0 and sweep.swept_m < 0.35


def test_a_slow_pose_stream_sweeps_the_way_between_two_poses():
    sweep = EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0))
    x = 1.5 - RES - STANDOFF
    for y in (-0.4, 0.0, 0.4):
        sweep.observe((x, y, math.pi / 2), True)
    assert sweep.swept_m > 0.9


# -- all the way round ---------------------------------------------------------------------------


def laps_until_full_circle(sweep, spots):
    sweep.begin_segment()
    began = sweep.driven_m
    for i in list(spots) * 3:
        ride(sweep, [i])
        if sweep.full_circle():
            break
    return (sweep.driven_m - began) / sweep.rings.length[spots].sum()


@pytest.mark.parametrize('radius', [0.01, 0.02, 0.05, 0.3])
def test_a_lone_leg_is_left_after_one_lap(radius):
    sweep = EdgeSweep(room(4.0, 4.0, [disc(0.0125, 0.0125, max(radius, 0.02))]), (-1.5, 0.0, 0.0))
    spots = short_ring(sweep)
    laps = laps_until_full_circle(sweep, spots)
    assert 1.0 <= laps < 1.0 + 0.35 / sweep.rings.length[spots].sum()
    assert sweep.swept[spots].all()


def test_the_room_is_left_after_one_lap_too():
    sweep = EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0))
    assert laps_until_full_circle(sweep, ring_near(sweep, 0.0, 0.0)) == pytest.approx(
        1.0, abs=0.05)


def test_less_than_thirty_centimetres_on_the_own_track_is_no_full_circle():
    sweep = EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0))
    spots = ring_near(sweep, 0.0, 0.0)
    ride(sweep, spots[:120])
    for i in spots[130:200]:
        sweep.swept[i], sweep.stamp_m[i] = True, -10.0
    sweep.begin_segment()
    on_track = [seen.on_track_m for seen in ride(sweep, spots[120:144])]
    assert max(on_track) < 0.3 and not sweep.full_circle()


def test_turning_back_onto_fresh_track_is_no_full_circle():
    sweep = EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0))
    spots = ring_near(sweep, 0.0, 0.0)
    ride(sweep, spots[:30])
    ride(sweep, spots[:30][::-1])
    assert not sweep.full_circle()


# -- what is next --------------------------------------------------------------------------------


def test_the_target_is_where_the_dirt_begins_and_ten_centimetres_before():
    sweep = EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0))
    spots = ring_near(sweep, 0.0, 0.0)
    ride(sweep, spots[100:300])
    first_dirty = spots[np.flatnonzero(sweep.swept[spots])[-1] + 1]
    far_end = sweep.rings.points[spots[90]]
    target = sweep.next_target((*(0.8 * far_end), 0.0))
    assert target.spot == first_dirty
    park = np.array(target.pose[:2])
    back = sweep.rings.walk(first_dirty, -0.10)
    assert np.allclose(park, sweep.rings.points[back])
    assert np.hypot(*(park - sweep.rings.points[first_dirty])) == pytest.approx(0.10, abs=0.021)
    assert target.stretch_m == pytest.approx(sweep.figures().edges_m - sweep.swept_m, abs=1e-6)


def test_a_wall_just_the_other_side_of_a_partition_is_not_near():
    partition = box(0.0, 0.25, 0.05, 3.5)                     # leaves a passage at the bottom
    sweep = EdgeSweep(room(4.0, 4.0, [partition]), (-0.3, 1.0, 0.0))
    left = sweep.rings.points[:, 0] < 0.0
    sweep.swept[left & (sweep.rings.points[:, 1] > -1.0)] = True
    pose = (-0.3, 1.5, 0.0)
    target = sweep.next_target(pose)
    flies = np.hypot(*(sweep.rings.points[sweep.dirty] - pose[:2]).T).min()
    assert flies < 0.65, 'the other side is 65 cm away as the crow flies'
    assert target.distance_m > 2.0
    crow = math.dist(pose[:2], target.pose[:2])
    assert target.distance_m >= crow and target.pose[1] < -0.8


def test_targets_near_failed_ones_are_avoided_while_there_are_others():
    sweep = EdgeSweep(room(4.0, 4.0, [disc(0.0, 0.0, 0.1)]), (-0.6, 0.0, 0.0))
    pose = (-0.6, 0.0, 0.0)
    first = sweep.next_target(pose)
    failed = sweep.rings.points[first.spot]
    other = sweep.next_target(pose, [failed])
    assert math.dist(other.pose[:2], failed) > 0.5
    everywhere = sweep.rings.points[::5]
    assert sweep.next_target(pose, everywhere).spot == first.spot


def test_writing_off_gives_up_a_spot_and_not_the_ring():
    sweep = EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0))
    assert sweep.write_off(10, 0.15) == pytest.approx(0.15, abs=0.021)
    assert sweep.figures().written_off_m == pytest.approx(0.15, abs=0.021)
    assert not sweep.dirty[10:16].any() and sweep.dirty[30:].all()
    ride(sweep, range(5, 25))
    assert sweep.figures().written_off_m == 0.0, 'what gets swept after all is swept'


# -- state ---------------------------------------------------------------------------------------


@hypothesis_settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 500), st.booleans()), max_size=60))
def test_state_goes_round(steps):
    grid = room(2.5, 2.5)
    sweep = EdgeSweep(grid, (0.0, 0.0, 0.0))
    for i, following in steps:
        ride(sweep, [i % len(sweep.swept)], following)
    again = EdgeSweep(grid, (0.3, 0.2, 1.0))
    again.restore(sweep.state())
    for name, value in sweep.state().items():
        assert np.array_equal(value, again.state()[name], equal_nan=value.dtype.kind == 'f'), name
    assert again.figures() == sweep.figures()


def test_state_of_another_map_or_other_rings_is_refused():
    state = EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0)).state()
    with pytest.raises(ValueError, match='another map'):
        EdgeSweep(room(3.0, 3.1), (0.0, 0.0, 0.0)).restore(state)
    with pytest.raises(ValueError, match='other edges'):
        EdgeSweep(room(3.0, 3.0), (0.0, 0.0, 0.0), EdgeSettings(side='left')).restore(state)
