"""The docking drive in a flat world: home from anywhere, and a right word for what goes wrong."""
import math

from dock_world import DockWorld, EasyDetector, PERIOD_S, ROBOT, room_walls, run, SHAPE
import numpy as np
from oomwoo_clean.dock_drive import (
    BACK,
    CANCELLED,
    DockDrive,
    DONE,
    DriveSettings,
    FAILED,
    GOTO,
    IDLE,
    REGROUP,
    SEARCH,
    TURN,
)
from oomwoo_localization.dock import docked_pose
from oomwoo_localization.settings import SettingError
import pytest

HOME = docked_pose(SHAPE, ROBOT)
IN_MOUTH_M = ROBOT.body.radius


def docked(world, lateral_m=0.003, yaw_deg=0.5):
    """Tell whether the robot stands where it charges, within the bounds, and touched nothing."""
    x, y, yaw = world.in_dock()
    return (HOME[0] < x < HOME[0] + 0.004 and abs(y) < lateral_m
            and abs(yaw) < math.radians(yaw_deg) and not world.touched and not world.bumps)


def easy_drive(world, settings=None):
    """Return a drive with the stand-in for the detector."""
    return DockDrive(ROBOT, settings, detector=EasyDetector(world))


def drive_home(world, mode='beacon', hint=None, settings=None, watch=None, easy=True):
    """Dock in the world; return (drive, outputs)."""
    drive = easy_drive(world, settings) if easy else DockDrive(ROBOT, settings)
    drive.start(mode, hint)
    return drive, run(drive, world, watch=watch)


@pytest.mark.parametrize('start', [
    (1.2, 0.4, 0.7), (0.11, 0.0, 0.0)])
def test_it_docks_centred_and_square_and_touches_nothing(start):
    world = DockWorld(start)
    drive, outputs = drive_home(world, easy=False)
    assert outputs[-1].state == DONE, outputs[-1].message
    assert docked(world) and not drive.active
    # What it says about its arrival is its own estimate, and a good one.
    assert outputs[-1].lateral_m == pytest.approx(world.in_dock()[1], abs=0.002)
    assert outputs[-1].yaw_rad == pytest.approx(world.in_dock()[2], abs=math.radians(0.5))
    assert outputs[-1].message.startswith('docked: lateral ')
    assert outputs[-1].linear == outputs[-1].angular == 0.0


def test_the_states_come_in_order_and_the_mouth_is_crossed_backwards_only():
    world, backwards = DockWorld((1.5, -0.8, 0.0)), []

    def watch(out):
        x, y, _ = world.in_dock()
        if x < IN_MOUTH_M:
            backwards.append(out.state == BACK or out.state == DONE)
            assert abs(y) < 0.025

    _, outputs = drive_home(world, watch=watch)
    order = list(dict.fromkeys(out.state for out in outputs))
    assert order == [SEARCH, GOTO, TURN, BACK, DONE]
    assert backwards and all(backwards)


def test_it_comes_to_the_staging_point_along_the_centreline():
    world, seen = DockWorld((1.0, 0.9, 0.0)), []

    def watch(out):
        if out.state == GOTO:
            seen.append(world.in_dock())

    drive_home(world, watch=watch)
    track = np.array(seen)
    last = track[(track[:, 0] < 0.55)]
    assert len(last) and np.abs(last[:, 1]).max() < 0.03
    assert np.abs(np.abs(last[:, 2]) - math.pi).max() < math.radians(25.0)
    assert track[-1, 0] == pytest.approx(0.35, abs=0.03)


def test_without_its_beacon_the_lidar_alone_brings_it_home():
    world = DockWorld(beacon_on=False)
    _, outputs = drive_home(world, easy=False)
    assert outputs[-1].state == DONE and docked(world)


def test_receivers_that_say_nothing_are_as_good_as_none():
    world = DockWorld()
    drive = easy_drive(world)
    drive.start('beacon')
    for _ in range(1000):
        out = drive.step(world.observe(ir=(math.nan, math.nan)))
        if not drive.active:
            break
        world.move(out.linear, out.angular)
    assert out.state == DONE and docked(world)


def test_another_light_is_looked_at_once_and_passed_over():
    world = DockWorld((1.2, 0.4, 0.7), glints=[(2.9, 1.5, 0.5)])
    _, outputs = drive_home(world, easy=False)
    assert outputs[-1].state == DONE and docked(world)
    world = DockWorld((1.2, 0.4, 0.7), dock=None, glints=[(2.9, 1.5, 0.5)])
    _, outputs = drive_home(world, settings=DriveSettings(vantage_points=0))
    assert outputs[-1].reason_code == 'NOT_FOUND'
    assert 'the beacon was seen, but no dock where it shines' in outputs[-1].message


def test_no_dock_is_said_in_bounded_time():
    world = DockWorld(dock=None)
    _, outputs = drive_home(world)
    assert outputs[-1].state == FAILED and outputs[-1].reason_code == 'NOT_FOUND'
    assert len(outputs) * PERIOD_S < 120.0 and not world.bumps
    assert math.isnan(outputs[-1].lateral_m)


def test_a_hint_leads_to_a_dock_that_is_hidden_and_may_be_a_little_wrong():
    screen = [(1.3, y, 0.05) for y in np.arange(-0.6, 0.61, 0.08)]
    world = DockWorld((2.2, 0.0, 0.3), posts=screen)
    hint = np.array([-2.2 * math.cos(0.3) + 0.04, 2.2 * math.sin(0.3) - 0.03, -0.3 + 0.08])
    _, outputs = drive_home(world, hint=hint, easy=False)
    assert outputs[-1].state == DONE and docked(world)


@pytest.mark.parametrize('stuck', ['wheels', 'floor'])
def test_a_robot_that_cannot_turn_says_so_and_does_not_wait_for_its_time_to_run_out(stuck):
    _, outputs = drive_home(DockWorld(stuck=stuck))
    assert outputs[-1].reason_code == 'WEDGED' and 'cannot turn' in outputs[-1].message
    assert len(outputs) * PERIOD_S < 15.0


def test_a_base_that_hears_the_first_commands_late_is_not_taken_for_a_stuck_one():
    """Later on, the same silence of the wheels is named at once."""
    def late(_):
        world.stuck = 'wheels' if world.time_s < 3.0 or world.time_s > halt_s else ''

    halt_s = math.inf
    world = DockWorld(stuck='wheels')
    _, outputs = drive_home(world, watch=late)
    assert outputs[-1].state == DONE and docked(world), outputs[-1].message
    halt_s = 8.0
    world = DockWorld(stuck='wheels')
    _, outputs = drive_home(world, watch=late)
    assert outputs[-1].reason_code in ('WEDGED', 'STUCK')
    assert 1.5 <= len(outputs) * PERIOD_S - halt_s < 3.0


def test_a_cage_is_named_at_once():
    bars = [(1.2 + 0.206 * math.cos(a), 0.4 + 0.206 * math.sin(a), 0.03)
            for a in np.radians([10, 100, 190, 280])]
    _, outputs = drive_home(DockWorld(posts=bars))
    assert outputs[-1].reason_code == 'WEDGED' and len(outputs) * PERIOD_S < 3.0
    assert 'all around' in outputs[-1].message


def test_what_bars_the_way_is_named_with_its_place():
    fence = [(0.75 * math.cos(a), 0.75 * math.sin(a), 0.03)
             for a in np.radians(np.arange(-80, 81, 15))]
    fence += [(0.0, y, 0.1) for y in (0.45, 0.65, -0.45, -0.65)]
    world = DockWorld((1.4, 0.2, 3.0), posts=fence)
    _, outputs = drive_home(world)
    assert outputs[-1].reason_code == 'BLOCKED' and not world.bumps
    assert 'before the mouth of the dock' in outputs[-1].message


def test_it_goes_round_what_stands_on_its_way():
    world = DockWorld((1.8, 0.0, 3.0), posts=[(1.1, 0.02, 0.05)])
    _, outputs = drive_home(world)
    assert outputs[-1].state == DONE and docked(world)


def test_a_thing_in_the_bay_stops_it_before_the_mouth():
    toy = (-0.2, 0.02, 0.05)
    world = DockWorld((0.9, 0.1, 0.0), posts=[toy])
    _, outputs = drive_home(world, 'lidar', easy=False)
    assert outputs[-1].state == FAILED
    assert outputs[-1].reason_code in ('BAY_BLOCKED', 'NOT_FOUND')
    assert world.in_dock()[0] > IN_MOUTH_M


def test_a_thing_put_behind_it_on_the_last_leg_makes_it_pull_out():
    world, put = DockWorld((0.9, 0.0, 0.0)), []

    def watch(out):
        if out.state == BACK and world.in_dock()[0] < 0.28 and not put:
            world.posts = [(-0.15, 0.0, 0.06)]
            put.append(True)
        if out.state == REGROUP:
            world.posts = []

    _, outputs = drive_home(world, watch=watch)
    assert outputs[-1].state == DONE and outputs[-1].regroups == 1 and docked(world)


def test_a_dock_that_does_not_charge_is_no_success_and_ends_in_the_open():
    world = DockWorld((0.5, 0.0, 0.0))
    world.charger = False
    _, outputs = drive_home(world, settings=DriveSettings(regroups=1))
    assert outputs[-1].state == FAILED and outputs[-1].reason_code == 'NO_CONTACT'
    assert outputs[-1].regroups == 1 and not outputs[-1].in_mouth
    assert world.in_dock()[0] > IN_MOUTH_M and world.touched < 12


def test_nobody_to_tell_about_the_charge_is_said_before_it_backs_in():
    world = DockWorld((0.5, 0.1, 0.0))
    drive = easy_drive(world)
    drive.start()
    for _ in range(600):
        out = drive.step(world.observe(charging=None))
        if not drive.active:
            break
        world.move(out.linear, out.angular)
    assert out.reason_code == 'NO_BATTERY' and 'battery_state' in out.message
    assert world.in_dock()[0] > IN_MOUTH_M


def test_docked_already_is_done_at_once_with_its_line_up():
    world = DockWorld((HOME[0] + 0.001, 0.002, 0.01))
    _, outputs = drive_home(world)
    assert outputs[-1].state == DONE and len(outputs) < 20
    assert outputs[-1].lateral_m == pytest.approx(0.002, abs=0.002)
    assert all(out.linear == out.angular == 0.0 for out in outputs)


@pytest.mark.parametrize('state', [SEARCH, GOTO, TURN, BACK])
def test_cancelled_in_any_state_it_stands_in_the_open(state):
    world = DockWorld((1.2, 0.5, 1.0))
    drive = easy_drive(world)
    drive.start()

    def watch(out):
        if out.state == state and (state != BACK or world.in_dock()[0] < 0.05):
            drive.cancel()

    outputs = run(drive, world, watch=watch)
    assert outputs[-1].state == CANCELLED and outputs[-1].reason_code == 'CANCELLED'
    assert outputs[-1].linear == outputs[-1].angular == 0.0 and not outputs[-1].in_mouth
    assert world.in_dock()[0] > IN_MOUTH_M and not world.touched


def test_cancelled_in_the_mouth_with_the_way_out_barred_it_says_where_it_stands():
    world = DockWorld((0.6, 0.0, 0.0))
    drive = easy_drive(world)
    drive.start()

    def watch(out):
        if out.state == BACK and world.in_dock()[0] < 0.05:
            world.posts = [(world.in_dock()[0] + 0.24, y, 0.03) for y in (-0.08, 0.0, 0.08)]
            drive.cancel()

    outputs = run(drive, world, watch=watch)
    assert outputs[-1].state == CANCELLED and outputs[-1].in_mouth
    assert 'standing in the mouth of the dock' in outputs[-1].message and not world.bumps


def test_without_scans_it_stands_and_then_gives_up():
    world, drive = DockWorld(), DockDrive(ROBOT, DriveSettings(patience_s=1.0))
    drive.start()
    out = drive.step(world.observe())
    while out.angular == 0.0:
        world.move(0.0, 0.0)
        out = drive.step(world.observe())
    outputs = []
    while drive.active:
        outputs.append(drive.step(world.observe(scan=None)))
        world.move(0.0, 0.0)
    assert all(out.linear == out.angular == 0.0 for out in outputs)
    assert outputs[-1].reason_code == 'NO_SCAN' and 9 <= len(outputs) <= 14


def test_a_bump_is_backed_off_from_and_gone_round():
    world = DockWorld((1.6, 0.6, 2.9))
    drive, felt = easy_drive(world), []
    drive.start()
    for _ in range(1500):
        seen = world.observe()
        bump = not felt and drive.pilot.dock is not None and world.in_dock()[0] < 1.3
        if bump:
            felt.append(world.in_dock())
            seen = world.observe(bumper_left=True)
        out = drive.step(seen)
        if not drive.active:
            break
        world.move(out.linear, out.angular)
    assert felt and out.state == DONE and docked(world)


def test_undocking_ends_at_the_staging_point_with_its_back_to_the_dock():
    world, drive = DockWorld((HOME[0] + 0.001, 0.001, -0.004)), DockDrive(ROBOT)
    drive.undock()
    outputs = run(drive, world)
    assert outputs[-1].state == DONE and outputs[-1].message.startswith('undocked')
    x, y, yaw = world.in_dock()
    assert x == pytest.approx(0.35, abs=0.02) and abs(y) < 0.01 and abs(yaw) < 0.04
    assert not world.touched


def test_undocking_has_its_own_time_and_ends_in_the_open_for_all_that():
    world, drive = DockWorld((HOME[0] + 0.001, 0.0, 0.0)), easy_drive(DockWorld(dock=None))
    drive.undock(1.5)
    outputs = run(drive, world)
    assert outputs[-1].reason_code == 'TIMEOUT' and 'within 1.5 s' in outputs[-1].message
    assert world.in_dock()[0] > IN_MOUTH_M


def test_a_hint_that_is_all_wrong_does_no_harm():
    world = DockWorld((1.2, 0.4, 0.7), beacon_on=False)
    _, outputs = drive_home(world, hint=np.array([1.5, -1.0, 2.0]), easy=False)
    assert outputs[-1].state == DONE and docked(world)


def test_a_room_that_looks_alike_all_around_is_no_reason_to_think_it_is_wedged():
    walls = room_walls((-1.2, -1.2), (1.2, 1.2))
    world = DockWorld((0.0, 0.0, 0.0), dock=None, walls=walls)
    _, outputs = drive_home(world, settings=DriveSettings(vantage_points=0))
    assert outputs[-1].reason_code == 'NOT_FOUND'


def test_undocking_in_the_open_is_refused():
    world, drive = DockWorld((1.0, 0.3, 0.0)), DockDrive(ROBOT)
    drive.undock()
    outputs = run(drive, world)
    assert outputs[-1].state == FAILED and outputs[-1].reason_code == 'NOT_DOCKED'
    assert all(out.linear == 0.0 for out in outputs)


def test_one_order_at_a_time_and_only_known_modes():
    drive = DockDrive(ROBOT)
    assert drive.step(DockWorld().observe()).state == IDLE
    with pytest.raises(ValueError, match="mode: 'sonar' is none of beacon, lidar"):
        drive.start('sonar')
    drive.start()
    with pytest.raises(ValueError, match='busy'):
        drive.undock()


def test_settings_out_of_range_are_named():
    with pytest.raises(SettingError, match='staging_m'):
        DockDrive(ROBOT, DriveSettings(staging_m=0.1))
