#!/usr/bin/env python3
"""
Run the harnesses that docs/measured.md quotes: their tables here, their JSON in out/bench.

    python tools/bench.py [NAME ...]
"""

import argparse
import importlib.util
import subprocess
import sys
import time

from workspace import ROOT

HARNESSES = {
    'contour': ['oomwoo_clean.contour_harness'],
    'edge': ['oomwoo_clean.edge_harness'],
    'dock_detector': ['oomwoo_clean.dock_detector_harness'],
    'dock': ['oomwoo_clean.dock_harness', '--spots', '--conditions', '--grid'],
    'localizer': ['oomwoo_sim_support.localizer_harness'],
    'reloc': ['oomwoo_sim_support.reloc_harness', '--grid'],
    'recovery': ['oomwoo_sim_support.recovery_harness'],
}


def main():
    """Run from the command line; return the exit status: how many harnesses missed a bound."""
    parser = argparse.ArgumentParser(description='Run the harnesses that docs/measured.md quotes.')
    parser.add_argument('names', nargs='*', metavar='NAME', help=f'of {", ".join(HARNESSES)}')
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(HARNESSES)
    if unknown:
        parser.error(f'no such harness: {" ".join(sorted(unknown))}')
    results = ROOT / 'out' / 'bench'
    results.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in arguments.names or HARNESSES:
        module, *options = HARNESSES[name]
        if importlib.util.find_spec(module) is None:
            print(f'bench: {name}: no {module} yet', flush=True)
            continue
        print(f'bench: {name} ...', flush=True)
        begin = time.monotonic()
        status = subprocess.run([sys.executable, '-m', module, *options,
                                 '--json', str(results / f'{name}.json')]).returncode
        failed += status != 0
        print(f'bench: {name}: {"within" if status == 0 else "NOT within"} its bounds, '
              f'{time.monotonic() - begin:.0f} s', flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())
