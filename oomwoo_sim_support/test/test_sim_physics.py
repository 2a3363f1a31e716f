"""The robot's body: how it drives, tips, bumps and stops."""
from dataclasses import replace
import math

import mujoco
import numpy as np
from oomwoo_localization.robot import load_robot
import pytest
from sim_worlds import drive, perfect_sim, room, turned, WALL_M

ROBOT = load_robot()


@pytest.mark.parametrize(
    'linear, angular', [(0.0, 0.3), (0.0, 1.0), (0.0, 2.55), (0.15, -1.0), (0.3, 0.5)])
def test_turn_rate_is_98_percent_of_the_command(linear, angular):
    """The tyres scrub: 2 % of a turn is lost, as measured on the real floor."""
    sim = perfect_sim()
    drive(sim, linear, angular, 1.0)
    true_turn, encoder_turn = turned(sim, linear, angular, 3.0)
    assert true_turn / (3.0 * angular) == pytest.approx(0.98, abs=0.01)
    assert encoder_turn / (3.0 * angular) == pytest.approx(1.0, abs=0.005)


@pytest.mark.parametrize('angular', [0.5, 2.55])
def test_step_of_5_ms_turns_as_one_of_1_ms(angular):
    """The time step is small enough not to show."""
    turns = []
    for timestep_s in (0.005, 0.001):
        sim = perfect_sim(timestep_s=timestep_s)
        turns.append(turned(sim, 0.1, angular, 2.0)[0])
    assert turns[0] == pytest.approx(turns[1], rel=0.005)


def test_straight_is_straight_and_as_long_as_the_encoders_say():
    """Ten seconds at full speed, ramped; the loaded tyres creep by less than 0.5 %."""
    sim = perfect_sim(start=(-2, 0, 0))
    drive(sim, 0.3, 0.0, 10.0)
    drive(sim, 0.0, 0.0, 1.0)
    x, y, yaw = sim.truth().pose
    assert sim.odometry().pose[0] == pytest.approx(3.0, abs=0.002)
    assert x + 2.0 == pytest.approx(3.0, rel=0.005)
    assert abs(y) < 1e-6 and abs(yaw) < 1e-6


def test_ramp_takes_the_speed_over_the_acceleration_and_also_at_a_stop():
    """
    0.3 m/s at 1 m/s^2: half way at 0.15 s, there at 0.3 s; the same downwards.

    Servo and tyres follow the ramp with a lag of some 10 ms.
    """
    sim = perfect_sim()
    for command, speeds in ((0.3, (0.15, 0.3)), (0.0, (0.15, 0.0)), (-0.3, (-0.15, -0.3))):
        for after, speed in zip((0.15, 0.25), speeds):
            sim.set_command(command, 0.0)
            sim.step(after)
            assert sim.truth().linear == pytest.approx(speed, abs=0.015)
            assert sim.odometry().linear == pytest.approx(speed, abs=0.01)


def test_each_wheel_ramps_by_itself():
    """On the spot a wheel needs 0.30 s for its 0.2996 m/s at 2.55 rad/s."""
    sim = perfect_sim()
    sim.set_command(0.0, 2.55)
    sim.step(0.15)
    assert sim.odometry().angular == pytest.approx(1.0 * 0.15 / (ROBOT.wheels.track / 2), rel=0.03)


def test_base_stops_by_itself_after_the_last_command():
    """Half a second of simulated time, then the ramp."""
    sim = perfect_sim()
    sim.set_command(0.2, 0.0)
    sim.step(0.5)
    assert sim.truth().linear == pytest.approx(0.2, abs=0.005) and sim.command == (0.2, 0.0)
    sim.step(0.3)
    assert sim.command == (0.0, 0.0)
    assert abs(sim.truth().linear) < 0.005


def test_commands_are_clipped_and_nonsense_is_refused():
    """The base's own limits; NaN never reaches the wheels."""
    sim = perfect_sim()
    sim.set_command(9.0, -9.0)
    assert sim.command == (ROBOT.limits.linear_speed, -ROBOT.limits.angular_speed)
    with pytest.raises(ValueError, match='not finite'):
        sim.set_command(math.nan, 0.0)
    assert sim.command == (ROBOT.limits.linear_speed, -ROBOT.limits.angular_speed)
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match='cannot step'):
            sim.step(bad)


def test_slip_of_a_spin_is_not_undone_by_the_stop():
    """Spin up, spin, dead stop: encoders over-count the turn; the stop takes little back."""
    sim = perfect_sim(ramp=False)
    spinning = np.array(turned(sim, 0.0, 2.55, 3.0))
    ahead = spinning[1] - spinning[0]
    stopping = np.array(turned(sim, 0.0, 0.0, 1.0))
    assert math.radians(1.0) < ahead < math.radians(12.0)
    assert -0.5 * ahead < stopping[1] - stopping[0] < 0.0


def caster_force(sim):
    """Return what the caster presses on the floor with, newtons."""
    caster, force = sim.model.geom('caster').id, np.zeros(6)
    total = 0.0
    for index, pair in enumerate(sim.data.contact.geom):
        if caster in pair:
            mujoco.mj_contactForce(sim.model, sim.data, index, force)
            total += force[0]
    return total


def test_caster_unloads_at_the_acceleration_that_the_robot_file_gives():
    """
    Moments about the wheels' contact line, against the load that the physics shows.

    The model's own formula leaves out that the wheels are spun up too, whose inertia adds a few
    percent.
    """
    com, wheels = ROBOT.center_of_mass, ROBOT.wheels
    mass = ROBOT.body.mass + 2 * wheels.mass
    loads, accelerations = [], (0.0, 1.0, 2.0, 3.0)
    for acceleration in accelerations:
        limits = replace(
            ROBOT.limits, linear_acceleration=max(acceleration, 1e-6), linear_speed=2.0)
        sim = perfect_sim(robot=replace(ROBOT, limits=limits), start=(-2, 0, 0))
        sim.model.actuator_forcerange[:] = (-5.0, 5.0)
        sim.set_command(2.0, 0.0)
        sim.step(0.3)
        loads.append(caster_force(sim))
    at_rest = mass * 9.81 * com.x / ROBOT.caster.x
    assert loads[0] == pytest.approx(at_rest, rel=0.02)
    slope, load = np.polyfit(accelerations, loads, 1)
    unloads_at = -load / slope
    # An ellipsoid: 2/5 m r^2.
    spin_up = 2 * 0.4 * wheels.mass * wheels.radius ** 2 / wheels.radius
    derived = mass * 9.81 * com.x / (mass * com.z + spin_up)
    assert unloads_at == pytest.approx(derived, rel=0.03)
    assert unloads_at == pytest.approx(ROBOT.caster_unloading_mps2, rel=0.08)
    assert unloads_at > 3.5 * ROBOT.limits.linear_acceleration


def test_caster_on_the_rear_puts_the_robot_on_its_nose():
    """Centre of mass 1.6 mm ahead, nothing before it: it rests on the shell's edge at 4.1 deg."""
    tipped = replace(ROBOT, caster=replace(ROBOT.caster, x=-0.13),
                     center_of_mass=replace(ROBOT.center_of_mass, x=0.0016))
    sim = perfect_sim(robot=tipped)
    sim.step(1.0)
    assert sim.tilt()[1] == pytest.approx(ROBOT.nose_down_limit_rad, abs=math.radians(0.3))
    level = perfect_sim()
    level.step(1.0)
    assert abs(level.tilt()[1]) < math.radians(0.1)


@pytest.mark.parametrize('azimuth_deg, sides', [
    (45, (True, False)), (-45, (False, True)), (80, (True, False)), (-80, (False, True)),
    (0, (True, True)), (15, (True, False)), (-15, (False, True))])
def test_bumper_half_is_where_the_post_is(azimuth_deg, sides):
    """A post at an azimuth of the shell, driven onto along a straight line."""
    angle = math.radians(azimuth_deg)
    gap = 0.01 if abs(azimuth_deg) > 60 else 0.05
    reach = ROBOT.body.radius + 0.02
    post = {'name': 'post', 'center': [reach * math.cos(angle) + gap, reach * math.sin(angle)],
            'radius': 0.02, 'z': [0, 0.4]}
    sim = perfect_sim(room(cylinders=[post]))
    while not any(sim.bumpers()):
        sim.set_command(0.1, 0.0)
        sim.step(0.01)
        assert sim.time_s < 2.0
    assert sim.bumpers() == sides
    assert sim.contacts == 1 and sim.rear_contacts == 0
    assert -0.003 < sim.clearance() < 0.0


def test_reversing_into_a_wall_is_no_bumper_contact():
    """The shell behind the bumper is counted by itself."""
    sim = perfect_sim(start=(-2.7, 0, 0))
    drive(sim, -0.1, 0.0, 3.0)
    assert (sim.contacts, sim.rear_contacts) == (0, 1)
    assert sim.bumpers() == (False, False)


def test_bumper_lets_go_after_the_release_time():
    """Held while it pushes, released once it is away."""
    sim = perfect_sim(start=(2.7, 0, 0))
    drive(sim, 0.1, 0.0, 2.0)
    assert sim.bumpers() == (True, True) and sim.contacts == 1
    drive(sim, -0.1, 0.0, 1.0)
    assert sim.bumpers() == (False, False)
    drive(sim, 0.1, 0.0, 2.0)
    assert sim.contacts == 2


def test_six_centimetre_lip_is_a_bump_and_never_climbed():
    """The scanner looks over it; the shell meets it."""
    sim = perfect_sim(room(boxes=[
        {'name': 'lip', 'center': [0.6, 0], 'size': [0.1, 2.0], 'yaw': 0, 'z': [0, 0.06]}]))
    drive(sim, 0.3, 0.0, 4.0)
    assert sim.contacts >= 1
    assert sim.truth().pose[0] == pytest.approx(0.55 - ROBOT.body.radius, abs=0.005)
    assert abs(sim.tilt()[1]) < math.radians(1.0)


def test_five_millimetre_threshold_is_crossed():
    """Lower than the ground clearance: wheels and caster go over it, the shell never touches."""
    sim = perfect_sim(room(boxes=[
        {'name': 'strip', 'center': [0.6, 0], 'size': [0.1, 2.0], 'yaw': 0, 'z': [0, 0.005]}]))
    tilts = []
    drive(sim, 0.2, 0.0, 8.0, each=lambda s: tilts.append(abs(s.tilt()[1])))
    assert sim.truth().pose[0] > 1.4 and sim.contacts == 0
    assert max(tilts) > math.radians(1.0) and tilts[-1] < math.radians(0.1)


def test_wall_holds_at_full_speed():
    """The shell sinks in by less than 4 mm, and pushing on does not get through."""
    sim = perfect_sim(start=(2.0, 0, 0))
    gaps = []
    drive(sim, 0.3, 0.0, 6.0, each=lambda s: gaps.append(s.clearance()))
    assert min(gaps) > -0.004
    assert sim.truth().pose[0] == pytest.approx(WALL_M - ROBOT.body.radius, abs=0.004)


def test_tyres_slip_more_on_a_slippery_carpet():
    """What friction the layout gives a carpet is what a tyre has on it."""
    ice = {'name': 'ice', 'polygon': [[-1, -1], [1, -1], [1, 1], [-1, 1]], 'friction': 0.02}
    slick = room(carpets=[ice])
    on_carpet, bare = perfect_sim(slick), perfect_sim()
    for sim in (on_carpet, bare):
        sim.set_command(0.3, 0.0)
        sim.step(0.4)
    assert bare.truth().linear == pytest.approx(0.3, abs=0.01)
    assert on_carpet.truth().linear < 0.15


@pytest.mark.parametrize('off_m', [0.03, 0.1, 0.15])
@pytest.mark.parametrize('thin', [True, False])
def test_an_upright_edge_holds_a_shell_that_is_driven_into_it(off_m, thin):
    """The end of a wall or the corner of a box, met beside the middle: pushed aside, not cut."""
    block = {'name': 'block', 'center': [1.5, -0.5], 'size': [1.0, 0.05 if thin else 1.0],
             'yaw': 0 if thin else 45}
    edge = -0.475 if thin else -0.5
    sim = perfect_sim(room(boxes=[block]), start=(0.2, edge + off_m, 0))
    gaps = []
    drive(sim, 0.25, 0.0, 4.0, each=lambda s: gaps.append(s.clearance()))
    assert sim.contacts > 0
    assert min(gaps) > -0.004


def test_a_cable_bridge_hangs_the_robot_nose_up_and_no_bumper_feels_it():
    """The caster is up on it, the rear edge of the shell down, and the wheels spin."""
    sim = perfect_sim(room(boxes=[
        {'name': 'cable', 'center': [0.6, 0], 'size': [0.1, 2.0], 'yaw': 0, 'z': [0, 0.011]}]))
    drive(sim, 0.15, 0.0, 8.0)
    x, driven = sim.truth().pose[0], sim.odometry().pose[0]
    drive(sim, 0.15, 0.0, 4.0)
    assert abs(sim.truth().pose[0] - x) < 0.005 and sim.odometry().pose[0] - driven > 0.5
    assert math.radians(3.5) < abs(sim.tilt()[1]) < math.radians(5.0)
    assert sim.contacts == 0 and sim.bumpers() == (False, False)
