"""Plans against geometry worked out another way: exact clearance, taut strings, plain Dijkstra."""
import math
import time

from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from nav_worlds import block, exact_clearance, maze, ROBOT, room
import numpy as np
from oomwoo_localization.frames import transform_points
from oomwoo_localization.grids import floor_distances, OccupancyGrid, OCCUPIED, UNKNOWN
from oomwoo_sim_support.embedded_navigator import Code, GridPlanner, NavigatorSettings, PlanError
import pytest

RADIUS = ROBOT.body.radius
SHORTEST = NavigatorSettings(clearance_weight=0.0)
QUICK = hypothesis_settings(max_examples=25, deadline=None)


def length(path):
    """Return the length of a polyline."""
    return float(np.hypot(*np.diff(path, axis=0).T).sum())


def cluttered_room(seed, resolution=0.025):
    """Return a 4 x 4 m room with random blocks."""
    rng = np.random.default_rng(seed)
    grid = room(4.0, 4.0, resolution)
    for _ in range(rng.integers(2, 9)):
        x, y = rng.uniform(-1.9, 1.5, 2)
        w, h = rng.uniform(0.04, 0.8, 2)
        grid = block(grid, x, y, min(x + w, 1.95), min(y + h, 1.95))
    return grid


def some_legal(planner, rng, count):
    """Return ``count`` random points where the body fits."""
    cells = np.argwhere(planner.passable)
    return planner.grid.cells_to_points(cells[rng.integers(len(cells), size=count)])


@QUICK
@given(
    seed=st.integers(0, 10_000), resolution=st.sampled_from([0.025, 0.05]),
    weight=st.sampled_from([0.0, 8.0]))
def test_a_path_keeps_the_limit_and_joins_its_ends(seed, resolution, weight):
    planner = GridPlanner(
        cluttered_room(seed, resolution), settings=NavigatorSettings(clearance_weight=weight))
    start, goal = some_legal(planner, np.random.default_rng(seed), 2)
    try:
        path = planner.plan(start, goal)
    except PlanError as error:
        assert error.code == Code.NO_VALID_PATH
        assert not np.isfinite(planner.grid.lookup(
            floor_distances(
                planner.passable, 1.0,
                np.rint(planner.grid.points_to_cells(start[None])).astype(int)),
            goal[None]))[0]
        return
    np.testing.assert_allclose(path[[0, -1]], [start, goal])
    assert np.hypot(*np.diff(path, axis=0).T).max() <= 0.05 + 1e-9
    # The distance field takes half a cell off the distance of centres, up to 0.21 cells too much
    # at a corner.
    assert exact_clearance(planner.grid, path).min() >= planner.limit_m - 0.21 * resolution - 1e-3


@QUICK
@given(seed=st.integers(0, 10_000))
def test_without_a_price_on_closeness_a_path_is_no_longer_than_the_grids_shortest(seed):
    planner = GridPlanner(cluttered_room(seed), settings=SHORTEST)
    start, goal = some_legal(planner, np.random.default_rng(seed + 1), 2)
    first = np.rint(planner.grid.points_to_cells(start[None])).astype(int)
    along_grid = planner.grid.lookup(
        floor_distances(planner.passable, planner.grid.resolution, first), goal[None])[0]
    assume(np.isfinite(along_grid) and along_grid > 0.2)
    found = length(planner.plan(start, goal))
    assert found <= along_grid * 1.006
    # Eight directions are at most 8.24 % longer than the free line, so nothing can be shorter than
    # this.
    assert found >= max(along_grid / 1.0824, math.dist(start, goal)) - 1e-6


@pytest.mark.parametrize('offset', [0.5, 1.0, 1.5])
def test_the_way_round_the_end_of_a_thin_wall_is_nearly_the_taut_string(offset):
    # A wall up the middle from the lower edge, ending at y = 0; start and goal on either side of
    # it.
    planner = GridPlanner(block(room(), -0.025, -3.0, 0.025, 0.0), settings=SHORTEST)
    start, goal = np.array([-offset, -1.5]), np.array([offset, -1.5])
    reach = planner.limit_m
    corner = np.array([-0.025, 0.0])
    to_corner = math.dist(start, corner)
    straight = math.sqrt(to_corner ** 2 - reach ** 2)
    # From the tangent point up to the top of the arc round the corner, then flat over the wall's
    # end.
    tangent_direction = math.atan2(1.5, offset - 0.025) + math.asin(reach / to_corner)
    taut = 2.0 * (straight + reach * tangent_direction) + 0.05
    path = planner.plan(start, goal)
    # On cells the arc is up to one cell wider, over about half a turn.
    assert length(path) <= taut + math.pi * 0.025 + 0.01
    assert length(path) > taut - 0.02
    assert path[:, 1].max() == pytest.approx(reach, abs=0.03)


def test_a_tight_gap_is_taken_only_when_the_way_round_is_dear():
    # A wall across with a 0.40 m gap straight ahead and a wide one 0.8 m or 2.4 m aside.
    for aside, through_tight in ((0.8, False), (2.4, True)):
        grid = block(room(), -3.0, -0.05, 3.0, 0.05)
        cells = grid.cells.copy()
        rows = slice(115, 125)
        cells[rows, 112:128] = 0
        left = 120 - round((aside + 0.45) / 0.025)
        cells[rows, left:left + 36] = 0
        planner = GridPlanner(OccupancyGrid(cells, grid.resolution, grid.origin))
        path = planner.plan((0.0, -1.0), (0.0, 1.0))
        crossing = path[np.argmin(np.abs(path[:, 1])), 0]
        assert (abs(crossing) < 0.2) == through_tight, (aside, crossing)


def test_in_a_corridor_it_keeps_to_the_middle():
    grid = block(block(room(), -2.0, -0.5, 2.0, -0.4), -2.0, 0.3, 2.0, 0.4)
    path = GridPlanner(grid).plan((-1.8, 0.1), (1.8, -0.1))
    middle = path[np.abs(path[:, 0]) < 1.0]
    assert np.abs(middle[:, 1] + 0.05).max() < 0.06


@pytest.mark.parametrize(
    'width, fits', [(0.375, True), (0.40, True), (0.45, True), (0.325, False)])
def test_a_gap_that_the_body_fits_is_passable(width, fits):
    cells = block(room(), -3.0, -0.05, 3.0, 0.05).cells.copy()
    count = round(width / 0.025)
    cells[115:125, 110:110 + count] = 0
    planner = GridPlanner(OccupancyGrid(cells, 0.025, (-3.0, -3.0, 0.0)))
    if fits:
        assert len(planner.plan((0.0, -1.0), (0.0, 1.0))) > 10
    else:
        with pytest.raises(PlanError) as caught:
            planner.plan((0.0, -1.0), (0.0, 1.0))
        assert caught.value.code == Code.NO_VALID_PATH


@pytest.mark.parametrize('gap', [0.0, 0.005, 0.02, -0.02])
def test_a_start_against_a_wall_first_leaves_it_straight(gap):
    # The wall's face is at x = 2.975; even a pose that is a little inside the wall's band gets
    # out.
    start = np.array([2.975 - RADIUS - gap, 0.3])
    planner = GridPlanner(room())
    path = planner.plan(start, (0.0, -2.0))
    np.testing.assert_allclose(path[0], start)
    first_legal = np.flatnonzero(planner.clearance(path) >= planner.limit_m - 1e-3)[0]
    assert length(path[:first_legal + 1]) < 0.06
    assert np.all(
        np.diff(planner.clearance(path[:first_legal + 1])) > -1e-6), 'never closer on the way out'


def test_a_start_beside_a_thin_wall_does_not_get_out_through_it():
    grid = block(room(), -0.025, -3.0, 0.025, 2.0)
    # The body's middle is nearer to the legal cells on its own side; the goal is on the other
    # side.
    path = GridPlanner(grid).plan((-0.19, 0.0), (1.0, 0.0))
    assert path[:, 1].max() > 2.1, 'round the upper end'
    assert exact_clearance(grid, path[2:]).min() > RADIUS


def test_goals_where_the_body_does_not_fit():
    planner = GridPlanner(block(room(), 1.0, -0.5, 2.0, 0.5))
    moved = planner.plan((-1.0, 0.0), (0.9, 0.0))[-1]
    assert math.dist(moved, (0.9, 0.0)) <= 0.12 and planner.clearance(moved[None])[
        0] >= planner.limit_m - 1e-6
    for goal, code in (((1.5, 0.0), Code.GOAL_OCCUPIED), ((3.5, 0.0), Code.GOAL_OUTSIDE_MAP),
                       ((math.nan, 0.0), Code.GOAL_OUTSIDE_MAP)):
        with pytest.raises(PlanError) as caught:
            planner.plan((-1.0, 0.0), goal)
        assert caught.value.code == code
    for start, code in (((1.5, 0.0), Code.START_OCCUPIED), ((-4.0, 0.0), Code.START_OUTSIDE_MAP)):
        with pytest.raises(PlanError) as caught:
            planner.plan(start, (-1.0, 0.0))
        assert caught.value.code == code
    assert f'({1.5:.2f}, {0.0:.2f})' in _message(planner, (-1.0, 0.0), (1.5, 0.0))


def _message(planner, start, goal):
    with pytest.raises(PlanError) as caught:
        planner.plan(start, goal)
    return caught.value.message


def test_unknown_floor_is_no_way_unless_allowed():
    cells = room().cells.copy()
    cells[115:125, 1:-1] = UNKNOWN
    grid = OccupancyGrid(cells, 0.025, (-3.0, -3.0, 0.0))
    with pytest.raises(PlanError) as caught:
        GridPlanner(grid).plan((0.0, -1.0), (0.0, 1.0))
    assert caught.value.code == Code.NO_VALID_PATH
    path = GridPlanner(grid, settings=NavigatorSettings(allow_unknown=True)).plan(
        (0.0, -1.0), (0.0, 1.0))
    assert length(path) == pytest.approx(2.0, abs=0.01)


@given(yaw=st.floats(-3.1, 3.1), x=st.floats(-20, 20), y=st.floats(-20, 20))
@hypothesis_settings(max_examples=15, deadline=None)
def test_a_map_with_a_turned_origin_gives_the_turned_path(yaw, x, y):
    plain, _ = maze(3, cells_across=3)
    origin = (x, y, yaw)
    turned = OccupancyGrid(plain.cells, plain.resolution, origin)
    ends = np.array([[0.4, 0.45], [2.2, 2.15]])
    expected = transform_points(origin, GridPlanner(plain).plan(*ends))
    found = GridPlanner(turned).plan(*transform_points(origin, ends))
    assert abs(length(found) - length(expected)) < 0.02
    assert max(np.hypot(*(found - p).T).min() for p in expected) < 0.05


def test_cells_as_large_as_the_body_still_give_a_path():
    cells = np.zeros((12, 12), dtype=np.int8)
    cells[[0, -1]], cells[:, [0, -1]] = OCCUPIED, OCCUPIED
    cells[5, 1:8] = OCCUPIED
    planner = GridPlanner(OccupancyGrid(cells, 0.5, (0.0, 0.0, 0.0)))
    path = planner.plan((0.8, 0.8), (0.8, 5.2))
    np.testing.assert_allclose(path[[0, -1]], [[0.8, 0.8], [0.8, 5.2]])
    assert path[:, 0].max() > 4.0


def test_new_obstacles_are_planned_round_and_the_map_stays_as_it_was():
    planner = GridPlanner(room())
    post = np.array([[0.0, 0.0], [0.0, 0.05], [0.0, -0.05], [99.0, 99.0]])
    blocked = planner.with_obstacles(post)
    path = blocked.plan((-1.0, 0.0), (1.0, 0.0))
    assert np.hypot(*path.T).min() > RADIUS
    assert np.abs(planner.plan((-1.0, 0.0), (1.0, 0.0))[:, 1]).max() < 1e-9


def test_a_pocket_is_gone_round_and_through_only_where_that_is_dearer():
    open_floor, pocket = room(), (0.0, 0.1, 0.3)
    start, goal = (-1.5, 0.0), (1.5, 0.0)
    straight = GridPlanner(open_floor)
    round_it = straight.with_pockets([pocket])
    path = round_it.plan(start, goal)
    assert np.hypot(*(path - pocket[:2]).T).min() > 0.28
    assert path[:, 1].min() < -0.15, 'on the side where it is shorter'
    assert np.abs(straight.plan(start, goal)[:, 1]).max() < 0.02, 'the other planner is as it was'
    # Also with something new in the way, and from or to a place in it.
    both = round_it.with_obstacles(np.array([[0.0, -0.4]])).plan(start, goal)
    assert np.hypot(*(both - pocket[:2]).T).min() > 0.28 and both[:, 1].max() > 0.35
    out = round_it.plan((0.0, 0.1), goal)
    inside = np.hypot(*(out - pocket[:2]).T) < 0.3
    assert inside[0] and not inside[np.argmin(inside):].any(), 'out of it and not in again'
    assert math.dist(round_it.plan(start, (0.0, 0.2))[-1], (0.0, 0.2)) < 1e-9
    corridor = block(block(room(), -3.0, 0.3, 3.0, 3.0), -3.0, -3.0, 3.0, -0.3)
    across = GridPlanner(corridor).with_pockets([(0.0, 0.0, 0.3)]).plan(start, goal)
    assert np.hypot(*across.T).min() < 0.1, 'the only way leads through it'


def test_planning_on_the_large_map_is_quick():
    grid, _ = maze(1, cells_across=7)
    assert min(grid.shape) >= 235
    took = []
    for k in range(5):
        planner = GridPlanner(OccupancyGrid(grid.cells, grid.resolution, grid.origin))
        began = time.process_time()
        planner.plan((0.45, 0.45), (5.5, 5.5 - 0.01 * k))
        took.append(time.process_time() - began)
    assert min(took) < 0.1
