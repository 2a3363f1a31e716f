"""Start a world with the robot in it: Gazebo where it can be had, else the embedded simulator."""
from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from oomwoo_sim_support.launch_choices import choose, is_true, LaunchError, number
from oomwoo_sim_support.layout import find_layout

ARGUMENTS = (
    ('world', 'contour_torture.world', 'world of the suite, or path of a world or layout file'),
    ('x_pose', '', 'start in the map frame [m]; empty: where the layout says'),
    ('y_pose', '', 'start in the map frame [m]; empty: where the layout says'),
    ('yaw', '', 'start heading in the map frame [rad]; empty: as the layout says'),
    ('odom_source', 'robot_wheels', 'robot_wheels or ground_truth'),
    ('sim', 'auto', 'auto, embedded or gazebo'),
    ('use_sim_time', 'true', 'must be true: a simulator is the clock'),
    ('headless', 'true', 'no window; the embedded simulator has none anyway'),
    ('real_time_factor', '1.0', 'simulated over wall time; 0: as fast as it goes'),
    (
        'command_wait_s', '0.0',
        'wall time that the clock waits for whoever drives to answer a scan [s]'),
    ('seed', '0', 'of noise, slip and calibration errors'),
    ('namespace', '', 'namespace of the simulator, tf included'),
    ('params_file', '', 'YAML with further parameters of the simulator'),
)
NO_GAZEBO = 'there is no model of the robot for Gazebo yet, only the worlds'


def _start(context):
    value = {name: LaunchConfiguration(name).perform(context).strip() for name, _, _ in ARGUMENTS}
    if not is_true('use_sim_time', value['use_sim_time']):
        raise LaunchError(
            'use_sim_time:=false: a simulator is the clock of everything that runs with it')
    is_true('headless', value['headless'])
    return [LogInfo(msg=choose_simulator(value['sim'])), embedded_simulator(value)]


def choose_simulator(asked):
    """
    Return the log line that says why it is the embedded simulator.

    Raises LaunchError for ``gazebo``, saying what is missing.
    """
    taken, line = choose('sim', asked, {'gazebo': ('ros_gz_sim', 'ros_gz_bridge'), 'embedded': ()})
    if taken == 'embedded':
        return line
    if asked == 'gazebo':
        raise LaunchError(f'sim:=gazebo: {NO_GAZEBO}')
    return f'sim: embedded (auto; {NO_GAZEBO})'


def embedded_simulator(value):
    """Return the node of the embedded simulator for the launch arguments ``value``, as strings."""
    parameters = {
        'use_sim_time': False, 'world': str(Path(find_layout(value['world'])).resolve()),
        'odom_source': value['odom_source'], 'seed': int(number('seed', value['seed'])),
        'real_time_factor': number('real_time_factor', value['real_time_factor']),
        'command_wait_s': number('command_wait_s', value['command_wait_s'])}
    for name in ('x_pose', 'y_pose', 'yaw'):
        if value[name]:
            parameters[name] = number(name, value[name])
    files = [value['params_file']] if value['params_file'] else []
    remappings = [('/tf', 'tf'), ('/tf_static', 'tf_static')] if value['namespace'] else []
    return Node(
        package='oomwoo_sim_support', executable='embedded_sim', name='embedded_sim',
        namespace=value['namespace'], output='screen', parameters=[parameters, *files],
        remappings=remappings, on_exit=Shutdown(reason='the simulator has ended'))


def generate_launch_description():
    """Declare the arguments and start the simulator."""
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=text)
          for name, default, text in ARGUMENTS),
        OpaqueFunction(function=_start)])
