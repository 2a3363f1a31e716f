"""Gaps of all widths and shapes that the contour follower is measured in, in robot diameters."""
from oomwoo_clean.contour_scenarios import (
    HALF_WALL_M,
    ROBOT_DIAMETER_M,
    Scenario,
    WALL_M,
)

WIDTHS = (0.95, 1.0, 1.05, 1.1, 1.2, 1.3)
REFUSED, ENTERED = 1.0, 1.1     # up to this wide a gap is refused, from this wide it is cleaned
UNTOUCHED = 1.2                 # below, a run may have one touch
LEG_M = 0.05
START_OFF_M = 0.23


def _world(length, width, start, walls, **elements):
    return {'name': 'scenario', 'start': start, 'walls': walls,
            'floor': [[-1.0, -1.5], [length + 1.0, -1.5], [length + 1.0, width + 1.0],
                      [-1.0, width + 1.0]], **elements}


def _room_with_slot(gap_m, slot, length=2.4, width=1.5):
    """
    Return a room in whose lower wall, in the middle, a slot of ``gap_m`` opens.

    ``slot`` is the outline of the slot from its left edge to its right edge, relative to the
    middle of its mouth.
    """
    h, x = HALF_WALL_M, length / 2
    outline = [[x + dx, dy] for dx, dy in slot]
    points = [*outline, [length + h, -h], [length + h, width + h], [-h, width + h], [-h, -h]]
    walls = [{'name': 'room', 'closed': True, 'thickness': WALL_M, 'points': points}]
    return _world(length, width, [0.4, START_OFF_M, 0.0], walls)


def _dead_end(gap_m):
    half, h, deep = gap_m / 2 + HALF_WALL_M, HALF_WALL_M, 0.7
    slot = [[-half, -h], [-half, -deep - h], [half, -deep - h], [half, -h]]
    return _room_with_slot(gap_m, slot), (1.2, -deep + gap_m / 2), (1.2, -0.2)


def _funnel(gap_m):
    half, h, narrow, deep = gap_m / 2 + HALF_WALL_M, HALF_WALL_M, 0.4, 0.8
    wide = half + 0.15
    slot = [[-wide, -h], [-half, -narrow - h], [-half, -deep - h], [half, -deep - h],
            [half, -narrow - h], [wide, -h]]
    return _room_with_slot(gap_m, slot), (1.2, -deep + gap_m / 2), (1.2, -0.6)


def _bend(gap_m, sign):
    """Return a slot that turns by 90 degrees, to the right (1) or left (-1) of one going in."""
    half, h, deep, side = gap_m / 2 + HALF_WALL_M, HALF_WALL_M, 0.6, 0.7
    inner, outer = -deep - h + 2 * half, -deep - h
    slot = [[-half, -h], [-half, inner], [-side, inner], [-side, outer], [half, outer], [half, -h]]
    if sign < 0:
        slot = [[-x, y] for x, y in reversed(slot)]
    end = 1.2 - sign * (side - HALF_WALL_M - gap_m / 2)
    return _room_with_slot(gap_m, slot), (end, 0.5 * (inner + outer)), (1.2, -0.3)


def _through(gap_m):
    """Return two rooms, 1.2 m wide, with a passage 40 cm long between them."""
    length, width, thick, low = 2.8, 1.5, 0.4, 0.5
    h = HALF_WALL_M
    walls = [{'name': 'room', 'closed': True, 'thickness': WALL_M,
              'points': [[-h, -h], [length + h, -h], [length + h, width + h], [-h, width + h]]}]
    high = width - low - gap_m
    boxes = [
        {'name': 'below', 'center': [length / 2, low / 2], 'size': [thick, low]},
        {'name': 'above', 'center': [length / 2, width - high / 2], 'size': [thick, high]}]
    raw = _world(length, width, [0.4, START_OFF_M, 0.0], walls, boxes=boxes)
    return raw, (length / 2 + thick / 2, low + gap_m / 2), (length / 2, low + gap_m / 2)


def _legs(gap_m):
    apart = (gap_m + LEG_M) / 2
    legs = [{'name': f'leg{x > 0}', 'center': [x, 0.0], 'radius': LEG_M / 2}
            for x in (-apart, apart)]
    raw = {'name': 'scenario', 'start': [-apart, START_OFF_M + LEG_M / 2, 0.0],
           'floor': [[-4, -4], [4, -4], [4, 4], [-4, 4]], 'cylinders': legs}
    return raw, (0.0, 0.0), (0.0, 0.0)


SHAPES = {
    'dead_end': (_dead_end, 'a slot 70 cm deep'),
    'through': (_through, 'a passage between two rooms'),
    'bend_right': (lambda gap_m: _bend(gap_m, 1.0), 'a slot that turns right'),
    'bend_left': (lambda gap_m: _bend(gap_m, -1.0), 'a slot that turns left'),
    'legs': (_legs, 'two round legs'),
    'funnel': (_funnel, 'a slot behind a funnel')}


def _build():
    for shape, (build, about) in SHAPES.items():
        for width in WIDTHS:
            raw, end, inside = build(width * ROBOT_DIAMETER_M)
            x, y = inside
            yield Scenario(
                f'{shape}_{width:g}', f'{about}, {width:g} robot diameters wide', raw,
                never_inside=((x - 0.05, y - 0.05, x + 0.05, y + 0.05),) * (width <= REFUSED),
                reached=(end,) * (width >= ENTERED), touches=int(width < UNTOUCHED))


GAP_SCENARIOS = {scenario.name: scenario for scenario in _build()}
