"""One measured run of the contour follower in the embedded simulator, and what it is judged by."""
from collections import deque
from dataclasses import dataclass
import math
import time

import numpy as np
from oomwoo_clean.contour_follower import ContourFollower, FollowerOutput, FollowerSettings
from oomwoo_clean.contour_scenarios import Scenario
from oomwoo_clean.contour_settings import ARC, FOLLOW, HALT, IDLE, LOST
from oomwoo_clean.edge_reach import reachable_edge, SWEPT_MARGIN_M
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import primitives
from oomwoo_sim_support.layout_primitives import solid_distance
from oomwoo_sim_support.rehearsal import Rehearsal
from oomwoo_sim_support.sim_settings import SimSettings

SETTLE_S = 5.0
LEAST_SPEED_MPS = 0.04          # on average: less than this is no progress
LAP_M, LAP_RADIUS_M = 0.8, 0.12
TOUCH_EVERY_M = 0.15
LEAST_TRACED_PCT = 99.0


@dataclass(frozen=True)
class Trial:
    """
    One run to make.

    ``seconds`` are measured after the settling time; ``start`` is a pose (x, y, yaw) or None for
    that of the scenario; ``delay`` is the number of scan periods that a scan is under way.
    """

    scenario: Scenario
    seconds: float = 40.0
    seed: int = 0
    noise_m: float = 0.01
    start: tuple = None
    side: str = 'right'
    beams: int = 360
    delay: int = 0


class Meter:
    """Steps a follower as the controller of a Rehearsal and notes what it does."""

    def __init__(self, follower, delay=0):
        """Watch a :class:`ContourFollower` whose scans arrive ``delay`` periods late."""
        self._follower = follower
        self._under_way = deque([None] * delay)
        self.outputs = []
        self.step_s = []

    def __call__(self, seen):
        """Return the command (m/s, rad/s) for an Observation."""
        self._under_way.append(seen)
        old = self._under_way.popleft()
        if old is None:
            self.outputs.append(FollowerOutput(0.0, 0.0, IDLE))
            return 0.0, 0.0
        began = time.perf_counter()
        out = self._follower.step(
            old.scan, old.base_from_scan, old.time_s, seen.bumper_left, seen.bumper_right,
            seen.time_s - old.time_s, seen.odom)
        self.step_s.append(time.perf_counter() - began)
        self.outputs.append(out)
        return out.linear, out.angular


def run_trial(trial):
    """
    Run a :class:`Trial`; return ``(result, track, states)``.

    ``result`` is a dict of metres, seconds and counts, with ``passed`` and ``failed`` (a list of
    reasons); ``track`` the :class:`~oomwoo_sim_support.rehearsal.Track`; ``states`` (N,) what the
    follower said at each scan. The standoff error is the true distance from the body centre to the
    nearest thing that can be seen or felt, less the standoff, while it says FOLLOW.
    """
    robot = load_robot()
    layout = trial.scenario.layout()
    settings = SimSettings(range_noise_std=trial.noise_m, beams=trial.beams)
    seconds = max(trial.seconds, trial.scenario.least_s)
    follower = ContourFollower(FollowerSettings(side=trial.side), robot)
    follower.enable()
    meter = Meter(follower, trial.delay)
    track = Rehearsal(layout, robot, settings, trial.seed, trial.start).run(
        meter, SETTLE_S + seconds)
    states = np.array([out.state for out in meter.outputs])
    settled = track.time_s - track.time_s[0] >= SETTLE_S
    gap = solid_distance(_seen_or_felt(layout, robot), track.truth[:, :2])
    error = gap[settled & (states == FOLLOW)] - follower.settings.standoff_m
    steps = np.hypot(*np.diff(track.truth[:, :2], axis=0).T)
    driven = np.concatenate([[0.0], np.cumsum(steps)])
    some = len(error) > 0
    result = {
        'scenario': trial.scenario.name, 'seed': trial.seed, 'noise_m': trial.noise_m,
        'side': trial.side, 'beams': trial.beams, 'delay': trial.delay,
        'min_clearance_m': float(track.clearance_m.min()),
        'contacts': track.contacts + track.rear_contacts,
        'standoff_err_mean_m': float(np.abs(error).mean()) if some else math.nan,
        'standoff_err_p95_m': float(np.percentile(np.abs(error), 95)) if some else math.nan,
        'standoff_bias_m': float(error.mean()) if some else math.nan,
        'weave_m': float(error.std()) if some else math.nan,
        'laps': count_laps(track.truth[settled], driven[settled]),
        'lost_frames': int(np.isin(states[settled], (ARC, LOST)).sum()),
        'driven_m': float(driven[-1]),
        'step_ms': float(np.median(meter.step_s)) * 1e3,
        'sim_s': float(SETTLE_S + seconds), 'wall_s': track.wall_s}
    if trial.scenario.low:
        result['failed'] = _judge_touch(
            layout, robot, follower.settings.standoff_m, trial.scenario, result, track,
            meter.outputs)
    else:
        result['failed'] = judge(trial.scenario, result, track, meter.outputs)
    result['passed'] = not result['failed']
    return result, track, states


def _seen_or_felt(layout, robot):
    """Return the primitives that the LiDAR sees or the body touches, soft ones too."""
    top = max(robot.body.height, robot.lidar.z)
    return [p for p in primitives(layout) if p.crosses(robot.body.ground_clearance, top)]


def judge(scenario, result, track, outputs):
    """Return a list of what a run missed, in words; empty when it kept all its bounds."""
    failed = []
    if result['contacts'] > scenario.touches:
        failed.append(f'{result["contacts"]} contacts')
    x, y = track.truth[:, 0], track.truth[:, 1]
    for x_min, y_min, x_max, y_max in scenario.never_inside:
        if ((x > x_min) & (x < x_max) & (y > y_min) & (y < y_max)).any():
            failed.append(f'went into x {x_min:.2f} .. {x_max:.2f}, y below {y_max:.2f}')
    for point in scenario.reached:
        nearest_m = float(np.hypot(*(track.truth[:, :2] - point).T).min())
        if nearest_m > SWEPT_MARGIN_M:
            at_x, at_y = point
            failed.append(f'came only within {nearest_m:.2f} m of ({at_x:.2f}, {at_y:.2f})')
    for key, bound in (('standoff_err_mean_m', scenario.mean_error_m),
                       ('weave_m', scenario.weave_m)):
        if bound is not None and not result[key] <= bound:
            failed.append(f'{key} {result[key]:.4f} > {bound}')
    if result['driven_m'] < LEAST_SPEED_MPS * result['sim_s']:
        failed.append(f'drove only {result["driven_m"]:.2f} m, ended in {outputs[-1].state}')
    return failed


def _judge_touch(layout, robot, standoff_m, scenario, result, track, outputs):
    """Return what was missed where a thing is found by touch only; note its figures."""
    edge = reachable_edge(layout, robot).of(*scenario.low)
    result['low_edge_m'] = edge.length_m
    result['traced_pct'] = edge.swept_pct(track.truth[:, :2], standoff_m + SWEPT_MARGIN_M)
    most = max(2, int(edge.length_m / TOUCH_EVERY_M)) * (1 + result['laps'])
    failed = []
    if not 1 <= track.contacts <= most:
        failed.append(f'{track.contacts} touches, 1 to {most} are allowed')
    if track.rear_contacts:
        failed.append(f'{track.rear_contacts} contacts of the shell behind the bumper')
    if result['traced_pct'] < LEAST_TRACED_PCT:
        failed.append(f'traced {result["traced_pct"]:.1f} %')
    if outputs[-1].state in (HALT, LOST):
        failed.append(f'ended in {outputs[-1].state}: {outputs[-1].reason}')
    return failed


def count_laps(truth, driven):
    """
    Return how often a track (N, 3) came back to where it began, heading the same way.

    ``driven`` (N,) is the distance driven, metres. A lap is at least ``LAP_M`` long.
    """
    if len(truth) == 0:
        return 0
    away = np.hypot(*(truth[:, :2] - truth[0, :2]).T)
    turned = np.abs((truth[:, 2] - truth[0, 2] + math.pi) % math.tau - math.pi)
    home = (away < LAP_RADIUS_M) & (turned < math.radians(45.0))
    laps, since = 0, float(driven[0])
    for here in np.flatnonzero(home).tolist():
        if driven[here] - since >= LAP_M:
            laps += 1
            since = float(driven[here])
    return laps
