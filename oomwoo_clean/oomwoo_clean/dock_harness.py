"""
Rehearse dockings offline and measure them: ``python3 -m oomwoo_clean.dock_harness``.

The real drive and detector on scans, receivers and physics of the embedded simulator; arrivals are
measured from its truth, which they do not see. Without an option that says where to start: the
twelve named spots, and the conditions in which something is wrong. Exit status 0 when all bounds
are kept, 1 when not, 2 for input that cannot be used.
"""
import argparse
from concurrent.futures import as_completed, ProcessPoolExecutor
import json
import math
import multiprocessing
import os
from pathlib import Path
import sys

import numpy as np
from oomwoo_clean.dock_drive import MODES
from oomwoo_clean.dock_rehearsal import DockTrial, rehearse_docking
from oomwoo_clean.dock_trials import (
    condition_trials,
    CONDITIONS,
    grid_trials,
    spot_trials,
)
from oomwoo_sim_support.layout import load_layout

LEAST_OF_64 = {'beacon': 64, 'lidar': 62}
WORST_LATERAL_MM, WORST_YAW_DEG, MEDIAN_S = 3.0, 0.5, 25.0


def parse_arguments(argv=None):
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(
        prog='python3 -m oomwoo_clean.dock_harness', description='Rehearse dockings offline.',
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add('--grid', action='store_true', help='64 parked spots, any heading')
    add('--spots', action='store_true', help='the twelve named spots')
    add('--conditions', nargs='*', metavar='NAME', choices=list(CONDITIONS),
        help='what is wrong, moved or in the way: all, or these of ' + ', '.join(CONDITIONS))
    add('--start', type=float, nargs=3, metavar=('X', 'Y', 'YAW'),
        help='one start in the map [m, m, rad]')
    add('--mode', choices=MODES, default='beacon', help='with the beacon, or by LiDAR alone')
    add('--layout', default='kitchen_dining', help='a layout of the suite, or a layout file')
    add('--seed', type=int, default=0, help='first seed of all simulated noise')
    add('--seeds', type=int, default=1, help='how many seeds')
    add('--jobs', type=int, default=1, help='processes')
    add('--json', type=Path, metavar='FILE', help='write the results there')
    add('--picture', type=Path, metavar='FILE', help='draw all tracks there')
    add('--verbose', action='store_true', help='print what happens on the way')
    options = parser.parse_args(argv)
    if options.seeds < 1 or options.jobs < 1:
        parser.error('--seeds and --jobs must be above zero')
    return options


def plan_trials(options, layout):
    """Return the list of (kind, :class:`DockTrial`) that the options ask for."""
    plain = not (options.grid or options.spots or options.start
                 or options.conditions is not None)
    found = []
    for seed in range(options.seed, options.seed + options.seeds):
        if options.start:
            start = tuple(options.start)
            found.append(('start', DockTrial('start', start, options.mode, seed)))
        if options.spots or plain:
            found += [('spots', trial) for trial in spot_trials(layout, options.mode, seed)]
        if options.grid:
            found += [('grid', trial) for trial in grid_trials(layout, options.mode, seed)]
        if options.conditions is not None or plain:
            found += [('conditions', trial) for trial in condition_trials(
                layout, seed, options.conditions or None)]
    return found


def _run(job):
    kind, trial, path, verbose, draw = job
    said = []

    def watch(sim, seen, out, drive):
        if said[-1:] != [(out.state, out.message)]:
            said.append((out.state, out.message))
            print(f'    {seen.time_s:6.1f} s  {out.state:<8} {out.message}', file=sys.stderr)

    run = rehearse_docking(trial, load_layout(path), watch=watch if verbose else None)
    tracks = (run.track.truth[::2], run.states[::2]) if draw else None
    return {'kind': kind, **run.result}, tracks


def run_all(jobs, processes):
    """Yield (result, track) of all jobs as they end."""
    if processes <= 1 or len(jobs) == 1:
        yield from map(_run, jobs)
        return
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    with ProcessPoolExecutor(processes, multiprocessing.get_context('spawn')) as pool:
        for future in as_completed([pool.submit(_run, job) for job in jobs]):
            yield future.result()


HEAD = (f'{"trial":<26} {"start":<20} {"seed":>4}  {"verdict":<24} {"lateral":>8} {"yaw":>7} '
        f'{"dock":>7} {"tries":>5} {"time":>6}  {"contacts":>8}')


def table_row(result):
    """Return one line of the table."""
    x, y, yaw = result['start']
    verdict = result['verdict'] + (f' {result["reason"]}' if result['reason'] else '')
    lateral = '' if math.isnan(result['lateral_mm']) else f'{result["lateral_mm"]:+.1f}mm'
    turned = '' if math.isnan(result['yaw_deg']) else f'{result["yaw_deg"]:+.2f}°'
    return (f'{result["name"]:<26} {x:6.2f} {y:6.2f} {yaw:6.2f} {result["seed"]:>4}  {verdict:<24}'
            f' {lateral:>8} {turned:>7} {"touched" if result["touched_dock"] else "":>7} '
            f'{result["attempts"]:>5} {result["sim_s"]:5.1f}s  {result["contacts"]:>8}')


def summarise(results):
    """Return one dict of figures for each kind of trial."""
    rows = {}
    for kind in dict.fromkeys(result['kind'] for result in results):
        of = [result for result in results if result['kind'] == kind]
        docked = [result for result in of if result['docked']]
        rows[kind] = {
            'trials': len(of), 'docked': len(docked),
            'failed': sum(bool(result['failed']) for result in of),
            'touched_dock': sum(result['touched_dock'] for result in of),
            'worst_lateral_mm': max((abs(r['lateral_mm']) for r in docked), default=math.nan),
            'worst_yaw_deg': max((abs(r['yaw_deg']) for r in docked), default=math.nan),
            'median_s': float(np.median([r['sim_s'] for r in docked])) if docked else math.nan,
            'longest_s': max(result['sim_s'] for result in of),
            'regroups': sum(result['attempts'] - 1 for result in of)}
    return rows


def misses(kind, row, results, mode):
    """Return which bounds a kind of trials misses, in words."""
    missed = []
    if kind == 'grid':
        for seed in dict.fromkeys(r['seed'] for r in results):
            of = [r for r in results if r['seed'] == seed]
            docked, least = sum(r['docked'] for r in of), LEAST_OF_64[mode]
            if docked < least * len(of) / 64:
                missed.append(f'seed {seed}: docked from {docked} of {len(of)} spots < {least}')
        if not row['median_s'] <= MEDIAN_S:
            missed.append(f'median {row["median_s"]:.1f} s > {MEDIAN_S} s')
        if row['touched_dock']:
            missed.append(f'touched the dock {row["touched_dock"]} times')
        return missed
    for result in results:
        missed += [f'{result["name"]}, seed {result["seed"]}: {text}' for text in result['failed']]
    if kind == 'spots':
        if not row['worst_lateral_mm'] <= WORST_LATERAL_MM:
            missed.append(
                f'{row["worst_lateral_mm"]:.1f} mm off centre > {WORST_LATERAL_MM} mm')
        if not row['worst_yaw_deg'] <= WORST_YAW_DEG:
            missed.append(f'{row["worst_yaw_deg"]:.2f} deg off square > {WORST_YAW_DEG} deg')
        if not row['median_s'] <= MEDIAN_S:
            missed.append(f'median {row["median_s"]:.1f} s > {MEDIAN_S} s')
    return missed


def main(argv=None):
    """Run the trials, print the table, return the exit status."""
    options = parse_arguments(argv)
    results, tracks = [], []
    try:
        layout = load_layout(options.layout)
        if layout.dock is None:
            raise ValueError(f'layout {options.layout}: has no dock')
        if options.json:                                # now, and not after all the trials
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.open('a').close()
        jobs = [(kind, trial, options.layout, options.verbose, options.picture is not None)
                for kind, trial in plan_trials(options, layout)]
        print(HEAD)
        for result, track in run_all(jobs, options.jobs):
            results.append(result)
            tracks.append(track)
            print(table_row(result), flush=True)
    except (ValueError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 2
    summary, missed = summarise(results), []
    for kind, row in summary.items():
        missed += misses(kind, row, [r for r in results if r['kind'] == kind], options.mode)
        print(f'{kind}: {row["trials"] - row["failed"]} of {row["trials"]} as they should be, '
              f'docked {row["docked"]}; worst arrival '
              f'{row["worst_lateral_mm"]:.1f} mm, {row["worst_yaw_deg"]:.2f} deg; median '
              f'{row["median_s"]:.1f} s, longest {row["longest_s"]:.1f} s; dock touched '
              f'{row["touched_dock"]} times; {row["regroups"]} regroups')
        for result in (r for r in results if r['kind'] == kind and r['failed']):
            print(f'  {result["name"]}, seed {result["seed"]}: {"; ".join(result["failed"])}')
    for text in missed:
        print(f'MISSED  {text}')
    if options.json:
        report = {'trials': results, 'summary': {'kept': not missed, 'missed': missed, **summary}}
        options.json.write_text(json.dumps(report, indent=1))
    if options.picture:
        from oomwoo_clean.dock_picture import draw_dockings
        options.picture.parent.mkdir(parents=True, exist_ok=True)
        draw_dockings(layout, tracks, results, options.picture)
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
