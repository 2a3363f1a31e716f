"""Open ways, and one guarded drive."""

import math

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_localization.vantage import VantageSettings
from oomwoo_localization.vantage_drive import open_ways, VantageDrive, Way
import pytest
from vantage_world import ring

RADIUS = 0.175


@given(st.floats(0.4, 3.0), st.floats(-3.0, 3.0), st.floats(0.1, 0.3))
@hypothesis_settings(max_examples=60)
def test_the_disk_touches_where_it_says(distance, bearing, half_width):
    """Moved that far, the disk touches the nearest point and none is inside."""
    rng = np.random.default_rng(round(distance * 1e6))
    points = np.vstack([ring(3.5), rng.uniform(-3, 3, (20, 2))])
    points = np.vstack(
        [
            points[np.hypot(*points.T) > half_width + 0.01],
            distance * np.array([[math.cos(bearing), math.sin(bearing)]]),
        ]
    )
    free = open_ways(points, [bearing], half_width)[0]
    end = free * np.array([math.cos(bearing), math.sin(bearing)])
    gaps = np.hypot(*(points - end).T)
    assert gaps.min() == pytest.approx(half_width, abs=1e-6)
    assert free <= distance - half_width + 1e-9


def test_where_nothing_is_seen_is_not_open():
    points = ring(2.0)[90:]  # the right half is blind
    free = open_ways(points, [-math.pi / 2, math.pi / 2], RADIUS)
    assert free[0] == 0.0 and free[1] == pytest.approx(2.0 - RADIUS, abs=0.01)


def drive(way, points_at, odom=(0.0, 0.0, 0.0), bump_at=None, seconds=25.0):
    """Return (path of odometry, last step) of a drive with perfect wheels."""
    odom = np.array(odom)
    driver = VantageDrive(way, odom, 0.0, VantageSettings(), RADIUS)
    path, time_s = [odom], 0.0
    while time_s < seconds:
        bumped = bump_at is not None and math.hypot(*odom[:2]) >= bump_at and len(path) < 400
        step = driver.step(time_s, odom, points_at(odom), bumped)
        if step.done:
            return np.array(path), step
        odom = compose(odom, (step.linear * 0.05, 0.0, step.angular * 0.05))
        path.append(odom)
        time_s += 0.05
    pytest.fail('never ended')


def test_a_drive_turns_first_and_ends_where_it_should():
    path, step = drive(Way(2.0, 0.8), lambda odom: ring(3.0))
    assert step.reason == 'arrived' and (step.linear, step.angular) == (0.0, 0.0)
    turning = np.hypot(*path[:, :2].T) < 1e-9
    assert abs(path[turning][-1, 2] - 2.0) < math.radians(4.0)
    np.testing.assert_allclose(
        path[-1, :2], 0.8 * np.array([math.cos(2.0), math.sin(2.0)]), atol=0.03
    )


def test_a_drive_ends_before_what_was_not_there():
    def points(odom):
        wall = np.stack([np.full(60, 0.6), np.linspace(-1, 1, 60)], axis=1)
        return wall - odom[:2]

    path, step = drive(Way(0.0, 1.0), points)
    assert step.reason == 'blocked'
    assert 0.02 < 0.6 - RADIUS - path[-1, 0] < 0.1


def test_a_drive_without_scan_or_end_is_over():
    settings = VantageSettings()
    driver = VantageDrive(Way(0.0, 1.0), np.zeros(3), 0.0, settings, RADIUS)
    assert driver.step(0.1, np.zeros(3), None, False).reason == 'blind'
    late = driver.step(settings.drive_s + 0.1, np.zeros(3), ring(3.0), False)
    assert late.reason == 'late' and late.linear == 0.0
