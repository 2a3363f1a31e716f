"""The robot stands, drives, bumps and docks in Gazebo's physics engine."""
import math
from pathlib import Path

import dart_rig
import numpy as np
from oomwoo_localization.dock import docked_pose
from oomwoo_localization.robot import default_robot_file, load_robot
from oomwoo_sim_support.battery import BatterySettings, contacts_meet
from oomwoo_sim_support.layout import layout_folder, load_layout
import pytest
from sdf_conversion import Converted, library
import xacro

pytestmark = pytest.mark.skipif(library() is None, reason='libsdformat14 is not installed')
FILE = Path(__file__).resolve().parents[1] / 'urdf' / 'oomwoo_one.urdf.xacro'
ROBOT = load_robot()
LUMP = 'base_footprint_fixed_joint_lump__'
FLOOR = 'ground_plane::collision'
WALL_X = 2.0 - 0.025                # inner face of the test room's east wall


@pytest.fixture(scope='module')
def model(tmp_path_factory):
    """Return the SDF that Gazebo makes of the description."""
    text = xacro.process_file(
        str(FILE), mappings={'robot_file': str(default_robot_file())}).toxml()
    return Converted(text, tmp_path_factory.mktemp('dart')).model


def in_room(model, pose, world='test_room'):
    """Return a rig with the robot in a packaged world, at rest."""
    rig = dart_rig.DartRig(model, dart_rig.packaged_world(world), pose)
    rig.drive(0.0, 0.0, 1.0)
    return rig


def test_it_stands_on_three_points(model):
    """Level, a tenth of a millimetre deep."""
    rig = in_room(model, (-1.0, -1.0, 0.3))
    assert rig.touching() == {
        (f'{LUMP}caster_link_collision_25', FLOOR), ('wheel_left_link_collision', FLOOR),
        ('wheel_right_link_collision', FLOOR)}
    x, y, z, roll, pitch, yaw = rig.pose
    assert (x, y, yaw) == pytest.approx((-1.0, -1.0, 0.3), abs=1e-4) and abs(z) < 2e-4
    assert math.degrees(max(abs(roll), abs(pitch))) < 0.01


@pytest.mark.parametrize('name', sorted(file.stem for file in layout_folder().glob('*.yaml')))
def test_in_every_world_it_starts_free_and_on_three_points(model, name):
    """Where the layout puts it, nothing but the floor touches it."""
    start = load_layout(name).start
    rig = in_room(model, start, name)
    robots = {pair for pair in rig.touching() if pair[0].startswith(('base_', 'wheel_'))}
    assert len(robots) == 3 and {other for _, other in robots} == {FLOOR}
    assert rig.pose[[0, 1, 5]] == pytest.approx(start, abs=1e-3)


def test_wheel_odometry_is_where_it_is(model):
    """Ahead, on the spot and on an arc, level at every step; cylinders turned it 8 % too far."""
    rig, leans = in_room(model, (-1.5, -0.9, 0.0)), []

    def lean():
        leans.append(np.abs(rig.pose[3:5]).max())

    for linear, angular, seconds in (
            (0.3, 0.0, 2.0), (0.0, 2.0, 5.0), (0.0, -2.0, 3.0), (0.2, 1.0, 4.0), (0.0, 0.0, 1.0)):
        rig.drive(linear, angular, seconds, lean)
    truth = rig.pose[[0, 1, 5]]
    assert truth[:2] == pytest.approx(rig.odometry[:2], abs=0.002)
    assert math.degrees(abs(math.remainder(truth[2] - rig.odometry[2], math.tau))) < 0.1
    assert rig.odometry[2] > 8.0 and math.degrees(max(leans)) < 0.05


@pytest.mark.parametrize('yaw_deg, side', [(30.0, 'right'), (-45.0, 'left')])
def test_a_wall_presses_the_half_that_it_meets_and_no_longer_than_it_is_there(
        model, yaw_deg, side):
    """From the first touch on at each step, while the robot pushes; not the other half."""
    rig, heard = in_room(model, (1.4, 0.2, math.radians(yaw_deg))), []
    rig.drive(0.3, 0.0, 3.0, lambda: heard.append(rig.pressed()))
    first = heard.index({side})
    assert all(half == {side} for half in heard[first:]) and not any(heard[:first])
    assert rig.pose[0] == pytest.approx(WALL_X - ROBOT.body.radius, abs=0.0015)
    rig.drive(-0.2, 0.0, 1.0)
    assert rig.pressed() == set() and rig.pose[0] < WALL_X - ROBOT.body.radius - 0.05


def test_square_to_a_wall_both_halves_are_pressed_and_the_wheels_stall(model):
    """It neither climbs nor tips nor goes through."""
    rig = in_room(model, (1.5, 0.9, 0.0))
    rig.drive(0.3, 0.0, 2.0)
    assert rig.pressed() == {'left', 'right'}
    assert rig.pose[0] == pytest.approx(WALL_X - ROBOT.body.radius, abs=0.0015)
    assert abs(rig.pose[2]) < 1e-3 and math.degrees(abs(rig.pose[4])) < 0.2


def test_the_bumper_feels_a_pillar_before_the_shell_does(model):
    """A collision of two round things, of which ODE makes little."""
    rig, at = in_room(model, (-0.2, 0.3, 0.0)), []
    rig.drive(0.2, 0.0, 4.0, lambda: at.append(rig.pose[:2]) if rig.pressed() else None)
    gap = math.hypot(*(at[0] - [0.5, 0.2])) - 0.12 - ROBOT.body.radius
    assert -0.001 < gap < 0.0005 and rig.pressed() == {'right'}


def test_it_backs_onto_the_contacts_of_a_dock_that_stays(model):
    """A little askew, slowly, and a second longer than needed."""
    layout = load_layout('kitchen_dining')
    place = np.array(layout.dock.pose)
    x, y, yaw = place.tolist()
    rig = in_room(model, (x + 0.35, y + 0.006, yaw + math.radians(1.5)), layout.name)
    stood = rig.model_pose('dock')
    assert stood[:2] == pytest.approx(place[:2], abs=1e-4)
    rig.drive(-0.06, 0.0, 9.5)
    rig.drive(0.0, 0.0, 0.5)
    assert contacts_meet(
        place, docked_pose(layout.dock, ROBOT), rig.pose[[0, 1, 5]], BatterySettings())
    assert rig.pressed() == set()
    assert rig.model_pose('dock') == pytest.approx(stood, abs=0.002)
