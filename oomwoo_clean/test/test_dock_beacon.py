"""The beacon's bearing from two strengths: right within its own uncertainty, or none at all."""
import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.dock_beacon import beacon_sight, SightSettings
from oomwoo_localization.frames import wrap_angle
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.ir_beacon import BeaconSettings, IrBeacon
import pytest

ROBOT = load_robot()
DOCK = np.zeros(3)
DEG = math.pi / 180.0


def scene(distance_m, off_axis_deg, back_off_deg, seed=0, settings=None, **kind):
    """Return what is read so far from the emitter, and the beacon's true bearing."""
    off, yaw = off_axis_deg * DEG, (off_axis_deg + back_off_deg) * DEG
    receivers = np.array([distance_m * math.cos(off) - 0.33, distance_m * math.sin(off)])
    base = receivers - ROBOT.dock_receivers.x * np.array([math.cos(yaw), math.sin(yaw)])
    reading = IrBeacon(ROBOT, settings, seed, **kind).read((*base, yaw), DOCK)
    away = np.array([-0.33, 0.0]) - receivers
    return reading, wrap_angle(math.atan2(away[1], away[0]) - yaw)


@settings(max_examples=200)
@given(distance=st.floats(0.3, 3.5), off=st.floats(-38, 38), back_off=st.floats(-19, 19),
       seed=st.integers(0, 10**6))
def test_the_bearing_is_right_within_its_sigmas(distance, off, back_off, seed):
    reading, truth = scene(distance, off, back_off, seed)
    seen = beacon_sight(*reading, ROBOT)
    assume(seen is not None and seen.both)
    assert abs(wrap_angle(seen.bearing_rad - truth)) < 4.0 * seen.sigma_rad + 1.0 * DEG
    assert 0.5 * DEG < seen.sigma_rad < 12.0 * DEG


def test_the_sigma_is_what_the_errors_are_and_grows_with_the_distance():
    off_by, sigmas = {}, {}
    for distance in (0.5, 3.0):
        seen = []
        for seed in range(200):
            reading, truth = scene(distance, 10.0, 5.0, seed)
            sight = beacon_sight(*reading, ROBOT)
            if sight is not None and sight.both:
                seen.append((wrap_angle(sight.bearing_rad - truth), sight.sigma_rad))
        assert len(seen) > 150
        off_by[distance], sigmas[distance] = np.array(seen).T
        ratio = off_by[distance] / sigmas[distance]
        assert 0.4 < ratio.std() < 1.6
    assert sigmas[3.0].mean() > 1.1 * sigmas[0.5].mean()


@pytest.mark.parametrize('side', [1, -1])
def test_one_receiver_alone_tells_the_side(side):
    reading, truth = scene(0.8, 0.0, side * 60.0, settings=BeaconSettings(noise_std=0.001))
    seen = beacon_sight(*reading, ROBOT)
    assert not seen.both and seen.sigma_rad > 20.0 * DEG
    assert math.copysign(1.0, truth) == math.copysign(1.0, seen.bearing_rad) == side
    assert abs(wrap_angle(seen.bearing_rad - truth)) < 2.0 * seen.sigma_rad


def test_a_dead_receiver_gives_sides_only():
    for back_off in (-15.0, 0.0, 15.0):
        reading, _ = scene(0.8, 0.0, back_off, dead_receiver='left')
        seen = beacon_sight(*reading, ROBOT)
        assert seen is not None and not seen.both and seen.bearing_rad < 0.0


@pytest.mark.parametrize('reading', [
    (0.0, 0.0), (math.nan, math.nan), (-1.0, -0.2), (math.inf, -math.inf), (0.005, 0.009),
    (1.5, 7.0)])
def test_daylight_and_nonsense_are_no_beacon(reading):
    assert beacon_sight(*reading, ROBOT) is None


def test_a_reading_that_is_nonsense_leaves_the_other():
    for bad in (math.nan, -0.5, math.inf):
        seen = beacon_sight(0.4, bad, ROBOT)
        assert not seen.both and seen.bearing_rad > 0.0
        seen = beacon_sight(bad, 0.4, ROBOT)
        assert not seen.both and seen.bearing_rad < 0.0


def test_daylight_as_strong_as_the_threshold_needs_another_threshold():
    assert beacon_sight(0.05, 0.05, ROBOT) is not None
    assert beacon_sight(0.05, 0.05, ROBOT, SightSettings(seen_strength=0.1)) is None
