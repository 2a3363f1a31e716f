"""
The manoeuvres of the escape reflexes, as generators of (m/s, rad/s).

Each goes on from one step to the next and ends by itself; what it returns says how it went. They
stand on what :class:`Senses` holds, which its owner keeps up to date.
"""
from collections import deque
from dataclasses import dataclass, field
import math

import numpy as np
from oomwoo_clean.contour_follower import ContourFollower
from oomwoo_clean.contour_settings import FollowerSettings, HALT
from oomwoo_clean.escape_ways import find_out, TALL_M
from oomwoo_clean.reflex_settings import STAND
from oomwoo_localization.scans import scan_points

SCAN_COUNTS_S = 0.5           # an older one is not driven by
SCANNER_COUNTS_S = 3.0
_BACK_ROOM_M = 0.03           # behind the body, to drive backwards at all
_PEEL_BACK_S = 0.9
_ALONG_PER_S = 0.25           # rad/s, back towards the surface after it was left
_TURN_MOST_RAD = math.radians(150.0)
_WIGGLE_HALF_S = 0.6
_WIGGLE_SPEED, _WIGGLE_TURN = 0.12, 1.2
_SPIRAL_SPEEDS, _SPIRAL_TURNS = (0.02, 0.12), (1.5, 0.9)
_AWAY_S, _ROCK_SPEED, _ROCK_S, _ROCK_BACK_S, _ROCKS = 1.8, 0.28, 0.4, 1.0, 3
_GUARD_M, _STOP_M = 0.012, 0.008
_STANDS_S = 3.0               # a follower that stands this long finds nothing
_TOUCH_BACK_M, _TOUCH_SPEED, _TOUCH_TURN = 0.05, 0.08, 1.0
_TOUCH_AWAY_RAD, _TOUCH_CURVE = math.radians(40.0), 0.45
_TOUCH_WRAP_RAD, _TOUCH_STRAIGHT_S = math.radians(225.0), 8.0


@dataclass
class Senses:
    """What is known now: times in seconds, poses (x, y, yaw) in odom, points in base."""

    now_s: float = 0.0
    pressed: set = field(default_factory=set)         # switches, chatter left out
    felt: set = field(default_factory=set)            # bumps that began since the last step
    scan: object = None
    mount: np.ndarray = None
    scan_s: float = -math.inf
    pose: np.ndarray = field(default_factory=lambda: np.zeros(3))
    last_side: str = 'left'
    own: deque = field(default_factory=lambda: deque(maxlen=64))

    def sees(self):
        """Tell whether there is a scan to drive by."""
        return self.scan is not None and 0.0 <= self.now_s - self.scan_s <= SCAN_COUNTS_S

    def saw_lately(self):
        """Tell whether there are scans at all: while it only watches, few are read."""
        return self.scan is not None and 0.0 <= self.now_s - self.scan_s <= SCANNER_COUNTS_S

    def points(self):
        """Return the returns (N, 2) around the robot; empty without a fresh scan."""
        if not self.sees():
            return np.zeros((0, 2))
        points, _ = scan_points(self.scan, self.mount)
        return points[points[:, 2] > TALL_M, :2]


def hold(senses, seconds, linear, angular, until=None):
    """Command one thing for a time, or until ``until()`` is true; return whether it was."""
    began_s = senses.now_s
    while senses.now_s - began_s < seconds:
        if until is not None and until():
            return True
        yield linear, angular
    return False


def room_behind(senses, radius_m):
    """Return how far the body can go straight back by the scan, metres; inf: nothing seen."""
    points = senses.points()
    behind = points[(points[:, 0] < 0.0) & (np.abs(points[:, 1]) < radius_m)]
    if len(behind) == 0:
        return math.inf
    return float((-behind[:, 0] - np.sqrt(radius_m ** 2 - behind[:, 1] ** 2)).min())


def roomier_side(senses):
    """Return +1 when there is more room to the left, by the scan; -1 else."""
    points = senses.points()
    near = [np.hypot(*points[sign * points[:, 1] > 0.0].T).min(initial=9.0) for sign in (1, -1)]
    return 1 if near[0] > near[1] else -1


def away_from(side, senses):
    """Return the sign of a turn away from the pressed side; from both, to where there is room."""
    return {'left': -1, 'right': 1}.get(side) or roomier_side(senses)


def peel(senses, settings, radius_m, side, times):
    """
    Turn away from the pressed side while backing, and go along the surface for a moment.

    ``times`` counts earlier ones at this place: each turns further. Returns whether the bumper
    let go.
    """
    turn = min(math.radians(settings.peel_turn_deg) * (1.0 + 0.5 * times), _TURN_MOST_RAD)
    away = away_from(side, senses)
    for sign in (away, -away):
        angular = sign * settings.peel_turn_speed
        turn_s = turn / settings.peel_turn_speed
        back = settings.peel_back_speed if (
            room_behind(senses, radius_m) > _BACK_ROOM_M) else 0.0
        yield from hold(senses, min(_PEEL_BACK_S, turn_s), -back, angular)
        yield from hold(senses, turn_s - _PEEL_BACK_S, 0.0, angular)
        if not senses.pressed:
            yield from hold(
                senses, settings.peel_s, settings.peel_speed, -sign * _ALONG_PER_S,
                lambda: bool(senses.pressed))
            return True
    return False


def wiggle(senses, settings, radius_m):
    """Go backwards, turning to and fro: each wheel in turn gets what load there is; then away."""
    began_s, sign = senses.now_s, 1
    while senses.now_s - began_s < settings.wiggle_s:
        yield from _back(senses, radius_m, _WIGGLE_HALF_S, _WIGGLE_SPEED, sign * _WIGGLE_TURN)
        sign = -sign
    yield from _back(senses, radius_m, _AWAY_S, _ROCK_SPEED)


def spiral(senses, settings, radius_m, direction, sign):
    """
    Circle wider and wider, forward (``direction`` 1) or backwards (-1), then rock backwards.

    It begins as a turn on the spot, which brings another side of what is underneath to the wheels.
    """
    began_s = senses.now_s
    while senses.now_s - began_s < settings.spiral_s:
        part = (senses.now_s - began_s) / settings.spiral_s
        linear, angular = (
            low + (high - low) * part for low, high in (_SPIRAL_SPEEDS, _SPIRAL_TURNS))
        yield direction * linear, sign * angular
    for _ in range(_ROCKS):
        yield from hold(senses, _ROCK_S, _ROCK_SPEED, 0.0, lambda: bool(senses.pressed))
        yield from _back(senses, radius_m, _ROCK_BACK_S, _ROCK_SPEED)


def _back(senses, radius_m, seconds, speed, angular=0.0):
    """Go backwards for a time, or until something is behind."""
    return hold(senses, seconds, -speed, angular,
                lambda: room_behind(senses, radius_m) < _BACK_ROOM_M)


def follow_out(senses, settings, robot, confinement, is_out):
    """
    Go out of a :class:`~oomwoo_clean.reflex_confined.Confinement` until ``is_out()``.

    By the widest way that the scan shows; then along the edge, first on the side of the last
    bump: with the contour follower, against what that does not see by touch. Without a scan by
    touch only. Returns '' once it is out, else why it did not get out.
    """
    why_not = 'there is no scan'
    if (yield from hold(senses, SCAN_COUNTS_S, *STAND, until=senses.sees)):
        ended, why_not = yield from _for_at_most(
            senses, settings.ways_s, find_out(senses, robot, confinement, is_out), is_out)
        why_not = why_not if ended else f'no way out was found in {settings.ways_s:g} s'
    for side in (senses.last_side, 'left' if senses.last_side == 'right' else 'right'):
        if is_out():
            return ''
        yield from _for_at_most(
            senses, settings.follow_s, _along_edge(senses, settings, robot, side), is_out)
    return '' if is_out() else why_not


def _for_at_most(senses, seconds, move, is_out):
    """Do a manoeuvre until it ends, it is out or the time is over; return (ended, its value)."""
    began_s = senses.now_s
    while senses.now_s - began_s < seconds and not is_out():
        try:
            yield next(move)
        except StopIteration as ended:
            return True, ended.value
    return is_out(), ''


def _along_edge(senses, settings, robot, side):
    """Follow the edge as long as that can be seen, else feel along it."""
    if senses.sees():
        follower = ContourFollower(FollowerSettings(
            side=side, standoff_m=settings.follow_standoff_m, guard_margin_m=_GUARD_M,
            stop_margin_m=_STOP_M), robot)
        for command in _follow(senses, follower):
            if not senses.sees():
                break
            yield command
    # What it bumps into is not what it sees.
    yield from _feel_along(senses, side)


def _follow(senses, follower):
    """Step the contour follower with each scan; ends when that leads to nothing."""
    follower.enable()
    command, stepped_s, stood_s = STAND, -math.inf, None
    while True:
        if senses.scan_s > stepped_s:
            stepped_s = senses.scan_s
            out = follower.step(
                senses.scan, senses.mount, senses.scan_s, 'left' in senses.pressed,
                'right' in senses.pressed, senses.now_s - senses.scan_s)
            command = out.linear, out.angular
            if out.state == HALT and not out.backing_off:
                return
        if command != STAND:
            stood_s = None
        elif stood_s is None:
            stood_s = senses.now_s
        elif senses.now_s - stood_s > _STANDS_S:
            return
        yield command


def _feel_along(senses, side):
    """
    Go along a surface by touch: curve to it, and after a bump back, turn, curve again.

    Where the curve has turned back without a touch there is no surface: straight on, then.
    """
    sign = 1 if side == 'left' else -1
    while True:
        touched = yield from hold(
            senses, _TOUCH_WRAP_RAD / _TOUCH_CURVE, _TOUCH_SPEED, sign * _TOUCH_CURVE,
            lambda: bool(senses.pressed))
        if not touched and not (yield from hold(
                senses, _TOUCH_STRAIGHT_S, _TOUCH_SPEED, 0.0, lambda: bool(senses.pressed))):
            continue
        yield from hold(senses, _TOUCH_BACK_M / _TOUCH_SPEED, -_TOUCH_SPEED, 0.0)
        yield from hold(senses, _TOUCH_AWAY_RAD / _TOUCH_TURN, 0.0, -sign * _TOUCH_TURN)
