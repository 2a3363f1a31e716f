#!/usr/bin/env python3
"""
Check the style of all Python files: ruff, then flake8 and pep257 as ROS has them.

    python tools/lint.py [--fix] [PATH ...]
"""

import argparse
import importlib.util
import os
from pathlib import Path
import subprocess
import sys

from workspace import ROOT

# What ament_pep257 leaves out of its convention.
PEP257_IGNORED = 'D100,D101,D102,D103,D104,D105,D106,D107,D203,D212,D404'


def python_files(paths):
    """Return the Python files below the paths that git tracks, or would track."""
    listed = subprocess.run(
        ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', *paths],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted({name for name in listed.split('\0')
                   if name.endswith('.py') and (ROOT / name).is_file()})


def flake8_config():
    """Return the settings that flake8 runs with: ament's own, where that package is there."""
    found = importlib.util.find_spec('ament_flake8')
    if found is None:
        return ROOT / '.flake8'
    return Path(found.submodule_search_locations[0]) / 'configuration' / 'ament_flake8.ini'


def main():
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description='Check the style of all Python files.')
    parser.add_argument('--fix', action='store_true', help='let ruff repair what it can')
    parser.add_argument('paths', nargs='*', default=['.'], help='only below these')
    arguments = parser.parse_args()
    files = python_files(arguments.paths)
    fix = ['--fix'] if arguments.fix else []
    commands = {
        'ruff': ['ruff', 'check', '--quiet', '--output-format', 'concise', *fix, *files],
        'flake8': ['flake8', '--config', str(flake8_config()), '--no-show-source',
                   '--jobs', str(os.cpu_count() or 1), *files],
        'pep257': ['pydocstyle', '--match', '.*', '--ignore', PEP257_IGNORED, *files],
    }
    failed = []
    for name, command in commands.items():
        if subprocess.run(command, cwd=ROOT).returncode:
            failed.append(name)
    print(f'lint: {len(files)} files, ' + (f'{" and ".join(failed)} complained' if failed
                                           else 'all clean'))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
