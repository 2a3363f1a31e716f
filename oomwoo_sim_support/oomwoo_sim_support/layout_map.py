"""The occupancy map of a layout, cut at the height of the scan plane."""
import math

import numpy as np
from oomwoo_localization.grids import FREE, OccupancyGrid, OCCUPIED, UNKNOWN
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import LayoutError, primitives
from oomwoo_sim_support.layout_fields import polygon_holds
from scipy import ndimage

MARGIN_CELLS = 10
MOST_CELLS = 40_000_000


def layout_grid(layout, resolution=0.025, height_m=None):
    """
    Return the :class:`OccupancyGrid` that a perfect mapping run would give.

    ``height_m`` is the height of the cut, by default that of the robot's LiDAR; soft things count,
    since the LiDAR sees them. A cell is occupied when its centre lies in something; what is
    thinner than a cell is drawn one cell wide. Free is the floor that is connected to the start;
    the rest is unknown. Raises :class:`LayoutError` for a resolution that is no length or would
    need too many cells.
    """
    if not (isinstance(resolution, (int, float)) and math.isfinite(resolution) and resolution > 0):
        raise LayoutError(
            f'{layout.name}: resolution must be greater than zero, got {resolution!r}')
    height_m = load_robot().lidar.z if height_m is None else height_m
    low = np.floor(layout.floor.min(axis=0) / resolution).astype(int) - MARGIN_CELLS
    high = np.ceil(layout.floor.max(axis=0) / resolution).astype(int) + MARGIN_CELLS
    columns, rows = (high - low).tolist()
    if rows * columns > MOST_CELLS:
        raise LayoutError(
            f'{layout.name}: {rows} x {columns} cells of {resolution} m are too many')
    origin = (*(low * resolution).tolist(), 0.0)
    empty = OccupancyGrid(
        np.full((rows, columns), UNKNOWN, dtype=np.int8), float(resolution), origin)
    occupied = np.zeros((rows, columns), dtype=bool)
    for part in primitives(layout):
        if part.crosses(height_m, height_m):
            _draw(empty, part, occupied)
    centres = empty.cells_to_points(np.argwhere(np.ones((rows, columns), dtype=bool)))
    inside = polygon_holds(layout.floor, centres).reshape(rows, columns)
    cells = empty.cells.copy()
    cells[_connected(inside & ~occupied, empty, layout.start)] = FREE
    cells[occupied] = OCCUPIED
    return OccupancyGrid(cells, float(resolution), origin)


def _draw(grid, part, occupied):
    """Mark the cells of one primitive, looking only at those around it."""
    thinnest = grid.resolution * (math.sqrt(0.5) if part.kind == 'cylinder' else 0.5)
    extra = max(0.0, thinnest - min(part.half_x, part.half_y)) + 1e-9
    corners = grid.points_to_cells(part.corners())
    reach = extra / grid.resolution + 1.0
    first = np.maximum(np.floor(corners.min(axis=0) - reach).astype(int), 0)
    last = np.minimum(np.ceil(corners.max(axis=0) + reach).astype(int) + 1, grid.shape)
    if (last <= first).any():
        return
    block = np.argwhere(np.ones(last - first, dtype=bool)) + first
    drawn = part.signed_distance(grid.cells_to_points(block)) <= extra
    occupied[tuple(block[drawn].T)] = True


def _connected(free, grid, start):
    """Return the part of ``free`` connected to the start; all of it when the start is hidden."""
    labels, _ = ndimage.label(free)
    label = grid.lookup(labels, [start[:2]], outside=0)[0]
    return labels == label if label else free
