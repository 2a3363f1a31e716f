"""
Worlds to get stuck in, drawn by seed: chair forests, U-pockets, cable bridges, dead-end slots.

Each is a room with one trap, a lure behind it that leads the robot in, and a goal outside that it
can only reach after it has got out.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import layout_from_dict
from oomwoo_sim_support.layout_elements import Layout
from scipy.ndimage import label

KINDS = ('forest', 'pocket', 'bridge', 'slot')
ROOM_M = 2.2                  # half the side of the room
_TALL, _LOW = [0.0, 0.4], [0.0, 0.06]          # seen by the scanner, and not
_WALL_M = 0.04
_TRIES = 300


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
    """Nine chairs, and the robot among their legs: some gaps let it through, some do not."""
    middle = (0.0, 0.0)
    while True:
        parts, pitch = [], rng.uniform(0.74, 0.86)
        for row in (-1, 0, 1):
            for column in (-1, 0, 1):
                seat, leg = rng.uniform(0.40, 0.47), rng.uniform(0.012, 0.025)
                x, y = np.array([row, column]) * pitch + rng.uniform(-0.06, 0.06, 2)
                yaw = rng.uniform(-0.5, 0.5)
                c, s = math.cos(yaw) * seat / 2, math.sin(yaw) * seat / 2
                parts += [
                    ('leg', (x + c * dx - s * dy, y + s * dx + c * dy), leg, 0.0, _TALL)
                    for dx, dy in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
        start = _clear_of(parts, middle, rng)
        if start is not None and _leads_out(parts, start, 1.5):
            break
    out = float(rng.uniform(-math.pi, math.pi))
    return parts, {
        'start': start, 'yaw': float(rng.uniform(-math.pi, math.pi)),
        'lure': _at(middle, out, 1.3),
        'goal': _at(middle, out + float(rng.uniform(1.2, 5.0)), 1.5),
        'center': middle, 'radius_m': 1.25}


def _leads_out(legs, start, distance):
    """Tell whether a body with a hand's breadth of a hair to spare gets from start that far."""
    radius, cell = load_robot().body.radius + 0.008, 0.01
    axis = np.arange(-distance, distance + cell, cell)
    x, y = np.meshgrid(axis, axis, indexing='ij')
    free = np.ones(x.shape, dtype=bool)
    for _, at, leg, _, _ in legs:
        free &= np.hypot(x - at[0], y - at[1]) > radius + leg
    areas, _ = label(free)
    here = tuple(np.round((np.array(start) + distance) / cell).astype(int))
    return areas[here] != 0 and areas[here] == areas[0, 0]


def _clear_of(legs, middle, rng):
    """Return a place near the middle where the body just fits in, None when none was found."""
    radius = load_robot().body.radius + 0.008
    for _ in range(_TRIES):
        place = np.array(middle) + rng.uniform(-0.45, 0.45, 2)
        if all(np.hypot(*(place - at)) > radius + leg for _, at, leg, _, _ in legs):
            return tuple(place.tolist())
    return None


def _at(middle, bearing, distance):
    return (middle[0] + distance * math.cos(bearing), middle[1] + distance * math.sin(bearing))


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
        'center': (0.4, 0.0), 'radius_m': 0.2 + length / 2}


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
