"""
What the body would run into: how far a disc travels along an arc before it touches a point.

Frame: the disc's middle is at the origin and moves off along +x; positive curvature turns left.
Metres.
"""
import math

import numpy as np

_STRAIGHT_PER_M = 1e-3
_WALL_PER_M = 1.5             # less curvature of a surface than this is noise


def travel_to_points(points, radius_m, curvature_per_m=0.0):
    """
    Return (N,) the distance that a disc travels before it touches each of the points (N, 2).

    The disc's middle drives along an arc of ``curvature_per_m`` for at most one full turn.
    Infinite for a point that it never touches; 0 for one that is inside the disc already and ahead
    of its middle, infinite for one inside and behind: the disc leaves that one.
    """
    x, y = points[:, 0], points[:, 1]
    square = x * x + y * y
    if abs(curvature_per_m) < _STRAIGHT_PER_M:
        ahead = np.sqrt(np.maximum(radius_m ** 2 - y * y, 0.0))
        travel = np.where((np.abs(y) < radius_m) & (x > 0.0), x - ahead, np.inf)
    else:
        turn = 1.0 / abs(curvature_per_m)
        y = y if curvature_per_m > 0.0 else -y
        # Seen from the middle of the turn, the disc is at angle 0 and moves to positive angles.
        out = np.hypot(x, turn - y)
        angle = np.arctan2(x, turn - y) % math.tau
        cosine = (out ** 2 + turn ** 2 - radius_m ** 2) / np.maximum(2.0 * out * turn, 1e-9)
        touched = np.abs(out - turn) < radius_m
        travel = turn * (angle - np.arccos(np.clip(cosine, -1.0, 1.0)))
        travel = np.where(touched & (travel >= 0.0), travel, np.inf)
    return np.where(square < radius_m ** 2, np.where(x > 0.0, 0.0, np.inf), travel)


def first_in_the_way(points, radius_m, horizon_m, curvature_per_m=0.0, leave_out=None):
    """
    Return ``(travel_m, index)`` of the point that a disc meets first along an arc.

    Looks ``horizon_m`` ahead; ``leave_out`` (N,) marks points that do not count. ``(inf,
    None)`` when the disc meets none.
    """
    square = points[:, 0] ** 2 + points[:, 1] ** 2
    if leave_out is not None:
        square[leave_out] = np.inf
    near = np.flatnonzero(square < (radius_m + horizon_m) ** 2)
    if len(near) == 0:
        return math.inf, None
    travel = travel_to_points(points[near], radius_m, curvature_per_m)
    first = int(np.argmin(travel))
    if travel[first] > horizon_m:
        return math.inf, None
    return float(travel[first]), int(near[first])


def first_along_surface(around, surface, standoff_m, radius_m, horizon_m, leave_out=None):
    """
    Return the index of what a disc meets first on the way along a surface, or None.

    The disc begins where the body centre would be beside the surface at the standoff; ``around``
    are the :class:`~oomwoo_clean.contour_estimator.Surroundings`, of which ``leave_out`` does not
    count.
    """
    start = polar_point(surface.distance_m - standoff_m, surface.bearing_rad)
    ahead = seen_along(around.smooth, start, surface.bearing_rad + math.pi / 2)
    return first_in_the_way(
        ahead, radius_m, horizon_m, -path_curvature(surface.curvature_per_m, standoff_m),
        leave_out)[1]


def path_curvature(curvature_per_m, standoff_m):
    """Return the curvature of the path at the standoff along a surface; 0 along a wall."""
    if abs(curvature_per_m) < _WALL_PER_M:
        return 0.0
    return curvature_per_m / max(1.0 + curvature_per_m * standoff_m, 0.2)


def seen_along(points, origin, heading_rad):
    """Return points (N, 2) as seen from ``origin`` (2,) with the x axis along the heading."""
    c, s = math.cos(heading_rad), math.sin(heading_rad)
    return (points - origin) @ np.array([[c, -s], [s, c]])


def polar_point(distance, bearing_rad):
    """Return (2,) the point at a distance and bearing from the origin."""
    return np.array([distance * math.cos(bearing_rad), distance * math.sin(bearing_rad)])
