"""
Measure the contour follower on every shape, offline: ``python3 -m oomwoo_clean.contour_harness``.

The real follower, on scans and physics of the embedded simulator. Distances come from the
simulator's truth, which the follower does not see. Prints a table; exits with 1 when a stated
bound is missed, with 2 for input it cannot use.
"""
import argparse
from collections import ChainMap
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
import json
import math
from pathlib import Path
import sys

import numpy as np
from oomwoo_clean.contour_follower import FollowerSettings
from oomwoo_clean.contour_scenarios import Scenario, SCENARIOS
from oomwoo_clean.contour_trial import run_trial, SETTLE_S, TOUCH_EVERY_M, Trial
from oomwoo_clean.gap_scenarios import GAP_SCENARIOS
from oomwoo_sim_support.layout import load_layout

ALL_SCENARIOS = ChainMap(SCENARIOS, GAP_SCENARIOS)

# title, key, format, factor
COLUMNS = (
    ('scenario', 'scenario', '{:<16}', 1), ('runs', 'runs', '{:>4}', 1),
    ('contacts', 'contacts', '{:>8}', 1), ('least gap mm', 'min_clearance_m', '{:>12.1f}', 1e3),
    ('error mean mm', 'standoff_err_mean_m', '{:>13.1f}', 1e3),
    ('p95 mm', 'standoff_err_p95_m', '{:>6.1f}', 1e3),
    ('bias mm', 'standoff_bias_m', '{:>7.1f}', 1e3), ('std mm', 'weave_m', '{:>6.1f}', 1e3),
    ('laps', 'laps', '{:>4.1f}', 1), ('lost', 'lost_frames', '{:>4}', 1),
    ('step ms', 'step_ms', '{:>7.3f}', 1), ('wall s', 'wall_s', '{:>6.2f}', 1))


@dataclass(frozen=True)
class LayoutScenario(Scenario):
    """A layout file in place of a built shape: nothing is asked but no contact."""

    path: str = ''

    def layout(self):
        """Return the layout of the file."""
        return load_layout(self.path)


def summarise(results):
    """
    Return one dict per scenario.

    The least of its trials' gaps, the largest of their mean errors as ``worst_mean_m``, sums of
    counts, means of errors, medians of times.
    """
    rows = []
    for name in dict.fromkeys(result['scenario'] for result in results):
        of = [result for result in results if result['scenario'] == name]
        row = {'scenario': name, 'runs': len(of), 'passed': all(r['passed'] for r in of),
               'min_clearance_m': min(r['min_clearance_m'] for r in of),
               'worst_mean_m': max(r['standoff_err_mean_m'] for r in of)}
        for key in ('contacts', 'lost_frames'):
            row[key] = sum(r[key] for r in of)
        for key in ('standoff_err_mean_m', 'standoff_err_p95_m', 'standoff_bias_m', 'weave_m',
                    'laps'):
            row[key] = float(np.mean([r[key] for r in of]))
        for key in ('step_ms', 'wall_s'):
            row[key] = float(np.median([r[key] for r in of]))
        row['failed'] = [f'seed {r["seed"]}, noise {r["noise_m"]}: {", ".join(r["failed"])}'
                         for r in of if r['failed']]
        rows.append(row)
    return rows


def print_table(rows):
    """Print the rows of :func:`summarise`, what each scenario asks, and whether it was kept."""
    titles = [title.rjust(len(form.format(0))) for title, _, form, _ in COLUMNS[1:]]
    print('  '.join(['{:<16}'.format('scenario'), *titles, 'kept', 'asked']))
    for row in rows:
        cells = [form.format(row[key] * factor if factor != 1 else row[key])
                 for _, key, form, factor in COLUMNS]
        print('  '.join([*cells, 'yes ' if row['passed'] else 'NO  ', _asked(row['scenario'])]))
    for row in rows:
        for reason in row['failed']:
            print(f'{row["scenario"]}: {reason}')


def _asked(name):
    scenario = ALL_SCENARIOS.get(name)
    if scenario is None:
        return 'no contact'
    if scenario.low:
        return f'traced, at most a touch per {TOUCH_EVERY_M * 100:.0f} cm'
    asked = [f'at most {scenario.touches} touches' if scenario.touches else 'no contact']
    if scenario.mean_error_m is not None:
        asked.append(f'mean <= {scenario.mean_error_m * 1000:g} mm')
    if scenario.weave_m is not None:
        asked.append(f'std <= {scenario.weave_m * 1000:g} mm')
    if scenario.never_inside:
        asked.append('stays out')
    if scenario.reached:
        asked.append('goes in')
    return ', '.join(asked)


def plan_trials(options):
    """Return the list of :class:`Trial` that the command line asks for."""
    start = None
    if options.start:
        start = (options.start[0], options.start[1], math.radians(options.start[2]))
    if options.layout:
        name = load_layout(options.layout).name
        scenarios = [LayoutScenario(name, f'layout {options.layout}', {}, path=options.layout)]
    else:
        names = options.scenario or (GAP_SCENARIOS if options.gaps else SCENARIOS)
        scenarios = [ALL_SCENARIOS[name] for name in names]
    base = Trial(None, options.seconds, 0, 0.0, start, options.side, options.beams, options.delay)
    return [replace(base, scenario=scenario, seed=options.seed + k, noise_m=noise)
            for scenario in scenarios for noise in options.noise for k in range(options.seeds)]


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
        picture.parent.mkdir(parents=True, exist_ok=True)
        return [(trials[0], picture)]
    picture.mkdir(parents=True, exist_ok=True)
    return [(t, picture / f'{t.scenario.name}_n{round(t.noise_m * 1000)}_s{t.seed}.png')
            for t in trials]


def parse(arguments=None):
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog='contour_harness', description=__doc__.split('\n\n')[0].strip())
    add = parser.add_argument
    add('--scenario', action='append', choices=[*SCENARIOS, *GAP_SCENARIOS], metavar='NAME',
        help='only this shape, may be repeated: ' + ', '.join([*SCENARIOS, *GAP_SCENARIOS]))
    add('--gaps', action='store_true', help='gaps of all widths in place of the usual shapes')
    add('--layout', help='a layout file or name in place of the shapes')
    add('--seconds', type=float, default=40.0,
        help=f'measured after {SETTLE_S:g} s to settle (default: 40)')
    add('--start', type=float, nargs=3, metavar=('X', 'Y', 'YAW_DEG'), help='start pose, degrees')
    add('--side', choices=('right', 'left'), default='right', help='where the surface is kept')
    add('--seed', type=int, default=0, help='first seed')
    add('--seeds', type=int, default=1, help='how many seeds')
    add('--noise', type=float, nargs='+', default=[0.01], metavar='M',
        help='range noise, one sigma, metres')
    add('--beams', type=int, default=360, help='beams per scan')
    add('--delay', type=int, default=0, metavar='SCANS', help='scans arrive this much late')
    add('--jobs', type=int, default=1, help='processes')
    add('--json', type=Path, metavar='FILE', help='write results as JSON')
    add('--picture', type=Path, metavar='FILE|DIR', help='draw the track of each run')
    options = parser.parse_args(arguments)
    if not options.seconds > 0 or options.seeds < 1 or options.jobs < 1 or options.delay < 0:
        parser.error('--seconds, --seeds and --jobs must be above zero, --delay not below')
    return options


def main(arguments=None):
    """Run what the command line asks for and return the exit status."""
    options = parse(arguments)
    try:
        jobs = _jobs(plan_trials(options), options.picture)
        if options.json:                                # now, and not after all the trials
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.open('a').close()
        if options.jobs == 1:
            results = [_run(job) for job in jobs]
        else:
            with ProcessPoolExecutor(options.jobs) as pool:
                results = list(pool.map(_run, jobs))
    except (ValueError, OSError) as error:       # layout, start, setting or file that is no good
        print(f'error: {error}', file=sys.stderr)
        return 2
    rows = summarise(results)
    print_table(rows)
    passed = all(row['passed'] for row in rows)
    if options.json:
        settings = asdict(FollowerSettings(side=options.side))
        summary = {'passed': passed, 'scenarios': rows, 'settings': settings}
        options.json.write_text(json.dumps({'trials': results, 'summary': summary}, indent=1))
    return 0 if passed else 1


if __name__ == '__main__':
    sys.exit(main())
