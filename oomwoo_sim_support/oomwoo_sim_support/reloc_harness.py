"""
Measure the relocalizer: ``python3 -m oomwoo_sim_support.reloc_harness``.

``--grid`` asks from every reachable spot of a layout and four headings, with scans of the embedded
simulator; ``--adversarial`` with scans spoilt on purpose
(:mod:`~oomwoo_sim_support.reloc_scenarios`); ``--carmen`` with real scans on a map made of others
of the same log. Prints a table; exits with 1 when a stated bound is missed.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
import json
import math
import os
from pathlib import Path
import sys
import time

import numpy as np
from oomwoo_sim_support.carmen_log import LogError
from oomwoo_sim_support.layout import LayoutError
from oomwoo_sim_support.reloc_scenarios import KINDS
from oomwoo_sim_support.reloc_speed import speed_trials
from oomwoo_sim_support.reloc_trial import adversarial_trial, carmen_trials, grid_trials

GRID_M, GRID_DEG = 0.02, 0.5  # worst error allowed on the grid
ACCEPTED_SHARE = 0.95  # of the solvable ones


def summary(trials):
    """Return ``{kind: figures}`` of a list of trials."""
    table = {}
    for kind in dict.fromkeys(trial['kind'] for trial in trials):
        some = [trial for trial in trials if trial['kind'] == kind]
        count = {
            outcome: sum(trial['outcome'] == outcome for trial in some)
            for outcome in ('right', 'wrong', 'twin', 'refused')
        }
        able = [trial for trial in some if trial.get('solvable', True)]
        good = [trial for trial in some if trial['outcome'] == 'right']
        table[kind] = {
            'trials': len(some),
            **count,
            'solvable': len(able),
            'accepted_of_solvable': sum(trial['outcome'] == 'right' for trial in able)
            / max(1, len(able)),
            'found': sum(trial['found'] for trial in some),
            'worst_m': max((trial['err_m'] for trial in good), default=math.nan),
            'worst_deg': max((trial['err_deg'] for trial in good), default=math.nan),
            'median_ms': float(np.median([trial['ms'] for trial in some])),
            'worst_ms': max(trial['ms'] for trial in some),
        }
    return table


def missed(trials, table):
    """Return in words which bounds are missed; empty when all are held."""
    wrong = [trial for trial in trials if trial['outcome'] == 'wrong']
    failed = [
        f'{trial["kind"]} (seed {trial.get("seed")}): a wrong pose was accepted, '
        f'{trial["err_m"]:.2f} m and {trial["err_deg"]:.1f} degrees off'
        for trial in wrong
    ]
    hard = [trial for trial in trials if trial['kind'] in KINDS and trial['solvable']]
    if hard:
        share = sum(trial['outcome'] == 'right' for trial in hard) / len(hard)
        if share < ACCEPTED_SHARE:
            failed.append(
                f'{share:.1%} of the solvable trials accepted; {ACCEPTED_SHARE:.0%} is the bound'
            )
    for kind, row in table.items():
        if kind.startswith('grid '):
            if row['right'] < row['trials']:
                failed.append(
                    f'{kind}: {row["right"]} of {row["trials"]} poses recovered'
                )
            if not (row['worst_m'] <= GRID_M and row['worst_deg'] <= GRID_DEG):
                failed.append(
                    f'{kind}: worst error {row["worst_m"]:.3f} m, {row["worst_deg"]:.2f} degrees; '
                    f'the bound is {GRID_M} m, {GRID_DEG} degrees'
                )
    return failed


def print_table(table):
    """Print a line for each kind of trial."""
    print(
        f'{"kind":22} trials  right  wrong  twin  refused  solvable  accepted   worst accepted'
        '     ms median  worst'
    )
    for kind, row in table.items():
        print(
            f'{kind:22} {row["trials"]:6} {row["right"]:6} {row["wrong"]:6} {row["twin"]:5} '
            f'{row["refused"]:8} {row["solvable"]:9} {row["accepted_of_solvable"]:9.1%} '
            f'{row["worst_m"]:8.3f} m {row["worst_deg"]:5.2f} deg {row["median_ms"]:9.1f} '
            f'{row["worst_ms"]:6.0f}'
        )


def run_all(tasks, function, jobs):
    """Return the results of a function over tasks, telling on stderr how far it is."""
    results, began = [], time.monotonic()
    on_terminal = sys.stderr.isatty()
    every = 20 if on_terminal else max(100, len(tasks) // 50)
    with ProcessPoolExecutor(jobs) as pool:
        for number, one in enumerate(pool.map(function, tasks, chunksize=8), 1):
            results.append(one)
            if one['outcome'] == 'wrong':
                print(f'\nwrong: {one["kind"]}, seed {one["seed"]}', file=sys.stderr, flush=True)
            if number % every == 0:
                left = (time.monotonic() - began) / number * (len(tasks) - number)
                wrong = sum(each['outcome'] == 'wrong' for each in results)
                line = f'{number} of {len(tasks)} trials, {wrong} wrong, about {left:.0f} s to go'
                print(
                    f'\r{line} ' if on_terminal else line,
                    end='' if on_terminal else '\n',
                    file=sys.stderr,
                    flush=True,
                )
    if on_terminal:
        print('\r' + 60 * ' ' + '\r', end='', file=sys.stderr)
    return results


def arguments(argv):
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description='Measure the global relocalizer.')
    parser.add_argument(
        '--grid', action='store_true', help='every reachable spot of a layout, four headings'
    )
    parser.add_argument(
        '--adversarial', action='store_true', help='scans that are spoilt on purpose'
    )
    parser.add_argument(
        '--carmen', metavar='LOG', action='append', default=[], help='a CARMEN log file'
    )
    parser.add_argument(
        '--speed', action='store_true', help='how the time grows with the area of the map'
    )
    parser.add_argument(
        '--layout', default='living_room', help='name or file, for --grid (%(default)s)'
    )
    parser.add_argument(
        '--spacing', type=float, default=0.25, help='of the grid, metres (%(default)s)'
    )
    parser.add_argument(
        '--every',
        type=int,
        default=10,
        help='each so-manieth scan of a log is asked (%(default)s)',
    )
    parser.add_argument(
        '--trials', type=int, default=1900, help='adversarial trials, of all kinds together'
    )
    parser.add_argument(
        '--kind', action='append', choices=list(KINDS), help='only these adversarial trials'
    )
    parser.add_argument('--seed', type=int, default=0, help='first seed (%(default)s)')
    parser.add_argument(
        '--jobs', type=int, default=os.cpu_count() or 1, help='processes (%(default)s)'
    )
    parser.add_argument('--json', metavar='FILE', help='write all trials there')
    parsed = parser.parse_args(argv)
    if (
        parsed.spacing <= 0
        or parsed.every < 2
        or parsed.trials < 1
        or parsed.jobs < 1
        or parsed.seed < 0
    ):
        parser.error(
            'spacing, trials and jobs must be greater than zero, every at least 2, '
            'seed not negative'
        )
    if not (parsed.grid or parsed.adversarial or parsed.carmen or parsed.speed):
        parsed.grid = parsed.adversarial = True
    return parsed


def main(argv=None):
    """Run from the command line; return the exit status."""
    asked = arguments(argv)
    trials = []
    try:
        if asked.grid:
            trials += grid_trials(asked.layout, asked.spacing, asked.seed)
        for log in asked.carmen:
            trials += carmen_trials(log, asked.every)
    except (LayoutError, LogError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 2
    if asked.adversarial:
        kinds = asked.kind or list(KINDS)
        tasks = [
            (kinds[number % len(kinds)], asked.seed + number // len(kinds))
            for number in range(asked.trials)
        ]
        trials += run_all(tasks, adversarial_trial, asked.jobs)
    if asked.speed:
        trials += speed_trials(asked.seed)
    table = summary(trials)
    print_table(table)
    failed = missed(trials, table)
    if asked.json:
        Path(asked.json).write_text(
            json.dumps({'trials': trials, 'summary': table, 'failed': failed}, indent=1)
        )
    for line in failed:
        print(f'MISSED {line}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
