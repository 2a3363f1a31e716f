#!/usr/bin/env python3
"""
Run every test: each package's with ``colcon test``, then those of the tools; end with the sum.

    python tools/test.py [PACKAGE ...] [--tools] [--pytest-args ...]

With names, only those packages; ``--tools`` alone, only the tools' own tests.
"""

import argparse
import os
import subprocess
import sys
import time

from test_summary import result_files, summarize
from workspace import BUILD, colcon_environment, locked, packages, ROOT

TOOLS_RESULT = BUILD / 'tools' / 'pytest.xml'


def heading(text, begin):
    """Print what is going on, and how long it took to get there."""
    print(f'test: [{time.monotonic() - begin:4.0f} s] {text}', flush=True)


def test_packages(names, pytest_args):
    """Run ``colcon test`` over the packages; return its exit status."""
    command = [
        'colcon', '--log-level', 'error', 'test', '--merge-install',
        '--executor', 'parallel', '--parallel-workers', str(os.cpu_count() or 2),
        '--base-paths', *(str(folder) for folder in packages().values()),
        '--return-code-on-test-failure',
        # One line as each package starts and ends; the failures come with the sum.
        '--event-handlers', 'status-', 'summary-', 'console_stderr-',
        '--packages-select', *names]
    if pytest_args:
        command += ['--pytest-args', *pytest_args]
    return subprocess.run(command, cwd=ROOT, env=colcon_environment(),
                          stdin=subprocess.DEVNULL).returncode


def test_tools(pytest_args):
    """Run the tools' own tests; return pytest's exit status."""
    TOOLS_RESULT.parent.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [sys.executable, '-m', 'pytest', '--quiet', '--no-header', '--no-summary',
         '--override-ini=cache_dir=' + str(TOOLS_RESULT.parent / '.pytest_cache'),
         f'--junit-xml={TOOLS_RESULT}', '--junit-prefix=tools', *pytest_args, 'tools'],
        cwd=ROOT, stdin=subprocess.DEVNULL).returncode


def main():
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description='Run every test, and add up the results.')
    parser.add_argument('packages', nargs='*', help='only these packages (default: all, and tools)')
    parser.add_argument('--tools', action='store_true', help="the tools' own tests")
    parser.add_argument('--pytest-args', nargs=argparse.REMAINDER, default=[],
                        help='all that follows is for pytest, such as: -k NAME -x')
    arguments = parser.parse_args()
    everything = not arguments.packages and not arguments.tools
    names = arguments.packages or (list(packages()) if everything else [])
    unknown = set(names) - set(packages())
    if unknown:
        parser.error(f'no such package: {" ".join(sorted(unknown))}')

    begin = time.monotonic()
    statuses = []
    with locked('test'):
        for stale in result_files(BUILD):
            stale.unlink()
        if names:
            heading(f'colcon test: {" ".join(names)}', begin)
            statuses.append(test_packages(names, arguments.pytest_args))
        if everything or arguments.tools:
            heading('tools', begin)
            statuses.append(test_tools(arguments.pytest_args))
        heading('done', begin)
        summary = summarize(BUILD)
    if any(statuses) and not summary.failed:
        summary.add_failure('test run', 'a test runner failed without a failed test: '
                            f'exit statuses {statuses}; see log/latest_test')
    print(summary.report())
    return summary.status()


if __name__ == '__main__':
    sys.exit(main())
