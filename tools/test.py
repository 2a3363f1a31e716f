#!/usr/bin/env python3
"""
Run every test: each package's with ``colcon test``, and those of the tools; end with the sum.

    python tools/test.py [PACKAGE ...] [--tools] [--pytest-args ...]

With names, only those packages; with ``--tools``, the tools' own tests. One package after another:
most tests run several processes that talk over DDS, and two packages at a time on two cores make
them miss deadlines. ``--jobs`` is for machines with more.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
import contextlib
import json
import subprocess
import sys
import time

from test_summary import result_files, summarize
from workspace import BUILD, colcon_environment, locked, LOG, packages, ROOT

TOOLS = 'tools'
SECONDS_FILE = BUILD / '.test-seconds.json'
# Processes that talk over DDS on a machine that is doing something else may miss a deadline once.
# A test that fails three times has failed; pytest's summary in the log names the further tries.
MORE_TRIES = ['--reruns', '2', '-rR']


class Run:
    """One run of a number of packages' tests."""

    def __init__(self, names, pytest_args, jobs=1):
        self.names = names
        self.jobs = jobs
        self.pytest_args = pytest_args
        self.begin = time.monotonic()
        self.seconds = {}
        with contextlib.suppress(OSError, ValueError):
            self.seconds = json.loads(SECONDS_FILE.read_text())

    def say(self, text):
        """Print what is going on, and when."""
        print(f'test: [{time.monotonic() - self.begin:4.0f} s] {text}', flush=True)

    def command(self, name):
        """Return the command that tests one package, or the tools."""
        if name != TOOLS:
            command = [
                'colcon', '--log-base', str(LOG / 'test' / name), '--log-level', 'error', 'test',
                '--merge-install', '--base-paths', str(packages()[name]),
                '--build-base', str(BUILD), '--install-base', str(ROOT / 'install'),
                '--test-result-base', str(BUILD), '--return-code-on-test-failure',
                '--packages-select', name, '--event-handlers', 'status-', 'summary-']
            return [*command, '--pytest-args', *MORE_TRIES, *self.pytest_args]
        results = BUILD / TOOLS
        return [sys.executable, '-m', 'pytest', '--quiet', f'--junit-prefix={TOOLS}',
                f'--junit-xml={results / "pytest.xml"}',
                f'--override-ini=cache_dir={results / ".pytest_cache"}',
                *MORE_TRIES, *self.pytest_args, str(ROOT / TOOLS)]

    def test(self, name):
        """Test one package; return whether its runner ended well."""
        self.say(f'{name} ...')
        begin = time.monotonic()
        log = LOG / 'test' / f'{name}.txt'
        with open(log, 'w') as output:
            status = subprocess.run(
                self.command(name), cwd=ROOT, env=colcon_environment(), stdin=subprocess.DEVNULL,
                stdout=output, stderr=output).returncode
        self.seconds[name] = round(time.monotonic() - begin, 1)
        summary = summarize(BUILD, name)
        if status not in (0, 5) and not summary.failed:  # pytest's 5: no tests
            tail = log.read_text(errors='replace').splitlines()[-20:]
            summary.add_failure(name, '\n'.join(
                [f'its runner ended with {status} but names no failed test; see {log}', *tail]))
        self.say(f'{name}: {summary.counts()} in {self.seconds[name]:.0f} s')
        return summary

    def run(self):
        """Test everything; return the ``Summary``."""
        (LOG / 'test').mkdir(parents=True, exist_ok=True)
        (LOG / 'COLCON_IGNORE').touch()
        for stale in result_files(BUILD):
            stale.unlink()
        order = sorted(self.names, key=lambda name: -self.seconds.get(name, 1e9))
        with ThreadPoolExecutor(self.jobs) as pool:
            summaries = list(pool.map(self.test, order))
        SECONDS_FILE.write_text(json.dumps(self.seconds))
        return sum(summaries[1:], summaries[0])


def main():
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description='Run every test, and add up the results.')
    parser.add_argument('packages', nargs='*', help='only these packages (default: everything)')
    parser.add_argument('--tools', action='store_true', help="the tools' own tests")
    parser.add_argument('--jobs', type=int, default=1, help='packages at a time (default: 1)')
    parser.add_argument('--pytest-args', nargs=argparse.REMAINDER, default=[],
                        help='all that follows is for pytest, such as: -k NAME -x')
    arguments = parser.parse_args()
    unknown = set(arguments.packages) - set(packages())
    if unknown:
        parser.error(f'no such package: {" ".join(sorted(unknown))}')
    names = arguments.packages + [TOOLS] * arguments.tools or [*packages(), TOOLS]
    with locked('test'):
        summary = Run(names, arguments.pytest_args, max(1, arguments.jobs)).run()
    print(summary.report())
    return summary.status()


if __name__ == '__main__':
    sys.exit(main())
