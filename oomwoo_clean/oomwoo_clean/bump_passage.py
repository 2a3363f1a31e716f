"""Where the body has been, and the grid of that and of what it touched."""
import numpy as np
from oomwoo_localization.grids import FREE, OccupancyGrid, OCCUPIED, UNKNOWN
from scipy import ndimage
from scipy.spatial import cKDTree

_SPACING_M = 0.025


class Passage:
    """Centres of the body in the map, one a cell of a lattice."""

    def __init__(self, centres=()):
        """Begin with centres (M, 2)."""
        self._cells = {}
        self._tree = None
        for xy in np.asarray(centres, dtype=float).reshape(-1, 2):
            self.visit(xy)

    def __len__(self):
        """Return the number of centres."""
        return len(self._cells)

    def visit(self, xy):
        """Add a centre (2,); return whether it is new."""
        key = tuple(np.floor(np.asarray(xy) / _SPACING_M).astype(int).tolist())
        if key in self._cells:
            return False
        self._cells[key] = np.array(xy, dtype=float)
        self._tree = None
        return True

    def centres(self):
        """Return (M, 2) map points, in the order of their first visit."""
        return np.array(list(self._cells.values())).reshape(-1, 2)

    def within(self, points, distance):
        """Return (N,) whether the body's centre has been that near to points (N, 2)."""
        if not self._cells:
            return np.zeros(len(points), dtype=bool)
        if self._tree is None:
            self._tree = cKDTree(self.centres())
        return self._tree.query(points)[0] < distance

    def forget_near(self, xy, distance):
        """Forget the centres within a distance of a point: something stands there now."""
        keys = [key for key, at in self._cells.items()
                if abs(at[0] - xy[0]) < distance and np.hypot(*(at - xy)) < distance]
        for key in keys:
            del self._cells[key]
        if keys:
            self._tree = None

    def cells(self, grid, radius):
        """Return the mask of a grid's cells that a body of that radius has been over."""
        on = np.rint(grid.points_to_cells(self.centres())).astype(int)
        on = on[((on >= 0) & (on < grid.shape)).all(axis=1)]
        away = np.ones(grid.shape, dtype=bool)
        away[on[:, 0], on[:, 1]] = False
        if away.all():
            return ~away
        return ndimage.distance_transform_edt(away) * grid.resolution <= radius


def touch_grid(reference, passage, body_radius, points, walls, contact_radius):
    """
    Return an OccupancyGrid on the cells of ``reference``.

    Solid within the contact radius of touched ``points`` (N, 2) and of walls, free where the body
    has been, else unknown.
    """
    cells = np.full(reference.shape, UNKNOWN, dtype=np.int8)
    cells[passage.cells(reference, body_radius)] = FREE
    points = [points]
    for wall in walls:
        share = np.linspace(0.0, 1.0, 2 + int(2.0 * wall.length_m / reference.resolution))
        points.append(wall.start + share[:, None] * (wall.end - wall.start))
    cells[_cells_around(reference, np.concatenate(points), contact_radius)] = OCCUPIED
    return OccupancyGrid(cells, reference.resolution, reference.origin)


def _cells_around(grid, points, radius):
    """Return (rows, columns) of the cells that hold a point (N, 2) or lie within the radius."""
    reach = int(np.ceil(radius / grid.resolution)) + 1
    window = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * 2), axis=-1).reshape(-1, 2)
    at = grid.points_to_cells(points)
    cells = np.rint(at).astype(int)[:, None] + window
    near = np.hypot(*np.moveaxis(cells - at[:, None], -1, 0)) * grid.resolution <= radius
    near[:, (window == 0).all(axis=1)] = True
    cells = cells[near & ((cells >= 0) & (cells < grid.shape)).all(axis=-1)]
    return cells[:, 0], cells[:, 1]
