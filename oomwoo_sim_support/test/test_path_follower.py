"""The follower on given paths: what it must not cut, how it ends, when it gives up."""
import math

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from nav_worlds import Base, block, exact_clearance, ROBOT, room
import numpy as np
from oomwoo_localization.frames import wrap_angle
from oomwoo_sim_support.embedded_navigator import (
    Code,
    GridPlanner,
    NavigatorSettings,
    PathFollower,
)
from oomwoo_sim_support.grid_planner import resample
import pytest


def follow(follower, base, seconds=120.0, period_s=0.1):
    """Drive to the end; return (last step, time, list of steps)."""
    steps, time_s = [], 0.0
    while time_s < seconds:
        steps.append(follower.step(base.pose, time_s, base.linear))
        if steps[-1].done or steps[-1].error_code:
            break
        base.drive(steps[-1].linear, steps[-1].angular, period_s)
        time_s += period_s
    return steps[-1], time_s, steps


def test_a_u_turn_round_the_end_of_a_thin_wall_is_followed_round_it():
    # The two legs of the path are 0.5 m apart: the later one is always within reach of a 40 cm
    # carrot.
    grid = block(room(), -0.025, -3.0, 0.025, 1.0)
    planner = GridPlanner(grid)
    path = planner.plan((-0.25, -1.5), (0.25, -1.5))
    follower = PathFollower()
    goal = (0.25, -1.5, -math.pi / 2)
    follower.set_path(path, goal, planner.clearance)
    base = Base((-0.25, -1.5, math.pi / 2))
    along = []
    time_s = 0.0
    while True:
        step = follower.step(base.pose, time_s, base.linear)
        along.append(follower.along_m)
        if step.done:
            break
        assert time_s < 60.0 and not step.error_code
        base.drive(step.linear, step.angular, 0.1)
        time_s += 0.1
    track = np.array(base.track)
    assert np.all(np.diff(along) >= 0.0) and along[-1] > follower.length_m - 0.1
    assert exact_clearance(grid, track[::5, :2]).min() > ROBOT.body.radius + 0.02
    crossing = track[np.flatnonzero(np.diff(np.sign(track[:, 0])))[0], 1]
    assert crossing > 1.15, "beyond the wall's end and not through it"
    assert math.dist(track[-1, :2], goal[:2]) < 0.05


def test_a_path_behind_is_turned_to_on_the_spot():
    follower = PathFollower()
    follower.set_path(resample([[0.0, 0.0], [-2.0, 0.0]], 0.05), (-2.0, 0.0, math.pi))
    base = Base((0.0, 0.0, 0.2))
    _, _, steps = follow(follower, base)
    first_move = next(k for k, step in enumerate(steps) if step.linear > 0.0)
    assert 5 < first_move < 40
    at = np.array(base.track)[10 * first_move]
    assert math.hypot(at[0], at[1]) < 0.01 and abs(wrap_angle(at[2] - math.pi)) < 0.3


@given(angle=st.floats(-3.1, 3.1), goal_yaw=st.floats(-3.1, 3.1), distance=st.floats(0.06, 3.0))
@hypothesis_settings(max_examples=40, deadline=None)
def test_arrives_within_tolerance_without_overshoot(angle, goal_yaw, distance):
    settings = NavigatorSettings()
    end = distance * np.array([math.cos(angle), math.sin(angle)])
    follower = PathFollower(settings)
    follower.set_path(resample([[0.0, 0.0], end], 0.05), (*end, goal_yaw))
    base = Base((0.0, 0.0, 0.0))
    last, time_s, steps = follow(follower, base)
    assert last.done and last.error_code == Code.NONE
    assert math.dist(base.pose[:2], end) <= settings.xy_tolerance_m
    assert abs(wrap_angle(base.pose[2] - goal_yaw)) <= settings.yaw_tolerance_rad
    track = np.array(base.track)
    assert (track[:, :2] @ end / distance).max() <= distance + 0.03
    assert max(abs(s.linear) for s in steps) <= ROBOT.limits.linear_speed
    assert max(abs(s.angular) for s in steps) <= settings.angular_speed
    assert time_s < distance / 0.2 + 10.0
    assert abs(base.linear) < 0.03


def test_slower_in_bends_and_beside_things_than_in_the_open():
    straight = PathFollower()
    straight.set_path(resample([[0.0, 0.0], [3.0, 0.0]], 0.05), (3.0, 0.0, 0.0))
    straight._turning = False
    bent = PathFollower()
    bent.set_path(resample([[0.0, 0.0], [0.15, 0.0], [0.15, 2.0]], 0.05), (0.15, 2.0, 0.0))
    tight = PathFollower()
    tight.set_path(
        resample([[0.0, 0.0], [3.0, 0.0]], 0.05), (3.0, 0.0, 0.0),
        lambda points: np.full(len(points), ROBOT.body.radius + 0.02))
    origin = np.zeros(3)
    fast = straight.step(origin, 0.0).linear
    assert fast == pytest.approx(0.30)
    bend = max((bent.step(np.array([x, 0.0, 0.3]), 0.0).linear for x in (0.0, 0.03)), default=0.0)
    assert 0.0 <= bend < fast
    assert tight.step(origin, 0.0).linear == pytest.approx(0.4 * fast)


def test_standing_still_is_given_up_after_the_time_that_is_set_and_not_before():
    follower = PathFollower(NavigatorSettings(progress_s=4.0))
    follower.set_path([[0.0, 0.0], [2.0, 0.0]], (2.0, 0.0, 0.0))
    codes = {
        t: follower.step(np.array([0.05 * math.sin(t), 0.0, 0.0]), t).error_code
        for t in np.arange(0, 6, 0.25)}
    assert {t for t, code in codes.items() if code} == {t for t in codes if t > 4.0}
    assert set(codes.values()) == {Code.NONE, Code.FAILED_TO_MAKE_PROGRESS}


def test_what_is_no_path_is_refused():
    follower = PathFollower()
    assert follower.step(np.zeros(3), 0.0).error_code == Code.INVALID_PATH
    origin = (0.0, 0.0, 0.0)
    bad = ([], origin), ([[0.0, math.nan]], origin), ([[0.0, 0.0]], (0.0, 0.0, math.inf))
    for path, goal in bad:
        with pytest.raises(ValueError, match='no path'):
            follower.set_path(path, goal)


def test_a_path_of_one_point_is_a_turn():
    follower = PathFollower()
    follower.set_path([[1.0, 1.0]], (1.0, 1.0, 2.0))
    base = Base((1.0, 1.0, 0.0))
    last, time_s, steps = follow(follower, base)
    assert last.done and time_s < 5.0
    assert all(step.linear == 0.0 for step in steps)
    assert abs(base.pose[2] - 2.0) <= 0.1
