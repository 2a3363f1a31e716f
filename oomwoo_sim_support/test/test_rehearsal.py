"""The offline loop: lock-step, deterministic, what a track holds."""
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
