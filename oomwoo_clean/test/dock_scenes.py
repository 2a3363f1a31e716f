"""Exact scans of a dock among walls and legs, for the detector's tests."""
import math

import numpy as np
from oomwoo_clean.dock_beacon import BeaconSight
from oomwoo_clean.dock_detector import DetectorSettings, DockDetector
from oomwoo_localization.dock import DockShape
from oomwoo_localization.frames import compose, inverse, transform_points, wrap_angle
from oomwoo_localization.robot import load_robot
from synthetic_scans import mount, scan_of

ROBOT = load_robot()
SHAPE = DockShape()
ROOM = [((-0.39, -3.0), (-0.39, 3.0)), ((-0.39, 3.0), (4.0, 3.0)), ((4.0, 3.0), (4.0, -3.0)),
        ((4.0, -3.0), (-0.39, -3.0))]
HOME = (0.1745 - 0.33, 0.0, 0.0)          # docked, in the dock frame


def outline(shape=SHAPE):
    """Return the segments of a dock's outline in its own frame."""
    inner, outer, depth = shape.half_width, shape.half_outside, shape.depth
    end = -depth - shape.back
    around = [(end, outer), (0.0, outer), (0.0, inner), (-depth, inner), (-depth, -inner),
              (0.0, -inner), (0.0, -outer), (end, -outer)]
    return list(zip(around[:-1], around[1:]))


def see(base, segments=None, circles=(), noise_m=0.0, rng=None, base_from_scan=None, dropout=0.0,
        **scanner):
    """Return (scan, mount) of a robot at ``base`` (3,) in the dock frame, in its room."""
    segments = [*outline(), *ROOM] if segments is None else segments
    base_from_dock = inverse(base)
    moved = [transform_points(base_from_dock, segment) for segment in segments]
    legs = [(*transform_points(base_from_dock, [(x, y)])[0], radius) for x, y, radius in circles]
    base_from_scan = mount() if base_from_scan is None else base_from_scan
    return scan_of(moved, legs, base_from_scan, noise_m=noise_m, rng=rng, dropout=dropout,
                   **scanner), base_from_scan


def sight(base, error_rad=0.0, sigma_rad=0.026, both=True):
    """Return the :class:`BeaconSight` of a robot at ``base`` in the dock frame."""
    x, y = transform_points(inverse(base), [(-SHAPE.depth, 0.0)])[0]
    bearing = math.atan2(y, x - ROBOT.dock_receivers.x)
    return BeaconSight(float(wrap_angle(bearing + error_rad)), sigma_rad, both)


def around(distance_m, off_axis_rad, yaw_rad=0.0):
    """Return a pose so far from the bay's back, with its back to it when ``yaw_rad`` is 0."""
    return np.array([distance_m * math.cos(off_axis_rad) - SHAPE.depth,
                     distance_m * math.sin(off_axis_rad), wrap_angle(off_axis_rad + yaw_rad)])


def error(fix, base):
    """Return how far a fix is off, (3,) along the dock's axes, for a robot at ``base``."""
    return compose(base, fix.pose)


def detector(**settings):
    """Return a detector; its robot and shape are the packaged ones."""
    return DockDetector(ROBOT, SHAPE, DetectorSettings(**settings))
