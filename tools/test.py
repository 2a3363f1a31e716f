#!/usr/bin/env python3
"""
Run every test: each package's with ``colcon test``, and those of the tools; end with the sum.

    python tools/test.py [PACKAGE ...] [--tools] [--pytest-args ...]

With names, only those packages; with ``--tools``, the tools' own tests. Two lanes run side by
side: tests that start processes which talk over DDS, two packages at a time, and, with lower
priority, those that only compute. ``--lanes 1`` runs one after the other.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
import subprocess
import sys
import time

from test_summary import result_files, summarize, Summary
from workspace import BUILD, colcon_environment, locked, LOG, packages, ROOT

TOOLS = 'tools'
TOOL_FOLDERS = ('tools', 'docker')
# Processes that talk over DDS on a machine that is doing something else may miss a deadline once.
# A test that fails three times has failed; pytest's summary in the log names the further tries.
MORE_TRIES = ['--reruns', '2', '-rR']


@dataclass(frozen=True)
class Lane:
    """Some of the tests of every package, by pytest's mark expression; results go to a folder."""

    name: str
    marked: str
    results: Path
    nice: int
    jobs: int


# Processes that talk wait for each other most of the time, and must not wait for what computes.
LANES = Lane('graph', 'graph', BUILD / 'graph', 0, 2), Lane('plain', 'not graph', BUILD, 10, 1)


class Run:
    """One run of a number of packages' tests."""

    def __init__(self, names, pytest_args, lanes=2):
        self.names = names
        self.lanes = lanes
        self.pytest_args = pytest_args
        self.begin = time.monotonic()

    def say(self, text):
        """Print what is going on, and when."""
        print(f'test: [{time.monotonic() - self.begin:4.0f} s] {text}', flush=True)

    def command(self, name, lane):
        """Return the command that tests one package, or the tools."""
        pytest_args = ['-m', lane.marked, *MORE_TRIES, *self.pytest_args]
        if name != TOOLS:
            return [
                'colcon', '--log-base', str(LOG / 'test' / lane.name / name),
                '--log-level', 'error', 'test',
                '--merge-install', '--base-paths', str(packages()[name]),
                '--build-base', str(BUILD), '--install-base', str(ROOT / 'install'),
                '--test-result-base', str(lane.results), '--return-code-on-test-failure',
                '--packages-select', name, '--event-handlers', 'status-', 'summary-',
                '--pytest-args', *pytest_args]
        results = lane.results / TOOLS
        return [sys.executable, '-m', 'pytest', '--quiet', f'--junit-prefix={TOOLS}',
                f'--junit-xml={results / "pytest.xml"}',
                f'--override-ini=cache_dir={results / ".pytest_cache"}',
                *pytest_args, *(str(ROOT / folder) for folder in TOOL_FOLDERS)]

    def test(self, name, lane):
        """Test one package; return the ``Summary`` of what its runner left."""
        begin = time.monotonic()
        log = LOG / 'test' / lane.name / f'{name}.txt'
        with open(log, 'w') as output:
            status = subprocess.run(
                ['nice', f'-n{lane.nice}', *self.command(name, lane)], cwd=ROOT,
                env=colcon_environment(), stdin=subprocess.DEVNULL, stdout=output,
                stderr=output).returncode
        summary = summarize(lane.results, name)
        if status not in (0, 5) and not summary.failed:  # pytest's 5: no tests
            tail = log.read_text(errors='replace').splitlines()[-20:]
            summary.add_failure(name, '\n'.join(
                [f'its runner ended with {status} but names no failed test; see {log}', *tail]))
        self.say(f'{name} ({lane.name}): {summary.counts()} '
                 f'in {time.monotonic() - begin:.0f} s')
        return summary

    def test_lane(self, lane):
        """Test the packages, those with the most tests first; return the ``Summary``."""
        (LOG / 'test' / lane.name).mkdir(parents=True, exist_ok=True)
        lane.results.mkdir(parents=True, exist_ok=True)
        for stale in result_files(lane.results):
            stale.unlink()
        # What is no Python package has one lane: CTest knows no marks.
        names = [name for name in self.names if lane is LANES[-1] or name == TOOLS
                 or (packages()[name] / 'setup.py').exists()]
        names.sort(key=lambda name: -len(list((ROOT / name).glob('test/test_*.py'))))
        with ThreadPoolExecutor(lane.jobs if self.lanes > 1 else 1) as pool:
            return sum(pool.map(lambda name: self.test(name, lane), names), Summary())

    def run(self):
        """Test everything; return the ``Summary``."""
        LOG.mkdir(exist_ok=True)
        (LOG / 'COLCON_IGNORE').touch()
        self.say(f'{" ".join(self.names)} ...')
        with ThreadPoolExecutor(self.lanes) as pool:
            return sum(pool.map(self.test_lane, LANES), Summary())


def main():
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description='Run every test, and add up the results.')
    parser.add_argument('packages', nargs='*', help='only these packages (default: everything)')
    parser.add_argument('--tools', action='store_true', help="the tools' own tests")
    parser.add_argument('--lanes', type=int, choices=(1, 2), default=2, help='how many at a time')
    parser.add_argument('--pytest-args', nargs=argparse.REMAINDER, default=[],
                        help='all that follows is for pytest, such as: -k NAME -x')
    arguments = parser.parse_args()
    unknown = set(arguments.packages) - set(packages())
    if unknown:
        parser.error(f'no such package: {" ".join(sorted(unknown))}')
    names = arguments.packages + [TOOLS] * arguments.tools or [*packages(), TOOLS]
    with locked('test'):
        summary = Run(names, arguments.pytest_args, arguments.lanes).run()
    print(summary.report())
    return summary.status()


if __name__ == '__main__':
    sys.exit(main())
