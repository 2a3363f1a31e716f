"""Start the contour follower, enabled at once: it drives along what it finds until stopped."""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

ARGUMENTS = (
    ('use_sim_time', 'false', 'take the time from /clock'),
    ('side', 'right', 'side on which the surface is kept: right or left'),
    ('autostart', 'true', 'enabled from the start; false: waits for contour_follower/enable'),
    ('namespace', '', 'namespace of the node'),
    ('params_file', '', 'YAML with further parameters'),
)


def _start(context):
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    parameters = [{
        'use_sim_time': value['use_sim_time'].lower() == 'true', 'side': value['side'],
        'autostart': value['autostart'].lower() == 'true'}]
    if value['params_file']:
        parameters.append(value['params_file'])
    return [Node(package='oomwoo_clean', executable='contour_follower', name='contour_follower',
                 namespace=value['namespace'], output='screen', parameters=parameters)]


def generate_launch_description():
    """Return the follower with its launch arguments."""
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=text)
          for name, default, text in ARGUMENTS),
        OpaqueFunction(function=_start)])
