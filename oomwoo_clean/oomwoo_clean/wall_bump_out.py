"""
Clean along walls by touch alone: bumper and wheel odometry in, wheels out.

Drive in. On a bump go back out the way it came in. Turn to where the surface is believed to lead
and hop along it to the next touch. Which way it leads is told by the touches themselves
(:mod:`oomwoo_clean.touch_surface`). No map, no LiDAR.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_clean.bump_loops import BumpLoops
from oomwoo_clean.bump_out_settings import BumpOutSettings
from oomwoo_clean.bumper_sense import BumperSense
from oomwoo_clean.driven_path import DrivenPath
from oomwoo_clean.touch_surface import NOSE, OPEN, TouchSurface, WALL
from oomwoo_localization.robot import load_robot
from oomwoo_localization.settings import check_settings

IDLE, DRIVE, BACK, TURN, PEEL, WRAP, HALT = (
    'IDLE', 'DRIVE', 'BACK', 'TURN', 'PEEL', 'WRAP', 'HALT')

_BOTH_S = 0.06                         # halves pressed within this time: by one thing ahead
_MOST_DOUBT_M = 0.05
_STEEPEST_RAD = 1.2                    # towards a surface that is overdue
_STEEP_RAD, _LEAN_S = math.radians(50.0), 0.5
_TURN_SLOWDOWN = 5.0                   # rad/s^2
_TURNED_RAD = 0.05
_LAG_S = 0.08                          # from the wheels to odometry and back
_COAST_S, _COAST_RADPS = 0.1, 0.8      # a turn goes on for a moment when the robot drives off
_HEADING_GAIN = 4.0                    # 1/s
_LEAD_MPS = 0.1
_ROLLING_MPS, _BACK_YET_M = 0.03, 0.002
_BLIND_M = 0.02                        # back beyond the remembered path, if need be
_WRAP_GROWTH = 0.3                     # of the radius, for each half turn after the first


@dataclass(frozen=True)
class BumpOutOutput:
    """
    What the bump-out wants.

    ``linear`` m/s and ``angular`` rad/s; ``state`` IDLE DRIVE BACK TURN PEEL WRAP HALT; ``side``
    on which the surface is kept, '' without one; ``event`` says what a touch of this step was
    taken for; ``reason``, for a human, and ``code`` say why it stands.
    """

    linear: float
    angular: float
    state: str
    side: str = ''
    event: str = ''
    reason: str = ''
    code: str = ''


class WallBumpOut:
    """
    Steps on each odometry pose and on each change of the bumper; starts disabled.

    Angles and positions are mirrored where the surface is on the left, so that everything below
    has it on the right, where turning away is positive.
    """

    def __init__(self, settings=None, robot=None, rng=None):
        """Take :class:`BumpOutSettings`, a robot, and a :class:`numpy.random.Generator`."""
        self.settings = check_settings(settings or BumpOutSettings())
        robot = robot or load_robot()
        self._release_s = robot.bumper.release_s
        self._brake = robot.limits.linear_acceleration
        self._rng = rng or np.random.default_rng()
        self._path, self._bumper = DrivenPath(), BumperSense()
        self.surface = TouchSurface(self.settings)
        self._loops = BumpLoops(self.settings)
        self.enabled = False
        self.forget()

    def configure(self, settings):
        """Take over other settings while running; raises SettingError and keeps the old ones."""
        self.settings = check_settings(settings)
        self.surface.settings = self._loops.settings = self.settings

    def enable(self, on=True):
        """Begin afresh, or stop; enabling twice is the same as once."""
        if on and self.enabled:
            return
        self.enabled = bool(on)
        self.forget()

    def forget(self):
        """Forget where it was and what it felt: after a pause, or a jump of time."""
        self._path.forget()
        self._bumper = BumperSense()
        self._loops.forget()
        self._time_s = None
        self._begin()

    def _begin(self):
        """Go in search of a surface."""
        self._state, self._mirror = DRIVE, 0
        self._run_m = 0.0                      # in DRIVE, PEEL or WRAP
        self._moving_s = None                  # when the wheels last moved
        self._leaving = False
        self._path.cut()
        self.surface.forget()
        self._loops.begin()

    # -- one step ---------------------------------------------------------------------------

    def step(self, time_s, odom, left, right):
        """
        Return a :class:`BumpOutOutput`.

        ``odom`` (3,) is the newest pose by wheel odometry, ``left`` and ``right`` whether that
        half of the bumper is pressed. Raises ValueError for what is no pose.
        """
        odom = np.asarray(odom, dtype=float)
        if odom.shape != (3,) or not np.isfinite(odom).all():
            raise ValueError(f'not a pose (x, y, yaw): {odom}')
        if not self.enabled:
            return BumpOutOutput(0.0, 0.0, IDLE)
        if self._time_s is not None and time_s < self._time_s:
            self.forget()
        self._time_s = time_s
        fresh = self._bumper.update(time_s, left, right)
        ahead, turned, jumped = self._path.move(time_s, odom, self._state == BACK)
        if jumped:
            self._loops.forget()
            self._begin()
        if self._in_trouble():
            code, reason = self._bumper.trouble
            return self._say(0.0, 0.0, HALT, reason=reason, code=code)
        self._event = ''
        if fresh and self._state != BACK:
            self._event = self._bump()
        elif fresh and time_s - self._bumped_s <= _BOTH_S and all(self._bumper.pressed):
            self._event = self._feel()
        elif self._stalled(ahead, turned):
            self._event = self._stall()
        linear, angular = self._act(max(ahead, 0.0))
        return self._say(linear, self._sign * angular, self._state, self._event)

    def _act(self, ahead):
        """Return the mirrored command of the state it is in, having driven ``ahead`` metres."""
        return {DRIVE: self._drive, BACK: self._back, TURN: self._turn, PEEL: self._peel,
                WRAP: self._wrap}[self._state](ahead)

    def _say(self, linear, angular, state, event='', reason='', code=''):
        side = {0: '', 1: 'right', -1: 'left'}[self._mirror]
        return BumpOutOutput(linear, angular, state, side, event, reason, code)

    @property
    def _sign(self):
        return -1 if self._mirror < 0 else 1

    @property
    def _heading(self):
        return self._sign * self._path.turned

    @property
    def _rate(self):
        return self._sign * self._path.rate

    @property
    def _position(self):
        return self._path.pose[0], self._sign * self._path.pose[1]

    def _vary(self):
        jitter = self.settings.jitter
        return self._rng.uniform(1.0 - jitter, 1.0 + jitter)

    # -- what keeps it from driving ----------------------------------------------------------

    def _in_trouble(self):
        """Tell whether it must stand because of the bumper; after that it begins anew."""
        s, bumper, path = self.settings, self._bumper, self._path
        if bumper.trouble is not None:
            if not bumper.settled(self._time_s):
                return True
            self._begin()
        if bumper.chatters(self._time_s, s.chatter_count):
            return True
        if bumper.is_pressed and not path and self._state == DRIVE:
            bumper.trouble = (
                'BUMPER_PRESSED', f'bumper {bumper.names} is pressed from the start: standing '
                'until it lets go')
        elif bumper.is_pressed and self._state == BACK and (
                path.back_m > s.retreat_m or self._time_s - self._bumped_s > s.held_s):
            bumper.trouble = (
                'BUMPER_HELD', f'bumper {bumper.names} stays pressed after going back '
                f'{path.back_m * 100:.0f} cm: standing until it lets go')
        return bumper.trouble is not None

    def _stalled(self, ahead, turned):
        """Tell whether the wheels have not moved for long although they should."""
        if self._moving_s is None or max(abs(ahead), 0.1 * abs(turned)) > 1e-4:
            self._moving_s = self._time_s
        return self._time_s - self._moving_s > self.settings.stalled_s

    def _stall(self):
        """Take a stall for a touch, or give up going back."""
        self._moving_s = self._time_s
        if self._state != BACK:
            return f'{self._bump()} stall'
        self._path.cut()
        self._turn_to_surface()
        return 'stall'

    # -- a touch ----------------------------------------------------------------------------

    def _bump(self):
        """Note the touch and go back; the first one tells on which side the surface is."""
        self._before = self._state, self._mirror, self.surface.state()
        ahead = self.surface.direction - self._heading
        self._steep = self.surface.known and ahead > _STEEP_RAD
        if not self._mirror:
            left, right = self._bumper.pressed
            self._mirror = int(self._rng.choice((-1, 1))) if left == right else 1 - 2 * left
            self.surface.forget()
        self._bumped_s, self._released = self._time_s, False
        self._path.turn_back()
        self._state = BACK
        return self._feel()

    def _feel(self):
        left, right = self._bumper.pressed
        wall, far = (right, left) if self._mirror > 0 else (left, right)
        half = NOSE if wall == far else WALL if wall else OPEN
        return f'{half} {self.surface.touch(self._position, self._heading, half)}'

    def _back(self, _):
        """Retrace the path until the bumper has let go, and a little farther."""
        s, path = self.settings, self._path
        if self._bumper.is_pressed:
            self._released = False
            if self._leans():
                return max(path.speed, s.lean_speed), 0.0
        elif not self._released and path.back_m < _BACK_YET_M and path.speed > _ROLLING_MPS:
            return self._push_through()
        elif not self._released:
            self._released, self._released_m = True, path.back_m
            self._wanted_m = s.back_off_m * self._vary()
            x, y = path.position_at(self._time_s - self._release_s)
            self.surface.let_go((x, self._sign * y))
        if self._released and (
                path.back_m - self._released_m >= self._wanted_m or not path
                or path.turns_here):
            return self._turn_to_surface()
        if path.turns_here:
            return 0.0, self._sign * path.turn_sign * s.turn_speed
        if not path and path.back_m > _BLIND_M:
            return 0.0, 0.0
        turn = min(path.speed, 0.0) * self._sign * path.curvature
        turn += _HEADING_GAIN * (self._sign * path.heading - self._heading)
        return -s.back_speed, max(-s.turn_speed, min(s.turn_speed, turn))

    def _leans(self):
        """
        Tell whether it still goes on into what it has met head on.

        As far in any case as from full speed, for that is what it takes to get through cloth.
        """
        path, speed = self._path, max(self._path.speed, 0.0)
        rolls_m = speed * (speed / (2.0 * self._brake) + _LAG_S)
        return (self._steep and path.back_m < _BACK_YET_M
                and path.beyond_m + rolls_m < self.settings.lean_m
                and self._time_s - self._bumped_s < _LEAN_S)

    def _push_through(self):
        """Go on: what lets go of the bumper while the robot still rolls ahead is a skirt."""
        self._state, self._mirror, surface = self._before
        self.surface.restore(surface)
        self._path.go_on()
        self._event = 'soft'
        return self._act(0.0)

    # -- along the surface ------------------------------------------------------------------

    def _turn_to_surface(self):
        """Choose the next hop and turn to where it begins; or leave what was gone round."""
        s, surface = self.settings, self.surface
        place, driven_m = self._path.position, self._path.driven_m
        why = 'known' if self._loops.known(place, driven_m) else self._loops.touch(
            place, surface.direction, driven_m, surface.known)
        if why:
            self._event, self._leaving = f'left {why}', True
            least = math.radians(s.leave_least_deg)
            return self._turn_to(surface.direction + self._rng.uniform(least, math.pi - least))
        length = min(max(s.miss_m / (2.0 * surface.std_rad), s.glide_least_m), s.glide_most_m)
        self._glide_m, self._hop_m = length * self._vary(), s.hop_m * self._vary()
        slope = self._slope(0.0)[0]
        return self._turn_to(surface.direction + max(slope, -0.1))

    def _turn_to(self, heading):
        self._target, self._state = heading, TURN
        return self._turn(0.0)

    def _turn(self, _):
        """Turn in place to the target, away from the surface."""
        s = self.settings
        left = self._target - self._heading - self._rate * _LAG_S
        if left < _TURNED_RAD + _COAST_S * min(max(self._rate, 0.0), _COAST_RADPS):
            self._path.stand()
            self._run_m = 0.0
            if self._leaving or self.surface.place is None:
                self._begin()
                return self._drive(0.0)
            self._state = PEEL
            return self._peel(0.0)
        # It still rolls back: taken out, since a turn would draw that out.
        still = min(max(-self._path.speed, 0.0), s.back_speed)
        return still, min(s.turn_speed, math.sqrt(2.0 * _TURN_SLOWDOWN * left))

    def _peel(self, ahead):
        """Hop to the next touch; when that does not come, wrap round the surface's end."""
        s, surface = self.settings, self.surface
        self._run_m += ahead
        doubt = s.wrap_after_m + min(2.0 * surface.std_rad * self._run_m, _MOST_DOUBT_M)
        if (surface.offset(self._position) < -doubt
                or self._run_m - self._glide_m > s.overdue_radius_m):
            return self._begin_wrap()
        slope, bend = self._slope(self._run_m)
        return self._curve(bend, surface.direction + slope - self._heading)

    def _slope(self, run_m):
        """
        Return the heading (rad, off the surface's direction) and curvature of the hop there.

        A parabola over the believed line, ``hop_m`` high and ``glide_m`` long; past its end, an
        arc into the surface.
        """
        s = self.settings
        steep, share = 4.0 * self._hop_m / self._glide_m, run_m / self._glide_m
        height = self._hop_m * 4.0 * share * (1.0 - share)
        slope = steep * (1.0 - 2.0 * share)
        slope -= s.line_gain * (self.surface.offset(self._position) - height)
        overdue = max(run_m - self._glide_m, 0.0)
        slope = max(slope - overdue / s.overdue_radius_m, -_STEEPEST_RAD)
        return slope, -2.0 * steep / self._glide_m - (overdue > 0.0) / s.overdue_radius_m

    def _begin_wrap(self):
        self._state, self._run_m, self._wrap_from = WRAP, 0.0, self._heading
        s, known = self.settings, self.surface.known
        # One touch tells neither where the surface leads nor that it is more than a leg.
        self._pivoted, self._radius_m = not known, s.wrap_radius_m if known else s.feel_radius_m
        self._target = self.surface.direction - math.radians(s.wrap_deg)
        return self._wrap(0.0)

    def _wrap(self, _):
        """Turn round to where the surface ended, then curve, ever wider, until it is lost."""
        s = self.settings
        if not self._pivoted:
            left = self._heading + self._rate * _LAG_S - self._target
            if left > _TURNED_RAD + _COAST_S * max(-self._rate, 0.0):
                return 0.0, -min(s.turn_speed, math.sqrt(2.0 * _TURN_SLOWDOWN * left))
            self._pivoted = True
        turned = self._wrap_from - self._heading
        if turned > math.tau:
            self._loops.lost()
            self._begin()
            return self._drive(0.0)
        wider = 1.0 + _WRAP_GROWTH * max(turned - math.pi, 0.0) / math.pi
        return self._curve(-1.0 / (self._radius_m * wider), 0.0)

    def _drive(self, ahead):
        """Go straight ahead until something is touched; after a long way, elsewhere."""
        self._run_m += ahead
        if self._run_m > self.settings.search_m:
            self._leaving = True
            return self._turn_to(self._heading + self._rng.uniform(0.5, 1.0) * math.pi)
        return self.settings.cruise_speed, 0.0

    def _curve(self, curvature, error):
        s = self.settings
        speed = min(s.cruise_speed, 0.5 * s.turn_speed / max(abs(curvature), 1e-6))
        # Wheels ramp one by one: what is not asked of them at once is left for the heading.
        speed = min(speed, max(self._path.speed, 0.0) + _LEAD_MPS)
        turn = self._path.speed * curvature + _HEADING_GAIN * error
        return speed, max(-s.turn_speed, min(s.turn_speed, turn))
