"""Exact scans of segments and circles, ray by ray, with any mount and any order of beams."""
import math

import numpy as np
from oomwoo_localization.frames import matrix_from_xyzrpy
from oomwoo_localization.scans import Scan

RANGE_MAX_M = 8.0


def mount(x=0.0745, y=0.0, z=0.088, yaw=0.0, roll=0.0):
    """Return ``base_from_scan``."""
    return matrix_from_xyzrpy(x, y, z, roll=roll, yaw=yaw)


def scan_of(segments=(), circles=(), base_from_scan=None, beams=360, first_rad=-math.pi,
            clockwise=False, noise_m=0.0, dropout=0.0, rng=None):
    """
    Return a :class:`Scan` of what stands around the robot.

    ``segments`` are ((x, y), (x, y)), ``circles`` (x, y, radius), all in base_footprint.
    """
    base_from_scan = mount() if base_from_scan is None else base_from_scan
    increment = (-1.0 if clockwise else 1.0) * 2.0 * math.pi / beams
    angles = first_rad + increment * np.arange(beams)
    rays = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ base_from_scan[:2, :2].T
    origin = base_from_scan[:2, 3]
    ranges = np.full(beams, np.inf)
    for start, end in segments:
        start, along = np.asarray(start, dtype=float) - origin, np.subtract(end, start)
        cross = rays[:, 0] * along[1] - rays[:, 1] * along[0]
        with np.errstate(divide='ignore', invalid='ignore'):
            away = (start[0] * along[1] - start[1] * along[0]) / cross
            share = (start[0] * rays[:, 1] - start[1] * rays[:, 0]) / cross
        hit = (away > 0.0) & (share >= 0.0) & (share <= 1.0)
        ranges = np.where(hit & (away < ranges), away, ranges)
    for x, y, radius in circles:
        middle = np.array([x, y]) - origin
        along = rays @ middle
        inside = along ** 2 - middle @ middle + radius ** 2
        root = np.sqrt(np.maximum(inside, 0.0))
        for away in (along - root, along + root):
            hit = (inside > 0.0) & (away > 0.0)
            ranges = np.where(hit & (away < ranges), away, ranges)
    if noise_m or dropout:
        ranges = ranges + noise_m * rng.standard_normal(beams)
        ranges[rng.random(beams) < dropout] = np.inf
    ranges[ranges >= RANGE_MAX_M] = np.inf
    return Scan(ranges, first_rad, increment, 0.05, RANGE_MAX_M)


def wall(distance_m, bearing_rad, half_length_m=4.0):
    """Return a wall whose nearest point to the body centre is at the distance and bearing."""
    nearest = distance_m * np.array([math.cos(bearing_rad), math.sin(bearing_rad)])
    along = half_length_m * np.array([-math.sin(bearing_rad), math.cos(bearing_rad)])
    return nearest - along, nearest + along


def corner(tip, bearing_rad, angle_rad=math.pi / 2, length_m=1.0):
    """Return the two segments of an outside corner at ``tip`` that widens towards the bearing."""
    sides = (bearing_rad + angle_rad / 2, bearing_rad - angle_rad / 2)
    return [(tip, (tip[0] + length_m * math.cos(side), tip[1] + length_m * math.sin(side)))
            for side in sides]
