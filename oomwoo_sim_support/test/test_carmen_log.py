"""CARMEN logs in all the shapes they come in, and the map made of them."""

import gzip
import math
from pathlib import Path

import numpy as np
from oomwoo_sim_support.carmen_log import LogError, map_of, read_carmen, spaced
import pytest

HEADER = (
    '# comment\nPARAM robot_frontlaser_offset 0.0 nohost 0\nODOM 0 0 0 0 0 0 0.01 pippo 0.01\n\n'
)
FLASER = 'FLASER 4 1.0 2.0 81.83 0.5 1.5 -2.5 0.25 9 9 9 12.5 nohost 12.6'
ROBOTLASER = (
    'ROBOTLASER1 0 -1.57 3.14 0.785 8.0 0.01 0 5 1 2 3 8 5 0 0.1 0.2 4.0 7 7 7 0 0 1 1 0 33.5 '
    'host 1'
)


def write(path, text, compress=False):
    """Write a log and return its path."""
    path.write_bytes(gzip.compress(text.encode()) if compress else text.encode())
    return path


@pytest.mark.parametrize('compress', [False, True])
def test_reads_poses_and_beams(tmp_path, compress):
    """The corrected pose, not the odometry; the first beam at -90 degrees; 81.83 is no return."""
    scans, skipped = read_carmen(
        write(tmp_path / 'a.log', HEADER + FLASER + '\n' + ROBOTLASER, compress)
    )
    assert skipped == 0 and len(scans) == 2
    assert scans[0].pose.tolist() == [1.5, -2.5, 0.25]
    assert scans[0].scan.angle_min == -math.pi / 2 and scans[0].scan.angle_increment == math.pi / 4
    assert scans[0].scan.valid().tolist() == [True, True, False, True]
    assert scans[0].scan.stamp_s == 12.5
    assert scans[1].pose == pytest.approx([0.1, 0.2, 4.0 - 2 * math.pi])
    assert scans[1].scan.valid().tolist() == [True, True, True, False, True]
    assert (scans[1].scan.angle_min, scans[1].scan.stamp_s) == (-1.57, 33.5)


def test_broken_lines_are_counted_and_left_out(tmp_path):
    """Cut short, not numbers, no pose, no beams, trailing fields missing."""
    lines = [
        FLASER,
        'FLASER 4 1.0 2.0',
        'FLASER four 1 2 3 4 0 0 0',
        'FLASER 2 1 1 nan 0 0 0 0 0',
        'FLASER 0 1 2 3',
        'FLASER',
        'FLASER 2 1 1 0 0 0',
    ]
    scans, skipped = read_carmen(write(tmp_path / 'a.log', '\n'.join(lines)))
    assert (len(scans), skipped) == (2, 5)


@pytest.mark.parametrize(
    'content', [b'', b'ODOM 1 2 3\n', b'\x1f\x8bbroken', b'\xff\xfe\x00FLASER']
)
def test_nothing_to_be_used_is_an_error(tmp_path, content):
    """The message names the file."""
    path = tmp_path / 'x.log'
    path.write_bytes(content)
    with pytest.raises(LogError, match='x.log'):
        read_carmen(path)
    with pytest.raises(LogError, match='missing'):
        read_carmen(tmp_path / 'missing.log')


def test_map_of_a_room(tmp_path):
    """Walls where the beams end, floor where they pass, nothing known behind."""
    lines = []
    for yaw in (0.0, math.pi):
        angles = yaw - math.pi / 2 + np.arange(180) * math.pi / 180
        half = np.array([2.0, 1.0])
        with np.errstate(divide='ignore'):
            ranges = np.minimum(half[0] / np.abs(np.cos(angles)), half[1] / np.abs(np.sin(angles)))
        lines.append(f'FLASER 180 {" ".join(f"{r:.4f}" for r in ranges)} 0 0 {yaw} 0 0 0 1.0')
    scans, _ = read_carmen(write(tmp_path / 'a.log', '\n'.join(lines)))
    grid = map_of(scans, 0.05)
    inside = grid.cells_to_points(np.argwhere(grid.free))
    walls = grid.cells_to_points(np.argwhere(grid.obstacles))
    assert (np.abs(inside) < [2.03, 1.03]).all() and len(inside) * 0.05**2 == pytest.approx(
        8.0, rel=0.12
    )
    assert (
        np.maximum(np.abs(walls[:, 0]) - 2.0, np.abs(walls[:, 1]) - 1.0).__abs__() < 0.06
    ).all()
    assert len(spaced(scans)) == 2 and len(spaced([scans[0]] * 5)) == 1
    with pytest.raises(LogError, match='beam'):
        map_of([])


def test_real_log_if_there_is_one():
    """The Intel lab, where the data set was put beside the checkout."""
    log = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'radish' / 'intel.log.gz'
    if not log.is_file():
        pytest.skip('the Radish logs are not here')
    scans, skipped = read_carmen(log)
    assert len(scans) == 910 and skipped == 0
    assert {len(one.scan.ranges) for one in scans} == {180}
