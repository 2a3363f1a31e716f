"""
Measure the relocalizer: ``python3 -m oomwoo_sim_support.reloc_harness``.

``--grid`` asks from every reachable spot of a layout and four headings, with scans of the embedded
simulator; ``--adversarial`` with scans spoilt on purpose
(:mod:`~oomwoo_sim_support.reloc_scenarios`); ``--carmen`` with real scans on a map made of others
of the same log. Prints a table; exits with 1 when a stated bound is missed.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
import json
import math
import os
from pathlib import Path
import sys
import time

import numpy as np
from oomwoo_localization.frames import compose, wrap_angle
from oomwoo_localization.relocalizer import Relocalizer, RelocalizerSettings
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.carmen_log import LogError, map_of, read_carmen, spaced
from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.layout import LayoutError, load_layout
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.reloc_scenarios import KINDS, make_trial
from oomwoo_sim_support.reloc_speed import speed_trials
from oomwoo_sim_support.reloc_worlds import ranges_to
from scipy import ndimage

WRONG_M, WRONG_DEG = 0.3, 10.0  # the issue's: an accepted pose farther off than this is wrong
GRID_M, GRID_DEG = 0.02, 0.5  # worst error allowed on the grid
ACCEPTED_SHARE = 0.95  # of the solvable ones
SOLVABLE_MARGIN = 0.2  # see solvable()
SOLVABLE_INTACT = 0.7
TWIN_SHARE, TWIN_M = 0.85, 0.1  # see looks_alike()
GRID_MAP_M = 0.025
# What is intact is taken for true: only the lead over distinct poses counts.
ORACLE = RelocalizerSettings(
    least_margin=SOLVABLE_MARGIN,
    most_margin=0.9,
    base_margin=0.0,
    checked_credit=0.0,
    first_credit=0.0,
    doubt=0.0,
    first_doubt=0.0,
    blur_doubt=0.0,
    changed_doubt=0.0,
    twin_margin=0.0,
    least_score=0.3,
    most_crossed=0.5,
    most_lost=0.5,
    least_checked=0.0,
    checked_ratio=0.0,
    most_stray=10.0,
)


def pose_error(pose, truth):
    """Return ``(metres, degrees)`` between two plane poses, NaN for an unknown one."""
    return (
        float(math.hypot(pose[0] - truth[0], pose[1] - truth[1])),
        float(abs(math.degrees(wrap_angle(pose[2] - truth[2])))),
    )


def result(kind, answer, truth, **more):
    """
    Return the dict of one trial, as DESIGN has it, and its ``outcome``.

    ``right`` and ``wrong`` are accepted poses, ``refused`` the others.
    """
    err_m, err_deg = pose_error(answer.pose, truth) if truth is not None else (math.nan, math.nan)
    right = truth is not None and err_m <= WRONG_M and err_deg <= WRONG_DEG
    return {
        'kind': kind,
        'truth': None if truth is None else [float(v) for v in truth],
        'pose': [float(v) for v in answer.pose],
        'score': float(answer.score),
        'confidence': float(answer.confidence),
        'accepted': bool(answer.accepted),
        'err_m': err_m,
        'err_deg': err_deg,
        'ms': answer.runtime_s * 1e3,
        'outcome': ('right' if right else 'wrong') if answer.accepted else 'refused',
        'found': bool(right),
        'reason_code': answer.reason_code,
        **more,
    }


# -- spoilt scans ---------------------------------------------------------------------------


def adversarial_trial(kind_and_seed):
    """Return the dict of one trial of a kind in KINDS."""
    trial = make_trial(*kind_and_seed)
    relocalizer = Relocalizer(trial.grid)
    answer = relocalizer.relocalize(trial.scan, trial.base_from_scan)
    more = result(
        trial.kind, answer, trial.truth, seed=trial.seed, solvable=solvable(trial, relocalizer)
    )
    if more['outcome'] == 'wrong' and is_twin(trial, answer.pose):
        more['outcome'] = 'twin'
    return more


def is_twin(trial, pose):
    """
    Return whether the world as it is now looks like the map at a pose where the robot is not.

    And not like the map at the place where it is, if the map has that at all: what was built or
    taken away has made one place look like another, and no scan without errors would tell.
    """
    here = 0.0 if trial.truth is None else looks_alike(trial, trial.truth)
    return looks_alike(trial, pose) >= TWIN_SHARE > here


def solvable(trial, relocalizer):
    """
    Return whether a trial could be told from what is intact of its scan.

    Taken are only those beams that show what the map shows, at their exact ranges. They must be at
    least SOLVABLE_INTACT of all returns: of a scan that mostly shows other things nobody can say
    that it was not taken elsewhere. And the true pose must explain them better than every distinct
    pose, by SOLVABLE_MARGIN of its own score.
    """
    if trial.truth is None:
        return False
    if np.isfinite(trial.intact).sum() < SOLVABLE_INTACT * trial.scan.valid().sum():
        return False
    asked, relocalizer.settings = relocalizer.settings, ORACLE
    ideal = relocalizer.relocalize(replace(trial.scan, ranges=trial.intact), trial.base_from_scan)
    relocalizer.settings = asked
    err_m, err_deg = pose_error(ideal.pose, trial.truth)
    return ideal.accepted and err_m <= WRONG_M and err_deg <= WRONG_DEG


def looks_alike(trial, pose):
    """
    Return the share of the exact ranges that the mapped world, seen from a pose, gives as well.

    Where it is high, the map does hold a place that looks like the one where the robot is
    (TWIN_SHARE of it within TWIN_M); a robot that was set down there has been told nothing wrong
    by its scan.
    """
    scanner = compose(pose, _plane(trial.base_from_scan))
    angles = (
        scanner[2] + trial.scan.angle_min + trial.scan.angle_increment * np.arange(len(trial.seen))
    )
    predicted = ranges_to(trial.mapped, scanner[:2], angles)
    there = np.isfinite(trial.seen)
    return float((np.abs(predicted[there] - trial.seen[there]) <= TWIN_M).mean())


def _plane(matrix):
    return np.array([matrix[0, 3], matrix[1, 3], math.atan2(matrix[1, 0], matrix[0, 0])])


# -- every spot of a layout -------------------------------------------------------------------


def grid_spots(layout, spacing_m, robot):
    """
    Return (N.

    2) spots a spacing apart where the robot can stand and which it can reach from the start.
    """
    grid = layout_grid(layout, GRID_MAP_M)
    open_ = grid.free & (grid.obstacle_distance > robot.body.radius + 0.02)
    labels, _ = ndimage.label(open_)
    here = grid.lookup(labels, [layout.start[:2]], outside=0)[0]
    low, high = layout.floor.min(axis=0), layout.floor.max(axis=0)
    x, y = (np.arange(a + spacing_m / 2, b, spacing_m) for a, b in zip(low, high))
    spots = np.stack(np.meshgrid(x, y), axis=2).reshape(-1, 2)
    return spots[grid.lookup(labels == here, spots, outside=False)] if here else spots[:0]


def grid_trials(layout_name, spacing_m, seed):
    """
    Return the dicts of all spots of a layout, four headings each.

    The map is the layout's at 2.5 cm.
    """
    layout, robot = load_layout(layout_name), load_robot()
    sim = EmbeddedSim(layout, robot, seed=seed)
    relocalizer = Relocalizer(layout_grid(layout, GRID_MAP_M))
    results = []
    for x, y in grid_spots(layout, spacing_m, robot):
        for quarter in range(4):
            sim.teleport((x, y, quarter * math.pi / 2))
            answer = relocalizer.relocalize(sim.scan(), sim.base_from_scan)
            results.append(result(f'grid {layout.name}', answer, sim.truth().pose))
    return results


# -- real scans -----------------------------------------------------------------------------


def carmen_trials(path, every):
    """Return the dicts of a log: each ``every``-th scan asked on the map of the others."""
    scans, skipped = read_carmen(path)
    scans = spaced(scans)
    kind = f'log {Path(path).name.split(".")[0]}'
    mapped = [one for number, one in enumerate(scans) if number % every]
    relocalizer = Relocalizer(map_of(mapped))
    results = []
    for number, one in enumerate(scans[::every]):
        answer = relocalizer.relocalize(one.scan, np.eye(4))
        results.append(result(kind, answer, one.pose, seed=number * every, skipped_lines=skipped))
    return results


# -- all together ---------------------------------------------------------------------------


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
