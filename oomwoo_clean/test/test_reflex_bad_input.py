"""Switches, topics and drivers that misbehave: a stand that is said, and never a runaway."""
import math

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.escape_reflex import EscapeReflex
from oomwoo_clean.reflex_settings import (
    BUMPER_STUCK,
    CONFINED,
    FOLLOW_OUT,
    OVERRIDDEN,
    ReflexSettings,
    STUCK,
    WATCH,
    WEDGED,
)
from oomwoo_localization.robot import load_robot
import pytest
from reflex_robot import Robot

LIMITS = load_robot().limits


def stands(robot, seconds=30.0):
    """Tell whether the robot is held where it is, whatever somebody else commands."""
    before = robot.pose.copy()
    robot.run(seconds)
    return robot.outputs[-1].active and (robot.pose == before).all()


@pytest.mark.parametrize('sides', [('left',), ('left', 'right')])
def test_chatter_that_never_ends_is_a_bumper_that_is_stuck(sides):
    robot = Robot(EscapeReflex(), 0.01)
    robot.run(0.5)
    for tick in range(3000):
        for side in sides:
            robot.pressed[side] = tick % 2 == 0
        if robot.tick().state == STUCK:
            break
    assert robot.outputs[-1].reason_code == BUMPER_STUCK
    # It was pushed on for 1.5 s, and gave way by two peels.
    driven = sum(abs(c[0]) * robot.period_s for _, c in robot.commands if c is not None)
    assert driven < 0.1 + 0.3 + 0.2 and robot.now_s < 15.0
    before = robot.pose.copy()
    for tick in range(1000):
        robot.pressed[sides[0]] = tick % 2 == 0
        robot.tick()
    assert (robot.pose == before).all() and robot.outputs[-1].state == STUCK
    robot.pressed = {'left': False, 'right': False}
    assert robot.run(2.0, lambda out: not out.active).state == WATCH


@pytest.mark.parametrize('moves, reason', [(True, BUMPER_STUCK), (False, WEDGED)])
def test_both_pressed_for_ever_from_the_start_end_in_a_stand(moves, reason):
    """Said to be wedged only where the scan does not change."""
    robot = Robot(EscapeReflex(), moves=moves)
    robot.pressed = {'left': True, 'right': True}
    out = robot.run(60.0, lambda out: out.state == STUCK)
    assert out.reason_code == reason and math.hypot(*robot.pose[:2]) < 0.6
    assert stands(robot)


def test_a_bumper_topic_that_stops_released_changes_nothing_and_pressed_ends_in_a_stand():
    robot = Robot(EscapeReflex())
    robot.run(1.0)
    robot.reflex.bumper = lambda *_: None
    robot.pressed['left'] = True
    robot.run(5.0, push=(0.02, 0.0))
    assert robot.states() == [WATCH]
    del robot.reflex.bumper
    robot.tick()
    robot.reflex.bumper = lambda *_: None
    assert robot.run(30.0, lambda out: out.state == STUCK).reason_code == BUMPER_STUCK
    assert stands(robot)


@pytest.mark.parametrize('kwargs', [{'rounds': 3}, {'give_up_s': 40.0}])
def test_who_comes_back_to_one_place_again_and_again_is_stuck(kwargs):
    """Each time it gets out, and each time it is driven back."""
    robot = Robot(EscapeReflex(ReflexSettings(**kwargs)), scans=False)
    for time in range(1, 20):
        for _ in range(5):
            robot.pressed['left'] = True
            robot.run(0.3, push=(0.0, 0.0))
            robot.pressed['left'] = False
            out = robot.run(0.5, push=(0.0, 0.0))
            if out.active:
                break
        assert out.reason_code == CONFINED and f'time {time} here' in out.evidence
        if out.state == FOLLOW_OUT:
            out = robot.run(90.0, lambda out: not out.active or out.state == STUCK, push=None)
        if out.state == STUCK:
            break
        robot.pose = np.array([0.0, 0.0, robot.pose[2]])
    assert out.state == STUCK and 'whichever way' in out.evidence
    assert time == 4 if 'rounds' in kwargs else 40.0 <= robot.now_s - 5.0 < 60.0
    assert stands(robot)
    assert robot.reflex.free()
    assert robot.reflex._confinements.near(np.zeros(2), robot.now_s) == [], 'it was set free'


def test_paused_or_cancelled_while_it_drives_it_ends_and_hands_nothing_back():
    """The behaviour commands no more; the reflex takes the robot off, and then there is rest."""
    robot = Robot(EscapeReflex())
    robot.run(0.5)
    robot.pressed['left'] = True
    robot.run(2.0, lambda out: out.active)
    robot.pressed['left'] = False
    robot.run(10.0, lambda out: not out.active, push=None)
    assert robot.outputs[-1].state == WATCH
    before = robot.pose.copy()
    robot.run(20.0, push=None)
    assert (robot.pose == before).all() and robot.states()[-1] == WATCH


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(['left', 'right', 'both', 'none', 'chatter']),
        st.sampled_from(['push', 'stand', 'silent', 'nan', 'other']),
        st.booleans(), st.booleans(), st.floats(0.02, 6.0)),
    min_size=1, max_size=8)


@given(EVENTS, st.booleans())
@hypothesis_settings(max_examples=40, deadline=None)
def test_whatever_happens_commands_are_of_the_robots_kind_and_end(events, moves):
    """Nothing that is pressed, silent, not a number or somebody else's makes it run away."""
    robot = Robot(EscapeReflex(), moves=moves)
    pushes = {'push': (0.2, 0.0), 'stand': (0.0, 0.0), 'other': (0.1, 0.4)}
    for sides, driver, scans, odometry, seconds in events:
        robot.scans, robot.odometry = scans, odometry
        for tick in range(round(seconds / robot.period_s)):
            on = sides not in ('none', 'chatter') or sides == 'chatter' and tick % 2 == 0
            robot.pressed = {
                side: on and sides in (side, 'both', 'chatter') for side in robot.pressed}
            if driver == 'nan':
                robot.reflex.commanded(math.nan, math.inf, robot.now_s)
                robot.reflex.odometry((math.nan, 0.0, 0.0), robot.now_s)
            out = robot.tick(push=pushes.get(driver))
            assert math.isfinite(out.linear) and math.isfinite(out.angular)
            assert abs(out.linear) <= LIMITS.linear_speed
            assert abs(out.angular) <= LIMITS.angular_speed
            if not out.active or out.state == STUCK:
                assert (out.linear, out.angular) == (0.0, 0.0)
    # Left alone with nothing pressed, it lets go, or it stands and has said why.
    robot.pressed = {'left': False, 'right': False}
    robot.scans = robot.odometry = True
    out = robot.run(200.0, lambda out: not out.active or out.state == STUCK, push=None)
    assert not out.active or out.state == STUCK and out.evidence


def test_who_drives_in_its_place_is_not_fought():
    """Own commands do not come out of the mux: it gives up, and tries again after hold_s only."""
    robot = Robot(EscapeReflex())
    robot.run(0.5)
    robot.pressed['right'] = True
    robot.run(2.0, lambda out: out.active)
    outputs = []
    for _ in range(120):
        robot.reflex.bumper('right', True, robot.now_s)
        outputs.append(robot.reflex.step(robot.now_s))
        robot.reflex.commanded(-0.07, 0.2, robot.now_s)
        robot.now_s += 0.05
    assert any(out.reason_code == OVERRIDDEN for out in outputs)
    assert sum(out.active for out in outputs) * 0.05 < 0.35 * 6.0
