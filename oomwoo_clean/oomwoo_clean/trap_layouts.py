"""
Worlds to get stuck in, drawn by seed: chair forests, U-pockets, cable bridges, dead-end slots.

Each is a room with one trap, a lure behind it that leads the robot in, and a goal outside that it
can only reach after it has got out.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import Layout, layout_from_dict

KINDS = ('forest', 'pocket', 'bridge', 'slot')
ROOM_M = 2.2                  # half the side of the room
_TALL, _LOW = [0.0, 0.4], [0.0, 0.06]          # seen by the scanner, and not
_WALL_M = 0.04


@dataclass(frozen=True)
class Trap:
    """
    One world: ``start`` (x, y, yaw), ``lure`` and ``goal`` (x, y), all in the map, in metres.

    Out of the trap is who is farther than ``radius_m`` from ``center``.
    """

    name: str
    kind: str
    layout: Layout
    start: tuple
    lure: tuple
    goal: tuple
    center: tuple
    radius_m: float


def trap(kind, seed):
    """Return the :class:`Trap` of a kind and a seed; ValueError for no such kind."""
    if kind not in KINDS:
        raise ValueError(f'kind: {kind!r} is none of {", ".join(KINDS)}')
    rng = np.random.default_rng([KINDS.index(kind), seed])
    name = f'{kind}_{seed}'
    parts, facts = _BUILDERS[kind](rng)
    turn = float(rng.uniform(-math.pi, math.pi))

    def placed(point):
        c, s = math.cos(turn), math.sin(turn)
        return (round(float(c * point[0] - s * point[1]), 4),
                round(float(s * point[0] + c * point[1]), 4))

    corners = [[-ROOM_M, -ROOM_M], [ROOM_M, -ROOM_M], [ROOM_M, ROOM_M], [-ROOM_M, ROOM_M]]
    raw = {
        'name': name, 'floor': corners,
        'start': [*placed(facts['start']), math.degrees(turn + facts['yaw'])],
        'walls': [{'name': 'room', 'points': corners, 'closed': True, 'thickness': 0.05,
                   'z': _TALL}],
        'boxes': [], 'cylinders': []}
    for number, (form, (x, y), size, yaw, z) in enumerate(parts):
        entry = {'name': f'part_{number}', 'center': list(placed((x, y))), 'z': z}
        if form == 'box':
            raw['boxes'].append({
                **entry, 'size': [float(v) for v in size], 'yaw': math.degrees(turn + yaw)})
        else:
            raw['cylinders'].append({**entry, 'radius': float(size)})
    layout = layout_from_dict(raw, name)
    return Trap(
        name, kind, layout, layout.start, placed(facts['lure']), placed(facts['goal']),
        placed(facts['center']), facts['radius_m'])


def traps(seed=0, each=5):
    """Return ``each`` traps of every kind; different seeds share none."""
    return [trap(kind, seed * 1000 + number) for kind in KINDS for number in range(each)]


# Builders: x leads in, the mouth is at the origin or where the robot meets the trap first. Parts
# are (form, middle, size or radius, yaw, z).

def _forest(rng):
    """Chairs round a table: legs closer together than is comfortable, wider than the robot."""
    parts, middle = [], (0.75, 0.0)
    for row in range(3):
        for column in range(3):
            seat = rng.uniform(0.40, 0.47)
            x = middle[0] + (row - 1) * 0.62 + rng.uniform(-0.06, 0.06)
            y = middle[1] + (column - 1) * 0.62 + rng.uniform(-0.06, 0.06)
            yaw, leg = rng.uniform(-0.5, 0.5), rng.uniform(0.012, 0.025)
            for dx, dy in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                c, s = math.cos(yaw) * seat / 2, math.sin(yaw) * seat / 2
                parts.append(('leg', (x + c * dx - s * dy, y + s * dx + c * dy), leg, 0.0, _TALL))
    side = rng.choice((-1.0, 1.0))
    return parts, {
        'start': (-0.75, float(rng.uniform(-0.3, 0.3))), 'yaw': 0.0,
        'lure': (2.1, float(rng.uniform(-0.3, 0.3))), 'goal': (-1.3, 0.9 * side),
        'center': middle, 'radius_m': 1.2}


def _pocket(rng):
    """Three walls, and what draws the robot is behind the bottom; some below the scan plane."""
    depth, width = rng.uniform(0.5, 0.9), rng.uniform(0.5, 0.9)
    z = _LOW if rng.random() < 0.4 else _TALL
    parts = [
        ('box', (depth + _WALL_M / 2, 0.0), (_WALL_M, width + 2 * _WALL_M), 0.0, z),
        *(('box', (depth / 2, sign * (width + _WALL_M) / 2), (depth, _WALL_M), 0.0, z)
          for sign in (1, -1))]
    side = rng.choice((-1.0, 1.0))
    return parts, {
        'start': (-0.7, float(rng.uniform(-0.1, 0.1))), 'yaw': float(rng.uniform(-0.15, 0.15)),
        'lure': (depth + 0.6, 0.0), 'goal': (float(rng.uniform(0.0, 0.4)), 1.5 * side),
        'center': (depth / 2, 0.0), 'radius_m': math.hypot(depth / 2, width / 2) + 0.1}


def _bridge(rng):
    """Half round a cable on the floor: caster up on it, the rear edge of the shell down."""
    clearance = load_robot().body.ground_clearance
    height, width = rng.uniform(0.7, 0.97) * clearance, rng.uniform(0.03, 0.1)
    length, yaw = rng.uniform(1.4, 2.4), rng.uniform(-0.5, 0.5)
    parts = [('box', (0.4, 0.0), (width, length), yaw, [0.0, float(round(height, 5))])]
    return parts, {
        'start': (-0.6, float(rng.uniform(-0.2, 0.2))), 'yaw': float(rng.uniform(-0.3, 0.3)),
        'lure': (1.4, float(rng.uniform(-0.3, 0.3))), 'goal': (-1.2, 0.7 * rng.choice((-1, 1))),
        'center': (0.4, 0.0), 'radius_m': 0.55}


def _slot(rng):
    """Between two cupboards, a hand wider than the robot, and closed at the end."""
    width, depth = rng.uniform(0.385, 0.46), rng.uniform(0.5, 1.0)
    thick = rng.uniform(0.1, 0.4)
    parts = [
        *(('box', (depth / 2, sign * (width + thick) / 2), (depth, thick), 0.0, _TALL)
          for sign in (1, -1)),
        ('box', (depth + _WALL_M / 2, 0.0), (_WALL_M, width + 2 * thick), 0.0, _TALL)]
    side = rng.choice((-1.0, 1.0))
    return parts, {
        'start': (-0.7, float(rng.uniform(-0.05, 0.05))), 'yaw': 0.0,
        'lure': (depth + 0.6, 0.0), 'goal': (float(rng.uniform(-0.2, 0.3)), 1.4 * side),
        'center': (depth / 2, 0.0), 'radius_m': math.hypot(depth / 2, width / 2) + 0.1}


_BUILDERS = {'forest': _forest, 'pocket': _pocket, 'bridge': _bridge, 'slot': _slot}
