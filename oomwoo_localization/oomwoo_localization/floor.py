"""The floor of a map: where a round body gets to from where it stands, what it has covered."""
import math

import numpy as np
from oomwoo_localization.grids import GridError
from scipy import ndimage

# A step longer than this between two poses is a correction of the localizer, not driving.
JUMP_M = 0.5


def reachable_floor(grid, pose, clearance_m, search_m=0.4):
    """
    Return the (rows, columns) mask of cells to which the body centre can drive from ``pose``.

    ``clearance_m`` is what the centre keeps from an obstacle at least. A robot that stands closer
    than that to something, as at a wall or in its dock, starts from the nearest fit cell within
    ``search_m``. Raises GridError when there is none.
    """
    passable = grid.free & (grid.obstacle_distance >= clearance_m)
    labels, _ = ndimage.label(passable)
    start = nearest_cell(grid, passable, pose[:2], search_m)
    if start is None:
        raise GridError(
            f'map: no floor that a robot of this size can drive on within {search_m} m '
            f'of where it stands ({pose[0]:.2f}, {pose[1]:.2f})')
    return labels == labels[tuple(start)]


def nearest_cell(grid, mask, point, search_m):
    """
    Return the (row, column) in ``mask`` nearest to ``point`` (2,), None beyond ``search_m``.

    None, too, for a point that is not finite.
    """
    if not np.isfinite(point).all():
        return None
    centre = grid.points_to_cells(np.array([point]))[0]
    reach = int(np.ceil(search_m / grid.resolution)) + 1
    low = np.maximum(np.rint(centre).astype(int) - reach, 0)
    high = np.minimum(np.rint(centre).astype(int) + reach + 1, grid.shape)
    if (high <= low).any():
        return None
    cells = np.argwhere(mask[low[0]:high[0], low[1]:high[1]]) + low
    if len(cells) == 0:
        return None
    gaps = np.hypot(*(cells - centre).T) * grid.resolution
    best = int(np.argmin(gaps))
    return cells[best] if gaps[best] <= search_m else None


def disc_cells(radius_m, resolution):
    """Return the (N, 2) offsets (row, column) of the cells whose centres are within a radius."""
    reach = int(radius_m / resolution) + 1
    offsets = np.mgrid[-reach:reach + 1, -reach:reach + 1].reshape(2, -1).T
    return offsets[np.hypot(*offsets.T) * resolution <= radius_m]


def between(start, end, spacing_m):
    """Return the points after ``start`` up to ``end``, at most ``spacing_m`` apart."""
    gap = math.hypot(end[0] - start[0], end[1] - start[1])
    count = max(1, math.ceil(gap / spacing_m))
    return [
        (start[0] + (end[0] - start[0]) * i / count, start[1] + (end[1] - start[1]) * i / count)
        for i in range(1, count + 1)]


class FloorCoverage:
    """
    How much of the floor a round body has been over.

    ``reachable`` (rows, columns) is where the body's middle can be, ``floor`` what the body covers
    from there, ``covered`` the part of it that it has been over. Raises GridError when there is no
    floor for the body near ``pose`` (x, y, yaw).
    """

    def __init__(self, grid, pose, radius_m, clearance_m=None):
        """
        Find the floor that a body of ``radius_m`` gets to.

        Its middle keeps ``clearance_m`` from obstacles, by default just the radius.
        """
        self.grid = grid
        self.reachable = reachable_floor(
            grid, pose, radius_m if clearance_m is None else clearance_m)
        self._disc = disc_cells(radius_m, grid.resolution)
        away = ndimage.distance_transform_edt(~self.reachable) * grid.resolution
        self.floor = grid.free & (away <= radius_m)
        self.covered = np.zeros(grid.shape, dtype=bool)
        self.driven_m = 0.0
        self._floor_cells = max(1, int(self.floor.sum()))
        self._covered_cells = 0
        self._last, self._counted = None, False

    def observe(self, pose, counts=True):
        """
        Take in where the body is, (x, y, ...); what it passed since the last call is covered.

        Returns the m^2 newly covered. Without ``counts`` it has only moved there. A jump of more
        than JUMP_M covers nothing on the way; a pose that is not finite is none at all.
        """
        if not np.isfinite(pose[:2]).all():
            return 0.0
        here = (float(pose[0]), float(pose[1]))
        step_m = math.dist(here, self._last) if self._last is not None else math.inf
        jumped = step_m > JUMP_M
        on_from_there, self._counted = self._counted, counts
        if step_m < self.grid.resolution / 4.0 and on_from_there == counts:
            return 0.0
        path = [here]
        if on_from_there and not jumped:
            path = between(self._last, here, self.grid.resolution)
        self._last = here
        if not counts:
            return 0.0
        self.driven_m += 0.0 if jumped or not on_from_there else step_m
        return self._cover(path)

    def _cover(self, path):
        centres = np.rint(self.grid.points_to_cells(np.array(path))).astype(int)
        cells = (self._disc + centres[:, None]).reshape(-1, 2)
        cells = cells[((cells >= 0) & (cells < self.grid.shape)).all(axis=1)]
        new = self.floor[cells[:, 0], cells[:, 1]] & ~self.covered[cells[:, 0], cells[:, 1]]
        flat = np.unique(np.ravel_multi_index(cells[new].T, self.covered.shape))
        self.covered.ravel()[flat] = True
        self._covered_cells += len(flat)
        return len(flat) * self.grid.resolution ** 2

    @property
    def floor_m2(self):
        """Return the area of the floor that can be covered."""
        return self._floor_cells * self.grid.resolution ** 2

    @property
    def covered_m2(self):
        """Return the area that has been covered."""
        return self._covered_cells * self.grid.resolution ** 2

    @property
    def ratio(self):
        """Return the covered share of the floor, 0..1."""
        return self._covered_cells / self._floor_cells
