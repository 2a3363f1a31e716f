"""
Forwards to the staging point: onto the dock's centreline, then along it.

Every function is a generator of commands for a :class:`~oomwoo_clean.dock_pilot.Pilot`.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_clean.dock_types import DockFailure, InTheWay
from oomwoo_clean.front_guard import first_in_the_way, seen_along
from oomwoo_localization.frames import transform_points
from oomwoo_localization.settings import setting

_REROUTES = 6
_ON_LINE_M = 0.03


@dataclass(frozen=True)
class ApproachSettings:
    """Where the robot turns round."""

    staging_m: float = setting(
        0.35, 'the staging point is this far out of the mouth', 'm', 0.25, 1.0)
    line_up_m: float = setting(
        0.25, 'the centreline is joined this far before the staging point', 'm', 0.0, 1.0)


def drive_to_staging(pilot):
    """Onto the centreline, then along it, round whatever stands there."""
    settings = pilot.settings
    reroutes, until_s = 0, None
    while True:
        try:
            yield from _line_up(pilot)
            yield from _way_to(pilot, settings.staging_m)
            return
        except InTheWay as found:
            yield 0.0, 0.0
            if found.felt:
                pilot.floor.bumped(found.point)
                yield from pilot.back_off()
            reroutes += 1
            if reroutes > _REROUTES:
                raise
            if reroutes % 2 == 0:
                yield from _make_room(pilot)
        except DockFailure as failure:
            if failure.code != 'BLOCKED':
                raise
            until_s = pilot.time_s + settings.blocked_s if until_s is None else until_s
            if pilot.time_s > until_s:
                raise
            yield from pilot.stand(0.5)


def _make_room(pilot):
    """Get away from what is close beside the body, which noise puts in the way again and again."""
    try:
        yield from pilot.make_room()
    except InTheWay:
        yield 0.0, 0.0


def _line_up(pilot):
    """Join the centreline before the staging point, nearer to it where there is no room."""
    settings = pilot.settings
    for share in (1.0, 0.5):
        x, y, _ = pilot.in_dock
        if x < settings.staging_m or abs(y) < _ON_LINE_M:
            return
        try:
            yield from _way_to(pilot, settings.staging_m + share * settings.line_up_m)
            return
        except DockFailure as failure:
            if failure.code != 'BLOCKED':
                raise


def _way_to(pilot, out_m):
    """
    Plan and drive to the point of the centreline that is ``out_m`` out of the mouth.

    It moves as the estimate of the dock improves.
    """
    def goal():
        return transform_points(pilot.dock, [[out_m, 0.0]])[0]

    yield from pilot.stand(0.2)
    way = (pilot.floor.plan(pilot.odom[:2], goal(), pilot.dock_outline())
           or pilot.floor.plan(pilot.odom[:2], goal(), pilot.dock_outline(), seen_only=False))
    if way is None:
        raise DockFailure('BLOCKED', _no_way(pilot, goal()))
    yield from pilot.drive_along(way.points)
    yield from pilot.drive_to(goal, tolerance_m=0.015)


def _no_way(pilot, goal):
    bearing = goal - pilot.odom[:2]
    ends = transform_points(pilot.odom, pilot.points)
    heading = math.atan2(bearing[1], bearing[0])
    along = seen_along(ends, pilot.odom[:2], heading)
    _, index = first_in_the_way(
        along, pilot.robot.body.radius, float(np.hypot(*bearing)))
    what = '' if index is None else f'; in the way: {pilot.describe(ends[index])}'
    off = np.hypot(*(ends - goal).T)
    if len(off) and off.min() < pilot.robot.body.radius:
        what = f'; something stands there: {pilot.describe(ends[int(np.argmin(off))])}'
    return f'no way to a place {np.hypot(*bearing):.2f} m away that is needed to dock{what}'
