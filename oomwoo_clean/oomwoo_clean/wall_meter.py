"""
How much of the walls a robot has touched or passed close by, by the simulator's truth.

What counts: every centimetre of outline that a round body of the robot's size can touch, coming
from its start, of whatever is solid at the height of the body. ``walls`` are the layout's walls
and arcs, ``furniture`` its boxes and cylinders. Passed is what the shell was within 2 cm of.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_sim_support.layout_primitives import primitives, solid_distance
from scipy import ndimage
from scipy.spatial import cKDTree

SPACING_M = 0.01
PASSED_M = 0.02
_CLEAR_M = 0.002              # the body beside what it can touch
_TOUCHED_M = 0.004


@dataclass(frozen=True)
class Outline:
    """
    Points on what a robot can touch.

    ``points`` (N, 2) on the outline in the map, ``normals`` (N, 2) out of the solid, ``wall`` (N,)
    whether it is a wall and not furniture, ``element`` (N,) names in the layout.
    """

    points: np.ndarray
    normals: np.ndarray
    wall: np.ndarray
    element: np.ndarray


def solids_of(layout, robot):
    """Return the primitives that the robot's body can touch."""
    body = robot.body
    return [part for part in primitives(layout)
            if not part.soft and part.crosses(body.ground_clearance, body.height)]


def touchable_outline(layout, robot, start=None):
    """Return the :class:`Outline` that the robot can touch from ``start``, else the layout's."""
    parts = solids_of(layout, robot)
    start = np.asarray(layout.start if start is None else start, dtype=float)
    names = {wall.name for wall in layout.walls} | {arc.name for arc in layout.arcs}
    sampled = [_sample(part) for part in parts]
    points = np.concatenate([p for p, _ in sampled])
    normals = np.concatenate([n for _, n in sampled])
    element = np.concatenate([
        np.full(len(p), part.element) for part, (p, _) in zip(parts, sampled)])
    beside = points + normals * (robot.body.radius + _CLEAR_M)
    free = solid_distance(parts, beside) >= robot.body.radius
    points, normals, element, beside = (
        points[free], normals[free], element[free], beside[free])
    there = reached(layout, parts, robot.body.radius, start, beside)
    return Outline(points[there], normals[there], np.isin(element[there], list(names)),
                   element[there])


def _sample(part):
    """Return (points, normals) every ``SPACING_M`` on a primitive's outline."""
    if part.kind == 'cylinder':
        count = max(8, math.ceil(math.tau * part.radius / SPACING_M))
        angles = math.tau * (np.arange(count) + 0.5) / count
        normals = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return np.array([part.x, part.y]) + part.radius * normals, normals
    points, normals = [], []
    corners = part.corners()
    for a, b in zip(corners, np.roll(corners, -1, axis=0)):
        length = float(np.hypot(*(b - a)))
        count = max(1, round(length / SPACING_M))
        share = (np.arange(count) + 0.5) / count
        along = (b - a) / length
        points.append(a + share[:, None] * (b - a))
        normals.append(np.broadcast_to([along[1], -along[0]], (count, 2)))
    return np.concatenate(points), np.concatenate(normals)


def reached(layout, parts, radius, start, middles, cell_m=0.02):
    """Return (N,) whether the body's middle can get to ``middles`` (N, 2) from the start."""
    low, high = layout.floor.min(axis=0) - 0.5, layout.floor.max(axis=0) + 0.5
    shape = np.ceil((high - low) / cell_m).astype(int) + 1
    index = np.argwhere(np.ones(shape, dtype=bool))
    free = (solid_distance(parts, low + index * cell_m) >= radius - 0.5 * cell_m).reshape(shape)
    labels, _ = ndimage.label(free, structure=np.ones((3, 3)))
    at = np.rint((start[:2] - low) / cell_m).astype(int)
    cells = np.rint((middles - low) / cell_m).astype(int)
    inside = ((cells >= 0) & (cells < shape)).all(axis=1)
    found = np.zeros(len(middles), dtype=bool)
    found[inside] = labels[tuple(cells[inside].T)] == labels[tuple(at)]
    return found & (labels[tuple(at)] > 0)


def soft_lines(layout, robot):
    """Return (M, 2) points every ``SPACING_M`` along soft things as high as the robot's body."""
    body, lines = robot.body, []
    for soft in layout.soft:
        if soft.z[0] >= body.height or soft.z[1] <= body.ground_clearance:
            continue
        points = np.asarray(soft.points, dtype=float)
        ends = np.roll(points, -1, axis=0) if soft.closed else points[1:]
        for a, b in zip(points, ends):
            count = max(1, round(float(np.hypot(*(b - a))) / SPACING_M))
            lines.append(a + ((np.arange(count) + 0.5) / count)[:, None] * (b - a))
    return np.concatenate(lines) if lines else np.empty((0, 2))


class WallMeter:
    """Ticks off points of an :class:`Outline` as the true body passes them."""

    def __init__(self, outline, robot, soft=None):
        """Begin with nothing passed; ``soft`` (M, 2) are points on soft things, if there are."""
        self.outline = outline
        self.soft = np.empty((0, 2)) if soft is None else soft
        self.pushed = np.zeros(len(self.soft), dtype=bool)
        self.passed = np.zeros(len(outline.points), dtype=bool)
        self.touched = np.zeros(len(outline.points), dtype=bool)
        self._tree = cKDTree(outline.points)
        self._radius = robot.body.radius

    def look(self, xy, bumped):
        """Take in the body's true middle, and whether the bumper is pressed there."""
        self.passed[self._tree.query_ball_point(xy, self._radius + PASSED_M)] = True
        if len(self.soft):
            self.pushed |= np.hypot(*(self.soft - xy).T) < self._radius - PASSED_M
        if bumped:
            self.touched[self._tree.query_ball_point(xy, self._radius + _TOUCHED_M)] = True

    def shares(self):
        """Return shares 0..1 of walls and furniture passed, of soft things gone through."""
        wall = self.outline.wall
        result = {}
        for name, which in (('wall', wall), ('furniture', ~wall)):
            result[f'{name}_m'] = float(which.sum() * SPACING_M)
            result[f'{name}_passed'] = (
                float(self.passed[which].mean()) if which.any() else math.nan)
        result['soft_m'] = len(self.soft) * SPACING_M
        result['soft_pushed'] = float(self.pushed.mean()) if len(self.soft) else math.nan
        return result


def segment_errors(segments, parts):
    """
    Return (M, 3): each segment's length m, worst distance m and angle deg to the true surface.

    ``segments`` (M, 2, 2) ends in the map. The distance is the largest along the segment from the
    nearest outline of what is solid; the angle is that to the outline nearest to its middle.
    """
    rows = []
    for start, end in np.asarray(segments, dtype=float).reshape(-1, 2, 2):
        length = float(np.hypot(*(end - start)))
        share = np.linspace(0.0, 1.0, max(2, math.ceil(length / SPACING_M)))
        points = start + share[:, None] * (end - start)
        worst = float(np.abs(solid_distance(parts, points)).max())
        slope = _outward(parts, points[len(points) // 2])
        along = (end - start) / max(length, 1e-9)
        rows.append((length, worst, math.degrees(abs(math.asin(
            max(-1.0, min(1.0, float(along @ slope))))))))
    return np.array(rows).reshape(-1, 3)


def _outward(parts, point, step_m=1e-4):
    """Return the unit gradient (2,) of the distance to the part whose outline is nearest."""
    part = min(parts, key=lambda p: abs(p.signed_distance(point[None])[0]))
    around = point + step_m * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    d = part.signed_distance(around)
    slope = np.array([d[0] - d[1], d[2] - d[3]])
    return slope / max(np.hypot(*slope), 1e-12)
