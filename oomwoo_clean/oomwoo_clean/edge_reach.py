"""
How much of the true edge of a world was cleaned: for harnesses, which know what is true.

The edge is the outline of everything that the body can touch or the LiDAR sees, what lies under
the scan plane included. Reachable is what a disc of the body's size gets to touch on floor
connected with the start; swept is what the body passed no farther away than the standoff and a
margin.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_sim_support.layout_primitives import solid_distance, touchable
from scipy import ndimage
from scipy.spatial import cKDTree

SPACING_M = 0.01
# A disc counts as touching a point that is this far from it, which is what a grid of CELL_M and an
# inside corner that is cut at random leave open.
CELL_M, TOUCH_M = 0.01, 0.015
SWEPT_MARGIN_M = 0.08         # as the tolerance of the edge manager


@dataclass(frozen=True)
class TrueEdge:
    """Points (N, 2) a centimetre apart on reachable outlines, their outward normals, elements."""

    points: np.ndarray
    normals: np.ndarray
    elements: np.ndarray

    def of(self, *elements):
        """Return the part that belongs to the named elements of the layout."""
        keep = np.isin(self.elements, elements)
        return TrueEdge(self.points[keep], self.normals[keep], self.elements[keep])

    @property
    def length_m(self):
        """Return the metres of edge."""
        return len(self.points) * SPACING_M

    def swept(self, track, reach_m):
        """
        Return (N,) whether a centre on the track (T, 2) was in front of it within ``reach_m``.

        In front of a point is the side on which its outline is open, so that driving along the
        other side of a thin wall does not count.
        """
        if len(self.points) == 0 or len(track) == 0:
            return np.zeros(len(self.points), dtype=bool)
        near = cKDTree(track).query_ball_point(self.points, reach_m)
        return np.array([
            len(which) > 0 and bool(((track[which] - point) @ normal > 0.0).any())
            for which, point, normal in zip(near, self.points, self.normals)])

    def swept_pct(self, track, reach_m):
        """Return the swept share, percent; 100 of nothing."""
        return 100.0 * float(self.swept(track, reach_m).mean()) if len(self.points) else 100.0


def low_outline_m(layout, robot):
    """Return the metres of outline that the body can meet and the LiDAR does not see."""
    parts = touchable(layout, robot)
    elements = _outlines(parts)[2]
    return SPACING_M * int(np.isin(elements, low_elements(layout, robot)).sum())


def low_elements(layout, robot):
    """Return the names of the layout's elements that are under the scan plane."""
    return sorted({part.element for part in touchable(layout, robot)
                   if not part.crosses(robot.lidar.z, robot.lidar.z)})


def reachable_edge(layout, robot, start=None):
    """
    Return the :class:`TrueEdge` of a layout that a disc of the body's radius can touch.

    ``start`` (x, y, ...) is by default the layout's. Empty when the body does not fit there.
    """
    start = layout.start if start is None else start
    parts = touchable(layout, robot)
    centres = _centres(layout, parts, robot.body.radius, start)
    points, normals, elements = _outlines(parts)
    if len(centres) == 0 or len(points) == 0:
        return TrueEdge(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0, dtype=str))
    gap, _ = cKDTree(centres).query(points + 1e-3 * normals)
    near = gap <= robot.body.radius + TOUCH_M
    return TrueEdge(points[near], normals[near], elements[near])


def _centres(layout, parts, radius_m, start):
    """Return (C, 2) where the body's centre gets to from the start, on a grid."""
    low, high = layout.floor.min(axis=0), layout.floor.max(axis=0)
    x, y = (np.arange(a, b + CELL_M, CELL_M) for a, b in zip(low, high))
    grid = np.stack(np.meshgrid(x, y, indexing='ij'), axis=-1)
    free = np.ones(grid.shape[:2], dtype=bool)
    for part in parts:
        corners = part.corners()
        first = np.maximum((corners.min(axis=0) - radius_m - low) / CELL_M, 0).astype(int)
        last = np.maximum((corners.max(axis=0) + radius_m - low) / CELL_M + 2, 0).astype(int)
        block = (slice(first[0], last[0]), slice(first[1], last[1]))
        gap = part.signed_distance(grid[block].reshape(-1, 2))
        free[block] &= gap.reshape(free[block].shape) >= radius_m
    labels, _ = ndimage.label(free)
    cell = tuple(np.rint((np.asarray(start[:2]) - low) / CELL_M).astype(int))
    inside = all(0 <= i < n for i, n in zip(cell, labels.shape))
    label = labels[cell] if inside else 0
    return grid[labels == label] if label else np.zeros((0, 2))


def _outlines(parts):
    """Return points, normals and elements of all outlines, without what lies in another part."""
    found = []
    for part in parts:
        points, normals = _circle(part) if part.kind == 'cylinder' else _box(part)
        others = [other for other in parts if other is not part]
        free = solid_distance(others, points + 2e-3 * normals) > 0.0
        found.append((points[free], normals[free], np.full(free.sum(), part.element)))
    if not found:
        return np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0, dtype=str)
    return tuple(np.concatenate(column) for column in zip(*found))


def _circle(part):
    count = max(3, round(math.tau * part.radius / SPACING_M))
    angle = (np.arange(count) + 0.5) * math.tau / count
    normals = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return [part.x, part.y] + part.radius * normals, normals


def _box(part):
    corners = part.corners()
    points, normals = [], []
    for start, end in zip(corners, np.roll(corners, -1, axis=0)):
        side = end - start
        length = math.hypot(*side)
        count = max(1, round(length / SPACING_M))
        share = (np.arange(count)[:, None] + 0.5) / count
        points.append(start + share * side)
        normals.append(np.repeat([[side[1], -side[0]]], count, axis=0) / length)
    return np.concatenate(points), np.concatenate(normals)
