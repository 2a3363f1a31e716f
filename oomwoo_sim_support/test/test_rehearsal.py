"""The offline loop: lock-step, deterministic, what a track holds."""
import hashlib
from pathlib import Path
import subprocess
import sys

import numpy as np
from oomwoo_sim_support.layout import layout_from_dict
from oomwoo_sim_support.rehearsal import Rehearsal

ROOM = {
    'name': 'room', 'start': [0, 0, 0], 'floor': [[-2, -2], [2, -2], [2, 2], [-2, 2]],
    'walls': [{'name': 'walls', 'points': [[-2, -2], [2, -2], [2, 2], [-2, 2]], 'closed': True,
               'thickness': 0.05, 'z': [0, 0.4]}]}


def swerve(seen):
    """Drive by what is seen, so that every difference in a scan shows in the track."""
    near = np.min(seen.scan.ranges[seen.scan.valid()])
    return 0.15, 0.6 * np.sin(seen.time_s) + 0.1 * near


def drive(seed, seconds=4.0):
    """Rehearse in the empty room and return the track."""
    return Rehearsal(layout_from_dict(ROOM), seed=seed).run(swerve, seconds)


def test_one_seed_is_one_run_and_another_seed_another():
    """Same bits for a seed, other noise and calibration for another."""
    first, second, other = drive(3), drive(3), drive(4)
    for name in ('time_s', 'truth', 'odom', 'command', 'clearance_m'):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert not np.array_equal(first.truth, other.truth)
    assert not np.array_equal(first.command, other.command)


def test_track_has_a_row_a_scan_and_watch_may_end_it():
    """Ten scans a second; the row of the scan that ends it is kept; a second run goes on."""
    rehearsal = Rehearsal(layout_from_dict(ROOM))
    track = rehearsal.run(swerve, 1.0)
    np.testing.assert_allclose(track.time_s, np.arange(10) * 0.1)
    assert track.truth.shape == (10, 3) and track.command.shape == (10, 2)
    more = rehearsal.run(swerve, 5.0, watch=lambda sim, seen, command: seen.time_s > 1.45)
    np.testing.assert_allclose(more.time_s, np.arange(10, 16) * 0.1)


def digest(seed):
    """Return a hash of every bit of a drive."""
    track = drive(seed)
    rows = track.truth.tobytes() + track.odom.tobytes() + track.command.tobytes()
    return hashlib.sha256(rows).hexdigest()


def test_another_process_gets_the_same_bits():
    """Nothing depends on memory addresses or hash seeds."""
    run = subprocess.run(
        [sys.executable, '-c', 'import test_rehearsal; print(test_rehearsal.digest(6))'],
        cwd=Path(__file__).parent, capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == digest(6), run.stderr


def test_controller_sees_sensors_and_no_truth():
    """It sees what the robot has: encoders that drift, a noisy scan, bumpers that touch."""
    seen = []
    rehearsal = Rehearsal(layout_from_dict(ROOM), start=(1.6, 0.0, 0.0))
    rehearsal.run(lambda o: seen.append(o) or (0.2, 0.0), 3.0)
    assert {*vars(seen[0])} == {
        'time_s', 'scan', 'base_from_scan', 'odom', 'bumper_left', 'bumper_right',
        'dock_ir', 'charging'}
    assert seen[0].odom.tolist() == [0.0, 0.0, 0.0]
    assert seen[-1].bumper_left and seen[-1].bumper_right and not seen[0].bumper_left
