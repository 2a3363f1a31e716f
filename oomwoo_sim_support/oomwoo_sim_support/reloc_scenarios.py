"""Trials that try to lead the relocalizer astray, each from a kind and a seed."""
import math

import numpy as np
from oomwoo_sim_support.reloc_spoiling import Spoiling, spoilt_trial
from oomwoo_sim_support.reloc_worlds import (
    box,
    closed,
    disc,
    likeness,
    outline,
    random_piece,
    random_room,
    Room,
    together,
)

MOST_ALIKE = 0.7  # in wall length: what has more in common is no other room


def make_trial(kind, seed):
    """Return the :class:`RelocTrial` of a kind in :data:`KINDS`, the same for the same seed."""
    rng = np.random.default_rng([seed, *kind.encode()])
    while True:
        spoiling = Spoiling(
            beams=int(rng.choice([120, 180, 360])), range_max=float(rng.choice([6.0, 8.0, 12.0]))
        )
        mapped, present, inside = KINDS[kind](rng, spoiling)
        trial = spoilt_trial(kind, seed, rng, spoiling, mapped, present, inside)
        if trial is not None:
            return trial


# -- kinds: each returns (mapped world, present world, whether the robot is in the map) --------


def clean(rng, spoiling):
    """Nothing is spoilt."""
    room = random_room(rng)
    return room, room, True


def obstacles(rng, spoiling):
    """Things that are not in the map take up to half of the beams."""
    spoiling.blocked = rng.uniform(0.0, 0.5)
    return clean(rng, spoiling)


def _without_some(rng, room):
    """Return a room without one or two of its walls or pieces of furniture."""
    walls, furniture = room.walls, list(room.furniture)
    for _ in range(rng.integers(1, 3)):
        if furniture and rng.random() < 0.5:
            furniture.pop(rng.integers(len(furniture)))
        elif len(walls) > 3:
            walls = np.delete(walls, rng.integers(len(walls)), axis=0)
    return Room(walls, furniture, room.floor)


def walls_removed(rng, spoiling):
    """Walls or furniture of the map are gone; behind them there may be another room."""
    room = random_room(rng, pieces=rng.integers(1, 6))
    behind = random_room(rng).moved(*rng.uniform(-3, 3, 2))
    present = _without_some(rng, room)
    hull = closed(np.array([[-9, -9], [9, -9], [9, 9], [-9, 9]]) * rng.uniform(0.6, 1.2))
    beyond = [hull] if rng.random() < 0.5 else []
    if rng.random() < 0.3:
        beyond.append(_outside(behind.walls, room.floor))
    return (
        room,
        Room(np.concatenate([present.walls, *beyond]), present.furniture, room.floor),
        True,
    )


def _outside(segments, floor):
    """Return those segments whose ends are on none of the rectangles."""
    ends = segments.reshape(-1, 2)
    on = np.zeros(len(ends), dtype=bool)
    for x, y, w, d in floor:
        on |= (np.abs(ends[:, 0] - x) <= w / 2 + 0.3) & (np.abs(ends[:, 1] - y) <= d / 2 + 0.3)
    return segments[~on.reshape(-1, 2).any(axis=1)]


def walls_added(rng, spoiling):
    """Walls stand where the map has none, most of them parallel to those of the map."""
    room = random_room(rng)
    added = []
    for _ in range(rng.integers(1, 4)):
        x, y, w, d = room.floor[rng.integers(len(room.floor))]
        length = rng.uniform(0.5, 3.0)
        yaw = rng.choice([0.0, math.pi / 2]) if rng.random() < 0.7 else rng.uniform(0, math.pi)
        added.append(
            box(x + rng.uniform(-0.5, 0.5) * w, y + rng.uniform(-0.5, 0.5) * d, length, 0.06, yaw)
        )
    return room, Room(room.walls, room.furniture + added, room.floor), True


def noise(rng, spoiling):
    """Range noise of 1 to 5 cm."""
    spoiling.noise_m = rng.uniform(0.01, 0.05)
    return clean(rng, spoiling)


def dropouts(rng, spoiling):
    """Up to 30 % of the beams come back empty."""
    spoiling.dropouts = rng.uniform(0.05, 0.3)
    return clean(rng, spoiling)


def glass(rng, spoiling):
    """Whole sectors come back empty."""
    spoiling.glass = rng.uniform(0.1, 0.5)
    return clean(rng, spoiling)


def half_scanner(rng, spoiling):
    """See 180 degrees only."""
    spoiling.field_of_view = math.pi
    spoiling.blocked = rng.uniform(0.0, 0.2)
    return clean(rng, spoiling)


def symmetric(rng, spoiling):
    """Rooms that look the same from two places or more: nothing to be told."""
    shape = rng.integers(3)
    if shape == 0:
        w, d = rng.uniform(2.5, 8, 2)
        d = w if rng.random() < 0.4 else d
        room = Room(outline([(0, 0, w, d)]), [], [(0, 0, w, d)])
    elif shape == 1:
        sides, radius = int(rng.choice([3, 4, 6, 8])), rng.uniform(1.8, 4)
        inner = radius * math.cos(math.pi / sides)
        room = Room(disc(0, 0, radius, sides), [], [(0, 0, inner, inner)])
    else:
        half = random_room(rng)
        pieces = half.furniture + [-p for p in half.furniture]
        floor = half.floor + [(-x, -y, w, d) for x, y, w, d in half.floor]
        room = Room(outline(floor), pieces, floor)
    if rng.random() < 0.3:
        spoiling.blocked = rng.uniform(0.0, 0.4)
    if rng.random() < 0.3:
        spoiling.field_of_view = math.pi
    return room, room, True


def nearly_symmetric(rng, spoiling):
    """Put one thing that tells into a symmetric room; it may be hidden, or gone."""
    room, _, _ = symmetric(rng, spoiling)
    telling = random_piece(rng, room.floor, (0.15, 1.2))
    mapped = Room(room.walls, [*room.furniture, telling], room.floor)
    gone = rng.random() < 0.2
    return mapped, room if gone else mapped, True


def repeated(rng, spoiling):
    """Rooms like each other along a corridor; some with something of their own."""
    w, d = rng.uniform(2.0, 4.0, 2)
    wide, count = rng.uniform(1.0, 2.0), int(rng.integers(2, 6))
    door, at = rng.uniform(0.7, 1.0), rng.uniform(-0.3, 0.3) * (w - 1.2)
    pieces = [random_piece(rng, [(0, 0, w, d)]) for _ in range(rng.integers(0, 3))]
    parts, furniture, floor = [], [], []
    for number in range(count):
        x = number * w
        left, right, top = x - w / 2, x + w / 2, d / 2
        parts += [
            [(left, -top), (left, top)],
            [(left, top), (right, top)],
            [(right, top), (right, -top)],
            [(left, -top), (x + at - door / 2, -top)],
            [(x + at + door / 2, -top), (right, -top)],
        ]
        own = [random_piece(rng, [(0, 0, w, d)])] if rng.random() < 0.3 else []
        furniture += [piece + [x, 0] for piece in pieces + own]
        floor.append((x, 0, w, d))
    low, left, right = -d / 2 - wide, -w / 2, (count - 0.5) * w
    parts += [
        [(left, -d / 2), (left, low)],
        [(left, low), (right, low)],
        [(right, low), (right, -d / 2)],
    ]
    if rng.random() < 0.3:
        floor.append(((left + right) / 2, -d / 2 - wide / 2, right - left, wide))
    room = Room(np.array(parts, dtype=float), furniture, floor)
    spoiling.blocked = rng.uniform(0.0, 0.3) if rng.random() < 0.5 else 0.0
    return room, room, True


def corridor(rng, spoiling):
    """Two long walls and nothing else within sight, or niches at even distances."""
    width, length = rng.uniform(0.9, 2.5), rng.uniform(8.0, 40.0)
    floor = [(0.0, 0.0, length, width)]
    style = rng.integers(4)
    if style == 1:
        every = rng.uniform(1.5, 4.0)
        floor += [
            (x, width / 2, 0.9, 0.3)
            for x in np.arange(-length / 2 + every, length / 2 - 0.5, every)
        ]
    elif style == 2:
        floor += [
            (
                rng.uniform(-0.45, 0.45) * length,
                rng.choice([-1, 1]) * width / 2,
                rng.uniform(0.6, 2),
                0.8,
            )
            for _ in range(rng.integers(1, 6))
        ]
    room = Room(outline(floor), [], floor[:1])
    spoiling.range_max = float(rng.choice([4.0, 6.0, 8.0]))
    spoiling.noise_m = rng.uniform(0.005, 0.03)
    spoiling.blocked = rng.uniform(0.0, 0.3) if rng.random() < 0.3 else 0.0
    return room, room, True


def mirrored(rng, spoiling):
    """Map a room and its mirror image, or the wrong one only."""
    room = random_room(rng)
    twin = room.moved(rng.uniform(10, 14), rng.uniform(-1, 1), mirror=True)
    if rng.random() < 0.3 and likeness(room, twin) < MOST_ALIKE:
        return twin.moved(-12, 0), room, False
    return together([room, twin]), room if rng.random() < 0.5 else twin, True


def wrong_room(rng, spoiling):
    """Map another room."""
    _everything(rng, spoiling, 0.5)
    mapped, present = random_room(rng), random_room(rng)
    while likeness(present, mapped) >= MOST_ALIKE:
        present = random_room(rng)
    return mapped, present, False


def rotated_map(rng, spoiling):
    """Give the map's origin a yaw."""
    spoiling.origin_yaw = rng.uniform(-math.pi, math.pi)
    return clean(rng, spoiling)


def coarse_cells(rng, spoiling):
    """Cells of 8 to 15 cm."""
    spoiling.resolution = rng.uniform(0.08, 0.15)
    return clean(rng, spoiling)


def fine_cells(rng, spoiling):
    """Cells of 1.5 to 4 cm."""
    spoiling.resolution = rng.uniform(0.015, 0.04)
    return clean(rng, spoiling)


def building(rng, spoiling):
    """Six to twelve different rooms, the robot in one."""
    rooms = [
        random_room(rng, size=(2.5, 5)).moved(9 * (n % 3), 9 * (n // 3))
        for n in range(rng.integers(4, 10))
    ]
    spoiling.blocked = rng.uniform(0.0, 0.3)
    return together(rooms), rooms[rng.integers(len(rooms))], True


def _everything(rng, spoiling, part=1.0):
    spoiling.noise_m = rng.uniform(0.01, 0.05)
    spoiling.blocked = rng.uniform(0.0, 0.5 * part)
    spoiling.dropouts = rng.uniform(0.0, 0.3 * part)
    spoiling.glass = rng.uniform(0.0, 0.2 * part)
    spoiling.field_of_view = math.pi if rng.random() < 0.2 else 2 * math.pi
    spoiling.resolution = rng.uniform(0.02, 0.1)
    spoiling.origin_yaw = rng.uniform(-math.pi, math.pi)
    spoiling.ragged_m = rng.uniform(0.0, 0.03)


def everything(rng, spoiling):
    """All of it at once, in any world."""
    worlds = (clean, walls_removed, walls_added, nearly_symmetric, repeated, mirrored)
    mapped, present, inside = worlds[rng.integers(len(worlds))](rng, spoiling)
    _everything(rng, spoiling)
    return mapped, present, inside


KINDS = {
    function.__name__: function
    for function in (
        clean,
        obstacles,
        walls_removed,
        walls_added,
        noise,
        dropouts,
        glass,
        half_scanner,
        symmetric,
        nearly_symmetric,
        repeated,
        corridor,
        mirrored,
        wrong_room,
        rotated_map,
        coarse_cells,
        fine_cells,
        building,
        everything,
    )
}
