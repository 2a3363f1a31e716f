"""The detector's harness measures what it says, and its bounds can be missed."""
import json

import numpy as np
from oomwoo_clean import dock_detector_harness as harness
from oomwoo_clean.dock_detector_harness import Look, main, misses, summarise
import pytest

NOT_FOUND = Look(np.full(3, np.nan), np.full(3, np.nan), 'only 2 returns lie on the dock', 1.0)


def look(x_m, y_m, yaw_rad):
    """Return a look with an error that says 2 mm, 3 mm, 0.01 rad of itself."""
    return Look(np.array([x_m, y_m, yaw_rad]), np.array([0.002, 0.003, 0.01]), '', 3.0)


def test_a_summary_by_hand():
    row = summarise('near', 'beacon', [
        look(0.002, 0.0, 0.0), look(-0.004, 0.006, 0.02), look(0.0, 0.43, 0.0), NOT_FOUND])
    assert (row['looks'], row['found'], row['false']) == (4, 2, 1)
    np.testing.assert_allclose(row['bias'], [-1.0, 3.0, np.degrees(0.01)])
    np.testing.assert_allclose(row['sigma'], [3.0, 3.0, np.degrees(0.01)])
    np.testing.assert_allclose(row['said'], [2.0, 3.0, np.degrees(0.01)])
    np.testing.assert_allclose(row['worst'], [4.0, 6.0, np.degrees(0.02)])
    assert len(misses(row, 0.9)) == 2 and len(misses(row, 0.4)) == 1


def test_it_runs_and_writes_what_it_found(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(harness, 'KINDS', harness.KINDS[:2])
    monkeypatch.setattr(harness, 'EMPTY', ('symmetric_room',))
    file = tmp_path / 'new' / 'looks.json'
    status = main(['--looks', '10', '--seed', '3', '--json', str(file)])
    said = capsys.readouterr().out
    report = json.loads(file.read_text())
    assert status == (1 if report['summary']['missed'] else 0)
    rows = {(row['from'], row['told']): row for row in report['trials']}
    assert rows['in the bay', 'lidar']['found'] == 10
    assert rows['0.6-1.2 m', 'beacon']['found'] >= 9 and rows['0.6-1.2 m', 'beacon']['false'] == 0
    assert 'scans averaged' in said and '0.6-1.2 m' in said


@pytest.mark.parametrize(('arguments', 'words'), [
    (['--layout', 'test_room'], 'has no dock'), (['--layout', 'nowhere'], 'nowhere')])
def test_what_cannot_be_used_is_named(arguments, words, capsys):
    assert main(arguments) == 2 and words in capsys.readouterr().err
