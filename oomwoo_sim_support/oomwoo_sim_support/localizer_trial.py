"""One run of the everyday localizer and the health score, measured against the truth."""
from dataclasses import dataclass, field
import math
import time

import numpy as np
from oomwoo_localization.frames import compose, inverse, wrap_angle
from oomwoo_localization.health import LostDetector, ScanScorer
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scan_localizer import ScanLocalizer
from oomwoo_sim_support.embedded_navigator import GridPlanner
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.localizer_scenarios import (
    block,
    corridor,
    CorridorDriver,
    kidnap,
    KIDNAP_EVERY_S,
    rearrange,
    SLIPPERY,
    SpinDriver,
    WallDriver,
)
from oomwoo_sim_support.rehearsal import Rehearsal
from oomwoo_sim_support.sim_settings import SimSettings

START_COVARIANCE = np.diag([0.03 ** 2, 0.03 ** 2, math.radians(2.0) ** 2])   # where it is put down


@dataclass(frozen=True)
class Trial:
    """A scenario in a layout, for so long, with this noise and map resolution."""

    scenario: object
    layout: object
    seconds: float = 60.0
    seed: int = 0
    noise_m: float = 0.01
    resolution: float = 0.025
    health: bool = True


@dataclass
class Record:
    """What happened, one entry a scan."""

    time_s: list = field(default_factory=list)
    error: list = field(default_factory=list)          # x, y, yaw: estimate less truth
    odom_error: list = field(default_factory=list)     # the same of odometry alone
    state: list = field(default_factory=list)
    step_s: list = field(default_factory=list)
    score: list = field(default_factory=list)
    lost: list = field(default_factory=list)
    kidnapped_s: list = field(default_factory=list)
    stopped: list = field(default_factory=list)        # number of the first scan after a dead stop
    driven_m: float = 0.0


class Bench:
    """A robot in a world, a localizer and a health score that see what it sees."""

    def __init__(self, trial):
        """Build world, map and what is measured."""
        scenario, layout = trial.scenario, trial.layout
        if scenario.drive == 'corridor':
            layout = corridor()
        self.trial = trial
        self.robot = load_robot()
        self.grid = layout_grid(layout, trial.resolution)
        world = rearrange(layout, scenario.moved, trial.seed) if scenario.moved else layout
        wheels = SLIPPERY if scenario.slippery else {}
        settings = SimSettings(range_noise_std=trial.noise_m, **wheels)
        self.rehearsal = Rehearsal(world, self.robot, settings, trial.seed)
        self.localizer = ScanLocalizer(self.grid, robot=self.robot)
        self.scorer, self.detector = ScanScorer(self.grid), LostDetector()
        self.record = Record()
        self._rng = np.random.default_rng(trial.seed)
        self._planner = GridPlanner(self.grid, self.robot) if scenario.kidnap else None
        self._start = self.rehearsal.sim.truth().pose
        self._map_from_odom = self._was = None
        self._kidnap_s, self._told = KIDNAP_EVERY_S, False
        self.localizer.set_pose(self._start, START_COVARIANCE)
        self.driver = self._drivers(world)

    def _drivers(self, world):
        scenario = self.trial.scenario
        if scenario.drive == 'spin':
            return SpinDriver()
        if scenario.drive == 'corridor':
            return CorridorDriver((-4.5, 4.5))
        grid = layout_grid(world) if scenario.moved else self.grid
        return WallDriver(grid, self.robot, self._start, self.trial.seed)

    def run(self):
        """Return the :class:`Record` of the whole trial."""
        self.rehearsal.run(self._step, self.trial.seconds)
        return self.record

    def _step(self, seen):
        scenario, record, sim = self.trial.scenario, self.record, self.rehearsal.sim
        scan, time_s = seen.scan, seen.time_s
        if scenario.blocked:
            scan = block(scan, scenario.blocked, self.trial.seed)
        began = time.thread_time()
        found = self.localizer.step(scan, seen.base_from_scan, seen.odom, time_s)
        record.step_s.append(time.thread_time() - began)
        truth = sim.truth().pose
        record.time_s.append(time_s)
        record.error.append(_difference(found.pose, truth))
        record.odom_error.append(_difference(compose(self._start, seen.odom), truth))
        record.state.append(found.state)
        if self.trial.health:
            self._watch_health(scan, seen, found, time_s)
        if self._was is not None:
            record.driven_m += math.hypot(*(truth[:2] - self._was[:2]))
        self._was = truth
        # Who is carried about does not know it: the rig drives by truth there.
        command = self.driver(truth if scenario.kidnap else found.pose, time_s)
        if getattr(self.driver, 'stopped_s', None) == time_s:
            record.stopped.append(len(record.time_s))
        if scenario.kidnap and self._is_time_to_kidnap(time_s):
            kidnap(sim, self.grid, self._planner, self._rng)
            record.kidnapped_s.append(time_s)
            self.driver = self._drivers(self.trial.layout)
        return command

    def _watch_health(self, scan, seen, found, time_s):
        """Score the scan as a node does it: at the correction of the scan before."""
        correction = found.map_from_odom if self._map_from_odom is None else self._map_from_odom
        score = self.scorer.score(scan, seen.base_from_scan, compose(correction, seen.odom))
        self.record.score.append(score.score)
        self.record.lost.append(self.detector.update(score.score, time_s))
        self._map_from_odom = found.map_from_odom

    def _is_time_to_kidnap(self, time_s):
        """Return whether to; a second before it, somebody says where the robot is."""
        if not self._told and time_s > self._kidnap_s - 1.0:
            sim, self._told = self.rehearsal.sim, True
            self.localizer.set_pose(sim.truth().pose, odom_pose=sim.odometry().pose)
            self._map_from_odom = compose(sim.truth().pose, inverse(sim.odometry().pose))
        if time_s < self._kidnap_s:
            return False
        self._kidnap_s, self._told = self._kidnap_s + KIDNAP_EVERY_S, False
        return True


def _difference(pose, truth):
    return np.array([pose[0] - truth[0], pose[1] - truth[1], wrap_angle(pose[2] - truth[2])])


def run_trial(trial):
    """
    Run a :class:`Trial` and return what came of it as a dict, metres, degrees and seconds.

    With ``failed``, a list of the bounds that were missed, in words, and ``passed``.
    """
    began = time.perf_counter()
    record = Bench(trial).run()
    error = np.array(record.error)
    away = np.hypot(*error[:, :2].T)
    turned = np.degrees(np.abs(error[:, 2]))
    result = {
        'scenario': trial.scenario.name, 'layout': trial.layout.name, 'seed': trial.seed,
        'noise_m': trial.noise_m, 'resolution': trial.resolution, 'sim_s': trial.seconds,
        'driven_m': record.driven_m,
        'rms_m': _rms(away), 'worst_m': float(away.max()),
        'bias_x_m': float(error[:, 0].mean()), 'bias_y_m': float(error[:, 1].mean()),
        'yaw_rms_deg': _rms(turned), 'yaw_worst_deg': float(turned.max()),
        'odom_worst_m': float(np.hypot(*np.array(record.odom_error)[:, :2].T).max()),
        'adrift': sum(state not in ('TRACKED', 'RECAPTURED') for state in record.state),
        'recaptured': record.state.count('RECAPTURED'),
        'step_ms': float(np.median(record.step_s)) * 1e3,
        'step_p95_ms': float(np.percentile(record.step_s, 95)) * 1e3,
        'score_mean': float(np.mean(record.score)) if record.score else math.nan,
        'score_least': float(np.min(record.score)) if record.score else math.nan,
        'lost_share': float(np.mean(record.lost)) if record.lost else math.nan}
    if record.stopped:
        after = away[[k for k in record.stopped if k < len(away)]]
        result['after_stop_m'] = float(after.max()) if len(after) else math.nan
    if trial.scenario.kidnap:
        result |= _kidnaps(record)
    if trial.scenario.drive == 'corridor':
        result['across_rms_m'] = _rms(error[:, 1])
        result['odom_along_worst_m'] = float(np.abs(np.array(record.odom_error)[:, 0]).max())
    result['wall_s'] = time.perf_counter() - began
    result['failed'] = judge(trial.scenario, result)
    result['passed'] = not result['failed']
    return result


def _rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def _kidnaps(record):
    """Return how many kidnaps there were, how many were noticed in a second, and the slowest."""
    times, lost = np.array(record.time_s), np.array(record.lost)
    delays, scores = [], []
    for at in record.kidnapped_s:
        after = (times > at) & (times < at + KIDNAP_EVERY_S - 1.0)
        if not after.any() or times[-1] < at + 1.5:
            continue
        noticed = np.flatnonzero(after & lost)
        delays.append(times[noticed[0]] - at if len(noticed) else math.inf)
        scores.append(float(np.median(np.array(record.score)[after])))
    return {'kidnaps': len(delays), 'noticed': int(sum(d <= 1.0 + 1e-6 for d in delays)),
            'slowest_s': float(max(delays, default=math.nan)),
            'kidnap_scores': [round(s, 3) for s in scores]}


# scenario: key, most
TRACKING = (('rms_m', 0.01), ('worst_m', 0.03), ('yaw_rms_deg', 0.3))
BOUNDS = {
    'track': (*TRACKING, ('lost_share', 0.0)),
    'occluded': (*TRACKING, ('lost_share', 0.0)),
    'moved': (*TRACKING, ('lost_share', 0.0)),
    'spin': (('after_stop_m', 0.01), ('worst_m', 0.03), ('lost_share', 0.0)),
    'corridor': (('across_rms_m', 0.01), ('yaw_rms_deg', 0.3), ('lost_share', 0.0)),
    'kidnap': (('slowest_s', 1.0),),
}


def judge(scenario, result):
    """Return the bounds that a result misses, in words."""
    failed = [f'{key} {result[key]:.4f} > {most}' for key, most in BOUNDS[scenario.name]
              if not result[key] <= most]
    if scenario.drive == 'walls' and result['driven_m'] < 0.05 * result['sim_s']:
        failed.append(f'drove only {result["driven_m"]:.1f} m')
    if scenario.drive == 'corridor' and (
            result['worst_m'] > 1.2 * result['odom_along_worst_m'] + 0.02):
        failed.append(f'worst {result["worst_m"]:.3f} m is more than odometry alone would have')
    return failed
