"""The follower's decisions, scan by scan, without a simulator."""
import math

import numpy as np
import pytest

from oomwoo_clean.contour_follower import ContourFollower, FollowerSettings
from oomwoo_localization.frames import matrix_from_xyzrpy
from oomwoo_localization.scans import Scan

MOUNT = matrix_from_xyzrpy(0.0745, 0.0, 0.088)


def wall_scan(distance_m, bearing_deg, beams=360, noise=0.0):
    """Return a scan of one endless wall whose nearest point to the body centre is at the bearing."""
    angles = -math.pi + 2.0 * math.pi / beams * np.arange(beams)
    normal = np.array([math.cos(math.radians(bearing_deg)), math.sin(math.radians(bearing_deg))])
    towards = np.cos(angles) * normal[0] + np.sin(angles) * normal[1]
    with np.errstate(divide='ignore'):
        ranges = (distance_m - MOUNT[0, 3] * normal[0]) / towards
    ranges[(towards <= 1e-6) | (ranges > 8.0)] = np.inf
    return Scan(ranges + noise, -math.pi, 2.0 * math.pi / beams, 0.05, 8.0)


def enabled(**changes):
    """Return an enabled follower."""
    follower = ContourFollower(FollowerSettings(**changes))
    follower.enable()
    return follower


def test_stands_until_enabled():
    follower = ContourFollower()
    out = follower.step(wall_scan(0.23, -90.0), MOUNT, 1.0)
    assert (out.linear, out.angular, out.state) == (0.0, 0.0, 'IDLE')


def test_drives_straight_on_its_standoff():
    out = enabled().step(wall_scan(0.23, -90.0), MOUNT, 1.0)
    assert out.state == 'FOLLOW'
    assert out.linear == pytest.approx(0.15, abs=1e-3)
    assert out.angular == pytest.approx(0.0, abs=1e-3)
    assert out.distance_m == pytest.approx(0.23, abs=1e-4)
    assert out.bearing_rad == pytest.approx(math.radians(-90.0), abs=1e-3)


def test_left_side_is_the_mirror_image():
    right = enabled().step(wall_scan(0.30, -75.0), MOUNT, 1.0)
    left = enabled(side='left').step(wall_scan(0.30, 75.0), MOUNT, 1.0)
    assert left.angular == pytest.approx(-right.angular, abs=1e-6) and abs(left.angular) > 0.1
    assert left.linear == pytest.approx(right.linear)
    assert left.bearing_rad == pytest.approx(-right.bearing_rad)
