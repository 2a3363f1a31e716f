#!/usr/bin/env python3
"""
Add up the JUnit results below folders: each failed test with its message, then one closing line.

    python tools/test_summary.py [FOLDER ...]

The closing line is ``N passed, N failed, N skipped``. A result file that cannot be read, or that a
test run left before it ended, counts as a failure. The exit status is 0 when nothing failed and at
least one test ran.
"""

from dataclasses import dataclass, field
from pathlib import Path
import sys
import xml.etree.ElementTree as ElementTree

MESSAGE_LINES = 30


@dataclass
class Summary:
    """What a number of test runs came to."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)  # (name, message) of each failed test

    def add_failure(self, name, message):
        """Count one failure."""
        self.failed += 1
        self.failures.append((name, message.strip()))

    def add_file(self, path):
        """Count the tests of one JUnit file; other XML files are passed over."""
        try:
            root = ElementTree.parse(path).getroot()
        except (ElementTree.ParseError, OSError) as error:
            self.add_failure(str(path), f'the result file cannot be read: {error}')
            return
        if root.tag not in ('testsuite', 'testsuites'):
            return
        for case in root.iter('testcase'):
            name = '.'.join(filter(None, (case.get('classname'), case.get('name'))))
            problem = next((child for child in case if child.tag in ('failure', 'error')), None)
            if problem is not None:
                self.add_failure(name, problem.text or problem.get('message') or '')
            elif case.find('skipped') is not None or case.get('status') == 'notrun':
                self.skipped += 1
            else:
                self.passed += 1

    def __add__(self, other):
        return Summary(self.passed + other.passed, self.failed + other.failed,
                       self.skipped + other.skipped, self.failures + other.failures)

    def counts(self):
        """Return the closing line."""
        return f'{self.passed} passed, {self.failed} failed, {self.skipped} skipped'

    def report(self):
        """Return the failures in full and the closing line."""
        lines = []
        for name, message in self.failures:
            text = message.splitlines()
            if len(text) > MESSAGE_LINES:
                text = [f'... {len(text) - MESSAGE_LINES} lines more', *text[-MESSAGE_LINES:]]
            lines += [f'FAILED {name}', *(f'    {line}' for line in text), '']
        return '\n'.join([*lines, self.counts()])

    def status(self):
        """Return the exit status of a run with this result."""
        return 0 if self.passed and not self.failed else 1


def result_files(folder, package='*'):
    """Return the JUnit files that pytest and CTest left below a build folder."""
    return sorted([*Path(folder).glob(f'{package}/pytest.xml'),
                   *Path(folder).glob(f'{package}/test_results/**/*.xml')])


def summarize(folder, package='*'):
    """Return the ``Summary`` of all results below ``folder``, or of one package's."""
    summary = Summary()
    for path in result_files(folder, package):
        summary.add_file(path)
    return summary


def main():
    """Run from the command line; return the exit status."""
    if {'-h', '--help'} & set(sys.argv[1:]):
        print(__doc__)
        return 2
    folders = sys.argv[1:] or ['build', 'build/graph']
    summary = sum((summarize(folder) for folder in folders), Summary())
    print(summary.report())
    return summary.status()


if __name__ == '__main__':
    sys.exit(main())
