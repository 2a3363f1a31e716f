"""
Which way the dock's beacon is, from what the two rear infrared receivers read.

A baffle between them shades each receiver from the other's side, so that the ratio of the two
readings tells the direction while both see the light; one alone tells the side.
"""
from dataclasses import dataclass
from functools import lru_cache
import math

import numpy as np
from oomwoo_localization.frames import wrap_angle
from oomwoo_localization.settings import setting

_TABLE_STEPS = 91


@dataclass(frozen=True)
class SightSettings:
    """Settings of :func:`beacon_sight`."""

    seen_strength: float = setting(
        0.03, 'a receiver that reads less sees no beacon: daylight and noise', '', 0.0, 1.0)
    strength_noise: float = setting(
        0.005, 'noise of a reading, one sigma', '', 0.0, 0.5)
    relative_noise: float = setting(
        0.06, 'noise and calibration error of a receiver as a share of its reading, one sigma', '',
        0.0, 1.0)
    sight_error_deg: float = setting(
        1.0, 'error of a bearing from two faultless readings, one sigma', 'deg', 0.0, 20.0)
    one_sided_deg: float = setting(
        55.0, 'direction of the beacon from straight back when one receiver alone sees it', 'deg',
        10.0, 120.0)
    one_sided_error_deg: float = setting(
        25.0, 'error of that, one sigma', 'deg', 1.0, 90.0)


@dataclass(frozen=True)
class BeaconSight:
    """
    The direction of the beacon.

    ``bearing_rad`` is that of the beacon as seen from the receivers, which sit at
    ``robot.dock_receivers.x`` on the robot's x axis, in base_footprint (straight back is +-pi);
    ``sigma_rad`` its standard deviation; ``both`` tells whether both receivers see it, without
    which the bearing is no more than a side.
    """

    bearing_rad: float
    sigma_rad: float
    both: bool


def beacon_sight(left, right, robot, settings=None):
    """
    Return the :class:`BeaconSight` of two readings 0..1, or None when they show no beacon.

    NaN, negative readings and those above 1 count as no light.
    """
    settings = settings or SightSettings()
    readings = [
        value if math.isfinite(value) and 0.0 <= value <= 1.0 else 0.0 for value in (left, right)]
    seen = [value >= settings.seen_strength for value in readings]
    if not any(seen):
        return None
    if not all(seen):
        side = 1.0 if seen[0] else -1.0
        return _sight(side * math.radians(settings.one_sided_deg),
                      math.radians(settings.one_sided_error_deg), False)
    receivers = robot.dock_receivers
    ratios, angles = _response(receivers.yaw_offset_deg, receivers.baffle_deg)
    total = readings[0] + readings[1]
    ratio = (readings[0] - readings[1]) / total
    off = float(np.interp(ratio, ratios, angles))
    noise = [math.hypot(settings.strength_noise, settings.relative_noise * value)
             for value in readings]
    ratio_sigma = 2.0 * math.hypot(readings[1] * noise[0], readings[0] * noise[1]) / total ** 2
    # The slope between the ends of the table, which is nearly straight.
    slope = (angles[-1] - angles[0]) / (ratios[-1] - ratios[0])
    return _sight(off, math.hypot(slope * ratio_sigma, math.radians(settings.sight_error_deg)),
                  True)


def _sight(off, sigma, both):
    """Return the sight of a light ``off`` radians to the left of straight back."""
    return BeaconSight(float(wrap_angle(math.pi - off)), sigma, both)


@lru_cache(maxsize=4)
def _response(yaw_offset_deg, baffle_deg):
    """
    Return (ratios, angles): what (left - right) / (left + right) is for a light off straight back.

    Each receiver reads the cosine of the angle to its axis times the share of it that the baffle
    leaves lit, which grows evenly from none at ``baffle_deg`` on the other side to all.
    """
    baffle, offset = math.radians(baffle_deg), math.radians(yaw_offset_deg)
    angles = np.linspace(-baffle, baffle, _TABLE_STEPS)
    left = np.cos(angles - offset) * (0.5 + angles / (2.0 * baffle))
    right = np.cos(angles + offset) * (0.5 - angles / (2.0 * baffle))
    return (left - right) / (left + right), angles
