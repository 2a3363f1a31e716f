"""
What the map says to a scan.

A likelihood field to search on, distances to refine on, walls to cross.

Coordinates here are the grid's own: metres from its lower left corner, along its rows and columns.
"""

from dataclasses import dataclass
from functools import cached_property
import math

import numpy as np
from scipy import ndimage

FULL_SCORE = 100  # of one beam on a wall; a sum of 600 still fits a 16 bit lane
_NEGLIGIBLE = 0.05  # of a full score
CLEAR_M = 0.12  # from every obstacle: a beam this far behind a wall has passed through it
CLEAR, WALL = 1, 2


@dataclass(frozen=True)
class MapFields:
    """
    Fields of an :class:`~oomwoo_localization.grids.OccupancyGrid`, each computed once.

    ``sigma_m`` is the spread of the likelihood field (Thrun, Burgard and Fox, 2005, section 6.4);
    ``search_resolution_m`` the finest cell that the search looks at: a finer map is searched in
    blocks of whole cells.
    """

    grid: object
    sigma_m: float = 0.07
    search_resolution_m: float = 0.05

    @cached_property
    def block(self):
        """Return how many cells of the map lie along the side of a search cell."""
        return max(1, int(self.search_resolution_m / self.grid.resolution + 1e-6))

    @property
    def search_resolution(self):
        """Return the side of a search cell, metres."""
        return self.block * self.grid.resolution

    @cached_property
    def signed_distance(self):
        """
        Return (rows, columns) metres to the nearest drawn surface, negative behind it.

        Behind it is what is farther from known free floor than from an obstacle, so that a wall
        one cell thick has one face and not two: a scan that shows walls on one side only would fit
        either. Infinite without obstacles.
        """
        if not self.grid.obstacles.any():
            return np.full(self.grid.shape, np.inf)
        to_wall = np.where(
            self.grid.obstacles, 0.0, self.grid.obstacle_distance / self.grid.resolution + 0.5
        )
        to_floor = ndimage.distance_transform_edt(~self.grid.free)
        return self.grid.resolution * np.where(to_floor > to_wall, 0.5 - to_floor, to_wall - 0.5)

    @cached_property
    def scores(self):
        """
        Return the likelihood field on the search lattice.

        (rows, columns) uint8, 0 .. FULL_SCORE: full on a drawn surface and for a cell behind it.
        In the depth of a solid block no beam ends, and nothing is to be scored.
        """
        spread = math.hypot(self.sigma_m, self.search_resolution / 2)
        behind = np.maximum(-self.signed_distance - self.grid.resolution, 0.0)
        off = np.where(self.signed_distance > 0, self.signed_distance, behind)
        likelihood = np.exp(-0.5 * (off / spread) ** 2)
        likelihood[likelihood < _NEGLIGIBLE] = 0.0
        return np.rint(self._blocks(likelihood, 0.0).mean(axis=(1, 3)) * FULL_SCORE).astype(
            np.uint8
        )

    @cached_property
    def passage(self):
        """
        Return (rows + 2, columns + 2) uint8.

        What of the search lattice is a WALL, and what CLEAR of it.
        """
        wall = self._blocks(self.grid.obstacles, False).any(axis=(1, 3))
        gap = self._blocks(self.grid.obstacle_distance, np.inf).min(axis=(1, 3))
        result = np.zeros(wall.shape, dtype=np.uint8)
        result[gap >= CLEAR_M] = CLEAR
        result[wall] = WALL
        return np.pad(result, 1)

    def prepare(self):
        """Compute now what the first search would have to wait for."""
        return self.signed_distance, self.passage, self.fine.passage

    @cached_property
    def fine(self):
        """Return the fields on a lattice of the map's own cells."""
        if self.block == 1:
            return self
        return MapFields(self.grid, self.sigma_m, self.grid.resolution)

    @cached_property
    def floor(self):
        """
        Return the (rows, columns) mask of search cells with known free floor.

        One more all around.
        """
        return ndimage.binary_dilation(self._blocks(self.grid.free, False).any(axis=(1, 3)))

    @cached_property
    def standable(self):
        """
        Return the (rows, columns) mask of search cells where the scanner may be.

        That is the floor, and what floor and walls enclose: where furniture is drawn, in the room
        or against its wall, the robot can stand when that has been taken away.
        """
        wall = self._blocks(self.grid.obstacles, False).any(axis=(1, 3))
        return ndimage.binary_fill_holes(self.floor | wall)

    def _blocks(self, field, fill):
        rows, columns = field.shape
        b = self.block
        padded = np.pad(field, ((0, -rows % b), (0, -columns % b)), constant_values=fill)
        return padded.reshape(-(-rows // b), b, -(-columns // b), b)


class Rays:
    """
    Beams as points in a row.

    To see which of them would have to pass through a wall of the map.
    """

    def __init__(self, fields, ends):
        """
        Take beams by their ``ends`` (beams, 2), metres around the scanner.

        A point each search cell.
        """
        self._fields = fields
        lengths = np.hypot(*ends.T)
        counts = np.maximum(1, (lengths / fields.search_resolution).astype(int))
        self._starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        number = np.arange(counts.sum()) - np.repeat(self._starts, counts)
        along = number * fields.search_resolution / np.repeat(lengths, counts)
        self._points = (np.repeat(ends, counts, axis=0) * along[:, None]).astype(np.float32)

    def crossed(self, x, y, yaw):
        """
        Return the (poses, beams) mask of beams through walls.

        ``x``, ``y`` and ``yaw`` (poses,) are of the scanner, in grid coordinates. A beam counts
        when it enters an obstacle and comes out again, well away from every obstacle, before its
        end: one that only grazes the wall on which it ends does not.
        """
        field = self._fields.passage
        rows, columns = field.shape
        scale = 1.0 / self._fields.search_resolution
        cos, sin = ((f(yaw) * scale).astype(np.float32)[:, None] for f in (np.cos, np.sin))
        px, py = self._points.T
        # The border of the field is one cell of nothing, in which all ends up that is off the map.
        column = cos * px - sin * py + (x * scale + 1).astype(np.float32)[:, None]
        row = sin * px + cos * py + (y * scale + 1).astype(np.float32)[:, None]
        np.clip(column, 0, columns - 1, out=column)
        np.clip(row, 0, rows - 1, out=row)
        index = row.astype(np.intp)
        index *= columns
        index += column.astype(np.intp)
        seen = field.ravel().take(index)
        number = np.arange(len(px), dtype=np.int32)
        entered = np.where(seen == WALL, number, np.int32(len(px)))
        clear = np.where(seen == CLEAR, number, np.int32(-1))
        return np.minimum.reduceat(entered, self._starts, axis=1) < np.maximum.reduceat(
            clear, self._starts, axis=1
        )
