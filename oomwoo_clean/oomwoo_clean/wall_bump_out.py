"""
Clean along walls by touch alone: bumper and wheel odometry in, wheels out.

Drive in; on a bump go back out the way it came in; turn away from the surface by a little more
than it is believed to run; curve back towards it until the next touch. What the surface is
believed to be comes from the touches (:mod:`oomwoo_clean.touch_surface`). No map, no LiDAR.
"""
from collections import deque
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_clean.touch_surface import NOSE, OPEN, SurfaceSettings, TouchSurface, WALL
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.robot import load_robot
from oomwoo_localization.settings import check_settings, setting

IDLE, DRIVE, BACK, TURN, PEEL, WRAP, HALT = (
    'IDLE', 'DRIVE', 'BACK', 'TURN', 'PEEL', 'WRAP', 'HALT')

_JUMP_M, _JUMP_RAD = 0.3, 1.0          # between two poses: not driven
_SEGMENT_M, _SEGMENT_RAD = 0.01, 0.05
_KEPT_SEGMENTS = 200
_QUIET_S = 1.0
_TURN_SLOWDOWN = 5.0                   # rad/s^2
_TURNED_RAD = 0.05
_LAG_S = 0.08
_COAST_S = 0.1
_LEAD_MPS = 0.1
_HEADING_GAIN = 4.0                    # 1/s
_SPEED_S = 0.04
_MOST_DOUBT_M = 0.05
_LATE_BUMP_S = 0.06                    # other half pressed within this: one bump with both


@dataclass(frozen=True)
class BumpOutSettings(SurfaceSettings):
    """What the bump-out can be told; every field is a parameter of its node."""

    cruise_speed: float = setting(0.28, 'driving in and along a surface', 'm/s', 0.05, 0.3)
    back_speed: float = setting(0.08, 'retracing its path after a bump', 'm/s', 0.02, 0.3)
    turn_speed: float = setting(2.0, 'turning in place', 'rad/s', 0.2, 2.5)
    back_off_m: float = setting(
        0.004, 'way back after the bumper has let go', 'm', 0.0, 0.3)
    hop_m: float = setting(
        0.005, 'how far off the believed surface the curve between two touches leads', 'm',
        0.001, 0.1)
    miss_m: float = setting(
        0.012, 'how far off a surface it may get for not knowing its direction better', 'm',
        0.002, 0.2)
    glide_least_m: float = setting(0.1, 'shortest curve between two touches', 'm', 0.03, 1.0)
    glide_most_m: float = setting(0.4, 'longest curve between two touches', 'm', 0.1, 3.0)
    line_gain: float = setting(
        3.0, 'heading towards the curve per distance from it', 'rad/m', 0.0, 20.0)
    wrap_after_m: float = setting(
        0.008, 'this far past the believed line, the surface has ended', 'm', 0.002, 0.1)
    wrap_deg: float = setting(
        125.0, 'turn towards a surface that has ended, to come back to its end', 'deg',
        60.0, 170.0)
    wrap_radius_m: float = setting(
        0.4, 'radius of the curve that follows', 'm', 0.1, 2.0)
    overdue_radius_m: float = setting(
        0.35, 'radius of the curve to a surface that should have been met', 'm', 0.1, 2.0)
    jitter: float = setting(
        0.2, 'share by which angles and lengths vary at random', '', 0.0, 0.8)
    round_deg: float = setting(
        450.0, 'turn after which something is left alone that it has gone round, or a room', 'deg',
        360.0, 3600.0)
    leave_least_deg: float = setting(
        45.0, 'least angle at which it then drives away', 'deg', 10.0, 90.0)
    search_m: float = setting(
        15.0, 'way straight ahead without a touch', 'm', 0.5, 100.0)
    retreat_m: float = setting(
        0.25, 'way back at most while the bumper stays pressed', 'm', 0.02, 2.0)
    held_s: float = setting(
        3.0, 'a bumper pressed this long in spite of backing off is stuck', 's', 0.5, 20.0)
    chatter_count: int = setting(
        8, 'presses in a second that no wall makes', '', 3, 50)
    stalled_s: float = setting(
        1.5, 'no motion for this long while driving counts as a touch', 's', 0.3, 10.0)


@dataclass(frozen=True)
class BumpOutOutput:
    """
    What the bump-out wants.

    ``linear`` m/s and ``angular`` rad/s; ``state`` IDLE DRIVE BACK TURN PEEL WRAP HALT; ``side``
    on which the surface is kept, '' without one; ``event`` says what a touch of this step was
    taken for; ``reason`` and ``code`` why it stands.
    """

    linear: float
    angular: float
    state: str
    side: str = ''
    event: str = ''
    reason: str = ''
    code: str = ''


class WallBumpOut:
    """Steps on each odometry pose and on each change of the bumper; starts disabled."""

    def __init__(self, settings=None, robot=None, rng=None):
        """Take :class:`BumpOutSettings`, a robot, and a :class:`numpy.random.Generator`."""
        self._release_s = (robot or load_robot()).bumper.release_s
        self.settings = check_settings(settings or BumpOutSettings())
        self._rng = rng or np.random.default_rng()
        self.surface = TouchSurface(self.settings)
        self.enabled = False
        self.forget()

    def configure(self, settings):
        """Take over other settings while running; raises SettingError and keeps the old ones."""
        self.settings = self.surface.settings = check_settings(settings)

    def enable(self, on=True):
        """Begin afresh, or stop; enabling twice is the same as once."""
        if on and self.enabled:
            return
        self.enabled = bool(on)
        self.forget()

    def forget(self):
        """Forget where it was and what it felt: after a pause, or a jump of time or odometry."""
        self._state = DRIVE
        self._odom = self._time_s = None
        self._mirror = 0                       # 1: surface on the right, -1: on the left
        self._path = deque(maxlen=_KEPT_SEGMENTS)
        self._trail = deque(maxlen=20)         # of the last second: (time, place in odom)
        self._pressed = (False, False)
        self._presses = deque(maxlen=64)
        self._halted = self._quiet_since = None
        self._turned = self._round_from = 0.0
        self._speed, self._speed_s, self._since_m = 0.0, None, 0.0
        self._rate = self._since_rad = 0.0
        self._run_m = 0.0                      # in DRIVE, PEEL or WRAP
        self._still_since = None
        self._leaving = False
        self._output = BumpOutOutput(0.0, 0.0, IDLE)
        self.surface.forget()

    # -- one step ---------------------------------------------------------------------------

    def step(self, time_s, odom, left, right):
        """
        Return a :class:`BumpOutOutput`.

        ``odom`` (3,) is the newest pose by wheel odometry, ``left`` and ``right`` whether that
        half of the bumper is pressed.
        """
        if not self.enabled:
            return BumpOutOutput(0.0, 0.0, IDLE)
        if self._time_s is not None and time_s < self._time_s:
            self.forget()
        odom = np.asarray(odom, dtype=float)
        moved = self._moved(odom)
        self._measure_speed(moved, time_s)
        was, self._pressed = self._pressed, (bool(left), bool(right))
        fresh = tuple(now and not before for now, before in zip(self._pressed, was))
        if any(fresh):
            self._presses.append(time_s)
        self._odom, self._time_s = odom, time_s
        self._trail.append((time_s, odom[:2].tolist()))
        self._remember(moved)
        event = ''
        trouble = self._trouble(time_s)
        if trouble is not None:
            return self._say(0.0, 0.0, HALT, reason=trouble[1], code=trouble[0])
        if any(fresh) and self._state != BACK:
            event = self._bump(time_s)
        elif any(fresh) and time_s - self._bumped_s <= _LATE_BUMP_S:
            event = self._bump_again()
        elif self._stalled(moved, time_s):
            event = self._stall(time_s)
        linear, angular = getattr(self, f'_{self._state.lower()}')(moved)
        return self._say(linear, self._sign * angular, self._state, event)

    @property
    def _sign(self):
        return -1 if self._mirror < 0 else 1

    def _say(self, linear, angular, state, event='', reason='', code=''):
        side = {0: '', 1: 'right', -1: 'left'}[self._mirror]
        self._output = BumpOutOutput(linear, angular, state, side, event, reason, code)
        return self._output

    def _moved(self, odom):
        """Return (metres ahead, radians turned) since the last step, zero after a jump."""
        if self._odom is None:
            return 0.0, 0.0
        x, y, yaw = compose(inverse(self._odom), odom).tolist()
        if math.hypot(x, y) > _JUMP_M or abs(yaw) > _JUMP_RAD:
            self._path.clear()
            self.surface.forget()
            return 0.0, 0.0
        return math.copysign(math.hypot(x, y), x), yaw

    def _measure_speed(self, moved, time_s):
        """Keep the speed that odometry shows; a pose that did not change tells nothing."""
        self._since_m += moved[0]
        self._since_rad += moved[1]
        passed_s = time_s - (time_s if self._speed_s is None else self._speed_s)
        if self._speed_s is None or passed_s >= _SPEED_S:
            self._speed = self._since_m / passed_s if passed_s > 0.0 else 0.0
            self._rate = self._sign * self._since_rad / passed_s if passed_s > 0.0 else 0.0
            self._speed_s, self._since_m, self._since_rad = time_s, 0.0, 0.0

    def _remember(self, moved):
        """Add the motion to the path, or take what was retraced off it."""
        ahead, yaw = moved
        turned = self._sign * yaw
        self._turned += turned
        if self._state == BACK:
            self._take_back(-ahead, turned)
            return
        turning = abs(ahead) < 0.2 * abs(yaw) * 0.1
        if (self._path and self._path[-1][2] == turning
                and abs(self._path[-1][0]) < _SEGMENT_M
                and (not turning or abs(self._path[-1][1]) < _SEGMENT_RAD)):
            self._path[-1][0] += ahead
            self._path[-1][1] += yaw
        elif ahead or yaw:
            self._path.append([ahead, yaw, turning])

    def _take_back(self, back, turned):
        """Shorten the remembered path by what was driven back; keep its heading there."""
        self._back_m += max(back, 0.0)
        # Wheels that slipped on against what was touched are not on the path.
        self._beyond_m -= back
        back = max(-self._beyond_m, 0.0)
        self._beyond_m = max(self._beyond_m, 0.0)
        left_rad = abs(turned)
        while self._path:
            ahead, yaw, turning = self._path[-1]
            if turning:
                part = min(left_rad / max(abs(yaw), 1e-9), 1.0)
                left_rad -= part * abs(yaw)
            else:
                part = min(back / max(ahead, 1e-9), 1.0)
                back -= part * ahead
            self._path_heading -= self._sign * part * yaw
            if part < 1.0:
                self._path[-1][0] -= part * ahead
                self._path[-1][1] -= part * yaw
                return
            self._path.pop()

    # -- trouble ----------------------------------------------------------------------------

    def _trouble(self, time_s):
        """Return (code, sentence) while it must stand because of the bumper, or None."""
        s = self.settings
        pressed = any(self._pressed)
        if self._halted is not None:
            recent = self._presses and time_s - self._presses[-1] < _QUIET_S
            if pressed or recent:
                return self._halted
            self._restart()
            return None
        names = ' and '.join(
            name for name, on in zip(('left', 'right'), self._pressed) if on)
        if len([t for t in self._presses if time_s - t <= 1.0]) >= s.chatter_count:
            self._halted = ('BUMPER_CHATTER', f'the bumper says {s.chatter_count} presses a '
                            'second; standing until it is quiet')
        elif pressed and not self._path and self._state == DRIVE:
            self._halted = ('BUMPER_PRESSED', f'bumper {names} is pressed from the start; '
                            'standing until it lets go')
        elif pressed and self._state == BACK and (
                self._back_m > s.retreat_m or time_s - self._bumped_s > s.held_s
                or not self._path):
            self._halted = ('BUMPER_HELD', f'bumper {names} stays pressed after backing off by '
                            f'{self._back_m * 100:.0f} cm; standing until it lets go')
        return self._halted

    def _restart(self):
        """Go on after standing, as if it had just begun."""
        odom, time_s, pressed = self._odom, self._time_s, self._pressed
        self.forget()
        self._odom, self._time_s, self._pressed = odom, time_s, pressed

    def _stalled(self, moved, time_s):
        """Tell whether the wheels have not moved for long although they should."""
        if self._state == HALT or max(abs(moved[0]), 0.1 * abs(moved[1])) > 1e-4:
            self._still_since = time_s
        if self._still_since is None:
            self._still_since = time_s
        return time_s - self._still_since > self.settings.stalled_s

    def _stall(self, time_s):
        """Take a stall for a touch, unless it is one while going back already."""
        self._still_since = time_s
        if self._state == BACK:
            self._path.clear()
            self._start_turn()
            return 'stall'
        return self._bump(time_s) + ' stall'

    # -- a touch ----------------------------------------------------------------------------

    def _bump(self, time_s):
        """Note the touch and go back; the first one tells on which side the surface is."""
        left, right = self._pressed
        if not self._mirror:
            if left == right:
                self._mirror = int(self._rng.choice((-1, 1)))
            else:
                self._mirror = 1 if right else -1
            self._turned = self._round_from = self._sign * self._odom[2]
            self.surface.forget()
        self._bumped_s, self._back_m, self._released_m = time_s, 0.0, None
        self._path_heading, self._beyond_m = self._turned, 0.0
        word = self._feel()
        self._state = BACK
        return word

    def _bump_again(self):
        """Take the other half, pressed a moment after the first, for one bump with both."""
        return self._feel() if all(self._pressed) else ''

    def _feel(self):
        left, right = self._pressed
        wall, open_ = (right, left) if self._mirror > 0 else (left, right)
        half = NOSE if wall == open_ else WALL if wall else OPEN
        x, y, _ = self._odom
        word = self.surface.touch((x, self._mirror * y), self._heading, half)
        return f'{half} {word}'

    @property
    def _heading(self):
        """Return the mirrored heading, not wrapped, so that it counts turns."""
        return self._turned

    # -- states: each returns the mirrored command --------------------------------------------

    def _drive(self, moved):
        """Go straight ahead until something is touched."""
        self._run_m += max(moved[0], 0.0)
        if self._run_m > self.settings.search_m:
            self._run_m = 0.0
            self._aim(self._heading + self._rng.uniform(0.5, 1.0) * math.pi)
        return self.settings.cruise_speed, 0.0

    def _back(self, moved):
        """Retrace the path until the bumper has let go, and a little farther."""
        s = self.settings
        if any(self._pressed):
            self._released_m = None
        elif self._released_m is None:
            self._released_m = self._back_m
            self.surface.let_go(self._where_s(self._time_s - self._release_s))
            self._wanted_back_m = s.back_off_m * self._vary()
        done = (self._released_m is not None
                and self._back_m - self._released_m >= self._wanted_back_m)
        if done or not self._path or (self._released_m is not None and self._path[-1][2]):
            return self._start_turn()
        ahead, yaw, turning = self._path[-1]
        if turning:
            return 0.0, -math.copysign(s.turn_speed, self._sign * yaw)
        curvature = self._sign * yaw / ahead if abs(ahead) > 1e-3 else 0.0
        turn = min(self._speed, 0.0) * max(-5.0, min(5.0, curvature))
        turn += _HEADING_GAIN * (self._path_heading - self._turned)
        return -s.back_speed, max(-s.turn_speed, min(s.turn_speed, turn))

    def _start_turn(self):
        s, surface = self.settings, self.surface
        if abs(self._turned - self._round_from) > math.radians(s.round_deg):
            self._leaving = True
            least = math.radians(s.leave_least_deg)
            return self._aim(surface.direction + self._rng.uniform(least, math.pi - least))
        self._leaving = False
        self._glide_m = self._vary() * min(max(
            s.miss_m / (2.0 * surface.std_rad), s.glide_least_m), s.glide_most_m)
        self._hop_m = s.hop_m * self._vary()
        off = surface.offset(self._mirrored())
        return self._aim(surface.direction + max(
            4.0 * self._hop_m / self._glide_m - s.line_gain * off, -0.1))

    def _aim(self, heading):
        self._target = heading
        self._state = TURN
        return self._turn((0.0, 0.0))

    def _turn(self, moved):
        """Turn in place to the target; only away from the surface."""
        left = self._target - self._turned - self._rate * _LAG_S
        if left < _TURNED_RAD + _COAST_S * min(max(self._rate, 0.0), 0.8):
            return self._start_run()
        still = min(max(-self._speed, 0.0), self.settings.back_speed)   # rolling back, yet
        return still, min(self.settings.turn_speed, math.sqrt(2.0 * _TURN_SLOWDOWN * left))

    def _start_run(self):
        s, surface = self.settings, self.surface
        self._run_m = 0.0
        self._speed = 0.0
        if self._leaving or surface.place is None:
            self._mirror, self._leaving = 0, False
            self._state = DRIVE
            return s.cruise_speed, 0.0
        self._state = PEEL
        return self._peel((0.0, 0.0))

    def _peel(self, moved):
        """Hop to the believed surface along a parabola; when it is not there, wrap."""
        s, surface = self.settings, self.surface
        self._run_m += max(moved[0], 0.0)
        share = self._run_m / self._glide_m
        steep = 4.0 * self._hop_m / self._glide_m
        off = surface.offset(self._mirrored())
        doubt = s.wrap_after_m + min(2.0 * surface.std_rad * self._run_m, _MOST_DOUBT_M)
        overdue = max(self._run_m - self._glide_m, 0.0)
        if off < -doubt or overdue > s.overdue_radius_m:
            self._state, self._run_m, self._pivoted = WRAP, 0.0, not surface.known
            self._wrap_from = self._turned
            self._target = surface.direction - math.radians(s.wrap_deg)
            return self._wrap((0.0, 0.0))
        too_far = off - 4.0 * self._hop_m * share * (1.0 - share)
        slope = steep * (1.0 - 2.0 * share) - s.line_gain * too_far
        slope = max(slope - overdue / s.overdue_radius_m, -1.2)
        bend = -2.0 * steep / self._glide_m - (overdue > 0.0) / s.overdue_radius_m
        return self._curve(bend, surface.direction + slope - self._turned)

    def _wrap(self, moved):
        """Curve round the end of the surface, ever wider, for a turn at most."""
        s = self.settings
        if not self._pivoted:
            left = self._turned + self._rate * _LAG_S - self._target
            if left > _COAST_S * max(-self._rate, 0.0) + _TURNED_RAD:
                return 0.0, -min(s.turn_speed, math.sqrt(2.0 * _TURN_SLOWDOWN * left))
            self._pivoted = True
        self._run_m += max(moved[0], 0.0)
        turned = self._wrap_from - self._turned
        if turned > 2.0 * math.tau:
            self._mirror, self._run_m, self._state = 0, 0.0, DRIVE
            return s.cruise_speed, 0.0
        radius = s.wrap_radius_m * (1.0 + 0.3 * max(turned - math.pi, 0.0) / math.pi)
        return self._curve(-1.0 / radius, 0.0)

    def _curve(self, curvature, error):
        s = self.settings
        speed = min(s.cruise_speed, 0.5 * s.turn_speed / max(abs(curvature), 1e-6))
        # Wheels ramp one by one: what is not asked of them at once is left for the heading.
        speed = min(speed, max(self._speed, 0.0) + _LEAD_MPS)
        turn = self._speed * curvature + _HEADING_GAIN * error
        return speed, max(-s.turn_speed, min(s.turn_speed, turn))

    def _where_s(self, time_s):
        """Return the mirrored position at a moment ago."""
        x, y = min(self._trail, key=lambda entry: abs(entry[0] - time_s))[1]
        return x, self._mirror * y

    def _mirrored(self):
        return self._odom[0], self._mirror * self._odom[1]

    def _vary(self):
        jitter = self.settings.jitter
        return self._rng.uniform(1.0 - jitter, 1.0 + jitter)
