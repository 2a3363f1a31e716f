"""
Measure the everyday localizer and the health score, offline.

``python3 -m oomwoo_sim_support.localizer_harness``: the real algorithms on scans, odometry and
physics of the embedded simulator; errors against its truth, which they do not see. Prints a
table; exits with 1 when a stated bound is missed, with 2 for input it cannot use.
"""
import argparse
from concurrent.futures import ProcessPoolExecutor
import json
from pathlib import Path
import sys

import numpy as np
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.localizer_scenarios import SCENARIOS
from oomwoo_sim_support.localizer_trial import BOUNDS, run_trial, Trial

# title, key, format, factor
COLUMNS = (
    ('scenario', 'scenario', '{:<10}', 1), ('layout', 'layout', '{:<16}', 1),
    ('seed', 'seed', '{:>4}', 1), ('noise mm', 'noise_m', '{:>8.0f}', 1e3),
    ('driven m', 'driven_m', '{:>8.1f}', 1), ('rms mm', 'rms_m', '{:>6.2f}', 1e3),
    ('worst mm', 'worst_m', '{:>8.2f}', 1e3), ('yaw rms deg', 'yaw_rms_deg', '{:>11.3f}', 1),
    ('worst deg', 'yaw_worst_deg', '{:>9.3f}', 1),
    ('odom worst m', 'odom_worst_m', '{:>12.2f}', 1),
    ('adrift', 'adrift', '{:>6}', 1), ('score', 'score_mean', '{:>5.2f}', 1),
    ('least', 'score_least', '{:>5.2f}', 1), ('cpu ms', 'step_ms', '{:>6.2f}', 1),
    ('p95 ms', 'step_p95_ms', '{:>6.2f}', 1))


def print_table(results):
    """Print a line a trial, what its scenario asks, and whether it was kept."""
    titles = [title.ljust(len(form.format(0))) if '<' in form else
              title.rjust(len(form.format(0))) for title, _, form, _ in COLUMNS]
    print('  '.join([*titles, 'kept']))
    for result in results:
        cells = [form.format(result[key] * factor if factor != 1 else result[key])
                 for _, key, form, factor in COLUMNS]
        print('  '.join([*cells, 'yes' if result['passed'] else 'NO', _extra(result)]).rstrip())
    for result in results:
        if result['failed']:
            print(f'{result["scenario"]} in {result["layout"]}, seed {result["seed"]}: '
                  f'{"; ".join(result["failed"])}')
    for name in dict.fromkeys(result['scenario'] for result in results):
        asked = ', '.join(f'{key} <= {most:g}' for key, most in BOUNDS[name])
        print(f'{name}: {SCENARIOS[name].what}; asked: {asked}')


def _extra(result):
    if 'kidnaps' in result:
        return (f'{result["noticed"]} of {result["kidnaps"]} kidnaps noticed within 1 s, '
                f'slowest {result["slowest_s"]:.1f} s')
    if 'after_stop_m' in result:
        return f'at the scan after a stop: {1e3 * result["after_stop_m"]:.2f} mm at worst'
    if 'across_rms_m' in result:
        return f'across: {1e3 * result["across_rms_m"]:.2f} mm rms'
    return ''


def summarise(results):
    """Return the worst of all trials, per scenario."""
    summary = {'passed': all(result['passed'] for result in results), 'scenarios': {}}
    for name in dict.fromkeys(result['scenario'] for result in results):
        of = [result for result in results if result['scenario'] == name]
        summary['scenarios'][name] = {
            'trials': len(of), 'passed': sum(r['passed'] for r in of),
            **{f'most_{key}': max(r[key] for r in of)
               for key in ('rms_m', 'worst_m', 'yaw_rms_deg', 'lost_share')},
            'step_ms': float(np.median([r['step_ms'] for r in of]))}
    return summary


def parse(arguments=None):
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog='localizer_harness', description=__doc__.split('\n\n')[0])
    add = parser.add_argument
    add('--scenario', action='append', choices=list(SCENARIOS), metavar='NAME',
        help='only this one, may be repeated: ' + ', '.join(SCENARIOS))
    add('--layout', action='append', help='a layout file or name, may be repeated '
        '(default: living_room)')
    add('--seconds', type=float, default=60.0, help='simulated time of each trial (default: 60)')
    add('--seed', type=int, default=0, help='first seed')
    add('--seeds', type=int, default=1, help='how many seeds')
    add('--noise', type=float, nargs='+', default=[0.01], metavar='M',
        help='range noise, one sigma, metres')
    add('--resolution', type=float, default=0.025, help='of the map, metres a cell')
    add('--jobs', type=int, default=1, help='processes')
    add('--json', type=Path, metavar='FILE', help='write results as JSON')
    options = parser.parse_args(arguments)
    if not options.seconds > 0 or options.seeds < 1 or options.jobs < 1:
        parser.error('--seconds, --seeds and --jobs must be above zero')
    return options


def plan_trials(options):
    """Return the list of :class:`Trial` that the command line asks for."""
    layouts = [load_layout(layout) for layout in options.layout or ['living_room']]
    return [
        Trial(
            SCENARIOS[name], layout, options.seconds, options.seed + k, noise, options.resolution)
        for name in options.scenario or SCENARIOS
        for layout in (layouts[:1] if SCENARIOS[name].drive == 'corridor' else layouts)
        for noise in options.noise for k in range(options.seeds)]


def main(arguments=None):
    """Run what the command line asks for and return the exit status."""
    options = parse(arguments)
    try:
        trials = plan_trials(options)
        if options.jobs == 1:
            results = [run_trial(trial) for trial in trials]
        else:
            with ProcessPoolExecutor(options.jobs) as pool:
                results = list(pool.map(run_trial, trials))
    except (ValueError, OSError) as error:       # layout, setting or file that is no good
        print(f'error: {error}', file=sys.stderr)
        return 2
    print_table(results)
    summary = summarise(results)
    if options.json:
        options.json.write_text(json.dumps({'trials': results, 'summary': summary}, indent=1))
    return 0 if summary['passed'] else 1


if __name__ == '__main__':
    sys.exit(main())
