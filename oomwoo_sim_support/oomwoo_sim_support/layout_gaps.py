"""
Prints every gap of a layout that is narrower than a given width.

A gap is a bottleneck: two surfaces face each other, and the disk that just fits between them
touches nothing else. So the slot behind a panel, two teeth, a bay with straight sides or one that
is wider inside, and the room between two legs are gaps. A place that only narrows towards its end
is none: in a corner or a V pocket every disk between the two sides has a larger one next to it,
and a robot that keeps its distance turns round there without being squeezed. Nor is a dent that is
shallower than it is wide, nor half a circle.

Every wall is cut into convex pieces (see layout_primitives), between two of which the distance has
one smallest value. It is found exactly, so that a gap of 0.314 m is not a matter of a raster.
"""
import argparse
from dataclasses import dataclass
import itertools
import math

import numpy as np
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import LayoutError, load_layout
from oomwoo_sim_support.layout_primitives import solid_distance, touchable

TOUCHING_M = 1e-4
TOLERANCE_M = 1e-3
ALONG = np.linspace(0.0, 1.0, 33)


@dataclass(frozen=True)
class Gap:
    """Two elements (maybe one twice), the width between them, the middle of the narrowest."""

    between: tuple
    width: float
    x: float
    y: float


def find_gaps(layout, width, robot=None):
    """Return the :class:`Gap` list below ``width`` m, narrowest first; one a pair of elements."""
    parts = touchable(layout, robot or load_robot())
    found = {}
    for a, b in itertools.combinations(parts, 2):
        if math.hypot(a.x - b.x, a.y - b.y) - _reach(a) - _reach(b) >= width:
            continue
        gap = _between(a, b, width, parts)
        key = tuple(sorted((a.element, b.element)))
        if gap is not None and (key not in found or gap[0] < found[key].width):
            found[key] = Gap(key, gap[0], *gap[1])
    return sorted(found.values(), key=lambda gap: gap.width)


def undeclared_gaps(layout, gaps):
    """Return the gaps that ``narrow_gaps`` does not name with that width, to a millimetre."""
    declared = {gap.between: gap.width for gap in layout.narrow_gaps}
    return [
        gap for gap in gaps if abs(declared.get(gap.between, math.inf) - gap.width) > TOLERANCE_M]


def _reach(part):
    return part.half_x if part.kind == 'cylinder' else math.hypot(part.half_x, part.half_y)


def _between(a, b, width, parts):
    """Return (distance, middle) of the gap between two primitives, None where there is none."""
    ends = closest_points(a, b)
    distance = min(math.dist(p, q) for p, q in ends)
    if not TOUCHING_M < distance < width:
        return None
    middles = np.array([(p + q) / 2 for p, q in ends if math.dist(p, q) < distance + 1e-9])
    # parallel faces are equally close along a stretch: its two ends, and the places between
    spread = np.linalg.norm(middles[:, None] - middles[None], axis=2)
    first, last = np.unravel_index(spread.argmax(), spread.shape)
    places = middles[first] + ALONG[:, None] * (middles[last] - middles[first])
    empty = solid_distance(parts, places) >= distance / 2 - 1e-6
    return (distance, np.median(places[empty], axis=0).tolist()) if empty.any() else None


def closest_points(a, b):
    """Return pairs of points, one on each primitive, among which are all the closest ones."""
    if a.kind == b.kind == 'cylinder':
        away = np.array([b.x - a.x, b.y - a.y])
        away /= max(np.linalg.norm(away), 1e-12)
        return [(np.array([a.x, a.y]) + away * a.radius, np.array([b.x, b.y]) - away * b.radius)]
    if a.kind == 'cylinder':
        return [(p, q) for q, p in closest_points(b, a)]
    if b.kind == 'cylinder':
        centre = np.array([b.x, b.y])
        on_box = _onto_box(a, centre)
        away = on_box - centre
        return [(on_box, centre + away * b.radius / max(np.linalg.norm(away), 1e-12))]
    return ([(corner, _onto_box(b, corner)) for corner in a.corners()]
            + [(_onto_box(a, corner), corner) for corner in b.corners()])


def _onto_box(box, point):
    """Return the point of a box, inside included, that is closest to a point."""
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    turn = np.array([[c, -s], [s, c]])
    local = (point - [box.x, box.y]) @ turn
    nearest = np.clip(local, [-box.half_x, -box.half_y], [box.half_x, box.half_y])
    return turn @ nearest + [box.x, box.y]


def main(args=None):
    """Print the gaps of a layout; return the status, 1 with --strict and an undeclared one."""
    parser = argparse.ArgumentParser(
        description='Every gap of a layout that is narrower than a width.')
    parser.add_argument('layout', help='name or file of a layout')
    parser.add_argument(
        '--width', type=float, default=0.45, metavar='M', help='metres (default 0.45)')
    parser.add_argument(
        '--strict', action='store_true',
        help='exit status 1 when a gap is not declared in narrow_gaps')
    options = parser.parse_args(args)
    if not (math.isfinite(options.width) and options.width > 0):
        parser.error(f'--width must be greater than zero, got {options.width}')
    try:
        layout = load_layout(options.layout)
    except LayoutError as error:
        parser.exit(2, f'error: {error}\n')
    gaps = find_gaps(layout, options.width)
    accidental = undeclared_gaps(layout, gaps)
    diameter = 2 * load_robot().body.radius
    print(f'{layout.name}: {len(gaps)} gaps narrower than {options.width:g} m, '
          f'{len(accidental)} not declared')
    for gap in gaps:
        mark = 'NOT DECLARED' if gap in accidental else 'on purpose'
        print(f'  {gap.width:.4f} m ({gap.width / diameter:.2f} robots)  '
              f'at ({gap.x:+.2f}, {gap.y:+.2f})  {" - ".join(gap.between)}  {mark}')
    return 1 if options.strict and accidental else 0


if __name__ == '__main__':
    raise SystemExit(main())
