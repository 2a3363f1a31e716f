"""
Ways for a round body between points: routes along their Voronoi diagram.

A disc gets from one place to another if it gets there along the Voronoi diagram of what is in the
way, and nowhere is it further from all of that (retraction: O'Dunlaing and Yap, 1985). So the
diagram tells the widest way, how narrow its narrowest place is, and that there is none.
"""
from dataclasses import dataclass
import math

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import Voronoi

HORIZON_M = 4.0               # around the body; what is farther is not in the way
_RING, _RAYS = 24, 36         # points on the horizon, to end the diagram; straight ways out
_NARROW_COST = 4.0            # of a metre where it just fits, in metres where there is room
_SLACK_M = 0.002              # a body that touches already gets away nevertheless
_FAILED_M, _FAILED_COST_M = 0.05, 0.3          # what leads by a place that failed; worse by this
_FAILED_TIMES = 2             # closed then


@dataclass(frozen=True)
class Route:
    """
    A way: ``corners`` (M, 2) from the body's centre to the end.

    ``clearance_m`` is how near the way comes to the nearest point, ``complete`` tells whether it
    leads as far out as was asked.
    """

    corners: np.ndarray
    clearance_m: float
    complete: bool


def clearance_along(start, ends, points):
    """Return the (K,) least distances of the segments ``start`` to ``ends`` (K, 2) to points."""
    along = ends - start
    offset = points - start
    part = offset @ along.T / np.maximum((along ** 2).sum(axis=1), 1e-12)
    gap = offset[:, None, :] - np.clip(part, 0.0, 1.0)[:, :, None] * along[None, :, :]
    return np.sqrt((gap ** 2).sum(axis=2).min(axis=0))


def led_by(places, starts, along):
    """Return how many of the places (P, 2) each segment passes: from its start along (K, 2)."""
    count = np.zeros(len(along), dtype=int)
    for place in places:
        part = ((place - starts) * along).sum(axis=1) / np.maximum((along ** 2).sum(axis=1), 1e-12)
        off = starts + np.clip(part, 0.0, 1.0)[:, None] * along - place
        count += np.hypot(*off.T) < _FAILED_M
    return count


class FreeWays:
    """The diagram of ``points`` (N, 2) around a body at ``place`` (2,), all in one frame."""

    def __init__(self, points, place):
        """Draw it; there may be no points at all."""
        self.place = np.asarray(place, dtype=float)
        angles = math.tau / _RING * np.arange(_RING)
        ring = self.place + HORIZON_M * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        points = np.reshape(points, (-1, 2))
        near = points[np.hypot(*(points - self.place).T) < HORIZON_M]
        self.points = np.concatenate([near, ring])
        diagram = Voronoi(self.points)
        ridges = np.array(diagram.ridge_vertices)
        bounded = (ridges >= 0).all(axis=1)
        self._ends, self._between = ridges[bounded], diagram.ridge_points[bounded]
        self._nodes = diagram.vertices
        one, other = (self.points[self._between[:, i]] for i in (0, 1))
        self._from, self._along = (
            self._nodes[self._ends[:, 0]], np.diff(self._nodes[self._ends], axis=1)[:, 0])
        self._lengths = np.hypot(*self._along.T)
        # A ridge is nearest to its two points where it crosses the line between them.
        ahead = (((one + other) / 2 - self._from) * self._along).sum(axis=1)
        crossed = (ahead > 0.0) & (ahead < self._lengths ** 2)
        self._clearances = np.where(
            crossed, np.hypot(*(one - other).T) / 2, np.minimum(
                np.hypot(*(self._from - one).T),
                np.hypot(*(self._from + self._along - one).T)))

    def gap(self, place):
        """Return how far the nearest point is."""
        return float(np.hypot(*(self.points - place).T).min())

    def straight(self, place, corners, least_m):
        """Return which is the last of the corners (M, 2) that is to be reached straight."""
        gaps = clearance_along(place, corners, self.points)
        reached = np.flatnonzero(gaps >= min(least_m, self.gap(place) - _SLACK_M))
        return int(reached[-1]) if len(reached) else 0

    def _entry(self):
        """
        Return where the body gets on the diagram, and the (2,) nodes of the ridge there.

        It is straight away from the nearest point, as far as to where another is as near.
        """
        apart = np.hypot(*(self.points - self.place).T)
        nearest = int(np.argmin(apart))
        away = (self.place - self.points[nearest]) / max(apart[nearest], 1e-9)
        with np.errstate(divide='ignore', invalid='ignore'):
            travel = (apart ** 2 - apart[nearest] ** 2) / (
                2.0 * (apart[nearest] - (self.place - self.points) @ away))
        travel[~(travel >= 0.0)] = np.inf
        travel[nearest] = np.inf
        other = int(np.argmin(travel))
        pair = np.flatnonzero(
            (np.sort(self._between, axis=1) == sorted((nearest, other))).all(axis=1))
        if len(pair) == 0 or not math.isfinite(travel[other]):
            return self.place, np.zeros(0, dtype=int)
        return self.place + travel[other] * away, self._ends[pair[0]]

    def route(self, least_m, liked_m, middle, out_m, worse=None, failed=()):
        """
        Return the best :class:`Route` that leads to ``out_m`` from ``middle``, None without any.

        It keeps ``least_m`` from all points, and up to ``liked_m`` where that is not far round.
        ``worse`` maps ends (K, 2) to the metres (K,) that they are worth less than others, and
        ``failed`` are places (K, 2) where the body did not get through. Where no way leads so far
        out, the one that leads farthest.
        """
        angles = math.tau / _RAYS * np.arange(_RAYS)
        rays = middle + (out_m + _FAILED_M) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        entry, doors = self._entry()
        nodes = np.concatenate([self._nodes, rays, [entry, self.place]])
        first_ray, at_entry, at_start = len(self._nodes), len(nodes) - 2, len(nodes) - 1
        to_rays = clearance_along(self.place, rays, self.points)
        to_doors = clearance_along(entry, self._nodes[doors], self.points)
        touching = self.gap(self.place) - _SLACK_M
        rows, columns, clearances, failures = (np.concatenate(parts) for parts in zip(
            (self._ends[:, 0], self._ends[:, 1], self._clearances,
             led_by(failed, self._from, self._along)),
            (np.full(_RAYS, at_start), first_ray + np.arange(_RAYS), to_rays,
             led_by(failed, self.place, rays - self.place)),
            (np.full(len(doors), at_entry), doors, to_doors,
             led_by(failed, entry, self._nodes[doors] - entry)),
            ([at_start], [at_entry], [math.inf], [0])))
        # On the way to the diagram and along its first ridge, as near as it is already will do.
        least = np.full(len(rows), least_m)
        least[rows == at_start] = min(least_m, touching)
        least[rows == at_entry] = min(least_m, self.gap(entry) - _SLACK_M)
        free = (clearances >= least) & (failures < _FAILED_TIMES)
        rows, columns = rows[free].astype(int), columns[free].astype(int)
        lack = np.clip((liked_m - clearances[free]) / (liked_m - least_m), 0.0, 1.0)
        lengths = 1e-6 + np.hypot(*(nodes[rows] - nodes[columns]).T)
        costs = lengths * (1.0 + _NARROW_COST * lack) + _FAILED_COST_M * failures[free]
        cost, previous = dijkstra(
            csr_matrix((costs, (rows, columns)), shape=(len(nodes), len(nodes))),
            directed=False, indices=at_start, return_predecessors=True)
        cost[at_entry:] = math.inf
        if not np.isfinite(cost).any():
            return None
        far = np.hypot(*(nodes - middle).T)
        out = np.isfinite(cost) & (far >= out_m)
        if out.any():
            end = int(np.argmin(np.where(out, cost + (0.0 if worse is None else worse(nodes)),
                                         math.inf)))
        else:
            end = int(np.argmax(np.where(np.isfinite(cost), far, -math.inf)))
        chain = [end]
        while chain[-1] != at_start:
            chain.append(int(previous[chain[-1]]))
        corners = nodes[chain[::-1]]
        # Getting on the diagram leads away from what is nearest, and tells nothing of the way.
        legs = corners[1:] if chain[-2] == at_entry else corners
        narrowest = min(clearance_along(a, b[None], self.points)[0]
                        for a, b in zip(legs[:-1], legs[1:]))
        return Route(corners, float(narrowest), bool(out.any()))
