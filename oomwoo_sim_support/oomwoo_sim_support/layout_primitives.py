"""
The one normal form of a world: upright boxes and cylinders, which every exporter reads.

Walls become a box a segment, arcs a row of short boxes, so that the map, the Gazebo world and the
MuJoCo model cannot disagree about a shape.
"""
from dataclasses import dataclass, replace
import math

import numpy as np

ARC_SAGITTA_M = 0.002         # how far the flat pieces of an arc may lie off the true circle
TRAY_HEIGHT_M = 0.002


@dataclass(frozen=True)
class Primitive:
    """
    An upright box or cylinder in the map frame, metres and radians.

    ``half_x`` and ``half_y`` are a box's half sizes before it is turned by ``yaw``; a cylinder has
    its radius in both. ``soft`` things are seen by the LiDAR and touched by nothing; those with a
    ``press_m`` press the bumper while the shell goes that far into them. ``element`` is the name
    of the layout's element that this is a piece of.
    """

    name: str
    kind: str
    x: float
    y: float
    yaw: float
    half_x: float
    half_y: float
    z_min: float
    z_max: float
    soft: bool = False
    element: str = ''
    press_m: float = 0.0

    @property
    def radius(self):
        """Return the radius of a cylinder."""
        return self.half_x

    def crosses(self, z_min, z_max):
        """Tell whether any of it lies between two heights; equal heights ask for a plane."""
        if z_min == z_max:
            return self.z_min <= z_min < self.z_max
        return self.z_min < z_max and self.z_max > z_min

    def signed_distance(self, points):
        """Return (N,) metres from points (N, 2) to its outline in the plane, negative inside."""
        dx, dy = np.asarray(points, dtype=float).T - np.array([[self.x], [self.y]])
        if self.kind == 'cylinder':
            return np.hypot(dx, dy) - self.half_x
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        along = np.abs(c * dx + s * dy) - self.half_x
        across = np.abs(c * dy - s * dx) - self.half_y
        outside = np.hypot(np.maximum(along, 0.0), np.maximum(across, 0.0))
        return outside + np.minimum(np.maximum(along, across), 0.0)

    def nearest_point(self, x, y):
        """Return the (x, y) of it that is nearest to a point: the point itself when inside."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        along = c * (x - self.x) + s * (y - self.y)
        across = c * (y - self.y) - s * (x - self.x)
        if self.kind == 'cylinder':
            share = min(1.0, self.half_x / max(math.hypot(along, across), 1e-12))
            along, across = share * along, share * across
        else:
            along = max(-self.half_x, min(self.half_x, along))
            across = max(-self.half_y, min(self.half_y, across))
        return self.x + c * along - s * across, self.y + s * along + c * across

    def corners(self):
        """Return a box's (4, 2) corners, or a cylinder's square's, counterclockwise."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * [self.half_x, self.half_y]
        return signs @ np.array([[c, s], [-s, c]]) + [self.x, self.y]


def primitives(layout):
    """Return the list of :class:`Primitive` that a layout is made of; names are unique."""
    found = []
    for wall in layout.walls:
        found += _polyline(wall.name, wall.points, wall.closed, wall.thickness, wall.z, False)
    for box in layout.boxes:
        found.append(
            Primitive(
                box.name,
                'box',
                *box.center,
                box.yaw,
                box.size[0] / 2,
                box.size[1] / 2,
                *box.z,
                element=box.name,
            )
        )
    for cylinder in layout.cylinders:
        found.append(_cylinder(
            cylinder.name, cylinder.name, cylinder.center, cylinder.radius, cylinder.z, False))
    for arc in layout.arcs:
        found += _arc(arc)
    for soft in layout.soft:
        found += [
            replace(part, press_m=soft.press) for part in _polyline(
                soft.name, soft.points, soft.closed, soft.thickness, soft.z, True)]
    if layout.dock:
        found += dock_primitives(layout.dock)
    return found


def touchable(layout, robot):
    """Return the primitives that the robot's body can touch or its LiDAR sees."""
    return [
        part
        for part in primitives(layout)
        if (
            part.crosses(robot.lidar.z, robot.lidar.z)
            or (not part.soft and part.crosses(0.0, robot.body.height))
        )
    ]


def solid_distance(parts, points):
    """Return (N,) signed metres from points (N, 2) to the nearest part, infinite without any."""
    points = np.asarray(points, dtype=float)
    nearest = np.full(len(points), np.inf)
    for part in parts:
        np.minimum(nearest, part.signed_distance(points), out=nearest)
    return nearest


def _cylinder(name, element, center, radius, z, soft):
    return Primitive(name, 'cylinder', *center, 0.0, radius, radius, *z, soft, element)


def _polyline(name, points, closed, thickness, z, soft):
    """Return a box a segment, mitred at corners; a cylinder rounds off a sharp corner."""
    points = np.asarray(points, dtype=float)
    ends = np.roll(points, -1, axis=0)
    starts, ends = (points, ends) if closed else (points[:-1], ends[:-1])
    count = len(starts)
    yaws = np.arctan2(*(ends - starts).T[::-1])
    half = thickness / 2
    parts, longer = [], np.zeros((count, 2))
    for joint in range(count if closed else count - 1):
        after = (joint + 1) % count
        turn = abs(math.remainder(yaws[after] - yaws[joint], math.tau))
        if turn <= math.pi / 2 + 1e-9:
            longer[joint, 1] = longer[after, 0] = half * math.tan(turn / 2)
        else:
            parts.append(_cylinder(
                f'{name}_joint_{joint}', name, tuple(ends[joint].tolist()), half, z, soft))
    boxes = []
    segments = zip(starts, ends, yaws, longer, strict=True)
    for number, (start, end, yaw, (back, front)) in enumerate(segments):
        along = np.array([math.cos(yaw), math.sin(yaw)])
        first, last = start - back * along, end + front * along
        x, y = ((first + last) / 2).tolist()
        boxes.append(Primitive(
            name if count == 1 else f'{name}_{number}', 'box', x, y, float(yaw),
            float(np.linalg.norm(last - first)) / 2, half, *z, soft, name))
    return boxes + parts


def _arc(arc):
    """Return flat boxes along an arc whose inner faces touch the inner circle."""
    sweep = arc.stop - arc.start
    inner, outer = arc.radius - arc.thickness / 2, arc.radius + arc.thickness / 2
    widest = 2.0 * math.acos(1.0 - min(ARC_SAGITTA_M / outer, 0.5))
    count = max(2, math.ceil(sweep / widest))
    step = sweep / count
    parts = []
    for number in range(count):
        angle = arc.start + (number + 0.5) * step
        parts.append(Primitive(
            f'{arc.name}_{number}', 'box', arc.center[0] + arc.radius * math.cos(angle),
            arc.center[1] + arc.radius * math.sin(angle),
            math.remainder(angle + math.pi / 2, math.tau),
            outer * math.tan(step / 2), (outer - inner) / 2, *arc.z, False, arc.name))
    return parts


def dock_primitives(dock):
    """Return the dock's side panels, its back and the flat tray before its mouth."""
    x, y, yaw = dock.pose
    c, s = math.cos(yaw), math.sin(yaw)

    def part(name, ahead, left, length, width, z, soft=False):
        return Primitive(
            f'dock_{name}', 'box', x + c * ahead - s * left, y + s * ahead + c * left, yaw,
            length / 2, width / 2, *z, soft, 'dock')

    beside = (dock.width + dock.panel) / 2
    z = (0.0, dock.height)
    return [
        part('left', -dock.depth / 2, beside, dock.depth, dock.panel, z),
        part('right', -dock.depth / 2, -beside, dock.depth, dock.panel, z),
        part('back', -dock.depth - dock.back / 2, 0.0, dock.back, dock.width + 2 * dock.panel, z),
        part('tray', dock.tray / 2, 0.0, dock.tray, dock.width, (0.0, TRAY_HEIGHT_M), soft=True)]
