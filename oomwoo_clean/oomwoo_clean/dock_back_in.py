"""
The last leg: backwards into the bay, centred and square, until the contacts meet.

The angle to the centreline that is asked for grows with the distance to it (as in Kanayama et al.,
"A stable tracking control method for an autonomous mobile robot", 1990).
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_clean.dock_types import DockFailure
from oomwoo_clean.dock_watch import DriveWatch
from oomwoo_localization.frames import transform_points
from oomwoo_localization.settings import setting

_LOST_S = 1.0                 # without a fix for this long: no further in
_CONTACT_S = 0.3              # the contacts must hold for this long
_BAY_LOOKS = 4
_BRAKE_MPS2 = 0.08
_BAY_POINTS = 3               # returns that make a thing and not noise
_BAY_SLACK_M = 0.05           # nearer than this to a wall of the bay is that wall
_TAIL_SLACK_M = 0.02


@dataclass(frozen=True)
class BackInSettings:
    """How the robot backs into the bay."""

    back_speed: float = setting(0.15, 'backing in', 'm/s', 0.02, 0.2)
    creep_speed: float = setting(0.02, 'over the last travel', 'm/s', 0.005, 0.1)
    gate_lateral_m: float = setting(
        0.025, 'the mouth is crossed only within this of the centreline', 'm', 0.002, 0.1)
    gate_yaw_deg: float = setting(
        5.0, 'and within this of square', 'deg', 0.5, 20.0)
    bay_lateral_m: float = setting(
        0.015, 'inside the bay no further off the centreline than this', 'm', 0.002, 0.1)
    stop_short_m: float = setting(
        0.015, 'stops this far before the back of the bay and creeps from there', 'm', 0.0, 0.05)
    creep_more_m: float = setting(
        0.003, 'creeps at most this far beyond where the back should touch', 'm', 0.0, 0.05)
    line_gain: float = setting(
        6.0, 'angle to the centreline asked for per distance to it', 'rad/m', 1.0, 30.0)
    line_limit_deg: float = setting(12.0, 'largest such angle', 'deg', 1.0, 30.0)
    angle_gain: float = setting(2.5, 'turn rate per error of that angle', '1/s', 0.5, 6.0)


def things_in_the_bay(pilot):
    """Return how many returns lie between the robot's back and the back of the bay."""
    shape, (x, _, _) = pilot.shape, pilot.in_dock
    points = transform_points(pilot.in_dock, pilot.points)
    inside = ((points[:, 0] > _BAY_SLACK_M - shape.depth)
              & (points[:, 0] < x - pilot.robot.body.radius - _TAIL_SLACK_M)
              & (np.abs(points[:, 1]) < shape.half_width - _BAY_SLACK_M))
    return int(inside.sum())


def bay_is_free(pilot):
    """
    Look into the bay, and wait for what stands in it to go away.

    Raises :class:`DockFailure` BAY_BLOCKED when it stays.
    """
    until_s = pilot.time_s + pilot.settings.blocked_s
    while True:
        found = []
        for _ in range(_BAY_LOOKS):
            found.append(things_in_the_bay(pilot) >= _BAY_POINTS)
            yield 0.0, 0.0
        if sum(found) <= _BAY_LOOKS // 2:
            return
        if pilot.time_s > until_s:
            raise _bay_blocked()


def _bay_blocked():
    return DockFailure('BAY_BLOCKED', 'something stands in the bay or before its mouth')


def back_in(pilot, home):
    """
    Back in until the dock charges; ``home`` (3,) is the docked pose in the dock frame.

    Returns None when docked, else the :class:`DockFailure` for which the robot must pull out.
    """
    settings = pilot.settings
    watch = DriveWatch(pilot)
    blocked = 0
    short = home[0] + settings.stop_short_m
    while True:
        if pilot.seen.charging:
            yield from pilot.stand(_CONTACT_S)
            if pilot.seen.charging:
                return None
        if pilot.time_s - pilot.dock_time_s > _LOST_S:
            yield 0.0, 0.0
            return DockFailure(
                'DOCK_LOST', f'lost sight of the dock while backing in: {pilot.why_not_found}')
        blocked = blocked + 1 if things_in_the_bay(pilot) >= _BAY_POINTS else 0
        if blocked >= _BAY_LOOKS // 2:
            yield 0.0, 0.0
            return _bay_blocked()
        x, lateral, yaw = pilot.in_dock
        problem = _not_lined_up(pilot, x, lateral, yaw)
        if problem is not None:
            yield 0.0, 0.0
            return problem
        if x < home[0] - settings.creep_more_m:
            yield 0.0, 0.0
            return DockFailure('NO_CONTACT', 'all the way in, and the dock does not charge')
        if x < short:
            speed = settings.creep_speed
        else:
            speed = min(settings.back_speed, math.sqrt(
                settings.creep_speed ** 2 + 2.0 * _BRAKE_MPS2 * (x - short)))
        limit = math.radians(settings.line_limit_deg)
        asked = max(-limit, min(limit, settings.line_gain * lateral))
        rate = settings.angle_gain * (asked - yaw)
        watch.check(speed if x > short else 0.0)
        yield -speed, max(-0.5, min(0.5, rate))


def _not_lined_up(pilot, x, lateral, yaw):
    """Return a :class:`DockFailure` when the robot must not go on into the bay, or None."""
    settings, radius = pilot.settings, pilot.robot.body.radius
    off = f'{lateral * 1e3:+.0f} mm off the centreline and {math.degrees(yaw):+.1f} deg off square'
    if x < radius + 0.02 and (abs(lateral) > settings.gate_lateral_m
                              or abs(yaw) > math.radians(settings.gate_yaw_deg)):
        return DockFailure('NOT_LINED_UP', f'{off} at the mouth')
    if x < radius / 2 and abs(lateral) > settings.bay_lateral_m:
        return DockFailure('NOT_LINED_UP', f'{off} in the bay')
    return None
