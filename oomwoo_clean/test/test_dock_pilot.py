"""The docking robot's senses: turns that are seen, averages over a surface, room to stop."""
import math

from dock_world import DockWorld
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.dock_pilot import smoothed, stopping_speed
from oomwoo_clean.dock_watch import view_rotation
from oomwoo_localization.frames import wrap_angle
from oomwoo_localization.scans import Scan
import pytest

STEP = math.radians(1.0)


@settings(max_examples=25)
@given(st.floats(-0.8, 0.8), st.floats(-math.pi, math.pi), st.integers(0, 50))
def test_a_turn_is_seen_and_one_that_did_not_happen_too(turn, heading, seed):
    world = DockWorld((1.0, 0.5, heading), posts=[(1.8, -0.9, 0.1)], seed=seed)
    before = world.observe().scan
    assert view_rotation(before, world.observe().scan, 0.7) == pytest.approx(0.0, abs=2.5 * STEP)
    world.pose[2] = wrap_angle(heading + turn)
    assert view_rotation(before, world.observe().scan, turn) == pytest.approx(turn, abs=1e-9)


def test_where_all_sides_look_alike_or_the_scan_is_a_sector_the_wheels_are_believed():
    ring = Scan(np.full(360, 1.0), -math.pi, STEP, 0.05, 8.0)
    assert view_rotation(ring, ring, 0.6) == 0.6
    sector = Scan(np.linspace(1.0, 2.0, 180), -math.pi / 2, STEP, 0.05, 8.0)
    assert view_rotation(sector, sector, 0.6) == 0.6


def test_averages_are_nearer_to_the_wall_and_do_not_shift_it():
    rng = np.random.default_rng(1)
    scan = Scan(1.0 + 0.01 * rng.standard_normal(3600), -math.pi, math.tau / 3600, 0.05, 8.0)
    mean = smoothed(scan).ranges
    assert mean.std() == pytest.approx(0.01 / math.sqrt(5.0), rel=0.15)
    assert mean.mean() == pytest.approx(1.0, abs=1e-3) and mean.min() > 0.98


def test_a_leg_before_a_wall_and_beams_without_return_stay_what_they_are():
    ranges = np.full(360, 2.0)
    ranges[100], ranges[200], ranges[201] = 0.5, math.inf, math.nan
    ranges[0], ranges[-1] = 1.0, 1.02       # the two ends are no neighbours
    out = smoothed(Scan(ranges.copy(), -math.pi, STEP, 0.05, 8.0)).ranges
    assert out[100] == 0.5 and np.isinf(out[200]) and np.isnan(out[201])
    assert out[[99, 101, 199, 202]] == pytest.approx(2.0)
    assert out[0] == 1.0 and out[-1] == 1.02


@given(st.floats(0.0, 2.0), st.floats(0.05, 0.15))
def test_the_way_that_is_left_is_enough_to_stop(way, late_s):
    """A base that takes each command a scan late and brakes at 0.5 m/s^2 stops within the way."""
    left, speed, commands = way, 0.0, [0.0, 0.0]
    for _ in range(400):
        commands.append(min(0.3, stopping_speed(left)) if left > 0.005 else 0.0)
        for _ in range(2):
            asked = commands[-2] if late_s > 0.1 else commands[-1]
            speed += max(-0.025, min(0.025, asked - speed))
            left -= 0.05 * speed
    assert left > -0.01
