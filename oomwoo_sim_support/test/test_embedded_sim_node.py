"""The simulator over DDS: topics, driving, kidnapping, obstacles, pause, reset, a clean end."""
import math
import signal
import subprocess
import sys
import time

import numpy as np
from oomwoo_localization.frames import matrix_from_xyzrpy
from oomwoo_sim_support.sim_entities import sdf_of_box, sdf_of_cylinder
import pytest
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.parameter import Parameter
from sim_graph import answer, Graph, ROBOT, ROOM, START, start_node, TOPICS
from simulation_interfaces.msg import Result, SimulationState
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntityState,
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    SpawnEntity,
    StepSimulation,
)

FACTOR = 5.0


@pytest.fixture(scope='module')
def layout_file(tmp_path_factory):
    """Write a bare room."""
    path = tmp_path_factory.mktemp('layouts') / 'bare_room.yaml'
    path.write_text(ROOM)
    return path


@pytest.fixture(scope='module')
def world(layout_file):
    """Start the simulator once; it must end by itself on SIGTERM."""
    process = start_node(
        'embedded_sim_node', f'world:={layout_file}', f'real_time_factor:={FACTOR}',
        'range_noise_std:=0.0')
    rclpy.init()
    node = Graph()
    try:
        node.until(lambda: all(node.count.values()), 60.0)        # a busy machine
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        try:
            output, _ = process.communicate(timeout=45)
        finally:
            process.kill()
        assert process.returncode == 0, output
        assert time.monotonic() - began < 2.0


@pytest.fixture
def graph(world):
    """Start each test at the start."""
    world.command = None
    world.set_state(SimulationState.STATE_PLAYING)
    assert world.reset()[0] == Result.RESULT_OK
    world.until(lambda: world.now < 1.0)
    world.run(0.1)
    world.frames.clear()
    world.run(0.2)
    world.stamps.clear()
    return world


def test_topics_come_at_their_rates_in_simulated_time(graph):
    """Ten scans a simulated second and so on, with frames and numbers as the robot file says."""
    before, begun, wall = dict(graph.count), graph.now, time.monotonic()
    graph.run(4.0)
    passed, wall = graph.now - begun, time.monotonic() - wall
    rate = {topic: (graph.count[topic] - before[topic]) / passed for topic in TOPICS}
    expected = {
        'scan': 10, 'odom': 20, 'odom_truth': 20, 'joint_states': 20, 'imu': 50,
        'bumper/left': 10, 'bumper/right': 10, 'battery_state': 1}
    for topic, hertz in expected.items():
        assert rate[topic] == pytest.approx(hertz, rel=0.15, abs=0.3), topic
    assert 50 <= rate['/clock'] <= 100
    assert passed / wall < 1.1 * FACTOR
    tenths = np.array(graph.stamps) * 10
    np.testing.assert_allclose(tenths, np.rint(tenths), atol=1e-5)
    assert (np.diff(tenths) > 0.5).all()
    scan = graph.last['scan']
    assert (scan.header.frame_id, len(scan.ranges)) == ('base_scan', ROBOT.lidar.beams)
    assert scan.angle_max == pytest.approx(scan.angle_min + 359 * scan.angle_increment, abs=1e-4)
    odom = graph.last['odom']
    assert (odom.header.frame_id, odom.child_frame_id) == ('odom', 'base_footprint')
    assert graph.last['imu'].linear_acceleration.z == pytest.approx(9.81, abs=0.3)
    assert graph.last['joint_states'].name == ['wheel_left_joint', 'wheel_right_joint']
    assert 0.99 < graph.last['battery_state'].percentage <= 1.0
    np.testing.assert_allclose(graph.truth, START, atol=1e-3)
    np.testing.assert_allclose(graph.odom, 0.0, atol=1e-3)


def test_frames_go_from_odom_to_the_scanner(graph):
    """The fixed ones as in robot.yaml, the moving one as /odom says."""
    graph.command = (0.1, 0.3)
    graph.run(1.0)
    lidar = ROBOT.lidar
    np.testing.assert_allclose(
        graph.frames.matrix('base_footprint', 'base_scan'),
        matrix_from_xyzrpy(lidar.x, lidar.y, lidar.z, yaw=lidar.yaw), atol=1e-9)
    stamp = graph.last['odom'].header.stamp
    expected = graph.odom
    graph.run(0.2)
    np.testing.assert_allclose(
        graph.frames.pose('odom', 'base_footprint', stamp), expected, atol=1e-6)


def test_command_drives_and_its_end_stops(graph):
    """Two seconds at 0.2 m/s; the base stops by itself half a second after the last command."""
    graph.command = (0.2, 0.0)
    graph.run(2.0)
    graph.command = None
    graph.run(1.5)
    way = math.hypot(*(graph.truth - START)[:2])
    assert 0.35 < way < 0.55
    assert math.hypot(*graph.odom[:2]) == pytest.approx(way, rel=0.02)
    assert abs(graph.last['odom'].twist.twist.linear.x) < 0.01
    graph.run(0.5)
    assert math.hypot(*(graph.truth - START)[:2]) == pytest.approx(way, abs=0.002)


@pytest.mark.parametrize('linear, angular', [(math.nan, 0.0), (0.1, math.inf)])
def test_nonsense_is_ignored(graph, linear, angular):
    """It neither moves the robot nor ends the simulator."""
    graph.command = (linear, angular)
    graph.run(1.0)
    np.testing.assert_allclose(graph.truth, START, atol=1e-3)
    graph.command = (5.0, 0.0)
    graph.run(1.0)
    assert graph.last['odom'].twist.twist.linear.x == pytest.approx(
        ROBOT.limits.linear_speed, abs=0.02)


def test_kidnapping(graph):
    """Truth and scan are elsewhere at once, odometry stays, a wall is refused."""
    graph.command = (0.1, 0.0)
    graph.run(1.0)
    graph.command = None
    graph.run(1.0)
    odom = graph.odom
    assert graph.put(ROBOT.name, (2.0, -1.0, -1.0)) == (Result.RESULT_OK, '')
    graph.run(0.2)
    np.testing.assert_allclose(graph.truth, (2.0, -1.0, -1.0), atol=1e-3)
    np.testing.assert_allclose(graph.odom, odom, atol=2e-3)
    code, message = graph.put(ROBOT.name, (2.95, 0.0, 0.0))
    assert code == SetEntityState.Response.INVALID_POSE and 'walls' in message
    assert graph.put('nobody', (0.0, 0.0, 0.0))[0] == Result.RESULT_NOT_FOUND
    np.testing.assert_allclose(graph.truth, (2.0, -1.0, -1.0), atol=1e-3)


@pytest.mark.parametrize(
    'sdf', [sdf_of_box('crate', (0.2, 0.2, 0.4)), sdf_of_cylinder('drum', 0.1, 0.4)],
    ids=['box', 'cylinder'])
def test_obstacle_is_seen_and_blocks(graph, sdf):
    """Spawned away, moved in front, hit, deleted."""
    assert graph.put(ROBOT.name, (0.0, 0.0, 0.0))[0] == Result.RESULT_OK
    spawned = graph.spawn('thing', sdf, (0.0, 2.0, 0.0))
    assert answer(spawned) == (Result.RESULT_OK, '') and spawned.entity_name == 'thing'
    assert graph.put('thing', (0.6, 0.0, 0.0))[0] == Result.RESULT_OK
    state = graph.call(
        GetEntityState, 'get_entity_state', GetEntityState.Request(entity='thing')).state
    assert state.pose.position.x == 0.6
    graph.run(0.2)
    assert graph.last['scan'].ranges[180] == pytest.approx(0.5 - ROBOT.lidar.x, abs=0.003)
    graph.command = (0.2, 0.0)
    graph.until(lambda: graph.last['bumper/left'].data and graph.last['bumper/right'].data)
    graph.run(1.0)
    assert graph.truth[0] == pytest.approx(0.5 - ROBOT.body.radius, abs=0.01)
    deleted = graph.call(DeleteEntity, 'delete_entity', DeleteEntity.Request(entity='thing'))
    assert answer(deleted)[0] == Result.RESULT_OK
    graph.run(2.0)
    assert graph.truth[0] > 0.5 and not graph.last['bumper/left'].data
    again = graph.call(DeleteEntity, 'delete_entity', DeleteEntity.Request(entity='thing'))
    assert answer(again)[0] == Result.RESULT_NOT_FOUND


def test_spawning_says_what_is_wrong(graph):
    """Each refusal with its own code of the interface."""
    codes, box = SpawnEntity.Response, sdf_of_box('crate', (0.2, 0.2, 0.4))
    assert answer(graph.spawn('', box, (1.0, 1.0, 0.0)))[0] == Result.RESULT_OK
    listed = graph.call(GetEntities, 'get_entities', GetEntities.Request())
    assert list(listed.entities) == [ROBOT.name, 'crate']
    for name, sdf, pose, code in (
            ('crate', box, (1.0, -1.0, 0.0), codes.NAME_NOT_UNIQUE),
            ('a\n', box, (1, -1, 0), codes.NAME_INVALID),
            ('b', '', (1, -1, 0), codes.NO_RESOURCE),
            ('b', '<sdf>', (1, -1, 0), codes.RESOURCE_PARSE_ERROR),
            ('b', '<urdf/>', (1, -1, 0), codes.UNSUPPORTED_FORMAT),
            ('b', box, (math.nan, 0, 0), codes.INVALID_POSE),
            ('b', box, START, codes.INVALID_POSE)):
        code_now, message = answer(graph.spawn(name, sdf, pose))
        assert code_now == code and message, (name, sdf, message)
    renamed = graph.spawn('crate', box, (1.0, -1.0, 0.0), allow_renaming=True)
    assert renamed.entity_name == 'crate_1'
    assert graph.reset(ResetSimulation.Request.SCOPE_SPAWNED)[0] == Result.RESULT_OK
    listed = graph.call(GetEntities, 'get_entities', GetEntities.Request())
    assert list(listed.entities) == [ROBOT.name]


def test_pause_holds_the_clock_and_steps_move_it(graph):
    """A step is a hundredth of a second; stepping needs a pause."""
    steps = graph.call(StepSimulation, 'step_simulation', StepSimulation.Request(steps=5))
    assert answer(steps)[0] == Result.RESULT_OPERATION_FAILED
    assert graph.set_state(SimulationState.STATE_PAUSED)[0] == Result.RESULT_OK
    already = SetSimulationState.Response.ALREADY_IN_TARGET_STATE
    assert graph.set_state(SimulationState.STATE_PAUSED)[0] == already
    state = graph.call(GetSimulationState, 'get_simulation_state', GetSimulationState.Request())
    assert state.state.state == SimulationState.STATE_PAUSED
    for _ in range(10):
        graph.executor_.spin_once(timeout_sec=0.02)
    held = graph.now
    for _ in range(10):
        graph.executor_.spin_once(timeout_sec=0.02)
    assert graph.now == held
    stepped = graph.call(StepSimulation, 'step_simulation', StepSimulation.Request(steps=100))
    assert answer(stepped)[0] == Result.RESULT_OK
    graph.until(lambda: graph.now > held + 0.97)
    assert graph.now <= held + 1.021
    assert graph.set_state(SimulationState.STATE_PLAYING)[0] == Result.RESULT_OK
    graph.run(0.2)


def test_reset_takes_the_clock_back(graph):
    """And the robot to its start, odometry to zero."""
    graph.command = (0.3, 0.5)
    graph.run(3.0)
    graph.command = None
    late = graph.now
    assert graph.reset()[0] == Result.RESULT_OK
    graph.until(lambda: graph.now < 1.0)
    graph.run(0.3)
    assert graph.now < late
    np.testing.assert_allclose(graph.truth, START, atol=1e-3)
    np.testing.assert_allclose(graph.odom, 0.0, atol=1e-3)
    code, message = graph.reset(ResetSimulation.Request.SCOPE_TIME)
    assert code == Result.RESULT_FEATURE_UNSUPPORTED and message


def test_features_are_named(graph):
    """What may be called is listed, with the robot's name."""
    answered = graph.call(
        GetSimulatorFeatures, 'get_simulator_features', GetSimulatorFeatures.Request())
    features = answered.features
    assert features.spawn_formats == ['sdf'] and ROBOT.name in features.custom_info
    assert features.SIMULATION_STATE_PAUSE in features.features


def test_parameters_change_while_it_runs_or_say_why_not(graph):
    """Noise at once; the world only at a start; nothing out of range."""
    def set_parameter(name, value):
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()])
        return graph.call(SetParameters, 'embedded_sim/set_parameters', request).results[0]

    assert set_parameter('dropout_rate', 1.0).successful
    graph.run(0.3)
    assert np.isinf(graph.last['scan'].ranges).all()
    assert set_parameter('dropout_rate', 0.0).successful
    refused = set_parameter('world', 'living_room')
    assert not refused.successful and 'restart' in refused.reason
    assert not set_parameter('dropout_rate', 2.0).successful


def test_clock_waits_for_whoever_drives(graph):
    """As fast as it goes, and still one command to a scan; without answers it goes on alone."""
    def set_parameters(**values):
        request = SetParameters.Request(parameters=[
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()])
        results = graph.call(SetParameters, 'embedded_sim/set_parameters', request).results
        assert all(result.successful for result in results)

    set_parameters(command_wait_s=0.3, real_time_factor=0.0)
    try:
        lags, commands = [], []
        graph.command = (0.05, 0.2)
        graph.run(1.0)
        graph.on_scan = lambda stamp: (
            time.sleep(0.03), lags.append(stamp), commands.append(graph.now))
        graph.run(1.5)
        graph.on_scan = None
        assert len(lags) >= 14 and np.diff(lags) == pytest.approx(0.1, abs=1e-5)
        assert max(np.array(commands) - lags) < 0.05
        graph.command = None
        begun, wall = graph.now, time.monotonic()
        graph.run(6.0)
        assert time.monotonic() - wall < 0.3 * 10 and graph.now > begun
    finally:
        set_parameters(command_wait_s=0.0, real_time_factor=FACTOR)


def test_truth_localizer_gives_the_map_frame(graph):
    """After a kidnapping too, and it says what it is."""
    process = start_node('truth_localizer_node', 'use_sim_time:=true')
    try:
        graph.frames.clear()
        graph.until(lambda: graph.frames.pose('map', 'base_footprint') is not None)
        graph.put(ROBOT.name, (1.0, 1.0, 1.0))
        graph.run(0.5)
        np.testing.assert_allclose(
            graph.frames.pose('map', 'base_footprint'), (1.0, 1.0, 1.0), atol=2e-3)
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=45)
    assert process.returncode == 0 and 'ground truth' in output


BAD_STARTS = (
    ('world:=no_such_world', 'no_such_world'), ('x_pose:=2.95', 'walls'),
    ('x_pose:=east', 'x_pose'), ('odom_rate:=30.0', 'odom_rate'),
    ('odom_source:=dice', 'odom_source'))
TRY_ALL = """
import sys
from oomwoo_sim_support.embedded_sim_node import main
for bad in sys.argv[2:]:
    status = main(['--ros-args', '-p', 'world:=' + sys.argv[1], '-p', bad])
    print('status', status, file=sys.stderr, flush=True)
"""


def test_bad_start_is_refused_by_name(layout_file):
    """One line that names it, exit status 2, no traceback."""
    tried = subprocess.run(
        [sys.executable, '-c', TRY_ALL, str(layout_file), *(bad for bad, _ in BAD_STARTS)],
        capture_output=True, text=True, timeout=90)
    said = tried.stderr.split('status 2\n')
    assert len(said) == len(BAD_STARTS) + 1 and 'Traceback' not in tried.stderr, tried.stderr
    for (bad, words), output in zip(BAD_STARTS, said):
        assert 'error: ' in output and words in output, (bad, output)
