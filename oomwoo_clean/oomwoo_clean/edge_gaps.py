"""
The edges in gaps that the body fits into and the standoff does not: their medial lines.

Where two obstacles face each other across less than twice the standoff, no spot is a standoff from
both. The middle between them is, and it is the way of a robot that has gone in. That is the medial
axis, of which only what separates two sides counts (the separation angle of Foskey, Lin and
Manocha, 2003): the bisector of a corner is no gap.
"""
import math

import numpy as np
from scipy import ndimage

# How far apart the nearest obstacles on both sides lie, seen from the middle: in a corner it is 90
# degrees, between two walls that close in by 2 x 25 degrees the first of these. The second is
# where a line that began in a gap goes on to, out of its mouth.
SEPARATION_RAD, MOUTH_RAD = math.radians(130.0), math.radians(100.0)
SHORTEST_M = 0.12             # a mouth through which the body does not get is no gap
BAND_CELLS = 0.75             # half the width that a medial line is given
_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))
_AROUND = np.ones((3, 3), dtype=bool)


def medial_cells(grid, reachable, standoff_m):
    """
    Return the (rows, columns) mask of cells in the middle of gaps narrower than two standoffs.

    ``reachable`` (rows, columns) tells where the body's centre gets to. Lines reach one cell into
    the floor that is a standoff from everything, if they end there. Holes of a cell are closed.
    """
    distance = grid.obstacle_distance
    candidates = reachable & (distance < standoff_m + grid.resolution)
    if not candidates.any() or not grid.obstacles.any():
        return np.zeros(grid.shape, dtype=bool)
    nearest = ndimage.distance_transform_edt(
        ~grid.obstacles, return_distances=False, return_indices=True)
    gaps, mouths = (
        _separated(candidates, distance, nearest, angle) for angle in (SEPARATION_RAD, MOUTH_RAD))
    gaps = _long(gaps & (distance < standoff_m), SHORTEST_M / grid.resolution)
    lines = ndimage.binary_propagation(gaps, _AROUND, mask=_closed(mouths) & candidates)
    return lines & ndimage.binary_dilation(lines & (distance < standoff_m), _AROUND)


def _closed(mask):
    """Return the mask without holes of a cell."""
    return mask | ndimage.binary_closing(np.pad(mask, 1), _AROUND)[1:-1, 1:-1]


def _long(mask, least_cells):
    """Return the mask without pieces that extend over less than so many cells."""
    labels, _ = ndimage.label(_closed(mask), _AROUND)
    extent = [max(part.stop - part.start for part in box) for box in ndimage.find_objects(labels)]
    return mask & np.concatenate([[False], np.array(extent) >= least_cells])[labels]


def _separated(candidates, distance, nearest, separation_rad):
    """Return the mask of candidates between which and a neighbour the axis runs."""
    found = np.zeros(candidates.shape, dtype=bool)
    cells = np.argwhere(candidates)
    for step in _STEPS:
        here = np.concatenate([cells, cells - step])
        there = here + step
        inside = ((here >= 0) & (here < found.shape) & (there >= 0) & (there < found.shape))
        here, there = here[inside.all(axis=1)], there[inside.all(axis=1)]
        middle = 0.5 * (here + there)
        one, other = (nearest[:, at[:, 0], at[:, 1]].T - middle for at in (here, there))
        size = np.hypot(*one.T) * np.hypot(*other.T)
        across = (one * other).sum(axis=1) <= math.cos(separation_rad) * size
        here, there = here[across], there[across]
        farther = distance[tuple(here.T)] >= distance[tuple(there.T)]
        found[tuple(np.where(farther[:, None], here, there).T)] = True
    return found & candidates


def band_field(grid, medial):
    """Return (rows, columns) metres into a narrow band along the medial cells, negative beside."""
    if not medial.any():
        return np.full(grid.shape, -np.inf)
    cells = ndimage.distance_transform_edt(~medial)
    return (BAND_CELLS - cells) * grid.resolution
