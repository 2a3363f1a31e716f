"""Two sightings must agree; then the dock is where their weighted mean is, in odom."""
import math

from dock_scenes import detector, error, see
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.dock_detector import DockFix, DockTracker
from oomwoo_localization.frames import compose, inverse
import pytest

DEG = math.pi / 180.0


def fix(pose, sigma_m=0.003, sigma_deg=0.5):
    """Return a fix at a pose in base_footprint."""
    covariance = np.diag([sigma_m, sigma_m, sigma_deg * DEG]) ** 2
    return DockFix(np.asarray(pose, dtype=float), covariance, 20, 2, 0.0, 1.0)


def test_one_sighting_alone_is_nothing_and_a_second_settles_it():
    tracker = DockTracker()
    assert tracker.update(fix((-0.8, 0.1, 0.2)), (0, 0, 0)) is None and tracker.pose is None
    pose = tracker.update(fix((-0.804, 0.1, 0.2)), (0, 0, 0))
    np.testing.assert_allclose(pose, (-0.802, 0.1, 0.2), atol=1e-4)


@given(st.tuples(*[st.floats(-2, 2)] * 3), st.tuples(*[st.floats(-3, 3)] * 3))
def test_the_robot_may_have_moved_between_them(dock, other):
    tracker = DockTracker()
    for odom in ((0.5, 0.2, 1.0), other):
        pose = tracker.update(fix(compose(inverse(odom), dock)), odom)
    np.testing.assert_allclose(pose[:2], dock[:2], atol=1e-6)
    assert math.cos(pose[2] - dock[2]) > 1.0 - 1e-9
    np.testing.assert_allclose(tracker.in_base(other)[:2], compose(inverse(other), dock)[:2],
                               atol=1e-6)


@pytest.mark.parametrize('second', [
    (-0.8, 0.14, 0.2), (-0.84, 0.1, 0.2), (-0.8, 0.1, 0.2 + 6 * DEG), (-0.8, -0.33, 0.2)])
def test_two_that_disagree_settle_nothing(second):
    tracker = DockTracker()
    tracker.update(fix((-0.8, 0.1, 0.2)), (0, 0, 0))
    assert tracker.update(fix(second), (0, 0, 0)) is None
    assert tracker.pose is None


def test_a_wild_one_changes_nothing_and_two_of_them_that_agree_do():
    tracker = DockTracker()
    for _ in range(3):
        pose = tracker.update(fix((-0.8, 0.1, 0.2)), (0, 0, 0))
    assert tracker.update(fix((-0.8, 0.53, 0.2)), (0, 0, 0)) is None
    np.testing.assert_allclose(tracker.pose, pose)
    assert tracker.update(None, (0, 0, 0)) is None
    np.testing.assert_allclose(tracker.update(fix((-0.8, 0.1, 0.2)), (0, 0, 0)), pose, atol=1e-3)
    tracker.update(fix((-0.7, 0.1, 0.2)), (0, 0, 0))
    moved = tracker.update(fix((-0.7, 0.1, 0.2)), (0, 0, 0))
    np.testing.assert_allclose(moved, (-0.7, 0.1, 0.2), atol=1e-6)


def test_averaging_beats_a_single_scan_by_far():
    rng = np.random.default_rng(2)
    finder, final = detector(), []
    for _ in range(12):
        tracker = DockTracker()
        base = np.array([-0.10, rng.uniform(-0.01, 0.01), rng.uniform(-0.02, 0.02)])
        for _ in range(20):
            seen = finder.find(*see(base, noise_m=0.01, rng=rng), hint=(inverse(base), 0.02, 0.03))
            pose = tracker.update(seen, (0, 0, 0))
        final.append(error(fix(pose), base))
    final = np.abs(final)
    assert final[:, 1].max() < 0.0012 and final[:, 1].mean() < 0.0005
    assert np.degrees(final[:, 2].max()) < 0.35 and np.degrees(final[:, 2].mean()) < 0.15


def test_the_way_driven_makes_the_old_count_less():
    still, driven = DockTracker(), DockTracker()
    for tracker, odom in ((still, (0, 0, 0)), (driven, (-1.0, 0.0, 0.0))):
        for _ in range(30):
            tracker.update(fix((-2.0, 0.0, 0.0)), (0, 0, 0))
        tracker.update(fix(compose(inverse(odom), (-1.99, 0.0, 0.0))), odom)
    assert abs(still.pose[0] + 2.0) < 0.002, 'thirty against one'
    assert abs(driven.pose[0] + 1.99) < 0.002, 'odometry may be 2 cm off after a metre'


def test_forgotten_it_starts_anew():
    tracker = DockTracker()
    for _ in range(2):
        tracker.update(fix((-0.8, 0.1, 0.2)), (0, 0, 0))
    tracker.reset()
    assert tracker.pose is None and tracker.in_base((0, 0, 0)) is None
    assert tracker.update(fix((-0.8, 0.1, 0.2)), (0, 0, 0)) is None
