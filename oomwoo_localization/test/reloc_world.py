"""A room that looks the same from nowhere else, as a map, and scans of it; for tests."""

import math

import numpy as np
from oomwoo_localization.grids import FREE, OccupancyGrid, OCCUPIED, UNKNOWN
from oomwoo_localization.scans import Scan

RESOLUTION = 0.05


def room(*boxes, width=7.0, depth=6.0, resolution=RESOLUTION, origin=(-3.5, -3.0, 0.0)):
    """Return a map of a rectangle with boxes (x, y, width, depth) in it, around the middle."""
    margin = 6
    rows, columns = round(depth / resolution) + 2 * margin, round(width / resolution) + 2 * margin
    cells = np.full((rows, columns), UNKNOWN, np.int8)
    cells[margin - 1:rows - margin + 1, margin - 1:columns - margin + 1] = OCCUPIED
    cells[margin:rows - margin, margin:columns - margin] = FREE
    for x, y, w, d in boxes:
        left, low = x - w / 2 + width / 2, y - d / 2 + depth / 2
        first = np.rint(np.array([low, left]) / resolution).astype(int) + margin
        last = np.rint(np.array([low + d, left + w]) / resolution).astype(int) + margin
        cells[first[0]:last[0], first[1]:last[1]] = OCCUPIED
    c, s = math.cos(origin[2]), math.sin(origin[2])
    shift = margin * resolution
    corner = (origin[0] - c * shift + s * shift, origin[1] - s * shift - c * shift, origin[2])
    return OccupancyGrid(cells, resolution, corner)


def l_shaped_map(**kwargs):
    """Return a room with a corner cut off, a table and a cupboard."""
    return room((2.5, 2.2, 2.0, 1.6), (-2.4, 0.3, 0.6, 0.9), (0.2, -2.7, 1.4, 0.6), **kwargs)


def scan_ranges(grid, scanner, angles, range_max=10.0, step=0.2):
    """
    Return (beams,) ranges from a scanner's pose to the drawn cells, by small steps.

    Inf for no return.
    """
    along = np.arange(0.0, range_max, step * grid.resolution)
    heading = scanner[2] + angles
    points = np.stack(
        [
            scanner[0] + np.outer(np.cos(heading), along),
            scanner[1] + np.outer(np.sin(heading), along),
        ],
        axis=2,
    )
    hit = grid.lookup(grid.obstacles.astype(float), points.reshape(-1, 2), outside=0.0).reshape(
        len(angles), -1
    )
    return np.where(hit.any(axis=1), along[hit.argmax(axis=1)], np.inf)


def make_scan(grid, scanner, beams=180, field_of_view=2 * math.pi, noise_m=0.0, rng=None):
    """Return a :class:`Scan` from a scanner's pose."""
    increment = field_of_view / beams
    ranges = scan_ranges(grid, scanner, -field_of_view / 2 + increment * np.arange(beams))
    if noise_m:
        ranges = ranges + rng.normal(0.0, noise_m, beams)
    return Scan(ranges, -field_of_view / 2, increment, 0.05, 10.0)
