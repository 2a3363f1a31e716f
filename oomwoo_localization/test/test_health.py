"""The score is a share of beams that can be counted by hand; being lost takes time, both ways."""
import math

from exact_rooms import BASE_FROM_SCAN, draw, PLACE, scan_from
import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_localization.health import HealthSettings, LostDetector, ScanScorer
from oomwoo_localization.scans import Scan
import pytest

POSE = np.array([*PLACE, 0.4])


@pytest.fixture(scope='module')
def scorer():
    """Return a scorer of the room."""
    return ScanScorer(draw())


def test_at_the_right_pose_every_return_lands_on_a_wall(scorer):
    found = scorer.score(scan_from(POSE, noise_m=0.01), BASE_FROM_SCAN, POSE)
    assert found.score == 1.0 and found.beams == 360
    assert found.staticness.shape == (360,) and (found.staticness > 0.9).all()


def test_a_third_of_the_beams_blocked_takes_away_a_third_and_says_which(scorer):
    scan = scan_from(POSE)
    scan.ranges[100:220] = 0.35
    found = scorer.score(scan, BASE_FROM_SCAN, POSE)
    assert found.score == pytest.approx(2 / 3, abs=0.003)
    assert (found.staticness[100:220] == 0.0).all() and (found.staticness[:100] == 1.0).all()


def test_staticness_fades_with_the_distance_from_the_wall():
    scorer = ScanScorer(draw(), HealthSettings(hit_m=0.1, fade_m=0.3))
    ahead = np.array([*PLACE, 0.0])                  # the nose at right angles to a wall
    scan, nose = scan_from(ahead), 180
    full = scan.ranges[nose]
    for short, expected in ((0.05, 1.0), (0.2, 0.5), (0.25, 0.25), (0.35, 0.0)):
        scan.ranges[nose] = full - short
        found = scorer.score(scan, BASE_FROM_SCAN, ahead)
        assert found.staticness[nose] == pytest.approx(expected, abs=0.08)


@pytest.mark.parametrize('place', [(2.3, -0.2, 2.0), (0.5, 1.7, -2.8), (-1.9, -1.3, 0.1)])
def test_elsewhere_the_score_falls_off_a_cliff(scorer, place):
    assert scorer.score(scan_from(np.array(place)), BASE_FROM_SCAN, POSE).score < 0.4


def test_no_returns_say_nothing_and_are_not_counted(scorer):
    scan = scan_from(POSE)
    scan.ranges[:180] = np.inf
    found = scorer.score(scan, BASE_FROM_SCAN, POSE)
    assert found.score == 1.0 and found.beams == 180 and (found.staticness[:180] == 0.0).all()
    blind = Scan(np.full(360, np.nan), -math.pi, math.tau / 360, 0.05, 8.0)
    found = scorer.score(blind, BASE_FROM_SCAN, POSE)
    assert math.isnan(found.score) and found.beams == 0


def test_a_scan_taken_in_a_spin_is_put_right(scorer):
    turn = 0.3

    def at(share):
        return compose(POSE, (0.0, 0.0, turn * share))

    scan = scan_from(POSE, beams=180, motion=at, turn_s=0.1)
    assert scorer.score(scan, BASE_FROM_SCAN, POSE, at(1.0)).score == 1.0
    assert scorer.score(scan, BASE_FROM_SCAN, POSE).score < 0.8


def run(scores, period_s=0.1, **settings):
    """Return lost (N,) for scores at a rate."""
    detector = LostDetector(HealthSettings(**settings))
    return [detector.update(score, period_s * k) for k, score in enumerate(scores)], detector


def test_a_dip_is_not_lost_and_a_kidnap_is_within_a_second():
    lost, _ = run([0.9] * 5 + [0.1] * 6 + [0.9] * 5, lost_after_s=0.6)
    assert not any(lost)
    lost, detector = run([0.9] * 5 + [0.1] * 10, lost_after_s=0.6)
    assert lost.index(True) == 5 + 6
    assert detector.low_for_s == pytest.approx(0.9)


def test_one_good_scan_in_between_begins_the_wait_anew():
    lost, _ = run(([0.1] * 5 + [0.9]) * 4, lost_after_s=0.6)
    assert not any(lost)


def test_found_again_takes_its_time_and_the_middle_ground_changes_nothing():
    scores = [0.1] * 8 + [0.5] * 20 + [0.9] * 2 + [0.5] + [0.9] * 5
    lost, _ = run(scores, lost_below=0.45, found_above=0.55, lost_after_s=0.6, found_after_s=0.3)
    assert lost[7] and all(lost[8:34]) and not lost[-1]
    assert lost.index(False, 8) == 8 + 20 + 2 + 1 + 3


def test_nothing_to_score_leaves_everything_as_it_is():
    lost, detector = run([0.1] * 8 + [math.nan] * 20)
    assert lost[-1]
    detector.reset()
    assert not detector.lost and detector.low_for_s == 0.0
