"""The sum of the test results says what happened, whatever is in the files."""

from pathlib import Path
import subprocess
import sys

from test_summary import summarize

TOOL = Path(__file__).resolve().parent.parent / 'test_summary.py'
SUITE = """<?xml version="1.0"?>
<testsuites><testsuite name="pytest" tests="4">
  <testcase classname="a.test_x" name="test_good" time="0.1"/>
  <testcase classname="a.test_x" name="test_bad">
    <failure message="short">long story</failure></testcase>
  <testcase classname="a.test_x" name="test_broken"><error message="no fixture"/></testcase>
  <testcase classname="a.test_x" name="test_left_out"><skipped message="why"/></testcase>
</testsuite></testsuites>
"""
GOOD = '<testsuite><testcase classname="b" name="good"/></testsuite>'


def write(folder, name, text):
    """Write one result file."""
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_every_kind_is_counted(tmp_path):
    write(tmp_path, 'a/pytest.xml', SUITE)
    write(tmp_path, 'b/test_results/b/gtest.xml', GOOD)
    write(tmp_path, 'b/test_results/other/Test.xml', '<Site/>')
    summary = summarize(tmp_path)
    assert summary.counts() == '2 passed, 2 failed, 1 skipped'
    assert summary.failures == [('a.test_x.test_bad', 'long story'),
                                ('a.test_x.test_broken', 'no fixture')]
    assert summary.status() == 1
    assert summarize(tmp_path, 'b').status() == 0


def test_unreadable_result_is_a_failure(tmp_path):
    write(tmp_path, 'a/pytest.xml', '<testsuites><testsu')
    assert summarize(tmp_path).counts() == '0 passed, 1 failed, 0 skipped'


def test_no_test_at_all_is_no_success(tmp_path):
    assert summarize(tmp_path).status() == 1


def test_command_ends_with_the_plain_line(tmp_path):
    write(tmp_path, 'a/pytest.xml', SUITE)
    result = subprocess.run([sys.executable, TOOL, tmp_path], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stdout.splitlines()[0] == 'FAILED a.test_x.test_bad'
    assert result.stdout.splitlines()[-1] == '1 passed, 2 failed, 1 skipped'


def test_long_message_keeps_its_end(tmp_path):
    story = '\n'.join(f'line {number}' for number in range(100))
    write(tmp_path, 'a/pytest.xml', SUITE.replace('long story', story))
    report = summarize(tmp_path).report()
    assert '... 70 lines more' in report
    assert 'line 99' in report
    assert 'line 5\n' not in report
