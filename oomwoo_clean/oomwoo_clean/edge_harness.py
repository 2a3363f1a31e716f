"""
Clean every edge of a layout offline and print the result: ``-m oomwoo_clean.edge_harness``.

Exit status 0 when every trial keeps its bounds, 1 when not, 2 when the arguments cannot be used.
"""
import argparse
from concurrent.futures import as_completed, ProcessPoolExecutor
from dataclasses import dataclass
import json
import math
import multiprocessing
import os
from pathlib import Path
import sys
import time

import numpy as np
from oomwoo_clean.edge_reach import (
    low_elements,
    low_outline_m,
    reachable_edge,
    SWEPT_MARGIN_M,
)
from oomwoo_clean.edge_rehearsal import AMCL_MEAN_ERROR_M, rehearse_job
from oomwoo_clean.edge_report import draw_picture, report_dict
from oomwoo_localization.floor import reachable_floor
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.sim_settings import SimSettings

# The layouts that the figures were set for, of about 44 m of edge each; elsewhere as much for each
# metre of edge.
COURSES = ('contour_torture', 'living_room')
COURSE_EDGES_M, COURSE_ROBOT_S, COURSE_DRIVEN_M = 44.0, 526.0, 56.4
START_CLEARANCE_M = 0.05
TOUCH_EVERY_M = 0.15
TRACED_DRIVEN = 2.0           # more metres for each that is traced by touch: back and forth


@dataclass(frozen=True)
class Trial:
    """One job to rehearse; ``start`` is (x, y, yaw)."""

    number: int
    layout: str
    start: tuple
    seed: int
    range_noise_m: float
    mean_error_m: float
    picture: str
    verbose: bool


def parse_arguments(argv=None):
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(
        prog='python3 -m oomwoo_clean.edge_harness',
        description='Clean every edge of a layout offline.',
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument(
        '--layout', default=COURSES[0], help='a layout of the suite, or a layout file')
    parser.add_argument(
        '--start', type=float, nargs=3, metavar=('X', 'Y', 'YAW'), help='one start [m, m, rad]')
    parser.add_argument(
        '--starts', type=int, default=1, help="trials: the layout's own start, then random ones")
    parser.add_argument('--seed', type=int, default=0, help='of starts and of all simulated noise')
    parser.add_argument('--jobs', type=int, default=1, help='processes')
    parser.add_argument(
        '--noise', type=float, default=-1.0,
        help='range noise, one sigma [m]; negative: robot.yaml')
    parser.add_argument(
        '--pose-noise', type=float, nargs='?', const=AMCL_MEAN_ERROR_M, default=0.0, metavar='M',
        help='mean error of the localizer [m]; without a value that of AMCL; without the option '
        'the true pose')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the results there')
    parser.add_argument(
        '--picture', type=Path, metavar='FILE',
        help='draw each trial there (-2, -3 .. from the second)')
    parser.add_argument('--min-swept', type=float, default=99.5, help='bound: swept [%%]')
    parser.add_argument(
        '--max-written-off', type=float, default=0.1, help='bound: written off [m]')
    parser.add_argument(
        '--max-contacts', type=int, help='bound: contacts a trial; default one for every '
        f'{TOUCH_EVERY_M * 100:.0f} cm of outline under the scan plane')
    parser.add_argument(
        '--min-true', type=float, default=99.5,
        help='bound: swept of the true edge within reach [%%]')
    parser.add_argument(
        '--max-time', type=float, help='bound: robot time [s]; default by metres of edge')
    parser.add_argument(
        '--max-driven', type=float, help='bound: driven [m]; default by metres of edge')
    parser.add_argument('--verbose', action='store_true', help='print what happens on the way')
    options = parser.parse_args(argv)
    if options.starts < 1 or options.jobs < 1 or not 0.0 <= options.pose_noise < math.inf:
        parser.error('--starts and --jobs must be above zero, --pose-noise not below')
    return options


def random_starts(layout, grid, count, seed):
    """Return ``count`` random poses (x, y, yaw) on the floor connected with the layout's start."""
    clearance = load_robot().body.radius + START_CLEARANCE_M
    floor = reachable_floor(grid, layout.start, clearance)
    random = np.random.default_rng(seed)
    cells = np.argwhere(floor)
    points = grid.cells_to_points(cells[random.integers(len(cells), size=count)])
    yaws = random.uniform(-np.pi, np.pi, count)
    return [(float(x), float(y), float(yaw)) for (x, y), yaw in zip(points, yaws)]


def run_trial(trial):
    """Rehearse one :class:`Trial`; returns its figures as a dict."""
    layout = load_layout(trial.layout)
    grid = layout_grid(layout)
    result = rehearse_job(
        layout, grid, trial.start, trial.seed, SimSettings(range_noise_std=trial.range_noise_m),
        trial.mean_error_m)
    if trial.picture:
        draw_picture(result.run, trial.picture, f'Edge cleaning: {layout.name}')
    if trial.verbose:
        for at_s, state, event in result.events:
            print(f'  {at_s:7.1f} s  {state:<8} {event}', file=sys.stderr)
    report = report_dict(result.run)
    robot = load_robot()
    edge = reachable_edge(layout, robot, trial.start)
    reach_m = robot.edge_cleaning.standoff + SWEPT_MARGIN_M
    low = edge.of(*low_elements(layout, robot))
    return report | {
        'true_edge_m': round(edge.length_m, 2),
        'true_swept_pct': round(edge.swept_pct(result.truth[:, :2], reach_m), 3),
        'low_edge_m': round(low.length_m, 2),
        'low_outline_m': round(low_outline_m(layout, robot), 2),
        'low_swept_pct': round(low.swept_pct(result.truth[:, :2], reach_m), 3),
        'layout': layout.name, 'trial': trial.number, 'start': [round(v, 3) for v in trial.start],
        'seed': trial.seed, 'contacts': result.contacts, 'rear_contacts': result.rear_contacts,
        'min_clearance_m': round(result.min_clearance_m, 4), 'wall_s': round(result.wall_s, 2),
        'touches': result.touches}


def misses(figures, options):
    """Return the bounds that a trial misses, as short sentences."""
    share = 1.0 if figures['layout'] in COURSES else figures['edges_m'] / COURSE_EDGES_M
    most_s = COURSE_ROBOT_S * share if options.max_time is None else options.max_time
    most_m = COURSE_DRIVEN_M * share + TRACED_DRIVEN * figures['low_outline_m']
    if options.max_driven is not None:
        most_m = options.max_driven
    contacts = options.max_contacts
    if contacts is None:
        contacts = int(figures['low_outline_m'] / TOUCH_EVERY_M)
    checks = (
        (figures['outcome'] == 'DONE', f'ended {figures["outcome"]}: {figures["reason"]}'),
        (figures['swept_pct'] >= options.min_swept,
         f'swept {figures["swept_pct"]:.2f} % < {options.min_swept} %'),
        (figures['written_off_m'] <= options.max_written_off,
         f'written off {figures["written_off_m"]:.2f} m > {options.max_written_off} m'),
        (figures['true_swept_pct'] >= options.min_true,
         f'swept {figures["true_swept_pct"]:.2f} % of the true edge < {options.min_true} %'),
        (figures['contacts'] <= contacts, f'{figures["contacts"]} contacts'),
        (figures['sim_s'] <= most_s, f'took {figures["sim_s"]:.0f} s > {most_s:.0f} s'),
        (figures['driven_m'] <= most_m, f'drove {figures["driven_m"]:.1f} m > {most_m:.1f} m'))
    return [text for kept, text in checks if not kept]


HEAD = (
    'trial', 'start', 'edges', 'swept', 'off', 'true', 'contacts', 'driven', 'segs', 'robot',
    'wall', 'outcome')


def table_row(figures):
    """Return one line of the table."""
    x, y, yaw = figures['start']
    return (f'{figures["trial"]:>5}  {x:6.2f} {y:6.2f} {yaw:5.2f}  {figures["edges_m"]:5.1f}m '
            f'{figures["swept_pct"]:6.2f}% {figures["written_off_m"]:5.2f}m '
            f'{figures["true_swept_pct"]:6.2f}% '
            f'{figures["contacts"]:>4} '
            f'{figures["driven_m"]:7.1f}m {figures["segments"]:>4} {figures["sim_s"]:6.0f}s '
            f'{figures["wall_s"]:5.1f}s  {figures["outcome"]}')


def plan_trials(options):
    """Return the list of :class:`Trial` that the options ask for."""
    layout = load_layout(options.layout)
    if options.start:
        starts = [tuple(options.start)] * max(1, options.starts)
    else:
        more = random_starts(layout, layout_grid(layout), max(0, options.starts - 1), options.seed)
        starts = [tuple(map(float, layout.start)), *more]
    trials = []
    for number, start in enumerate(starts, 1):
        picture = options.picture
        if picture and number > 1:
            picture = picture.with_name(f'{picture.stem}-{number}{picture.suffix}')
        trials.append(Trial(
            number, str(options.layout), start, options.seed + number - 1, options.noise,
            options.pose_noise, str(picture or ''), options.verbose))
    return trials


def run_all(trials, jobs):
    """Yield the figures of all trials as they end."""
    if jobs <= 1 or len(trials) == 1:
        yield from map(run_trial, trials)
        return
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    with ProcessPoolExecutor(jobs, multiprocessing.get_context('spawn')) as pool:
        for future in as_completed([pool.submit(run_trial, trial) for trial in trials]):
            yield future.result()


def main(argv=None):
    """Run the trials, print the table, return the exit status."""
    options = parse_arguments(argv)
    try:
        trials = plan_trials(options)
        for path in filter(None, (options.json, options.picture)):
            path.parent.mkdir(parents=True, exist_ok=True)
        if options.json:
            options.json.open('a').close()              # now, and not after ten trials
        return _measure(trials, options)
    except (ValueError, OSError) as error:       # layout, start, setting or file that is no good
        print(f'error: {error}', file=sys.stderr)
        return 2


def _measure(trials, options):
    began = time.perf_counter()
    print(f'{options.layout}: {len(trials)} trials\n{" ".join(f"{name:>8}" for name in HEAD)}')
    results = []
    for figures in run_all(trials, options.jobs):
        figures['missed'] = misses(figures, options)
        results.append(figures)
        missed = f'  MISSED: {"; ".join(figures["missed"])}' if figures['missed'] else ''
        print(table_row(figures) + missed, flush=True)
    results.sort(key=lambda figures: figures['trial'])
    summary = summarise(results, time.perf_counter() - began)
    print(f'{summary["kept"]} of {len(results)} trials keep all bounds; worst: '
          f'swept {summary["swept_pct_min"]:.2f} %, '
          f'of the true edge within reach {summary["true_swept_pct_min"]:.2f} % '
          f'(under the scan plane {summary["low_swept_pct_min"]:.2f} %), '
          f'written off {summary["written_off_m_max"]:.2f} m, '
          f'contacts {summary["contacts_max"]}, {summary["sim_s_max"]:.0f} s, '
          f'{summary["driven_m_max"]:.1f} m driven, '
          f'{summary["wall_s_max"]:.1f} s of wall time a trial')
    if len(results) == 1:
        print(results[0]['report'])
    if options.json:
        text = json.dumps({'trials': results, 'summary': summary}, indent=1)
        options.json.write_text(text + '\n')
    return 0 if summary['kept'] == len(results) else 1


def summarise(results, wall_s):
    """Return the worst of every figure over all trials."""
    def over(key, choose):
        return choose(figures[key] for figures in results)
    return {
        'trials': len(results), 'kept': sum(not figures['missed'] for figures in results),
        'swept_pct_min': over('swept_pct', min),
        'true_swept_pct_min': over('true_swept_pct', min),
        'low_swept_pct_min': over('low_swept_pct', min),
        'written_off_m_max': over('written_off_m', max),
        'contacts_max': over('contacts', max), 'contacts_sum': over('contacts', sum),
        'driven_m_max': over('driven_m', max), 'sim_s_max': over('sim_s', max),
        'wall_s_max': over('wall_s', max), 'wall_s': round(wall_s, 2)}


if __name__ == '__main__':
    sys.exit(main())
