"""
Three reflexes that get a robot out of what planning leads it into, keyed on touch and on progress.

(a) A bumper held: turn away from the pressed side, back and peel. (b) Many bumps in a small
radius: confined, out by the widest way or along the edge. (c) Commanded travel that no scan shows:
high-centred or slipping, wiggle, then spiral; and if that does not help, say STUCK and stand.

Show it what happens with :meth:`EscapeReflex.bumper`, :meth:`commanded`, :meth:`scanned` and
:meth:`odometry`, and call :meth:`step` ten or more times a second.
"""
import math

from oomwoo_clean import escape_moves as moves
from oomwoo_clean.bumper_watch import SIDES
from oomwoo_clean.reflex_confined import Confinements, Places
from oomwoo_clean.reflex_freed import FreedWatch
from oomwoo_clean.reflex_inputs import ReflexInputs, STEP_MOST_S
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
from oomwoo_clean.scan_motion import changed_share, STOOD
from oomwoo_localization.frames import compose
from oomwoo_localization.robot import load_robot
from oomwoo_localization.settings import check_settings

_DROVE_S = 1.0                # a press this long after the last command is not the robot's doing
_ECHO_S = 0.6                 # own commands reach the base within this, or somebody else drives
_SAME_PLACE_M, _SAME_PLACE_S = 0.4, 30.0
_MOVED_SHARE = 0.2            # of the beams changed: a peel, there and back, has moved the robot


class EscapeReflex(ReflexInputs):
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

    def reset(self):
        """Forget everything, as when it was made; a robot that was stuck is free."""
        self._forget_inputs(self.settings)
        self._peels, self._hangs = Places(), Confinements()
        self._confinements, self._confinement = Confinements(), None
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

    def free(self):
        """Let behaviours drive again: somebody says that the robot is free."""
        was = self.state == STUCK
        self._forget_trouble()
        self._restart_travel()
        self._bumps.forget()
        self._confinements, self._hangs = Confinements(), Confinements()
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
            max(now_s - self._stepped_s, 0.0), STEP_MOST_S)
        self._stepped_s = senses.now_s = now_s
        senses.pose = self._where.pose(now_s)
        self._pocket, self._cancel = None, False
        held = self._bumpers.held(now_s)
        senses.pressed = set() if held is None else (
            set(SIDES) if held.side == 'both' else {held.side})

        self._decide(held, now_s, period_s)
        command = None
        while command is None and self._move is not None:
            try:
                command = next(self._move)
            except StopIteration as ended:
                self._move = None
                self._end(ended.value)
        command = STAND if command is None else command
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
            free = self._freed.step(
                held, self._senses.scan if self._senses.sees() else None, now_s)
            if free:
                self.free()
                self._evidence = free
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
        if self.state == FOLLOW_OUT and self._hopeless(now_s):
            self._stay(self._reason, f'{self._evidence}; not out of this place in '
                       f'{now_s - self._confinement.first_s:.0f} s, whichever way it went')
        elif self.state in (WATCH, FOLLOW_OUT) and held is None and self._no_progress():
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
        times = self._peels.note(self._place(), now_s, _SAME_PLACE_M, _SAME_PLACE_S)
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
            self._bumps.forget()
            return
        bumps = self._confinements.bumps(s.bumps, self._place(), now_s)
        middle = self._bumps.crowd(bumps, s.bumps_radius_m, s.bumps_s, now_s)
        if middle is None:
            return
        self._bumps.forget()
        sees = self._senses.saw_lately()
        self._confinement = here = self._confinements.begin(
            middle, now_s, s.out_m, s.out_most_m if sees else s.out_m, self._headings)
        self._record(middle, CONFINED, s.bumps_radius_m)
        evidence = (f'confined: {bumps} bumps within {s.bumps_radius_m} m and {s.bumps_s:g} s, '
                    f'time {here.count} here')
        if self._hopeless(now_s):
            self._stay(CONFINED, f'{evidence}; it comes back whichever way it gets out')
            return
        how = 'by the widest way' if sees else 'by touch, there is no scan'
        self._begin(
            FOLLOW_OUT, CONFINED, f'{evidence}; goes {here.out_m:.2f} m out {how}',
            moves.follow_out(
                self._senses, s, self.robot, here,
                lambda: here.away_m(self._place()) >= here.out_m), now_s)

    def _hopeless(self, now_s):
        """Tell whether it has not got wholly out of this place too often or for too long."""
        here, s = self._confinement, self.settings
        return here.rounds > s.rounds or now_s - here.first_s > s.give_up_s

    def _followed(self, why_not):
        """Hand back, or say that there is no way out."""
        if why_not and self._reason == NO_PROGRESS:
            self._watch()
            return
        if why_not:
            self._stay(CONFINED, f'confined: {why_not}, and along the edge it did not get out')
            return
        x, y = self._place() - self._confinement.middle
        self._confinement.left = math.atan2(y, x)
        if math.hypot(x, y) >= self.settings.out_most_m:
            self._confinement.outside_s = self._senses.now_s
        self._forget_trouble()
        self._bumps.forget()
        self._watch()

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
        first, self._hung_again = self._trouble_s is None, self._trouble_s is not None
        if first:
            self._trouble_s = now_s
        self._record(self._place(), NO_PROGRESS)
        if first:
            self._confinement = self._hangs.begin(
                self._place(), now_s, self.settings.out_m, self.settings.out_most_m)
            # It hangs on what is ahead.
            self._confinement.tried.append(self._where.pose(now_s)[2])
        if first and self._hopeless(now_s):
            self._stay(NO_PROGRESS, f'{evidence}, time {self._confinement.count} here')
        elif now_s - self._trouble_s > self.settings.stuck_within_s:
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
            self._go_out_again(now_s)
        elif self._spirals < 2:
            self._spiral('the scan still does not change', now_s)
        else:
            self._stay(NO_PROGRESS, (
                'stuck: high-centred or slipping; neither wiggle nor spiral changed the scan'))

    def _go_out_again(self, now_s):
        """Hand back; but away from the place first, where the robot came back to it before."""
        here = self._confinement
        if here.count == 1 and not self._hung_again or not self._senses.sees():
            self._watch()
            return
        if here.away_m(self._place()) >= here.out_m:
            self._followed('')
            return
        self._begin(
            FOLLOW_OUT, NO_PROGRESS,
            f'free, as before, and back here then: goes {here.out_m:.2f} m away',
            moves.follow_out(
                self._senses, self.settings, self.robot, here,
                lambda: here.away_m(self._place()) >= here.out_m), now_s)

    # -- between reflexes ----------------------------------------------------------------------

    def _end(self, value):
        """Take the end of a manoeuvre and what it returned."""
        if self.state == PEEL:
            self._peeled(value)
        elif self.state == FOLLOW_OUT:
            self._followed(value)
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
        self._freed = FreedWatch(reason, self._senses.scan if self._senses.sees() else None)

    def _forget_trouble(self):
        self._trouble_s, self._spirals = None, 0
        self._armed_s = -math.inf

    def _record(self, place, reason, radius_m=None):
        self._pocket = Pocket(
            (float(place[0]), float(place[1])), radius_m or self.settings.pocket_radius_m, reason)
