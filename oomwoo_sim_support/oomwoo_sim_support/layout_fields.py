"""Readers of a layout file's fields: each returns YAML's value, checked, or raises ValueError."""

import math

import numpy as np

LARGEST_M = 200.0             # nothing in a home is farther from the origin


def text(value):
    """Return a non-empty string."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f'expected a name, got {value!r}')
    return value


def flag(value):
    """Return a bool."""
    if not isinstance(value, bool):
        raise ValueError(f'expected true or false, got {value!r}')
    return value


def number(value):
    """Return a finite float; neither a bool nor a string is one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f'expected a number, got {value!r}')
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(f'must be finite, got {value}')
    return value


def coordinate(value):
    """Return a length in metres that lies within a home."""
    value = number(value)
    if abs(value) > LARGEST_M:
        raise ValueError(f'must lie within {LARGEST_M:g} m, got {value:g}')
    return value


def positive(value):
    """Return a coordinate above zero."""
    value = coordinate(value)
    if value <= 0.0:
        raise ValueError(f'must be greater than zero, got {value:g}')
    return value


def not_negative(value):
    """Return a number that is zero or more."""
    value = number(value)
    if value < 0.0:
        raise ValueError(f'must not be negative, got {value:g}')
    return value


def degrees(value):
    """Return an angle in radians of one in degrees."""
    return math.radians(number(value))


def _listed(value, count, what, reader):
    if not isinstance(value, (list, tuple)) or len(value) != count:
        raise ValueError(f'expected {what}, got {value!r}')
    return tuple(reader(v) for v in value)


def point(value):
    """Return (x, y)."""
    return _listed(value, 2, '[x, y]', coordinate)


def size(value):
    """Return (length, width), both above zero."""
    return _listed(value, 2, '[length, width]', positive)


def pose(value):
    """Return (x, y, yaw in radians) of [x, y, yaw in degrees]."""
    x, y, yaw = _listed(value, 3, '[x, y, yaw]', number)
    return coordinate(x), coordinate(y), math.radians(yaw)


def height(value):
    """Return (bottom, top) with the bottom on or above the floor and below the top."""
    bottom, top = _listed(value, 2, '[bottom, top]', coordinate)
    if bottom < 0.0:
        raise ValueError(f'bottom {bottom:g} is below the floor')
    if top <= bottom:
        raise ValueError(f'top {top:g} must be above bottom {bottom:g}')
    return bottom, top


def _points(value, fewest):
    if not isinstance(value, (list, tuple)) or len(value) < fewest:
        raise ValueError(f'expected a list of at least {fewest} points [x, y], got {value!r}')
    points = []
    for index, entry in enumerate(value):
        try:
            points.append(point(entry))
        except ValueError as error:
            raise ValueError(f'point {index}: {error}') from None
        if index and math.dist(points[-1], points[-2]) < 1e-6:
            raise ValueError(f'points {index - 1} and {index} are the same, {list(points[-1])}')
    return np.array(points)


def polyline(value):
    """Return (N, 2) points, at least two, no two neighbours alike."""
    return _points(value, 2)


def polygon(value):
    """Return (N, 2) corners, at least three, of an outline that does not cross itself."""
    points = _points(value, 3)
    if math.dist(points[0], points[-1]) < 1e-6:
        raise ValueError(
            f'the last point repeats the first, {points[0].tolist()}; the polygon closes by itself'
        )
    crossing = polygon_crossing(points)
    if crossing:
        raise ValueError(f'sides {crossing[0]} and {crossing[1]} cross or touch each other')
    return points


def polygon_crossing(points):
    """Return two sides' numbers of a polygon (N, 2) that meet where they should not, or None."""
    count = len(points)
    for first in range(count):
        a, b = points[first], points[(first + 1) % count]
        for second in range(first + 1, count):
            c, d = points[second], points[(second + 1) % count]
            neighbours = second == first + 1 or (first == 0 and second == count - 1)
            if neighbours:
                far = d if second == first + 1 else c
                near = a if second == first + 1 else b
                shared = b if second == first + 1 else a
                # neighbours share a corner; they overlap when one folds back along the other
                u, v = near - shared, far - shared
                if abs(_cross(u, v)) < 1e-12 and u @ v > 0:
                    return first, second
            elif _segments_meet(a, b, c, d):
                return first, second
    return None


def _cross(u, v):
    return u[0] * v[1] - u[1] * v[0]


def _segments_meet(a, b, c, d):
    """Tell whether two closed segments have a point in common."""
    def side(p, q, r):
        area = _cross(q - p, r - p)
        return 0 if abs(area) < 1e-12 else (1 if area > 0 else -1)

    def between(p, q, r):
        return bool(
            np.all(np.minimum(p, q) - 1e-12 <= r) and np.all(r <= np.maximum(p, q) + 1e-12))

    ends = side(a, b, c), side(a, b, d), side(c, d, a), side(c, d, b)
    if ends[0] != ends[1] and ends[2] != ends[3]:
        return True
    return any(end == 0 and between(*three) for end, three in zip(
        ends, ((a, b, c), (a, b, d), (c, d, a), (c, d, b)), strict=True))


def polygon_holds(polygon_points, points):
    """Return a (N,) mask of the points (N, 2) in a polygon (M, 2): crossings to the right."""
    points = np.asarray(points, dtype=float)
    x, y = points[:, 0], points[:, 1]
    inside = np.zeros(len(points), dtype=bool)
    for a, b in zip(polygon_points, np.roll(polygon_points, -1, axis=0), strict=True):
        spans = (a[1] > y) != (b[1] > y)
        if a[1] == b[1]:
            continue
        inside ^= spans & (x < a[0] + (y - a[1]) * (b[0] - a[0]) / (b[1] - a[1]))
    return inside
