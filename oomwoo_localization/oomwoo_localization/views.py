"""What a scanner would see where the map says, and what of it tells one pose from another."""

import math

import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_localization.grids import OccupancyGrid

LONGEST_WEIGHED_M = 0.3  # neighbouring ends farther apart are not of one wall
BEARINGS = np.linspace(-math.pi, math.pi, 72, endpoint=False)


def predicted_ranges(grid, poses, bearings=BEARINGS, range_max=12.0):
    """
    Return (P, B) ranges that a scanner at ``poses`` (P, 3) would see in the map.

    By sphere tracing (Hart, 1996): each step goes as far as the nearest obstacle is away.
    ``range_max`` where nothing is met.
    """
    poses = np.asarray(poses, dtype=float).reshape(-1, 3)
    angles = poses[:, 2, None] + bearings[None, :]
    away = np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(-1, 2)
    begin = np.repeat(poses[:, :2], len(bearings), axis=0)
    ranges = np.zeros(len(away))
    going = np.ones(len(away), dtype=bool)
    for _ in range(200):
        at = begin[going] + ranges[going, None] * away[going]
        step = grid.lookup(grid.obstacle_distance, at, outside=np.inf)
        ranges[going] += np.maximum(step, grid.resolution / 2)
        still = (step > grid.resolution / 2) & (ranges[going] < range_max)
        going[np.flatnonzero(going)[~still]] = False
        if not going.any():
            break
    return np.minimum(ranges, range_max).reshape(len(poses), len(bearings))


def telling(grid, candidates, spots, differ_m):
    """
    Return (K, K, S) shares 0..1: of what candidate i would see, how much cannot be where j is.

    ``candidates`` (K, 3) poses in the map, ``spots`` (S, 3) poses relative to each of them. What
    ends away from every wall there cannot be; what only passes through one can, since furniture
    is moved. Walls count by their length, as in the search.
    """
    candidates = np.asarray(candidates, dtype=float).reshape(-1, 3)
    spots = np.asarray(spots, dtype=float).reshape(-1, 3)
    shares = np.zeros((len(candidates), len(candidates), len(spots)))
    poses = [np.array([compose(candidate, spot) for spot in spots]) for candidate in candidates]
    for i, mine in enumerate(poses):
        ranges = predicted_ranges(grid, mine)
        ends = ranges[..., None] * np.stack([np.cos(BEARINGS), np.sin(BEARINGS)], axis=-1)
        lengths = np.linalg.norm(np.roll(ends, -1, axis=1) - ends, axis=-1)
        lengths = np.minimum(lengths, LONGEST_WEIGHED_M)
        total = np.maximum(lengths.sum(axis=1), 1e-6)
        for j, at in enumerate(poses):
            if i == j:
                continue
            c, s = np.cos(at[:, 2, None]), np.sin(at[:, 2, None])
            x = at[:, 0, None] + c * ends[..., 0] - s * ends[..., 1]
            y = at[:, 1, None] + s * ends[..., 0] + c * ends[..., 1]
            placed = np.stack([x.ravel(), y.ravel()], axis=1)
            away = grid.lookup(grid.obstacle_distance, placed, outside=np.inf)
            off = away.reshape(ranges.shape) > differ_m
            shares[i, j] = (off * lengths).sum(axis=1) / total
    return shares


def coarser(grid, cell_m):
    """Return the map in larger cells: occupied where any part is, free where all is."""
    factor = max(1, round(cell_m / grid.resolution))
    if factor == 1:
        return grid
    rows, columns = (math.ceil(n / factor) * factor for n in grid.shape)
    cells = np.full((rows, columns), -1, dtype=np.int8)
    cells[: grid.shape[0], : grid.shape[1]] = grid.cells
    blocks = cells.reshape(rows // factor, factor, columns // factor, factor)
    highest, lowest = blocks.max(axis=(1, 3)), blocks.min(axis=(1, 3))
    merged = np.where((lowest < 0) & (highest < 65), -1, highest).astype(np.int8)
    return OccupancyGrid(merged, grid.resolution * factor, grid.origin)
