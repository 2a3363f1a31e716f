"""One measured run of the bump-out in the embedded simulator."""
from dataclasses import dataclass, field
import math
import time

import numpy as np
from oomwoo_clean.bump_map import BumpMap, BumpMapSettings
from oomwoo_clean.bump_out_settings import BumpOutSettings
from oomwoo_clean.bumper_sense import SIDES
from oomwoo_clean.wall_bump_out import WallBumpOut
from oomwoo_clean.wall_meter import (
    reached,
    segment_errors,
    soft_lines,
    solids_of,
    touchable_outline,
    WallMeter,
)
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scan_localizer import ScanLocalizer
from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.localizer_trial import START_COVARIANCE
from oomwoo_sim_support.sim_settings import SimSettings, TICK_S

ODOM_TICKS, SCAN_TICKS, LOOK_TICKS = 5, 10, 2     # odometry at 20 Hz, scans at 10 Hz
DELAY_TICKS = 2                        # from what is sensed to the wheels
STUCK_S, STUCK_M = 15.0, 0.05
SEGMENT_GAP_M = 0.75                   # of the bump map: between two touches of the bump-out
THROUGH_M = 0.12                       # of the bump map: the base rolls on that far, bumped
SEGMENT_M, SEGMENT_DEG = 0.03, 3.0


@dataclass(frozen=True)
class Trial:
    """A layout, for how long, which seed; ``start`` (x, y, yaw) or None for one at random."""

    layout: object
    seconds: float = 300.0
    seed: int = 0
    start: tuple = None
    localize: bool = True
    settings: BumpOutSettings = field(default_factory=BumpOutSettings)


@dataclass
class Run:
    """What happened: (N, 3) true poses every 20 ms, states, events, the meter and the map."""

    truth: np.ndarray
    states: list
    events: list
    meter: object
    walls: list


def random_start(layout, robot, seed):
    """Return a pose (x, y, yaw) on free floor connected to the layout's start."""
    grid = layout_grid(layout, 0.05)
    rng = np.random.default_rng([seed, 7])
    points = grid.cells_to_points(np.argwhere(grid.cells == 0))
    parts = solids_of(layout, robot)
    start = np.asarray(layout.start)
    while True:
        xy = points[rng.integers(len(points))]
        if reached(layout, parts, robot.body.radius + 0.03, start, xy[None])[0]:
            return (*xy.tolist(), float(rng.uniform(-math.pi, math.pi)))


class _Bench:
    """Simulator, bump-out, localizer and bump map, each fed as the nodes in the graph are."""

    def __init__(self, trial):
        self.trial, self.robot = trial, load_robot()
        self.start = trial.start or random_start(trial.layout, self.robot, trial.seed)
        self.sim = EmbeddedSim(trial.layout, self.robot, SimSettings(), trial.seed, self.start)
        self.behaviour = WallBumpOut(
            trial.settings, self.robot, np.random.default_rng([trial.seed, 11]))
        self.meter = WallMeter(
            touchable_outline(trial.layout, self.robot, self.start), self.robot,
            soft_lines(trial.layout, self.robot))
        self.localizer = self.map = None
        if trial.localize:
            self.map = BumpMap(BumpMapSettings(
                segment_gap_m=SEGMENT_GAP_M, through_m=THROUGH_M), self.robot)
            self.map.reference = layout_grid(trial.layout)
            self.localizer = ScanLocalizer(self.map.reference, robot=self.robot)
            self.localizer.set_pose(np.asarray(self.start), START_COVARIANCE)
        self.truth, self.states, self.events = [], [], []
        self.error = []
        self._pressed = (False, False)
        self._commands = []
        self._odom = self.sim.odometry().pose

    def run(self):
        self.behaviour.enable()
        for tick in range(round(self.trial.seconds / TICK_S)):
            self._tick(tick)
        return Run(np.array(self.truth), self.states, self.events, self.meter,
                   self.map.walls() if self.map else [])

    def _tick(self, tick):
        sim = self.sim
        pressed, time_s = sim.bumpers(), sim.time_s
        if tick % SCAN_TICKS == 0 and self.localizer is not None:
            self._localize()
        changed = pressed != self._pressed
        if tick % ODOM_TICKS == 0:
            self._odom = sim.odometry().pose
            if self.localizer is not None:
                self.map.moved(self._odom, time_s)
        if (changed or tick == 0) and self.localizer is not None:
            self._feel(pressed, time_s)
        self._pressed = pressed
        if tick % ODOM_TICKS == 0 or changed:
            out = self.behaviour.step(time_s, self._odom, *pressed)
            self._commands.append((tick + DELAY_TICKS, out.linear, out.angular))
            self._note(time_s, out)
        while self._commands and self._commands[0][0] <= tick:
            sim.set_command(*self._commands.pop(0)[1:])
        if tick % LOOK_TICKS == 0:
            pose = sim.truth().pose
            self.truth.append(pose)
            self.meter.look(pose[:2], any(pressed))
        sim.step(TICK_S)

    def _note(self, time_s, out):
        if not self.states or self.states[-1][1] != out.state:
            self.states.append((time_s, out.state))
        if out.event or out.reason:
            surface = self.behaviour.surface
            self.events.append((
                time_s, out.event or out.reason, *np.round(self.sim.truth().pose, 3).tolist(),
                round(math.degrees(surface.std_rad), 1)))

    def _localize(self):
        sim = self.sim
        found = self.localizer.step(
            sim.scan(), sim.base_from_scan, sim.odometry().pose, sim.time_s)
        self.map.localized(found.map_from_odom, sim.time_s)
        truth = sim.truth().pose
        self.error.append(float(np.hypot(*(found.pose[:2] - truth[:2]))))

    def _feel(self, pressed, time_s):
        """Tell the map what each half says, with odometry of this moment."""
        pose = self.sim.odometry().pose
        for half, now in zip(SIDES, pressed):
            self.map.bumper(half, now, pose, time_s)


def longest_stand_s(truth, period_s, span_m=STUCK_M):
    """Return how long the body stayed within ``span_m`` of a place at most, seconds."""
    longest, first = 0, 0
    for i in range(len(truth)):
        while np.hypot(*(truth[i, :2] - truth[first, :2])) > span_m:
            first += 1
        longest = max(longest, i - first)
    return longest * period_s


def state_shares(states, end_s):
    """Return ``{state: seconds}``."""
    times = [t for t, _ in states] + [end_s]
    spent = {}
    for (_, state), a, b in zip(states, times, times[1:]):
        spent[state] = spent.get(state, 0.0) + b - a
    return spent


def run_trial(trial):
    """Run a :class:`Trial`; return (result dict, :class:`Run`)."""
    began = time.perf_counter()
    bench = _Bench(trial)
    run = bench.run()
    look_s = LOOK_TICKS * TICK_S
    steps = np.hypot(*np.diff(run.truth[:, :2], axis=0).T)
    soft = int(sum(e[1] == 'soft' for e in run.events))
    bumps = [e for e in run.events if e[1].split()[0] in ('wall', 'nose', 'open')]
    segments = np.array([(w.start, w.end) for w in run.walls]).reshape(-1, 2, 2)
    errors = segment_errors(segments, solids_of(trial.layout, bench.robot))
    good = (errors[:, 1] <= SEGMENT_M) & (errors[:, 2] <= SEGMENT_DEG)
    length = errors[:, 0].sum()
    result = {
        'layout': trial.layout.name, 'seed': trial.seed, 'start': list(bench.start),
        **run.meter.shares(), 'driven_m': float(steps.sum()), 'bumps': len(bumps),
        'soft_bumps': soft,
        'kinds': {k: sum(e[1] == k for e in bumps) for k in sorted({e[1] for e in bumps})},
        'longest_stand_s': longest_stand_s(run.truth, look_s),
        'spent_s': state_shares(run.states, trial.seconds),
        'segments': len(segments), 'segments_m': float(length),
        'segments_good': float(errors[good, 0].sum() / length) if length else math.nan,
        'segments_good_count': float(good.mean()) if len(good) else math.nan,
        'localizer_worst_m': max(bench.error, default=math.nan),
        'sim_s': trial.seconds, 'wall_s': time.perf_counter() - began}
    result['stuck'] = result['longest_stand_s'] > STUCK_S
    return result, run
