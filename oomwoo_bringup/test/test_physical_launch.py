"""physical.launch.py and its parameters: who gets what, and what is refused."""
from pathlib import Path
import re

from oomwoo_localization.robot import load_robot
import pytest
from stub_workspace import OTHERS, ROOT, StubWorkspace
import yaml

DATA = Path(__file__).resolve().parent / 'data'
DECLARED = yaml.safe_load((DATA / 'declared_robot.yaml').read_text(encoding='utf-8'))
FILES = {'ekf_filter_node': 'ekf', 'twist_mux': 'twist_mux', 'analyzers': 'diagnostics'}


@pytest.fixture(scope='module')
def start(tmp_path_factory):
    """Return a function that launches a robot with everything installed."""
    workspace = StubWorkspace(tmp_path_factory.mktemp('robot'), [*OTHERS, 'ros_gz_sim'])

    def run(*arguments):
        return workspace.run('oomwoo_bringup', 'physical.launch.py', arguments)

    return run


def flat(values, prefix=''):
    """Return ``{dotted name: value}``."""
    found = {}
    for key, value in values.items():
        found |= flat(value, f'{prefix}{key}.') if isinstance(value, dict) else {
            f'{prefix}{key}': value}
    return found


def kind(value):
    """Return the type of a parameter's value in words."""
    if isinstance(value, list):
        return f'{kind(value[0])} list'
    return {bool: 'bool', int: 'integer', float: 'double', str: 'string'}[type(value)]


@pytest.mark.parametrize('node', FILES)
def test_parameters_are_those_that_the_node_reads(node):
    file = ROOT / 'oomwoo_bringup' / 'config' / f'{FILES[node]}.yaml'
    values = flat(yaml.safe_load(file.read_text(encoding='utf-8'))['/**']['ros__parameters'])
    assert values
    for name, value in values.items():
        types = [t for known, t in DECLARED[node].items() if re.fullmatch(known, name)]
        assert types == [kind(value)], name


def test_the_filter_fuses_speeds_in_the_frames_of_the_suite():
    values = yaml.safe_load((ROOT / 'oomwoo_bringup' / 'config' / 'ekf.yaml').read_text())
    ekf = values['/**']['ros__parameters']
    # 15 each: poses come from the localizer, accelerations of a cheap IMU are noise.
    assert [i for i, used in enumerate(ekf['odom0_config']) if used] == [6, 7, 11]
    assert [i for i, used in enumerate(ekf['imu0_config']) if used] == [11]
    assert len(ekf['odom0_config']) == len(ekf['imu0_config']) == 15
    assert (ekf['world_frame'], ekf['base_link_frame']) == ('odom', 'base_footprint')


def test_silence_is_noticed_within_the_time_that_robot_yaml_has():
    mux = yaml.safe_load((ROOT / 'oomwoo_bringup' / 'config' / 'twist_mux.yaml').read_text())
    topics = mux['/**']['ros__parameters']['topics']
    assert {t['timeout'] for t in topics.values()} == {load_robot().limits.command_timeout}
    assert (topics['person']['priority'] > topics['reflex']['priority']
            > topics['behaviours']['priority'])
    assert mux['/**']['ros__parameters']['locks']['emergency']['priority'] == 255


def test_commands_pass_the_mux_and_the_guard_and_odometry_the_filter(start):
    nodes = start().nodes()
    assert nodes['twist_mux'].remappings == {'cmd_vel_out': 'cmd_vel_mux'}
    assert nodes['twist_mux'].parameters()['topics.behaviours.topic'] == 'cmd_vel'
    assert nodes['twist_mux'].parameters()['topics.reflex.topic'] == 'cmd_vel_reflex'
    assert 'escape_reflex' in nodes and 'escape_reflex' not in start('reflex:=false').nodes()
    assert nodes['command_guard'].remappings == {}
    assert nodes['ekf_filter_node'].remappings == {'odometry/filtered': 'odom'}
    assert nodes['ekf_filter_node'].parameters()['odom0'] == 'odom_wheels'
    agent = nodes['micro_ros_agent'].arguments
    assert agent[:5] == ['serial', '--dev', '/dev/oomwoo_base', '-b', '921600']
    lidar = nodes['lidar_driver'].parameters()
    assert (lidar['model'], lidar['port']) == ('LDROBOT-LD14P', '/dev/oomwoo_lidar')
    description = nodes['robot_state_publisher'].parameters()['robot_description']
    assert 'gz::sim' not in description and '<link name="base_scan"' in description


def test_without_the_mux_the_guard_listens_to_the_behaviours(start):
    run = start('twist_mux:=false', 'ekf:=false', 'base:=udp', 'udp_port:=9999', 'lidar:=false')
    nodes = run.nodes()
    assert set(nodes) == {'robot_state_publisher', 'micro_ros_agent', 'command_guard', 'analyzers'}
    assert nodes['command_guard'].remappings == {'cmd_vel_mux': 'cmd_vel'}
    assert nodes['micro_ros_agent'].arguments[:3] == ['udp4', '--port', '9999']
    assert 'micro_ros_agent' not in start('base:=none').nodes()


def test_what_is_said_of_this_robot_wins_and_a_namespace_takes_all_along(start, tmp_path):
    overrides = tmp_path / 'mine.yaml'
    overrides.write_text(yaml.safe_dump({
        '/**': {'ros__parameters': {'order': 'time', 'port': '/dev/ttyUSB7', 'frequency': 20.0}}}))
    facts = yaml.safe_load(
        (ROOT / 'oomwoo_localization' / 'config' / 'robot.yaml').read_text(encoding='utf-8'))
    facts['lidar']['x'] = 0.0611
    robot = tmp_path / 'robot.yaml'
    robot.write_text(yaml.safe_dump(facts))
    run = start(f'overrides:={overrides}', f'robot_file:={robot}', 'namespace:=upstairs')
    nodes = run.nodes()
    assert all(name.startswith('upstairs/') for name in nodes)
    for node in nodes.values():
        assert node.remappings.items() >= {'/tf': 'tf', '/tf_static': 'tf_static'}.items()
    lidar = nodes['upstairs/lidar_driver'].parameters()
    assert (lidar['order'], lidar['port']) == ('time', '/dev/ttyUSB7')
    assert lidar['robot_file'] == str(robot)
    assert nodes['upstairs/ekf_filter_node'].parameters()['frequency'] == 20.0
    assert nodes['upstairs/command_guard'].parameters()['robot_file'] == str(robot)
    assert 'xyz="0.0611 ' in (
        nodes['upstairs/robot_state_publisher'].parameters()['robot_description'])


@pytest.mark.parametrize('argument, says', [
    ('base:=wifi', 'base:=wifi: is none of serial, udp, none'),
    ('overrides:=/nowhere.yaml', 'overrides:=/nowhere.yaml: no such file'),
    ('robot_file:=/nowhere.yaml', 'robot_file:=/nowhere.yaml: no such file'),
    ('base_baud:=fast', 'base_baud:=fast: is not a number'),
    ('lidar:=maybe', 'lidar:=maybe: is neither true nor false')])
def test_what_makes_no_sense_is_refused_before_anything_moves(start, argument, says):
    run = start(argument)
    assert run.started == [] and len(run.errors) == 1 and says in run.errors[0]


def test_what_is_missing_is_named_together(tmp_path):
    run = StubWorkspace(tmp_path).run('oomwoo_bringup', 'physical.launch.py')
    assert run.started == []
    for word in ('robot_localization', 'micro_ros_agent', 'base:=none'):
        assert word in run.errors[0]


def test_without_twist_mux_its_stand_in_reads_the_same_file(tmp_path):
    run = StubWorkspace(tmp_path, ['robot_localization', 'micro_ros_agent']).run(
        'oomwoo_bringup', 'physical.launch.py')
    nodes = run.nodes()
    assert 'twist_mux' not in nodes
    mux = nodes['velocity_mux']
    assert mux.remappings == {'cmd_vel_out': 'cmd_vel_mux'}
    assert mux.parameters()['topics.person.topic'] == 'cmd_vel_teleop'
    assert mux.parameters()['locks.emergency.priority'] == 255
    assert any('mux: velocity_mux (auto; for twist_mux' in line for line in run.lines)
