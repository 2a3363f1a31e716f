"""
Covered floor in a fixed time, offline: ``-m oomwoo_clean.coverage_harness``.

Each start is driven with each controller: ``averse`` aborts before it would touch and has no
reflexes, ``tolerant`` touches and has them, ``auto`` is the suite's own. Exit status 0 when the
bounds are kept, 1 when not, 2 when the arguments cannot be used.
"""
import argparse
import json
from pathlib import Path
import sys

import numpy as np
from oomwoo_clean.coverage_rehearsal import rehearse_coverage, Setup
from oomwoo_clean.coverage_sweep import CoverageSettings
from oomwoo_clean.edge_harness import random_starts
from oomwoo_clean.edge_rehearsal import AMCL_MEAN_ERROR_M
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.navigator_settings import CONTROLLERS, NavigatorSettings

# The planner of the averse run takes the robot for one that fits where its inflation says so.
AVERSE_RADIUS_M = 0.10
HEAD = (
    f'{"controller":>10} {"x":>6} {"y":>6} {"yaw":>6} {"seed":>5} {"covered":>8} {"%":>6} '
    f'{"contacts":>8} {"rear":>5} {"aborts":>7} {"goals failed":>12} {"peel-offs":>9} '
    f'{"driven":>7} {"state":>8}')


def setup_of(controller):
    """Return the :class:`Setup` that a controller's name stands for."""
    averse = controller == 'averse'
    return Setup(
        NavigatorSettings(**CONTROLLERS[controller]),
        CoverageSettings(robot_radius=AVERSE_RADIUS_M if averse else 0.0), reflex=not averse)


def parse_arguments(argv=None):
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(
        prog='python3 -m oomwoo_clean.coverage_harness',
        description='Covered floor in a fixed time, offline.',
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument('--layout', default='living_room', help='layout of the suite, or a file')
    parser.add_argument(
        '--start', type=float, nargs=3, metavar=('X', 'Y', 'YAW'), help='the first start [m, rad]')
    parser.add_argument(
        '--starts', type=int, default=1, help="trials: the layout's own start, then random ones")
    parser.add_argument(
        '--seed', type=int, default=0, help='of starts; that of a trial is this and its number')
    parser.add_argument('--window', type=float, default=135.0, help='robot time [s]')
    parser.add_argument(
        '--controllers', nargs='+', choices=tuple(CONTROLLERS),
        default=('averse', 'tolerant', 'auto'))
    parser.add_argument(
        '--pose-noise', type=float, nargs='?', const=AMCL_MEAN_ERROR_M, default=0.0, metavar='M',
        help='mean error of the localizer [m]; without a value that of AMCL')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the results there')
    parser.add_argument('--verbose', action='store_true', help='print what happens on the way')
    options = parser.parse_args(argv)
    if options.starts < 1 or not 0.0 < options.window < np.inf:
        parser.error('--starts and --window must be above zero')
    return options


def run_trial(layout, grid, controller, start, seed, options):
    """Return the figures of one window as a dict."""
    result = rehearse_coverage(
        layout, grid, setup_of(controller), start, seed, options.window, options.pose_noise)
    if options.verbose:
        for at_s, state, event in result.events:
            print(f'  {at_s:7.1f} s  {state:<8} {event}', file=sys.stderr)
    floor = result.meter.coverage
    return {
        'controller': controller, 'start': [round(float(v), 3) for v in start], 'seed': seed,
        'covered_m2': round(floor.covered_m2, 3), 'floor_m2': round(floor.floor_m2, 3),
        'covered_pct': round(100.0 * floor.ratio, 2), 'driven_m': round(floor.driven_m, 2),
        'contacts': result.contacts, 'rear_contacts': result.rear_contacts,
        'aborts': result.aborts, 'failed_goals': result.run.failed_goals,
        'peel_offs': result.peel_offs, 'pressed_s': round(result.pressed_s, 1),
        'state': result.run.phase, 'sim_s': round(result.sim_s, 1),
        'wall_s': round(result.wall_s, 1)}


def table_row(figures):
    """Return one line of the table."""
    x, y, yaw = figures['start']
    return (
        f'{figures["controller"]:>10} {x:6.2f} {y:6.2f} {yaw:6.2f} {figures["seed"]:5d} '
        f'{figures["covered_m2"]:7.2f}m {figures["covered_pct"]:6.1f} {figures["contacts"]:8d} '
        f'{figures["rear_contacts"]:5d} {figures["aborts"]:7d} {figures["failed_goals"]:12d} '
        f'{figures["peel_offs"]:9d} {figures["driven_m"]:6.1f}m {figures["state"]:>8}')


def summarise(results, controllers):
    """Return for each controller the median and range of its figures over all starts."""
    summary = {}
    for controller in controllers:
        mine = [r for r in results if r['controller'] == controller]
        summary[controller] = {
            key: [float(f([r[key] for r in mine])) for f in (min, np.median, max)]
            for key in ('covered_pct', 'contacts', 'aborts', 'failed_goals', 'peel_offs')}
    return summary


def misses(results):
    """Return the bounds that are missed: no aborts but with averse, which covers the least."""
    missed = [
        f'{r["controller"]} at {r["start"]}: {r["aborts"]} aborts'
        for r in results if r['controller'] != 'averse' and r['aborts']]
    for averse in (r for r in results if r['controller'] == 'averse'):
        missed += [
            f'{r["controller"]} at {r["start"]}: {r["covered_pct"]} % covered, averse '
            f'{averse["covered_pct"]} %' for r in results
            if r['start'] == averse['start'] and r['controller'] != 'averse'
            and r['covered_pct'] <= averse['covered_pct']]
    return missed


def main(argv=None):
    """Run the trials, print the table, return the exit status."""
    options = parse_arguments(argv)
    try:
        layout = load_layout(options.layout)
        grid = layout_grid(layout)
        starts = [
            tuple(options.start or map(float, layout.start)),
            *random_starts(layout, grid, options.starts - 1, options.seed)]
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.open('a').close()              # now, and not after ten trials
        return _measure(options, layout, grid, starts)
    except (ValueError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 2


def _measure(options, layout, grid, starts):
    print(f'{options.layout}: {options.window:.0f} s from each of {len(starts)} starts\n{HEAD}')
    results = []
    for number, start in enumerate(starts):
        for controller in options.controllers:
            results.append(run_trial(
                layout, grid, controller, start, options.seed + number, options))
            print(table_row(results[-1]), flush=True)
    summary = summarise(results, options.controllers)
    for controller, figures in summary.items():
        print(f'{controller:>10} median (range): ' + ', '.join(
            f'{key} {middle:.4g} ({low:.4g} .. {high:.4g})'
            for key, (low, middle, high) in figures.items()))
    missed = misses(results)
    for line in missed:
        print(f'MISSED: {line}')
    if options.json:
        text = json.dumps({'trials': results, 'summary': summary}, indent=1)
        options.json.write_text(text + '\n')
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
