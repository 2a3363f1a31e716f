"""
Shortest paths for a round body on an occupancy grid.

The body's middle may be on every cell that is farther from all obstacles than the body's radius
and a margin; within a further band closeness costs extra, so that a path uses a tight gap only
where going round is dearer, and so it is with no-go pockets. Dijkstra (1959) from the goal over
eight-connected cells, then straight pieces where they cost no more (string pulling). The search
runs from the goal so that planning again to the same goal is a look-up.
"""
import math

import numpy as np
from oomwoo_localization.grids import OccupancyGrid, OCCUPIED
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.navigator_settings import Code, NavigatorSettings, PlanError
from scipy import ndimage
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

SPACING_M = 0.05              # between two points of a returned path
# the longest stretch of grid path that one straight piece may replace
PULL_CELLS = 160


class GridPlanner:
    """Plans on one map; ``passable`` (rows, columns) is where the body's middle may be."""

    def __init__(self, grid, robot=None, settings=None, pockets=()):
        """
        Prepare the search graph of an :class:`OccupancyGrid`.

        ``pockets`` are circles (x, y, radius) through which the body's middle goes only where
        going round is dearer.
        """
        robot = robot or load_robot()
        self.grid = grid
        self.robot = robot
        self.settings = settings = settings or NavigatorSettings()
        self.limit_m = (settings.body_radius or robot.body.radius) + settings.margin_m
        distance = np.minimum(grid.obstacle_distance, 100.0)
        known = ~grid.obstacles if settings.allow_unknown else grid.free
        self.passable = known & (distance >= self.limit_m)
        self._distance = distance
        band = max(settings.inflation_m, 1e-6)
        closeness = np.clip((self.limit_m + band - distance) / band, 0.0, 1.0)
        self._cost = np.where(
            self.passable, 1.0 + settings.clearance_weight * closeness ** 2, np.inf)
        self._pockets = tuple(pockets)
        if self._pockets:
            self._cost[self._in_pockets()] += settings.pocket_weight
        # Steps between two blocked cells are no steps, so what is connected is connected edge to
        # edge.
        self._part, _ = ndimage.label(self.passable)
        self._graph, self._cell_of, self._node_of = _cost_graph(
            self.passable, self._cost, grid.resolution)
        self._searched = None

    def with_obstacles(self, points):
        """Return a planner for the same map with an obstacle at each of the map points (N, 2)."""
        cells = self.grid.cells.copy()
        rc = np.rint(self.grid.points_to_cells(points)).astype(int)
        inside = ((rc >= 0) & (rc < cells.shape)).all(axis=1)
        cells[rc[inside, 0], rc[inside, 1]] = OCCUPIED
        return GridPlanner(
            OccupancyGrid(cells, self.grid.resolution, self.grid.origin), self.robot,
            self.settings, self._pockets)

    def with_pockets(self, pockets):
        """Return a planner for the same map with these pockets, circles (x, y, radius)."""
        return GridPlanner(self.grid, self.robot, self.settings, pockets)

    def _in_pockets(self):
        """Return the mask of cells whose middle is in a pocket."""
        points = self.grid.cells_to_points(np.argwhere(np.ones(self.grid.shape, dtype=bool)))
        inside = np.zeros(len(points), dtype=bool)
        for x, y, radius_m in self._pockets:
            inside |= np.hypot(*(points - (x, y)).T) <= radius_m
        return inside.reshape(self.grid.shape)

    def clearance(self, points):
        """
        Return (N,) metres from map points (N, 2) to the nearest mapped obstacle.

        Interpolated between cell centres; the shell is the body's radius closer. Off the map: 0.
        """
        rc = self.grid.points_to_cells(points)
        return ndimage.map_coordinates(self._distance, rc.T, order=1, mode='constant', cval=0.0)

    def plan(self, start, goal):
        """
        Return the path (N, 2) in map metres from ``start`` to ``goal``.

        Both are ``(x, y)`` or ``(x, y, yaw)``.
        A start where the body does not fit (next to a wall, or pressed against it) begins with the
        straight way to the nearest place where it does. A goal where the body does not fit is
        moved by at most ``plan_tolerance_m``. Raises :class:`PlanError` with Nav2's
        ComputePathToPose code.
        """
        start, goal = _point(start, 'start'), _point(goal, 'goal')
        start_rc = self._cell(start, Code.START_OUTSIDE_MAP, 'start')
        goal_rc = self._cell(goal, Code.GOAL_OUTSIDE_MAP, 'goal')
        first, last = self._ends(start, start_rc, goal, goal_rc)
        cells = self._descend(first, last)
        middle = self._pull(cells)
        path = self.grid.cells_to_points(middle)
        if self.passable[start_rc]:
            path = np.vstack([start, path[1:]])
        else:
            path = np.vstack([start, path])
        if tuple(last) == goal_rc:
            path = np.vstack([path[:-1], goal]) if len(path) > 1 else np.vstack([path, goal])
        return resample(path, SPACING_M)

    # -- the two ends -----------------------------------------------------------------------

    def _cell(self, point, code, what):
        rc = np.rint(self.grid.points_to_cells(point[None])[0])
        rows, columns = self.grid.shape
        if not (0 <= rc[0] < rows and 0 <= rc[1] < columns):
            raise PlanError(code, f'{what} ({point[0]:.2f}, {point[1]:.2f}) is outside the map')
        return int(rc[0]), int(rc[1])

    def _ends(self, start, start_rc, goal, goal_rc):
        """Return the first and last cell of the search, in one part of the passable floor."""
        starts = self._legal_near(start, start_rc, self.settings.escape_m, in_sight=True)
        if len(starts) == 0:
            raise PlanError(
                Code.START_OCCUPIED,
                f'start ({start[0]:.2f}, {start[1]:.2f}) is no place for the body, and there is '
                f'none within {self.settings.escape_m:.2f} m of it')
        goals = self._legal_near(goal, goal_rc, self.settings.plan_tolerance_m, in_sight=False)
        if len(goals) == 0:
            raise PlanError(
                Code.GOAL_OCCUPIED,
                f'goal ({goal[0]:.2f}, {goal[1]:.2f}) is no place for the body, and there is '
                f'none within {self.settings.plan_tolerance_m:.2f} m of it')
        start_parts = self._part[tuple(starts.T)]
        goal_parts = self._part[tuple(goals.T)]
        reached = np.flatnonzero(np.isin(goal_parts, start_parts))
        if len(reached) == 0:
            raise PlanError(
                Code.NO_VALID_PATH,
                f'no way the body fits from ({start[0]:.2f}, {start[1]:.2f}) '
                f'to ({goal[0]:.2f}, {goal[1]:.2f})')
        last = goals[reached[0]]
        first = starts[np.flatnonzero(start_parts == goal_parts[reached[0]])[0]]
        return first, last

    def _legal_near(self, point, rc, radius_m, in_sight):
        """Return passable cells (K, 2) near a point, nearest first; its own alone if legal."""
        if self.passable[rc]:
            return np.array([rc])
        reach = int(math.ceil(radius_m / self.grid.resolution))
        low = np.maximum(np.array(rc) - reach, 0)
        window = self.passable[low[0]:rc[0] + reach + 1, low[1]:rc[1] + reach + 1]
        cells = np.argwhere(window) + low
        away = np.hypot(*(self.grid.cells_to_points(cells) - point).T)
        order = np.argsort(away, kind='stable')
        cells, away = cells[order], away[order]
        cells = cells[away <= radius_m]
        if in_sight and not self.grid.obstacles[rc] and len(cells):
            steps = np.linspace(0.0, 1.0, 2 * reach + 2)[:, None, None]
            on_the_way = np.rint(np.array(rc) + steps * (cells - rc)).astype(int)
            cells = cells[~self.grid.obstacles[on_the_way[..., 0], on_the_way[..., 1]].any(axis=0)]
        return cells

    # -- the search -------------------------------------------------------------------------

    def _descend(self, first, last):
        """Return the grid path (N, 2) of cells from ``first`` to ``last``."""
        node, target = self._node_of[tuple(first)], self._node_of[tuple(last)]
        if self._searched is None or self._searched[0] != target:
            _, previous = dijkstra(
                self._graph, directed=True, indices=target, return_predecessors=True)
            self._searched = (target, previous)
        previous = self._searched[1]
        nodes = [node]
        while node != target:
            node = previous[node]
            nodes.append(node)
        flat = self._cell_of[np.array(nodes)]
        return np.stack(np.unravel_index(flat, self.grid.shape), axis=1)

    def _pull(self, cells):
        """Return corner cells (K, 2), each the farthest that a straight piece gets to cheaply."""
        cells = np.asarray(cells, dtype=float)
        steps = np.hypot(*np.diff(cells, axis=0).T)
        at = self._cost[tuple(cells.astype(int).T)]
        spent = np.concatenate([[0.0], np.cumsum(steps * (at[1:] + at[:-1]) / 2.0)])
        corners, here = [cells[0]], 0
        while here < len(cells) - 1:
            ahead = np.arange(here + 1, min(here + PULL_CELLS, len(cells) - 1) + 1)
            straight = self._straight_costs(cells[here], cells[ahead])
            # A straight piece that costs a whisker more is still the better drive.
            good = ahead[straight <= 1.005 * (spent[ahead] - spent[here]) + 1e-9]
            here = next(
                (int(k) for k in good[::-1] if self._fits_between(cells[here], cells[k])),
                here + 1)
            corners.append(cells[here])
        return np.array(corners)

    def _fits_between(self, a, b):
        """Return whether the body fits all along a straight piece, between the cells too."""
        samples = int(math.ceil(2.0 * math.hypot(*(b - a)))) + 2
        on_line = a + np.linspace(0.0, 1.0, samples)[:, None] * (b - a)
        distance = ndimage.map_coordinates(self._distance, on_line.T, order=1, mode='nearest')
        return distance.min() >= self.limit_m - 1e-6

    def _straight_costs(self, origin, ends):
        """Return (K,) costs, in cells, of straight pieces; infinite across a forbidden cell."""
        lengths = np.hypot(*(ends - origin).T)
        samples = int(math.ceil(2.0 * lengths.max())) + 1
        part = (np.arange(samples) + 0.5) / samples
        on_line = np.rint(origin + part[:, None, None] * (ends - origin)).astype(int)
        return self._cost[on_line[..., 0], on_line[..., 1]].mean(axis=0) * lengths


def resample(path, spacing_m):
    """Return a polyline (N, 2) with its corners and a point at least every ``spacing_m``."""
    path = np.asarray(path, dtype=float)
    pieces = [path[:1]]
    for a, b in zip(path[:-1], path[1:]):
        length = math.hypot(*(b - a))
        if length < 1e-9:
            continue
        count = max(1, math.ceil(length / spacing_m))
        pieces.append(a + (b - a) * (np.arange(1, count + 1) / count)[:, None])
    return np.vstack(pieces)


def _point(pose, what):
    point = np.asarray(pose, dtype=float).ravel()[:2]
    if len(point) != 2 or not np.isfinite(point).all():
        code = Code.START_OUTSIDE_MAP if what == 'start' else Code.GOAL_OUTSIDE_MAP
        raise PlanError(code, f'{what} {pose} is no position')
    return point


def _cost_graph(passable, cost, resolution):
    """
    Return ``(graph, cell_of, node_of)`` over passable cells, with both ways of each step.

    ``cell_of`` (nodes,) is the flat cell of a node, ``node_of`` (rows, columns) the node of a
    cell.
    """
    cell_of = np.flatnonzero(passable)
    node_of = np.full(passable.shape, -1)
    node_of.ravel()[cell_of] = np.arange(len(cell_of))
    rows, columns = passable.shape
    padded = np.zeros((rows + 2, columns + 2), dtype=bool)
    padded[1:-1, 1:-1] = passable
    padded_cost = np.ones((rows + 2, columns + 2))
    padded_cost[1:-1, 1:-1][passable] = cost[passable]
    padded_node = np.zeros((rows + 2, columns + 2), dtype=np.int32)
    padded_node[1:-1, 1:-1] = node_of
    width = columns + 2
    at = (cell_of // columns + 1) * width + cell_of % columns + 1
    free, costs, nodes = padded.ravel(), padded_cost.ravel(), padded_node.ravel()
    # One column of steps per direction gives the rows of a CSR matrix without sorting.
    links, lengths, targets = [], [], []
    for d_row, d_column in ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)):
        there = at + d_row * width + d_column
        open_ = free[there]
        if d_row and d_column:
            open_ = open_ & free[at + d_row * width] & free[at + d_column]
        links.append(open_)
        lengths.append(math.hypot(d_row, d_column) * resolution * (costs[at] + costs[there]) / 2.0)
        targets.append(nodes[there])
    links = np.stack(links, axis=1)
    indptr = np.concatenate([[0], np.cumsum(links.sum(axis=1))]).astype(np.int32)
    data = np.stack(lengths, axis=1)[links]
    indices = np.stack(targets, axis=1)[links].astype(np.int32)
    return csr_matrix(
        (data, indices, indptr), shape=(len(cell_of), len(cell_of))), cell_of, node_of
