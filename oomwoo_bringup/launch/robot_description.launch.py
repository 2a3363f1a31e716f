"""The robot's description and frames: xacro's URDF by way of ``robot_state_publisher``."""
from pathlib import Path

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from launch.actions import LogInfo
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import described, given, installed, is_true, LaunchError
import xacro

PUBLISHER = 'robot_state_publisher'
ARGUMENTS = (
    common.USE_SIM_TIME.having('false'),
    ('robot_file', '', 'robot.yaml to describe; empty: the packaged one'),
    ('gazebo', 'true', 'with sensors, plugins and friction for Gazebo'),
    ('odom_source', 'robot_wheels', "Gazebo's odometry: robot_wheels or ground_truth"),
    ('namespace', '', 'namespace of the robot, tf included'),
)


def _start(context):
    value = given(ARGUMENTS, context)
    sim_time = is_true('use_sim_time', value['use_sim_time'])
    description = robot_description(value)
    # Some installations carry the library without the executable.
    if not (installed(PUBLISHER) and executable(PUBLISHER, PUBLISHER).is_file()):
        return [LogInfo(msg=(
            f'robot_description: {PUBLISHER} is not installed; the frames of the robot are '
            'those that base or simulator publish'))]
    return [Node(
        package=PUBLISHER, executable=PUBLISHER, name=PUBLISHER, namespace=value['namespace'],
        output='screen',
        parameters=[{
            'robot_description': ParameterValue(description, value_type=str),
            'use_sim_time': sim_time}],
        remappings=[('/tf', 'tf'), ('/tf_static', 'tf_static')] if value['namespace'] else [])]


def robot_description(value):
    """Return the URDF for the launch arguments ``value``, strings by name."""
    if value['odom_source'] not in ('robot_wheels', 'ground_truth'):
        raise LaunchError(
            f'odom_source:={value["odom_source"]}: is neither robot_wheels nor ground_truth')
    file = Path(get_package_share_directory('oomwoo_bringup')) / 'urdf' / 'oomwoo_one.urdf.xacro'
    mappings = {
        'gazebo': str(is_true('gazebo', value['gazebo'])).lower(),
        'odom_source': value['odom_source']}
    if value['robot_file']:
        if not Path(value['robot_file']).is_file():
            raise LaunchError(f'robot_file:={value["robot_file"]}: no such file')
        mappings['robot_file'] = value['robot_file']
    try:
        return xacro.process_file(str(file), mappings=mappings).toxml()
    except Exception as error:       # whatever a wrong robot file makes xacro's expressions raise
        raise LaunchError(f'robot_description: {file}: {error}') from error


def executable(package, name):
    """Return the path that an installed package's executable has."""
    return Path(get_package_prefix(package)) / 'lib' / package / name


def generate_launch_description():
    """Declare the arguments and start the publisher."""
    return described(ARGUMENTS, _start)
