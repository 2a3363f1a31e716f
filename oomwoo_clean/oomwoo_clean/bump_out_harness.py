"""
Measure the bump-out offline: ``python3 -m oomwoo_clean.bump_out_harness --layout living_room``.

The real bump-out, bump map and everyday localizer, on bumpers, wheel odometry, scans and physics
of the embedded simulator; start and seed vary. How much of the walls was touched or passed comes
from the simulator's truth, which none of them sees. Prints a table; exits with 1 when a stated
bound is missed, with 2 for input it cannot use.
"""
import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
import json
import math
from pathlib import Path
import sys

import numpy as np
from oomwoo_clean.bump_out_settings import BumpOutSettings
from oomwoo_clean.bump_out_trial import run_trial, SEGMENT_DEG, SEGMENT_M, STUCK_S, Trial
from oomwoo_clean.wall_meter import PASSED_M
from oomwoo_sim_support.layout import load_layout

LEAST_PASSED, LEAST_GOOD = 0.9, 0.9
# title, key, format, factor
COLUMNS = (
    ('layout', 'layout', '{:<18}', 1), ('seed', 'seed', '{:>4}', 1),
    ('walls m', 'wall_m', '{:>7.1f}', 1), ('passed %', 'wall_passed', '{:>8.1f}', 100),
    ('furniture m', 'furniture_m', '{:>11.1f}', 1),
    ('passed %', 'furniture_passed', '{:>8.1f}', 100),
    ('soft m', 'soft_m', '{:>6.1f}', 1), ('through %', 'soft_pushed', '{:>9.0f}', 100),
    ('touches', 'bumps', '{:>7}', 1), ('driven m', 'driven_m', '{:>8.1f}', 1),
    ('stood s', 'longest_stand_s', '{:>7.1f}', 1), ('segments m', 'segments_m', '{:>10.1f}', 1),
    ('right %', 'segments_good', '{:>7.1f}', 100),
    ('localizer mm', 'localizer_worst_m', '{:>12.0f}', 1e3),
    ('sim s', 'sim_s', '{:>6.0f}', 1), ('wall s', 'wall_s', '{:>6.0f}', 1))


def judge(result):
    """Return the bounds that a result misses, in words; empty when it kept them all."""
    failed = []
    if not result['wall_passed'] >= LEAST_PASSED:
        failed.append(f'{100 * result["wall_passed"]:.1f} % of the walls passed')
    if result['segments_m'] > 0.0 and not result['segments_good'] >= LEAST_GOOD:
        failed.append(f'{100 * result["segments_good"]:.0f} % of the segments right')
    if result['longest_stand_s'] > STUCK_S:
        failed.append(f'stood for {result["longest_stand_s"]:.0f} s')
    return failed


def print_rows(results):
    """Print a line a trial as they come in; return the list of them."""
    titles = [title.ljust(len(form.format(0))) if '<' in form else
              title.rjust(len(form.format(0))) for title, _, form, _ in COLUMNS]
    print('  '.join([*titles, 'kept']), flush=True)
    done = []
    for result in results:
        cells = [form.format(result[key] * factor if factor != 1 else result[key])
                 for _, key, form, factor in COLUMNS]
        print('  '.join([*cells, 'yes' if result['passed'] else 'NO']), flush=True)
        done.append(result)
    return done


def print_bounds(results):
    """Print what was missed, and what is asked."""
    for result in results:
        if result['failed']:
            print(f'{result["layout"]}, seed {result["seed"]}: {"; ".join(result["failed"])}')
    print(f'asked: at least {100 * LEAST_PASSED:.0f} % of the walls that the body can touch '
          f'within {100 * PASSED_M:.0f} cm of the shell; segments of the bump map within '
          f'{100 * SEGMENT_M:.0f} cm and {SEGMENT_DEG:g} degrees of a true surface for at least '
          f'{100 * LEAST_GOOD:.0f} % of their length; never within 5 cm of one place for more '
          f'than {STUCK_S:.0f} s')


def summarise(results):
    """Return per layout the runs, those that kept all bounds, and medians and worst values."""
    summary = {'passed': all(r['passed'] for r in results), 'layouts': {}}
    for name in dict.fromkeys(r['layout'] for r in results):
        of = [r for r in results if r['layout'] == name]
        summary['layouts'][name] = {
            'runs': len(of), 'kept': sum(r['passed'] for r in of),
            'wall_m': float(np.median([r['wall_m'] for r in of])),
            'longest_stand_s': max(r['longest_stand_s'] for r in of),
            **{f'{word}_{key}': float(take([r[key] for r in of]))
               for key in ('wall_passed', 'furniture_passed', 'segments_good')
               for word, take in (('median', np.nanmedian), ('least', np.nanmin))
               if not all(math.isnan(r[key]) for r in of)}}
    return summary


def parse(arguments=None):
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog='bump_out_harness', description=__doc__.split('\n\n')[0])
    add = parser.add_argument
    add('--layout', action='append', metavar='NAME', help='a layout file or name, may be repeated '
        '(default: living_room)')
    add('--minutes', type=float, default=5.0, help='simulated time of each trial (default: 5)')
    add('--start', type=float, nargs=3, metavar=('X', 'Y', 'YAW_DEG'),
        help='start pose, degrees (default: another one for each seed)')
    add('--seed', type=int, default=0, help='first seed')
    add('--seeds', type=int, default=1, help='how many seeds')
    add('--no-map', action='store_true', help='no localizer and no bump map: much faster')
    add('--jobs', type=int, default=1, help='processes')
    add('--json', type=Path, metavar='FILE', help='write results as JSON')
    add('--picture', type=Path, metavar='FILE|DIR',
        help='draw walls touched and untouched and the segments of the bump map')
    options = parser.parse_args(arguments)
    if not options.minutes > 0 or options.seeds < 1 or options.jobs < 1:
        parser.error('--minutes, --seeds and --jobs must be above zero')
    return options


def plan_trials(options):
    """Return the list of :class:`Trial` that the command line asks for."""
    start = None
    if options.start:
        start = (options.start[0], options.start[1], math.radians(options.start[2]))
    return [
        Trial(layout, 60.0 * options.minutes, options.seed + k, start, not options.no_map)
        for layout in map(load_layout, options.layout or ['living_room'])
        for k in range(options.seeds)]


def _run(job):
    trial, picture = job
    result, run = run_trial(trial)
    result['failed'] = judge(result)
    result['passed'] = not result['failed']
    if picture is not None:
        from oomwoo_clean.bump_out_picture import draw_run
        draw_run(trial.layout, run, result, picture)
    return result


def _jobs(trials, picture):
    if picture is None:
        return [(trial, None) for trial in trials]
    if picture.suffix and len(trials) == 1:
        picture.parent.mkdir(parents=True, exist_ok=True)
        return [(trials[0], picture)]
    picture.mkdir(parents=True, exist_ok=True)
    return [(t, picture / f'{t.layout.name}_s{t.seed}.png') for t in trials]


def main(arguments=None):
    """Run what the command line asks for and return the exit status."""
    options = parse(arguments)
    try:
        jobs = _jobs(plan_trials(options), options.picture)
        if options.json:                                # now, and not after all the trials
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.open('a').close()
        if options.jobs == 1:
            results = print_rows(map(_run, jobs))
        else:
            with ProcessPoolExecutor(options.jobs) as pool:
                results = print_rows(pool.map(_run, jobs))
    except (ValueError, OSError) as error:       # layout, start, setting or file that is no good
        print(f'error: {error}', file=sys.stderr)
        return 2
    print_bounds(results)
    summary = summarise(results)
    if options.json:
        summary['settings'] = asdict(BumpOutSettings())
        options.json.write_text(json.dumps({'trials': results, 'summary': summary}, indent=1))
    return 0 if summary['passed'] else 1


if __name__ == '__main__':
    sys.exit(main())
