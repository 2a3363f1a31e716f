"""
The edges of a map: rings on which the body centre keeps the standoff from any obstacle.

A ring is a level set of the obstacle distance, cut below cell resolution (marching squares,
Lorensen and Cline, 1987, in the plane), and holds only what the robot can reach from where it
stands. Into a gap that is too narrow for two standoffs it goes along the middle, and along the
middle it comes out again, once for each side of the gap.
"""
from dataclasses import dataclass

import contourpy
import numpy as np
from oomwoo_clean.edge_gaps import band_field, medial_cells
from scipy import ndimage

NONE = -1
MOUTH_M = 0.10                # less far into a narrow gap a robot is at its mouth
_LEVEL_CELLS = 0.25           # a spot on the level set is this near to it


@dataclass(frozen=True)
class Rings:
    """
    All rings as spots in driving order, ring after ring.

    ``points`` (N, 2) metres in the map frame; ``yaw`` (N,) driving direction there, radians;
    ``length`` (N,) metres of edge that a spot stands for; ``ring`` (N,) number of its ring;
    ``after`` and ``before`` (N,) the next and previous spot in driving order, -1 at an end;
    ``closed`` (R,) tells the full circles; ``narrow`` (N,) the spots in the middle of a gap that
    is narrower than two standoffs.
    """

    points: np.ndarray
    yaw: np.ndarray
    length: np.ndarray
    ring: np.ndarray
    after: np.ndarray
    before: np.ndarray
    closed: np.ndarray
    narrow: np.ndarray

    def walk(self, spot, distance_m):
        """Return the spot ``distance_m`` along the ring, against the driving direction if < 0."""
        step = self.after if distance_m >= 0 else self.before
        left = abs(distance_m)
        while left > 0 and step[spot] != NONE:
            left -= self.length[spot]
            spot = step[spot]
        return int(spot)

    def out_of_gap(self, spot):
        """Return the spot, or the last one before it on the ring that is not in a narrow gap."""
        here = spot
        while self.narrow[here] and self.before[here] not in (NONE, spot):
            here = self.before[here]
        return int(spot if self.narrow[here] else here)

    def in_gap(self, spot):
        """Tell whether a spot lies in a narrow gap, farther in than at its mouth."""
        return bool(self.narrow[self.walk(spot, -MOUTH_M)])

    def between_m(self, start, end):
        """Return the metres from spot ``start`` on to ``end``, once round if that is not ahead."""
        here, length = start, 0.0
        while here != end and self.after[here] not in (NONE, start):
            length += self.length[here]
            here = self.after[here]
        return float(length)

    def ahead(self, spot, distance_m):
        """Return the spots from ``spot`` on over ``distance_m`` in driving order, each once."""
        found = [spot]
        left = distance_m - self.length[spot]
        while left > 0 and self.after[found[-1]] not in (NONE, spot):
            found.append(int(self.after[found[-1]]))
            left -= self.length[found[-1]]
        return np.array(found)

    def runs(self, mask):
        """
        Return the longest runs of spots in ``mask`` (N,), each an array of spots in driving order.

        A run crosses the seam of a closed ring; a ring that is in the mask as a whole is one run.
        """
        found = []
        starts = np.flatnonzero(mask & ~_at(mask, self.before))
        for start in starts:
            found.append(self._run_from(start, mask))
        whole = np.bincount(self.ring, ~mask, len(self.closed)) == 0
        for ring in np.flatnonzero(whole & self.closed):
            found.append(np.flatnonzero(self.ring == ring))
        return found

    def _run_from(self, start, mask):
        members = np.flatnonzero(self.ring == self.ring[start])
        inside = np.roll(mask[members], members[0] - start)
        order = np.roll(members, members[0] - start)
        stop = np.flatnonzero(~inside)
        stop = stop[0] if len(stop) else len(order)
        cut = np.flatnonzero(self.after[order[:stop]] == NONE)
        return order[:cut[0] + 1 if len(cut) else stop]


def _at(mask, index):
    """Return ``mask[index]`` with False where the index is -1."""
    return np.where(index == NONE, False, mask[index])


def extract_rings(grid, reachable, standoff_m, spacing_m=0.02, side='right'):
    """
    Return the :class:`Rings` at ``standoff_m`` from any obstacle on the ``reachable`` floor.

    ``side`` is where the obstacle is while driving. Spots are about ``spacing_m`` apart. Each side
    of a gap that the body fits into has spots of its own, next to each other in its middle.
    """
    distance = grid.obstacle_distance
    if not (np.isfinite(distance).all() and min(grid.shape) >= 2):
        return _join([])
    band = band_field(grid, medial_cells(grid, reachable, standoff_m))
    field = np.maximum(distance - standoff_m, band)
    drivable = reachable | (band > -grid.resolution)
    pieces = []
    for line in contourpy.contour_generator(z=field, name='serial').lines(0.0):
        for points, yaw, step, closed in _pieces(grid, line, drivable, spacing_m, side):
            cells = grid.points_to_cells(points).T
            here = ndimage.map_coordinates(distance, cells, order=1, mode='nearest')
            narrow = here < standoff_m - _LEVEL_CELLS * grid.resolution
            pieces.append((points, yaw, step, closed, narrow))
    return _join(pieces)


def _pieces(grid, line, drivable, spacing_m, side):
    """Return the drivable parts of one contour as (points, yaw, step length, closed)."""
    closed = len(line) > 3 and np.array_equal(line[0], line[-1])
    points, yaw, step = _resample(grid.cells_to_points(line[:, ::-1]), closed, spacing_m)
    if side == 'left':                  # contour lines have the higher values on their left
        points, yaw = points[::-1], yaw[::-1] + np.pi
    keep = grid.lookup(drivable, points, outside=False).astype(bool)
    if keep.all():
        return [(points, yaw, step, closed)]
    if closed and keep.any():
        seam = -int(np.flatnonzero(~keep)[0])
        points, yaw, keep = np.roll(points, seam, 0), np.roll(yaw, seam), np.roll(keep, seam)
    labels, count = ndimage.label(keep)
    return [(points[labels == i], yaw[labels == i], step, False) for i in range(1, count + 1)]


def _resample(line, closed, spacing_m):
    """Return evenly spaced points (M, 2), directions (M,) and the step along a polyline."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    count = max(int(round(along[-1] / spacing_m)), 3)
    step = along[-1] / count
    at = (np.arange(count) + 0.5) * step
    points = np.stack([np.interp(at, along, line[:, i]) for i in (0, 1)], axis=1)
    if closed:
        chord = np.roll(points, -1, 0) - np.roll(points, 1, 0)
    else:
        chord = np.gradient(points, axis=0)
    return points, np.arctan2(chord[:, 1], chord[:, 0]), step


def _join(pieces):
    counts = [len(points) for points, *_ in pieces]
    if not counts:
        none = np.zeros(0)
        index = np.zeros(0, dtype=int)
        flags = np.zeros(0, dtype=bool)
        return Rings(np.zeros((0, 2)), none, none, index, index, index, flags, flags)
    after, before = [], []
    first = 0
    for (*_, closed, _), count in zip(pieces, counts):
        here = np.arange(first, first + count)
        ends = (here[0], here[-1]) if closed else (NONE, NONE)
        after.append(np.append(here[1:], ends[0]))
        before.append(np.append(ends[1], here[:-1]))
        first += count
    return Rings(
        points=np.concatenate([p for p, *_ in pieces]),
        yaw=np.concatenate([yaw for _, yaw, *_ in pieces]),
        length=np.repeat([step for _, _, step, *_ in pieces], counts),
        ring=np.repeat(np.arange(len(pieces)), counts),
        after=np.concatenate(after), before=np.concatenate(before),
        closed=np.array([closed for *_, closed, _ in pieces]),
        narrow=np.concatenate([narrow for *_, narrow in pieces]))
