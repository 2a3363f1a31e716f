"""What the simulated sensors read, against what geometry says."""
from dataclasses import replace
import math

import numpy as np
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scans import scan_points
from oomwoo_localization.settings import SettingError
from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.sim_sensors import CalibrationError, WheelEncoders
from oomwoo_sim_support.sim_settings import perfect_sensors, SimSettings
import pytest
from sim_worlds import drive, perfect_sim, room, turned, WALL_M

ROBOT = load_robot()


def box_room_ranges(scan, scanner):
    """Return the analytic ranges from a scanner pose (x, y, yaw) to the square room's walls."""
    angles = scanner[2] + scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
    with np.errstate(divide='ignore', invalid='ignore'):
        to_x = (np.sign(np.cos(angles)) * WALL_M - scanner[0]) / np.cos(angles)
        to_y = (np.sign(np.sin(angles)) * WALL_M - scanner[1]) / np.sin(angles)
    return np.fmin(to_x, to_y)


def scanner_pose(x, y, yaw, lidar=ROBOT.lidar):
    """Return where in the plane the scanner is when the robot is at the pose."""
    c, s = math.cos(yaw), math.sin(yaw)
    return x + c * lidar.x - s * lidar.y, y + s * lidar.x + c * lidar.y, yaw + lidar.yaw


@pytest.mark.parametrize('changes, lidar', [
    ({}, {}), ({'beams': 500, 'scan_angle_min_deg': 30.0}, {}), ({'scan_clockwise': True}, {}),
    ({}, {'yaw': math.pi}), ({'beams': 90, 'scan_clockwise': True}, {'yaw': 0.7, 'y': 0.03})])
def test_ranges_are_those_of_the_room(changes, lidar):
    """Whatever the mount and the order of the beams, within a millimetre without noise."""
    robot = replace(ROBOT, lidar=replace(ROBOT.lidar, **lidar))
    pose = (0.7, -1.1, 0.4)
    sim = perfect_sim(robot=robot, start=pose, **changes)
    sim.step(0.1)
    scan = sim.scan()
    expected = box_room_ranges(scan, scanner_pose(*pose, robot.lidar))
    assert len(scan.ranges) == changes.get('beams', 360)
    np.testing.assert_allclose(scan.ranges, expected, atol=0.001)
    points, _ = scan_points(scan, sim.base_from_scan)
    c, s = math.cos(pose[2]), math.sin(pose[2])
    in_map = points[:, :2] @ np.array([[c, s], [-s, c]]) + pose[:2]
    assert np.abs(np.abs(in_map).max(axis=1) - WALL_M).max() < 0.002
    assert scan.stamp_s == pytest.approx(0.1)


def test_noise_and_dropouts_are_as_set():
    """Standard deviation and mean of the error, share of lost beams, over 50 scans."""
    sim = EmbeddedSim(room(), settings=perfect_sensors(range_noise_std=0.02, dropout_rate=0.03))
    scans = [sim.scan() for _ in range(50)]
    expected = box_room_ranges(scans[0], scanner_pose(0, 0, 0))
    errors = np.array([scan.ranges for scan in scans]) - expected
    lost = np.isinf(errors)
    assert lost.mean() == pytest.approx(0.03, abs=0.005)
    assert errors[~lost].std() == pytest.approx(0.02, rel=0.05)
    assert abs(errors[~lost].mean()) < 0.001


def test_default_noise_is_the_robot_files():
    """One source for each fact."""
    sim = EmbeddedSim(room(), settings=SimSettings(dropout_rate=0.0))
    scans = np.array([sim.scan().ranges for _ in range(20)])
    assert scans.std(axis=0).mean() == pytest.approx(ROBOT.lidar.noise_std, rel=0.05)


@pytest.mark.parametrize('word, far, near', [
    ('inf', math.inf, -math.inf), ('zero', 0.0, 0.0), ('nan', math.nan, math.nan)])
def test_no_return_reads_as_chosen(word, far, near):
    """REP-117 by default: beyond the range is inf, nearer than the least range is -inf."""
    robot = replace(ROBOT, lidar=replace(ROBOT.lidar, range_max=2.0))
    veil = {
        'name': 'veil', 'points': [[0.105, -0.05], [0.105, 0.05]], 'thickness': 0.01,
        'z': [0.05, 0.4]}
    sim = perfect_sim(room(soft=[veil]), robot=robot, no_return=word)
    ranges = sim.scan().ranges
    # Beam 180 looks ahead, at the veil 25 mm before it.
    np.testing.assert_equal(ranges[180], near)
    np.testing.assert_equal(ranges[0], far)           # beam 0 looks back: the wall is 3 m away
    assert not sim.scan().valid()[[0, 180]].any()


def test_soft_thing_is_seen_and_pushed_through():
    """A curtain stops beams and not the robot; inside it the scanner is blind that way."""
    curtain = {
        'name': 'curtain', 'points': [[1.0, -1.0], [1.0, 1.0]], 'thickness': 0.06,
        'z': [0.0, 0.4]}
    sim = perfect_sim(room(soft=[curtain]))
    assert sim.scan().ranges[180] == pytest.approx(0.97 - ROBOT.lidar.x, abs=0.001)
    blind = []
    drive(sim, 0.3, 0.0, 6.0, each=lambda s: blind.append(s.scan().ranges[180] == -math.inf))
    assert sim.truth().pose[0] > 1.6
    assert sim.contacts == 0 and sim.clearance() > 0.9
    assert any(blind) and not all(blind)


def test_level_scan_sees_no_floor_and_a_tilted_one_does():
    """On its nose by 4.1 degrees, the scanner meets the floor where trigonometry says."""
    level = perfect_sim()
    level.step(1.0)
    expected = box_room_ranges(level.scan(), scanner_pose(0, 0, 0))
    assert np.abs(level.scan().ranges - expected).max() < 0.002
    tipped = replace(ROBOT, caster=replace(ROBOT.caster, x=-0.13),
                     center_of_mass=replace(ROBOT.center_of_mass, x=0.0016))
    sim = perfect_sim(robot=tipped)
    sim.step(1.0)
    pitch = sim.tilt()[1]
    height = ROBOT.lidar.z * math.cos(pitch) - ROBOT.lidar.x * math.sin(pitch)
    floor = height / math.sin(pitch)
    assert sim.scan().ranges[180] == pytest.approx(floor, rel=0.03)
    assert 1.0 < floor < 1.3
    short = sim.scan().ranges < 0.95 * box_room_ranges(sim.scan(), scanner_pose(0, 0, 0))
    assert 0.2 < short.mean() < 0.5 and not short[:60].any()


def test_what_is_below_the_scan_plane_is_not_seen():
    """A 6 cm lip leaves the scan as it is."""
    sim = perfect_sim(room(boxes=[
        {'name': 'lip', 'center': [0.6, 0], 'size': [0.1, 2.0], 'yaw': 0, 'z': [0, 0.06]}]))
    assert sim.scan().ranges[180] == pytest.approx(WALL_M - ROBOT.lidar.x, abs=0.001)


# -- wheel encoders -----------------------------------------------------------------------------

def with_error(layout=None, start=None, **error):
    """Return a perfect simulator whose base believes wrongly by known amounts."""
    sim = perfect_sim(layout, start=start)
    known = CalibrationError(**{'left_radius': 0.0, 'right_radius': 0.0, 'track': 0.0, **error})
    sim._encoders = WheelEncoders(sim.robot, sim.settings, known, None)
    return sim


def test_wheel_mismatch_bends_the_truth_and_not_the_odometry():
    """The turn a metre is the difference of the relative errors over the track."""
    sim = with_error(start=(-2, 0, 0), left_radius=0.01, right_radius=-0.01)
    drive(sim, 0.3, 0.0, 5.0)
    yaw = sim.truth().pose[2]
    assert yaw / sim.odometry().pose[0] == pytest.approx(0.02 / ROBOT.wheels.track, rel=0.05)
    assert abs(sim.odometry().pose[2]) < 0.05 * yaw


def test_scale_error_stretches_and_track_error_turns():
    """Compared with the same drive of a base that believes the truth."""
    def ratios(sim, linear, angular):
        turn = turned(sim, linear, angular, 4.0)
        driven = math.hypot(*sim.odometry().pose[:2]) / math.hypot(*sim.truth().pose[:2])
        return driven, turn[1] / turn[0]

    exact, scaled = (ratios(with_error(**e), 0.2, 0.0)[0] for e in (
        {}, {'left_radius': 0.03, 'right_radius': 0.03}))
    assert scaled / exact == pytest.approx(1.03, abs=0.002)
    exact, wide = (ratios(with_error(**e), 0.0, 1.0)[1] for e in ({}, {'track': 0.05}))
    assert wide / exact == pytest.approx(1 / 1.05, abs=0.004)


def test_slip_noise_grows_with_the_root_of_the_way():
    """One sigma a metre is what the setting says, for each wheel."""
    settings, ends = perfect_sensors(slip_noise_std=0.01), []
    for seed in range(300):
        encoders = WheelEncoders(
            ROBOT, settings, CalibrationError(0, 0, 0), np.random.default_rng(seed))
        for step in range(1, 101):
            angle = step * 0.04 / ROBOT.wheels.radius             # four metres in all
            encoders.update(angle, angle)
        ends.append(encoders.yaw * ROBOT.wheels.track)            # right minus left
    assert np.std(ends) == pytest.approx(0.01 * math.sqrt(4.0) * math.sqrt(2.0), rel=0.12)
    assert abs(np.mean(ends)) < 0.006


def test_seed_draws_the_robot_and_zero_draws_a_perfect_one():
    """Calibration errors differ from seed to seed within two sigma, and vanish at zero."""
    drawn = [EmbeddedSim(room(), seed=seed).calibration_error for seed in range(8)]
    assert len({error.track for error in drawn}) == 8
    assert all(abs(error.track) <= 2 * SimSettings().track_error_std for error in drawn)
    assert perfect_sim().calibration_error == CalibrationError(0.0, 0.0, 0.0)


def test_odometry_of_a_perfect_base_follows_the_truth():
    """Without slip noise and calibration error what is left is the tyres' creep."""
    sim = perfect_sim()
    drive(sim, 0.15, 0.4, 8.0)
    assert np.hypot(*(sim.odometry().pose - sim.truth().pose)[:2]) < 0.05
    assert sim.odometry().linear == pytest.approx(0.15, abs=0.003)
    assert sim.odometry().angular == pytest.approx(0.4, abs=0.01)


# -- the rest -----------------------------------------------------------------------------------

def test_imu_feels_gravity_turning_and_acceleration():
    """Specific force upwards at rest, forwards while speeding up; the turn rate about z."""
    sim = perfect_sim()
    sim.step(0.5)
    np.testing.assert_allclose(sim.imu().linear_acceleration, [0, 0, 9.81], atol=0.05)
    sim.set_command(0.3, 0.0)
    sim.step(0.1)
    sim.imu()
    sim.step(0.1)
    assert sim.imu().linear_acceleration[0] == pytest.approx(1.0, abs=0.05)
    drive(sim, 0.0, 1.0, 1.0)
    np.testing.assert_allclose(sim.imu().angular_velocity, [0, 0, 0.98], atol=0.01)


def test_gyro_has_a_bias_of_its_own():
    """Constant while it runs, another one for another seed."""
    def bias(seed):
        sim = EmbeddedSim(room(), settings=perfect_sensors(gyro_bias_std=0.01), seed=seed)
        return sim.imu().angular_velocity[2]
    assert bias(1) == bias(1) != bias(2)


def test_joints_turn_and_the_battery_drains():
    """Wheel angles are the way over the radius; a minute takes its share of the charge."""
    sim = perfect_sim(battery_minutes=10.0)
    drive(sim, 0.2, 0.0, 3.0)
    angle, rate = sim.joint_states()['wheel_left_joint']
    assert angle == pytest.approx((0.6 - 0.02) / ROBOT.wheels.radius, rel=0.01)
    assert rate == pytest.approx(0.2 / ROBOT.wheels.radius, rel=0.01)
    assert sim.battery() == pytest.approx(1.0 - 3.0 / 600.0)


@pytest.mark.parametrize('bad, name', [
    ({'timestep_s': 0.003}, 'timestep_s'), ({'dropout_rate': 1.5}, 'dropout_rate'),
    ({'no_return': 'never'}, 'no_return'), ({'range_noise_std': math.nan}, 'range_noise_std')])
def test_bad_settings_are_refused_by_name(bad, name):
    """Before anything is built."""
    with pytest.raises(SettingError, match=name):
        EmbeddedSim(room(), settings=SimSettings(**bad))
