"""
How the relocalizer's time grows with the map.

Offices of rooms with doors, from a flat's size to a building's.
"""

import math
import time

import numpy as np
from oomwoo_localization.relocalizer import Relocalizer
from oomwoo_sim_support.reloc_trial import result
from oomwoo_sim_support.reloc_worlds import draw_map, make_scan, outline, random_piece, Room

# Width, depth, and how many offices of that size.
SIZES = ((7.0, 6.0, 20), (10.0, 10.0, 4), (15.0, 15.0, 3), (20.0, 20.0, 2), (30.0, 30.0, 2))
ROOM_M, DOOR_M = 5.0, 0.9
QUESTIONS = 12
ELSEWHERE = 4  # each so-manieth question is asked from an office that is not in the map
CROWDED = 3  # and before it one among as many new things


def office(width, depth, rng):
    """Return a :class:`Room` of rooms about 5 m wide, with doors between them and furniture."""
    columns, rows = max(1, round(width / ROOM_M)), max(1, round(depth / ROOM_M))
    # Rooms are not all of a size, or each would look like its neighbour.
    x, y = _partition(width, columns, rng), _partition(depth, rows, rng)
    walls = outline([(width / 2, depth / 2, width, depth)]).tolist()
    for across in x[1:-1]:
        for low, high in zip(y[:-1], y[1:]):
            walls += [[(across, a), (across, b)] for a, b in _with_door(low, high, rng)]
    for across in y[1:-1]:
        for low, high in zip(x[:-1], x[1:]):
            walls += [[(a, across), (b, across)] for a, b in _with_door(low, high, rng)]
    floor = [
        ((a + b) / 2, (c + d) / 2, b - a, d - c)
        for a, b in zip(x[:-1], x[1:])
        for c, d in zip(y[:-1], y[1:])
    ]
    furniture = [random_piece(rng, floor) for _ in range(3 * len(floor))]
    return Room(np.array(walls, dtype=float), furniture, floor)


def _partition(length, parts, rng):
    inner = np.arange(1, parts) * length / parts
    return [0.0, *(inner + rng.uniform(-0.8, 0.8, parts - 1)), length]


def _with_door(low, high, rng):
    at = rng.uniform(low + 0.3, high - 0.3 - DOOR_M)
    return (low, at), (at + DOOR_M, high)


def speed_trials(seed, sizes=SIZES, questions=QUESTIONS):
    """
    Return a dict for each question asked in offices of growing size.

    Cells of 5 cm, 180 beams, 1 cm noise. Some questions cannot be answered: of each ELSEWHERE one
    comes from an office that is not in the map, and one from among new things. ``ms`` is match,
    runner-up and refinement in processor time, the least of three, so that other programs do not
    count; ``prepare_ms`` what the map took once, likewise; ``memory_mb`` what is kept of it.
    """
    return [
        trial
        for width, depth, offices in sizes
        for number in range(offices)
        for trial in _office_trials([seed, round(width), number], width, depth, questions)
    ]


def _office_trials(seed, width, depth, questions):
    """Return the dicts of one office."""
    rng = np.random.default_rng(seed)
    room, other = office(width, depth, rng), office(width, depth, rng)
    grid = draw_map(room.segments, 0.05, 0.0, np.array([room.place(rng) for _ in range(10)]), rng)
    began = time.process_time()
    relocalizer = Relocalizer(grid)
    prepare_ms = (time.process_time() - began) * 1e3
    results = []
    for number in range(1, questions + 1):
        elsewhere = number % ELSEWHERE == 0
        here = other if elsewhere else room
        if number % ELSEWHERE == ELSEWHERE - 1:
            new = [random_piece(rng, room.floor, (0.1, 0.8)) for _ in range(CROWDED)]
            here = Room(room.walls, room.furniture + new, room.floor)
        truth = np.array([*here.place(rng), rng.uniform(-math.pi, math.pi)])
        scan, _ = make_scan(here.segments, truth, 180, 2 * math.pi, 8.0, rng, 0.01)
        spent = []
        for _ in range(3):
            began = time.process_time()
            answer = relocalizer.relocalize(scan, np.eye(4))
            spent.append((time.process_time() - began) * 1e3)
        more = result(
            f'office {width:.0f} x {depth:.0f} m',
            answer,
            None if elsewhere else truth,
            prepare_ms=prepare_ms,
            area_m2=width * depth,
            memory_mb=relocalizer.pyramid.nbytes / 1e6,
            solvable=not elsewhere,
        )
        results.append({**more, 'ms': min(spent)})
    return results
