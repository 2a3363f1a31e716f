"""The reflexes without ROS: when they fire, what they do, and what does not set them off."""
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
    HELD_BUMPER,
    OVERRIDDEN,
    PEEL,
    ReflexSettings,
    SPIRAL,
    STUCK,
    WATCH,
    WEDGED,
    WIGGLE,
)
from oomwoo_clean.scan_motion import changed_share, judge, MOVED, STOOD, UNKNOWN
from oomwoo_clean.travel_watch import TravelWatch
from oomwoo_localization.frames import compose, wrap_angle
from oomwoo_localization.scans import Scan
import pytest
from reflex_robot import BEAMS, box_scan, CORRIDOR, Robot, ROOM


@pytest.mark.parametrize('side, away', [('left', -1), ('right', 1)])
@pytest.mark.parametrize('period_s', [0.01, 0.05, 0.1])
def test_turns_away_from_the_pressed_side_in_time(side, away, period_s):
    robot = Robot(EscapeReflex(), period_s)
    robot.run(1.0)
    robot.pressed[side] = True
    pressed_s = robot.now_s
    out = robot.run(2.0, lambda out: out.active)
    assert out.state == PEEL and out.reason_code == HELD_BUMPER and out.cancel_goals
    assert 1.5 - 1.01 * period_s <= robot.commands[-1][0] - pressed_s <= 1.5
    assert out.linear < 0.0 and math.copysign(1, out.angular) == away
    assert out.pocket.radius_m == 0.25
    assert math.hypot(*(np.array(out.pocket.center) - robot.pose[:2])) < 0.25
    robot.pressed[side] = False
    robot.run(3.0, lambda out: not out.active)
    assert robot.outputs[-1].state == WATCH
    turned = wrap_angle(robot.pose[2])
    assert math.radians(30) < away * turned < math.radians(75)


@given(st.floats(0.0, 1.0), st.lists(st.floats(0.01, 0.09), min_size=60, max_size=60),
       st.sampled_from(['left', 'right', 'both']))
@hypothesis_settings(max_examples=60)
def test_motion_away_begins_within_1600_ms_with_any_jitter(phase, periods, side):
    """The switch closes at any time between two steps, which come as they like."""
    reflex = EscapeReflex()
    robot = Robot(reflex, scans=False)
    robot.run(0.5)
    pressed_s = robot.now_s + phase * periods[0]
    for period_s in periods + [0.05] * 20:
        closed = robot.now_s >= pressed_s
        for each in robot.pressed:
            robot.pressed[each] = closed and side in (each, 'both')
        out = robot.tick(period_s=period_s)
        if out.active:
            break
    began_s = robot.commands[-1][0]
    assert out.active and out.linear < 0.0
    assert 1.5 - 0.2 <= began_s - pressed_s <= 1.6


def test_chatter_at_50_hz_is_one_held_press():
    robot = Robot(EscapeReflex(), 0.01, scans=False)
    robot.run(0.5)
    began_s = robot.now_s
    for tick in range(200):
        robot.pressed['left'] = tick % 2 == 0
        if robot.tick().active:
            break
    assert robot.now_s - began_s == pytest.approx(1.5, abs=0.03)
    assert robot.outputs[-1].state == PEEL


def test_short_touches_are_left_to_the_behaviour():
    robot = Robot(EscapeReflex(), scans=False)
    for _ in range(3):
        robot.run(3.0)
        robot.pressed['right'] = True
        robot.run(1.4)
        robot.pressed['right'] = False
    robot.run(1.0)
    assert robot.states() == [WATCH]


def test_a_bumper_stuck_on_from_start_ends_in_a_stand_that_says_so():
    robot = Robot(EscapeReflex())
    robot.pressed['left'] = True
    out = robot.run(30.0, lambda out: out.state == STUCK)
    assert out.reason_code == BUMPER_STUCK and 'left is still pressed' in out.evidence
    assert robot.now_s - 5.0 < 10.0
    before = robot.pose.copy()
    robot.run(60.0)
    assert (robot.pose == before).all() and robot.outputs[-1].active
    robot.pressed['left'] = False
    assert robot.run(2.0, lambda out: not out.active).state == WATCH


def test_both_pressed_for_ever_in_a_place_that_does_not_change_is_wedged():
    robot = Robot(EscapeReflex(), moves=False)
    robot.run(0.3)
    robot.pressed = {'left': True, 'right': True}
    out = robot.run(60.0, lambda out: out.state == STUCK)
    assert out.reason_code == WEDGED and robot.now_s < 60.0
    assert robot.states() == [WATCH, PEEL, WIGGLE, STUCK]
    robot.run(30.0)
    assert robot.commands[-1][1] == (0.0, 0.0)


def test_a_robot_that_stands_is_not_set_off_by_who_leans_on_it():
    robot = Robot(EscapeReflex())
    robot.run(1.0)
    robot.run(2.0, push=None)
    robot.pressed['left'] = True
    robot.run(10.0, push=None)
    assert robot.states() == [WATCH]
    # As soon as somebody drives with it, it is taken off.
    assert robot.run(2.0, lambda out: out.active).state == PEEL


@pytest.mark.parametrize('forgets', [False, True])
def test_who_leans_on_a_robot_that_was_never_driven_does_not_set_it_off(forgets):
    """Neither after it was started nor after it has forgotten everything."""
    robot = Robot(EscapeReflex())
    if forgets:
        robot.run(1.0)
        robot.reflex.reset()
    robot.pressed['right'] = True
    robot.run(5.0, push=None)
    robot.run(2.0, push=(0.0, 0.0))
    assert robot.states() == [WATCH]
    assert robot.run(0.2, lambda out: out.active).state == PEEL


def test_a_bumper_topic_that_stops_while_pressed_is_peeled_off_and_then_stands():
    robot = Robot(EscapeReflex(), scans=False)
    robot.run(0.5)
    robot.reflex.bumper('right', True, robot.now_s)
    robot.reflex.bumper = lambda *_: None
    assert robot.run(30.0, lambda out: out.state == STUCK).reason_code == BUMPER_STUCK


def test_turns_further_each_time_at_the_same_place():
    robot = Robot(EscapeReflex(ReflexSettings(bumps=50)), scans=False, moves=False)
    turns = []
    for _ in range(3):
        robot.run(0.5, push=(0.01, 0.0))
        robot.pressed['left'] = True
        robot.run(3.0, lambda out: out.active, push=(0.01, 0.0))
        robot.pressed['left'] = False
        began = len(robot.commands)
        robot.run(5.0, lambda out: not out.active)
        turns.append(sum(
            -c[1] * robot.period_s for _, c in robot.commands[began:] if c[1] < 0.0))
    assert turns[0] < turns[1] - 0.3 and turns[1] < turns[2] - 0.3


# -- (b) ------------------------------------------------------------------------------------

def bump_about(robot, count):
    """Bump ``count`` times without getting anywhere."""
    for _ in range(count):
        robot.pressed['left'] = True
        robot.run(0.3, push=(0.01, 0.0))
        robot.pressed['left'] = False
        robot.run(0.5, push=(0.01, 0.0))


def test_many_bumps_in_a_small_radius_mean_confined():
    robot = Robot(EscapeReflex(), scans=False)
    bump_about(robot, 4)
    assert robot.states() == [WATCH]
    bump_about(robot, 1)
    states = [out for out in robot.outputs if out.state == FOLLOW_OUT]
    assert states and states[0].reason_code == CONFINED and 'by touch' in states[0].evidence
    assert states[0].pocket.radius_m == 0.35
    robot.run(60.0, lambda out: not out.active)
    assert robot.states()[-1] == WATCH and math.hypot(*robot.pose[:2]) > 0.5


def test_bumps_far_apart_or_on_purpose_do_not_count():
    robot = Robot(EscapeReflex(), scans=False)
    for _ in range(8):
        bump_about(robot, 1)
        robot.run(2.5)
    assert robot.states() == [WATCH]
    robot = Robot(EscapeReflex(), scans=False)
    robot.reflex.touch_cleaning = True
    bump_about(robot, 10)
    assert robot.states() == [WATCH]
    robot.pressed['left'] = True
    assert robot.run(3.0, lambda out: out.active).state == PEEL, 'a held one always counts'


@pytest.mark.parametrize('odometry', [None, (math.nan, 0.0, 0.0)])
def test_without_odometry_nobody_is_called_confined(odometry):
    """Where the bumps of a robot that drives through a room were is not known then."""
    robot = Robot(EscapeReflex(), scans=False, moves=False)
    robot.run(1.0)
    robot.odometry = False
    robot.run(1.0, push=(0.01, 0.0))
    for _ in range(8):
        if odometry is not None:
            assert not robot.reflex.odometry(odometry, robot.now_s)
        bump_about(robot, 1)
    assert robot.states() == [WATCH]
    robot.odometry = True
    bump_about(robot, 5)
    assert robot.states()[-1] == FOLLOW_OUT


# -- (c) ------------------------------------------------------------------------------------

def test_travel_without_change_wiggles_spirals_and_says_stuck_within_a_minute():
    robot = Robot(EscapeReflex(), moves=False)
    out = robot.run(60.0, lambda out: out.state == STUCK)
    assert out.state == STUCK and not out.linear and robot.now_s - 5.0 < 60.0
    assert robot.states() == [WATCH, WIGGLE, SPIRAL, STUCK]
    first = next(out for out in robot.outputs if out.state == WIGGLE)
    assert 'm commanded' in first.evidence and 'beams' in first.evidence
    robot.run(20.0)
    assert robot.outputs[-1].active and robot.commands[-1][1] == (0.0, 0.0)
    assert robot.reflex.free() and not robot.tick().active


@pytest.mark.parametrize('command', [(math.nan, 0.0), (0.2, math.inf), (-math.inf, math.nan)])
def test_commands_that_are_no_numbers_change_nothing(command):
    """They neither count as driving nor take the eyes off who does not get on."""
    robot = Robot(EscapeReflex(), moves=False)
    robot.pressed['left'] = True
    for _ in range(50):
        robot.reflex.commanded(*command, robot.now_s)
        robot.tick(push=None)
    assert robot.states() == [WATCH]
    robot.pressed['left'] = False
    robot.run(20.0, lambda out: out.active)
    assert robot.outputs[-1].state == WIGGLE


def test_counting_anew_begins_at_the_origin():
    watch = TravelWatch(0.25, 1.0)
    watch.command(1e300, 0.0, 0.0)
    watch.command(0.2, 0.0, 0.1)
    watch.restart()
    assert (watch.pose == 0.0).all()
    watch.command(0.2, 0.0, 0.2)
    assert watch.pose[0] == pytest.approx(0.02)


def test_scans_with_too_few_beams_count_as_none():
    """An empty one, and one that has heard nothing at all."""
    robot = Robot(EscapeReflex(), scans=False, moves=False)
    for count, value in ((0, 1.0), (19, 1.0), (BEAMS, math.nan)):
        scan = Scan(np.full(count, value), -math.pi, math.tau / BEAMS, 0.05, 8.0)
        assert math.isnan(changed_share(scan, scan))
        assert judge(scan, scan, (0.3, 0.0, 0.0)).verdict == UNKNOWN
        for _ in range(60):
            assert not robot.reflex.scanned(scan, np.eye(4), robot.now_s)
            robot.tick()
    assert robot.states() == [WATCH] and robot.reflex.wants_scan(robot.now_s)
    bump_about(robot, 5)
    assert 'there is no scan' in robot.reflex.step(robot.now_s).evidence


def test_a_robot_that_comes_free_goes_on():
    robot = Robot(EscapeReflex(), moves=False)
    robot.run(20.0, lambda out: out.state == WIGGLE)
    robot.moves = True
    robot.run(8.0, lambda out: not out.active)
    assert robot.states() == [WATCH, WIGGLE, WATCH]


def test_who_drives_is_not_stuck():
    robot = Robot(EscapeReflex(), half=(3.0, 3.0))
    for turn in (0.4, -0.5, 0.9, -1.2):
        robot.run(6.0, push=(0.15, turn))
    robot.run(6.0, push=(0.0, 1.0))
    assert robot.states() == [WATCH]


def test_a_long_featureless_corridor_says_nothing_either_way():
    """Driven along or stuck in, the walls look the same; nobody is taken for stuck."""
    for moves in (True, False):
        robot = Robot(EscapeReflex(), half=CORRIDOR, moves=moves)
        robot.run(60.0)
        assert robot.states() == [WATCH], moves


def test_the_end_of_a_corridor_tells():
    robot = Robot(EscapeReflex(), half=(4.0, 0.6), moves=False)
    assert robot.run(20.0, lambda out: out.active).state == WIGGLE


def test_carried_away_it_is_free():
    robot = Robot(EscapeReflex(), moves=False)
    robot.run(60.0, lambda out: out.state == STUCK)
    robot.pose = np.array([1.0, -0.5, 2.0])
    assert robot.run(4.0, lambda out: not out.active).state == WATCH
    assert 'moved' in robot.outputs[-1].evidence


def test_without_scans_nobody_is_called_stuck():
    robot = Robot(EscapeReflex(), scans=False, moves=False)
    robot.run(60.0)
    assert robot.states() == [WATCH]


def test_scans_that_stop_in_the_middle_end_in_a_stand_and_not_in_a_runaway():
    robot = Robot(EscapeReflex(), moves=False)
    robot.run(20.0, lambda out: out.state == WIGGLE)
    robot.scans = False
    robot.run(60.0, lambda out: not out.active or out.state == STUCK)
    assert robot.outputs[-1].state in (STUCK, WATCH)
    assert robot.now_s < 60.0


def test_standing_still_on_purpose_is_no_travel():
    watch = TravelWatch(0.25, 1.0)
    watch.command(0.2, 0.0, 0.0)
    for tick in range(100):                 # no command any more: the base has stopped
        watch.scan(box_scan((0, 0, 0), ROOM), 0.1 * tick)
    assert watch.pose[0] == pytest.approx(0.1) and watch.stood_m == 0.0


# -- whoever else -----------------------------------------------------------------------------

def test_gives_up_when_its_commands_do_not_reach_the_base():
    robot = Robot(EscapeReflex())
    robot.run(0.5)
    robot.pressed['left'] = True
    robot.run(2.0, lambda out: out.active)
    for _ in range(30):
        robot.reflex.bumper('left', True, robot.now_s)
        out = robot.reflex.step(robot.now_s)
        robot.reflex.commanded(-0.05, 0.3, robot.now_s)
        robot.now_s += 0.05
        if not out.active:
            break
    assert out.state == WATCH and out.reason_code == OVERRIDDEN


def test_time_that_jumps_back_lets_go_and_stuck_stays_stuck():
    robot = Robot(EscapeReflex())
    robot.run(0.5)
    robot.pressed['left'] = True
    robot.run(2.0, lambda out: out.active)
    robot.now_s -= 100.0
    robot.reflex.time_went_back()
    assert not robot.tick().active
    robot.pressed['left'] = False
    robot = Robot(EscapeReflex(), moves=False)
    robot.run(60.0, lambda out: out.state == STUCK)
    robot.now_s -= 100.0
    robot.reflex.time_went_back()
    robot.run(3.0)
    assert robot.outputs[-1].state == STUCK


def test_time_that_jumps_ahead_is_no_runaway():
    robot = Robot(EscapeReflex())
    robot.run(0.5)
    robot.pressed['left'] = True
    robot.run(2.0, lambda out: out.active)
    robot.pressed['left'] = False
    robot.now_s += 1000.0
    robot.run(1.0)
    assert robot.outputs[-1].state == WATCH


# -- two scans --------------------------------------------------------------------------------

@given(st.floats(-1.0, 1.0), st.floats(-0.8, 0.8), st.floats(-3.0, 3.0),
       st.floats(-0.6, 0.6), st.integers(0, 1000))
@hypothesis_settings(max_examples=80)
def test_moved_and_stood_are_told_apart_anywhere_in_a_room(x, y, yaw, turned, seed):
    before = box_scan((x, y, yaw), ROOM, 0.01, seed)
    after = box_scan((x, y, yaw + turned), ROOM, 0.01, seed + 1)
    assert judge(before, after, (0.3, 0.0, 0.0)).verdict == STOOD
    there = compose((x, y, yaw), (0.3, 0.0, turned))
    inside = abs(there[0]) < 1.9 and abs(there[1]) < 1.4
    after = box_scan(there, ROOM, 0.01, seed + 2)
    if inside:
        assert judge(before, after, (0.3, 0.0, turned)).verdict == MOVED


def test_scans_that_cannot_be_compared_say_nothing():
    one = box_scan((0, 0, 0), ROOM)
    other = Scan(one.ranges[:100], one.angle_min, one.angle_increment, 0.05, 8.0)
    assert judge(one, other, (0.3, 0, 0)).verdict == UNKNOWN
    empty = Scan(np.full(BEAMS, math.inf), one.angle_min, one.angle_increment, 0.05, 8.0)
    assert judge(empty, empty, (0.3, 0, 0)).verdict == UNKNOWN
