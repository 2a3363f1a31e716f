"""
The whole coverage job as a state machine that node and harness step alike.

Leg after leg of :class:`oomwoo_clean.coverage_sweep.CoverageSweep`: to its beginning, along it to
its end, look again. The navigator drives; while an escape reflex does, the job stands aside.
"""
from dataclasses import dataclass
import math

from oomwoo_clean.job_run import (
    DONE,
    GOTO,
    JobRun,
    NavReport,
    PLAN,
    STUCK,
    WAITING,
)
from oomwoo_localization.settings import check_settings, setting

SWEEP, ESCAPE = 'SWEEP', 'ESCAPE'


@dataclass(frozen=True)
class CoverageRunSettings:
    """When the planner goes to the next leg, tries again, gives up."""

    success_m2: float = setting(
        0.02, 'a leg on which at least this much floor was newly covered has not failed',
        'm^2', 0.0, 1.0)
    retry_s: float = setting(
        1.0, 'after a goal that failed, the next is sent this long after it at the earliest',
        's', 0.0, 60.0)
    goal_s: float = setting(120.0, 'a goal is given up after this time', 's', 5.0, 3600.0)
    different_m: float = setting(
        0.30, 'legs that begin at least this far apart are different ones', 'm', 0.05, 5.0)
    attempts: int = setting(2, 'a leg is given up when it has failed this often', '', 1, 10)
    reached_share: float = setting(
        0.10, 'a job that ends with less than this share of the floor covered is stuck, not done',
        '', 0.0, 1.0)
    stuck_after: int = setting(
        5, 'the robot is stuck when this many different legs have failed in a row ...', '', 2, 100)
    stuck_s: float = setting(
        120.0, '... and nothing was newly covered for this long', 's', 1.0, 3600.0)


@dataclass(frozen=True)
class CoverageInputs:
    """
    What is known at one tick.

    ``pose`` (x, y, yaw) in the map; ``escaping`` whether an escape reflex drives; ``missing``
    names what the job needs and does not have, empty when nothing is.
    """

    time_s: float
    pose: object = None
    nav: NavReport = NavReport()
    escaping: bool = False
    missing: str = ''


@dataclass(frozen=True)
class CoverageOrders:
    """What to do until the next tick: ``goal`` (x, y, yaw) for the navigator, None for none."""

    state: str
    goal: tuple = None
    goal_id: int = 0
    events: tuple = ()


class CoverageRun(JobRun):
    """Decides what the robot does next; :meth:`step` once a tick, commands between ticks."""

    RUNNING = (PLAN, GOTO, SWEEP, ESCAPE, WAITING)

    def __init__(self, sweep, settings=None):
        """Be idle until :meth:`start`."""
        super().__init__()
        self.sweep = sweep
        self.settings = check_settings(settings or CoverageRunSettings())
        self.legs = self.failed_goals = self.escapes = 0
        self.leg = None
        self._goal = None
        self._goal_id = 0
        self._goal_since_s = self._new_since_s = 0.0
        self._new_m2 = 0.0            # on this leg
        self._failures = []           # (x, y) where failed legs began
        self._failed_in_row = []
        self._not_before_s = 0.0      # of the next goal
        self._last_failure = ''
        self._waits_for = ''

    def _overview(self):
        return f'{self.sweep.coverage.floor_m2:.1f} m2 of floor to cover'

    def step(self, inputs):
        """Take the :class:`CoverageInputs` of a tick, return the :class:`CoverageOrders`."""
        self._passed_s(inputs.time_s)
        if self.running and inputs.pose is not None and not inputs.missing:
            new_m2 = self.sweep.observe(inputs.pose)
            self._new_m2 += new_m2
            if new_m2 > 0.0:
                self._new_since_s = self.elapsed_s
        if self.running:
            self._run(inputs)
        goal = self._goal if self.phase in (GOTO, SWEEP) else None
        return CoverageOrders(self.phase, goal, self._goal_id, self._take_events())

    def _run(self, inputs):
        missing, cause = self._missing(inputs)
        if inputs.escaping:
            if self.phase != ESCAPE:
                self.escapes += 1
                self._enter(ESCAPE, 'an escape reflex drives')
            return
        if missing:
            if self.phase != WAITING or missing != self._waits_for:
                self._waits_for = missing
                self._enter(WAITING, f'waiting for {missing}{cause}')
            return
        if self.phase == ESCAPE:
            self._leg_over('the bumper was held', failed=True)
        elif self.phase == WAITING:
            self._enter(PLAN, 'everything is back, going on')
        if self.phase == PLAN:
            if inputs.nav.status != 'ACTIVE' and self.elapsed_s >= self._not_before_s:
                self._plan(inputs)
        elif self.phase in (GOTO, SWEEP):
            self._drive(inputs)

    def _missing(self, inputs):
        """Return what the job needs and does not have, '' for nothing, and what is known of it."""
        if inputs.missing:
            return inputs.missing, ''
        if inputs.pose is None:
            return 'the pose of the robot in the map', ''
        if self.phase in (PLAN, WAITING) and not self.sweep.is_on_floor(inputs.pose):
            x, y = inputs.pose[:2]
            return 'the robot to be on the floor', (
                f': the robot is at ({x:.2f}, {y:.2f}), which is no floor of the map')
        return '', ''

    def _plan(self, inputs):
        self.leg = self.sweep.next_leg(inputs.pose, self._failures, self.settings.different_m)
        if self.leg is None:
            self._end()
            return
        self.legs += 1
        self._new_m2 = 0.0
        x, y, _ = self.leg.begin
        what = f'a lane of {self.leg.length_m:.1f} m' if self.leg.end else 'a missed patch'
        self._send(GOTO, self.leg.begin, (
            f'to {what} from ({x:.2f}, {y:.2f}), {self.leg.distance_m:.1f} m away'))

    def _send(self, phase, goal, why):
        self._goal, self._goal_since_s = goal, self.elapsed_s
        self._goal_id += 1
        self._enter(phase, why)

    def _drive(self, inputs):
        nav = inputs.nav
        mine = nav.goal_id == self._goal_id
        if mine and nav.status == 'SUCCEEDED':
            if self.phase == GOTO and self.leg.end:
                self._send(SWEEP, self.leg.end, f'along it for {self.leg.length_m:.1f} m')
            else:
                self._leg_over('arrived', failed=False)
        elif mine and nav.status == 'FAILED':
            self._goal_failed(
                f'the navigator did not get there ({nav.message or "no reason given"})')
        elif self.elapsed_s - self._goal_since_s > self.settings.goal_s:
            self._goal_failed(
                f'the navigator has not arrived after {self.settings.goal_s:.0f} s')

    def _goal_failed(self, why):
        self.failed_goals += 1
        self._last_failure = why
        # A navigator that rejects goals at once is not flooded with them.
        self._not_before_s = self._goal_since_s + self.settings.retry_s
        self._leg_over(why, failed=True)

    # -- the end of a leg -----------------------------------------------------------------------

    def _leg_over(self, why, failed):
        leg, self.leg = self.leg, None
        if leg is None or self._new_m2 >= self.settings.success_m2:
            self._failed_in_row = []
            self._enter(PLAN, f'{self._new_m2:.2f} m2 covered: {why}')
            return
        if not failed and leg.end is None:
            self.sweep.give_up(leg)                     # it stood there: more it cannot cover
            self._enter(PLAN, f'nothing more to cover there: {why}')
            return
        at = leg.begin[:2]
        self._failures.append(at)
        if all(math.dist(at, other) > self.settings.different_m for other in self._failed_in_row):
            self._failed_in_row.append(at)
        if (len(self._failed_in_row) >= self.settings.stuck_after
                and self.elapsed_s - self._new_since_s > self.settings.stuck_s):
            self._enter(
                STUCK, f'{len(self._failed_in_row)} different legs failed in a row and nothing '
                f'was covered for {self.elapsed_s - self._new_since_s:.0f} s; the last one: {why}')
            return
        before = sum(math.dist(at, other) <= 0.05 for other in self._failures)
        if before >= self.settings.attempts:
            self.sweep.give_up(leg)
            self._enter(PLAN, f'leg at ({at[0]:.2f}, {at[1]:.2f}) given up: {why}')
        else:
            self._enter(PLAN, f'leg at ({at[0]:.2f}, {at[1]:.2f}) put off: {why}')

    def _end(self):
        if self.sweep.coverage.ratio >= self.settings.reached_share:
            self._enter(DONE, self._what_is_left())
            return
        why = self._last_failure and f'; {self.failed_goals} goals failed: {self._last_failure}'
        self._enter(STUCK, f'next to nothing could be reached: {self._what_is_left()}{why}')

    def _what_is_left(self):
        coverage = self.sweep.coverage
        left_m2 = coverage.floor_m2 - coverage.covered_m2
        return (
            f'{coverage.covered_m2:.1f} of {coverage.floor_m2:.1f} m2 covered '
            f'({100.0 * coverage.ratio:.1f} %); {left_m2:.2f} m2 left: given up, in no-go pockets '
            'or in pieces too small to go for')
