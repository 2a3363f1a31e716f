"""The description of the robot, converted by Gazebo's own library and compared with robot.yaml."""
import importlib.util
import math
from pathlib import Path
from xml.etree import ElementTree

from launch import LaunchContext
from launch.actions import LogInfo
from launch_ros.actions import Node
import mujoco
import numpy as np
from oomwoo_localization.robot import default_robot_file, load_robot
from oomwoo_sim_support import sim_model
from oomwoo_sim_support.launch_choices import LaunchError
from oomwoo_sim_support.sim_settings import SimSettings
import pytest
from sdf_conversion import Converted, library, pose_of
import xacro
import yaml

PACKAGE = Path(__file__).resolve().parents[1]
FILE = PACKAGE / 'urdf' / 'oomwoo_one.urdf.xacro'
ROBOT = load_robot()
LUMP = 'base_footprint_fixed_joint_lump__'
needs_sdformat = pytest.mark.skipif(library() is None, reason='libsdformat14 is not installed')


def urdf(**arguments):
    """Return the URDF's text for the file's arguments."""
    return xacro.process_file(
        str(FILE), mappings={'robot_file': str(default_robot_file())} | arguments).toxml()


@pytest.fixture(scope='module')
def converted(tmp_path_factory):
    """Return the description as Gazebo gets it."""
    return Converted(urdf(), tmp_path_factory.mktemp('urdf'))


def shapes(link):
    """Return {name: (pose, geometry element)} of the collisions of a link."""
    return {c.get('name'): (np.array(pose_of(c)), c.find('geometry')[0])
            for c in link.findall('collision')}


def plugins(converted):
    """Return the plugin elements by the last word of their name, lists of them."""
    found = {}
    for plugin in converted.model.findall('plugin'):
        found.setdefault(plugin.get('name').split('::')[-1], []).append(plugin)
    return found


def frames(text):
    """Return {child: (parent, x, y, z, yaw)} of the joints of a URDF."""
    found = {}
    for joint in ElementTree.fromstring(text).findall('joint'):
        origin = joint.find('origin')
        xyz = [float(v) for v in origin.get('xyz', '0 0 0').split()]
        yaw = float(origin.get('rpy', '0 0 0').split()[2])
        found[joint.find('child').get('link')] = (joint.find('parent').get('link'), *xyz, yaw)
    return found


def test_frames_are_those_of_the_embedded_simulator():
    """Same tree, same places, so that a bag from one fits the other."""
    from oomwoo_sim_support.embedded_sim_node import _robot_frames
    described = frames(urdf())
    for transform in _robot_frames(ROBOT):
        parent, x, y, z, yaw = described[transform.child_frame_id]
        at, turn = transform.transform.translation, transform.transform.rotation
        assert parent == transform.header.frame_id
        assert (x, y, z) == pytest.approx((at.x, at.y, at.z), abs=1e-9)
        assert yaw == pytest.approx(2 * math.atan2(turn.z, turn.w), abs=1e-9)
    assert set(described) == {'base_link', 'base_scan', 'imu_link', 'wheel_left_link',
                              'wheel_right_link', 'caster_link', 'bumper_left_link',
                              'bumper_right_link', 'dock_ir_left_link', 'dock_ir_right_link'}


def test_receivers_look_backwards_each_to_its_own_side():
    """25 degrees off straight back."""
    described = frames(urdf())
    for side, sign in (('left', 1), ('right', -1)):
        parent, x, y, z, yaw = described[f'dock_ir_{side}_link']
        assert (x, y) == (-0.165, 0.0) and z + ROBOT.wheels.radius == pytest.approx(0.05)
        assert math.cos(yaw) == pytest.approx(-math.cos(math.radians(25.0)))
        assert math.sin(yaw) == pytest.approx(sign * math.sin(math.radians(25.0)))


def test_what_robot_yaml_does_not_say_is_the_embedded_simulators():
    """Defaults of the xacro arguments."""
    text = FILE.read_text(encoding='utf-8')
    settings = SimSettings()
    for name, value in (
            ('shell_friction', sim_model._SHELL_FRICTION),
            ('tyre_friction', settings.tyre_friction),
            ('wheel_torque', sim_model._WHEEL_TORQUE_NM),
            ('gyro_noise', settings.gyro_noise_std),
            ('accelerometer_noise', settings.accelerometer_noise_std)):
        assert f'<xacro:arg name="{name}" default="{value:g}"/>' in text


def test_without_gazebo_nothing_of_it_is_left():
    """For the robot itself."""
    text = urdf(gazebo='false')
    assert '<gazebo' not in text and 'gz-sim' not in text
    assert frames(text) == frames(urdf())


@needs_sdformat
def test_conversion_warns_of_nothing_but_the_key_that_names_the_frame(converted):
    """No element of libsdformat14 says what frame a sensor stamps; gz-sensors reads this one."""
    warnings = [line for line in converted.said.splitlines() if line.strip()]
    assert len(warnings) == 4 and all('gz_frame_id' in line for line in warnings), converted.said


@needs_sdformat
def test_mass_and_inertia_are_those_of_robot_yaml(converted):
    """Of the whole, and of body and wheels with the parallel axes between them."""
    body, wheels, com = ROBOT.body, ROBOT.wheels, ROBOT.center_of_mass
    total = body.mass + 2 * wheels.mass
    assert converted.mass == pytest.approx(total)
    assert converted.center_of_mass == pytest.approx([com.x, com.y, com.z], abs=1e-6)
    height = body.height - body.ground_clearance
    across = body.mass * (3 * body.radius ** 2 + height ** 2) / 12
    own = np.diag([across, across, body.mass * body.radius ** 2 / 2])
    wheel_across = wheels.mass * (3 * wheels.radius ** 2 + wheels.width ** 2) / 12
    spin = np.diag([wheel_across, wheels.mass * wheels.radius ** 2 / 2, wheel_across])
    middle = np.array([com.x, com.y, com.z])
    base = np.array([total * com.x, total * com.y,
                     total * com.z - 2 * wheels.mass * wheels.radius]) / body.mass
    expected = own + _moved(body.mass, base - middle)
    for side in (1, -1):
        at = np.array([0.0, side * wheels.track / 2, wheels.radius])
        expected = expected + spin + _moved(wheels.mass, at - middle)
    assert np.array(converted.inertia) == pytest.approx(expected, abs=1e-6)


def _moved(mass, arm):
    return mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))


@needs_sdformat
def test_fixed_links_are_one_and_no_other(converted):
    """Lumped into base_footprint, so that the model's pose is that frame's."""
    assert [link.get('name') for link in converted.model.findall('link')] == [
        'base_footprint', 'wheel_left_link', 'wheel_right_link']
    joints = {j.get('name'): j for j in converted.model.findall('joint')}
    assert set(joints) == {'wheel_left_joint', 'wheel_right_joint'}
    for joint in joints.values():
        assert joint.get('type') == 'revolute' and joint.findtext('axis/xyz') == '0 1 0'
        assert float(joint.findtext('axis/limit/effort')) == sim_model._WHEEL_TORQUE_NM


@needs_sdformat
def test_each_contact_sensor_watches_all_facets_of_its_side_as_they_are_named_in_the_end(
        converted):
    """A name that is none is no error in Gazebo: the sensor stays silent."""
    base = converted.link('base_footprint')
    there = shapes(base)
    watched = {}
    for sensor in base.findall('sensor'):
        if sensor.get('type') == 'contact':
            names = [c.text for c in sensor.findall('contact/collision')]
            watched[sensor.get('name')] = names
            # Anything else would be read as a topic of its own.
            assert sensor.findtext('contact/topic') in (None, '__default_topic__')
    assert set(watched) == {'bumper_left', 'bumper_right'}
    for name, sign in (('bumper_left', 1), ('bumper_right', -1)):
        facets = {n for n in there if n.startswith(f'{LUMP}{name}_link_collision')}
        assert len(watched[name]) == len(facets) == 12
        assert set(watched[name]) == facets
        assert all(sign * there[facet][0][1] > 0 for facet in facets)


@needs_sdformat
def test_the_bumper_is_the_front_half_of_the_bodys_circle(converted):
    """From every direction in front, a facet is met first; never outside of the circle."""
    there = shapes(converted.link('base_footprint'))
    radius, bearings = ROBOT.body.radius, np.radians(np.arange(-89.9, 90.0, 0.7))
    rays = np.stack([np.cos(bearings), np.sin(bearings)], axis=1)
    reach = np.zeros(len(rays))
    for name, (pose, shape) in there.items():
        if 'bumper' not in name:
            continue
        x, y, z, _, _, yaw = pose
        length, width, height = (float(v) for v in shape.findtext('size').split())
        assert z - height / 2 == pytest.approx(ROBOT.body.ground_clearance)
        assert z + height / 2 == pytest.approx(ROBOT.body.height)
        corners = np.array([[length, width], [length, -width], [-length, width],
                            [-length, -width]]) / 2
        turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
        assert np.hypot(*(corners @ turn.T + [x, y]).T).max() <= radius + 1e-6
        outward = np.array([math.cos(yaw), math.sin(yaw)])
        face = math.hypot(x, y) + length / 2
        distance = face / (rays @ outward)
        across = distance * (rays @ [-math.sin(yaw), math.cos(yaw)])
        hit = (distance > 0) & (np.abs(across) <= width / 2 + 1e-9)
        reach[hit] = np.maximum(reach[hit], distance[hit])
    assert reach.max() <= radius + 1e-6 and reach.min() > radius - 0.0005
    shell = float(there[f'{LUMP}base_link_collision'][1].findtext('radius'))
    assert radius - 0.0007 < shell < reach.min()


@needs_sdformat
def test_wheels_and_caster_touch_the_floor_together_and_nothing_else_does(converted):
    """Lowest points, in the model's frame."""
    there = shapes(converted.link('base_footprint'))
    pose, ball = there.pop(next(n for n in there if 'caster' in n))
    assert pose[2] - float(ball.findtext('radius')) == pytest.approx(0.0, abs=1e-9)
    assert pose[0] == pytest.approx(ROBOT.caster.x)
    for name, (pose, shape) in there.items():
        tall = float(shape.findtext('length') or shape.findtext('size').split()[2])
        assert pose[2] - tall / 2 >= ROBOT.body.ground_clearance - 1e-9, name
    joints = {j.findtext('child'): j for j in converted.model.findall('joint')}
    for side, sign in (('left', 1), ('right', -1)):
        link = converted.link(f'wheel_{side}_link')
        assert pose_of(link) == [0.0] * 6
        joint = pose_of(joints[link.get('name')])
        pose, wheel = shapes(link)[f'wheel_{side}_link_collision']
        radius = float(wheel.findtext('radius'))
        assert joint[2] - radius == pytest.approx(0.0, abs=1e-9)
        assert joint[:2] == pytest.approx([0.0, sign * ROBOT.wheels.track / 2])
        # A ball, in the middle of the tyre, and under the shell's cover: nothing but the floor
        # and what is lower than the shell can meet it.
        assert wheel.tag == 'sphere' and pose.tolist() == [0.0] * 6
        assert math.hypot(joint[1] + sign * radius, radius) < ROBOT.body.radius - 0.01
        assert 2 * radius < ROBOT.body.height
        # What is drawn lies on its side: the cylinder's axis is the joint's.
        drawn = link.find('visual')
        assert drawn.find('geometry/cylinder') is not None
        assert pose_of(drawn)[3] == pytest.approx(math.pi / 2)


@needs_sdformat
def test_friction_reaches_the_renamed_collisions(converted):
    """It is found by the link's name in the collision's; one that is not has Gazebo's 1.0."""
    wanted = {'base_link': 0.1, 'bumper_left_link': 0.1, 'bumper_right_link': 0.1,
              'caster_link': 0.0, 'wheel_left_link': 0.6, 'wheel_right_link': 0.6}
    seen = set()
    for collision in converted.model.iter('collision'):
        if not collision.get('name'):
            continue
        link = next(name for name in wanted if name in collision.get('name'))
        seen.add(link)
        for key in ('mu', 'mu2'):
            assert float(collision.findtext(f'surface/friction/ode/{key}')) == wanted[link]
    assert seen == set(wanted)


@needs_sdformat
def test_nothing_that_is_drawn_stands_in_the_lidars_way(converted):
    """Gazebo's LiDAR sees what is drawn: all below its plane, or nearer than its range."""
    lidar = ROBOT.lidar
    turrets = 0
    for visual in converted.link('base_footprint').findall('visual'):
        pose, shape = pose_of(visual), visual.find('geometry')[0]
        tall = (2 * float(shape.findtext('radius')) if shape.tag == 'sphere' else
                float(shape.findtext('length') or shape.findtext('size').split()[2]))
        if pose[2] + tall / 2 < lidar.z - 0.004:
            continue
        turrets += 1
        away = math.hypot(pose[0] - lidar.x, pose[1] - lidar.y)
        # gz-rendering draws from there on (Ogre2GpuRays: near clip of the cube), and calls too
        # near all that is nearer than the shortest range.
        assert away + float(shape.findtext('radius')) < 0.95 * lidar.range_min / math.sqrt(3.0)
    assert turrets == 1


@needs_sdformat
def test_lidar_and_imu_are_those_of_robot_yaml(converted):
    """Where they are after lumping, what they measure, what frame they stamp."""
    sensors = {s.get('name'): s for s in converted.link('base_footprint').findall('sensor')}
    lidar, facts = sensors['lidar'], ROBOT.lidar
    assert lidar.get('type') == 'gpu_lidar' and lidar.findtext('gz_frame_id') == 'base_scan'
    assert pose_of(lidar) == pytest.approx([facts.x, facts.y, facts.z, 0, 0, facts.yaw])
    assert float(lidar.findtext('update_rate')) == facts.rate
    scan = lidar.find('lidar/scan/horizontal')
    low, high = float(scan.findtext('min_angle')), float(scan.findtext('max_angle'))
    assert int(scan.findtext('samples')) == facts.beams
    assert (high - low) / (facts.beams - 1) == pytest.approx(math.radians(360 / facts.beams))
    assert low == pytest.approx(-math.pi)
    assert [float(lidar.findtext(f'lidar/{key}')) for key in (
        'range/min', 'range/max', 'noise/stddev')] == [
            facts.range_min, facts.range_max, facts.noise_std]
    imu = sensors['imu']
    assert imu.findtext('gz_frame_id') == 'imu_link'
    assert pose_of(imu)[:3] == pytest.approx([0, 0, ROBOT.wheels.radius])


@needs_sdformat
def test_the_drive_has_the_robots_geometry_and_limits(converted):
    """And its turning acceleration is what two wheels give."""
    drive, = plugins(converted)['DiffDrive']
    limits, track = ROBOT.limits, ROBOT.wheels.track
    turning = 2 * limits.linear_acceleration / track
    for key, value in (
            ('wheel_separation', track), ('wheel_radius', ROBOT.wheels.radius),
            ('max_linear_velocity', limits.linear_speed),
            ('min_linear_velocity', -limits.linear_speed),
            ('max_angular_velocity', limits.angular_speed),
            ('min_angular_velocity', -limits.angular_speed),
            ('max_linear_acceleration', limits.linear_acceleration),
            ('min_linear_acceleration', -limits.linear_acceleration),
            ('max_angular_acceleration', turning), ('min_angular_acceleration', -turning)):
        assert float(drive.findtext(key)) == pytest.approx(value), key
    assert (drive.findtext('left_joint'), drive.findtext('right_joint')) == (
        'wheel_left_joint', 'wheel_right_joint')
    states, = plugins(converted)['JointStatePublisher']
    assert [j.text for j in states.findall('joint_name')] == [
        'wheel_left_joint', 'wheel_right_joint']


@needs_sdformat
@pytest.mark.parametrize('source', ['robot_wheels', 'ground_truth'])
def test_odometry_comes_from_one_source_and_truth_is_there_for_meters(source, tmp_path):
    """No topic has two publishers."""
    found = plugins(Converted(urdf(odom_source=source), tmp_path))
    drive, = found['DiffDrive']
    truth = {p.findtext('odom_frame'): p for p in found['OdometryPublisher']}
    assert set(truth) == ({'map', 'odom'} if source == 'ground_truth' else {'map'})
    of_topic = {}
    for plugin in (drive, *truth.values()):
        for key in ('odom_topic', 'tf_topic', 'odom_covariance_topic'):
            if plugin.findtext(key):
                assert plugin.findtext(key) not in of_topic
                of_topic[plugin.findtext(key)] = plugin
    speaker = truth['odom'] if source == 'ground_truth' else drive
    assert of_topic['/model/oomwoo_one/odometry'] is speaker
    assert of_topic['/model/oomwoo_one/tf'] is speaker
    assert of_topic['/model/oomwoo_one/odometry_truth'] is truth['map']
    assert all(p.findtext('robot_base_frame') == 'base_footprint' for p in truth.values())


@needs_sdformat
def test_another_robot_file_is_another_robot(tmp_path):
    """The file is the only source: a heavier, wider one with another scanner."""
    facts = yaml.safe_load(default_robot_file().read_text(encoding='utf-8'))
    facts['body']['mass'], facts['wheels']['track'], facts['lidar']['beams'] = 4.0, 0.25, 720
    file = tmp_path / 'other.yaml'
    file.write_text(yaml.safe_dump(facts), encoding='utf-8')
    other = Converted(urdf(robot_file=str(file)), tmp_path)
    assert other.mass == pytest.approx(4.2)
    assert other.center_of_mass == pytest.approx([0.0072, 0.0, 0.0164], abs=1e-6)
    assert float(plugins(other)['DiffDrive'][0].findtext('wheel_separation')) == 0.25
    lidar = next(s for s in other.model.iter('sensor') if s.get('type') == 'gpu_lidar')
    assert lidar.findtext('lidar/scan/horizontal/samples') == '720'


def in_mujoco(step_s):
    """Return (model, data) of the robot on a floor in MuJoCo, which reads URDF, too."""
    spec = mujoco.MjSpec.from_string(urdf(gazebo='false'))
    spec.worldbody.add_geom(name='floor', type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    spec.body('base_footprint').add_freejoint()
    spec.option.timestep = step_s
    for geom in spec.geoms:
        wheel = geom.name.startswith('wheel')
        geom.friction = [SimSettings().tyre_friction if wheel else 0.0, 0.005, 0.0001]
        geom.priority = int(wheel or 'caster' in geom.name)
        if not wheel and geom.name != 'floor':
            geom.mass = 0.0            # a URDF's link without inertia has none
    for side in ('left', 'right'):
        spec.add_actuator(
            target=f'wheel_{side}_joint', trntype=mujoco.mjtTrn.mjTRN_JOINT,
            gainprm=[1.0] + [0.0] * 9, biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            biasprm=[0.0, 0.0, -1.0] + [0.0] * 7, forcelimited=True, forcerange=[-0.22, 0.22])
    model = spec.compile()
    return model, mujoco.MjData(model)


def test_it_stands_drives_and_brakes_level_in_a_physics_engine():
    """On its three points, at the robot's own speed and acceleration."""
    step_s = 0.002
    model, data = in_mujoco(step_s)
    assert model.body_mass.sum() == pytest.approx(ROBOT.body.mass + 2 * ROBOT.wheels.mass)
    limits, speed, fastest = ROBOT.limits, 0.0, 0.0
    for number in range(round(5.0 / step_s)):
        wanted = limits.linear_speed if 1.0 < number * step_s < 3.0 else 0.0
        change = limits.linear_acceleration * step_s
        speed += min(max(wanted - speed, -change), change)
        data.ctrl[:] = speed / ROBOT.wheels.radius
        mujoco.mj_step(model, data)
        w, x, y, z = data.qpos[3:7]
        roll, pitch = 2 * (w * x + y * z), 2 * (w * y - z * x)
        assert max(abs(math.degrees(roll)), abs(math.degrees(pitch))) < 0.1
        fastest = max(fastest, data.qvel[0])
    assert fastest == pytest.approx(limits.linear_speed, rel=0.02)
    # Ramps up and down are two triangles: as far as at full speed for the time between them.
    assert data.qpos[0] == pytest.approx(2.0 * limits.linear_speed, rel=0.05)
    assert abs(data.qvel[0]) < 0.002 and abs(data.qpos[1]) < 0.002
    assert {model.geom(c.geom2).name for c in data.contact} | {
        model.geom(c.geom1).name for c in data.contact} == {
            'floor', 'caster_link', 'wheel_left_link', 'wheel_right_link'}


@pytest.mark.parametrize('wish', [2.0, -2.0])
def test_it_turns_on_the_spot_as_fast_as_its_wheels_say(wish):
    """By the drive's own track width, without wandering off or rocking."""
    step_s = 0.002
    model, data = in_mujoco(step_s)
    rate, turned, last = 0.0, 0.0, 0.0
    for number in range(round(4.0 / step_s)):
        change = 2 * ROBOT.limits.linear_acceleration / ROBOT.wheels.track * step_s
        wanted = wish if 1.0 < number * step_s < 3.0 else 0.0
        rate += min(max(wanted - rate, -change), change)
        rim = rate * ROBOT.wheels.track / 2
        data.ctrl[:] = np.array([-rim, rim]) / ROBOT.wheels.radius
        mujoco.mj_step(model, data)
        w, x, y, z = data.qpos[3:7]
        yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        turned, last = turned + math.remainder(yaw - last, math.tau), yaw
        assert math.degrees(max(abs(2 * (w * x + y * z)), abs(2 * (w * y - z * x)))) < 0.1
    assert turned == pytest.approx(2.0 * wish, rel=0.02)
    assert math.hypot(*data.qpos[:2]) < 0.01


def launched(monkeypatch, tmp_path, there=True, **arguments):
    """Return the actions of robot_description.launch.py."""
    spec = importlib.util.spec_from_file_location(
        'robot_description', PACKAGE / 'launch' / 'robot_description.launch.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, 'get_package_share_directory', lambda package: str(PACKAGE))
    if there:
        (tmp_path / 'publisher').touch()
    monkeypatch.setattr(module, 'installed', lambda package: True)
    monkeypatch.setattr(module, 'executable', lambda *names: tmp_path / 'publisher')
    context = LaunchContext()
    for name, default, _ in module.ARGUMENTS:
        context.launch_configurations[name] = arguments.get(name, default)
    return module._start(context), context


def test_the_launch_file_publishes_the_description(monkeypatch, tmp_path):
    """With the time and the namespace that were asked for."""
    (node,), context = launched(
        monkeypatch, tmp_path, use_sim_time='true', namespace='upstairs',
        odom_source='ground_truth')
    assert isinstance(node, Node) and node.node_executable == 'robot_state_publisher'
    node._perform_substitutions(context)
    parameters = {}
    for file, is_file in node._Node__expanded_parameter_arguments:
        assert is_file
        for section in yaml.safe_load(Path(file).read_text(encoding='utf-8')).values():
            parameters |= section['ros__parameters']
    assert parameters['use_sim_time'] is True
    root = ElementTree.fromstring(parameters['robot_description'])
    assert root.get('name') == ROBOT.name
    assert '<odom_frame>odom</odom_frame>' in parameters['robot_description']
    assert len(node._Node__remappings) == 2


def test_without_its_executable_it_says_so_and_nonsense_is_named(monkeypatch, tmp_path):
    """A library alone does not count."""
    (action,), context = launched(monkeypatch, tmp_path, there=False)
    assert isinstance(action, LogInfo)
    for wrong in ({'odom_source': 'dice'}, {'robot_file': '/nowhere.yaml'}, {'gazebo': 'maybe'}):
        name, value = next(iter(wrong.items()))
        with pytest.raises(LaunchError, match=f'{name}:={value}'):
            launched(monkeypatch, tmp_path, **wrong)
    broken = tmp_path / 'broken.yaml'
    broken.write_text('name: broken\n', encoding='utf-8')
    with pytest.raises(LaunchError, match='body'):
        launched(monkeypatch, tmp_path, robot_file=str(broken))
