"""
Measure the contour follower on every shape, offline: ``python3 -m oomwoo_clean.contour_harness``.

The real follower, on scans and physics of the embedded simulator. Distances come from the simulator's truth, which
the follower does not see. Prints a table, exits with 1 when a stated bound is missed.
"""
import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
import json
import math
from pathlib import Path
import sys
import time

import numpy as np

from oomwoo_clean.contour_follower import ARC, ContourFollower, FOLLOW, FollowerSettings, HALT, LOST
from oomwoo_clean.contour_scenarios import Scenario, SCENARIOS
from oomwoo_localization.robot import load_robot
from oomwoo_localization.settings import SettingError
from oomwoo_sim_support.layout import LayoutError, load_layout, primitives
from oomwoo_sim_support.layout_primitives import solid_distance
from oomwoo_sim_support.rehearsal import Rehearsal
from oomwoo_sim_support.sim_settings import SimSettings

SETTLE_S = 5.0
LEAST_SPEED_MPS = 0.04          # on average: less than this is no progress
LAP_M, LAP_RADIUS_M = 0.8, 0.12


@dataclass(frozen=True)
class Trial:
    """One run to make: scenario, seconds after the settling time, seed, range noise, start pose, side, beams."""

    scenario: Scenario
    seconds: float = 40.0
    seed: int = 0
    noise_m: float = 0.01
    start: tuple = None
    side: str = 'right'
    beams: int = 360


class Meter:
    """Collects what a run is judged by."""

    def __init__(self, follower):
        """Watch a :class:`ContourFollower`."""
        self._follower = follower
        self.outputs = []
        self.step_s = []

    def __call__(self, seen):
        """Step the follower on an Observation, as a controller of a Rehearsal."""
        began = time.perf_counter()
        out = self._follower.step(seen.scan, seen.base_from_scan, seen.time_s, seen.bumper_left, seen.bumper_right)
        self.step_s.append(time.perf_counter() - began)
        self.outputs.append(out)
        return out.linear, out.angular


def run_trial(trial):
    """
    Run a :class:`Trial`; return ``(result, track, states)``.

    ``result`` is a dict as DESIGN has it, metres and seconds, with ``passed`` and ``failed`` (a list of reasons);
    ``track`` the :class:`~oomwoo_sim_support.rehearsal.Track`; ``states`` the follower's state at each scan.
    """
    robot = load_robot()
    settings = SimSettings(range_noise_std=trial.noise_m, beams=trial.beams)
    rehearsal = Rehearsal(trial.scenario.layout(), robot, settings, trial.seed, trial.start)
    follower = ContourFollower(FollowerSettings(side=trial.side), robot)
    follower.enable()
    meter = Meter(follower)
    track = rehearsal.run(meter, SETTLE_S + trial.seconds)
    states = np.array([out.state for out in meter.outputs])
    settled = track.time_s - track.time_s[0] >= SETTLE_S
    gap = solid_distance(_seen_or_felt(rehearsal.sim.layout, robot), track.truth[:, :2])
    error = gap[settled & (states == FOLLOW)] - follower.settings.standoff_m
    driven = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(track.truth[:, :2], axis=0).T))])
    result = {
        'scenario': trial.scenario.name, 'seed': trial.seed, 'noise_m': trial.noise_m, 'side': trial.side,
        'beams': trial.beams,
        'min_clearance_m': float(track.clearance_m.min()),
        'contacts': track.contacts + track.rear_contacts,
        'standoff_err_mean_m': float(np.abs(error).mean()) if len(error) else math.nan,
        'standoff_err_p95_m': float(np.percentile(np.abs(error), 95)) if len(error) else math.nan,
        'standoff_bias_m': float(error.mean()) if len(error) else math.nan,
        'weave_m': float(error.std()) if len(error) else math.nan,
        'laps': count_laps(track.truth[settled], driven[settled]),
        'lost_frames': int(np.isin(states[settled], (ARC, LOST)).sum()),
        'driven_m': float(driven[-1]),
        'step_ms': float(np.median(meter.step_s)) * 1e3,
        'sim_s': float(SETTLE_S + trial.seconds), 'wall_s': track.wall_s}
    result['failed'] = judge(trial.scenario, result, track, meter.outputs)
    result['passed'] = not result['failed']
    return result, track, states


def _seen_or_felt(layout, robot):
    """Return the primitives that the LiDAR sees or the body touches, soft ones too."""
    top = max(robot.body.height, robot.lidar.z)
    return [part for part in primitives(layout) if part.crosses(robot.body.ground_clearance, top)]


def judge(scenario, result, track, outputs):
    """Return a list of what a run missed, in words; empty when it holds all bounds of its scenario."""
    if scenario.bumps:
        return _judge_bump(track, outputs)
    failed = []
    if result['contacts']:
        failed.append(f'{result["contacts"]} contacts')
    for x_min, y_min, x_max, y_max in scenario.never_inside:
        x, y = track.truth[:, 0], track.truth[:, 1]
        if ((x > x_min) & (x < x_max) & (y > y_min) & (y < y_max)).any():
            failed.append(f'went into x {x_min:.2f} .. {x_max:.2f}, y below {y_max:.2f}')
    for key, bound in (('standoff_err_mean_m', scenario.mean_error_m), ('weave_m', scenario.weave_m)):
        if bound is not None and not result[key] <= bound:
            failed.append(f'{key} {result[key]:.4f} > {bound}')
    if result['driven_m'] < LEAST_SPEED_MPS * result['sim_s']:
        failed.append(f'drove only {result["driven_m"]:.2f} m, ended in {outputs[-1].state}')
    return failed


def _judge_bump(track, outputs):
    failed = []
    if not track.contacts:
        failed.append('no bump')
    elif not (outputs[-1].bumped and outputs[-1].state == HALT):
        failed.append(f'bumped, but ended in {outputs[-1].state}')
    elif track.clearance_m[-1] < 0.02:
        failed.append(f'backed off to only {track.clearance_m[-1] * 1000:.0f} mm')
    if track.contacts > 1:
        failed.append(f'{track.contacts} contacts')
    return failed


def count_laps(truth, driven):
    """
    Return how often a track (N, 3) came back to where it began, heading the same way.

    ``driven`` (N,) is the distance driven, metres. A lap is at least ``LAP_M`` long.
    """
    if len(truth) == 0:
        return 0
    away = np.hypot(*(truth[:, :2] - truth[0, :2]).T)
    turned = np.abs((truth[:, 2] - truth[0, 2] + math.pi) % (2.0 * math.pi) - math.pi)
    home = (away < LAP_RADIUS_M) & (turned < math.radians(45.0))
    laps, since = 0, float(driven[0])
    for here in np.flatnonzero(home).tolist():
        if driven[here] - since >= LAP_M:
            laps += 1
            since = float(driven[here])
    return laps


COLUMNS = (
    ('scenario', 'scenario', '{:<16}', 1), ('runs', 'runs', '{:>4}', 1), ('contacts', 'contacts', '{:>8}', 1),
    ('min gap mm', 'min_clearance_m', '{:>10.1f}', 1e3), ('error mean mm', 'standoff_err_mean_m', '{:>13.1f}', 1e3),
    ('p95 mm', 'standoff_err_p95_m', '{:>6.1f}', 1e3), ('bias mm', 'standoff_bias_m', '{:>7.1f}', 1e3),
    ('std mm', 'weave_m', '{:>6.1f}', 1e3), ('laps', 'laps', '{:>4.0f}', 1), ('lost', 'lost_frames', '{:>4}', 1),
    ('step ms', 'step_ms', '{:>7.3f}', 1), ('wall s', 'wall_s', '{:>6.2f}', 1))


def summarise(results):
    """Return one dict per scenario: the worst of its trials for gaps, sums of counts, means of errors, medians of times."""
    rows = []
    for name in dict.fromkeys(result['scenario'] for result in results):
        of = [result for result in results if result['scenario'] == name]
        row = {'scenario': name, 'runs': len(of), 'passed': all(r['passed'] for r in of),
               'min_clearance_m': min(r['min_clearance_m'] for r in of)}
        for key in ('contacts', 'lost_frames'):
            row[key] = sum(r[key] for r in of)
        for key in ('standoff_err_mean_m', 'standoff_err_p95_m', 'standoff_bias_m', 'weave_m', 'laps'):
            row[key] = float(np.mean([r[key] for r in of]))
        for key in ('step_ms', 'wall_s'):
            row[key] = float(np.median([r[key] for r in of]))
        row['failed'] = [f'seed {r["seed"]}, noise {r["noise_m"]}: {", ".join(r["failed"])}' for r in of if r['failed']]
        rows.append(row)
    return rows


def print_table(rows):
    """Print the rows of :func:`summarise` aligned, with what each scenario asks and whether it was kept."""
    titles = ['{:<16}'.format('scenario')] + [
        title.rjust(len(form.format(0))) for title, _, form, _ in COLUMNS[1:]]
    print('  '.join([*titles, 'asked', 'kept']).rstrip())
    for row in rows:
        cells = [form.format(row[key] * scale if scale != 1 else row[key]) for _, key, form, scale in COLUMNS]
        print('  '.join([*cells, _asked(row['scenario']), 'yes' if row['passed'] else 'NO']))
    for row in rows:
        for reason in row['failed']:
            print(f'{row["scenario"]}: {reason}')


def _asked(name):
    scenario = SCENARIOS.get(name)
    if scenario is None:
        return 'no contact'
    if scenario.bumps:
        return 'one bump, back off, HALT'
    asked = ['no contact']
    if scenario.mean_error_m is not None:
        asked.append(f'mean <= {scenario.mean_error_m * 1000:.0f}')
    if scenario.weave_m is not None:
        asked.append(f'std < {scenario.weave_m * 1000:.0f}')
    if scenario.never_inside:
        asked.append('stays out')
    return ', '.join(asked)


def plan_trials(options):
    """Return the list of :class:`Trial` that the command line asks for."""
    start = None
    if options.start:
        start = (options.start[0], options.start[1], math.radians(options.start[2]))
    if options.layout:
        layout = load_layout(options.layout)
        scenarios = [_LayoutScenario(layout.name, f'layout {options.layout}', {}, path=str(options.layout))]
    else:
        scenarios = [SCENARIOS[name] for name in options.scenario or SCENARIOS]
    base = Trial(None, options.seconds, 0, 0.0, start, options.side, options.beams)
    return [replace(base, scenario=scenario, seed=options.seed + k, noise_m=noise)
            for scenario in scenarios for noise in options.noise for k in range(options.seeds)]


@dataclass(frozen=True)
class _LayoutScenario(Scenario):
    """A layout file in place of a built shape: nothing is asked but no contact."""

    path: str = ''

    def layout(self):
        return load_layout(self.path)


def _run(job):
    trial, picture = job
    result, track, states = run_trial(trial)
    if picture:
        from oomwoo_clean.contour_picture import draw_track
        draw_track(trial.scenario.layout(), track, states, picture, result)
    return result


def _jobs(trials, picture):
    if picture is None:
        return [(trial, None) for trial in trials]
    if picture.suffix and len(trials) == 1:
        return [(trials[0], picture)]
    picture.mkdir(parents=True, exist_ok=True)
    return [(t, picture / f'{t.scenario.name}_n{round(t.noise_m * 1000)}_s{t.seed}.png') for t in trials]


def parse(arguments=None):
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog='contour_harness', description=__doc__.split('\n\n')[0].strip())
    add = parser.add_argument
    add('--scenario', action='append', choices=list(SCENARIOS), metavar='NAME',
        help='only this shape, may be repeated; ' + ', '.join(SCENARIOS))
    add('--layout', help='a layout file or name in place of the shapes')
    add('--seconds', type=float, default=40.0, help=f'measured after {SETTLE_S:g} s to settle (default: 40)')
    add('--start', type=float, nargs=3, metavar=('X', 'Y', 'YAW_DEG'), help='start pose, degrees')
    add('--side', choices=('right', 'left'), default='right', help='side on which the surface is kept')
    add('--seed', type=int, default=0, help='first seed')
    add('--seeds', type=int, default=1, help='how many seeds')
    add('--noise', type=float, nargs='+', default=[0.01], metavar='M', help='range noise, one sigma, metres')
    add('--beams', type=int, default=360, help='beams per scan')
    add('--jobs', type=int, default=1, help='processes')
    add('--json', type=Path, metavar='FILE', help='write results as JSON')
    add('--picture', type=Path, metavar='FILE|DIR', help='draw the track of each run')
    options = parser.parse_args(arguments)
    if options.seconds <= 0 or options.seeds < 1 or options.jobs < 1:
        parser.error('--seconds, --seeds and --jobs must be greater than zero')
    return options


def main(arguments=None):
    """Run what the command line asks for; return 0 when every bound holds, 1 when not, 2 for input it cannot use."""
    options = parse(arguments)
    try:
        jobs = _jobs(plan_trials(options), options.picture)
        if options.jobs == 1:
            results = [_run(job) for job in jobs]
        else:
            with ProcessPoolExecutor(options.jobs) as pool:
                results = list(pool.map(_run, jobs))
    except (LayoutError, SettingError, ValueError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 2
    rows = summarise(results)
    print_table(rows)
    passed = all(row['passed'] for row in rows)
    if options.json:
        follower = asdict(FollowerSettings(side=options.side))
        options.json.write_text(json.dumps(
            {'trials': results, 'summary': {'passed': passed, 'scenarios': rows, 'settings': follower}}, indent=1))
    return 0 if passed else 1


if __name__ == '__main__':
    sys.exit(main())
