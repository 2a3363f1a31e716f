"""Grid coordinates under any origin; both kinds of distance against slow references."""
import heapq
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
import numpy as np
from oomwoo_localization.grids import floor_distances, GridError, OccupancyGrid
import pytest

origins = st.tuples(st.floats(-20, 20), st.floats(-20, 20), st.floats(-7, 7))
resolutions = st.floats(0.01, 2.0)
masks = npst.arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 12)))


def grid(cells, resolution=0.05, origin=(0.0, 0.0, 0.0)):
    """Return a grid of some cells."""
    return OccupancyGrid(np.asarray(cells, dtype=np.int8), resolution, origin)


def test_row_zero_is_at_the_origin_and_cells_are_known_by_their_centres():
    two = grid(np.zeros((4, 6)), 0.5, (1.0, 2.0, 0.0))
    assert two.cells_to_points([[0, 0], [3, 5]]) == pytest.approx(
        np.array([[1.25, 2.25], [3.75, 3.75]]))
    assert two.points_to_cells([[1.25, 2.25]]) == pytest.approx(np.array([[0.0, 0.0]]))


def test_a_map_turned_by_a_quarter_grows_to_the_left():
    turned = grid(np.zeros((4, 6)), 1.0, (0.0, 0.0, math.pi / 2))
    assert turned.cells_to_points([[0, 5]]) == pytest.approx(np.array([[-0.5, 5.5]]))


@given(
    origins,
    resolutions,
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1, max_size=9),
)
def test_cells_and_points_are_inverse_for_any_origin(origin, resolution, cells):
    turned = grid(np.zeros((1, 1)), resolution, origin)
    points = turned.cells_to_points(cells)
    assert turned.points_to_cells(points) == pytest.approx(np.array(cells, dtype=float), abs=1e-6)
    spread = np.linalg.norm(points - points[0], axis=1)
    steps = np.linalg.norm(np.array(cells) - np.array(cells[0]), axis=1)
    assert spread == pytest.approx(steps * resolution, abs=1e-6)


@given(
    origins, st.integers(0, 6), st.integers(0, 8), st.floats(-0.49, 0.49), st.floats(-0.49, 0.49))
def test_lookup_takes_the_cell_that_holds_the_point(origin, row, column, up, right):
    numbered = grid(np.arange(63).reshape(7, 9) - 1, 0.1, origin)
    point = numbered.cells_to_points([[row + up, column + right]])
    assert numbered.lookup(numbered.cells, point)[0] == row * 9 + column - 1


def test_lookup_outside_the_map():
    small = grid(np.zeros((2, 2)), 1.0)
    assert np.isnan(small.lookup(small.cells, [[-0.1, 0.5], [5.0, 5.0]])).all()
    assert small.lookup(small.cells, [[-0.1, 0.5], [0.5, 0.5]], outside=-1).tolist() == [-1, 0]


def test_free_unknown_and_occupied_are_told_apart():
    mixed = grid([[-1, 0, 64], [65, 100, 50]])
    assert mixed.free.tolist() == [[False, True, True], [False, False, True]]
    assert mixed.obstacles.tolist() == [[False, False, False], [True, True, False]]


@given(masks, resolutions)
def test_obstacle_distance_is_that_to_the_nearest_occupied_cell(occupied, resolution):
    distances = grid(occupied * 100, resolution).obstacle_distance
    cells = np.argwhere(occupied)
    if len(cells) == 0:
        assert np.isinf(distances).all()
        return
    for row, column in np.ndindex(occupied.shape):
        centres = np.linalg.norm(cells - [row, column], axis=1).min()
        assert distances[row, column] == pytest.approx(max(centres - 0.5, 0.0) * resolution)


def test_unknown_cells_are_no_obstacles():
    assert grid([[-1, 0, 0, 100]], 1.0).obstacle_distance[0].tolist() == [2.5, 1.5, 0.5, 0.0]


def slow_floor_distances(passable, resolution, starts):
    """Dijkstra in the plainest form, without a step between two blocked cells at a corner."""
    best = np.full(passable.shape, np.inf)
    queue = [(0.0, start) for start in map(tuple, starts) if passable[tuple(start)]]
    while queue:
        length, (row, column) = heapq.heappop(queue)
        if length >= best[row, column]:
            continue
        best[row, column] = length
        for d_row in (-1, 0, 1):
            for d_column in (-1, 0, 1):
                there = row + d_row, column + d_column
                if not (0 <= there[0] < passable.shape[0] and 0 <= there[1] < passable.shape[1]):
                    continue
                if passable[there] and passable[row, there[1]] and passable[there[0], column]:
                    step = math.hypot(d_row, d_column) * resolution
                    heapq.heappush(queue, (length + step, there))
    return best


@settings(max_examples=150)
@given(masks, st.data())
def test_floor_distances_agree_with_the_plainest_dijkstra(passable, data):
    rows, columns = passable.shape
    cell = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    starts = np.array(data.draw(st.lists(cell, min_size=1, max_size=3)))
    found = floor_distances(passable, 0.25, starts)
    assert found == pytest.approx(slow_floor_distances(passable, 0.25, starts))


@settings(max_examples=60)
@given(masks, st.data())
def test_predecessors_lead_back_to_a_start_by_steps_that_add_up(passable, data):
    rows, columns = passable.shape
    start = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    distance, previous = floor_distances(passable, 1.0, np.array([start]), predecessors=True)
    for flat in np.flatnonzero(np.isfinite(distance)):
        length, here = 0.0, flat
        while previous.ravel()[here] >= 0:
            before = previous.ravel()[here]
            length += math.dist(divmod(here, columns), divmod(before, columns))
            here = before
        assert divmod(here, columns) == start and length == pytest.approx(distance.ravel()[flat])
    assert (previous[~np.isfinite(distance)] < 0).all()


def test_the_way_round_a_wall_is_long_and_a_diagonal_crack_is_shut():
    floor = np.ones((5, 5), dtype=bool)
    floor[:4, 2] = False
    assert floor_distances(floor, 0.1, [(0, 0)])[0, 4] == pytest.approx(
        0.1 * (8 + 2 * math.sqrt(2)))
    crack = np.array([[True, False], [False, True]])
    assert floor_distances(crack, 0.1, [(0, 0)])[1, 1] == math.inf


def test_a_blocked_start_reaches_nothing():
    floor = np.array([[False, True]])
    distance, previous = floor_distances(floor, 0.1, [(0, 0)], predecessors=True)
    assert np.isinf(distance).all() and (previous < 0).all()


@pytest.mark.parametrize(('broken', 'words'), [
    (OccupancyGrid(np.zeros((0, 5), dtype=np.int8), 0.05), 'is empty'),
    (OccupancyGrid(np.zeros(5, dtype=np.int8), 0.05), 'is empty'),
    (OccupancyGrid(np.zeros((2, 2), dtype=np.int8), 0.0), 'resolution must be greater than zero'),
    (
        OccupancyGrid(np.zeros((2, 2), dtype=np.int8), math.nan),
        'resolution must be greater than zero',
    ),
    (OccupancyGrid(np.zeros((2, 2), dtype=np.int8), 0.05, (0.0, math.nan, 0.0)), 'origin is'),
    (OccupancyGrid(np.full((2, 2), -1, dtype=np.int8), 0.05), 'every cell is unknown')])
def test_a_map_with_nothing_to_work_with_is_refused(broken, words):
    with pytest.raises(GridError, match=f'kitchen: .*{words}|kitchen: {words}'):
        broken.check('kitchen')


def test_huge_cells_are_cells_like_others():
    huge = grid([[0, 100]], 50.0, (-50.0, 0.0, 0.0)).check()
    assert huge.obstacle_distance[0].tolist() == [25.0, 0.0]
    assert huge.lookup(huge.cells, [[-1.0, 10.0], [1.0, 10.0]]).tolist() == [0, 100]
