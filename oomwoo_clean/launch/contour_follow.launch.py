"""Start the contour follower, enabled at once: it drives along what it finds until stopped."""
from launch_ros.actions import Node
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import described, given, is_true

ARGUMENTS = (
    common.USE_SIM_TIME.having('false'),
    ('side', 'right', 'side on which the surface is kept: right or left'),
    ('autostart', 'true', 'enabled from the start; false: waits for contour_follower/enable'),
    ('namespace', '', 'namespace of the node'),
    ('params_file', '', 'YAML with further parameters'),
)


def _start(context):
    value = given(ARGUMENTS, context)
    parameters = [{
        'use_sim_time': is_true('use_sim_time', value['use_sim_time']), 'side': value['side'],
        'autostart': is_true('autostart', value['autostart'])}]
    if value['params_file']:
        parameters.append(value['params_file'])
    return [Node(package='oomwoo_clean', executable='contour_follower', name='contour_follower',
                 namespace=value['namespace'], output='screen', parameters=parameters)]


def generate_launch_description():
    """Return the follower with its launch arguments."""
    return described(ARGUMENTS, _start)
