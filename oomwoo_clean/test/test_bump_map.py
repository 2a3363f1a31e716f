"""The bump map: where touches are, what takes them back, and how it goes on when things fail."""
import math

from bump_worlds import R, Robot, side_of
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.bump_map import BumpMap, BumpMapSettings
from oomwoo_localization.frames import compose, inverse, transform_points
from oomwoo_localization.grids import OccupancyGrid
import pytest

ANGLE = st.floats(-math.pi, math.pi)
PLACE = st.floats(-20.0, 20.0)
POSE = st.tuples(PLACE, PLACE, ANGLE)


def grid_over(origin=(-1.0, -1.0, 0.0), size=(40, 60), resolution=0.05):
    """Return a map's grid that is free everywhere."""
    return OccupancyGrid(np.zeros(size, dtype=np.int8), resolution, origin)


# -- where a touch is --------------------------------------------------------------------------


@given(POSE, POSE, st.sampled_from(['left', 'right', 'both']))
def test_a_touch_is_on_the_shell_on_its_side_in_whatever_frames(map_from_odom, pose, side):
    bumps = BumpMap()
    bumps.localized(map_from_odom, 1.0)
    bumps.press(side, compose(inverse(map_from_odom), pose), 1.1)
    ahead, left = transform_points(inverse(pose), bumps.contacts())[0]
    assert math.hypot(ahead, left) == pytest.approx(R, abs=1e-6)
    # Half of all surfaces that a driving robot's left half meets lie within 35 degrees.
    expected = {'left': 35.0, 'right': -35.0, 'both': 0.0}[side]
    assert math.degrees(math.atan2(left, ahead)) == pytest.approx(expected, abs=1.5)


@given(POSE, POSE, POSE)
def test_a_recent_touch_moves_with_the_correction_and_an_old_one_does_not(first, second, pose):
    old, new = Robot(map_from_odom=first), Robot(map_from_odom=first)
    window_s = BumpMapSettings().correction_window_s
    for robot, wait_s in ((old, window_s + 0.1), (new, window_s - 0.1)):
        robot.put(pose)
        robot.press('both')
        robot.map.localized(second, robot.time_s + wait_s)
    straight = (*(np.array(pose[:2]) + R * np.array([math.cos(pose[2]), math.sin(pose[2])])),)
    np.testing.assert_allclose(old.map.contacts()[0], straight, atol=1e-6)
    moved = compose(second, inverse(first))
    np.testing.assert_allclose(
        new.map.contacts()[0], transform_points(moved, [straight])[0], atol=1e-6)


def test_what_slipping_wheels_are_corrected_by_moves_nothing():
    """The wheels push 4 cm on and the body stays; the localizer takes those 4 cm back."""
    robot = Robot()
    robot.press('both')
    for pushed in np.linspace(0.01, 0.04, 4):
        robot.time_s += 0.05
        robot.map.moved((pushed, 0.0, 0.0), robot.time_s)
        robot.map.localized((-pushed, 0.0, 0.0), robot.time_s)
    np.testing.assert_allclose(robot.map.contacts(), [[R, 0.0]], atol=1e-6)
    robot.map.localized((-0.09, 0.0, 0.0), robot.time_s + 0.1)     # 5 cm more than that
    np.testing.assert_allclose(robot.map.contacts(), [[R - 0.05, 0.0]], atol=1e-6)


def test_a_place_touched_again_and_again_is_one_touch():
    robot = Robot()
    rng = np.random.default_rng(3)
    for _ in range(30):
        robot.bump((1.0, 0.0), 0.0, 0.3, off_m=rng.normal(0.0, 0.002))
    assert robot.map.placed == 1
    assert robot.map.contacts()[0] == pytest.approx([1.0 - R + R * math.cos(0.3), 0.0], abs=0.1)


def test_halves_pressed_together_are_one_touch_ahead_and_later_two_surfaces():
    robot = Robot()
    robot.press('left')
    robot.time_s += 0.04
    robot.press('right')
    np.testing.assert_allclose(robot.map.contacts(), [[R, 0.0]], atol=0.005)
    robot = Robot()
    robot.press('left')
    robot.time_s += 0.3
    robot.press('right')
    left, right = robot.map.contacts()
    assert left[1] > 0.05 and right[1] < -0.05, 'the walls of a corner'


def test_a_body_that_turns_on_a_thing_until_the_nose_is_at_it_has_touched_one_thing():
    """The right half touches, the robot turns right over 20 degrees, then the left half does."""
    robot = Robot()
    thing = np.array([math.cos(-0.5), math.sin(-0.5)]) * R
    robot.press('right')
    for yaw in np.linspace(-0.05, -0.4, 8):
        robot.pose = np.array([0.0, 0.0, yaw])
        robot.tell()
    robot.press('left')
    assert np.linalg.norm(robot.map.contacts()[-1] - thing) < 0.03


def test_leaning_on_a_wall_at_a_small_angle_stays_and_a_heavy_curtain_does_not():
    for lean_deg, stays in ((10.0, True), (0.0, False)):
        robot = Robot(pose=(0.0, 0.0, math.radians(lean_deg)))
        robot.press('left')
        for _ in range(12):
            robot.pose[0] += 0.01
            robot.tell()
        robot.release()
        robot.pose[2] = 0.0 if not stays else robot.pose[2]
        for _ in range(50):
            robot.pose[0] += 0.01
            robot.tell()
        assert bool(robot.map.placed) == stays


# -- what takes touches back -------------------------------------------------------------------


@settings(max_examples=40)
@given(POSE, st.floats(-80.0, 80.0))
def test_what_the_robot_goes_on_through_is_not_there(pose, azimuth_deg):
    """A curtain that trips the bumper for a moment, anywhere on it."""
    robot = Robot(map_from_odom=(1.0, 2.0, 0.7), pose=pose)
    side = side_of(math.radians(azimuth_deg))
    robot.press(side)
    robot.drive(0.03)
    robot.release(side)
    assert robot.map.placed == 1
    robot.drive(0.45)
    assert robot.map.placed == 0 and robot.map.counts['erased'] == 1


def test_what_stopped_the_robot_stays_when_it_turns_and_goes_along():
    for azimuth_deg in (-75, -40, 0, 40, 75):
        azimuth = math.radians(azimuth_deg)
        robot = Robot()
        robot.bump((0.0, 0.5), math.pi / 2, azimuth)
        # Past it, along the wall, two centimetres off.
        robot.put((-0.5, 0.5 - R - 0.02, 0.0))
        robot.drive(1.0)
        assert robot.map.placed == 1, azimuth_deg


def test_a_body_over_the_place_later_takes_the_touch_back():
    robot = Robot()
    robot.bump((0.5, 0.0), 0.0, 0.0)
    assert robot.map.placed == 1
    robot.put((0.5, -0.6, math.pi / 2))
    robot.drive(1.2)
    assert robot.map.placed == 0


def test_a_body_that_only_comes_close_does_not():
    robot = Robot()
    robot.bump((0.5, 0.0), 0.0, 0.0)
    robot.put((0.5 - R + 0.02, -0.6, math.pi / 2))           # two centimetres of the map's error
    robot.drive(1.2)
    assert robot.map.placed == 1


def test_a_touch_on_floor_that_the_body_has_been_over_counts():
    """Something was put there since."""
    robot = Robot(pose=(-1.0, 0.0, 0.0))
    robot.drive(2.0)
    for y in (-0.2, 0.0, 0.2, 0.4):
        robot.bump((0.5, y), 0.0, 0.0)
    assert robot.map.placed == 4 and len(robot.map.walls()) == 1


def test_wheels_that_turn_against_a_wall_do_not_soften_it():
    """By odometry the robot goes on for 30 cm; the localizer knows better, a tenth late."""
    robot = Robot(pose=(0.0, 0.0, 0.0))
    robot.press('left')
    lag = 0.0
    for slipped in np.arange(0.01, 0.31, 0.01):
        robot.time_s += 0.05
        robot.map.moved((slipped, 0.0, 0.0), robot.time_s)
        robot.map.localized((-slipped, 0.0, 0.0), robot.time_s)
        lag = slipped
    robot.map_from_odom = np.array([-lag, 0.0, 0.0])
    robot.drive(-0.2)
    robot.release()
    robot.drive(-0.2)
    assert robot.map.placed == 1


# -- a bumper that misbehaves ------------------------------------------------------------------


def test_chatter_is_one_touch():
    robot = Robot()
    for _ in range(50):
        robot.press('right')
        robot.tell(0.01)
        robot.release('right')
        robot.tell(0.01)
    assert robot.map.placed == 1
    robot.tell(0.5)
    robot.put((3.0, 0.0, 0.0))
    robot.press('right')
    assert robot.map.placed == 2


def test_a_half_that_is_pressed_from_the_start_counts_once_it_was_released():
    robot = Robot()
    for _ in range(20):
        robot.tell()
        robot.map.bumper('left', True, robot.odom, robot.time_s)
    assert robot.map.placed == 0 and robot.map.bumper_stuck == {'left': 'from the start'}
    for pressed in (False, False, True, True):
        robot.tell(0.3)
        robot.map.bumper('left', pressed, robot.odom, robot.time_s)
    assert robot.map.placed == 1 and robot.map.bumper_stuck == {}


def test_both_halves_pressed_for_ever_leave_one_touch_and_not_a_track():
    robot = Robot()
    robot.press('both')
    robot.drive(-0.3)
    assert robot.map.bumper_stuck == {'left': 'stuck', 'right': 'stuck'}
    for turn in range(8):
        robot.put((2.0, 1.0, turn * 0.8))
        robot.drive(0.6)
    assert robot.map.placed == 1
    robot.release()
    robot.tell(1.0)
    robot.press('left')
    assert robot.map.placed == 2 and robot.map.bumper_stuck == {'right': 'stuck'}


def test_a_bumper_held_on_and_on_in_free_driving_is_found_out():
    robot = Robot()
    robot.press('left')
    robot.drive(3.0)
    assert robot.map.bumper_stuck == {'left': 'stuck'} and robot.map.placed == 0


def test_a_topic_that_ceases_while_pressed_ends_the_press_and_has_to_let_go_first():
    robot = Robot()
    tell = robot.map.bumper
    tell('left', False, robot.odom, robot.time_s)
    tell('left', True, robot.odom, robot.time_s)
    robot.map.bumper_silent('left', robot.time_s + 1.0)
    robot.drive(-0.5)
    assert robot.map.placed == 1 and robot.map.bumper_stuck == {}
    tell('left', True, robot.odom, robot.time_s)
    assert robot.map.placed == 1
    for pressed in (False, True):
        tell('left', pressed, robot.odom, robot.time_s)
    assert robot.map.placed == 2


def test_sliding_along_a_wall_with_the_bumper_held_makes_touches():
    robot = Robot(pose=(0.0, 1.0 - R, 0.0))
    robot.pose[2] = math.radians(8.0)                  # leaning on the wall to its left
    robot.press('left')
    for _ in range(40):
        robot.pose[0] += 0.01
        robot.tell()
    robot.release()
    assert robot.map.placed in (7, 8, 9)               # every 5 cm
    wall, = robot.map.walls()
    assert wall.start[1] == pytest.approx(1.0, abs=0.002) and wall.length_m > 0.3


# -- lost --------------------------------------------------------------------------------------


def test_touches_felt_while_lost_wait_and_get_their_place():
    robot = Robot(map_from_odom=(0.2, 0.1, 0.3))
    robot.put((1.0, 1.0, 0.5))
    robot.map.lost(True, robot.time_s)
    robot.press('both')
    robot.release()
    robot.localize = False
    for _ in range(100):
        robot.tell(0.2)
    assert robot.map.placed == 0 and robot.map.waiting == 1
    found = (-1.0, 0.4, -0.6)
    robot.map.lost(False, robot.time_s)
    robot.map.localized(found, robot.time_s)
    expected = compose(found, robot.odom)[:2] + R * np.array(
        [math.cos(compose(found, robot.odom)[2]), math.sin(compose(found, robot.odom)[2])])
    np.testing.assert_allclose(robot.map.contacts(), [expected], atol=1e-6)
    assert robot.map.counts['placed_late'] == 1 and robot.map.counts['dropped'] == 0


def test_they_are_dropped_when_it_takes_too_long():
    robot = Robot()
    robot.map.lost(True, robot.time_s)
    robot.press('both')
    robot.localize = False
    robot.tell(BumpMapSettings().hold_s + 0.1)
    robot.map.lost(False, robot.time_s)
    robot.map.localized((0.0, 0.0, 0.0), robot.time_s)
    assert robot.map.placed == 0 and robot.map.waiting == 0 and robot.map.counts['dropped'] == 1


def test_the_last_touches_before_it_got_lost_are_doubted_and_older_ones_not():
    robot = Robot()
    robot.bump((1.0, 0.0), 0.0, 0.0)
    robot.put((0.0, 2.0, 1.0))
    robot.press('left')
    robot.map.lost(True, robot.time_s + 0.5)
    assert robot.map.placed == 1 and robot.map.waiting == 1


def test_a_release_while_lost_is_a_release():
    robot = Robot()
    robot.press('left')
    robot.map.lost(True, robot.time_s)
    robot.release('left')
    robot.map.lost(False, robot.time_s + 1.0)
    robot.tell(1.0)
    robot.put((2.0, 0.0, 0.0))
    robot.press('left')
    assert robot.map.placed == 2


def test_without_any_localization_nothing_has_a_place():
    bumps = BumpMap()
    bumps.press('left', (0.0, 0.0, 0.0), 1.0)
    assert bumps.contacts().shape == (0, 2) and bumps.waiting == 1
    bumps.localized((5.0, 0.0, 0.0), 2.0)
    assert bumps.placed == 1 and bumps.contacts()[0, 0] > 5.0


def test_a_jump_back_in_time_keeps_the_map_and_goes_on():
    robot = Robot()
    robot.bump((1.0, 0.0), 0.0, 0.0)
    robot.time_s = 3.0
    robot.put((0.0, 0.0, 2.0))
    robot.tell()
    robot.map.localized((0.0, 0.0, 0.0), robot.time_s)
    robot.press('right')
    assert robot.map.placed == 2
    robot.map.localized((0.0, 0.5, 0.0), robot.time_s + 0.1)
    np.testing.assert_allclose(robot.map.contacts()[0], [1.0, 0.0], atol=0.01)


@pytest.mark.parametrize('call, says', [
    (lambda m: m.press('front', (0, 0, 0), 1.0), 'left, right or both'),
    (lambda m: m.release('', 1.0), 'left, right or both'),
    (lambda m: m.press('left', (0, math.nan, 0), 1.0), 'finite pose'),
    (lambda m: m.moved((0, 0), 1.0), 'finite pose'),
    (lambda m: m.localized((0, 0, 0), math.inf), 'stamp'),
    (lambda m: m.grid(), 'no map')])
def test_what_is_no_input_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call(BumpMap())


# -- the grid ----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(POSE, st.floats(0.02, 0.1))
def test_the_grid_lies_on_the_cells_of_a_map_however_it_is_turned(origin, resolution):
    reference = grid_over(origin, (70, 50), resolution)
    at = transform_points(origin, [[20 * resolution, 30 * resolution]])[0]
    robot = Robot(pose=compose((*at, origin[2]), (-0.35, 0.0, 0.4)))
    robot.drive(0.15)
    robot.press('both')
    robot.drive(-0.1)
    touched = robot.map.contacts()[0]
    grid = robot.map.grid(reference)
    assert grid.shape == reference.shape and grid.origin == reference.origin
    assert grid.resolution == reference.resolution
    probes = np.array([touched, robot.pose[:2], transform_points(origin, [[-1, -1]])[0]])
    np.testing.assert_array_equal(grid.lookup(grid.cells, probes, 7), [100, 0, 7])
    row, column = np.indices(grid.shape)
    centres = grid.cells_to_points(np.stack([row.ravel(), column.ravel()], axis=1))
    solid = np.linalg.norm(centres - touched, axis=1)[grid.cells.ravel() == 100]
    assert solid.max() <= max(0.03, resolution)
    # The body was over a cell, or not: with a margin of half a lattice and half a cell.
    track = np.linalg.norm(centres - robot.pose[:2], axis=1)
    assert (grid.cells.ravel()[track < R - 0.03 - resolution] == 0).all()
    assert (grid.cells.ravel()[track > R + 0.25] == -1).all()


def test_the_contact_radius_is_taken_over_at_once():
    robot = Robot()
    robot.bump((0.5, 0.0), 0.0, 0.0)
    reference = grid_over(resolution=0.01, size=(200, 300))
    areas = []
    for radius in (0.02, 0.05):
        robot.map.configure(BumpMapSettings(contact_radius_m=radius))
        areas.append((robot.map.grid(reference).cells == 100).sum() * 1e-4)
    np.testing.assert_allclose(areas, [math.pi * 0.02 ** 2, math.pi * 0.05 ** 2], rtol=0.1)


def test_where_the_map_knows_no_floor_no_wall_is_claimed_until_it_does():
    robot = Robot()
    half, whole = grid_over(size=(80, 100)), grid_over(size=(80, 100))
    half.cells[:, 50:] = -1                              # x from 1.5 m on was never mapped
    for x in (0.2, 0.45, 0.7, 2.0, 2.25, 2.5):
        robot.bump((x, 1.0), math.pi / 2, 0.3)
    assert len(robot.map.walls()) == 2                   # without a map nothing speaks against it
    robot.map.reference = half
    assert [round(max(w.start[0], w.end[0]), 2) for w in robot.map.walls()] == [0.7]
    assert len(robot.map.contacts()) == 6 and (robot.map.grid().cells[:, 50:] == 100).any()
    robot.map.reference = whole                          # SLAM has been there since
    assert len(robot.map.walls()) == 2
