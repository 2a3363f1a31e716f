"""
Rigid transforms in the plane and in space (REP-103: x forward, y left, z up, radians).

A pose in the plane is an array ``(x, y, yaw)``; a transform in space is a 4 x 4 matrix.
``a_from_b`` names the transform that takes coordinates in frame ``b`` to frame ``a``, so that
``compose(a_from_b, b_from_c)`` is ``a_from_c``.
"""
import math

import numpy as np


def wrap_angle(angle):
    """Return ``angle`` (scalar or array, radians) wrapped to [-pi, pi)."""
    return (angle + math.pi) % (2.0 * math.pi) - math.pi


def compose(a_from_b, b_from_c):
    """Return ``a_from_c`` of two plane poses ``(x, y, yaw)``."""
    x, y, yaw = a_from_b
    bx, by, b_yaw = b_from_c
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([x + c * bx - s * by, y + s * bx + c * by, wrap_angle(yaw + b_yaw)])


def inverse(a_from_b):
    """Return ``b_from_a`` of a plane pose."""
    x, y, yaw = a_from_b
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([-c * x - s * y, s * x - c * y, wrap_angle(-yaw)])


def transform_points(a_from_b, points):
    """Return points ``(N, 2)`` of frame ``b`` in frame ``a``, for a plane pose ``a_from_b``."""
    x, y, yaw = a_from_b
    c, s = math.cos(yaw), math.sin(yaw)
    points = np.asarray(points, dtype=float)
    return points @ np.array([[c, s], [-s, c]]) + np.array([x, y])


def matrix_from_xyzrpy(x, y, z, roll=0.0, pitch=0.0, yaw=0.0):
    """Return the 4 x 4 transform of a translation and fixed-axis roll, pitch, yaw."""
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr, x],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr, y],
        [-sp, cp * sr, cp * cr, z],
        [0.0, 0.0, 0.0, 1.0]])


def matrix_from_quaternion(x, y, z, qx, qy, qz, qw):
    """
    Return the 4 x 4 transform of a translation and a quaternion, which is normalised first.

    Raises ValueError when the quaternion has no direction or a part is not finite.
    """
    norm = math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    if not (math.isfinite(norm) and norm > 1e-6 and all(map(math.isfinite, (x, y, z)))):
        raise ValueError(f'not a transform: translation {x, y, z}, quaternion {qx, qy, qz, qw}')
    qx, qy, qz, qw = qx / norm, qy / norm, qz / norm, qw / norm
    return np.array([
        [1 - 2 * (qy * qy + qz * qz), 2 * (qx * qy - qz * qw), 2 * (qx * qz + qy * qw), x],
        [2 * (qx * qy + qz * qw), 1 - 2 * (qx * qx + qz * qz), 2 * (qy * qz - qx * qw), y],
        [2 * (qx * qz - qy * qw), 2 * (qy * qz + qx * qw), 1 - 2 * (qx * qx + qy * qy), z],
        [0.0, 0.0, 0.0, 1.0]])


def yaw_from_quaternion(qx, qy, qz, qw):
    """Return the rotation about z, radians."""
    return math.atan2(2.0 * (qw * qz + qx * qy), 1.0 - 2.0 * (qy * qy + qz * qz))


def quaternion_from_yaw(yaw):
    """Return ``(qx, qy, qz, qw)`` of a rotation about z."""
    return 0.0, 0.0, math.sin(yaw / 2.0), math.cos(yaw / 2.0)
