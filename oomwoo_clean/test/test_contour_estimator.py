"""The estimator against exact scans: what it reports must be where the surface is."""
import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.contour_estimator import (
    fit_circle,
    grow_surface,
    LEFT,
    look_around,
    measure_surface,
    nearest_beam,
    RIGHT,
    von_neumann_ratio,
)
from oomwoo_clean.front_guard import polar_point
import pytest
from synthetic_scans import corner, mount, scan_of, wall

MOUNTS = st.builds(
    mount, x=st.floats(-0.08, 0.08), y=st.floats(-0.05, 0.05),
    yaw=st.sampled_from([0.0, math.pi, math.pi / 2, -2.5]), roll=st.sampled_from([0.0, math.pi]))
COUNTING = st.fixed_dictionaries({
    'beams': st.sampled_from([180, 360, 720, 2000]),
    'first_rad': st.sampled_from([-math.pi, 0.0, 1.234]), 'clockwise': st.booleans()})


def measured(scan, base_from_scan, side=RIGHT):
    """Return distance and bearing (degrees, base_footprint) of the surface, and the Surface."""
    around = look_around(scan, base_from_scan, side)
    seed = nearest_beam(around)
    assert seed is not None
    surface = measure_surface(around, seed)
    sign = -1.0 if side == LEFT else 1.0
    return surface.distance_m, sign * math.degrees(surface.bearing_rad), surface


def off_deg(a, b):
    """Return the angle between two bearings in degrees."""
    return abs((a - b + 180.0) % 360.0 - 180.0)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.19, 0.7), st.floats(-150.0, 0.0), MOUNTS, COUNTING)
def test_a_wall_is_where_it_is_whatever_the_mount(distance, bearing, base_from_scan, counting):
    segment = wall(distance, math.radians(bearing))
    scan = scan_of([segment], base_from_scan=base_from_scan, **counting)
    found, towards, surface = measured(scan, base_from_scan)
    assert found == pytest.approx(distance, abs=1e-4)
    assert off_deg(towards, bearing) < 0.1
    assert abs(surface.curvature_per_m) < 0.01


@settings(max_examples=60, deadline=None)
@given(st.floats(0.19, 0.4), st.floats(-140.0, -10.0), st.floats(0.12, 2.0), MOUNTS, COUNTING)
def test_a_round_thing_is_where_it_is_and_as_round(
        distance, bearing, radius, base_from_scan, counting):
    middle = polar_point(distance + radius, math.radians(bearing))
    scan = scan_of(circles=[(*middle, radius)], base_from_scan=base_from_scan, **counting)
    found, towards, surface = measured(scan, base_from_scan)
    assert found == pytest.approx(distance, abs=2e-3)
    assert off_deg(towards, bearing) < 1.0
    assert surface.curvature_per_m == pytest.approx(1.0 / radius, rel=0.1)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.19, 0.5), st.floats(-140.0, -10.0), st.floats(0.005, 0.03), COUNTING)
def test_a_thin_leg_is_taken_as_a_post(distance, bearing, radius, counting):
    middle = polar_point(distance + radius, math.radians(bearing))
    scan = scan_of(circles=[(*middle, radius)], **counting)
    around = look_around(scan, mount())
    if len(around.points) == 0:
        return                                     # between two beams: nothing to measure
    found, towards, surface = measured(scan, mount())
    # A beam more or less is all that tells its width.
    beam = 2.0 * math.pi / counting['beams'] * (distance + 0.1)
    assert abs(found - distance) < 0.5 * radius + beam / 2
    assert off_deg(towards, bearing) < max(0.5, math.degrees(beam / distance))
    assert surface.curvature_per_m > 1.0 / (radius + 1.5 * beam)


def test_a_bay_bends_the_other_way():
    scan = scan_of(circles=[(0.0, 0.17, 0.40)])
    found, towards, surface = measured(scan, mount())
    assert found == pytest.approx(0.23, abs=1e-4)
    assert towards == pytest.approx(-90.0, abs=0.1)
    assert surface.curvature_per_m == pytest.approx(-2.5, rel=0.01)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.2, 0.5), st.floats(-150.0, 0.0), COUNTING)
def test_the_left_side_is_the_mirror_image(distance, bearing, counting):
    scan = scan_of([wall(distance, math.radians(-bearing))], **counting)
    found, towards, _ = measured(scan, mount(), LEFT)
    assert found == pytest.approx(distance, abs=1e-4)
    assert off_deg(towards, -bearing) < 0.1


def test_measured_from_the_body_and_not_from_the_scanner():
    leg = (-0.05, -0.30, 0.05)                     # behind the scanner by 12 cm
    found, towards, _ = measured(scan_of(circles=[leg]), mount())
    assert found == pytest.approx(math.hypot(0.05, 0.30) - 0.05, abs=2e-3)
    assert towards == pytest.approx(math.degrees(math.atan2(-0.30, -0.05)), abs=0.5)


@pytest.mark.parametrize('angle, most', [(60.0, 0.015), (90.0, 0.0065), (120.0, 0.0045)])
def test_a_sharp_corner_is_not_reported_much_farther_than_its_tip(angle, most):
    """The tip falls between two beams, and a circle rounds it off: every way it can be turned."""
    for beams in (360, 720):
        for turned in np.arange(-35.0, 35.0, 0.25):
            segments = corner((0.0, -0.23), math.radians(-90.0 + turned), math.radians(angle))
            found, _, _ = measured(scan_of(segments, beams=beams), mount())
            assert found < 0.23 + most, (beams, turned)


def test_noise_does_not_pull_the_surface_nearer():
    """The nearest of noisy beams is several centimetres too near; what is measured must not be."""
    rng = np.random.default_rng(3)
    for noise, most in ((0.01, 0.002), (0.02, 0.005)):
        errors, nearest = [], []
        for _ in range(150):
            scan = scan_of([wall(0.23, math.radians(-90.0))], noise_m=noise, dropout=0.01, rng=rng)
            around = look_around(scan, mount())
            surface = measure_surface(around, nearest_beam(around))
            errors.append(surface.distance_m - 0.23)
            nearest.append(np.hypot(*around.points.T).min() - 0.23)
        assert abs(np.mean(errors)) < most
        assert np.std(errors) < 0.4 * noise
        assert np.mean(nearest) < -1.5 * noise     # what the raw minimum would make of it


def test_bearing_stays_calm_under_noise():
    rng = np.random.default_rng(4)
    bearings = []
    for _ in range(150):
        scan = scan_of([wall(0.23, math.radians(-90.0))], noise_m=0.02, dropout=0.02, rng=rng)
        bearings.append(measured(scan, mount())[1])
    assert np.std(bearings) < 4.0
    assert np.percentile(np.abs(np.array(bearings) + 90.0), 99) < 30.0


def test_the_next_wall_does_not_tilt_an_inside_corner():
    segments = [((-3.0, -0.23), (0.25, -0.23)), ((0.25, -0.23), (0.25, 3.0))]
    found, towards, _ = measured(scan_of(segments), mount())
    assert found == pytest.approx(0.23, abs=1e-3)
    assert towards == pytest.approx(-90.0, abs=0.5)


def test_a_surface_ends_where_the_range_jumps():
    segments = [((-0.10, -0.23), (0.05, -0.23)), ((-2.0, -0.45), (2.0, -0.45))]
    around = look_around(scan_of(segments), mount())
    first, last = grow_surface(around, nearest_beam(around))
    assert np.all(np.abs(around.points[first:last + 1, 1] + 0.23) < 1e-6)


def test_a_missing_beam_does_not_end_a_surface():
    scan = scan_of([wall(0.23, math.radians(-90.0))])
    scan.ranges[88:91] = np.inf
    around = look_around(scan, mount())
    first, last = grow_surface(around, nearest_beam(around))
    assert math.dist(around.points[first], around.points[last]) > 0.28


@pytest.mark.parametrize('nothing', [math.nan, math.inf, -math.inf, 0.0, 9.0])
def test_no_returns_are_no_points(nothing):
    scan = scan_of([wall(0.23, math.radians(-90.0))])
    whole = len(look_around(scan, mount()).points)
    scan.ranges[60:80] = nothing
    around = look_around(scan, mount())
    assert len(around.points) == whole - 20
    assert np.isfinite(around.points).all()


def test_the_floor_under_a_tilted_scanner_is_no_surface():
    nose_down = mount() @ np.array([
        [math.cos(0.07), 0.0, math.sin(0.07), 0.0], [0.0, 1.0, 0.0, 0.0],
        [-math.sin(0.07), 0.0, math.cos(0.07), 0.0], [0.0, 0.0, 0.0, 1.0]])
    scan = scan_of(circles=[(0.0, 0.0, 0.9)])
    heights_before = look_around(scan, mount(z=0.06)).points
    tilted = nose_down.copy()
    tilted[2, 3] = 0.06
    around = look_around(scan, tilted)
    assert len(heights_before) == 360 and 0 < len(around.points) < 360
    assert around.points[:, 0].max() < 0.7         # ahead the beams have come down to the floor


def test_points_on_a_line_and_on_a_circle_fit_exactly():
    x = np.linspace(-0.15, 0.15, 31)
    line = fit_circle(np.stack([x, np.full(31, -0.3)], axis=1))
    assert line.from_origin() == pytest.approx((0.3, -math.pi / 2, 0.0), abs=1e-9)
    angles = np.linspace(0.3, 1.2, 20)
    ring = np.stack([0.5 + 0.2 * np.cos(angles), -0.1 + 0.2 * np.sin(angles)], axis=1)
    circle = fit_circle(ring)
    assert circle.from_origin()[0] == pytest.approx(math.hypot(0.5, 0.1) - 0.2, abs=1e-9)
    assert circle.from_origin()[2] == pytest.approx(5.0, rel=1e-6)
    assert np.abs(circle.heights(ring)).max() < 1e-9
    assert circle.heights(np.array([[0.0, 0.0]]))[0] == pytest.approx(math.hypot(0.5, 0.1) - 0.2)


def test_identical_points_have_no_circle():
    assert fit_circle(np.full((9, 2), 0.2)) is None


def test_von_neumann_ratio_tells_shape_from_noise():
    rng = np.random.default_rng(1)
    assert von_neumann_ratio(rng.standard_normal(400)) == pytest.approx(1.0, abs=0.15)
    assert von_neumann_ratio(np.sin(np.linspace(0.0, 6.0, 60))) < 0.05
    assert von_neumann_ratio(np.zeros(20)) == 1.0
