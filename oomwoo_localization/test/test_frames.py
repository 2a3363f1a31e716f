"""Plane poses and transforms obey the group laws and agree with each other."""
import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.frames import (
    compose,
    inverse,
    matrix_from_quaternion,
    matrix_from_xyzrpy,
    quaternion_from_yaw,
    transform_points,
    wrap_angle,
    yaw_from_quaternion,
)
import pytest

lengths = st.floats(-50, 50)
angles = st.floats(-20, 20)
poses = st.tuples(lengths, lengths, angles)


def same_pose(a, b, abs_=1e-9):
    """Tell whether two poses are the same, yaw modulo a turn."""
    return math.dist(a[:2], b[:2]) < abs_ and abs(math.remainder(a[2] - b[2], math.tau)) < abs_


@given(angles)
def test_wrapping_keeps_the_direction_within_a_half_turn(angle):
    wrapped = wrap_angle(angle)
    assert -math.pi <= wrapped <= math.pi
    assert math.cos(wrapped) == pytest.approx(math.cos(angle), abs=1e-9)
    assert math.sin(wrapped) == pytest.approx(math.sin(angle), abs=1e-9)


def test_wrapping_takes_arrays_and_puts_pi_at_the_lower_end():
    assert wrap_angle(np.array([0.0, 3 * math.pi, -math.pi])) == pytest.approx(
        [0.0, -math.pi, -math.pi])


def test_a_known_composition():
    # one metre ahead of a robot at (1, 2) that looks along +y
    assert compose((1, 2, math.pi / 2), (1, 0, math.pi / 2)) == pytest.approx([1, 3, -math.pi])
    assert transform_points((1, 2, math.pi / 2), [[1, 0], [0, 1]]) == pytest.approx(
        np.array([[1, 3], [0, 2]])
    )


@given(poses)
def test_a_pose_and_its_inverse_cancel(pose):
    assert same_pose(compose(pose, inverse(pose)), (0, 0, 0))
    assert same_pose(compose(inverse(pose), pose), (0, 0, 0))


@given(poses, poses, poses)
def test_composition_is_associative(a, b, c):
    assert same_pose(compose(compose(a, b), c), compose(a, compose(b, c)))


@given(poses, poses, st.tuples(lengths, lengths))
def test_points_go_through_two_poses_as_through_their_composition(a, b, point):
    stepwise = transform_points(a, transform_points(b, [point]))
    assert stepwise == pytest.approx(transform_points(compose(a, b), [point]), abs=1e-9)


@given(poses, st.tuples(lengths, lengths))
def test_plane_poses_agree_with_matrices_and_quaternions(pose, point):
    x, y, yaw = pose
    euler = matrix_from_xyzrpy(x, y, 0.3, yaw=yaw)
    quaternion = quaternion_from_yaw(yaw)
    assert matrix_from_quaternion(x, y, 0.3, *quaternion) == pytest.approx(euler, abs=1e-9)
    assert (euler @ [*point, 0, 1])[:2] == pytest.approx(
        transform_points(pose, [point])[0], abs=1e-9)
    error = math.remainder(yaw_from_quaternion(*quaternion) - yaw, math.tau)
    assert error == pytest.approx(0, abs=1e-9)


@given(angles, angles, angles)
def test_roll_pitch_and_yaw_turn_about_fixed_axes_in_that_order(roll, pitch, yaw):
    def about(axis, angle):
        c, s = math.cos(angle), math.sin(angle)
        a, b = [i for i in range(3) if i != axis]
        turn = np.eye(3)
        turn[a, a] = turn[b, b] = c
        turn[a, b], turn[b, a] = (-s, s) if axis != 1 else (s, -s)
        return turn

    expected = about(2, yaw) @ about(1, pitch) @ about(0, roll)
    matrix = matrix_from_xyzrpy(1, 2, 3, roll, pitch, yaw)
    assert matrix[:3, :3] == pytest.approx(expected, abs=1e-9)
    assert matrix[:3, 3].tolist() == [1, 2, 3]


@given(st.floats(1e-3, 1e3), angles)
def test_a_quaternion_is_normalised(scale, yaw):
    scaled = [scale * q for q in quaternion_from_yaw(yaw)]
    matrix = matrix_from_quaternion(0, 0, 0, *scaled)
    assert matrix[:3, :3] @ matrix[:3, :3].T == pytest.approx(np.eye(3), abs=1e-9)
    assert math.remainder(math.atan2(matrix[1, 0], matrix[0, 0]) - yaw, math.tau) == pytest.approx(
        0, abs=1e-9
    )


@pytest.mark.parametrize('broken', [
    (0, 0, 0, 0, 0, 0, 0), (0, 0, 0, math.nan, 0, 0, 1), (0, 0, 0, 0, 0, 0, math.inf),
    (math.nan, 0, 0, 0, 0, 0, 1), (0, -math.inf, 0, 0, 0, 0, 1)])
def test_what_is_no_transform_is_refused(broken):
    with pytest.raises(ValueError, match='not a transform'):
        matrix_from_quaternion(*broken)
