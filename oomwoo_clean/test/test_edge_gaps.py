"""The medial lines of narrow gaps, against brute force and on shapes that are known."""
import math

from edge_worlds import box, disc, RESOLUTION, room
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.edge_gaps import band_field, medial_cells, MOUTH_RAD, SEPARATION_RAD
from oomwoo_clean.edge_sweep import EdgeSweep
from oomwoo_localization.grids import OccupancyGrid
import pytest

STANDOFF_M, LEAST_M = 0.23, 0.1845


def reached(grid):
    """Return all floor on which the body's centre may be."""
    return grid.free & (grid.obstacle_distance >= LEAST_M)


def medial(grid):
    """Return (N, 2) points of the medial lines of a map."""
    return grid.cells_to_points(np.argwhere(medial_cells(grid, reached(grid), STANDOFF_M)))


def widest_separation(grid, cell):
    """
    Return the largest angle between nearest obstacles around a cell, by brute force.

    Of the cell itself and its neighbours, each with all obstacles as near as its nearest, give or
    take half a cell.
    """
    obstacles = np.argwhere(grid.obstacles)
    found = []
    for offset in np.ndindex(3, 3):
        at = cell + np.array(offset) - 1
        away = np.hypot(*(obstacles - at).T)
        found.append(obstacles[away <= away.min() + 0.5])
    near = np.unique(np.concatenate(found), axis=0) - cell
    angle = np.arctan2(*near.T)
    between = np.abs((angle[:, None] - angle[None] + math.pi) % math.tau - math.pi)
    return between.max()


@st.composite
def random_maps(draw):
    """Return a small room with solids at random."""
    solids = []
    for _ in range(draw(st.integers(1, 4))):
        x, y = (draw(st.floats(-0.8, 0.8)) for _ in range(2))
        if draw(st.booleans()):
            solids.append(disc(x, y, draw(st.floats(0.03, 0.3))))
        else:
            solids.append(box(x, y, draw(st.floats(0.06, 0.8)), draw(st.floats(0.06, 0.8))))
    return room(2.4, 2.4, solids)


@given(grid=random_maps())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_cell_lies_between_two_sides_and_can_be_driven_on(grid):
    cells = np.argwhere(medial_cells(grid, reached(grid), STANDOFF_M))
    for cell in cells[::3]:
        distance = grid.obstacle_distance[tuple(cell)]
        assert LEAST_M <= distance < STANDOFF_M + RESOLUTION
        # A cell is 6 degrees of its nearest distance, and a hole may have been closed.
        assert widest_separation(grid, cell) >= MOUTH_RAD - math.radians(15.0)


@given(grid=random_maps())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_middle_of_a_gap_is_missing(grid):
    """Where brute force finds two sides far apart over a way, there is a line."""
    fit = reached(grid)
    found = medial_cells(grid, fit, STANDOFF_M)
    near_line = ~found if not found.any() else None
    for cell in np.argwhere(fit & (grid.obstacle_distance < STANDOFF_M - RESOLUTION))[::5]:
        low = np.maximum(cell - 3, 0)
        window = tuple(slice(a, b + 4) for a, b in zip(low, cell))
        if not fit[window].all():
            continue                        # too near to where the body does not fit to be sure
        if widest_separation(grid, cell) > SEPARATION_RAD + math.radians(20.0):
            assert near_line is None and found[window].any(), cell


@given(width=st.floats(0.30, 0.60), depth=st.floats(0.5, 0.8), x=st.floats(-0.05, 0.05))
@settings(max_examples=30, deadline=None)
def test_a_passage_has_a_line_when_and_only_when_it_is_narrow_and_fits(width, depth, x):
    walls = [box(x - width / 2 - 0.5, 0.0, 1.0, depth), box(x + width / 2 + 0.5, 0.0, 1.0, depth)]
    points = medial(room(width + 2.4, 2.4, walls))
    inside = points[np.abs(points[:, 1]) < depth / 2 - 0.1] if len(points) else points
    if 2.0 * LEAST_M + 2.5 * RESOLUTION < width < 2.0 * STANDOFF_M - 2.5 * RESOLUTION:
        assert np.abs(inside[:, 0] - x).max() <= 1.5 * RESOLUTION
        assert np.ptp(inside[:, 1]) > depth - 0.2 - 3 * RESOLUTION
    elif width < 2.0 * LEAST_M - 2.5 * RESOLUTION or width > 2.0 * STANDOFF_M + 2.5 * RESOLUTION:
        assert len(inside) == 0


def test_corners_and_mouths_that_lead_nowhere_have_none():
    assert len(medial(room(2.0, 2.0))) == 0
    assert len(medial(room(3.0, 3.0, [box(0.3, 0.2, 0.7, 0.5)]))) == 0
    teeth = [box(-0.335, -1.3, 0.35, 0.4), box(0.335, -1.3, 0.35, 0.4)]      # 0.32 m apart
    assert len(medial(room(3.0, 3.0, teeth))) == 0


def test_maps_without_anything_or_without_floor():
    free = OccupancyGrid(np.zeros((40, 40), dtype=np.int8), RESOLUTION)
    assert not medial_cells(free, free.free, STANDOFF_M).any()
    assert (band_field(free, np.zeros((40, 40), dtype=bool)) == -np.inf).all()
    full = OccupancyGrid(np.full((40, 40), 100, dtype=np.int8), RESOLUTION)
    assert not medial_cells(full, full.free, STANDOFF_M).any()


def test_a_dead_end_is_gone_into_and_out_of_on_one_ring():
    teeth = [box(-0.375, -1.25, 0.35, 0.5), box(0.375, -1.25, 0.35, 0.5)]     # 0.40 m apart
    sweep = EdgeSweep(room(3.0, 3.0, teeth), (0.0, 0.5, 0.0))
    rings = sweep.rings
    assert len(rings.closed) == 1 and rings.closed.all()
    inside = np.flatnonzero(rings.narrow)
    depth_m = np.ptp(rings.points[inside, 1])
    assert np.abs(rings.points[inside, 0]).max() < 0.05
    assert rings.points[inside, 1].min() == pytest.approx(-1.475 + 0.2, abs=0.05)
    assert rings.length[inside].sum() == pytest.approx(2.0 * depth_m, abs=0.08)
    # In one run of spots: down one side and up the other.
    (run,) = rings.runs(rings.narrow)
    assert len(run) == len(inside)
    assert np.sin(rings.yaw[run[2]]) < -0.7 and np.sin(rings.yaw[run[-3]]) > 0.7
    # One pass along the middle cleans both sides.
    for y in np.linspace(-0.6, -1.27, 60):
        sweep.observe((0.0, y, -math.pi / 2), True)
    assert sweep.swept[inside].all()


def test_a_target_in_a_gap_is_begun_before_the_gap():
    teeth = [box(-0.375, -1.25, 0.35, 0.5), box(0.375, -1.25, 0.35, 0.5)]
    sweep = EdgeSweep(room(3.0, 3.0, teeth), (0.0, 0.5, 0.0))
    sweep.swept[:] = True
    (run,) = sweep.rings.runs(sweep.rings.narrow)
    sweep.swept[run[5:]] = False
    target = sweep.next_target((0.0, 0.5, 0.0))
    park = np.argmin(np.hypot(*(sweep.rings.points - target.pose[:2]).T))
    assert not sweep.rings.narrow[park] and target.spot == run[5]
    assert target.lead_m == pytest.approx(sweep.rings.length[run[:5]].sum(), abs=0.03)


def test_a_lap_is_not_told_from_the_way_out_of_a_deep_gap():
    walls = [box(-0.7, -0.75, 1.0, 1.5), box(0.7, -0.75, 1.0, 1.5)]      # 0.40 m wide, 1.5 m deep
    sweep = EdgeSweep(room(3.0, 3.0, walls), (0.0, 0.5, 0.0))
    way = np.concatenate([np.linspace(-0.1, -1.27, 90), np.linspace(-1.27, -0.1, 90)])
    for y in way:
        seen = sweep.observe((0.0, y, 0.0), True)
    assert seen.on_track_m == 0.0 and not sweep.full_circle()


def test_nobody_is_left_standing_in_a_gap():
    teeth = [box(-0.375, -1.25, 0.35, 0.5), box(0.375, -1.25, 0.35, 0.5)]
    sweep = EdgeSweep(room(3.0, 3.0, teeth), (0.0, 0.5, 0.0))
    sweep.swept[:] = True
    rings = sweep.rings
    (run,) = rings.runs(rings.narrow)
    for steps, done in ((-3, True), (2, True), (8, False), (len(run) + 2, False),
                        (len(run) + 7, True)):
        spot = rings.walk(run[0], steps * rings.length[run[0]])
        assert sweep.nothing_ahead((*rings.points[spot], rings.yaw[spot]), 1.5) == done, steps
        assert not sweep.nothing_ahead((*rings.points[spot], rings.yaw[spot] + math.pi), 1.5)
    sweep.swept[rings.walk(run[-1], 1.0)] = False
    after = rings.walk(run[-1], 0.2)
    assert not sweep.nothing_ahead((*rings.points[after], rings.yaw[after]), 1.5)
    assert sweep.nothing_ahead((*rings.points[after], rings.yaw[after]), 0.5)
