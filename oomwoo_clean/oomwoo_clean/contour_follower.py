"""
Follow any shape with the LiDAR: a reflex from scan to wheels, without map, localisation or plan.

:meth:`ContourFollower.step` is one pass through the numbered steps, ten times a second.
"""
import math

import numpy as np
from oomwoo_clean.contour_back_off import BackOff, FOUND
from oomwoo_clean.contour_estimator import (
    LEFT,
    look_around,
    measure_surface,
    nearest_beam,
    Surface,
)
from oomwoo_clean.contour_motion import SentCommands
from oomwoo_clean.contour_settings import (
    ALIGN,
    ARC,
    FOLLOW,
    FollowerOutput,
    FollowerSettings,
    IDLE,
    LOST,
    TOUCH,
)
from oomwoo_clean.contour_steering import gently, steer_along
from oomwoo_clean.contour_touch import TouchTrace
from oomwoo_clean.front_guard import (
    first_along_surface,
    first_in_the_way,
    polar_point,
    seen_along,
)
from oomwoo_clean.narrow_gap import NarrowGap
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scans import ScanError
from oomwoo_localization.settings import check_settings, SettingError

# Speeds are kept such that what is ahead is this far away in time: three scans, one to brake.
_LOOK_S = 0.3
_GAP_S = 0.5                  # without a scan for this long, what was seen before is not believed
_ARC_SHARE = 0.6              # of the speed, while curving towards a lost surface
_VANISHED_M = 0.15            # a surface that is farther away at once by this is another one
_TURN_SHARE = 0.8             # of the fastest turn, on the spot
_LEAST_ROOM_M = 0.01
_TOUCHING_S = 0.5             # tracing by touch ends when nothing touched was followed for so long
_TOUCHED_M = 0.45            # this near to what was touched there may be more of it


class ContourFollower:
    """
    Keeps a surface at the standoff on one side and drives along it.

    Starts disabled: nothing moves before :meth:`enable`. One instance per robot; call
    :meth:`step` once per scan.
    """

    def __init__(self, settings=None, robot=None):
        """
        Take :class:`FollowerSettings` and a robot, by default the packaged ones.

        Raises :class:`~oomwoo_localization.settings.SettingError` naming what cannot be.
        """
        self.robot = robot or load_robot()
        self.settings = self._checked(settings or FollowerSettings())
        self.enabled = False
        self._touch = TouchTrace(self.settings, self.robot)
        self._back = BackOff(self.settings, self.robot)
        self.reset()

    @property
    def bumped(self):
        """Tell whether it stands, or backs off, because of a bump."""
        return self._back.active

    @property
    def touching(self):
        """Tell whether it traces by touch."""
        return self._state == TOUCH

    def enable(self, on=True):
        """Start afresh, also after a bump, or stop; enabling twice is the same as once."""
        if on and self.enabled and not self.bumped:
            return
        self.enabled = bool(on)
        self.reset()

    def configure(self, settings):
        """Take over other settings while running; raises SettingError and keeps the old ones."""
        if self._checked(settings).side != self.settings.side:
            self.forget()
            self._touch.forget()
        self.settings = self._touch.settings = self._back.settings = settings
        self._gap = NarrowGap(self.robot, self.settings)

    def reset(self):
        """Go back to how it was when it was made, but for being enabled or not."""
        self._state = IDLE
        self._command = (0.0, 0.0)
        self._back.reset()
        self._found = False             # anything to follow since it was enabled
        self._searched_m = 0.0
        self._output = FollowerOutput(0.0, 0.0, IDLE)
        self.forget()

    def forget(self):
        """Forget what was seen, after a jump in time or with another side; a bump stays a bump."""
        self._time_s = None
        self._sent = SentCommands()
        self._look_s = _LOOK_S
        self._nearest = None            # point of the surface when last seen, moved along with us
        self._last_seen_s = -math.inf
        self._touched_s = -math.inf     # when it last followed, or met, what only touch knows
        self._curvature = 0.0
        self._turned_rad = 0.0          # in ARC
        self._gap = NarrowGap(self.robot, self.settings)     # where the standoff is less
        self._passage = None

    def know(self, points):
        """
        Take over what earlier touches have found and the LiDAR does not see.

        ``points`` (N, 2) are in odometry; they take the place of those of the call before.
        """
        self._touch.know(points)

    def forget_touches(self):
        """Forget what was touched, when odometry begins anew."""
        self._touch.forget()

    def step(self, scan, base_from_scan, time_s, bumper_left=False, bumper_right=False, age_s=0.0,
             odom=None):
        """
        Take one scan and return a :class:`FollowerOutput`.

        ``scan`` is a :class:`~oomwoo_localization.scans.Scan`, ``base_from_scan`` its 4 x 4 mount,
        ``time_s`` its time, ``age_s`` for how long it has been under way: the robot has moved on
        since, as it was told to. ``odom`` is the pose (x, y, yaw) in odometry, without which no
        thing is traced by touch. A scan that is not newer than the one before changes nothing. A
        scan that cannot be used stops the robot.
        """
        if not self.enabled:
            self._output = FollowerOutput(0.0, 0.0, IDLE)
            return self._output
        bump = bumper_left or bumper_right
        elapsed = self._elapsed(time_s)
        if elapsed is None and not bump:
            return self._output
        self._now_s = time_s + age_s
        now_from_scan = self._sent.moved_on(time_s, age_s) @ base_from_scan
        self._look_s = _LOOK_S + age_s
        self._touch.moved(odom)
        try:
            around, refused = self._look(scan, now_from_scan, bump or self.bumped), ''
        except ScanError as error:
            around, refused = None, f'scan not usable: {error}'
        if bump or self.bumped:
            return self._back_off(around, elapsed or 0.0, bumper_left, bumper_right)
        if around is None:
            return self._drive(0.0, 0.0, LOST, reason=refused)
        if odom is None and self.touching:
            return self._drive(0.0, 0.0, TOUCH, reason='no odometry to trace by touch with')
        self._move_memory(elapsed)

        seed = self._nearest_on_the_side(around)               # 1, 2: where the surface should be
        surface = self._measured(around, seed)                 # 3-6: run, circle, check, body
        surface = self._unless_dropped_out(surface, time_s)
        blocker = self._in_the_way(around, surface)            # the front guard hands over
        if self._gap.must_turn(around, blocker is not None):
            return self._turn_in_gap(surface)
        if self._gap.inside:
            surface, blocker = self._passage.surface if self._passage else surface, None
        if blocker is not None:
            surface = self._measured(around, blocker)
            self._last_seen_s = time_s
        self._remember(surface)
        if surface is None:
            return self._seek(around, elapsed)                 # 9: curve towards what vanished
        return self._follow(around, surface, blocker is not None)      # 7, 8: two errors, cascade

    # -- steps 1 to 6: which surface, and where it is ------------------------------------------

    def _look(self, scan, base_from_scan, seen_only=False):
        """
        Return what is near, by touch too; raises ScanError for a scan that tells nothing.

        With ``seen_only`` it returns what the LiDAR sees, as after a bump: on the way back, which
        it came, nothing can be that was touched.
        """
        s = self.settings
        scan.check()
        if len(scan.ranges) < s.fewest_beams:
            raise ScanError(f'{len(scan.ranges)} beams, {s.fewest_beams} are needed')
        drawn = scan if seen_only else self._touch.drawn_into(scan, base_from_scan)
        around = look_around(
            drawn, base_from_scan, s.side, reach_m=s.reach_m + 0.2, jump_m=s.jump_m)
        if len(around.points) == 0 and not scan.valid().any():
            raise ScanError(f'none of its {len(scan.ranges)} ranges is a return')
        return around

    def _nearest_on_the_side(self, around):
        s = self.settings
        ahead = min(math.radians(s.sector_ahead_deg), self._gap.followed_to_rad)
        return nearest_beam(around, -math.radians(s.sector_behind_deg), ahead, s.reach_m)

    def _measured(self, around, seed):
        return None if seed is None else measure_surface(around, seed, self.settings.window_m)

    def _unless_dropped_out(self, surface, time_s):
        """Return the surface, or the remembered one for a moment when the scan lost that."""
        lost = surface is None or (
            self._nearest is not None
            and surface.distance_m > math.hypot(*self._nearest) + _VANISHED_M)
        if lost and self._nearest is not None and (
                time_s - self._last_seen_s <= self.settings.coast_s):
            x, y = self._nearest
            return Surface(math.hypot(x, y), math.atan2(y, x), self._curvature, 0, -1)
        if surface is not None:
            self._last_seen_s = time_s
        return surface

    def _in_the_way(self, around, surface):
        """
        Return the index of a point that the body would meet on its way, or None.

        The way is that along the surface at the standoff, whatever the robot is doing right now
        to get there; without a surface it is the arc that it drives.
        """
        s = self.settings
        radius = self.robot.body.radius + s.guard_margin_m
        self._passage = None
        if surface is None:
            linear, angular = self._command
            curvature = angular / linear if linear > 0.01 else 0.0
            return first_in_the_way(around.smooth, radius, s.guard_ahead_m, curvature)[1]
        own = np.zeros(len(around.smooth), dtype=bool)
        own[max(surface.first, 0):surface.last + 1] = True
        blocker, inside = None, self._gap.inside
        if not inside:
            blocker = self._first_along(around, surface, s.standoff_m, radius, own)
            if blocker is None:
                return None
        gap = self._passage = self._gap.look(around, surface, s.window_m)
        if gap is not None:
            return self._first_along(
                around, gap.surface, gap.standoff_m, gap.body_m, own | gap.sides)
        if inside:
            blocker = self._first_along(around, surface, s.standoff_m, radius, own)
        return blocker

    def _first_along(self, around, surface, standoff_m, radius_m, leave_out):
        return first_along_surface(
            around, surface, standoff_m, radius_m, self.settings.guard_ahead_m, leave_out)

    # -- steps 7 and 8: steer -------------------------------------------------------------------

    def _follow(self, around, surface, blocked):
        """Steer along a surface: from distance error to approach angle to turn rate."""
        self._curvature += 0.5 * (surface.curvature_per_m - self._curvature)
        way = steer_along(
            surface, self._curvature, self._gap, self._passage, self.settings, self._look_s)
        linear = self._guarded(around, way.linear, -way.towards)
        off_m, off_rad = abs(way.distance_error_m), abs(way.angle_error_rad)
        near = off_m < 0.05 and off_rad < math.radians(30.0)
        still = self._state in (FOLLOW, TOUCH) and off_m < 0.15
        self._found, self._turned_rad = True, 0.0
        return self._drive(
            linear, -way.towards, FOLLOW if near or still else ALIGN, surface, blocked)

    def _guarded(self, around, linear, angular):
        """Return the speed at which the body stops short of what the commanded arc would sweep."""
        if linear <= 0.0:
            return linear
        radius = min(self.robot.body.radius + self.settings.stop_margin_m, self._gap.guard_m)
        sides = None if self._passage is None else self._passage.sides
        travel, _ = first_in_the_way(
            around.smooth, radius, self._look_s * linear, angular / linear, sides)
        return min(linear, travel / self._look_s)

    def _turn_in_gap(self, surface):
        """Turn on the spot at the end of a narrow gap, away from the surface."""
        self._remember(surface)
        if self._gap.wedged:
            return self._drive(0.0, 0.0, LOST, reason='no way out of a narrow gap')
        turn = _TURN_SHARE * self.settings.turn_limit
        return self._drive(0.0, turn, FOLLOW, surface, reason='turning in a narrow gap')

    # -- step 9: no surface ---------------------------------------------------------------------

    def _seek(self, around, elapsed):
        """Curve towards where the surface was, for a circle; before there was one, go ahead."""
        s = self.settings
        if not self._found:
            if self._searched_m >= s.search_m:
                reason = f'found nothing to follow within {s.search_m} m straight ahead'
                return self._drive(0.0, 0.0, LOST, reason=reason)
            linear = self._guarded(around, s.speed, 0.0)
            self._searched_m += linear * elapsed
            reason = f'nothing within {s.reach_m} m yet, going straight ahead'
            return self._drive(linear, 0.0, ALIGN, reason=reason)
        if self._state == LOST or self._turned_rad >= math.tau:
            return self._drive(0.0, 0.0, LOST, reason=f'no surface within {s.reach_m} m')
        linear = _ARC_SHARE * s.speed
        angular = -linear / s.standoff_m
        self._turned_rad += abs(angular) * elapsed
        return self._drive(self._guarded(around, linear, angular), angular, ARC)

    # -- bumps ----------------------------------------------------------------------------------

    def _back_off(self, around, elapsed, left, right):
        """After a bump: back a little, then go on by touch, or stand until enabled again."""
        if self._back.active:
            self._back.driven(max(-self._command[0], 0.0) * elapsed)
        else:
            untraceable = (
                self._touch.bump(around, left, right) if self.settings.touch
                else 'bumped into something')
            if self._gap.squeezed:          # its sides are known, and close: no reason to halt
                self._back.begin(self._gap.touched(), met='touched the side of a narrow gap')
            else:
                self._back.begin(self.settings.back_off_m, untraceable)
        linear, state, reason = self._back.step(around, left or right, self._gap.back_m)
        if not self._back.active:
            self._found, self._touched_s = True, self._time_s
            self._touch.backed_off()
        return self._drive(linear, 0.0, state, reason=reason)

    # -- what is carried from scan to scan ------------------------------------------------------

    def _drive(self, linear, angular, state, surface=None, blocked=False, reason=''):
        """Remember and return a command, back in the robot's own frame."""
        if state in (ALIGN, FOLLOW, ARC):
            if self._by_touch(surface):
                state, reason = TOUCH, reason or FOUND
            if state == TOUCH or self._touch.near(_TOUCHED_M):
                linear, angular = gently(linear, angular, self.settings)
        self._state = state
        self._command = (linear, angular)
        mirror = -1.0 if self.settings.side == LEFT else 1.0
        self._output = FollowerOutput(
            float(linear), float(mirror * angular) + 0.0, state,
            math.nan if surface is None else float(surface.distance_m),
            math.nan if surface is None else float(mirror * surface.bearing_rad),
            self.bumped, self.bumped and linear < 0.0, blocked, reason)
        self._sent.note(self._now_s, self._output.linear, self._output.angular)
        return self._output

    def _by_touch(self, surface):
        """Tell whether the robot follows what only touch knows, or did until a moment ago."""
        if surface is not None and self._touch.touched_at(
                polar_point(surface.distance_m, surface.bearing_rad)):
            self._touched_s = self._time_s
        return self._time_s - self._touched_s < _TOUCHING_S

    def _elapsed(self, time_s):
        """Return the seconds since the scan before, None for one that is not newer."""
        before = self._time_s
        if before is not None and time_s <= before:
            return None
        elapsed = 0.0 if before is None else time_s - before
        if elapsed > _GAP_S:
            self.forget()
        self._time_s = time_s
        return min(elapsed, _GAP_S)

    def _remember(self, surface):
        self._nearest = None if surface is None else polar_point(
            surface.distance_m, surface.bearing_rad)

    def _move_memory(self, elapsed):
        """Move the remembered point the way the last command moved the robot."""
        self._gap.moved(self._command[0] * elapsed, self._command[1] * elapsed)
        if self._nearest is not None:
            linear, angular = self._command
            turn = angular * elapsed
            self._nearest = seen_along(
                self._nearest, polar_point(linear * elapsed, turn / 2.0), turn)

    def _checked(self, settings):
        """Return settings that this robot can be driven with, or raise SettingError."""
        room = check_settings(settings).standoff_m - settings.stop_margin_m
        if room < self.robot.body.radius + _LEAST_ROOM_M:
            raise SettingError(
                f'standoff_m: {settings.standoff_m} leaves no {_LEAST_ROOM_M} m beyond the body '
                f'radius of {self.robot.body.radius} and stop_margin_m {settings.stop_margin_m}')
        return settings
