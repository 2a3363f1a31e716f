"""
Three reflexes that get a robot out of what planning leads it into, keyed on touch and on progress.

(a) A bumper held: turn away from the pressed side, back and peel. (b) Many bumps in a small
radius: confined, follow the edge out. (c) Commanded travel that no scan shows: high-centred or
slipping, wiggle, then spiral; and if that does not help, say STUCK and stand.

Show it what happens with :meth:`EscapeReflex.bumper`, :meth:`commanded`, :meth:`scanned` and
:meth:`odometry`, and call :meth:`step` ten or more times a second.
"""
from collections import deque
import math

import numpy as np
from oomwoo_clean import escape_moves as moves
from oomwoo_clean.bumper_watch import BumperWatch, SIDES
from oomwoo_clean.escape_moves import Senses
from oomwoo_clean.reflex_settings import (
    BUMPER_STUCK,
    CONFINED,
    FOLLOW_OUT,
    HELD_BUMPER,
    NO_PROGRESS,
    OVERRIDDEN,
    PEEL,
    Pocket,
    ReflexOutput,
    ReflexSettings,
    SPIRAL,
    STAND,
    STUCK,
    WATCH,
    WEDGED,
    WIGGLE,
)
from oomwoo_clean.scan_motion import changed_share, STOOD, usable
from oomwoo_clean.travel_watch import TravelWatch
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.robot import load_robot
from oomwoo_localization.settings import check_settings

_STEP_MOST_S = 0.2            # a longer pause between two steps is not planned for
_DROVE_S = 1.0                # a press this long after the last command is not the robot's doing
_ECHO_S = 0.6                 # own commands reach the base within this, or somebody else drives
_SAME_PLACE_M, _SAME_PLACE_S = 0.4, 30.0
_FREED_S = 0.5                # a bumper that has let go for this long has let go
_FREED_SHARE = 0.5            # of the beams: the robot is not where it was stuck
_MOVED_SHARE = 0.2            # the same, of a peel that leads there and back
_LOOK_AGAIN_S = 1.0
_ODOMETRY_COUNTS_S = 0.5      # from an older one it is not known where a bump was


class EscapeReflex:
    """One robot's reflexes; starts watching."""

    def __init__(self, settings=None, robot=None):
        """Take :class:`ReflexSettings` and a robot, by default the packaged ones."""
        self.settings = check_settings(settings or ReflexSettings())
        self.robot = robot or load_robot()
        self.touch_cleaning = False         # somebody touches on purpose: (b) does not count
        self.reset()

    def configure(self, settings):
        """Take over other settings; what runs goes on."""
        self.settings = check_settings(settings)
        self._bumpers.release_s = settings.release_s
        self._travel.window_m = settings.window_m
        self._travel.window_rad = math.radians(settings.window_deg)

    # -- what happens -----------------------------------------------------------------------

    def reset(self):
        """Forget everything, as when it was made; a robot that was stuck is free."""
        s = self.settings
        self._senses = Senses()
        self._bumpers = BumperWatch(s.release_s)
        self._travel = TravelWatch(s.window_m, math.radians(s.window_deg))
        self._drove_s = self._echo_s = None   # last command of others, last one of ours
        # Where odometry was last, when, and the dead reckoning at that moment.
        self._odom, self._odom_s, self._reckoned = np.zeros(3), -math.inf, np.zeros(3)
        self._peels = deque(maxlen=16)        # (when, x, y)
        self._stepped_s = None
        self._said = (WATCH, '', '')
        self._forget_trouble()
        self._watch()

    def time_went_back(self):
        """Forget what is newer than the clock; a robot that is stuck stays so."""
        stuck = (self.state, self._reason, self._evidence) if self.state == STUCK else None
        said = self._said
        self.reset()
        self._said = said
        if stuck is not None:
            self._stay(*stuck[1:])

    def bumper(self, side, pressed, now_s):
        """Take what a switch ('left' or 'right') says."""
        # Between two steps it may have been pressed any time since the one before.
        before_s = self._stepped_s
        self._senses.now_s = now_s
        looked = before_s is not None and 0.0 <= now_s - before_s <= _STEP_MOST_S
        if self._bumpers.press(side, pressed, now_s, before_s if looked else now_s):
            self._senses.felt.add(side)
            self._senses.last_side = side
            if self._knows_place(now_s):
                self._bumpers.bump(self._place(), now_s)
            self._restart_travel()

    def commanded(self, linear, angular, now_s):
        """Take a command that went to the base, whoever's it is; only finite ones count."""
        if not (math.isfinite(linear) and math.isfinite(angular)):
            return
        self._travel.command(linear, angular, now_s)
        if (linear, angular) in self._senses.own and self.state != WATCH:
            self._echo_s = now_s
        elif (linear, angular) != STAND:
            self._drove_s = now_s

    def scanned(self, scan, base_from_scan, now_s):
        """
        Take a :class:`~oomwoo_localization.scans.Scan` and its 4 x 4 mount.

        Returns False for one with too few beams, which counts as none.
        """
        if not usable(scan):
            return False
        senses = self._senses
        senses.scan, senses.mount, senses.scan_s = scan, base_from_scan, now_s
        yaw = math.atan2(base_from_scan[1, 0], base_from_scan[0, 0])
        self._travel.scan(scan, now_s, yaw)
        return True

    def odometry(self, pose, now_s):
        """
        Take the plane pose (3,) of wheel odometry, which came at ``now_s``.

        Returns False for one that is not finite, which counts as none.
        """
        pose = np.asarray(pose, dtype=float)
        if not np.isfinite(pose).all():
            return False
        self._odom, self._odom_s, self._reckoned = pose, now_s, self._travel.pose
        return True

    def free(self):
        """Let behaviours drive again: somebody says that the robot is free."""
        was = self.state == STUCK
        self._forget_trouble()
        self._restart_travel()
        self._bumpers.forget_bumps()
        self._watch()
        self._armed_s = self._senses.now_s
        self._drove_s = None
        return was

    def wants_scan(self, now_s):
        """Tell whether the next scan is worth reading."""
        return self.state != WATCH or self._travel.wants_scan(now_s)

    @property
    def busy(self):
        """Tell whether :meth:`step` has to be called: it drives, or something is pressed."""
        return self.state != WATCH or self._bumpers.held(self._senses.now_s) is not None

    # -- one step ---------------------------------------------------------------------------

    def step(self, now_s):
        """Return the :class:`ReflexOutput` of now."""
        senses = self._senses
        period_s = 0.0 if self._stepped_s is None else min(
            max(now_s - self._stepped_s, 0.0), _STEP_MOST_S)
        self._stepped_s = senses.now_s = now_s
        senses.pose = self._place_pose()
        self._pocket, self._cancel = None, False
        held = self._bumpers.held(now_s)
        senses.pressed = set() if held is None else (
            set(SIDES) if held.side == 'both' else {held.side})

        self._decide(held, now_s, period_s)
        command = STAND
        if self._move is not None:
            try:
                command = next(self._move)
            except StopIteration as ended:
                self._move = None
                self._end(ended.value)
                command = STAND if self._move is None else next(self._move)
        senses.felt = set()
        active = self.state != WATCH
        command = tuple(float(speed) for speed in command) if active else STAND
        if active:
            senses.own.append(command)
        said, self._said = self._said, (self.state, self._reason, self._evidence)
        return ReflexOutput(
            active, *command, self.state, self._reason, self._evidence, self._cancel,
            self._pocket, self._said != said)

    def _decide(self, held, now_s, period_s):
        """Begin, go on with, or leave a reflex."""
        s = self.settings
        if self.state == STUCK:
            self._look_whether_free(held, now_s)
            return
        if self._overridden(now_s):
            self._watch(OVERRIDDEN, 'somebody of higher rank drives, or a lock is closed')
            self._armed_s, self._drove_s = now_s, None
            return
        peeling = self.state == PEEL or self._reason == WEDGED
        if held is not None and not peeling and self._drives(held):
            since_s = max(held.since_s, self._armed_s)
            # Now, if the next step would come too late.
            if held.closed and now_s + period_s >= since_s + s.hold_s:
                self._begin_peel(held, now_s)
                return
        if self.state in (WATCH, FOLLOW_OUT) and held is None and self._no_progress():
            self._begin_wiggle(now_s)
        elif self.state == WATCH:
            self._look_whether_confined(now_s)

    def _drives(self, held):
        """Tell whether the robot has been driven into what it touches, and not touched by it."""
        return self.state != WATCH or self._drove_s is not None and (
            self._drove_s >= held.since_s - _DROVE_S)

    def _overridden(self, now_s):
        """Tell whether own commands do not reach the base, where others' do."""
        if self.state == WATCH or not self._travel.heard:
            return False
        last_s = max(self._began_s, -math.inf if self._echo_s is None else self._echo_s)
        return now_s - last_s > _ECHO_S

    # -- (a) a bumper held -------------------------------------------------------------------

    def _begin_peel(self, held, now_s):
        x, y = self._place()
        times = sum(now_s - when <= _SAME_PLACE_S and math.hypot(x - px, y - py) <= _SAME_PLACE_M
                    for when, px, py in self._peels)
        self._peels.append((now_s, x, y))
        which = 'both halves' if held.side == 'both' else f'the {held.side} half'
        self._begin(
            PEEL, HELD_BUMPER,
            f'bumper held: {which} for {now_s - held.since_s:.2f} s; turns away, backs and peels',
            moves.peel(self._senses, self.settings, self.robot.body.radius, held.side, times),
            now_s)
        self._before = self._senses.scan if self._senses.sees() else None
        self._restart_travel()
        ahead = compose(self._senses.pose, (self.robot.body.radius, 0.0, 0.0))
        self._record(ahead[:2], HELD_BUMPER)

    def _peeled(self, let_go):
        """Hand back, or find out why the bumper does not let go."""
        if let_go:
            self._watch()
            return
        moved = self._moved_since_before()
        if moved is False:
            self._begin(
                WIGGLE, WEDGED, 'the bumper does not let go and the scan does not change; wiggles',
                moves.wiggle(self._senses, self.settings, self.robot.body.radius),
                self._senses.now_s)
            return
        how = ('though the scan shows that the robot moved' if moved
               else 'after turning away to both sides')
        side = ' and '.join(sorted(self._senses.pressed)) or 'a'
        self._stay(
            BUMPER_STUCK, f'bumper stuck: {side} is still pressed {how}; stands until it lets go')

    def _moved_since_before(self):
        """Return whether the scan shows motion since the reflex began; None: cannot tell."""
        if self._before is None or not self._senses.sees():
            return None
        share = changed_share(self._before, self._senses.scan)
        return None if math.isnan(share) else share > _MOVED_SHARE

    # -- (b) confined ------------------------------------------------------------------------

    def _look_whether_confined(self, now_s):
        s = self.settings
        if self.touch_cleaning:
            self._bumpers.forget_bumps()
            return
        middle = self._bumpers.crowd(s.bumps, s.bumps_radius_m, s.bumps_s, now_s)
        if middle is None:
            return
        self._bumpers.forget_bumps()

        def is_out():
            return math.hypot(*(self._place() - middle)) >= s.out_m

        how = 'with the contour follower' if self._senses.sees() else 'by touch, there is no scan'
        self._begin(
            FOLLOW_OUT, CONFINED,
            f'confined: {s.bumps} bumps within {s.bumps_radius_m} m and {s.bumps_s:g} s; '
            f'follows the edge out {how}',
            moves.follow_out(self._senses, s, self.robot, middle, is_out), now_s)
        self._record(middle, CONFINED, s.bumps_radius_m)

    # -- (c) no progress ---------------------------------------------------------------------

    def _no_progress(self):
        travel = self._travel
        if travel.moved_m >= self.settings.free_m:
            self._forget_trouble()
        return travel.stood_m >= self.settings.travel_m and travel.windows >= 2

    def _begin_wiggle(self, now_s):
        travel = self._travel
        found = travel.last
        evidence = (
            f'no progress: {travel.stood_m:.2f} m commanded, no bump, and {found.same:.0%} of '
            f'{found.telling} beams that would have changed did not: high-centred or slipping')
        first = self._trouble_s is None
        if first:
            self._trouble_s = now_s
        self._record(self._place(), NO_PROGRESS)
        if now_s - self._trouble_s > self.settings.stuck_within_s:
            self._stay(NO_PROGRESS, f'{evidence}; wiggle and spiral did not help')
        elif first:
            self._begin(
                WIGGLE, NO_PROGRESS, f'{evidence}; wiggles',
                moves.wiggle(self._senses, self.settings, self.robot.body.radius), now_s)
        else:
            self._spiral(evidence, now_s)
        self._restart_travel()

    def _spiral(self, evidence, now_s):
        self._spirals += 1
        forward = self._spirals % 2 == 1
        self._begin(
            SPIRAL, NO_PROGRESS,
            f'{evidence}; spirals {"forward" if forward else "backwards"}',
            moves.spiral(self._senses, self.settings, self.robot.body.radius,
                         1 if forward else -1, 1 if self._spirals % 4 < 2 else -1), now_s)
        self._restart_travel()

    def _after_wiggle_or_spiral(self, now_s):
        """Hand back if the scan shows motion, else do more; not for ever."""
        found = self._travel.last
        if self._reason == WEDGED:
            if self._senses.pressed and self._moved_since_before() is not True:
                self._stay(
                    WEDGED, 'wedged: the bumper does not let go and the scan stays the same')
            else:
                self._watch()
        elif found is not None and found.verdict != STOOD:
            self._restart_travel()
            self._watch()
        elif self._spirals < 2:
            self._spiral('the scan still does not change', now_s)
        else:
            self._stay(NO_PROGRESS, (
                'stuck: high-centred or slipping; neither wiggle nor spiral changed the scan'))

    # -- between reflexes ----------------------------------------------------------------------

    def _end(self, value):
        """Take the end of a manoeuvre and what it returned."""
        if self.state == PEEL:
            self._peeled(value)
        elif self.state == FOLLOW_OUT and value:
            self._bumpers.forget_bumps()
            self._watch()
        elif self.state == FOLLOW_OUT:
            self._stay(CONFINED, 'confined: followed the edge on both sides and did not get out')
        else:
            self._after_wiggle_or_spiral(self._senses.now_s)

    def _begin(self, state, reason, evidence, move, now_s):
        self.state, self._reason, self._evidence, self._move = state, reason, evidence, move
        self._began_s = now_s
        self._cancel = True
        self._senses.own.clear()

    def _watch(self, reason='', evidence=''):
        self.state, self._reason, self._evidence = WATCH, reason, evidence
        self._move, self._before = None, None
        self._began_s = -math.inf

    def _stay(self, reason, evidence):
        self.state, self._reason, self._evidence = STUCK, reason, evidence
        self._move, self._cancel = None, True
        self._released_s = self._looked_s = None
        self._changes = 0
        self._stuck_scan = self._senses.scan if self._senses.sees() else None

    def _look_whether_free(self, held, now_s):
        """Watch on when the bumper lets go, or the scan shows that the robot is elsewhere."""
        if self._reason in (BUMPER_STUCK, WEDGED):
            if held is not None:
                self._released_s = None
            elif self._released_s is None:
                self._released_s = now_s
            elif now_s - self._released_s >= _FREED_S:
                self.free()
                self._evidence = 'the bumper has let go'
                return
            if self._reason == BUMPER_STUCK:
                return
        if self._looked_s is not None and now_s - self._looked_s < _LOOK_AGAIN_S:
            return
        self._looked_s = now_s
        if not self._senses.sees():
            return
        if self._stuck_scan is None:
            self._stuck_scan = self._senses.scan
        elsewhere = changed_share(self._stuck_scan, self._senses.scan) > _FREED_SHARE
        self._changes = self._changes + 1 if elsewhere else 0
        if self._changes >= 2:
            self.free()
            self._evidence = 'the scan shows that the robot has been moved'

    def _forget_trouble(self):
        self._trouble_s, self._spirals = None, 0
        self._armed_s = -math.inf

    def _record(self, place, reason, radius_m=None):
        self._pocket = Pocket(
            (float(place[0]), float(place[1])), radius_m or self.settings.pocket_radius_m, reason)

    def _knows_place(self, now_s):
        """Tell whether odometry is young enough to say where a bump was."""
        return 0.0 <= now_s - self._odom_s <= _ODOMETRY_COUNTS_S

    def _place_pose(self):
        """Return the pose by odometry; from where that ceased, by the commands."""
        if self._knows_place(self._senses.now_s):
            return self._odom
        return compose(self._odom, compose(inverse(self._reckoned), self._travel.pose))

    def _restart_travel(self):
        """Count commanded travel anew; where the robot is stays known."""
        self._odom = self._place_pose()
        self._reckoned = np.zeros(3)
        self._travel.restart()

    def _place(self):
        return self._place_pose()[:2]
