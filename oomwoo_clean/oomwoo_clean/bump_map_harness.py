"""
Measure the bump map offline: ``python3 -m oomwoo_clean.bump_map_harness``.

A robot bumps about in worlds with skirts and curtains and without; its bump map is held against
what is solid there. Prints a table; exits with 1 when less than 90 % of the length of walls lies
within 3 cm and 3 degrees of the truth, more than a tenth of the presses by cloth leave a touch of
it, or more than a tenth of the presses by what is solid leave none; with 2 for input it cannot
use.
"""
import argparse
from concurrent.futures import ProcessPoolExecutor
import json
import math
from pathlib import Path
import sys

from oomwoo_clean.bump_map_trial import fit_time_ms, run_trial, Trial
from oomwoo_sim_support.layout import load_layout

LAYOUTS = ('living_room', 'bedroom', 'skirt_room', 'curtain_room')
WALLS_RIGHT, KEPT_ON_SOFT, FORGOTTEN = 0.9, 0.1, 0.1


def summarise(results):
    """Return what the exit status says, as a dict."""
    length = sum(r['walls_m'] for r in results)
    right = sum(r['walls_m'] * r['walls_right'] for r in results if r['walls_m'])
    kept = sum(r['kept_on_soft'] for r in results)
    share = right / length if length else math.nan
    soft = sum(r['soft_presses'] for r in results)
    solid = sum(r['presses'] for r in results) - soft
    forgotten = sum(r['solid_forgotten'] for r in results)
    return {
        'walls_m': length, 'walls_right': share, 'kept_on_soft': kept,
        'soft_presses': soft, 'solid_presses': solid, 'solid_forgotten': forgotten,
        **{key: sum(r[key] for r in results)
           for key in ('touches', 'touches_right', 'touches_of_nothing')},
        'across_m': weighed(results, 'across_m'), 'along_m': weighed(results, 'along_m'),
        'passed': (share >= WALLS_RIGHT and kept <= KEPT_ON_SOFT * soft
                   and forgotten <= FORGOTTEN * solid)}


def weighed(results, key):
    """Return the mean of a value over all touches of the runs that have any."""
    counted = [r for r in results if r['touches']]
    return sum(r[key] * r['touches'] for r in counted) / max(
        sum(r['touches'] for r in counted), 1)


def print_table(results, summary):
    """Print one line a run, and the sum."""
    print(f'{"layout":<13} {"seed":>4} {"presses":>7} {"of cloth":>8} {"touches":>7} '
          f'{"<3 cm":>5} {">6 cm":>5} {"kept":>4} {"forgotten":>9} {"across mm":>9} '
          f'{"along":>5} {"walls":>5} {"m":>5} {"right":>6} {"worst cm":>8} {"deg":>5}')
    for r in results:
        print(f'{r["layout"]:<13} {r["seed"]:>4} {r["presses"]:>7} {r["soft_presses"]:>8} '
              f'{r["touches"]:>7} {r["touches_right"]:>5} {r["touches_of_nothing"]:>5} '
              f'{r["kept_on_soft"]:>4} {r["solid_forgotten"]:>9} {1e3 * r["across_m"]:>9.1f} '
              f'{1e3 * r["along_m"]:>5.1f} {r["walls"]:>5} {r["walls_m"]:>5.1f} '
              f'{100 * r["walls_right"]:>5.1f}% {100 * r["worst_wall_m"]:>8.1f} '
              f'{r["worst_wall_deg"]:>5.1f}')
    print(f'{100 * summary["walls_right"]:.1f} % of {summary["walls_m"]:.1f} m of walls right, '
          f'{summary["kept_on_soft"]} of {summary["soft_presses"]} presses by cloth kept, '
          f'{summary["solid_forgotten"]} of {summary["solid_presses"]} others forgotten; of '
          f'{summary["touches"]} touches {summary["touches_right"]} within 3 cm of something '
          f'solid, {summary["touches_of_nothing"]} more than 6 cm from it; their poses off by '
          f'{1e3 * summary["across_m"]:.1f} mm across, {1e3 * summary["along_m"]:.1f} mm along')


def parse(arguments=None):
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog='bump_map_harness', description=__doc__.split('\n\n')[0].strip())
    add = parser.add_argument
    add('--layout', action='append', metavar='NAME', help=f'default: {", ".join(LAYOUTS)}')
    add('--seconds', type=float, default=300.0, help='simulated time each (default: 300)')
    add('--seed', type=int, default=0, help='first seed')
    add('--seeds', type=int, default=1, help='how many seeds')
    add('--held', type=float, default=0.4, metavar='S',
        help='the driver gives way after so long a press (default: 0.4)')
    add('--fit', type=int, nargs='+', metavar='N',
        help='instead: how long it takes to fit walls to N touches')
    add('--jobs', type=int, default=1, help='processes')
    add('--json', type=Path, metavar='FILE', help='write results as JSON')
    options = parser.parse_args(arguments)
    if options.seeds < 1 or options.jobs < 1 or not options.seconds > 0 or options.held < 0 or (
            min(options.fit or [1]) < 1):
        parser.error(
            '--seeds, --jobs, --seconds and --fit must be above zero, --held not below')
    return options


def main(arguments=None):
    """Run what the command line asks for and return the exit status."""
    options = parse(arguments)
    try:
        if options.fit:
            for count in options.fit:
                took_ms = fit_time_ms(load_layout(LAYOUTS[0]), count, options.seed)
                print(f'walls of {count} touches: {took_ms:.0f} ms of CPU time')
            return 0
        trials = [
            Trial(load_layout(name), options.seconds, options.seed + k, options.held)
            for name in options.layout or LAYOUTS for k in range(options.seeds)]
        if options.json:                                # now, and not after all the trials
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.open('a').close()
        if options.jobs == 1:
            results = [run_trial(trial) for trial in trials]
        else:
            with ProcessPoolExecutor(options.jobs) as pool:
                results = list(pool.map(run_trial, trials))
    except (ValueError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 2
    summary = summarise(results)
    print_table(results, summary)
    if options.json:
        options.json.write_text(json.dumps({'trials': results, 'summary': summary}, indent=1))
    return 0 if summary['passed'] else 1


if __name__ == '__main__':
    sys.exit(main())
