"""Watch the robot: RViz where it is installed, and a WebSocket for Foxglove."""
from importlib.util import find_spec

from launch.actions import LogInfo
from launch_ros.actions import Node
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import (
    described,
    given,
    installed,
    is_true,
    number,
)

ARGUMENTS = (
    common.USE_SIM_TIME.having('false'),
    common.RVIZ,
    common.RVIZ_CONFIG.having('monitor_robot.rviz'),
    (
        'foxglove', 'true',
        'serve the Foxglove WebSocket protocol: foxglove_bridge where it is installed, else the '
        "suite's own server, which offers what its layouts show"),
    ('foxglove_port', '8765', 'its port'),
    ('foxglove_host', '127.0.0.1', 'address to listen at; 0.0.0.0 lets in the whole network'),
    ('namespace', '', "of the robot, for RViz and the suite's own server"),
)
NEITHER = (
    'monitor: neither rviz2 nor foxglove_bridge is installed, nor the Python package '
    'foxglove-sdk (make setup); open the recording (OUTPUT_DIR/edge_clean.mcap) in Foxglove, or '
    'echo /contour_follower/state, /clean_manager/state and /clean_manager/progress')


def _start(context):
    value = given(ARGUMENTS, context)
    sim_time = {'use_sim_time': is_true('use_sim_time', value['use_sim_time'])}
    config = scene.rviz_config(value)
    actions = []
    rviz, websocket = (is_true(name, value[name]) for name in ('rviz', 'foxglove'))
    if rviz and installed('rviz2'):
        actions += [
            LogInfo(msg=f'monitor: rviz2 with {config}'), scene.rviz_node(config, value),
        ] if scene.has_display() else [LogInfo(msg=scene.NO_DISPLAY)]
    if websocket:
        actions += foxglove(value, sim_time)
    if (rviz or websocket) and not actions:
        actions.append(LogInfo(msg=NEITHER))
    return actions


def foxglove(value, sim_time):
    """Return what serves the Foxglove protocol, as far as that is installed."""
    host, port = value['foxglove_host'], int(number('foxglove_port', value['foxglove_port']))
    says = f'at ws://{host}:{port}; layouts are in the folder foxglove of oomwoo_bringup'
    if installed('foxglove_bridge'):
        return [
            LogInfo(msg=f'monitor: foxglove_bridge {says}'),
            Node(package='foxglove_bridge', executable='foxglove_bridge', output='screen',
                 parameters=[sim_time, {'port': port, 'address': host}])]
    if find_spec('foxglove') is None:
        return []
    return [
        LogInfo(msg=f'monitor: foxglove_server {says}'),
        Node(package='oomwoo_bringup', executable='foxglove_server', name='foxglove_server',
             namespace=value['namespace'], output='screen',
             parameters=[sim_time, {'port': port, 'host': host}],
             remappings=[('/tf', 'tf'), ('/tf_static', 'tf_static')]
             if value['namespace'] else [])]


def generate_launch_description():
    """Declare the arguments and start what is there."""
    return described(ARGUMENTS, _start)
