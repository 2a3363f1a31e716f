"""
Find the dock: turn until the beacon is seen, measure where it is, and move on when it is hidden.

Every function is a generator of commands for a :class:`~oomwoo_clean.dock_pilot.Pilot`.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_clean.dock_pilot import MotionSettings
from oomwoo_clean.dock_types import DockFailure, InTheWay
from oomwoo_clean.dock_watch import TurnWatch
from oomwoo_localization.frames import transform_points, wrap_angle
from oomwoo_localization.settings import setting

_FULL_TURN_RAD = math.tau + math.radians(15.0)
_GLINT_RAD = math.radians(20.0)     # a light from here that was no dock is not looked at again
_HERE_M = 0.15
_OPEN_M = 0.7                       # more room than this makes a vantage point no better
_APART_M = 1.5                      # nor more distance from those before


@dataclass(frozen=True)
class SearchSettings(MotionSettings):
    """How the dock is searched."""

    search_turn_speed: float = setting(
        1.3, 'turning in search of the beacon', 'rad/s', 0.2, 2.0)
    looks: int = setting(8, 'scans in which the dock is looked for at a time', '', 2, 100)
    vantage_points: int = setting(
        8, 'places to drive to when the dock is seen from nowhere before', '', 0, 20)
    vantage_way_m: float = setting(2.0, 'longest way to the next of them', 'm', 0.3, 6.0)
    search_s: float = setting(100.0, 'time after which the search ends', 's', 5.0, 600.0)


def find_dock(pilot):
    """
    Turn, look, and move on until the dock's place is known: ``pilot.dock``.

    Raises :class:`DockFailure` NOT_FOUND when the dock is nowhere to be seen.
    """
    settings = pilot.settings
    until_s = pilot.time_s + settings.search_s
    visited = [pilot.odom[:2].copy()]
    if (yield from _look_around(pilot)):
        return
    if pilot.hint is not None and (yield from _try_hint(pilot)):
        return
    for _ in range(settings.vantage_points):
        if pilot.time_s > until_s:
            break
        goal = _towards_light(pilot)
        if goal is None:
            goal = next_vantage_point(pilot, visited)
        if goal is None:
            break
        yield from _go(pilot, goal)
        visited.append(goal)
        if (yield from _look_around(pilot)):
            return
    raise DockFailure('NOT_FOUND', _not_found(pilot, len(visited)))


def _not_found(pilot, places):
    light = ('the beacon was seen, but no dock where it shines' if pilot.beacon_seen
             else 'no beacon' if pilot.use_beacon else 'no beacon asked for')
    why = pilot.why_not_found
    return (f'no dock found from {places} place{"s" if places > 1 else ""}: {light}'
            + (f'; the LiDAR: {why}' if why else ''))


def _look_around(pilot):
    """Look once from here, with the beacon first and by LiDAR alone after a full turn."""
    if pilot.use_beacon and pilot.seen.ir is not None and (
            yield from _turn_until_seen(pilot)):
        return True
    return (yield from look(pilot))


def look(pilot):
    """Stand and look for the dock for a number of scans; tell whether it was found."""
    pilot.looking = True
    for _ in range(pilot.settings.looks):
        yield 0.0, 0.0
        if pilot.dock is not None:
            return True
    pilot.looking = False
    return False


def _turn_until_seen(pilot):
    """Turn in place by a full circle at most; stop where both receivers see a beacon, and look."""
    turned, before = 0.0, pilot.odom[2]
    direction = _nearer_way_round(pilot)
    refused = []
    watch = TurnWatch(pilot)
    while abs(turned) < _FULL_TURN_RAD:
        if pilot.sight is not None and pilot.sight.both:
            bearing = pilot.odom[2] + pilot.sight.bearing_rad
            if all(abs(wrap_angle(bearing - other)) > _GLINT_RAD for other in refused):
                yield 0.0, 0.0
                yield 0.0, 0.0
                if (yield from look(pilot)):
                    return True
                watch = TurnWatch(pilot)
                refused.append(bearing)
                pilot.lights.append((pilot.odom[:2].copy(), bearing))
        watch.check(pilot.settings.search_turn_speed)
        yield 0.0, direction * pilot.settings.search_turn_speed
        turned += wrap_angle(pilot.odom[2] - before)
        before = pilot.odom[2]
    return False


def _nearer_way_round(pilot):
    """Return 1.0 to turn left, -1.0 right, whichever brings the beacon behind sooner."""
    guess = pilot.hint if pilot.hint is not None else pilot.guess_dock()
    if pilot.sight is not None:
        bearing = pilot.sight.bearing_rad
    elif guess is not None:
        dx, dy = guess[:2] - pilot.odom[:2]
        bearing = math.atan2(dy, dx) - pilot.odom[2]
    else:
        return 1.0
    # A light to the left of straight back comes behind the robot when it turns right.
    return math.copysign(1.0, wrap_angle(bearing - math.pi))


def _towards_light(pilot):
    """
    Return the (2,) point nearer to a light that was seen from here and is no dock yet, or None.

    The dock may be too far away for the LiDAR, or half hidden.
    """
    for seen_from, bearing in pilot.lights:
        if math.dist(seen_from, pilot.odom[:2]) > _HERE_M:
            continue
        distance, _ = pilot.floor.reachable(pilot.odom[:2])
        ray = np.array([math.cos(bearing), math.sin(bearing)])
        line = pilot.odom[:2] + np.arange(0.4, 2.01, 0.1)[:, None] * ray
        there = pilot.floor.grid.lookup(distance, line, np.inf)
        good = np.flatnonzero(there < pilot.settings.vantage_way_m)
        if len(good):
            return line[good[-1]]
    return None


def _try_hint(pilot):
    """Go to where the dock should be seen from, turn the back to it and look."""
    out = pilot.robot.body.radius + 0.6
    goal = transform_points(pilot.hint, [[out, 0.0]])[0]
    yield from _go(pilot, goal, seen_only=False)
    yield from pilot.turn_to(lambda: pilot.hint[2])
    return (yield from _look_around(pilot))


def _go(pilot, goal, seen_only=True):
    """Drive to a place (2,) in odom as far as the floor lets; what is in the way ends it."""
    way = pilot.floor.plan(pilot.odom[:2], goal, seen_only=seen_only)
    if way is None:
        return
    try:
        yield from pilot.drive_along(way.points)
        yield from pilot.drive_to(lambda: way.points[-1], tolerance_m=0.05)
    except InTheWay as found:
        yield 0.0, 0.0
        if found.felt:
            pilot.floor.bumped(found.point)
            yield from pilot.back_off()


def next_vantage_point(pilot, visited):
    """
    Return the (2,) point in odom to look for the dock from next, or None when there is no other.

    Of the floor that was seen free and can be reached: far from where it looked before (the points
    ``visited``), with room around, and not far to go. A greedy next best view (Connolly, 1985) for
    a light that can hide behind anything.
    """
    floor, settings = pilot.floor, pilot.settings
    distance, clearance = floor.reachable(pilot.odom[:2])
    cells = np.argwhere(
        (distance > 0.3) & (distance < settings.vantage_way_m)
        & (clearance > settings.least_margin_m))
    if len(cells) == 0:
        return None
    points = floor.grid.cells_to_points(cells)
    apart = np.min([np.hypot(*(points - other).T) for other in visited], axis=0)
    room = clearance[cells[:, 0], cells[:, 1]]
    way = distance[cells[:, 0], cells[:, 1]]
    value = np.minimum(apart, _APART_M) + np.minimum(room, _OPEN_M) - 0.25 * way
    best = int(np.argmax(value))
    return points[best] if apart[best] > 0.3 else None
