"""
The way out of a narrow place: look, take the widest way, and learn from every touch.

What the scan does not show, a touch puts in the way; so this ends outside, or with no way left.
"""
from dataclasses import replace
import math

import numpy as np
from oomwoo_clean.bump_contact import arc_of, BOTH, Contact
from oomwoo_clean.free_ways import FreeWays
from oomwoo_clean.reflex_settings import STAND
from oomwoo_localization.frames import compose, inverse, transform_points, wrap_angle
from oomwoo_localization.scans import scan_points

TALL_M = 0.02                 # returns lower than this are the floor, seen by a tilted scanner
_LOOK_S = 0.7                 # standing: a narrow gap has less to spare than one scan's noise
_BEHIND_M = 0.1               # what is this much farther than the return is hidden by that
# Beyond the body, the widest way first: the last is within the error of what was seen.
_MARGINS_M, _LIKED_M = (0.02, 0.008, 0.0, -0.004), 0.06
_CUT_M = 0.02                 # corners are cut where there is as much beyond the body
_APART_M = 0.04               # between two corners of a way
_SPEEDS, _TURN = (0.12, 0.22), 1.2             # by a way that just fits, and with room
_AIM_RAD, _BESIDE_RAD = math.radians(5.0), math.radians(35.0)
_NEAR_M, _AT_M = 0.1, 0.02
_LEG_M = 0.6                  # so far it goes without looking anew
_BACK_S, _BACK_SPEED = 0.5, 0.1
_SEEN_M = 0.03                # a return as near as this to the shell is what was touched
_OVERLAP_RAD = math.radians(8.0)               # so near to straight ahead both halves are pressed
_COVER_M = 0.03               # so deep under the body nothing solid can be
_TRIED_M = 1.0                # that a way out is worth less for having led back here before
_UNWANTED_M = 0.7             # that the way back is worth less than where somebody wants to go
_ROUNDS = 2                   # without any way, before it says that there is none


class Touches:
    """What was felt in one attempt: things that no scan shows, and gaps that were too narrow."""

    def __init__(self, robot):
        """Begin with none."""
        self._radius = robot.body.radius
        self._half_angle = math.radians(robot.bumper.half_angle_deg)
        self.forget()

    def forget(self):
        """Begin anew."""
        self._unseen, self._failed = [], []

    def add(self, sides, pose, seen):
        """Take a touch of ``sides`` at ``pose`` (3,), with the returns ``seen`` (N, 2) in odom."""
        side = BOTH if len(sides) == 2 else next(iter(sides))
        azimuths = arc_of(side, _OVERLAP_RAD, self._half_angle)
        local = transform_points(inverse(pose), seen)
        bearings = np.arctan2(local[:, 1], local[:, 0])
        at_shell = (np.hypot(*local.T) < self._radius + _SEEN_M) & (
            np.abs(bearings - azimuths.mean()) < np.ptp(azimuths) / 2 + _OVERLAP_RAD)
        if at_shell.any():
            self._failed.append(pose[:2].copy())
        else:
            self._unseen.append(
                Contact(side, pose.copy(), 0.0, len(self._unseen), azimuths, pose=pose.copy()))

    def passed(self, pose):
        """Take away what the body covers at ``pose``."""
        for contact in self._unseen:
            contact.lose_covered(pose[:2], self._radius - _COVER_M, self._radius)

    @property
    def points(self):
        """Return where unseen things are, (N, 2)."""
        return np.reshape([contact.likely_point(self._radius) for contact in self._unseen
                           if contact.alive.any()], (-1, 2))

    @property
    def failed(self):
        """Return where the body was when it touched something seen, (N, 2)."""
        return np.reshape(self._failed, (-1, 2))


class Views:
    """What was seen in one attempt: ``points`` (N, 2) in odom."""

    def __init__(self):
        """Begin with nothing."""
        self.points = np.zeros((0, 2))

    def look(self, senses):
        """
        Stand and take the median of some scans; returns whether there were any.

        Of what was seen before, that stays which is hidden from here: else a robot that finds a
        gap closed goes where it cannot see that, and believes it open again.
        """
        began_s, last_s, looks = senses.now_s, -math.inf, []
        while senses.now_s - began_s < _LOOK_S:
            if senses.sees() and senses.scan_s > max(last_s, began_s):
                last_s = senses.scan_s
                looks.append(np.where(senses.scan.valid(), senses.scan.ranges, np.inf))
            yield STAND
        looks = [ranges for ranges in looks if len(ranges) == len(senses.scan.ranges)]
        if not looks:
            return False
        scan = replace(senses.scan, ranges=np.median(looks, axis=0))
        points, _ = scan_points(scan, senses.mount)
        x, y = senses.mount[:2, 3]
        yaw = math.atan2(senses.mount[1, 0], senses.mount[0, 0])
        hidden = self._hidden(scan, compose(senses.pose, (x, y, yaw)))
        self.points = np.concatenate([
            transform_points(senses.pose, points[points[:, 2] > TALL_M, :2]),
            self.points[hidden]])
        return True

    def _hidden(self, scan, scanner):
        """Return which points are behind what a scanner at the pose (3,) sees."""
        local = transform_points(inverse(scanner), self.points)
        beams = np.rint((np.arctan2(local[:, 1], local[:, 0]) - scan.angle_min)
                        / scan.angle_increment).astype(int)
        around = (beams[:, None] + np.array([-1, 0, 1])) % len(scan.ranges)
        return np.hypot(*local.T) > scan.ranges[around].min(axis=1) + _BEHIND_M


def find_out(senses, robot, confinement, is_out):
    """
    Go out of a :class:`~oomwoo_clean.reflex_confined.Confinement` by the widest way.

    Returns '' once it is out, else why not.
    """
    touches, views, rounds = Touches(robot), Views(), 0
    while not is_out():
        if not (yield from views.look(senses)):
            return 'there is no scan'
        ways = FreeWays(np.concatenate([views.points, touches.points]), senses.pose[:2])
        route = _widest(ways, robot.body.radius, confinement, touches.failed)
        if route is None:
            rounds += 1
            if rounds >= _ROUNDS:
                return 'no gap is as wide as the body'
            touches.forget()
        else:
            yield from _go(senses, ways, route, robot.body.radius, touches, views.points, is_out)
    return ''


def _widest(ways, radius_m, confinement, failed):
    """Return the route with the widest margin that there is, None without any."""
    def worse(ends):
        bearings = np.arctan2(*(ends - confinement.middle).T[::-1])
        metres = np.zeros(len(ends))
        if confinement.wanted is not None:
            metres += _UNWANTED_M * 0.5 * (1.0 - np.cos(bearings - confinement.wanted))
        for tried in confinement.tried:
            metres += _TRIED_M * np.clip(np.cos(bearings - tried), 0.0, 1.0) ** 2
        return metres

    for margin_m in _MARGINS_M:
        route = ways.route(radius_m + margin_m, radius_m + _LIKED_M, confinement.middle,
                           confinement.out_m, worse, failed)
        if route is not None and route.complete:
            return route
    # Not so far: but on, if that leads anywhere.
    if route is not None and math.dist(route.corners[-1], ways.place) > _LEG_M / 4:
        return route
    return None


def _go(senses, ways, route, radius_m, touches, seen, is_out):
    """Drive along a route until a touch, its end, or far enough to look anew."""
    began, corners = senses.pose[:2].copy(), route.corners[1:]
    speed = float(np.interp(route.clearance_m - radius_m, (0.0, _LIKED_M), _SPEEDS))
    while len(corners):
        first = ways.straight(senses.pose[:2], corners, radius_m + _CUT_M)
        target, corners = corners[first], corners[first + 1:]
        if len(corners) and math.dist(target, senses.pose[:2]) < _APART_M:
            continue
        while math.dist(target, senses.pose[:2]) > _AT_M:
            if senses.pressed or senses.felt:
                touches.add(senses.pressed | senses.felt, senses.pose, seen)
                began_s = senses.now_s
                while senses.now_s - began_s < _BACK_S:
                    yield -_BACK_SPEED, 0.0
                return
            if is_out() or math.dist(senses.pose[:2], began) > _LEG_M:
                return
            touches.passed(senses.pose)
            yield _towards(senses.pose, target, speed)


def _towards(pose, target, speed):
    """Return the command that leads to a place: turn on the spot, then go."""
    dx, dy = target - pose[:2]
    error = wrap_angle(math.atan2(dy, dx) - pose[2])
    if abs(error) > (_AIM_RAD if math.hypot(dx, dy) < _NEAR_M else _BESIDE_RAD):
        return 0.0, math.copysign(min(_TURN, 3.0 * abs(error) + 0.05), error)
    return speed * max(0.3, 1.0 - abs(error) / _BESIDE_RAD), 2.0 * error
