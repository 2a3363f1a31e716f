"""
Occupancy grids: Nav2's map files, coordinates, distances to obstacles and along the floor.

A grid's array is indexed ``[row, column]``; row 0 is at the origin (the lower edge), as in
nav_msgs/OccupancyGrid.
"""
from dataclasses import dataclass
from functools import cached_property
import math
from pathlib import Path

import numpy as np
from oomwoo_localization.frames import inverse, transform_points
from PIL import Image
from scipy import ndimage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra
import yaml

UNKNOWN = -1
FREE = 0
OCCUPIED = 100
LETHAL_AT = 65                # occupancy, percent, from which a cell is an obstacle


class GridError(ValueError):
    """A map that cannot be used; the message names the file and the field."""


@dataclass(frozen=True)
class OccupancyGrid:
    """
    A map: ``cells`` (rows, columns) int8, -1 unknown, 0 free .. 100 occupied.

    ``resolution`` in metres a cell; ``origin`` is the plane pose ``(x, y, yaw)`` of the lower left
    corner of cell (0, 0) in the map frame.
    """

    cells: np.ndarray
    resolution: float
    origin: tuple = (0.0, 0.0, 0.0)

    def check(self, name='map'):
        """Raise :class:`GridError` when there is nothing to work with; return the grid itself."""
        if self.cells.ndim != 2 or self.cells.size == 0:
            raise GridError(f'{name}: is empty ({self.cells.shape} cells)')
        if not (math.isfinite(self.resolution) and self.resolution > 0):
            raise GridError(f'{name}: resolution must be greater than zero, got {self.resolution}')
        if not all(map(math.isfinite, self.origin)):
            raise GridError(f'{name}: origin is {self.origin}')
        if not (self.cells >= 0).any():
            raise GridError(f'{name}: every cell is unknown')
        return self

    @property
    def shape(self):
        """Return (rows, columns)."""
        return self.cells.shape

    @cached_property
    def obstacles(self):
        """Return the (rows, columns) mask of occupied cells."""
        return self.cells >= LETHAL_AT

    @cached_property
    def free(self):
        """Return the (rows, columns) mask of cells known to be free."""
        return (self.cells >= 0) & (self.cells < LETHAL_AT)

    @cached_property
    def obstacle_distance(self):
        """
        Return (rows, columns) metres from each cell's centre to the edge of the nearest obstacle.

        Half a cell is taken off the distance between centres, so that the value is that to the
        drawn surface and not to the middle of its first cell. Infinite when there is no obstacle.
        """
        if not self.obstacles.any():
            return np.full(self.shape, np.inf)
        cells = ndimage.distance_transform_edt(~self.obstacles)
        return np.maximum(cells - 0.5, 0.0) * self.resolution

    def points_to_cells(self, points):
        """Return (N, 2) fractional (row, column) of map points (N, 2); integers are centres."""
        local = transform_points(inverse(self.origin), points) / self.resolution - 0.5
        return local[:, ::-1]

    def cells_to_points(self, cells):
        """Return the (N, 2) map points of (row, column) cells (N, 2), centres at integers."""
        local = (np.asarray(cells, dtype=float)[:, ::-1] + 0.5) * self.resolution
        return transform_points(self.origin, local)

    def lookup(self, field, points, outside=np.nan):
        """Return (N,) values of a (rows, columns) ``field`` at the cells that hold the points."""
        rc = np.rint(self.points_to_cells(points)).astype(int)
        rows, columns = self.shape
        inside = (rc[:, 0] >= 0) & (rc[:, 0] < rows) & (rc[:, 1] >= 0) & (rc[:, 1] < columns)
        values = np.full(len(rc), outside, dtype=np.result_type(field.dtype, type(outside)))
        values[inside] = field[rc[inside, 0], rc[inside, 1]]
        return values


def floor_distances(passable, resolution, start_cells, predecessors=False):
    """
    Return the distance along the floor from the nearest of the start cells to every cell.

    ``passable`` (rows, columns) mask; ``start_cells`` (K, 2) integer (row, column).
    Eight-connected Dijkstra (1959), metres; no diagonal step squeezes between two blocked cells.
    Returns (rows, columns), infinite where not to be reached; with ``predecessors`` also the flat
    index of the previous cell (negative at a start and where not reached).
    """
    rows, columns = passable.shape
    starts = np.unique(np.ravel_multi_index(np.asarray(start_cells).T, passable.shape))
    starts = starts[passable.ravel()[starts]]
    if len(starts) == 0:
        nowhere = np.full(passable.shape, np.inf)
        return (nowhere, np.full(passable.shape, -1)) if predecessors else nowhere
    graph = _floor_graph(passable, resolution)
    found = dijkstra(
        graph, directed=False, indices=starts, min_only=True, return_predecessors=predecessors)
    if not predecessors:
        return found.reshape(rows, columns)
    distance, previous, _ = found
    return distance.reshape(rows, columns), previous.reshape(rows, columns)


def _floor_graph(passable, resolution):
    index = np.arange(passable.size).reshape(passable.shape)
    sources, targets, lengths = [], [], []
    for d_row, d_column in ((0, 1), (1, 0), (1, 1), (1, -1)):
        here = _window(index, 0, d_row, d_column)
        there = _window(index, 1, d_row, d_column)
        open_ = passable.ravel()[here] & passable.ravel()[there]
        if d_row and d_column:
            beside = passable.ravel()[here + d_column] & passable.ravel()[there - d_column]
            open_ &= beside
        sources.append(here[open_])
        targets.append(there[open_])
        lengths.append(np.full(len(sources[-1]), math.hypot(d_row, d_column) * resolution))
    links = (np.concatenate(lengths), (np.concatenate(sources), np.concatenate(targets)))
    return coo_matrix(links, shape=(passable.size, passable.size)).tocsr()


def _window(index, which, d_row, d_column):
    """Return the part of ``index`` with a neighbour at the offset (0), or that neighbour (1)."""
    rows, columns = index.shape
    r0 = d_row * which
    left, right = max(0, -d_column), columns - max(0, d_column)
    c0 = d_column * which
    return index[r0:rows - d_row + r0, left + c0:right + c0].ravel()


def save_map(grid, yaml_path):
    """Write ``NAME.yaml`` and ``NAME.pgm`` as Nav2's map saver does; return the two paths."""
    yaml_path = Path(yaml_path)
    image_path = yaml_path.with_suffix('.pgm')
    picture = np.full(grid.shape, 205, dtype=np.uint8)
    picture[grid.free] = 254
    picture[grid.obstacles] = 0
    picture = picture[::-1]
    rows, columns = grid.shape
    image_path.write_bytes(f'P5\n{columns} {rows}\n255\n'.encode('ascii') + picture.tobytes())
    origin = [round(float(v), 6) for v in grid.origin]
    yaml_path.write_text(
        f'image: {image_path.name}\nmode: trinary\n'
        f'resolution: {grid.resolution}\norigin: {origin}\n'
        'negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n', encoding='utf-8')
    return yaml_path, image_path


def load_map(yaml_path):
    """
    Read a map as Nav2's map server does: PGM or PNG, its three modes, negate, alpha, thresholds.

    Returns an :class:`OccupancyGrid`; raises :class:`GridError` naming file and field.
    """
    yaml_path = Path(yaml_path)
    try:
        meta = yaml.safe_load(yaml_path.read_text(encoding='utf-8'))
    except OSError as error:
        raise GridError(f'{yaml_path}: cannot be read ({error.strerror})') from error
    except UnicodeDecodeError as error:
        raise GridError(f'{yaml_path}: is not text ({error})') from error
    except yaml.YAMLError as error:
        raise GridError(f'{yaml_path}: is not YAML ({error})') from error
    if not isinstance(meta, dict):
        raise GridError(f'{yaml_path}: is not a map description')
    for key in ('image', 'resolution', 'origin'):
        if key not in meta:
            raise GridError(f'{yaml_path}: field {key!r} is missing')
    mode = meta.get('mode', 'trinary')
    if mode not in ('trinary', 'scale', 'raw'):
        raise GridError(f'{yaml_path}: mode must be trinary, scale or raw, got {mode!r}')
    resolution, negate, free_below, occupied_from = (
        _number(yaml_path, meta, key, default) for key, default in (
            ('resolution', None), ('negate', 0),
            ('free_thresh', 0.196), ('occupied_thresh', 0.65)))
    if not 0 <= free_below < occupied_from <= 1:
        raise GridError(
            f'{yaml_path}: free_thresh {free_below} must lie below '
            f'occupied_thresh {occupied_from}')
    origin = meta['origin']
    if not isinstance(origin, (list, tuple)) or len(origin) != 3:
        raise GridError(f'{yaml_path}: origin must be [x, y, yaw], got {origin!r}')
    try:
        origin = tuple(float(v) for v in origin)
    except (TypeError, ValueError):
        raise GridError(
            f'{yaml_path}: origin must be three numbers, got {meta["origin"]!r}') from None
    values, alpha = _read_image(yaml_path.parent / str(meta['image']), yaml_path)
    cells = _interpret(values, alpha, mode, bool(negate), free_below, occupied_from)
    return OccupancyGrid(cells[::-1].copy(), float(resolution), origin).check(str(yaml_path))


def _number(path, meta, key, default):
    value = meta.get(key, default)
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise GridError(f'{path}: {key} must be a number, got {value!r}')
    return value


def _read_image(path, yaml_path):
    """Return the mean of the colours 0..1 and alpha 0..1 (or None), top row first."""
    try:
        with Image.open(path) as image:
            image.load()
            deep = image.mode.startswith('I')
            if not deep:
                has_alpha = 'A' in image.getbands() or 'transparency' in image.info
                image = image.convert('RGBA' if has_alpha else 'RGB')
            pixels = np.asarray(image, dtype=float)
    except FileNotFoundError:
        raise GridError(f'{yaml_path}: image {path} does not exist') from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise GridError(f'{yaml_path}: image {path} cannot be read ({error})') from error
    if deep:
        return pixels / 65535.0, None
    return pixels[..., :3].mean(axis=2) / 255.0, pixels[..., 3] / 255.0 if has_alpha else None


def _interpret(values, alpha, mode, negate, free_below, occupied_from):
    """Return cells (rows, columns) of grey values as nav2_map_server interprets them."""
    cells = np.full(values.shape, UNKNOWN, dtype=np.int8)
    if mode == 'raw':
        raw = np.rint(values * 255.0)
        known = raw <= 100
        cells[known] = raw[known]
        return cells
    if mode == 'trinary' and alpha is not None:
        values = (3.0 * values + alpha) / 4.0        # Nav2 takes alpha for a fourth colour here
    shade = values if negate else 1.0 - values
    if mode == 'scale':
        between = (shade - free_below) / (occupied_from - free_below)
        cells[:] = np.rint(np.clip(between, 0.0, 1.0) * 100)
    cells[shade > occupied_from] = OCCUPIED
    cells[shade < free_below] = FREE
    if mode == 'scale' and alpha is not None:
        cells[alpha < 1.0] = UNKNOWN
    return cells
