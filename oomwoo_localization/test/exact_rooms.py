"""Rooms of straight walls, scanned exactly from their segments and drawn as maps; for tests."""
import math

import numpy as np
from oomwoo_localization.frames import compose, inverse, matrix_from_xyzrpy, transform_points
from oomwoo_localization.grids import FREE, OccupancyGrid, OCCUPIED, UNKNOWN
from oomwoo_localization.scans import Scan

MOUNT = (0.0745, 0.0, 0.0)
BASE_FROM_SCAN = matrix_from_xyzrpy(0.0745, 0.0, 0.088)
# An L, and a cupboard in it, none of whose sides lies on a round number.
OUTLINE = np.array([[-2.31, -1.77], [2.83, -1.77], [2.83, 0.43], [0.92, 0.43], [0.92, 2.19],
                    [-2.31, 2.19]])
CUPBOARD = np.array([[-1.33, 0.91], [-0.21, 1.13], [-0.31, 1.63], [-1.43, 1.41]])
PLACE = (-0.6, -0.7)
MARGIN_M = 0.4


def sides(polygon):
    """Return the segments (N, 2, 2) of a closed polygon (N, 2)."""
    return np.stack([polygon, np.roll(polygon, -1, axis=0)], axis=1)


ROOM = np.concatenate([sides(OUTLINE), sides(CUPBOARD)])


def holds(polygon, points):
    """Return the mask (N,) of points inside a polygon: those whose ray crosses an odd number."""
    start, end = sides(polygon).transpose(1, 0, 2)
    x, y = points[:, :1], points[:, 1:]
    spans = (start[:, 1] > y) != (end[:, 1] > y)
    with np.errstate(divide='ignore', invalid='ignore'):
        share = (y - start[:, 1]) / (end[:, 1] - start[:, 1])
        at = start[:, 0] + share * (end[:, 0] - start[:, 0])
    return (spans & (x < at)).sum(axis=1) % 2 == 1


def ranges_to(segments, origin, angles):
    """Return (beams,) exact distances from a point to the nearest segment, inf for none."""
    beam = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    start, along = segments[:, 0] - origin, segments[:, 1] - segments[:, 0]
    across = beam[:, None, 0] * along[:, 1] - beam[:, None, 1] * along[:, 0]
    with np.errstate(divide='ignore', invalid='ignore'):
        distance = (start[:, 0] * along[:, 1] - start[:, 1] * along[:, 0]) / across
        where = (start[:, 0] * beam[:, None, 1] - start[:, 1] * beam[:, None, 0]) / across
        hit = (distance > 0) & (where >= 0) & (where <= 1)
    return np.where(hit, distance, np.inf).min(axis=1)


def scan_from(pose, segments=ROOM, beams=360, noise_m=0.0, seed=0, range_max=8.0, stamp_s=0.0,
              motion=None, turn_s=0.0, mount=MOUNT):
    """
    Return the :class:`Scan` that a base at ``pose`` takes.

    With ``motion(share)``, which gives the base's pose at 0 .. 1 of the scan, each beam is seen
    from where the base is at its time.
    """
    increment = 2 * math.pi / beams
    angles = -math.pi + increment * np.arange(beams)
    if motion is None:
        scanner = compose(pose, mount)
        ranges = ranges_to(segments, scanner[:2], angles + scanner[2])
    else:
        ranges = np.empty(beams)
        for k, angle in enumerate(angles):
            scanner = compose(motion(k / (beams - 1)), mount)
            ranges[k] = ranges_to(segments, scanner[:2], np.array([angle + scanner[2]]))[0]
    if noise_m:
        ranges = ranges + np.random.default_rng(seed).normal(0.0, noise_m, beams)
    ranges[ranges >= range_max] = np.inf
    return Scan(ranges, -math.pi, increment, 0.05, range_max, stamp_s, turn_s / (beams - 1))


def draw(resolution=0.025, yaw=0.0, shift=(0.0, 0.0), style='filled', outline=OUTLINE,
         holes=(CUPBOARD,)):
    """
    Return a map of the room, its grid turned by ``yaw`` and shifted by a part of a cell.

    'filled': cells whose middle is on the floor are free and those around occupied, as from a
    plan; 'lines': the cells through which a wall goes are occupied, as beams draw them.
    """
    turned = transform_points(inverse((0.0, 0.0, yaw)), outline)
    low = turned.min(axis=0) - MARGIN_M - np.asarray(shift) * resolution
    columns, rows = np.ceil((turned.max(axis=0) + MARGIN_M - low) / resolution).astype(int)
    origin = (*transform_points((0.0, 0.0, yaw), [low])[0], yaw)
    grid = OccupancyGrid(np.full((rows, columns), UNKNOWN, np.int8), resolution, origin)
    middles = grid.cells_to_points(np.argwhere(np.ones((rows, columns), bool)))
    floor = holds(outline, middles)
    for hole in holes:
        floor &= ~holds(hole, middles)
    cells = np.where(floor.reshape(rows, columns), FREE, OCCUPIED).astype(np.int8)
    if style == 'lines':
        cells[cells == OCCUPIED] = UNKNOWN
        for start, end in np.concatenate([sides(outline), *map(sides, holes)]):
            count = int(np.hypot(*(end - start)) / resolution * 8) + 2
            points = start + np.linspace(0, 1, count)[:, None] * (end - start)
            row, column = np.rint(grid.points_to_cells(points)).astype(int).T
            cells[row, column] = OCCUPIED
    return OccupancyGrid(cells, resolution, origin)
