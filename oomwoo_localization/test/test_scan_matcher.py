"""The matcher against exact scans: no bias, outliers, free directions, the window."""
import math

from exact_rooms import BASE_FROM_SCAN, draw, MOUNT, PLACE, scan_from, sides
import numpy as np
from oomwoo_localization.frames import compose, wrap_angle
from oomwoo_localization.grids import GridError, OccupancyGrid
from oomwoo_localization.scan_matcher import MatcherSettings, ScanMatcher
from oomwoo_localization.scans import scan_points
import pytest

WIDE = (0.2, math.radians(10.0))


def loose(matcher, std_m=0.1, std_deg=6.0):
    """Return a prior (4, 4) that says little."""
    return np.diag([std_m ** 2, std_m ** 2, math.radians(std_deg) ** 2, matcher.offset_std_m ** 2])


def points_from(pose, **kwargs):
    """Return the ends of the beams in the base frame."""
    return scan_points(scan_from(pose, **kwargs), BASE_FROM_SCAN)[0][:, :2]


def error(match, truth):
    """Return (metres, degrees)."""
    away = match.pose - truth
    return math.hypot(away[0], away[1]), abs(math.degrees(wrap_angle(away[2])))


def trials(style, resolution, count=10):
    """Return errors (N, 3) and offsets (N,) for grids at random turns and shifts to the room."""
    rng = np.random.default_rng(3)
    errors, offsets = [], []
    for k in range(count):
        matcher = ScanMatcher(draw(resolution, rng.uniform(-3, 3), rng.uniform(0, 1, 2), style))
        truth = np.array([*(PLACE + rng.uniform(-0.4, 0.4, 2)), rng.uniform(-3, 3)])
        guess = truth + rng.uniform(-0.05, 0.05, 3)
        match = matcher.match(
            points_from(truth, noise_m=0.01, seed=k), guess, 0.0, loose(matcher), WIDE)
        errors.append([*(match.pose[:2] - truth[:2]), wrap_angle(match.pose[2] - truth[2])])
        offsets.append(match.offset_m)
    return np.array(errors), np.array(offsets)


@pytest.mark.parametrize('resolution', [0.025, 0.05])
@pytest.mark.parametrize('style, least, most', [('filled', -0.1, 0.2), ('lines', 0.2, 0.6)])
def test_no_bias_whichever_way_the_map_was_drawn(style, least, most, resolution):
    errors, offsets = trials(style, resolution)
    away = np.hypot(*errors[:, :2].T)
    assert np.sqrt((away ** 2).mean()) < 0.15 * resolution
    assert away.max() < 0.3 * resolution
    assert np.degrees(np.abs(errors[:, 2])).max() < 0.5
    # Noise hides a part of half a cell: an end beyond the line comes nearer to its other face.
    assert least < offsets.mean() / resolution < most


def test_a_wall_drawn_as_a_line_of_cells_needs_the_offset():
    """Fix the offset at zero and the pose is off by half a cell and more."""
    matcher = ScanMatcher(draw(0.05, 0.3, (0.3, 0.6), 'lines'))
    truth = np.array([*PLACE, 0.4])
    points = points_from(truth, noise_m=0.01)
    prior = loose(matcher)
    free = matcher.match(points, truth, 0.0, prior, WIDE)
    prior[3, 3] = 1e-12
    fixed = matcher.match(points, truth, 0.0, prior, WIDE)
    assert error(free, truth)[0] < 0.008 < 0.015 < error(fixed, truth)[0]


def test_the_window_is_searched_whole():
    matcher = ScanMatcher(draw())
    truth = np.array([*PLACE, 0.4])
    points = points_from(truth, noise_m=0.01)
    for dx, dy, turn in ((0.19, -0.19, 9.5), (-0.18, 0.1, -9.0), (0.0, 0.2, 0.0)):
        guess = truth + [dx, dy, math.radians(turn)]
        match = matcher.match(points, guess, 0.0, loose(matcher, 0.3, 20.0), WIDE)
        assert error(match, truth)[0] < 0.004 and error(match, truth)[1] < 0.2
        assert match.share > 0.97


def test_a_turned_map_gives_the_same_pose_and_covariance():
    truth = np.array([*PLACE, 0.4])
    points = points_from(truth)
    prior = np.diag([0.02 ** 2, 0.1 ** 2, 0.01, 0.01 ** 2])
    prior[0, 1] = prior[1, 0] = 0.0005
    guess = truth + [0.02, -0.03, 0.02]
    straight = ScanMatcher(draw(0.02)).match(points, guess, 0.0, prior, WIDE)
    turned = ScanMatcher(draw(0.02, 0.9)).match(points, guess, 0.0, prior, WIDE)
    np.testing.assert_allclose(straight.pose, turned.pose, atol=0.004)
    np.testing.assert_allclose(
        np.sqrt(np.diag(straight.covariance)), np.sqrt(np.diag(turned.covariance)), rtol=0.35)


def test_along_a_corridor_the_guess_decides_and_the_covariance_says_so():
    outline = np.array([[-15.0, -0.61], [15.0, -0.61], [15.0, 0.61], [-15.0, 0.61]])
    matcher = ScanMatcher(draw(outline=outline, holes=()))
    truth = np.array([0.3, 0.1, 0.2])
    points = points_from(truth, segments=sides(outline), noise_m=0.01)
    prior = np.diag([0.04 ** 2, 0.04 ** 2, 0.03 ** 2, 0.01 ** 2])
    match = matcher.match(points, truth + [0.05, 0.04, 0.03], 0.0, prior, (0.1, 0.1))
    assert match.pose[0] - truth[0] == pytest.approx(0.05, abs=0.01)
    assert abs(match.pose[1] - truth[1]) < 0.006       # one wall is drawn 5 mm off
    assert abs(math.degrees(match.pose[2] - truth[2])) < 0.1
    assert match.covariance[0, 0] == pytest.approx(0.04 ** 2, rel=0.1)
    assert match.covariance[1, 1] < 0.01 ** 2


@pytest.mark.parametrize('bearing', [0.0, 1.0, 2.5, -2.0])
def test_a_third_of_the_beams_on_something_new_changes_nothing(bearing):
    matcher = ScanMatcher(draw())
    truth = np.array([*PLACE, 0.4])
    scan = scan_from(truth, noise_m=0.01)
    angles = scan.angle_min + scan.angle_increment * np.arange(360)
    blocked = np.abs((angles - bearing + math.pi) % (2 * math.pi) - math.pi) < math.pi / 3
    wall = 0.55 / np.maximum(np.cos(angles - bearing), 0.3)
    free = scan_points(scan, BASE_FROM_SCAN)[0]
    scan.ranges[blocked] = np.minimum(scan.ranges[blocked], wall[blocked])
    points, _ = scan_points(scan, BASE_FROM_SCAN)
    prior = loose(matcher, 0.03, 2.0)
    before = matcher.match(free, truth + [0.02, 0.01, 0.02], 0.0, prior, (0.08, 0.08))
    after = matcher.match(points, truth + [0.02, 0.01, 0.02], 0.0, prior, (0.08, 0.08))
    assert error(after, before.pose)[0] < 0.008 and error(after, before.pose)[1] < 0.2
    assert after.share < before.share - 0.15


@pytest.mark.parametrize('style', ['filled', 'lines'])
def test_beams_through_walls_speak_against_a_pose_and_new_things_do_not(style):
    matcher = ScanMatcher(draw(style=style))
    truth = np.array([*PLACE, 0.4])
    points = points_from(truth)
    assert matcher.crossed(points, MOUNT[:2], truth) == 0.0
    assert matcher.crossed(points * 0.5, MOUNT[:2], truth) == 0.0
    behind = compose(truth, (0.0, 0.0, math.pi))
    assert matcher.crossed(points, MOUNT[:2], behind) > 0.05


def test_two_beams_are_enough_not_to_fail():
    matcher = ScanMatcher(draw())
    truth = np.array([*PLACE, 0.4])
    match = matcher.match(points_from(truth)[:2], truth, 0.0, loose(matcher), WIDE)
    assert np.isfinite(match.pose).all() and np.isfinite(match.covariance).all()


def test_ends_off_the_map_have_no_say():
    matcher = ScanMatcher(draw())
    truth = np.array([*PLACE, 0.4])
    points = points_from(truth)
    far = np.vstack([points, points[:90] * 50.0])
    match = matcher.match(far, truth + [0.03, 0.0, 0.0], 0.0, loose(matcher), WIDE)
    assert error(match, truth)[0] < 0.004


def test_a_map_without_anything_known_is_refused():
    with pytest.raises(GridError, match='every cell is unknown'):
        ScanMatcher(OccupancyGrid(np.full((20, 20), -1, np.int8), 0.05))


def test_settings_of_many_beams_thin_out_evenly():
    matcher = ScanMatcher(draw(), MatcherSettings(most_beams=90))
    truth = np.array([*PLACE, 0.4])
    match = matcher.match(points_from(truth, beams=2000), truth, 0.0, loose(matcher), WIDE)
    assert error(match, truth)[0] < 0.005
