"""A scan taken while driving, every return put where it is seen from the pose at the stamp."""
import math

import numpy as np
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.scans import beam_directions

_STRAIGHT_RAD = 1e-6


def turn_duration_s(scan):
    """Return the time from the first beam of a scan to its last, seconds; 0 if taken at once."""
    duration = scan.time_increment_s * (len(scan.ranges) - 1)
    return duration if math.isfinite(duration) and duration > 0.0 else 0.0


def poses_along(motion, shares):
    """
    Return the plane poses (N, 3) at the shares (N,), 0 .. 1, of a motion ``(x, y, yaw)``.

    The body's velocity is constant in its own frame, so that its track is an arc.
    """
    x, y, yaw = motion
    half = yaw / 2.0
    # A displacement is the velocity times sinc(half the turn), turned by half the turn.
    scale = 1.0 if abs(half) < _STRAIGHT_RAD else half / math.sin(half)
    c, s = math.cos(-half) * scale, math.sin(-half) * scale
    vx, vy = c * x - s * y, s * x + c * y
    turned = shares * yaw
    length = shares * np.sinc(turned / 2.0 / math.pi)
    c, s = np.cos(turned / 2.0), np.sin(turned / 2.0)
    return np.stack([length * (c * vx - s * vy), length * (s * vx + c * vy), turned], axis=1)


def compensated_points(scan, base_from_scan, odom_start, odom_end):
    """
    Return the returns of a scan in the base frame at its stamp.

    ``base_from_scan`` is the scanner's 4 x 4 mount; ``odom_start`` and ``odom_end`` are the plane
    poses of the base in odom at the first beam and at the last. Returns ``(points, indices)`` as
    :func:`~oomwoo_localization.scans.scan_points` does, (M, 3) metres and (M,) beam numbers.
    """
    indices = np.flatnonzero(scan.valid())
    flat = beam_directions(scan)[indices] * scan.ranges[indices, None]
    points = flat @ base_from_scan[:3, :2].T + base_from_scan[:3, 3]
    if turn_duration_s(scan) == 0.0 or odom_end is None:
        return points, indices
    motion = compose(inverse(odom_start), odom_end)
    x, y, yaw = poses_along(motion, indices / (len(scan.ranges) - 1)).T
    c, s = np.cos(yaw), np.sin(yaw)
    return np.stack(
        [x + c * points[:, 0] - s * points[:, 1], y + s * points[:, 0] + c * points[:, 1],
         points[:, 2]], axis=1), indices
