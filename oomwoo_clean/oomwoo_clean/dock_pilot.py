"""
What the docking robot knows, and its elementary moves: stand, turn in place, drive straight.

A move is a generator: each ``yield (linear, angular)`` is one command, m/s and rad/s, and what the
robot sees by then is in the pilot when it goes on. So a behaviour reads like its list of steps.
"""
from dataclasses import dataclass, replace
import math

import numpy as np
from oomwoo_clean.dock_path import PathSettings, SeenFloor
from oomwoo_clean.dock_types import InTheWay
from oomwoo_clean.dock_watch import DriveWatch, TurnWatch
from oomwoo_clean.front_guard import first_in_the_way, seen_along, travel_to_points
from oomwoo_localization.frames import compose, inverse, transform_points, wrap_angle
from oomwoo_localization.scans import scan_points
from oomwoo_localization.settings import setting

_TURNED_RAD = math.radians(1.5)     # a turn in place ends within this
_TURN_GAIN = 4.0                    # 1/s
_HEADING_GAIN = 2.5                 # 1/s, while driving straight
_MOVED = (0.01, 0.01, math.radians(3.0))
_TURN_FIRST_RAD = math.radians(20.0)    # a larger change of heading is turned in place
_STEER_FROM_M = 0.10                # nearer to its goal the robot holds its heading
_HEADINGS = 72
_MAKE_ROOM_M = 0.15
_SMOOTHED_BEAMS, _SAME_THING_M = 2, 0.04    # beams to either side, if no farther off than this
_FAR_M, _FAR_EVERY = 0.7, 3         # beyond, one of so many scans is searched for the dock
_BEACON_NEAR_M = 0.15               # body centre from the mouth
_BLOCKED_SCANS = 4                  # this many in a row with something right ahead
_BRAKE_MPS2 = 0.35                  # far below what the base does, for it answers late
_LATE_S = 0.15
_LEAST_MPS = 0.03
_OUTLINE_STEP_M = 0.02
_TRACKED_M, _TRACKED_RAD = 0.03, math.radians(3.0)   # sigmas of a tracked dock, at least
_TRUSTED_S = 0.5                    # a dock not seen for longer is looked for afresh


@dataclass(frozen=True)
class MotionSettings(PathSettings):
    """How the robot moves while it docks."""

    speed: float = setting(0.30, 'forwards, to the staging point', 'm/s', 0.05, 0.3)
    turn_speed: float = setting(1.8, 'turning in place', 'rad/s', 0.2, 2.5)
    guard_margin_m: float = setting(
        0.005, 'gap to the body at which it drives no nearer to anything', 'm', 0.0, 0.1)
    blocked_s: float = setting(
        5.0, 'waits this long for what stands in the way to go away', 's', 0.0, 120.0)
    hint_sigma_m: float = setting(
        0.10, 'error of the dock pose that is given with a goal, one sigma', 'm', 0.01, 1.0)
    hint_sigma_deg: float = setting(8.0, 'and of its angle', 'deg', 1.0, 45.0)
    back_off_m: float = setting(0.05, 'way back after a bump', 'm', 0.0, 0.2)
    back_off_speed: float = setting(0.08, 'speed of that', 'm/s', 0.02, 0.2)


class Pilot:
    """The robot's senses, what it made of them, and its elementary moves."""

    def __init__(self, robot, settings, shape, detector, tracker, sight_of):
        """
        Take the parts.

        ``shape`` is the dock's :class:`~oomwoo_localization.dock.DockShape`; ``detector`` finds it
        in a scan, ``tracker`` turns fixes into a dock pose in odom, ``sight_of(left, right)`` is
        what two receiver strengths say about the beacon.
        """
        self.robot, self.settings = robot, settings
        self._detector, self._tracker, self._sight_of = detector, tracker, sight_of
        self.shape = shape
        self.floor = SeenFloor(robot.body.radius, settings)
        self.seen, self._number = None, 0
        self.has_moved, self._began_at = False, None       # ever; (3,) in odom
        self.points = np.zeros((0, 2))      # of the newest scan in the base frame, smoothed
        self.dock = None                    # (3,) in odom, once two scans agree
        self.dock_time_s = -math.inf        # of the newest scan that told where the dock is
        self.hint = None                    # (3,) in odom: roughly where the dock should be
        self.looking = False                # search each scan for the dock
        self.use_beacon = True
        self.sight = None                   # what the receivers make of the beacon now
        self.beacon_seen = False            # ever, in this docking
        self.lights = []                    # (place, bearing) in odom of lights that were no dock

    # -- senses -----------------------------------------------------------------------------

    def take(self, seen):
        """Take in an observation with a scan, before the next command is asked for."""
        self.seen = seen
        if self._began_at is None:
            self._began_at = seen.odom
        self.has_moved |= bool(np.any(
            np.abs(compose(inverse(self._began_at), seen.odom)) > _MOVED))
        points, _ = scan_points(smoothed(seen.scan), seen.base_from_scan)
        self.points = points[:, :2]
        self.floor.see(seen.odom, seen.base_from_scan[:2, 3], self.points)
        self.sight = None
        if self.use_beacon and seen.ir is not None:
            self.sight = self._sight_of(*seen.ir)
        both = self.sight is not None and self.sight.both
        self.beacon_seen |= both
        self._number += 1
        if self.looking and (self._is_near() or self._number % _FAR_EVERY == 0):
            # In the bay the emitter is so near that its bearing says nothing of the dock.
            near = self.dock is not None and self.in_dock[0] < _BEACON_NEAR_M
            self._look(self.sight if both and not near else None)

    def _is_near(self):
        """Tell whether every scan counts: the dock is near, or not known, or lost."""
        return (self.dock is None or self.in_dock[0] < _FAR_M
                or self.time_s - self.dock_time_s > _TRUSTED_S)

    def _look(self, beacon):
        """Look for the dock in the newest scan: where it was seen before, or should be."""
        hint = None
        if self.dock is not None and (
                beacon is None or self.time_s - self.dock_time_s < _TRUSTED_S):
            hint = (compose(inverse(self.odom), self.dock), *self._dock_sigmas())
        elif self.hint is not None and beacon is None and self._number % 2:
            # Every other scan only: where the dock should be may be all wrong.
            hint = (compose(inverse(self.odom), self.hint), self.settings.hint_sigma_m,
                    math.radians(self.settings.hint_sigma_deg))
        fix = self._detector.find(
            self.seen.scan, self.seen.base_from_scan, beacon=beacon, hint=hint)
        dock = self._tracker.update(fix, self.odom)
        if dock is not None:
            self.dock, self.dock_time_s = np.asarray(dock), self.time_s

    def _dock_sigmas(self):
        """Return how well the dock's place is known, metres and radians, odometry included."""
        variances = np.diag(np.asarray(self._tracker.covariance))
        return (_TRACKED_M + math.sqrt(variances[:2].max()),
                _TRACKED_RAD + math.sqrt(variances[2]))

    def guess_dock(self):
        """Return the pose (3,) in odom of what looks most like a dock to the LiDAR, or None."""
        fix = self._detector.find(self.seen.scan, self.seen.base_from_scan)
        return None if fix is None else compose(self.odom, fix.pose)

    def forget_dock(self):
        """Begin to look anew."""
        self.dock = None
        self._tracker.reset()

    @property
    def why_not_found(self):
        """Return what the detector says about the last scan in which it found nothing."""
        return getattr(self._detector, 'reason', '')

    @property
    def time_s(self):
        """Return the time of the newest observation."""
        return self.seen.time_s

    @property
    def odom(self):
        """Return the robot's pose (3,) in odom."""
        return self.seen.odom

    @property
    def in_dock(self):
        """Return the robot's pose (3,) in the dock frame, or None while that is not known."""
        if self.dock is None or self.seen is None:
            return None
        return compose(inverse(self.dock), self.odom)

    @property
    def bumped(self):
        """Tell whether the bumper is pressed."""
        return self.seen.bumper_left or self.seen.bumper_right

    def dock_outline(self):
        """Return points (N, 2) in odom along the dock's three walls, none without a dock."""
        if self.dock is None:
            return np.zeros((0, 2))
        shape = self.shape
        ahead = np.arange(-shape.depth - shape.back, 1e-9, _OUTLINE_STEP_M)
        ahead = np.append(ahead, 0.0)
        across = np.arange(-shape.half_outside, shape.half_outside, _OUTLINE_STEP_M)
        parts = [np.stack([ahead, np.full(len(ahead), side)], axis=1)
                 for side in (shape.half_width, shape.half_outside,
                              -shape.half_width, -shape.half_outside)]
        parts.append(np.stack([np.full(len(across), -shape.depth), across], axis=1))
        return transform_points(self.dock, np.concatenate(parts))

    def free_ahead(self, direction=1.0):
        """
        Return ``(metres, point)``: how far the body can go straight on, and what it meets there.

        ``direction`` -1 looks backwards; the point is (2,) in odom, None when nothing is near.
        """
        points = direction * self.points
        travel, index = first_in_the_way(
            points, self.robot.body.radius + self.settings.guard_margin_m, 1.0)
        if index is None:
            return math.inf, None
        return travel, transform_points(self.odom, [self.points[index]])[0]

    def describe(self, point):
        """Return in words where a point (2,) in odom is, seen from the robot and the dock."""
        x, y = transform_points(inverse(self.odom), [point])[0]
        where = (f'{math.hypot(x, y):.2f} m away, {abs(math.degrees(math.atan2(y, x))):.0f} deg '
                 f'to the {"left" if y > 0 else "right"}')
        if self.dock is not None:
            x, y = transform_points(inverse(self.dock), [point])[0]
            where += f' ({x:.2f} m before the mouth of the dock, {y:+.2f} m off its middle)'
        return where

    def freest_way(self):
        """
        Return ``(metres, bearing)``: how far the body can go straight where that is farthest.

        The bearing is in the base frame, rad.
        """
        if len(self.points) == 0:
            return math.inf, 0.0
        bearings = np.linspace(0.0, math.tau, _HEADINGS, endpoint=False)
        ways = [travel_to_points(
            seen_along(self.points, np.zeros(2), bearing), self.robot.body.radius).min()
            for bearing in bearings]
        best = int(np.argmax(ways))
        return float(ways[best]), float(bearings[best])

    # -- moves ------------------------------------------------------------------------------

    def stand(self, seconds):
        """Stand for some time."""
        until_s = self.time_s + seconds
        while self.time_s < until_s - 1e-6:
            yield 0.0, 0.0

    def turn_to(self, heading):
        """Turn in place to ``heading()``, rad in odom, which may change meanwhile."""
        watch = TurnWatch(self)
        settled = 0
        while settled < 2:
            error = wrap_angle(heading() - self.odom[2])
            settled = settled + 1 if abs(error) < _TURNED_RAD else 0
            rate = 0.0 if settled else max(
                -self.settings.turn_speed, min(self.settings.turn_speed, _TURN_GAIN * error))
            watch.check(rate)
            yield 0.0, rate

    def drive_to(self, goal, tolerance_m=0.02, through=False):
        """
        Drive straight to ``goal()``, (2,) in odom, after turning in place to face it.

        With ``through`` it does not slow down for the goal, only for what is in the way, for
        which it stops and raises :class:`InTheWay`.
        """
        def off():
            dx, dy = goal() - self.odom[:2]
            return wrap_angle(math.atan2(dy, dx) - self.odom[2])

        if math.dist(goal(), self.odom[:2]) < tolerance_m:
            return
        if abs(off()) > _TURN_FIRST_RAD:
            yield from self.turn_to(lambda: self.odom[2] + off())
        watch = DriveWatch(self)
        blocked = 0
        while True:
            dx, dy = goal() - self.odom[:2]
            left = dx * math.cos(self.odom[2]) + dy * math.sin(self.odom[2])
            if left < tolerance_m:
                break
            if self.bumped:
                raise InTheWay(self._felt_at(), felt=True)
            free, point = self.free_ahead()
            blocked = blocked + 1 if free < min(0.02, left) else 0
            if blocked >= _BLOCKED_SCANS:
                raise InTheWay(point)
            error = off() if left > _STEER_FROM_M else 0.0
            speed = 0.0 if blocked else min(
                self.settings.speed, stopping_speed(free if through else min(free, left)))
            speed *= max(0.2, 1.0 - abs(error) / _TURN_FIRST_RAD)
            watch.check(speed)
            yield speed, max(-0.8, min(0.8, _HEADING_GAIN * error))
        if not through:
            yield 0.0, 0.0

    def drive_along(self, points):
        """Drive from corner to corner, (N, 2) in odom; stops only where it has to turn."""
        for number, point in enumerate(points[:-1]):
            before = self.odom[:2] if number == 0 else points[number - 1]
            turn = wrap_angle(math.atan2(*(points[number + 1] - point)[::-1])
                              - math.atan2(*(point - before)[::-1]))
            yield from self.drive_to(
                lambda point=point: point, 0.05, abs(turn) < 0.8 * _TURN_FIRST_RAD)

    def drive_out(self, out_m):
        """
        Drive out of the bay along its centreline until ``out_m`` out of the mouth.

        Steers towards the centreline and never turns in place: beside it are the panels.
        """
        watch = DriveWatch(self)
        blocked = 0
        while True:
            x, lateral, yaw = self.in_dock
            left = out_m - x
            if left < 0.01:
                break
            free, point = self.free_ahead()
            blocked = blocked + 1 if free < min(0.02, left) else 0
            if blocked >= _BLOCKED_SCANS:
                raise InTheWay(point)
            speed = 0.0 if blocked else min(0.15, stopping_speed(min(free, left)))
            asked = max(-0.2, min(0.2, -4.0 * lateral))
            watch.check(speed)
            yield speed, max(-0.5, min(0.5, _HEADING_GAIN * (asked - yaw)))
        yield 0.0, 0.0

    def make_room(self):
        """Move away a little from what is close, to where there is most room."""
        free, bearing = self.freest_way()
        way = min(_MAKE_ROOM_M, free / 2)
        heading = self.odom[2] + bearing
        goal = self.odom[:2] + way * np.array([math.cos(heading), math.sin(heading)])
        yield from self.drive_to(lambda: goal, tolerance_m=0.03)

    def back_off(self):
        """Back off from what the bumper touched, as far as the floor behind is free."""
        free, _ = self.free_ahead(-1.0)
        way = min(self.settings.back_off_m, max(0.0, free - 0.01))
        start = self.odom[:2].copy()
        until_s = self.time_s + 1.0 + way / self.settings.back_off_speed
        while math.dist(start, self.odom[:2]) < way and self.time_s < until_s:
            yield -self.settings.back_off_speed, 0.0
        yield 0.0, 0.0

    def _felt_at(self):
        """Return (2,) in odom roughly where the bumper is pressed."""
        side = self.seen.bumper_left - self.seen.bumper_right
        bearing = self.odom[2] + side * math.radians(40.0)
        reach = self.robot.body.radius + 0.01
        return self.odom[:2] + reach * np.array([math.cos(bearing), math.sin(bearing)])


def smoothed(scan):
    """
    Return the scan with each range averaged over the neighbours on the same surface.

    The nearest of many noisy beams is two sigmas too near; that of averages is hardly so.
    """
    ranges, valid = scan.ranges, scan.valid()
    total, count = np.where(valid, ranges, 0.0), valid.astype(float)
    for step in range(1, _SMOOTHED_BEAMS + 1):
        for shift in (step, -step):
            other = np.roll(ranges, shift)
            with np.errstate(invalid='ignore'):
                near = np.roll(valid, shift) & (np.abs(other - ranges) < _SAME_THING_M)
            # A scan need not be a full turn: its two ends are not taken for neighbours.
            near[:shift if shift > 0 else 0] = False
            near[shift if shift < 0 else len(near):] = False
            total, count = total + np.where(near, other, 0.0), count + near
    mean = np.where(valid, total / np.maximum(count, 1.0), ranges)
    return replace(scan, ranges=mean)


def stopping_speed(way_m):
    """Return the speed, m/s, from which the robot comes to a stand within a way."""
    late = _BRAKE_MPS2 * _LATE_S
    return max(_LEAST_MPS, math.sqrt(late * late + 2.0 * _BRAKE_MPS2 * max(way_m, 0.0)) - late)
