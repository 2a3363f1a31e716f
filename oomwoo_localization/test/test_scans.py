"""Which beams are returns and where they are, for any header and any mount."""
import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.frames import matrix_from_xyzrpy
from oomwoo_localization.scans import beam_directions, Scan, scan_points, ScanError
import pytest

AHEAD = matrix_from_xyzrpy(0.0745, 0.0, 0.088)


def scan(ranges, angle_min=0.0, angle_increment=None, range_min=0.05, range_max=8.0):
    """Return a scan over a full circle."""
    ranges = np.asarray(ranges, dtype=float)
    step = math.tau / max(len(ranges), 1) if angle_increment is None else angle_increment
    return Scan(ranges, angle_min, step, range_min, range_max)


@pytest.mark.parametrize(('value', 'valid'), [
    (math.nan, False), (math.inf, False), (-math.inf, False), (0.0, False), (-1.0, False),
    (0.049, False), (0.05, True), (7.999, True), (8.0, False), (9.0, False)])
def test_what_counts_as_a_return(value, valid):
    assert scan([value, 1.0]).valid().tolist() == [valid, True]


def test_zero_is_no_return_even_where_the_header_allows_it():
    assert scan([0.0, 1.0], range_min=0.0).valid().tolist() == [False, True]


@pytest.mark.parametrize('ranges', [[], [math.nan] * 90, [0.0] * 360, [math.inf]])
def test_a_scan_without_returns_gives_no_points(ranges):
    points, indices = scan_points(scan(ranges), AHEAD)
    assert points.shape == (0, 3) and indices.shape == (0,)


def test_a_single_beam_may_have_no_increment():
    one_beam = scan([2.0], angle_min=math.pi / 2, angle_increment=0.0).check()
    points, indices = scan_points(one_beam, AHEAD)
    assert points == pytest.approx(np.array([[0.0745, 2.0, 0.088]])) and indices.tolist() == [0]


def test_beams_are_counted_through_the_gaps():
    points, indices = scan_points(scan([1.0, math.nan, 2.0, 0.0]), AHEAD)
    assert indices.tolist() == [0, 2]
    assert points == pytest.approx(np.array([[1.0745, 0, 0.088], [-1.9255, 0, 0.088]]), abs=1e-12)


@given(
    st.integers(1, 2000), st.floats(-7, 7),
    st.floats(-0.1, 0.1).filter(lambda step: abs(step) > 1e-6))
def test_beam_i_lies_at_angle_min_plus_i_increments(count, angle_min, increment):
    directions = beam_directions(scan(np.ones(count), angle_min, increment))
    last = angle_min + (count - 1) * increment
    assert directions.shape == (count, 2)
    assert directions[-1] == pytest.approx([math.cos(last), math.sin(last)], abs=1e-9)


@given(st.lists(st.floats(0.1, 7.9), min_size=2, max_size=50), st.floats(-3, 3))
def test_a_clockwise_scanner_sees_the_same_points_in_reverse(ranges, first):
    step = math.tau / len(ranges)
    forwards, _ = scan_points(scan(ranges, first, step), AHEAD)
    backwards, _ = scan_points(scan(ranges[::-1], first + step * (len(ranges) - 1), -step), AHEAD)
    assert backwards[::-1] == pytest.approx(forwards, abs=1e-9)


@given(st.lists(st.floats(0.1, 7.9), min_size=1, max_size=50), st.floats(-7, 7))
def test_a_turned_mount_needs_only_its_transform(ranges, turned):
    straight, _ = scan_points(scan(ranges, angle_min=0.3), AHEAD)
    mount = matrix_from_xyzrpy(0.0745, 0.0, 0.088, yaw=turned)
    again, _ = scan_points(scan(ranges, angle_min=0.3 - turned), mount)
    assert again == pytest.approx(straight, abs=1e-9)


def test_a_scanner_mounted_upside_down_turns_the_other_way():
    upright, _ = scan_points(scan([1.0, 2.0, 3.0], 0.2, 0.1), AHEAD)
    flipped = matrix_from_xyzrpy(0.0745, 0.0, 0.088, roll=math.pi)
    again, _ = scan_points(scan([1.0, 2.0, 3.0], -0.2, -0.1), flipped)
    assert again == pytest.approx(upright, abs=1e-9)


def test_a_tilted_scanner_sees_the_floor_where_it_is():
    pitch = math.radians(4.0)
    points, _ = scan_points(
        scan([0.088 / math.sin(pitch)]), matrix_from_xyzrpy(0, 0, 0.088, pitch=pitch))
    assert points[0] == pytest.approx([0.088 / math.tan(pitch), 0, 0], abs=1e-9)


@pytest.mark.parametrize(('change', 'words'), [
    ({'angle_min': math.nan}, 'angle_min is nan'),
    ({'angle_increment': math.inf}, 'angle_increment is inf'),
    ({'angle_increment': 0.0}, 'angle_increment is 0'),
    ({'range_max': math.nan}, 'range_max is nan'),
    ({'range_min': 9.0}, 'range_max 8.0 is not above range_min 9.0'),
    ({'range_max': 0.05}, 'is not above')])
def test_a_header_that_makes_no_sense_is_refused_by_field(change, words):
    with pytest.raises(ScanError, match=words):
        scan([1.0, 2.0], **change).check()


def test_an_infinite_reach_is_refused_only_as_a_header_and_inf_stays_no_return():
    with pytest.raises(ScanError, match='range_max is inf'):
        scan([1.0, math.inf], range_max=math.inf).check()


def test_the_cached_directions_cannot_be_spoilt():
    with pytest.raises(ValueError, match='read-only'):
        beam_directions(scan([1.0, 2.0]))[0, 0] = 5.0
