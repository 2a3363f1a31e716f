"""From scan to scan: drift taken out, slips caught, nothing believed that does not fit."""
import math

from exact_rooms import BASE_FROM_SCAN, draw, MOUNT, PLACE, scan_from
import numpy as np
from oomwoo_localization.frames import compose, inverse, matrix_from_xyzrpy, wrap_angle
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.motion_compensation import poses_along
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scan_localizer import (
    BLIND,
    LocalizerSettings,
    ODOMETRY,
    RECAPTURED,
    ScanLocalizer,
    TRACKED,
)
from oomwoo_localization.scans import Scan, ScanError
from oomwoo_localization.settings import SettingError
import pytest

START = np.array([*PLACE, 0.4])
PERIOD_S = 0.1


@pytest.fixture(scope='module')
def room():
    """Return the room's map."""
    return draw()


def started(grid, pose=START, std_m=0.03, **settings):
    """Return a localizer that was told where it is."""
    localizer = ScanLocalizer(grid, LocalizerSettings(**settings), load_robot())
    localizer.set_pose(pose, np.diag([std_m ** 2, std_m ** 2, 0.05 ** 2]), np.zeros(3))
    return localizer


def off(pose, truth):
    """Return (metres, degrees)."""
    return math.hypot(*(pose[:2] - truth[:2])), abs(math.degrees(wrap_angle(pose[2] - truth[2])))


def test_drift_of_odometry_is_taken_out(room):
    """Six times round a circle, with wheels that believe 4 % too much and turn 3 % too little."""
    localizer = started(room)
    truth, odom = START.copy(), np.zeros(3)
    linear, angular = 0.25, 1.25
    worst = np.zeros(2)
    for k in range(1, 300):
        step = poses_along((0, 0, angular * PERIOD_S), np.array([1.0]))[0]
        chord = linear * PERIOD_S
        step[:2] = chord * np.array([math.cos(step[2] / 2), math.sin(step[2] / 2)])
        truth = compose(truth, step)
        odom = compose(odom, (*(1.04 * step[:2]), 0.97 * step[2]))
        found = localizer.step(
            scan_from(truth, beams=180, noise_m=0.01, seed=k), BASE_FROM_SCAN, odom, k * PERIOD_S)
        worst = np.maximum(worst, off(found.pose, truth))
        assert found.state == TRACKED
        np.testing.assert_allclose(compose(found.map_from_odom, odom), found.pose, atol=1e-9)
    assert worst[0] < 0.012 and worst[1] < 0.4
    assert off(compose(START, odom), truth)[1] > 40.0
    assert np.sqrt(np.diag(localizer.covariance)).max() < 0.02


def test_a_slip_in_the_spin_is_caught_at_the_next_scan(room):
    """The wheels stop dead and the body coasts on by 9 degrees, unknown to odometry."""
    localizer = started(room)
    localizer.step(scan_from(START), BASE_FROM_SCAN, np.zeros(3), 0.1)
    spun, odom = compose(START, (0.0, 0.0, 0.25)), np.array([0.0, 0.0, 0.25])
    assert localizer.step(scan_from(spun), BASE_FROM_SCAN, odom, 0.2).state == TRACKED
    coasted = compose(spun, (0.01, 0.0, math.radians(9.0)))
    found = localizer.step(scan_from(coasted, noise_m=0.01), BASE_FROM_SCAN, odom, 0.3)
    assert found.state in (TRACKED, RECAPTURED)
    assert off(found.pose, coasted)[0] < 0.006 and off(found.pose, coasted)[1] < 0.2


def test_a_push_at_rest_is_caught_in_the_wider_window(room):
    localizer = started(room)
    for k in range(10):
        scan = scan_from(START, noise_m=0.01, seed=k)
        localizer.step(scan, BASE_FROM_SCAN, np.zeros(3), 0.1 * k)
    pushed = START + [0.15, -0.1, math.radians(12.0)]
    found = localizer.step(scan_from(pushed, noise_m=0.01), BASE_FROM_SCAN, np.zeros(3), 1.1)
    assert found.state == RECAPTURED
    assert off(found.pose, pushed)[0] < 0.006 and off(found.pose, pushed)[1] < 0.2


@pytest.mark.parametrize('place', [(2.3, -0.2, 2.0), (0.5, 1.7, -2.8), (-1.9, -1.3, 0.1)])
def test_carried_away_it_rides_on_odometry_and_grows_unsure(room, place):
    localizer = started(room)
    localizer.step(scan_from(START), BASE_FROM_SCAN, np.zeros(3), 0.0)
    before = localizer.covariance
    for k in range(1, 11):
        found = localizer.step(
            scan_from(np.array(place), noise_m=0.01, seed=k), BASE_FROM_SCAN, np.zeros(3), 0.1 * k)
    assert found.state == ODOMETRY and found.matched_share < 0.45
    assert off(found.pose, START)[0] < 0.05
    assert np.diag(localizer.covariance)[0] > 3.0 * np.diag(before)[0]


def test_told_anew_it_goes_there(room):
    localizer = started(room)
    localizer.step(scan_from(START), BASE_FROM_SCAN, np.zeros(3), 0.0)
    place = np.array([2.3, -0.2, 2.0])
    localizer.set_pose(place + [0.1, -0.1, 0.1], np.diag([0.01, 0.01, 0.01]), np.zeros(3))
    found = localizer.step(scan_from(place, noise_m=0.01), BASE_FROM_SCAN, np.zeros(3), 0.1)
    assert found.state == TRACKED and off(found.pose, place)[0] < 0.006


def test_what_was_driven_since_the_pose_was_given_counts(room):
    localizer = started(room)
    odom = np.array([3.0, 1.0, 2.0])
    localizer.set_pose(START, np.diag([1e-4, 1e-4, 1e-4]), odom)
    truth = compose(START, (0.2, 0.0, 0.5))
    found = localizer.step(scan_from(truth), BASE_FROM_SCAN, compose(odom, (0.2, 0.0, 0.5)), 5.0)
    assert off(found.predicted, truth)[0] < 1e-9 and off(found.pose, truth)[0] < 0.005


def test_no_returns_no_news(room):
    localizer = started(room)
    localizer.step(scan_from(START), BASE_FROM_SCAN, np.zeros(3), 0.0)
    blind = Scan(np.full(360, np.inf), -math.pi, math.tau / 360, 0.05, 8.0)
    odom = np.array([0.03, 0.0, 0.0])
    found = localizer.step(blind, BASE_FROM_SCAN, odom, 0.1)
    assert found.state == BLIND and found.beams == 0 and found.matched_share == 0.0
    np.testing.assert_allclose(found.pose, compose(START, odom), atol=0.004)


def test_odometry_that_begins_anew_is_no_motion(room):
    localizer = started(room)
    localizer.set_pose(START)
    for k in range(3):
        localizer.step(scan_from(START), BASE_FROM_SCAN, np.array([7.0, -3.0, 1.0]), 0.1 * k)
    found = localizer.step(scan_from(START), BASE_FROM_SCAN, np.zeros(3), 0.3)
    assert off(found.predicted, START)[0] < 0.005 and off(found.pose, START)[0] < 0.005
    np.testing.assert_allclose(found.map_from_odom, found.pose, atol=1e-9)


def test_beams_taken_one_after_the_other_in_a_spin(room):
    turn_s, rate = 0.1, 2.5
    motion = np.array([0.0, 0.0, rate * turn_s])

    def at(share):
        return compose(START, (0.0, 0.0, motion[2] * share))

    scan = scan_from(START, beams=180, motion=at, turn_s=turn_s)
    right = started(room).step(scan, BASE_FROM_SCAN, np.zeros(3), 0.0, motion)
    assert off(right.pose, START)[0] < 0.005 and off(right.pose, START)[1] < 0.2
    wrong = started(room).step(scan, BASE_FROM_SCAN, np.zeros(3), 0.0)
    assert off(wrong.pose, START)[1] > 3.0


@pytest.mark.parametrize('mount', [(0.0745, 0.0, math.pi), (-0.1, 0.08, 2.0)])
def test_a_scanner_turned_or_elsewhere_on_the_robot(room, mount):
    matrix = matrix_from_xyzrpy(mount[0], mount[1], 0.2, yaw=mount[2])
    found = started(room).step(scan_from(START, mount=mount), matrix, np.zeros(3), 0.0)
    assert off(found.pose, START)[0] < 0.005 and off(found.pose, START)[1] < 0.2


def test_beams_on_the_floor_are_left_out(room):
    """A scanner that nods sees the floor close ahead, where the map has no wall."""
    tilted = matrix_from_xyzrpy(MOUNT[0], 0.0, 0.088, pitch=math.radians(4.0))
    scan = scan_from(START)
    angles = scan.angle_min + scan.angle_increment * np.arange(360)
    floor = 0.088 / np.maximum(np.sin(math.radians(4.0)) * np.cos(angles), 1e-9)
    scan.ranges[:] = np.minimum(scan.ranges, floor)
    found = started(room).step(scan, tilted, np.zeros(3), 0.0)
    assert found.beams < 330 and off(found.pose, START)[0] < 0.008


def test_a_new_map_while_tracking(room):
    localizer = started(room)
    localizer.step(scan_from(START), BASE_FROM_SCAN, np.zeros(3), 0.0)
    localizer.set_map(draw(0.05, 0.7))
    found = localizer.step(scan_from(START), BASE_FROM_SCAN, np.zeros(3), 0.1)
    assert found.state == TRACKED and off(found.pose, START)[0] < 0.015


@pytest.mark.parametrize('pose, covariance', [
    ((0.0, math.nan, 0.0), None), ((0.0, 0.0), None), ((0, 0, 0), np.eye(2)),
    ((0, 0, 0), np.diag([-1.0, 1.0, 1.0])), ((0, 0, 0), np.full((3, 3), np.inf))])
def test_what_is_no_pose_is_refused_and_the_old_one_stays(room, pose, covariance):
    localizer = started(room)
    with pytest.raises(ValueError, match='not a (pose|covariance)'):
        localizer.set_pose(pose, covariance)
    np.testing.assert_array_equal(localizer.pose, START)


def test_without_a_pose_or_with_a_broken_scan_it_says_so(room):
    localizer = ScanLocalizer(room)
    with pytest.raises(ValueError, match='call set_pose'):
        localizer.step(scan_from(START), BASE_FROM_SCAN, np.zeros(3), 0.0)
    broken = Scan(np.ones(10), -1.0, 0.0, 0.05, 8.0)
    with pytest.raises(ScanError, match='angle_increment'):
        started(room).step(broken, BASE_FROM_SCAN, np.zeros(3), 0.0)
    with pytest.raises(SettingError, match='kernel_m'):
        ScanLocalizer(room, LocalizerSettings(kernel_m=-1.0))


def test_the_correction_is_the_pose_over_odometry(room):
    odom = np.array([1.0, 2.0, 0.5])
    localizer = started(room)
    localizer.set_pose(START, None, odom)
    found = localizer.step(scan_from(START), BASE_FROM_SCAN, odom, 0.0)
    np.testing.assert_allclose(found.map_from_odom, compose(found.pose, inverse(odom)))


@pytest.mark.parametrize('beams', [90, 720, 2000])
def test_few_beams_or_many(room, beams):
    found = started(room).step(
        scan_from(START + [0.03, -0.02, 0.03], beams=beams, noise_m=0.01), BASE_FROM_SCAN,
        np.zeros(3), 0.0)
    assert found.state == TRACKED and found.beams == beams
    assert off(found.pose, START + [0.03, -0.02, 0.03])[0] < 0.006


def test_a_scanner_that_turns_clockwise_and_what_is_no_return(room):
    scan = scan_from(START, noise_m=0.01)
    ranges = np.roll(scan.ranges[::-1], 1)
    ranges[::9], ranges[1::9], ranges[2::9] = np.nan, 0.0, np.inf
    clockwise = Scan(ranges, math.pi, -math.tau / 360, 0.05, 8.0)
    found = started(room).step(clockwise, BASE_FROM_SCAN, np.zeros(3), 0.0)
    assert found.state == TRACKED and found.beams == 240
    assert off(found.pose, START)[0] < 0.006 and off(found.pose, START)[1] < 0.2


def test_one_beam_says_nothing(room):
    one = Scan(np.array([1.0]), 0.0, 0.0, 0.05, 8.0)
    found = started(room).step(one, BASE_FROM_SCAN, np.zeros(3), 0.0)
    assert found.state == BLIND
    np.testing.assert_allclose(found.pose, START)


@pytest.mark.parametrize('cells, resolution', [
    (np.zeros((60, 60), np.int8), 0.1),                                 # all free
    (np.where(np.arange(60)[:, None] == 50, 100, np.zeros((60, 60))).astype(np.int8), 0.1),
    (np.where(np.arange(6)[:, None] == 5, 100, np.zeros((6, 6))).astype(np.int8), 1.0)])
def test_maps_that_say_little_end_in_numbers_and_not_in_errors(cells, resolution):
    """All free, a single wall, cells of a metre: what cannot be known stays with odometry."""
    localizer = started(OccupancyGrid(cells, resolution, (-3.0, -3.0, 0.0)))
    for k in range(5):
        found = localizer.step(scan_from(START, seed=k), BASE_FROM_SCAN, np.zeros(3), 0.1 * k)
    assert np.isfinite(found.pose).all() and np.isfinite(found.covariance).all()
    assert off(found.pose, START)[0] < 0.5
