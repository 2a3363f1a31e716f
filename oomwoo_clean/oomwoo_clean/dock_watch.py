"""Notice that the robot does not move as it is told to, and say what is around it."""
import math

import numpy as np
from oomwoo_clean.dock_types import DockFailure
from oomwoo_localization.frames import wrap_angle

_STALLED_S = 1.5              # commanded to move for this long without moving: stuck
_FIRST_S = 5.0                # the first time: commands may need a while to find their way
_STALLED_M, _STALLED_RAD = 0.01, math.radians(3.0)
_CHECK_TURN_RAD = math.radians(40.0)
_VIEW_M = 3.0                 # what is farther away counts as this far
_FAR_WORSE, _ALIKE_M = 3.0, 0.03


class DriveWatch:
    """Notices that the wheels are told to drive and the robot does not move."""

    def __init__(self, pilot):
        """Begin here and now."""
        self._pilot = pilot
        self._since_s, self._from = pilot.time_s, pilot.odom.copy()

    def check(self, speed):
        """Raise :class:`DockFailure` when commands like ``speed`` have had no effect for long."""
        pilot = self._pilot
        moved = math.dist(pilot.odom[:2], self._from[:2]) > _STALLED_M
        if moved or abs(speed) < 0.02:
            self._since_s, self._from = pilot.time_s, pilot.odom.copy()
        elif pilot.time_s - self._since_s > _patience_s(pilot):
            raise DockFailure(
                'STUCK', 'the wheels do not move the robot: nothing for '
                f'{_patience_s(pilot)} s')


class TurnWatch:
    """Notices that a turn does not happen: the wheels stand, or they spin and the view stays."""

    def __init__(self, pilot):
        """Begin here and now."""
        self._pilot = pilot
        self._since_s, self._yaw = pilot.time_s, pilot.odom[2]
        self._view, self._view_yaw = pilot.seen.scan, pilot.odom[2]

    def check(self, rate):
        """Raise :class:`DockFailure` when turning at ``rate`` has had no effect."""
        pilot = self._pilot
        turned = wrap_angle(pilot.odom[2] - self._yaw)
        if abs(turned) > _STALLED_RAD or abs(rate) < 0.2:
            self._since_s, self._yaw = pilot.time_s, pilot.odom[2]
        elif pilot.time_s - self._since_s > _patience_s(pilot):
            raise DockFailure('WEDGED', 'the robot cannot turn: its wheels do not move; '
                              + nearest_thing(pilot))
        turned = wrap_angle(pilot.odom[2] - self._view_yaw)
        if abs(turned) > _CHECK_TURN_RAD:
            seen = view_rotation(self._view, pilot.seen.scan, turned)
            if abs(wrap_angle(seen - turned)) > 0.6 * abs(turned):
                raise DockFailure(
                    'WEDGED',
                    f'the robot cannot turn: its wheels turned {math.degrees(turned):.0f} deg, '
                    f'what it sees turned {math.degrees(seen):.0f}; ' + nearest_thing(pilot))
            self._view, self._view_yaw = pilot.seen.scan, pilot.odom[2]


def _patience_s(pilot):
    """Return how long a command may be without effect."""
    return _STALLED_S if pilot.has_moved else _FIRST_S


def nearest_thing(pilot):
    """Return in words what is nearest to the shell."""
    if len(pilot.points) == 0:
        return 'nothing is near it'
    distance = np.hypot(*pilot.points.T)
    nearest = int(np.argmin(distance))
    gap = distance[nearest] - pilot.robot.body.radius
    bearing = math.degrees(math.atan2(*pilot.points[nearest][::-1]))
    return (f'the nearest thing is {gap * 100:.0f} cm from its shell, {abs(bearing):.0f} deg to '
            f'the {"left" if bearing > 0 else "right"}')


def view_rotation(before, after, expected):
    """
    Return how far the scanner turned between two scans, rad counterclockwise.

    The circular shift of the ranges that leaves the least mean difference, if that is far less
    than the ``expected`` turn leaves; else ``expected``: where all sides look alike, or scans are
    no full turns, nothing else is known.
    """
    count, step = len(before.ranges), before.angle_increment
    if len(after.ranges) != count or abs(abs(step) * count - math.tau) > 2.0 * abs(step):
        return expected
    thin = max(1, count // 360)
    a, b = (np.where(scan.valid(), np.minimum(scan.ranges, _VIEW_M), _VIEW_M)[::thin]
            for scan in (before, after))
    count, step = len(a), step * thin
    index = (np.arange(count)[:, None] + np.arange(count)[None, :]) % count
    cost = np.abs(b[None, :] - a[index]).mean(axis=1)
    best = int(np.argmin(cost))
    if cost[round(expected / step) % count] < max(_FAR_WORSE * cost[best], _ALIKE_M):
        return expected
    return wrap_angle(best * step)
