"""Trials that are spoilt on purpose: as much as their kind says, and known to the beam."""

import math

import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_sim_support.reloc_scenarios import KINDS, make_trial
from oomwoo_sim_support.reloc_spoiling import MOUNT
from oomwoo_sim_support.reloc_worlds import likeness, random_room, ranges_to, Room
import pytest

SEEDS = range(7000, 7012)


def trials(kind):
    """Return a dozen trials of a kind."""
    return [make_trial(kind, seed) for seed in SEEDS]


def scanner_of(trial):
    """Return the scanner's true plane pose."""
    mount = trial.base_from_scan
    return compose(
        trial.truth, (mount[0, 3], mount[1, 3], math.atan2(mount[1, 0], mount[0, 0]))
    )


def returned(trial):
    """Return the share of beams that came back."""
    return trial.scan.valid().mean()


def test_a_clean_scan_is_the_mapped_world_seen_from_the_truth():
    """All beams intact; ranges cut anew from the mapped segments agree to the noise."""
    for trial in trials('clean'):
        scan, scanner = trial.scan, scanner_of(trial)
        angles = scanner[2] + scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
        there = scan.valid()
        again = ranges_to(trial.mapped, scanner[:2], angles)[there]
        assert np.abs(again - scan.ranges[there]).max() < 0.06
        assert np.isfinite(trial.intact[there]).all()
        assert trial.base_from_scan[:3, 3] == pytest.approx(MOUNT)


def test_obstacles_block_up_to_half_and_only_those_beams_are_not_intact():
    """They shorten beams, never lengthen them, and shares from nearly none to half occur."""
    shares = []
    for trial in trials('obstacles'):
        scan, scanner = trial.scan, scanner_of(trial)
        angles = scanner[2] + scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
        mapped = ranges_to(trial.mapped, scanner[:2], angles)
        there = np.isfinite(trial.seen)
        assert (trial.seen[there] <= mapped[there] + 1e-9).all()
        blocked = there & np.isnan(trial.intact)
        assert (trial.seen[blocked] < mapped[blocked] - 0.05).all()
        shares.append(blocked.sum() / there.sum())
    assert min(shares) < 0.2 < 0.35 < max(shares) < 0.62


@pytest.mark.parametrize('kind, low, high', [('dropouts', 0.04, 0.4), ('glass', 0.08, 0.55)])
def test_beams_are_missing(kind, low, high):
    """Singly or in sectors; where all are far enough in range the share is as asked."""
    missing = [1.0 - returned(trial) for trial in trials(kind)]
    clean = [1.0 - returned(trial) for trial in trials('clean')]
    assert np.mean(missing) > np.mean(clean) + low
    assert all(low <= share for share in missing)
    for trial in trials('glass'):
        edges = np.diff(trial.scan.valid().astype(int)) != 0
        assert edges.sum() < 40


def test_noise_is_of_one_to_five_centimetres():
    """Around the exact ranges, which the trial knows."""
    for trial in trials('noise'):
        there = np.isfinite(trial.seen)
        assert 0.008 < (trial.scan.ranges - trial.seen)[there].std() < 0.056


def test_scanners_maps_and_cells_are_of_their_kind():
    """Half a turn; an origin with a yaw; coarse and fine cells."""
    for trial in trials('half_scanner'):
        span = trial.scan.angle_increment * (len(trial.scan.ranges) - 1)
        assert span == pytest.approx(math.pi)
    assert np.ptp([trial.grid.origin[2] for trial in trials('rotated_map')]) > 2.0
    assert all(0.08 <= trial.grid.resolution <= 0.15 for trial in trials('coarse_cells'))
    assert all(0.015 <= trial.grid.resolution <= 0.04 for trial in trials('fine_cells'))
    assert {trial.base_from_scan[0, 0] < 0 for trial in trials('clean')} == {True, False}


def test_walls_added_and_removed_change_the_present_world_only():
    """What is added shortens beams; what is removed lets some pass the mapped walls."""
    longer = 0
    for kind in ('walls_added', 'walls_removed'):
        for trial in trials(kind):
            scan, scanner = trial.scan, scanner_of(trial)
            angles = (
                scanner[2] + scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
            )
            mapped = ranges_to(trial.mapped, scanner[:2], angles)
            there = np.isfinite(trial.seen)
            beyond = (trial.seen[there] > mapped[there] + 0.05).any()
            assert not (beyond and kind == 'walls_added')
            longer += beyond
    assert longer > 3


def test_a_symmetric_room_looks_the_same_turned_by_half():
    """From the point opposite all ranges are the same (discs have their own symmetry)."""
    same = 0
    for trial in trials('symmetric'):
        scanner = scanner_of(trial)
        middle = trial.mapped.reshape(-1, 2)
        middle = (middle.min(axis=0) + middle.max(axis=0)) / 2
        angles = np.linspace(-3, 3, 60)
        here = ranges_to(trial.mapped, scanner[:2], angles)
        there = ranges_to(trial.mapped, 2 * middle - scanner[:2], angles + math.pi)
        same += np.allclose(here, there, atol=1e-6)
    assert same >= 8


def test_a_wrong_room_is_another():
    """No truth, nothing intact, and the walls are alike in less than 70 %."""
    for trial in trials('wrong_room'):
        assert trial.truth is None and np.isnan(trial.intact).all()
    rng = np.random.default_rng(5)
    one, other = random_room(rng), random_room(rng)
    assert likeness(one, Room(one.walls, one.furniture, one.floor)) == 1.0
    assert likeness(one, other) < 1.0


def test_mirrored_rooms_are_both_in_the_map_or_the_wrong_one_only():
    """Both cases occur; a robot in the map has its room in it."""
    inside = [trial for trial in trials('mirrored') if trial.truth is not None]
    assert 0 < len(inside) < len(SEEDS)
    assert all(np.isfinite(trial.intact).mean() > 0.5 for trial in inside)


def test_seeds_differ_and_unknown_kinds_are_refused():
    """No two trials are the same; a kind that does not exist is a KeyError with its name."""
    scans = {trial.scan.ranges.tobytes() for kind in KINDS for trial in [make_trial(kind, 1)]}
    scans |= {trial.scan.ranges.tobytes() for kind in KINDS for trial in [make_trial(kind, 2)]}
    assert len(scans) == 2 * len(KINDS)
    with pytest.raises(KeyError, match='nonsense'):
        make_trial('nonsense', 0)
