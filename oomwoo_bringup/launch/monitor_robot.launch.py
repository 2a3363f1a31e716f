"""Watch the robot: RViz and a WebSocket for Foxglove, each where it is installed."""
from launch.actions import LogInfo
from launch_ros.actions import Node
from oomwoo_sim_support.launch_choices import (
    described,
    find_file,
    given,
    installed,
    is_true,
    number,
)

ARGUMENTS = (
    ('use_sim_time', 'false', 'take the time from /clock'),
    ('rviz', 'true', 'start RViz where it is installed'),
    (
        'rviz_config', 'monitor_robot.rviz',
        'RViz file, or the name of one that oomwoo_bringup carries'),
    ('foxglove', 'true', 'start foxglove_bridge where it is installed'),
    ('foxglove_port', '8765', 'its WebSocket port'),
)
NEITHER = (
    'monitor: rviz2 and foxglove_bridge are not installed; open the recording '
    '(OUTPUT_DIR/edge_clean.mcap) in Foxglove, or echo /contour_follower/state, '
    '/clean_manager/state and /clean_manager/progress')


def _start(context):
    value = given(ARGUMENTS, context)
    sim_time = {'use_sim_time': is_true('use_sim_time', value['use_sim_time'])}
    config = find_file('rviz_config', value['rviz_config'], 'oomwoo_bringup', 'rviz', '.rviz')
    port = int(number('foxglove_port', value['foxglove_port']))
    actions = []
    if is_true('rviz', value['rviz']) and installed('rviz2'):
        actions += [
            LogInfo(msg=f'monitor: rviz2 with {config}'),
            Node(package='rviz2', executable='rviz2', arguments=['-d', config], output='screen',
                 parameters=[sim_time])]
    if is_true('foxglove', value['foxglove']) and installed('foxglove_bridge'):
        actions += [
            LogInfo(msg=f'monitor: foxglove_bridge at ws://localhost:{port}'),
            Node(package='foxglove_bridge', executable='foxglove_bridge', output='screen',
                 parameters=[sim_time, {'port': port}])]
    if not (installed('rviz2') or installed('foxglove_bridge')):
        actions.append(LogInfo(msg=NEITHER))
    return actions


def generate_launch_description():
    """Declare the arguments and start what is there."""
    return described(ARGUMENTS, _start)
