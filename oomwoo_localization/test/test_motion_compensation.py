"""Scans taken while moving are put right, against exact scans from a moving scanner."""
import math

from exact_rooms import BASE_FROM_SCAN, PLACE, ROOM, scan_from
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.frames import compose, transform_points
from oomwoo_localization.motion_compensation import (
    compensated_points,
    poses_along,
    turn_duration_s,
)
from oomwoo_localization.scans import scan_points
import pytest

MOTIONS = st.tuples(st.floats(-0.5, 0.5), st.floats(-0.2, 0.2), st.floats(-3.0, 3.0))


def wall_gap(points):
    """Return the distance (N,) of points to the room's walls."""
    start, along = ROOM[:, 0], ROOM[:, 1] - ROOM[:, 0]
    away = points[:, None, :] - start
    share = np.clip((away * along).sum(axis=2) / (along ** 2).sum(axis=1), 0, 1)
    return np.hypot(*np.moveaxis(away - share[..., None] * along, 2, 0)).min(axis=1)


@given(MOTIONS)
def test_two_halves_of_a_motion_make_the_whole(motion):
    half, whole = poses_along(motion, np.array([0.5, 1.0]))
    np.testing.assert_allclose(compose(half, half), compose(whole, (0, 0, 0)), atol=1e-9)
    np.testing.assert_allclose(whole, motion, atol=1e-9)


@pytest.mark.parametrize('linear, angular', [(0.3, 0.0), (0.0, 2.55), (0.2, -1.5)])
def test_returns_lie_on_the_walls_again(linear, angular):
    start, turn_s = np.array([*PLACE, 0.4]), 0.2
    motion = poses_along((0, 0, angular * turn_s), np.array([1.0]))[0]
    motion[0] = linear * turn_s * np.sinc(angular * turn_s / 2 / math.pi)
    motion[:2] = motion[0] * np.array([math.cos(motion[2] / 2), math.sin(motion[2] / 2)])

    def at(share):
        return compose(start, poses_along(motion, np.array([share]))[0])

    scan = scan_from(start, beams=180, motion=at, turn_s=turn_s)
    odom = np.array([5.0, -2.0, 1.0])
    points, indices = compensated_points(scan, BASE_FROM_SCAN, odom, compose(odom, motion))
    assert wall_gap(transform_points(start, points[:, :2])).max() < 1e-6
    smeared, _ = scan_points(scan, BASE_FROM_SCAN)
    assert wall_gap(transform_points(start, smeared[:, :2])).max() > 0.02
    assert len(indices) == 180


def test_a_scan_taken_at_once_is_left_alone():
    scan = scan_from((*PLACE, 0.0))
    assert turn_duration_s(scan) == 0.0
    points, indices = compensated_points(scan, BASE_FROM_SCAN, np.zeros(3), np.array([1.0, 0, 0]))
    expected, expected_indices = scan_points(scan, BASE_FROM_SCAN)
    np.testing.assert_array_equal(points, expected)
    np.testing.assert_array_equal(indices, expected_indices)


def test_without_the_end_pose_nothing_is_made_up():
    scan = scan_from((*PLACE, 0.0), turn_s=0.1)
    assert turn_duration_s(scan) == pytest.approx(0.1)
    points, _ = compensated_points(scan, BASE_FROM_SCAN, np.zeros(3), None)
    np.testing.assert_array_equal(points, scan_points(scan, BASE_FROM_SCAN)[0])
