"""What the edge manager asks of a map: its name, its floor, and the map with what was touched."""
from dataclasses import replace
import hashlib

import numpy as np
from oomwoo_localization.grids import OCCUPIED
from scipy import ndimage


def felt_points(grid):
    """
    Return (N, 2) the map points that a bump map calls solid, without the width it gives them.

    Those are its cells with no open neighbour, and all of what is too thin to have any.
    """
    inner = ndimage.binary_erosion(grid.obstacles)
    labels, count = ndimage.label(grid.obstacles, np.ones((3, 3)))
    if count == 0:
        return np.zeros((0, 2))
    thick = ndimage.maximum(inner, labels, np.arange(1, count + 1)).astype(bool)
    thin = grid.obstacles & ~np.append(False, thick)[labels]
    return grid.cells_to_points(np.argwhere(inner | thin))


def map_hash(grid):
    """Return a short name of a map's contents: cells, resolution and origin."""
    digest = hashlib.sha256(np.ascontiguousarray(grid.cells).tobytes())
    frame = (grid.shape, round(grid.resolution, 6), [round(v, 6) for v in grid.origin])
    digest.update(repr(frame).encode())
    return digest.hexdigest()[:16]


def with_touched(grid, points):
    """Return the map with the cells of points (N, 2) occupied."""
    if len(points) == 0:
        return grid
    cells = grid.cells.copy()
    rows, columns = np.rint(grid.points_to_cells(points)).astype(int).T
    cells[rows, columns] = OCCUPIED
    return replace(grid, cells=cells)


def without_islets(floor, cells):
    """Return the floor without connected parts of fewer cells, but for the largest part."""
    labels, count = ndimage.label(floor)
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    sizes[0] = 0
    return (sizes >= min(cells, sizes.max()))[labels] & floor


def floor_of(grid, reachable):
    """Return the free floor of the room that the robot is in, up to the walls."""
    labels, _ = ndimage.label(grid.free)
    return np.isin(labels, np.unique(labels[reachable]))
