"""The robot itself: LiDAR, base over a micro-ROS agent, odometry, command guard, diagnostics."""
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import GroupAction, IncludeLaunchDescription, LogInfo
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import (
    described,
    ELSEWHERE,
    find_file,
    given,
    include,
    installed,
    is_true,
    LaunchError,
    number,
)

ARGUMENTS = (
    ('namespace', '', 'namespace of the robot, tf included'),
    common.ROBOT_FILE,
    (
        'overrides', '',
        'YAML with parameters of this robot, for any node; they win over all others'),
    ('lidar', 'true', 'start the LiDAR driver'),
    ('lidar_model', 'LDROBOT-LD14P', 'model, as lds2d names it'),
    ('lidar_port', '/dev/oomwoo_lidar', 'its serial device'),
    (
        'base', 'serial',
        'micro-ROS agent for the base: serial, udp, or none where it runs elsewhere'),
    ('base_port', '/dev/oomwoo_base', 'serial device of the base'),
    ('base_baud', '921600', 'its baud rate'),
    ('udp_port', '8888', 'port that the agent listens at, with base:=udp'),
    (
        'ekf', 'true',
        'odometry from wheels and gyro by robot_localization; false: the base says odom and tf'),
    (
        'twist_mux', 'true',
        'choose between behaviours, reflexes, a person and the emergency stop, with twist_mux or, '
        'where it is not installed, velocity_mux; elsewhere: another launch file does that, and '
        'starts the reflexes; false: behaviours only'),
    ('reflex', 'true', 'escape reflexes; they take twist_mux:=true'),
    ('health', 'true', 'sort /diagnostics with diagnostic_aggregator, where it is installed'),
)
AGENT = 'micro_ros_agent'
AGENT_VERBOSITY = '4'              # errors, warnings and who connects


def _start(context):
    value = given(ARGUMENTS, context)
    for name in ('robot_file', 'overrides'):
        if value[name] and not Path(value[name]).is_file():
            raise LaunchError(f'{name}:={value[name]}: no such file')
    elsewhere = value['twist_mux'] == ELSEWHERE
    on = {name: is_true(name, value[name]) for name in ('lidar', 'ekf', 'reflex', 'health')}
    on['twist_mux'] = elsewhere or is_true('twist_mux', value['twist_mux'])
    on['reflex'] &= not elsewhere
    missing = []
    if on['ekf'] and not installed('robot_localization'):
        missing.append('ekf:=true takes robot_localization')
    agent = base_agent(value)
    if value['base'] != 'none' and not installed(AGENT):
        missing.append(
            f'base:={value["base"]} takes {AGENT} (docs/robot.md; base:=none where it runs in a '
            'container)')
    if missing:
        raise LaunchError(f'physical: not installed: {"; ".join(missing)}')
    actions = [robot_description(value), *agent, *commands(value, on)]
    if on['lidar']:
        actions.append(node(value, 'oomwoo_bringup', 'lidar_driver', parameters=[{
            'model': value['lidar_model'], 'port': value['lidar_port'],
            'robot_file': value['robot_file']}], respawn=True))
    if on['ekf']:
        actions.append(node(
            value, 'robot_localization', 'ekf_node', name='ekf_filter_node',
            parameters=[config('ekf')], remappings=[('odometry/filtered', 'odom')]))
    if on['health'] and installed('diagnostic_aggregator'):
        actions.append(node(
            value, 'diagnostic_aggregator', 'aggregator_node', name='analyzers',
            parameters=[config('diagnostics')]))
    return [
        LogInfo(msg=f'physical: {"; ".join(summary(value, on))}'),
        LogInfo(msg='physical: then, say, navigation.launch.py map:=FILE use_sim_time:=false'),
        *actions]


def summary(value, on):
    """Return in words what was chosen."""
    return [
        f'LiDAR {value["lidar_model"]} at {value["lidar_port"]}' if on['lidar'] else 'no LiDAR',
        f'base over {value["base"]}' if value['base'] != 'none' else 'base elsewhere',
        'odometry from wheels and gyro' if on['ekf'] else "the base's own odometry",
        *([] if on['twist_mux'] else ['nothing but behaviours drives, no reflexes']),
        *(['who may drive is decided elsewhere'] if value['twist_mux'] == ELSEWHERE else [])]


def config(name):
    """Return the path of a parameter file of this package."""
    return find_file(name, name, 'oomwoo_bringup', 'config', '.yaml')


def node(value, package, executable, name=None, parameters=(), remappings=(), **kwargs):
    """Return a node in the robot's namespace; what is said of this robot comes last."""
    overrides = [value['overrides']] if value['overrides'] else []
    tf = [('/tf', 'tf'), ('/tf_static', 'tf_static')] if value['namespace'] else []
    return Node(
        package=package, executable=executable, name=name or executable,
        namespace=value['namespace'], output='screen', parameters=[*parameters, *overrides],
        remappings=[*remappings, *tf], **kwargs)


def base_agent(value):
    """Return the micro-ROS agent as asked for; raises LaunchError for what is no way to ask."""
    if value['base'] == 'none':
        return []
    if value['base'] == 'serial':
        baud = int(number('base_baud', value['base_baud']))
        words = ['serial', '--dev', value['base_port'], '-b', str(baud)]
    elif value['base'] == 'udp':
        words = ['udp4', '--port', str(int(number('udp_port', value['udp_port'])))]
    else:
        raise LaunchError(f'base:={value["base"]}: is none of serial, udp, none')
    return [node(
        value, AGENT, AGENT, arguments=[*words, '-v', AGENT_VERBOSITY], respawn=True,
        respawn_delay=1.0)]


def commands(value, on):
    """Return what commands pass on their way to the base: who may drive, then the guard."""
    mux, elsewhere = on['twist_mux'], value['twist_mux'] == ELSEWHERE
    guard = node(
        value, 'oomwoo_bringup', 'command_guard', respawn=True,
        parameters=[{'robot_file': value['robot_file']}],
        remappings=[] if mux else [('cmd_vel_mux', 'cmd_vel')])
    if elsewhere or not mux:
        return [guard]
    return [
        include('oomwoo_clean', 'escape_reflex.launch.py', {
            'use_sim_time': 'false', 'reflex': str(on['reflex']).lower(),
            'robot_file': value['robot_file'], 'namespace': value['namespace'],
            'params_file': value['overrides']}),
        guard]


def robot_description(value):
    """Return the description without what only Gazebo needs; its arguments stay in a scope."""
    path = Path(get_package_share_directory('oomwoo_bringup')) / 'launch' / (
        'robot_description.launch.py')
    return GroupAction([IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(path)), launch_arguments={
            'gazebo': 'false', 'use_sim_time': 'false', 'robot_file': value['robot_file'],
            'namespace': value['namespace']}.items())])


def generate_launch_description():
    """Declare the arguments and start the robot."""
    return described(ARGUMENTS, _start)
