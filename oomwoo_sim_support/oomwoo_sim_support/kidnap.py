"""Where a robot may be put down: poses drawn at random, each reachable on the floor of a map."""

import math

import numpy as np
from oomwoo_localization.grids import GridError
from scipy import ndimage


class KidnapDraw:
    """Draws poses (x, y, yaw) at which the body stands free, in one part of the floor."""

    def __init__(self, grid, body_radius_m, seed=0, margin_m=0.05):
        """
        Find the floor on which the body can stand with ``margin_m`` to spare.

        Raises :class:`~oomwoo_localization.grids.GridError` when there is none.
        """
        self._grid = grid.check()
        self._rng = np.random.default_rng(seed)
        standable = grid.free & (grid.obstacle_distance > body_radius_m + margin_m)
        self._parts, count = ndimage.label(standable, structure=np.ones((3, 3), dtype=int))
        if not count:
            raise GridError('map: nowhere is there room for the robot')
        self._largest = 1 + int(np.argmax(np.bincount(self._parts.ravel())[1:]))

    def part_of(self, pose):
        """Return the number of the part of the floor that holds a pose, or the largest part's."""
        if pose is None:
            return self._largest
        part = int(self._grid.lookup(self._parts, [pose[:2]], outside=0)[0])
        return part or self._largest

    def draw(self, from_pose=None):
        """
        Return a pose (3,) in the map, reachable from ``from_pose``.

        By default, and where the robot is so close to something that it stands on no part, in the
        largest part.
        """
        cells = np.argwhere(self._parts == self.part_of(from_pose))
        row, column = cells[self._rng.integers(len(cells))] + self._rng.uniform(-0.5, 0.5, 2)
        x, y = self._grid.cells_to_points([[row, column]])[0]
        return np.array([x, y, self._rng.uniform(-math.pi, math.pi)])

    def grid_poses(self, spacing_m, headings=4, from_pose=None):
        """Return poses (N, 3) on a grid over one part of the floor, some at each place."""
        part = self.part_of(from_pose)
        cells = np.argwhere(self._parts == part)
        points = self._grid.cells_to_points(cells)
        low, high = points.min(axis=0), points.max(axis=0)
        axes = [
            np.arange(math.ceil(a / spacing_m), math.floor(b / spacing_m) + 1) * spacing_m
            for a, b in zip(low, high)
        ]
        places = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, 2)
        places = places[self._grid.lookup(self._parts, places, outside=0) == part]
        yaws = np.arange(headings) * 2.0 * math.pi / headings
        return np.array([(x, y, yaw) for x, y in places for yaw in yaws]).reshape(-1, 3)
