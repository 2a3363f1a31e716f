"""
Measure the escape reflexes in traps, offline: ``python3 -m oomwoo_clean.trap_harness``.

A driver that only pushes on is led into twenty traps (chair forests, U-pockets, cable bridges,
dead-end slots) in the embedded simulator. Prints a table; exits with 1 when fewer than 18 are got
out of, or one of the rest is not said to be STUCK within 60 s; with 2 for input it cannot use.
"""
import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
import json
import math
from pathlib import Path
import sys

from oomwoo_clean.reflex_settings import ReflexSettings
from oomwoo_clean.trap_layouts import KINDS, trap, traps
from oomwoo_clean.trap_trial import run_trap

ESCAPED_OF_20 = 18
STUCK_WITHIN_S = 60.0


def summarise(results):
    """Return what the table's last line and the exit status say."""
    escaped = sum(r.outcome == 'ESCAPED' for r in results)
    late = [r.name for r in results if r.outcome != 'ESCAPED' and not (
        r.outcome == 'STUCK' and r.truthful and r.stuck_after_s <= STUCK_WITHIN_S)]
    needed = math.ceil(len(results) * ESCAPED_OF_20 / 20)
    return {
        'traps': len(results), 'escaped': escaped, 'needed': needed, 'not_said': late,
        'by_kind': {kind: [sum(r.outcome == 'ESCAPED' for r in results if r.kind == kind),
                           sum(r.kind == kind for r in results)] for kind in KINDS},
        'passed': escaped >= needed and not late}


def print_table(results, summary, verbose=False):
    """Print one line a trap, and the sum."""
    print(f'{"trap":<14} {"outcome":<8} {"out s":>6} {"STUCK after s":>13} {"sim s":>6} '
          f'{"wall s":>6}  reflexes')
    for r in results:
        fired = ', '.join(f'{count} {reason}' for reason, count in r.fired.items()) or '-'
        print(f'{r.name:<14} {r.outcome:<8} {_seconds(r.out_s):>6} '
              f'{_seconds(r.stuck_after_s):>13} {r.sim_s:>6.1f} {r.wall_s:>6.1f}  {fired}')
        if verbose:
            for when, state, reason, evidence in r.events:
                print(f'    {when:7.2f} {state:<10} {reason:<13} {evidence}')
    kinds = ', '.join(f'{kind} {got} of {of}' for kind, (got, of) in summary['by_kind'].items()
                      if of)
    print(f'escaped {summary["escaped"]} of {summary["traps"]} ({kinds}); '
          f'{summary["needed"]} asked for')
    if summary['not_said']:
        print(f'neither out nor STUCK within {STUCK_WITHIN_S:g} s: '
              f'{", ".join(summary["not_said"])}')


def _seconds(value):
    return '-' if math.isnan(value) else f'{value:.1f}'


def parse(arguments=None):
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog='trap_harness', description=__doc__.split('\n\n')[0].strip())
    add = parser.add_argument
    add('--seed', type=int, default=0, help='of the traps and of all noise')
    add('--each', type=int, default=5, metavar='N', help='traps of each kind (default: 5)')
    add('--trap', nargs=2, metavar=('KIND', 'SEED'), help='a single one')
    add('--seconds', type=float, default=180.0, help='simulated time at most (default: 180)')
    add('--no-reflex', action='store_true', help='the driver alone, for comparison')
    add('--verbose', action='store_true', help='with what the reflexes said')
    add('--jobs', type=int, default=1, help='processes')
    add('--json', type=Path, metavar='FILE', help='write results as JSON')
    options = parser.parse_args(arguments)
    if options.each < 1 or options.jobs < 1 or not options.seconds > 0:
        parser.error('--each, --jobs and --seconds must be above zero')
    return options


def main(arguments=None):
    """Run what the command line asks for and return the exit status."""
    options = parse(arguments)
    try:
        worlds = [trap(options.trap[0], int(options.trap[1]))] if options.trap else (
            traps(options.seed, options.each))
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.open('a').close()
        run = partial(run_trap, limit_s=options.seconds, seed=options.seed,
                      reflex=not options.no_reflex)
        if options.jobs == 1:
            results = [run(world) for world in worlds]
        else:
            with ProcessPoolExecutor(options.jobs) as pool:
                results = list(pool.map(run, worlds))
    except (ValueError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 2
    summary = summarise(results)
    print_table(results, summary, options.verbose)
    if options.json:
        options.json.write_text(json.dumps({
            'trials': [asdict(r) for r in results],
            'summary': {**summary, 'settings': asdict(ReflexSettings())}}, indent=1))
    return 0 if summary['passed'] else 1


if __name__ == '__main__':
    sys.exit(main())
