"""What a switch that lets go says: of cloth, while the robot rolls on; of a wall, never."""
import math

from bump_worlds import Robot, side_of
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.bump_trail import Trail
import pytest

ANGLE = st.floats(-math.pi, math.pi)
POSE = st.tuples(st.floats(-20.0, 20.0), st.floats(-20.0, 20.0), ANGLE)


def pressed_for(robot, side, metres):
    """Press a side, roll on for so long and let it go, still rolling."""
    robot.press(side)
    robot.drive(metres)
    robot.release(side)
    robot.drive(0.02)


@settings(max_examples=40)
@given(POSE, st.floats(-70.0, 70.0), st.floats(0.02, 0.05))
def test_what_lets_go_of_a_robot_that_rolls_on_is_cloth_though_it_backs_off_then(
        pose, azimuth_deg, pressed_m):
    robot = Robot(map_from_odom=(1.0, 2.0, 0.7), pose=pose)
    pressed_for(robot, side_of(math.radians(azimuth_deg)), pressed_m)
    robot.drive(-0.2)
    assert robot.map.placed == 0 and robot.map.counts['erased'] >= 1


def test_a_leg_behind_the_skirt_is_another_touch_and_stays():
    robot = Robot()
    pressed_for(robot, 'left', 0.03)
    robot.drive(0.02)
    leg = robot.pose.copy()
    robot.press('left')
    robot.tell(0.2)
    robot.drive(-0.03)
    robot.release()
    robot.drive(-0.2)
    assert robot.map.placed == 1
    ahead, aside = robot.map.contacts()[0] - leg[:2]
    assert ahead > 0.1 and aside > 0.05


@pytest.mark.parametrize('turn, back_m', [(0.0, 0.02), (0.3, 0.0), (-0.3, 0.0)])
def test_a_wall_that_lets_go_of_a_robot_that_backs_off_or_turns_stays(turn, back_m):
    robot = Robot()
    robot.press('right')
    for _ in range(4):
        robot.pose += (-back_m / 4, 0.0, turn / 4)
        robot.tell()
    robot.release()
    for _ in range(4):
        robot.pose += (-back_m / 4, 0.0, turn / 4)
        robot.tell()
    robot.drive(-0.2)
    assert robot.map.placed == 1


def test_a_wall_that_chatters_while_the_wheels_push_on_stays():
    """Released for 40 ms again and again; by odometry it goes on, by the localizer it stands."""
    robot, slipped = Robot(), 0.0
    for number in range(20):
        (robot.press if number % 3 else robot.release)('left')
        slipped += 0.008
        robot.time_s += 0.04
        robot.map.moved((slipped, 0.0, 0.0), robot.time_s)
        robot.map.localized((-slipped, 0.0, 0.0), robot.time_s)
    robot.map_from_odom = np.array([-slipped, 0.0, 0.0])
    robot.press('left')
    robot.drive(-0.04)
    robot.release()
    robot.drive(-0.1)
    assert robot.map.placed == 1


def test_a_topic_that_ceases_lets_nothing_go():
    robot = Robot()
    for pressed in (False, True):
        robot.map.bumper('left', pressed, robot.odom, robot.time_s)
    robot.tell()
    robot.map.bumper_silent('left', robot.time_s)
    for slipped in np.arange(0.01, 0.1, 0.01):
        robot.time_s += 0.05
        robot.map.moved((slipped, 0.0, 0.0), robot.time_s)
        robot.map.localized((-slipped, 0.0, 0.0), robot.time_s)
    robot.map_from_odom = np.array([-slipped, 0.0, 0.0])
    robot.drive(-0.1)
    assert robot.map.placed == 1


def test_a_wall_leant_on_stays_when_the_robot_comes_free_of_it():
    """The body slides along the wall on its left, into which it heads by 12 degrees."""
    robot = Robot(pose=(0.0, 0.0, math.radians(12.0)))
    robot.press('left')
    for number in range(40):
        if number == 25:
            robot.release()                          # the wall has ended
        robot.pose[0] += 0.01
        robot.tell()
    robot.drive(-0.1)
    assert robot.map.placed >= 4
    assert (robot.map.contacts()[:, 1] > 0.1).all()


def test_found_again_after_a_retreat_unseen_drives_off_and_lets_nothing_go():
    robot = Robot()
    robot.press('both')
    robot.tell(3.0)
    robot.map.lost(True, robot.time_s)
    robot.pose[0] -= 0.06
    robot.release()
    robot.map.lost(False, robot.time_s)
    robot.drive(0.07)
    assert robot.map.placed == 1


def test_a_press_between_two_poses_is_one_and_the_last_step_of_it_is_what_it_rolls_on_from():
    trail, told = Trail(), []
    for number, press in enumerate((3, 3, 4, 4, 4, 4)):
        trail.add(0.05 * number, np.array([0.01 * number, 0.0, 0.0]), None, press)
    for step in trail.take(1.0):
        told.append(trail.let_go(step, 0.06))
    assert told == [0, 0, 0, 0, 4, 0] and trail.take(9.9) == []
