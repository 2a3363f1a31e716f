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
from oomwoo_clean.reflex_settings import STAND
from oomwoo_localization.frames import wrap_angle
from oomwoo_localization.scans import scan_points

SCAN_COUNTS_S = 0.5           # an older one is not driven by
_BACK_ROOM_M = 0.03           # behind the body, to drive backwards at all
_TALL_M = 0.02                # returns lower than this are the floor, seen by a tilted scanner
_PEEL_BACK_S = 0.9
_ALONG_PER_S = 0.25           # rad/s, back towards the surface after it was left
_TURN_MOST_RAD = math.radians(150.0)
_WIGGLE_HALF_S = 0.6
_WIGGLE_SPEED, _WIGGLE_TURN = 0.12, 1.2
_SPIRAL_SPEEDS, _SPIRAL_TURNS = (0.02, 0.12), (1.5, 0.9)
_AWAY_S, _ROCK_SPEED, _ROCK_S, _ROCK_BACK_S, _ROCKS = 1.8, 0.28, 0.4, 1.0, 3
_GUARD_M, _STOP_M = 0.012, 0.008
_STANDS_S = 3.0               # a follower that stands this long finds nothing
_GAP_MARGIN_M, _GAP_ROOM_M = 0.006, 0.03       # beyond the body: needed, and liked
_GAP_FAR_M, _GAP_LEAST_M, _GAP_STEP_M = 1.0, 0.06, 0.4
_GAP_SPEED, _GAP_TURN, _GAP_AIM_RAD, _GAP_BACK_S = 0.12, 1.2, math.radians(3.0), 0.4
_GAP_OUTWARD = 0.4            # metres of free way that leading outwards is worth
_GAP_BLOCKED_S, _GAP_BLOCKED_RAD = 15.0, math.radians(12.0)
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

    def points(self):
        """Return the returns (N, 2) around the robot; empty without a fresh scan."""
        if not self.sees():
            return np.zeros((0, 2))
        points, _ = scan_points(self.scan, self.mount)
        return points[points[:, 2] > _TALL_M, :2]


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


def follow_out(senses, settings, robot, middle, is_out):
    """
    Follow the edge until ``is_out()``, first on the side of the last bump, then on the other.

    With the contour follower where there is a scan, by touch where not. Between the two sides it
    goes for the gaps that the scan shows: who follows the edge of a chair's leg goes round and
    round. ``middle`` is where it is confined, (x, y) in odom. Returns whether it got out.
    """
    first = senses.last_side
    second = 'left' if first == 'right' else 'right'
    for side in (first, None, second):
        began_s = senses.now_s
        if side is None:
            seen, felt = _through_gaps(senses, robot.body.radius, middle), None
        else:
            follower = ContourFollower(FollowerSettings(
                side=side, standoff_m=settings.follow_standoff_m, guard_margin_m=_GUARD_M,
                stop_margin_m=_STOP_M), robot)
            seen, felt = _follow(senses, follower), _feel_along(senses, side)
        while senses.now_s - began_s < settings.follow_s:
            if is_out():
                return True
            now = seen if senses.sees() else felt
            if now is None:
                break
            try:
                yield next(now)
            except StopIteration:
                if now is felt or felt is None:
                    break
                seen = felt                     # what it bumps into is not what it sees
    return is_out()


def _through_gaps(senses, radius_m, middle):
    """Turn to where the body can go furthest by the scan, go there, look again."""
    blocked = []                                # (direction in odom, until when)
    while True:
        blocked = [(at, until_s) for at, until_s in blocked if until_s > senses.now_s]
        outward = senses.pose[:2] - middle
        away = math.atan2(outward[1], outward[0]) if np.hypot(*outward) > 0.05 else None
        heading, travel = _best_way(
            senses.points(), radius_m, senses.pose[2], away, [at for at, _ in blocked])
        if heading is None:
            yield from hold(senses, 0.2, 0.0, _GAP_TURN)
            continue
        target = wrap_angle(senses.pose[2] + heading)
        while abs(error := wrap_angle(target - senses.pose[2])) > _GAP_AIM_RAD:
            yield 0.0, math.copysign(min(_GAP_TURN, 3.0 * abs(error) + 0.1), error)
        hit = yield from hold(
            senses, min(travel, _GAP_STEP_M) / _GAP_SPEED, _GAP_SPEED, 0.0,
            lambda: bool(senses.pressed))
        if hit:
            blocked.append((senses.pose[2], senses.now_s + _GAP_BLOCKED_S))
            yield from hold(senses, _GAP_BACK_S, -_GAP_SPEED, 0.0)


def _best_way(points, radius_m, yaw, away, blocked):
    """Return (direction in base, metres) of the best straight way; (None, 0) without any."""
    headings = np.radians(np.arange(-180.0, 180.0, 4.0))
    score = np.zeros(len(headings))
    travel = None
    for margin_m in (_GAP_MARGIN_M, _GAP_ROOM_M):
        wide = radius_m + margin_m
        along = np.cos(headings)[:, None] * points[:, 0] + np.sin(headings)[:, None] * points[:, 1]
        across = (np.sin(headings)[:, None] * points[:, 0]
                  - np.cos(headings)[:, None] * points[:, 1])
        met = (np.abs(across) < wide) & (along > 0.0)
        free = np.where(
            met, along - np.sqrt(np.maximum(wide ** 2 - across ** 2, 0.0)), _GAP_FAR_M)
        free = np.clip(free.min(axis=1, initial=_GAP_FAR_M), 0.0, _GAP_FAR_M)
        travel = free if travel is None else travel
        score += free
    if away is not None:
        score += _GAP_OUTWARD * np.cos(headings + yaw - away)
    for at in blocked:
        score[np.abs(wrap_angle(headings + yaw - at)) < _GAP_BLOCKED_RAD] = -1.0
    score[travel < _GAP_LEAST_M] = -1.0
    best = int(np.argmax(score))
    return (None, 0.0) if score[best] <= 0.0 else (float(headings[best]), float(travel[best]))


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
