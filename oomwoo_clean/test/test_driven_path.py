"""The way back along what was driven, by odometry."""
import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.driven_path import DrivenPath
from oomwoo_localization.frames import compose
import pytest

STEP_S = 0.05


def drive(path, pose, time_s, steps, going_back=False):
    """Drive (metres, radians) steps from a pose; return pose and time after them."""
    for ahead, turn in steps:
        pose, time_s = compose(pose, (ahead, 0.0, turn)), time_s + STEP_S
        path.move(time_s, pose, going_back)
    return pose, time_s


@settings(max_examples=40, deadline=None)
@given(turn=st.floats(-0.05, 0.05), count=st.integers(4, 40), yaw=st.floats(-3.0, 3.0))
def test_leads_back_the_way_it_came(turn, count, yaw):
    path = DrivenPath()
    start = np.array([1.0, -2.0, yaw])
    path.move(0.0, start)
    pose, time_s = drive(path, start, 0.0, count * [(0.014, turn)])
    assert path and path.curvature == pytest.approx(max(-5.0, min(5.0, turn / 0.014)), abs=1e-6)
    assert path.turned == pytest.approx(yaw + count * turn, abs=1e-6)
    path.turn_back()
    pose, time_s = drive(path, pose, time_s, (count // 2) * [(-0.014, -turn)], going_back=True)
    assert path.heading == pytest.approx(path.turned, abs=1e-6)       # that of the way here
    assert path.back_m == pytest.approx((count // 2) * 0.014)
    drive(path, pose, time_s, (count - count // 2 + 1) * [(-0.014, -turn)], going_back=True)
    assert not path


def test_slip_against_what_was_touched_is_not_on_the_path():
    path = DrivenPath()
    path.move(0.0, np.zeros(3))
    pose, time_s = drive(path, np.zeros(3), 0.0, 20 * [(0.01, 0.0)])
    path.turn_back()
    pose, time_s = drive(path, pose, time_s, 3 * [(0.01, 0.02)], going_back=True)
    assert path.heading == pytest.approx(0.0)                         # as when it was touched
    drive(path, pose, time_s, 23 * [(-0.01, 0.0)], going_back=True)
    assert not path or path._segments[-1][0] < 1e-6


def test_a_turn_in_place_is_turned_back():
    path = DrivenPath()
    path.move(0.0, np.zeros(3))
    pose, time_s = drive(path, np.zeros(3), 0.0, [*5 * [(0.01, 0.0)], *10 * [(0.0, 0.1)]])
    assert path.turns_here and path.turn_sign == -1.0
    path.turn_back()
    drive(path, pose, time_s, 10 * [(0.0, -0.1)], going_back=True)
    assert path.heading == pytest.approx(0.0, abs=1e-9) and not path.turns_here


def test_a_jump_is_not_driven_and_cuts_the_way_back():
    path = DrivenPath()
    path.move(0.0, np.zeros(3))
    pose, time_s = drive(path, np.zeros(3), 0.0, 5 * [(0.01, 0.0)])
    ahead, turned, jumped = path.move(time_s + STEP_S, pose + [2.0, 0.0, 0.0])
    assert (ahead, turned, jumped) == (0.0, 0.0, True) and not path


def test_speed_and_turn_rate_are_odometrys():
    path = DrivenPath()
    path.move(0.0, np.zeros(3))
    drive(path, np.zeros(3), 0.0, 4 * [(0.01, 0.03)])
    assert path.speed == pytest.approx(0.2, rel=1e-3) and path.rate == pytest.approx(0.6, rel=1e-3)
    assert path.position_at(2 * STEP_S)[0] == pytest.approx(0.02, abs=1e-3)
    assert math.isclose(path.turned, 0.12)
