"""
Ways along the floor between the spots of rings, as a navigator would drive them.

Eight-connected Dijkstra (1959). Where less than a standoff is left to both sides a metre costs up
to nine, for a navigator goes round such a gap if it can.
"""
import numpy as np
from oomwoo_localization.floor import nearest_cell
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra

GAP_WEIGHT = 8.0
_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))


class FloorWays:
    """Distances along the floor of one map, kept for as long as that is the same."""

    def __init__(self, grid, reachable, points, body_m, standoff_m):
        """
        Take the map, the (rows, columns) mask of drivable floor and the spots (N, 2) on it.

        ``body_m`` and ``standoff_m`` are the radii between which closeness costs.
        """
        self._grid, self._reachable = grid, reachable
        self._cells = np.rint(grid.points_to_cells(points)).astype(int).reshape(-1, 2)
        closeness = (standoff_m - grid.obstacle_distance) / (standoff_m - body_m)
        cost = 1.0 + GAP_WEIGHT * np.clip(closeness, 0.0, 1.0) ** 2
        self._graph, self._node = _graph(reachable, cost, grid.resolution)
        inside = ((self._cells >= 0) & (self._cells < grid.shape)).all(axis=1)
        self._spot_node = np.full(len(points), -1)
        self._spot_node[inside] = self._node[tuple(self._cells[inside].T)]
        self._known = {}

    def from_pose(self, pose):
        """Return (N,) metres from ``pose`` to every spot, infinite where there is no way."""
        start = nearest_cell(self._grid, self._reachable, pose[:2], 1.0)
        if start is None:
            return np.full(len(self._spot_node), np.inf)
        return self._field([self._node[tuple(start)]])

    def of(self, spots):
        """Return (N,) metres between every spot and the nearest of ``spots``; do not change it."""
        key = (int(spots[0]), int(spots[-1]), len(spots))
        if key not in self._known:
            self._known[key] = self._field(np.unique(self._spot_node[spots]))
        return self._known[key]

    def _field(self, nodes):
        nodes = [node for node in nodes if node >= 0]
        if not nodes:
            return np.full(len(self._spot_node), np.inf)
        metres = dijkstra(self._graph, directed=False, indices=nodes, min_only=True)
        return np.where(self._spot_node >= 0, metres[self._spot_node], np.inf)


def _graph(passable, cost, resolution):
    """
    Return the graph (K, K) between passable cells, and (rows, columns) their nodes or -1.

    No diagonal step squeezes between two blocked cells.
    """
    node = np.full(passable.shape, -1)
    node[passable] = np.arange(np.count_nonzero(passable))
    rows, columns = passable.shape
    links = []
    for down, right in _STEPS:
        here = (slice(0, rows - down), slice(max(-right, 0), columns - max(right, 0)))
        there = (slice(down, rows), slice(max(right, 0), columns + min(right, 0)))
        free = passable[here] & passable[there]
        if down and right:
            free &= passable[here[0], there[1]] & passable[there[0], here[1]]
        metres = 0.5 * (cost[here] + cost[there])[free] * resolution * np.hypot(down, right)
        links.append((node[here][free], node[there][free], metres))
    start, end, metres = (np.concatenate(column) for column in zip(*links))
    count = np.count_nonzero(passable)
    return coo_matrix((metres, (start, end)), shape=(count, count)).tocsr(), node
