"""What is a gap, how wide, where its middle runs, and where it ends: scan by scan."""
import math

import numpy as np
from oomwoo_clean.contour_estimator import look_around, measure_surface, nearest_beam, Surface
from oomwoo_clean.contour_settings import FollowerSettings
from oomwoo_clean.narrow_gap import as_wall, cut_at, heights, NarrowGap, way_past
from oomwoo_localization.robot import load_robot
import pytest
from synthetic_scans import corner, mount, scan_of, wall

MOUNT = mount()
ROBOT = load_robot()
RIGHT, LEFT = math.radians(-90.0), math.radians(90.0)


def seen(segments=(), circles=(), **how):
    """Return the surroundings and the surface that would be followed."""
    around = look_around(scan_of(segments, circles, **how), MOUNT, reach_m=1.2)
    return around, measure_surface(around, nearest_beam(around))


def look(segments=(), circles=(), gap=None, **how):
    """Return what a fresh NarrowGap says of a scan."""
    around, surface = seen(segments, circles, **how)
    return (gap or NarrowGap(ROBOT, FollowerSettings())).look(around, surface, 0.15)


@pytest.mark.parametrize('width', [0.375, 0.3839, 0.42, 0.45])
@pytest.mark.parametrize('off', [-0.008, 0.0, 0.008])
def test_two_walls_are_a_gap_with_its_middle(width, off):
    gap = NarrowGap(ROBOT, FollowerSettings())
    passage = look([wall(width / 2 + off, RIGHT), wall(width / 2 - off, LEFT)], gap=gap)
    assert passage.standoff_m == pytest.approx(width / 2, abs=1e-3)
    assert gap.standoff_m == passage.standoff_m and gap.inside
    assert passage.off_m == pytest.approx(off, abs=1e-3)
    assert passage.lead_rad == pytest.approx(0.0, abs=1e-3)
    assert passage.body_m < ROBOT.body.radius + 0.05


@pytest.mark.parametrize('noise', [0.01, 0.02])
def test_its_width_is_read_to_the_millimetre_on_average(noise):
    rng = np.random.default_rng(7)
    offs, widths = [], []
    for _ in range(60):
        gap = NarrowGap(ROBOT, FollowerSettings())
        passage = look([wall(0.195, RIGHT), wall(0.189, LEFT)], gap=gap, noise_m=noise, rng=rng)
        if passage is not None:
            offs.append(passage.off_m)
            widths.append(gap._width_m)
    assert len(offs) > 50
    assert np.mean(offs) == pytest.approx(0.003, abs=0.002)
    assert np.mean(widths) == pytest.approx(0.384, abs=0.004)


@pytest.mark.parametrize('width', [0.33, 0.349, 0.365, 0.53, 0.8])
def test_too_narrow_and_too_wide_are_none(width):
    gap = NarrowGap(ROBOT, FollowerSettings())
    assert look([wall(width / 2, RIGHT), wall(width / 2, LEFT)], gap=gap) is None
    assert not gap.inside and gap.standoff_m == 0.23


@pytest.mark.parametrize('turn_deg', [-20.0, 0.0, 20.0])
@pytest.mark.parametrize('ahead', [0.20, 0.23, 0.27])
def test_an_inside_corner_is_none(turn_deg, ahead):
    turn = math.radians(turn_deg)
    assert look([wall(0.23, RIGHT + turn), wall(ahead, turn)]) is None
    assert look([wall(0.2, RIGHT + turn), wall(ahead, turn)]) is None


def test_something_between_makes_it_none():
    legs = [(0.12, -0.215, 0.02), (0.12, 0.215, 0.02)]
    assert look(circles=legs) is not None
    assert look(circles=[*legs, (0.22, 0.0, 0.02)]) is None


def test_two_legs_are_a_gap_that_lies_ahead():
    around, surface = seen(circles=[(0.12, -0.217, 0.025), (0.12, 0.217, 0.025)])
    passage = NarrowGap(ROBOT, FollowerSettings()).look(around, surface, 0.15)
    assert passage.standoff_m == pytest.approx(0.192, abs=0.006)
    # Its middle runs straight ahead, and the robot points there when it has this lead.
    assert passage.lead_rad == pytest.approx(surface.bearing_rad + math.pi / 2, abs=0.05)
    behind = Surface(0.24, math.radians(-120.0), 40.0, 0, 8)
    other = Surface(0.24, math.radians(120.0), 40.0, 20, 28)
    assert way_past(behind, other) == pytest.approx(
        0.12 * math.cos(math.radians(30.0)), abs=1e-6)


def test_walls_that_close_in_lead_towards_each_other():
    half = math.radians(12.0)
    passage = look([wall(0.2, RIGHT + half), wall(0.2, LEFT - half)])
    assert passage.lead_rad == pytest.approx(half, abs=math.radians(1.0))
    assert passage.off_m == pytest.approx(0.0, abs=1e-3)


def closing(half_deg):
    """Return two walls that close in, 0.40 m apart beside the robot."""
    half = math.radians(half_deg)
    away = 0.40 / (1.0 + math.cos(2.0 * half))
    return [wall(away, RIGHT + half), wall(away, LEFT - half)]


@pytest.mark.parametrize('half_deg, is_one', [(12.0, True), (20.0, True), (28.0, False)])
def test_what_closes_in_steeply_is_none(half_deg, is_one):
    gap = NarrowGap(ROBOT, FollowerSettings())
    passage = look(closing(half_deg), gap=gap)
    assert (passage is not None) == is_one == gap.inside


def test_the_faster_it_closes_in_the_slower_it_is_driven_into():
    speeds = []
    for half_deg in (0.0, 6.0, 12.0, 20.0):
        gap = NarrowGap(ROBOT, FollowerSettings())
        for _ in range(2):
            look(closing(half_deg), gap=gap)
        speeds.append(gap.fastest_mps)
    assert speeds[0] > 1.0 and speeds[0] > speeds[1] > speeds[2] > speeds[3]
    assert speeds[2] * 2.0 * math.sin(math.radians(12.0)) == pytest.approx(0.03, rel=0.1)


def test_a_turn_that_was_cut_open_elsewhere_is_the_same_turn():
    around, surface = seen([wall(0.2, RIGHT), wall(0.2, LEFT)])
    turned, shift = cut_at(around, surface.bearing_rad)
    assert np.array_equal(np.roll(turned.distance, shift), around.distance)
    # The wall on the left is one piece now, on both sides of where the scan was cut.
    side = np.abs(turned.points[:, 0]) < 0.1
    assert len(np.unique(turned.run[side & (turned.points[:, 1] > 0.15)])) == 1


def test_a_wall_is_a_line_and_a_leg_is_not():
    around, surface = seen([wall(0.2, RIGHT)])
    assert as_wall(around, surface).curvature_per_m == 0.0
    assert as_wall(around, surface).distance_m == pytest.approx(0.2, abs=1e-3)
    around, surface = seen(circles=[(0.05, -0.25, 0.04)])
    assert as_wall(around, surface) is surface
    around, surface = seen(corner((0.0, -0.2), RIGHT))
    assert as_wall(around, surface) is surface


@pytest.mark.parametrize('curvature', [0.0, 5.0, 20.0, -3.0])
def test_heights_over_a_circle(curvature):
    surface = Surface(0.25, math.radians(-70.0), curvature, 0, 9)
    towards = np.array([math.cos(surface.bearing_rad), math.sin(surface.bearing_rad)])
    along = np.array([-towards[1], towards[0]])
    assert heights(np.zeros((1, 2)), surface)[0] == pytest.approx(0.25)
    if curvature:
        middle = (0.25 + 1.0 / curvature) * towards
        angle = np.linspace(-0.5, 0.5, 5)
        on = middle - (np.cos(angle)[:, None] * towards
                       - np.sin(angle)[:, None] * along) / curvature
    else:
        on = 0.25 * towards + np.linspace(-0.2, 0.2, 5)[:, None] * along
    assert np.allclose(heights(on, surface), 0.0, atol=1e-9)
    assert np.allclose(heights(on - 0.05 * towards, surface) > 0.03, True)


def slot(end_m, heading_deg=0.0):
    """Return the surroundings in a slot of 0.384 m that ends ``end_m`` before the robot."""
    turn = -math.radians(heading_deg)
    c, s = math.cos(turn), math.sin(turn)
    corners = np.array([(-0.6, -0.192), (end_m, -0.192), (end_m, 0.192), (-0.6, 0.192)])
    corners = corners @ np.array([[c, s], [-s, c]])
    return seen(list(zip(corners[:-1], corners[1:])))


def test_turns_where_the_gap_ends_until_the_way_is_free():
    gap = NarrowGap(ROBOT, FollowerSettings())
    around, surface = slot(0.35)
    assert gap.look(around, surface, 0.15) is not None
    assert not gap.must_turn(around, True)
    around, surface = slot(0.195)
    assert [gap.must_turn(around, True) for _ in range(3)] == [False, False, True]
    for heading_deg in (20.0, 60.0, 90.0, 120.0, 150.0):
        assert gap.must_turn(slot(0.195, heading_deg)[0], True), heading_deg
        gap.moved(0.0, 0.5)
    assert not gap.must_turn(slot(0.195, 179.0)[0], True)
    assert not gap.wedged


def test_one_scan_of_noise_is_no_end_of_a_gap():
    gap = NarrowGap(ROBOT, FollowerSettings())
    ends, free = slot(0.195), slot(0.6)
    gap.look(*free, 0.15)
    for _ in range(5):
        assert not gap.must_turn(ends[0], True)
        assert not gap.must_turn(ends[0], True)
        assert not gap.must_turn(free[0], False)


def test_says_that_it_is_wedged_after_a_whole_turn():
    gap = NarrowGap(ROBOT, FollowerSettings())
    around, surface = slot(0.195)
    gap.look(around, surface, 0.15)
    for _ in range(2):
        gap.must_turn(around, True)
    for _ in range(60):
        assert gap.must_turn(around, True)
        gap.moved(0.0, 0.12)
    assert not gap.wedged
    for _ in range(10):
        gap.moved(0.0, 0.12)
    assert gap.wedged


def test_a_touch_is_eased_back_from_three_in_a_row_turn_it_back():
    gap = NarrowGap(ROBOT, FollowerSettings())
    around, surface = slot(0.6)
    gap.look(around, surface, 0.15)
    assert 0.01 < gap.touched() < 0.03 and not gap.must_turn(around, False)
    gap.moved(0.05, 0.0)
    gap.look(around, surface, 0.15)
    gap.touched()
    assert not gap.must_turn(around, False)
    gap.touched()
    assert gap.must_turn(around, False)              # though nothing is seen in its way
    gap.moved(0.0, math.radians(160.0))
    assert not gap.must_turn(around, False)


def test_a_touch_tells_that_a_doubtful_gap_is_too_narrow():
    gap = NarrowGap(ROBOT, FollowerSettings())
    around, surface = seen([wall(0.186, RIGHT), wall(0.186, LEFT)])
    gap.look(around, surface, 0.15)
    assert gap.touched() > 0.03
    assert gap.must_turn(around, False)


def test_past_a_gap_the_standoff_comes_back_along_the_way():
    gap = NarrowGap(ROBOT, FollowerSettings())
    look([wall(0.192, RIGHT), wall(0.192, LEFT)], gap=gap)
    assert gap.standoff_m == pytest.approx(0.192, abs=1e-3)
    for _ in range(9):
        gap.moved(0.01, 0.0)
    assert gap.inside and gap.standoff_m == pytest.approx(0.192, abs=1e-3)
    gap.moved(0.02, 0.0)
    assert not gap.inside and gap.squeezed
    before = gap.standoff_m
    gap.moved(0.04, 0.0)
    assert gap.standoff_m - before == pytest.approx(0.25 * 0.04)
    for _ in range(20):
        gap.moved(0.02, 0.0)
    assert gap.standoff_m == 0.23 and not gap.squeezed


def legs(x, apart=0.384):
    """Return two legs of 2 cm, ``apart`` between them, ``x`` before the robot."""
    return [(x, -apart / 2 - 0.02, 0.02), (x, apart / 2 + 0.02, 0.02)]


@pytest.mark.parametrize('entered', [True, False])
def test_who_turned_away_before_a_gap_is_not_squeezed_by_it(entered):
    gap = NarrowGap(ROBOT, FollowerSettings())
    assert look(circles=legs(0.0 if entered else 0.11), gap=gap) is not None
    gap.moved(0.05, 0.3)
    passage = look(circles=legs(-0.08), gap=gap)          # past it, as its far side reads, too
    assert (passage is not None) == gap.inside == entered
    assert (gap.standoff_m < 0.21) == entered

    gap = NarrowGap(ROBOT, FollowerSettings())
    look(circles=legs(0.0 if entered else 0.11), gap=gap)
    gap.moved(0.12, 0.0)                                  # not seen again
    assert not gap.inside and gap.squeezed == entered


def test_the_followed_side_of_a_gap_ends_at_its_middle():
    gap = NarrowGap(ROBOT, FollowerSettings())
    assert gap.followed_to_rad == math.inf
    look([wall(0.192, RIGHT), wall(0.192, LEFT)], gap=gap)
    assert gap.followed_to_rad == pytest.approx(0.0, abs=0.01)
    gap.moved(0.01, 0.2)
    assert gap.followed_to_rad == pytest.approx(-0.2, abs=0.01)
    for _ in range(3):
        gap.must_turn(slot(0.195)[0], True)
    assert gap.turning and gap.followed_to_rad == math.inf


def test_walls_that_are_hardly_far_enough_apart_are_driven_between_slowly():
    for width, slow in ((0.375, True), (0.40, False)):
        gap = NarrowGap(ROBOT, FollowerSettings())
        for _ in range(2):
            look([wall(width / 2, RIGHT), wall(width / 2, LEFT)], gap=gap)
        assert (gap.fastest_mps == 0.05) == slow
    for _ in range(2):
        look(circles=legs(0.0, 0.375), gap=gap)
    assert gap.fastest_mps > 0.05


@pytest.mark.parametrize('between, turns', [
    ({'circles': legs(0.0, 0.352)}, True),
    ({'segments': [wall(0.195, RIGHT), wall(0.195, LEFT)]}, False)])
def test_a_corner_does_not_tell_that_a_gap_is_wide_enough(between, turns):
    gap = NarrowGap(ROBOT, FollowerSettings())
    look([wall(0.186, RIGHT), wall(0.186, LEFT)], gap=gap)
    said = []
    for _ in range(8):
        for scene in ({'segments': [wall(0.174, RIGHT), wall(0.174, LEFT)]}, between):
            look(gap=gap, **scene)
            said.append(gap.must_turn(slot(0.6)[0], False))
    assert any(said) == turns


def test_walls_far_enough_apart_outweigh_corners_that_read_too_near():
    gap = NarrowGap(ROBOT, FollowerSettings())
    look([wall(0.192, RIGHT), wall(0.192, LEFT)], gap=gap)
    for _ in range(20):
        look(circles=legs(0.0, 0.350), gap=gap)
        assert not gap.must_turn(slot(0.6)[0], False)
    assert gap._width_m < 0.360
    for _ in range(4):
        look([wall(0.192, RIGHT), wall(0.192, LEFT)], gap=gap)
        assert not gap.must_turn(slot(0.6)[0], False)
