"""
Follow any shape with the LiDAR: a reflex from scan to wheels, without map, localisation or plan.

:meth:`ContourFollower.step` is one pass through the numbered steps, ten times a second.
"""
from dataclasses import dataclass
import math

import numpy as np

from oomwoo_clean.contour_estimator import LEFT, look_around, measure_surface, nearest_beam, RIGHT, Surface
from oomwoo_clean.front_guard import first_in_the_way, polar_point, seen_along
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scans import ScanError
from oomwoo_localization.settings import check_settings, setting

IDLE, ALIGN, FOLLOW, ARC, LOST, HALT = 'IDLE', 'ALIGN', 'FOLLOW', 'ARC', 'LOST', 'HALT'

# Speeds are kept such that what is ahead is this far away in time: three scans, of which braking takes one.
_LOOK_S = 0.3
_GAP_S = 0.5                  # without a scan for this long, what was seen before is not believed
_ARC_SHARE = 0.6              # of the speed, while curving towards a lost surface


@dataclass(frozen=True)
class FollowerSettings:
    """What the contour follower can be told; every field is a parameter of its node."""

    side: str = setting(RIGHT, 'side on which the surface is kept', choices=(RIGHT, LEFT))
    standoff_m: float = setting(0.23, 'body centre to surface', 'm', 0.20, 0.6)
    reach_m: float = setting(1.0, 'surfaces farther away are not looked at', 'm', 0.3, 3.0)
    sector_behind_deg: float = setting(170.0, 'the surface is searched from this far behind the nose', 'deg', 90.0, 180.0)
    sector_ahead_deg: float = setting(20.0, '... to this far past the nose on the other side', 'deg', 0.0, 90.0)
    window_m: float = setting(0.15, 'surface fitted to either side of the nearest beam', 'm', 0.05, 0.5)
    jump_m: float = setting(0.10, 'a surface ends where the range jumps by more than this', 'm', 0.02, 0.5)
    approach_gain: float = setting(12.0, 'approach angle asked for per distance error', 'rad/m', 1.0, 40.0)
    approach_limit_deg: float = setting(40.0, 'steepest approach angle', 'deg', 5.0, 80.0)
    turn_gain: float = setting(2.5, 'turn rate per error of the approach angle', '1/s', 0.5, 6.0)
    turn_limit: float = setting(1.5, 'fastest turn', 'rad/s', 0.2, 3.0)
    curve_share: float = setting(1.0, 'share of the turn along a convex surface that is fed forward', '', 0.0, 1.0)
    speed: float = setting(0.15, 'speed along a straight surface', 'm/s', 0.02, 0.3)
    slow_speed: float = setting(0.05, 'speed while the approach angle is far off', 'm/s', 0.0, 0.3)
    slow_at_deg: float = setting(45.0, 'error of the approach angle at which the speed is down to slow_speed', 'deg',
                                 5.0, 180.0)
    guard_margin_m: float = setting(0.03, 'gap to the body that the path along the surface must leave', 'm', 0.0, 0.2)
    guard_ahead_m: float = setting(0.06, 'way ahead along the surface in which the body must fit', 'm', 0.0, 1.0)
    stop_margin_m: float = setting(0.015, 'gap to the body at which it drives no nearer', 'm', 0.0, 0.2)
    search_m: float = setting(3.0, 'way straight ahead in search of a first surface', 'm', 0.0, 50.0)
    coast_s: float = setting(0.35, 'time for which a surface that vanished is believed', 's', 0.0, 2.0)
    back_off_m: float = setting(0.04, 'way back after a bump', 'm', 0.0, 0.3)
    back_off_speed: float = setting(0.08, 'speed of that', 'm/s', 0.01, 0.2)
    fewest_beams: int = setting(60, 'beams a scan must have to be driven by', '', 1, 1000)


@dataclass(frozen=True)
class FollowerOutput:
    """
    What the follower wants and sees.

    ``linear`` m/s and ``angular`` rad/s are the command; ``state`` one of IDLE ALIGN FOLLOW ARC LOST HALT. ``distance_m``
    and ``bearing_rad`` (base_footprint, left positive) lead from the body centre to the followed surface, NaN while there
    is none. ``bumped`` stays true from a bump until the follower is enabled again, ``backing_off`` while it moves back.
    ``blocked`` tells that the front guard handed over to what is in the way; ``reason`` says why it stands, for a human.
    """

    linear: float
    angular: float
    state: str
    distance_m: float = math.nan
    bearing_rad: float = math.nan
    bumped: bool = False
    backing_off: bool = False
    blocked: bool = False
    reason: str = ''

    @property
    def surface_seen(self):
        """Tell whether distance and bearing mean anything."""
        return math.isfinite(self.distance_m)


class ContourFollower:
    """
    Keeps a surface at the standoff on one side and drives along it.

    Starts disabled: nothing moves before :meth:`enable`. One instance per robot; call :meth:`step` once per scan.
    """

    def __init__(self, settings=None, robot=None):
        """Take :class:`FollowerSettings` and a :class:`~oomwoo_localization.robot.Robot`, by default the packaged ones."""
        self.settings = check_settings(settings or FollowerSettings())
        self.robot = robot or load_robot()
        self.enabled = False
        self.reset()

    @property
    def bumped(self):
        """Tell whether it stands, or backs off, because of a bump."""
        return self._bumped

    def enable(self, on=True):
        """Start afresh, also after a bump, or stop. Enabling twice is the same as once."""
        if on and self.enabled and not self._bumped:
            return
        self.enabled = bool(on)
        self.reset()

    def configure(self, settings):
        """Take over other settings while running."""
        if check_settings(settings).side != self.settings.side:
            self.forget()
        self.settings = settings

    def reset(self):
        """Go back to how it was when it was made, but for being enabled or not."""
        self._state = IDLE
        self._command = (0.0, 0.0)
        self._bumped = False
        self._back_left_m = 0.0
        self._searched_m = 0.0
        self._output = FollowerOutput(0.0, 0.0, IDLE)
        self.forget()

    def forget(self):
        """Forget what was seen, after a gap in time or with another side; a bump stays a bump."""
        self._time_s = None
        self._nearest = None                # the surface's nearest point when last seen, moved along with the robot
        self._last_seen_s = -math.inf
        self._curvature = 0.0
        self._turned_rad = 0.0              # in ARC

    def step(self, scan, base_from_scan, time_s, bumper_left=False, bumper_right=False):
        """
        Take one scan and return a :class:`FollowerOutput`.

        ``scan`` is a :class:`~oomwoo_localization.scans.Scan`, ``base_from_scan`` its 4 x 4 mount, ``time_s`` its time.
        A scan that is not newer than the one before changes nothing. A scan that cannot be used stops the robot.
        """
        if not self.enabled:
            self._output = FollowerOutput(0.0, 0.0, IDLE)
            return self._output
        elapsed = self._elapsed(time_s)
        if elapsed is None and not (bumper_left or bumper_right):
            return self._output
        try:
            around, refused = self._look(scan, base_from_scan), ''
        except ScanError as error:
            around, refused = None, f'scan not usable: {error}'
        if bumper_left or bumper_right or self._bumped:
            return self._back_off(around, elapsed or 0.0)
        if around is None:
            return self._drive(0.0, 0.0, LOST, reason=refused)
        self._move_memory(elapsed)
        surface, blocked = self._choose_surface(around, time_s)
        if surface is None:
            return self._seek(around, elapsed)
        return self._follow(around, surface, blocked)

    # -- steps 1 to 6: which surface, and where it is ------------------------------------------

    def _look(self, scan, base_from_scan):
        """Take the returns that are near, in the follow frame."""
        scan.check()
        if len(scan.ranges) < self.settings.fewest_beams:
            raise ScanError(f'{len(scan.ranges)} beams, {self.settings.fewest_beams} are needed')
        around = look_around(scan, base_from_scan, self.settings.side, reach_m=self.settings.reach_m + 0.2,
                             jump_m=self.settings.jump_m)
        if len(around.points) == 0 and not scan.valid().any():
            raise ScanError(f'none of its {len(scan.ranges)} ranges is a return')
        return around

    def _choose_surface(self, around, time_s):
        """Return the surface to follow and whether it is one that stands in the way; (None, False) for nothing."""
        s = self.settings
        seed = nearest_beam(around, -math.radians(s.sector_behind_deg), math.radians(s.sector_ahead_deg), s.reach_m)
        surface = None if seed is None else measure_surface(around, seed, s.window_m)
        surface = self._without_dropouts(surface, time_s)
        blocker = self._in_the_way(around, surface)
        if blocker is not None:
            surface = measure_surface(around, blocker, s.window_m)
            self._last_seen_s = time_s
        self._nearest = None if surface is None else polar_point(surface.distance_m, surface.bearing_rad)
        return surface, blocker is not None

    def _without_dropouts(self, surface, time_s):
        """Stay with the remembered surface for a moment when the scan lost it."""
        lost = surface is None or (
            self._nearest is not None and surface.distance_m > math.hypot(*self._nearest) + 0.15)
        if not lost:
            self._last_seen_s = time_s
            return surface
        if self._nearest is None or time_s - self._last_seen_s > self.settings.coast_s:
            if surface is not None:
                self._last_seen_s = time_s
            return surface
        x, y = self._nearest
        return Surface(math.hypot(x, y), math.atan2(y, x), self._curvature, 0, -1)

    def _in_the_way(self, around, surface):
        """Return the index of a point that the body would meet on its way along the surface, or None."""
        s = self.settings
        radius = self.robot.body.radius + s.guard_margin_m
        if surface is None:
            linear, angular = self._command
            curvature = angular / linear if linear > 0.01 else 0.0
            return first_in_the_way(around.smooth, radius, s.guard_ahead_m, curvature)[1]
        start = polar_point(surface.distance_m, surface.bearing_rad) * (1.0 - s.standoff_m / max(surface.distance_m, 1e-3))
        path = seen_along(around.smooth, start, surface.bearing_rad + math.pi / 2)
        return first_in_the_way(path, radius, s.guard_ahead_m, -self._path_curvature(surface.curvature_per_m),
                                leave_out=slice(surface.first, surface.last + 1))[1]

    def _path_curvature(self, curvature):
        """Return the curvature of the path at the standoff along a surface; 0 for one that is as good as straight."""
        if abs(curvature) < 1.5:
            return 0.0
        return curvature / max(1.0 + curvature * self.settings.standoff_m, 0.2)

    # -- steps 7 and 8: steer -------------------------------------------------------------------

    def _follow(self, around, surface, blocked):
        """Steer along a surface: a cascade from distance to approach angle to turn rate."""
        s = self.settings
        distance_error = surface.distance_m - s.standoff_m
        approach = surface.bearing_rad + math.pi / 2               # heading towards the surface, 0 is along it
        approach = (approach + math.pi) % (2.0 * math.pi) - math.pi
        limit = math.radians(s.approach_limit_deg)
        wanted = min(max(s.approach_gain * distance_error, -limit), limit)
        inner_error = wanted - approach
        ease = min(1.0, abs(inner_error) / math.radians(s.slow_at_deg))
        linear = s.speed + (s.slow_speed - s.speed) * ease
        self._curvature += 0.5 * (surface.curvature_per_m - self._curvature)
        along = s.curve_share * linear * max(self._path_curvature(self._curvature), 0.0)
        towards = min(max(s.turn_gain * inner_error + along, -s.turn_limit), s.turn_limit)
        linear = self._guarded(around, min(linear, _closing_limit(distance_error, approach)), -towards)
        near = abs(distance_error) < 0.05 and abs(inner_error) < math.radians(30.0)
        state = FOLLOW if near or (self._state == FOLLOW and abs(distance_error) < 0.15) else ALIGN
        self._turned_rad = self._searched_m = 0.0
        return self._drive(linear, -towards, state, surface, blocked)

    def _guarded(self, around, linear, angular):
        """Return the speed at which the body stops short of whatever the commanded arc would sweep."""
        s = self.settings
        if linear <= 0.0:
            return linear
        travel, _ = first_in_the_way(
            around.smooth, self.robot.body.radius + s.stop_margin_m, _LOOK_S * linear, angular / linear)
        return min(linear, travel / _LOOK_S)

    # -- step 9: no surface ---------------------------------------------------------------------

    def _seek(self, around, elapsed):
        """Curve towards where the surface was, for a full circle; before there ever was one, go straight ahead."""
        s = self.settings
        if self._state == IDLE or self._searched_m > 0.0:
            if self._searched_m < s.search_m:
                linear = self._guarded(around, s.speed, 0.0)
                self._searched_m += max(linear * elapsed, 1e-6)
                return self._drive(linear, 0.0, ALIGN, reason=f'nothing within {s.reach_m} m yet, going straight ahead')
            return self._drive(0.0, 0.0, LOST, reason=f'found nothing within {s.search_m} m straight ahead')
        if self._state == LOST or self._turned_rad >= 2.0 * math.pi:
            return self._drive(0.0, 0.0, LOST, reason=f'no surface within {s.reach_m} m')
        linear = _ARC_SHARE * s.speed
        angular = -linear / s.standoff_m
        self._turned_rad += abs(angular) * elapsed
        return self._drive(self._guarded(around, linear, angular), angular, ARC)

    # -- bumps and commands ---------------------------------------------------------------------

    def _back_off(self, around, elapsed):
        """After a bump: back a little, then stand until enabled again."""
        s = self.settings
        if not self._bumped:
            self._bumped = True
            self._back_left_m = s.back_off_m
        elif self._command[0] < 0.0:
            self._back_left_m += self._command[0] * elapsed
        linear = min(s.back_off_speed, self._back_left_m / _LOOK_S)
        if around is not None:
            behind, _ = first_in_the_way(-around.smooth, self.robot.body.radius + s.stop_margin_m, _LOOK_S * linear)
            linear = min(linear, behind / _LOOK_S)
        if self._back_left_m < 0.005 or linear <= 0.0:
            self._back_left_m = 0.0
            return self._drive(0.0, 0.0, HALT, reason='bumped into something, stands until it is enabled again')
        return self._drive(-linear, 0.0, HALT, reason='bumped into something, backing off')

    def _drive(self, linear, angular, state, surface=None, blocked=False, reason=''):
        """Remember and return a command, back in the robot's own frame."""
        self._state = state
        self._command = (linear, angular)
        mirror = -1.0 if self.settings.side == LEFT else 1.0
        self._output = FollowerOutput(
            float(linear), float(mirror * angular) + 0.0, state,
            math.nan if surface is None else float(surface.distance_m),
            math.nan if surface is None else float(mirror * surface.bearing_rad),
            self._bumped, self._bumped and linear < 0.0, blocked, reason)
        return self._output

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

    def _move_memory(self, elapsed):
        """Move the remembered point the way the last command moved the robot."""
        if self._nearest is not None:
            linear, angular = self._command
            turn = angular * elapsed
            self._nearest = seen_along(
                self._nearest, linear * elapsed * np.array([math.cos(turn / 2), math.sin(turn / 2)]), turn)


def _closing_limit(distance_error, approach):
    """Return the speed, m/s, at which a surface ahead is not come nearer to than the standoff."""
    if approach <= 0.0:
        return math.inf
    return max(distance_error + 0.01, 0.0) / (_LOOK_S * math.sin(min(approach, math.pi / 2)))
