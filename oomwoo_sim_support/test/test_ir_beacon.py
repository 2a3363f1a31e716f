"""What the two receivers read: a cone out of the bay, a baffle, shadows, and nothing without."""
import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.ir_beacon import BeaconSettings, IrBeacon, line_is_blocked
from oomwoo_sim_support.layout_primitives import Primitive, solid_distance
import pytest

ROBOT = load_robot()
EXACT = BeaconSettings(noise_std=0.0, relative_noise_std=0.0, gain_error_std=0.0, ambient=0.0)
DOCK = np.array([1.0, -2.0, 0.7])


def reading(distance_m, off_axis_deg, back_off_deg=0.0, settings=EXACT, **kind):
    """Return what is read by receivers so far from the emitter, the back turned off it."""
    off, turned = math.radians(off_axis_deg), math.radians(back_off_deg)
    recess = settings.emitter_recess_m
    receivers = np.array([distance_m * math.cos(off) - recess, distance_m * math.sin(off), 0.0])
    yaw = off + turned
    base = receivers[:2] - ROBOT.dock_receivers.x * np.array([math.cos(yaw), math.sin(yaw)])
    blocked = kind.pop('blocked', False)
    glints = kind.pop('glints', ())
    beacon = IrBeacon(ROBOT, settings, 3, **kind)
    return beacon.read(compose(DOCK, (*base, yaw)), DOCK, blocked, glints)


def test_straight_behind_both_read_the_same_and_less_from_afar():
    near, mid, far = (reading(distance, 0.0) for distance in (0.3, 1.5, 4.0))
    assert near[0] == pytest.approx(near[1]) and near[0] > 1.9 * mid[0] > 3.0 * far[0] > 0.05


@pytest.mark.parametrize('off_axis_deg', [-39.0, -20.0, 0.0, 33.0, 39.0])
def test_light_leaves_the_bay_within_forty_degrees(off_axis_deg):
    assert min(reading(1.0, off_axis_deg)) > 0.2


@pytest.mark.parametrize('off_axis_deg', [-90.0, -45.0, 44.5, 60.0, 180.0])
def test_beside_the_dock_nothing_is_seen_whichever_way_it_faces(off_axis_deg):
    for back_off_deg in range(-180, 180, 30):
        assert reading(1.0, off_axis_deg, back_off_deg) == (0.0, 0.0)


@given(turned=st.floats(-180.0, 180.0))
def test_both_see_it_within_the_baffles_angle_of_straight_back_and_a_side_beyond(turned):
    left, right = reading(1.0, 0.0, turned)
    baffle = ROBOT.dock_receivers.baffle_deg
    if abs(turned) < baffle - 0.1:
        assert left > 0.0 and right > 0.0
    else:
        assert min(left, right) == pytest.approx(0.0, abs=0.003)
    # Turned to its left, it has the light behind it to its left.
    if 1.0 < turned < 100.0:
        assert left > right
    if -100.0 < turned < -1.0:
        assert right > left


def test_the_nearer_to_one_receivers_axis_the_more_it_leads():
    shares = [np.divide(*reading(1.0, 0.0, turned)) for turned in (-20.0, -10.0, 0.0, 10.0, 20.0)]
    assert (np.diff(shares) > 0.0).all() and shares[2] == pytest.approx(1.0)


def test_what_stands_between_hides_it():
    assert reading(1.0, 0.0, blocked=True) == (0.0, 0.0)
    asked = []

    def blocked(emitter, receivers):
        asked.append((emitter, receivers))
        return False
    assert min(reading(1.0, 0.0, blocked=blocked)) > 0.2
    emitter, receivers = asked[0]
    np.testing.assert_allclose(emitter, compose(DOCK, (-0.33, 0.0, 0.0))[:2], atol=1e-9)
    np.testing.assert_allclose(receivers, compose(DOCK, (0.67, 0.0, 0.0))[:2], atol=1e-9)


def test_options():
    assert reading(1.0, 0.0, on=False) == (0.0, 0.0)
    left, right = reading(1.0, 0.0, dead_receiver='left')
    assert left == 0.0 and right > 0.2
    left, right = reading(1.0, 0.0, dead_receiver='right')
    assert right == 0.0 and left > 0.2
    beacon = IrBeacon(ROBOT, EXACT, 0)
    assert beacon.read((0.0, 0.0, 0.0), None) == (0.0, 0.0), 'no dock, no light'


def test_a_glint_is_seen_where_the_beacon_is_not():
    base = np.array([0.0, 0.0, 0.0])
    beacon = IrBeacon(ROBOT, EXACT, 0, on=False)
    left, right = beacon.read(base, DOCK, glints=[(-1.0, 0.2, 0.5)])
    assert left > right > 0.0, 'behind it on its left'
    assert beacon.read(base, DOCK, glints=[(1.0, 0.0, 0.5)]) == (0.0, 0.0), 'ahead of it'


def test_noise_gain_and_daylight():
    settings = BeaconSettings(ambient=0.02)
    beacon = IrBeacon(ROBOT, settings, 7, on=False)
    dark = np.array([beacon.read((0.0, 0.0, 0.0), DOCK) for _ in range(500)])
    assert dark.mean() == pytest.approx(0.02, rel=0.15)
    assert 0.5 * settings.noise_std < dark.std() < 1.5 * settings.noise_std
    beacons = [IrBeacon(ROBOT, BeaconSettings(noise_std=0.0, relative_noise_std=0.0), seed)
               for seed in range(60)]
    base = compose(DOCK, (0.8, 0.0, 0.0))
    ratios = [np.divide(*beacon.read(base, DOCK)) for beacon in beacons]
    assert 0.03 < np.std(ratios) < 0.12, 'two receivers are never alike'
    again = [IrBeacon(ROBOT, None, 5).read(base, DOCK) for _ in range(2)]
    assert again[0] == again[1], 'the same seed, the same readings'


@given(st.sampled_from(['box', 'cylinder']), st.floats(-2, 2), st.floats(-2, 2), st.floats(-3, 3),
       st.floats(0.05, 0.6), st.floats(0.05, 0.6))
def test_a_line_is_blocked_when_a_point_of_it_lies_in_something(kind, x, y, yaw, half_x, half_y):
    if kind == 'cylinder':
        half_y = half_x
    part = Primitive('thing', kind, x, y, yaw, half_x, half_y, 0.0, 0.4)
    one, other = np.array([-1.5, 0.3]), np.array([1.2, -0.4])
    points = one + np.linspace(0.0, 1.0, 4001)[:, None] * (other - one)
    deepest = solid_distance([part], points).min()
    if abs(deepest) > 1e-3:
        assert line_is_blocked([part], one, other) == (deepest < 0.0)
