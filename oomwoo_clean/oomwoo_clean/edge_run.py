"""
The whole edge-cleaning job as a state machine that node and harness step alike.

Each tick takes :class:`Inputs` (time, pose, what follower and navigator report) and gives
:class:`Orders` (a goal for the navigator, or the follower on, or neither). Orders hold until the
next tick says otherwise; never are a goal and the follower ordered together, and neither is
ordered before the other reports that it has stopped.
"""
from dataclasses import dataclass, replace
import math

import numpy as np
from oomwoo_clean.edge_failures import Failures
from oomwoo_clean.edge_stretch import Stretch
from oomwoo_clean.job_run import (
    DONE,
    ENDED,
    GOTO,
    IDLE,
    JobRun,
    NavReport,
    PAUSED,
    PLAN,
    STUCK,
    WAITING,
)
from oomwoo_localization.floor import JUMP_M
from oomwoo_localization.grids import GridError
from oomwoo_localization.settings import check_settings, setting

FOLLOW = 'FOLLOW'
RUNNING = (PLAN, GOTO, FOLLOW, WAITING)

# States of the contour follower in which it drives along something.
DRIVING_STATES = ('ALIGN', 'FOLLOW', 'ARC', 'TOUCH')
LOOK_EVERY_M = 0.05
LEARN_EVERY_S = 2.0


@dataclass(frozen=True)
class RunSettings:
    """When the manager ends a stretch, retries, gives up."""

    success_m: float = setting(
        0.05, 'a stretch on which at least this much was newly swept has not failed',
        'm', 0.0, 1.0)
    lead_in_m: float = setting(
        0.60, 'a stretch may run this far, beside its upstream part, before it sweeps anything '
        'new', 'm', 0.1, 5.0)
    no_new_m: float = setting(
        1.5, 'a stretch ends after driving this far without sweeping anything new', 'm', 0.3, 20.0)
    touch_no_new_m: float = setting(
        6.0, 'the same while the follower traces by touch', 'm', 0.3, 50.0)
    stall_s: float = setting(
        10.0, 'a stretch ends when the robot has not moved 5 cm for this long', 's', 1.0, 120.0)
    lost_s: float = setting(
        1.5, 'a stretch ends when the follower has been LOST or on HALT for this long',
        's', 0.2, 60.0)
    goto_s: float = setting(180.0, 'a goal is given up after this time', 's', 5.0, 3600.0)
    retry_upstream_m: float = setting(
        0.30, 'the second attempt on a spot starts this much farther upstream', 'm', 0.0, 2.0)
    different_m: float = setting(
        0.5, 'targets at least this far apart are different ones', 'm', 0.05, 5.0)
    stuck_after: int = setting(
        3, 'the robot is stuck when this many different targets fail in a row', '', 2, 20)


@dataclass(frozen=True)
class Inputs:
    """
    What is known at one tick.

    ``pose`` (x, y, yaw) in the map frame; ``odom`` the same in the odometry frame, where nothing
    jumps, if known; ``follower`` its state word; ``following`` whether the follower has
    acknowledged that it drives; ``bumped`` whether it touched something since the last tick;
    ``touched`` (N, 2) map points at which the bumper has found something, None for no news;
    ``missing`` names what the job needs and does not have, empty when nothing is.
    """

    time_s: float
    pose: object = None
    odom: object = None
    follower: str = 'IDLE'
    following: bool = False
    bumped: bool = False
    nav: NavReport = NavReport()
    touched: object = None
    missing: str = ''


@dataclass(frozen=True)
class Orders:
    """
    What to do until the next tick.

    ``goal_id`` and ``goal`` (x, y, yaw) for the navigator, None for no goal; ``follow`` whether
    the follower drives; ``events`` sentences for a human; ``save`` whether to save the state now.
    """

    state: str
    goal: tuple = None
    goal_id: int = 0
    follow: bool = False
    events: tuple = ()
    save: bool = False


class EdgeRun(JobRun):
    """
    Decides what the robot does next, from the job list ``sweep`` (EdgeSweep).

    :meth:`step` once a tick, the commands of a :class:`JobRun` between ticks.
    """

    RUNNING = RUNNING

    def __init__(self, sweep, settings=None):
        """Be idle until :meth:`start`."""
        super().__init__()
        self.sweep = sweep
        self.settings = check_settings(settings or RunSettings())
        self.segments = 0
        self.bumps = 0
        self.target = None
        self._detour = None           # a target to be taken next, whatever is nearest
        self._goal_id = 0
        self._failures = Failures()
        self.driving = False          # whether the last tick counted as edge cleaning
        self.odometer_m = None        # metres driven by the wheels, None without odometry
        self._last_odom = None
        self._learned_s = -math.inf
        self._save = False
        self._clear_segment()

    def _overview(self):
        figures = self.sweep.figures()
        return f'{figures.edges_m:.1f} m of edge on the map, {figures.swept_m:.1f} m of it swept'

    # -- one tick -----------------------------------------------------------------------------

    def step(self, inputs):
        """Take the :class:`Inputs` of a tick, return the :class:`Orders` that hold to the next."""
        since_s = self._passed_s(inputs.time_s)
        self.driving = (
            self.phase == FOLLOW and inputs.following and inputs.follower in DRIVING_STATES)
        seen = None
        self._count(inputs.odom)
        if inputs.pose is not None:
            seen = self.sweep.observe(inputs.pose, self.driving, self.odometer_m)
            if self.running and inputs.touched is not None:
                self._learn(inputs)
        if self.running:
            self._run(inputs, seen, since_s)
        return self._orders()

    def _learn(self, inputs):
        """Take into the job list what was found by touch; the target stays where it is."""
        if 0.0 <= inputs.time_s - self._learned_s < LEARN_EVERY_S:
            return
        before = self.sweep.rings.points
        try:
            new_m = self.sweep.learn(inputs.touched)
        except GridError as error:
            self._say(f'{error}; edges found by touch are not counted', warning=True)
            return
        if new_m is None:
            return
        self._learned_s = inputs.time_s
        if self.target is not None and len(self.sweep.rings.points):
            away = self.sweep.rings.points - before[self.target.spot]
            self.target = replace(self.target, spot=int(np.argmin(np.hypot(*away.T))))
        if self.phase == FOLLOW:
            self._stretch.new_m += new_m
        felt_m = float(self.sweep.rings.length[self.sweep.felt].sum())
        self._say(f'{felt_m:.1f} m of edge are known by touch')
        self._save = True

    def _run(self, inputs, seen, since_s):
        missing = inputs.missing or (
            '' if inputs.pose is not None else 'the pose of the robot in the map')
        if missing:
            if self.phase != WAITING:
                self._enter(WAITING, f'waiting for {missing}')
            return
        if self.phase == WAITING:
            self._enter(PLAN, 'everything is back, going on')
        if self.phase == PLAN:
            self._plan(inputs)
        elif self.phase == GOTO:
            self._go(inputs, since_s)
        elif self.phase == FOLLOW:
            self._follow(inputs, seen, since_s)

    def _plan(self, inputs):
        if inputs.following or inputs.nav.status == 'ACTIVE':
            return
        self.target, self._detour = self._detour, None
        if self.target is None:
            self.sweep.tick_off_crumbs()
            self.target = self.sweep.next_target(
                inputs.pose, self._failures.points, self.settings.different_m, self._upstream)
        if self.target is None:
            self._enter(DONE, 'no dirty edge is left')
            return
        self._goal_id += 1
        x, y, _ = self.target.pose
        self._enter(
            GOTO, f'to {self.target.stretch_m:.1f} m of dirty edge from ({x:.2f}, {y:.2f}), '
            f'{self.target.distance_m:.1f} m away')

    def _go(self, inputs, since_s):
        self._segment_s += since_s
        nav = inputs.nav
        if nav.goal_id == self._goal_id and nav.status == 'SUCCEEDED':
            self._clear_segment()
            self.segments += 1
            self._enter(FOLLOW, 'arrived, following')
        elif nav.goal_id == self._goal_id and nav.status == 'FAILED':
            self._fail(f'the navigator did not get there ({nav.message or "no reason given"})')
        elif self._segment_s > self.settings.goto_s:
            self._fail(f'the navigator has not arrived after {self.settings.goto_s:.0f} s')

    def _follow(self, inputs, seen, since_s):
        stretch = self._stretch
        stretch.take_in(seen, inputs.follower, since_s)
        self.bumps += bool(inputs.bumped)
        if not inputs.following and stretch.new_m == 0.0 and (
                stretch.still_s < self.settings.stall_s):
            return
        why = self._why_over(inputs) or self._better_now(inputs)
        if not why:
            return
        if stretch.new_m >= self.settings.success_m:
            self._failures.succeeded()
            self._enter(PLAN, f'{stretch.new_m:.1f} m swept: {why}')
        else:
            self._fail(why)

    def _why_over(self, inputs):
        """Return why the stretch is over, or an empty string."""
        stretch = self._stretch
        lead_in_m = self.settings.lead_in_m + max(
            self.target.lead_m, self._upstream(self.target.spot))
        if (self.sweep.full_circle() and (stretch.new_m > 0.0 or stretch.driven_m > lead_in_m)
                and not self._dirt_ahead(inputs)):
            return 'all the way round'
        if self._clean_ahead(inputs):
            return 'no dirty edge is ahead'
        return stretch.why_over(self.settings, lead_in_m, inputs.follower)

    def _clean_ahead(self, inputs):
        """Tell whether it has passed the last dirty spot of the ring for as far as it might go."""
        # A spot counts as swept this much before the middle of the robot is there.
        return (self._stretch.new_m > 0.0 and inputs.follower != 'TOUCH'
                and self._stretch.since_new_m >= self.sweep.settings.tolerance_m
                and self.sweep.nothing_ahead(inputs.pose, self.settings.no_new_m))

    def _dirt_ahead(self, inputs):
        """Tell whether there is still something to be swept a little farther on."""
        return (self._stretch.touch_m < self.settings.no_new_m
                and self.sweep.dirt_ahead(inputs.pose, self.settings.no_new_m))

    def _better_now(self, inputs):
        """Return the reason to leave for a stretch better cleaned on the way, or ''."""
        stretch = self._stretch
        if (stretch.new_m < self.settings.success_m
                or stretch.driven_m - self._looked_m < LOOK_EVERY_M):
            return ''
        self._looked_m = stretch.driven_m
        self._detour = self.sweep.on_the_way(
            inputs.pose, self.target, self._failures.points, self.settings.different_m)
        return (
            f'{self._detour.stretch_m:.1f} m of another edge are close by' if self._detour else '')

    # -- failures -----------------------------------------------------------------------------

    def _point(self, spot):
        return tuple(float(v) for v in self.sweep.rings.points[spot])

    def _upstream(self, spot):
        """Return how far before a dirty spot to start: farther when it has failed before."""
        again = self._failures.near(self._point(spot), self.settings.different_m) > 0
        return self.sweep.settings.upstream_m + (self.settings.retry_upstream_m if again else 0.0)

    def _fail(self, why):
        """Put the target off; give up a spot at its second attempt; be stuck after some."""
        spot, (x, y) = self.target.spot, self._point(self.target.spot)
        before = self._failures.note((x, y), spot, self.settings.different_m)
        if self._failures.in_row >= self.settings.stuck_after:
            self._enter(
                STUCK, f'{self._failures.in_row} different targets failed in a row, '
                f'so the robot is what is stuck; the last one: {why}')
            return
        if before == 0:
            self._enter(PLAN, f'target at ({x:.2f}, {y:.2f}) put off: {why}')
            return
        length_m = self.sweep.settings.write_off_m * 2.0 ** (before - 1)
        given_up_m = self.sweep.write_off(spot, length_m)
        self._enter(PLAN, f'{given_up_m:.2f} m at ({x:.2f}, {y:.2f}) written off: {why}')

    # -- plumbing -----------------------------------------------------------------------------

    def _count(self, odom):
        """Add what the wheels drove since the last tick to the odometer, if there is odometry."""
        if odom is None:
            self._last_odom = self.odometer_m = None
            return
        if self._last_odom is None:
            self.odometer_m = self.sweep.driven_m
        else:
            step_m = math.dist(odom[:2], self._last_odom)
            self.odometer_m += step_m if step_m < JUMP_M else 0.0
        self._last_odom = (float(odom[0]), float(odom[1]))

    def _enter(self, phase, reason):
        super()._enter(phase, reason)
        if phase != PLAN:
            self._detour = None
        self._segment_s = 0.0
        self._save = True

    def _clear_segment(self):
        self.sweep.begin_segment()
        self._stretch = Stretch()
        self._segment_s = self._looked_m = 0.0

    def _orders(self):
        events = self._take_events()
        save, self._save = self._save, False
        if self.phase == GOTO:
            return Orders(GOTO, self.target.pose, self._goal_id, False, events, save)
        return Orders(self.phase, follow=self.phase == FOLLOW, events=events, save=save)

    # -- state --------------------------------------------------------------------------------

    def state(self):
        """Return the whole job as a dict of arrays, for :meth:`restore`."""
        return self.sweep.state() | {
            'phase': np.array(self.phase), 'reason': np.array(self.reason),
            'elapsed_s': np.array(self.elapsed_s), 'segments': np.array(self.segments),
            'bumps': np.array(self.bumps), 'goal_id': np.array(self._goal_id),
            **self._failures.state()}

    def restore(self, state):
        """
        Take a saved job over; raises ValueError when it belongs to another map.

        What was running stands still afterwards, until :meth:`start`; what was paused is paused,
        what had ended has ended.
        """
        self.sweep.restore(state)
        self.elapsed_s, self.segments = float(state['elapsed_s']), int(state['segments'])
        self.bumps, self._goal_id = int(state['bumps']), int(state['goal_id'])
        self._failures.restore(state)
        saved = str(state['phase'])
        self.phase = saved if saved in (PAUSED, *ENDED) else IDLE
        self.reason = str(state['reason'])
        self._clear_segment()

    def replay(self, pose, driving, odometer_m, elapsed_s):
        """Repeat what one tick since the last saved state did to the job list."""
        self.sweep.observe(pose, driving, odometer_m)
        self.elapsed_s = elapsed_s
