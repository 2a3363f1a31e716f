"""
The floor as the LiDAR sees it, and straight ways across it.

A docking robot may have no map: a grid in the odometry frame, filled by its own scans, says where
the floor is free, where something stands, and what has not been seen.
"""
from collections import deque
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import transform_points
from oomwoo_localization.grids import floor_distances, OccupancyGrid
from oomwoo_localization.settings import setting
from scipy import ndimage

_LINE_STEP_M = 0.02
_SEALED_CELLS = 1             # gaps of unseen floor between two beams, closed by this many cells
_FREE_EVERY = 3               # scans, of which one marks free floor: it costs more than the rest
_ESCAPE_M = 0.30              # near its start a way may be as tight as the start itself


@dataclass(frozen=True)
class PathSettings:
    """Settings of :class:`SeenFloor`."""

    cell_m: float = setting(0.03, 'cell of the grid', 'm', 0.01, 0.1, live=False)
    reach_m: float = setting(
        4.0, 'half the side of the grid around where the docking began', 'm', 1.0, 12.0,
        live=False)
    scans_kept: int = setting(
        10, 'obstacles are what the last scans saw', '', 2, 100, live=False)
    margin_m: float = setting(0.06, 'room beside the body that a way should have', 'm', 0.0, 0.3)
    least_margin_m: float = setting(
        0.012, 'room beside the body without which there is no way', 'm', 0.0, 0.3)


@dataclass(frozen=True)
class Way:
    """
    A way across the floor.

    ``points`` (N, 2) in odom, without the start, straight from one to the next; ``margin_m`` is
    the room beside the body that it was planned with; ``length_m`` from the start to the last.
    """

    points: np.ndarray
    margin_m: float
    length_m: float


class SeenFloor:
    """Free floor and obstacles around the robot; everything in the odometry frame, metres."""

    def __init__(self, body_radius_m, settings=None):
        """Begin with nothing seen."""
        self._radius = body_radius_m
        self.settings = settings or PathSettings()
        self._grid = None
        self._scans = deque(maxlen=self.settings.scans_kept)
        self._marks = []
        self._skipped = _FREE_EVERY

    def see(self, odom, scanner, points):
        """
        Take in a scan.

        ``odom`` (3,) is the robot's pose; ``scanner`` (2,) and ``points`` (N, 2) in the base
        frame.
        """
        if self._grid is None:
            self._begin(odom)
        ends = transform_points(odom, points)
        self._scans.append(ends)
        self._skipped += 1
        if self._skipped < _FREE_EVERY:
            return
        self._skipped = 0
        eye = transform_points(odom, [scanner])[0]
        away = ends - eye
        length = np.hypot(*away.T)
        cell = self.settings.cell_m
        reach = np.minimum(length - cell, self.settings.reach_m)
        steps = np.arange(0.0, self.settings.reach_m, 0.8 * cell)
        along = steps[None, :] / np.maximum(length, 1e-6)[:, None]
        inside = steps[None, :] < reach[:, None]
        beam, step = np.nonzero(inside)
        self._mark_free(eye + away[beam] * along[beam, step][:, None])
        # Under the body, where no beam goes, the floor is free: the robot stands on it.
        self._mark_free(np.asarray(odom[:2]) + self._footprint)

    def bumped(self, point):
        """Remember an obstacle that was felt at ``point`` (2,) in odom and that no scan shows."""
        self._marks.append(np.asarray(point, dtype=float))

    def occupied(self, more=None):
        """
        Return the (rows, columns) mask of cells in which at least two of the scans saw something.

        ``more`` (N, 2) are points that count as well.
        """
        grid = self._grid
        count = np.zeros(grid.shape, dtype=np.int16)
        for ends in self._scans:
            cells, _ = self._cells(ends)
            hit = np.zeros(grid.shape, dtype=bool)
            hit[cells[:, 0], cells[:, 1]] = True
            count += hit
        found = count >= min(2, len(self._scans))
        for extra in (np.reshape(self._marks, (-1, 2)), more):
            if extra is not None and len(extra):
                cells, _ = self._cells(extra)
                found[cells[:, 0], cells[:, 1]] = True
        return found

    def plan(self, start, goal, solid=None, seen_only=True):
        """
        Return the widest-margined :class:`Way` from ``start`` to ``goal``, or None.

        Both (2,) in odom; ``solid`` (N, 2) are outlines that are known to be there, the dock's.
        Prefers ``margin_m`` of room and makes do with less, down to ``least_margin_m``; with
        ``seen_only`` no way leads over floor that was never seen.
        """
        clearance = self._clearance(solid)
        for margin in self._margins():
            way = self._plan(np.asarray(start), np.asarray(goal), clearance, margin, seen_only)
            if way is not None:
                return way
        return None

    def reachable(self, start, solid=None):
        """
        Return ``(distance, clearance)``: (rows, columns) metres along seen floor, and of room.

        The distance is infinite where the robot cannot get to.
        """
        clearance = self._clearance(solid)
        passable = self._passable(clearance, self.settings.least_margin_m, start, True)
        cells, inside = self._cells([start])
        if not inside[0]:
            return np.full(self._grid.shape, np.inf), clearance
        return floor_distances(passable, self._grid.resolution, cells), clearance

    @property
    def grid(self):
        """Return the :class:`OccupancyGrid` that gives the cells their place; its cells are 0."""
        return self._grid

    # -- cells ------------------------------------------------------------------------------

    def _begin(self, odom):
        settings = self.settings
        side = 2 * math.ceil(settings.reach_m / settings.cell_m)
        corner = np.asarray(odom[:2]) - side * settings.cell_m / 2
        self._grid = OccupancyGrid(
            np.zeros((side, side), dtype=np.int8), settings.cell_m, (*corner.tolist(), 0.0))
        self._free = np.zeros((side, side), dtype=bool)
        spread = np.arange(-self._radius, self._radius + 1e-9, settings.cell_m / 2)
        disc = np.stack(np.meshgrid(spread, spread), axis=-1).reshape(-1, 2)
        self._footprint = disc[np.hypot(*disc.T) <= self._radius]

    def _cells(self, points):
        """Return the (K, 2) cells of the points inside the grid, and the (N,) mask of those."""
        cells = np.rint(self._grid.points_to_cells(np.asarray(points, dtype=float))).astype(int)
        inside = ((cells >= 0) & (cells < self._grid.shape)).all(axis=1)
        return cells[inside], inside

    def _mark_free(self, points):
        cells, _ = self._cells(points)
        self._free[cells[:, 0], cells[:, 1]] = True

    def _clearance(self, solid):
        """Return (rows, columns) the room that a body's shell has with its middle in the cell."""
        occupied = self.occupied(solid)
        if not occupied.any():
            return np.full(self._grid.shape, np.inf)
        cells = ndimage.distance_transform_edt(~occupied)
        return cells * self._grid.resolution - self._radius

    def _passable(self, clearance, margin, start, seen_only):
        passable = clearance >= margin
        if seen_only:
            seen = ndimage.binary_closing(self._free, iterations=_SEALED_CELLS)
            passable &= seen | self._free
        cells, inside = self._cells([start])
        if inside[0]:
            here = float(clearance[tuple(cells[0])])
            if here < margin:
                rows, columns = np.indices(clearance.shape)
                near = np.hypot(rows - cells[0][0], columns - cells[0][1])
                near = near * self._grid.resolution < _ESCAPE_M
                passable |= near & (clearance >= here - 1e-9)
        return passable

    # -- ways -------------------------------------------------------------------------------

    def _margins(self):
        most, least = self.settings.margin_m, self.settings.least_margin_m
        return sorted({most, max(least, most / 2), least}, reverse=True)

    def _plan(self, start, goal, clearance, margin, seen_only):
        passable = self._passable(clearance, margin, start, seen_only)
        ends, inside = self._cells([start, goal])
        if not inside.all() or not passable[ends[:, 0], ends[:, 1]].all():
            return None
        # Asked before the distances, which cost a hundred times more.
        parts, _ = ndimage.label(passable)
        if parts[tuple(ends[0])] != parts[tuple(ends[1])]:
            return None
        _, previous = floor_distances(
            parts == parts[tuple(ends[0])], self._grid.resolution, ends[1:], predecessors=True)
        flat = int(np.ravel_multi_index(tuple(ends[0]), clearance.shape))
        trail = [flat]
        before = previous.ravel()
        while before[trail[-1]] >= 0:
            trail.append(int(before[trail[-1]]))
        cells = np.stack(np.unravel_index(trail, clearance.shape), axis=1)
        points = self._grid.cells_to_points(cells)
        points[0], points[-1] = start, goal
        points = self._straighten(points, passable)
        length = float(np.hypot(*np.diff(points, axis=0).T).sum())
        return Way(points[1:], margin, length)

    def _straighten(self, points, passable):
        """Return the corners of the trail that a body driving straight ahead must turn at."""
        corners, here = [points[0]], 0
        while here < len(points) - 1:
            reach = here + 1
            for there in range(len(points) - 1, here, -1):
                if self._clear_line(points[here], points[there], passable):
                    reach = there
                    break
            corners.append(points[reach])
            here = reach
        return np.array(corners)

    def _clear_line(self, a, b, passable):
        count = max(2, math.ceil(math.dist(a, b) / _LINE_STEP_M))
        line = a + np.linspace(0.0, 1.0, count)[:, None] * (b - a)
        cells, inside = self._cells(line)
        return bool(inside.all() and passable[cells[:, 0], cells[:, 1]].all())
