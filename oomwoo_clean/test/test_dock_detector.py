"""Where the dock is: to the millimetre when it is seen, and nothing else taken for it."""
import math

from dock_scenes import around, detector, error, HOME, outline, ROBOT, ROOM, see, SHAPE, sight
from hypothesis import assume, given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.dock_detector import DockDetector
from oomwoo_localization.dock import docked_pose, DockShape
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.scans import Scan
from oomwoo_sim_support.layout import load_layout
import pytest
from synthetic_scans import mount

DEG = math.pi / 180.0


def close(fix, base, metres=0.004, degrees=0.6):
    """Tell whether a fix is right."""
    off = error(fix, base)
    return np.hypot(*off[:2]) < metres and abs(off[2]) < degrees * DEG


def test_the_shape_is_that_of_the_packaged_dock_and_home_is_where_the_backs_touch():
    dock = load_layout('kitchen_dining').dock
    assert DockDetector(ROBOT, dock).shape == SHAPE
    np.testing.assert_allclose(docked_pose(dock, ROBOT), HOME)
    assert docked_pose(DockShape(depth=0.4), ROBOT)[0] == pytest.approx(0.1745 - 0.4)


# -- accuracy ---------------------------------------------------------------------------------

@settings(max_examples=60)
@given(distance=st.floats(0.7, 2.5), off=st.floats(-38, 38), yaw=st.floats(-20, 20))
def test_an_exact_scan_with_the_beacon_gives_the_exact_pose(distance, off, yaw):
    base = around(distance, off * DEG, yaw * DEG)
    found = detector().find(*see(base), sight(base))
    if found is None:          # far out and straight ahead a panel may fall between two beams
        assert distance > 1.5
    else:
        assert close(found, base, 0.004 + 0.008 * distance * (distance > 1.2), 1.5)


@settings(max_examples=60)
@given(distance=st.floats(0.6, 1.5), off=st.floats(-60, 60), yaw=st.floats(-180, 180),
       dx=st.floats(-0.06, 0.06), dy=st.floats(-0.06, 0.06), turn=st.floats(-6, 6))
def test_a_rough_hint_finds_it_from_any_heading(distance, off, yaw, dx, dy, turn):
    base = around(distance, off * DEG, yaw * DEG)
    hint = inverse(base) + [dx, dy, turn * DEG]
    fix = detector().find(*see(base), hint=(hint, 0.05, 5 * DEG))
    assert fix is not None
    off_by = np.abs(error(fix, base))
    # From the side only the ends tell how far along its axis it is.
    assert off_by[0] < max(0.005, 4.0 * math.sqrt(fix.covariance[:2, :2].trace()))
    assert off_by[1] < 0.012 and off_by[2] < 2.0 * DEG


@pytest.mark.parametrize('x', [-0.1555, -0.14, -0.05, 0.1, 0.35])
def test_backing_in_it_is_right_to_the_millimetre_on_average(x):
    rng = np.random.default_rng(int(1000 * (x + 1)))
    finder, off = detector(), []
    for _ in range(60):
        base = np.array([x, *rng.uniform(-0.012, 0.012, 1), *rng.uniform(-0.03, 0.03, 1)])
        hint = (inverse(base) + rng.normal(0.0, 0.01, 3), 0.02, 2 * DEG)
        fix = finder.find(*see(base, noise_m=0.01, rng=rng, dropout=0.03), hint=hint)
        off.append(error(fix, base))
    off = np.array(off)
    assert np.abs(off[:, :2].mean(axis=0)).max() < 0.0006
    assert abs(off[:, 2].mean()) < 0.15 * DEG
    assert off[:, 1].std() < 0.0025 and off[:, 2].std() < 0.7 * DEG


def test_the_covariance_is_what_the_errors_are():
    rng = np.random.default_rng(4)
    finder, far = detector(), []
    for _ in range(150):
        base = around(rng.uniform(0.7, 1.5), rng.uniform(-0.5, 0.5), rng.uniform(-0.3, 0.3))
        fix = finder.find(*see(base, noise_m=0.01, rng=rng), sight(base))
        off = fix.pose - inverse(base)
        far.append(off @ np.linalg.solve(fix.covariance, off))
    assert 1.5 < np.mean(far) < 5.0, 'three degrees of freedom'
    assert np.mean(np.array(far) > 16.3) < 0.04, 'one in a thousand, were it all Gaussian'


@pytest.mark.parametrize(('scanner', 'base_from_scan'), [
    ({'clockwise': True}, None), ({'first_rad': 0.0}, None), ({'beams': 720}, None),
    ({}, mount(yaw=math.pi)), ({}, mount(roll=math.pi)),
    ({'clockwise': True, 'first_rad': 1.0}, mount(x=-0.05, y=0.03, yaw=2.0, roll=math.pi))])
def test_any_mount_and_order_of_beams(scanner, base_from_scan):
    rng = np.random.default_rng(8)
    base = around(0.9, 0.3, 0.1)
    fix = detector().find(
        *see(base, noise_m=0.01, rng=rng, base_from_scan=base_from_scan, **scanner), sight(base))
    assert close(fix, base, 0.015, 2.0)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), distance=st.floats(0.7, 1.3), off=st.floats(-30, 30))
def test_legs_and_outliers_do_not_pull(seed, distance, off):
    rng = np.random.default_rng(seed)
    base = around(distance, off * DEG)
    legs = [(rng.uniform(0.02, 0.4), side * rng.uniform(0.26, 0.45), 0.02) for side in (1, -1)]
    legs += [(-0.2, 0.30, 0.03), (rng.uniform(-0.3, 0.0), -0.26, 0.02)]
    assume(all(math.hypot(x - base[0], y - base[1]) > 0.2 for x, y, _ in legs))
    scan, at = see(base, circles=legs, noise_m=0.01, rng=rng)
    wild = rng.random(len(scan.ranges)) < 0.05
    scan.ranges[wild] = rng.uniform(0.1, 3.0, wild.sum())
    fix = detector().find(scan, at, sight(base))
    assert fix is not None and close(fix, base, 0.025, 3.0)


# -- what is not the dock -----------------------------------------------------------------------

@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), distance=st.floats(0.6, 2.5), off=st.floats(-75, 75),
       yaw=st.floats(-180, 180), beacon=st.sampled_from(['both', 'none']))
def test_nothing_a_bay_width_to_the_side_is_taken_for_it(seed, distance, off, yaw, beacon):
    """With the beacon or by LiDAR alone, what is found is the dock or nothing is found."""
    rng = np.random.default_rng(seed)
    seen = beacon == 'both' and abs(off) < 40
    base = around(distance, off * DEG, (0.3 if seen else 1.0) * yaw * (0.3 if seen else 1.0) * DEG)
    finder = detector()
    fix = finder.find(*see(base, noise_m=0.01, rng=rng),
                      sight(base, rng.normal(0, 1.5 * DEG)) if seen else None)
    if fix is None:
        assert finder.reason
    else:
        assert np.hypot(*error(fix, base)[:2]) < 0.12


def corner(base):
    """Return the segments of one panel that stands at a wall, and none of the other side."""
    return [*outline()[:3], *ROOM]


def test_half_a_bay_at_a_wall_is_a_corner_and_refused_without_beacon():
    rng = np.random.default_rng(3)
    base = around(1.0, -20 * DEG)
    finder = detector()
    assert finder.find(*see(base, corner(base), noise_m=0.01, rng=rng)) is None
    assert finder.find(*see(base, corner(base), noise_m=0.01, rng=rng),
                       hint=(inverse(base), 0.3, 0.2)) is None
    assert 'pass through' in finder.reason or 'one side' in finder.reason


@pytest.mark.parametrize('side', [1, -1])
def test_a_wrong_place_is_refused_by_the_beacon_and_by_a_hint_that_is_sure(side):
    """The wall plays the back, a real panel the side; the other side is hidden behind a board."""
    rng = np.random.default_rng(6)
    base = around(1.1, side * 10 * DEG)
    board = ((0.05, side * 0.50), (0.05, side * 0.95))
    scene = [*outline(), *ROOM, board]
    false = compose(inverse(base), (-0.06, side * 0.43, 0.0))
    finder = detector()
    for _ in range(5):
        for hint in (None, (false, 0.04, 5 * DEG)):
            fix = finder.find(*see(base, scene, noise_m=0.01, rng=rng), sight(base), hint)
            assert fix is None or np.hypot(*error(fix, base)[:2]) < 0.05
        fix = finder.find(*see(base, scene, noise_m=0.01, rng=rng), None,
                          (inverse(base), 0.05, 5 * DEG))
        assert close(fix, base, 0.012, 1.5)


def test_an_empty_room_has_no_dock():
    rng = np.random.default_rng(9)
    finder = detector()
    for number in range(40):
        base = np.array([*rng.uniform((0.3, -2.0), (3.0, 2.0)), rng.uniform(-3, 3)])
        scan = see(base, ROOM, [(0.9, 0.5, 0.03), (1.7, -0.6, 0.03)], 0.01, rng)
        sights = (None, sight(base, rng.normal(0, 1.5 * DEG)))
        assert finder.find(*scan, sights[number % 2]) is None
        assert finder.reason


def test_legs_a_mouth_apart_are_no_dock():
    rng = np.random.default_rng(10)
    finder = detector()
    legs = [(0.0, 0.215, 0.02), (0.0, -0.215, 0.02)]
    for _ in range(40):
        base = around(rng.uniform(0.7, 2.0), rng.uniform(-0.6, 0.6))
        assert finder.find(*see(base, ROOM, legs, 0.01, rng)) is None


def test_a_panel_that_the_beams_pass_through_is_none():
    rng = np.random.default_rng(11)
    base = around(0.8, 0.0)
    without_right = [*outline()[:4], *ROOM]
    finder = detector()
    assert finder.find(*see(base, without_right, noise_m=0.01, rng=rng), sight(base)) is None
    assert 'pass through' in finder.reason


@pytest.mark.parametrize('ranges', [
    [], [np.nan] * 360, [np.inf] * 360, [0.0] * 360, [0.3] * 3, [1.0] * 360])
def test_scans_without_a_dock_have_a_reason(ranges):
    scan = Scan(np.array(ranges, dtype=float), -math.pi, 2 * math.pi / 360, 0.05, 8.0)
    finder = detector()
    for hint in (None, (np.array([-0.6, 0.0, 0.0]), 0.05, 0.1)):
        for beacon in (None, sight(around(1.0, 0.0))):
            assert finder.find(scan, mount(), beacon, hint) is None
            assert finder.reason


def test_one_receiver_alone_does_not_decide():
    """From well off to the side only one panel is seen: a side is no direction."""
    rng = np.random.default_rng(12)
    base = around(1.2, 75 * DEG, math.pi)
    coarse = sight(base, both=False, sigma_rad=25 * DEG)
    finder = detector()
    found = [finder.find(*see(base, noise_m=0.01, rng=rng), coarse) for _ in range(10)]
    assert all(fix is None or fix.sides_seen == 2 for fix in found)
