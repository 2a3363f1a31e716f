"""The guard's geometry against driving the disc in small steps."""
import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.front_guard import first_in_the_way, seen_along, travel_to_points
import pytest

RADIUS_M = 0.2


def driven(point, curvature, step=0.0005, most=3.0):
    """Return how far a disc drives along the arc before the point is inside it, by trying."""
    s = np.arange(0.0, most, step)
    if curvature == 0.0:
        x, y = s, np.zeros_like(s)
    else:
        x, y = np.sin(curvature * s) / curvature, (1.0 - np.cos(curvature * s)) / curvature
    inside = np.flatnonzero(np.hypot(x - point[0], y - point[1]) < RADIUS_M)
    return s[inside[0]] if len(inside) else math.inf


@settings(max_examples=100, deadline=None)
@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0),
       st.sampled_from([0.0, 0.8, -0.8, 4.0, -4.0, 12.0, -12.0]))
def test_travel_is_what_driving_shows(x, y, curvature):
    if math.hypot(x, y) < RADIUS_M + 0.002:
        return
    most = min(3.0, 2.0 * math.pi / abs(curvature)) if curvature else 3.0
    tried = driven((x, y), curvature, most=most)
    found = float(travel_to_points(np.array([[x, y]]), RADIUS_M, curvature)[0])
    if math.isinf(tried) != math.isinf(found):
        # A graze, or just the end of the turn: less than the step of the trial.
        assert math.isinf(driven((x, y), curvature, most=most - 0.01)) or found < most
        near = abs(y)
        if curvature:
            near = abs(math.hypot(x, y - 1.0 / curvature) - 1.0 / abs(curvature))
        assert near > RADIUS_M - 0.002 or found > most - 0.02
    elif math.isfinite(tried):
        assert found == pytest.approx(tried, abs=2e-3)


def test_inside_and_ahead_stops_inside_and_behind_does_not():
    travel = travel_to_points(np.array([[0.1, 0.05], [-0.1, 0.05]]), RADIUS_M)
    assert travel[0] == 0.0 and math.isinf(travel[1])
    travel = travel_to_points(np.array([[0.1, 0.05], [-0.1, 0.05]]), RADIUS_M, -5.0)
    assert travel[0] == 0.0 and math.isinf(travel[1])


def test_first_in_the_way():
    points = np.array([[0.5, 0.0], [0.3, 0.1], [0.3, 0.25], [-0.4, 0.0]])
    travel, index = first_in_the_way(points, RADIUS_M, 1.0)
    assert index == 1 and travel == pytest.approx(0.3 - math.sqrt(0.04 - 0.01))
    assert first_in_the_way(points, RADIUS_M, 0.1) == (math.inf, None)
    assert first_in_the_way(points, RADIUS_M, 1.0, leave_out=slice(1, 2))[1] == 0
    assert first_in_the_way(np.zeros((0, 2)), RADIUS_M, 1.0) == (math.inf, None)


def test_a_turn_to_the_side_sweeps_that_side():
    left, right = np.array([[0.25, 0.25]]), np.array([[0.25, -0.25]])
    assert math.isfinite(travel_to_points(left, RADIUS_M, 4.0)[0])
    assert math.isinf(first_in_the_way(right, RADIUS_M, 0.3, 4.0)[0])


def test_seen_along_puts_the_path_on_the_x_axis():
    seen = seen_along(np.array([[1.0, 2.0]]), np.array([1.0, 1.0]), math.pi / 2)
    assert seen[0] == pytest.approx([1.0, 0.0])
