"""
Dock from where the robot stands, in a world that world.launch.py started, and end.

Exit status 0 when it is docked, 1 when it gave up. Names executables of oomwoo_clean without
depending on it: this package is below that one, and a launch file is data.
"""
from launch.actions import EmitEvent, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch_ros.actions import Node
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import (
    described,
    find_file,
    given,
    installed,
    is_true,
    LaunchError,
)

ARGUMENTS = (
    common.USE_SIM_TIME,
    ('mode', 'beacon', 'beacon, or lidar to do without it'),
    (
        'beacon_sim', 'false',
        'start the beacon for a simulator without infrared, Gazebo; the embedded one has its own'),
    ('world', 'kitchen_dining', 'world of that beacon'),
    ('params_file', '', 'YAML with further parameters for all nodes, read after config/dock.yaml'),
    ('namespace', '', 'namespace of all nodes'),
)


def _start(context):
    value = given(ARGUMENTS, context)
    if not installed('oomwoo_clean'):
        raise LaunchError('docking: oomwoo_clean is not installed')
    common = {'use_sim_time': is_true('use_sim_time', value['use_sim_time'])}
    beacon = value['mode'] == 'beacon'
    if not beacon and value['mode'] != 'lidar':
        raise LaunchError(f'mode:={value["mode"]}: is neither beacon nor lidar')
    config = find_file('params_file', 'dock', 'oomwoo_clean', 'config', '.yaml')
    remappings = [('/tf', 'tf'), ('/tf_static', 'tf_static')] if value['namespace'] else []
    more = [value['params_file']] if value['params_file'] else []

    def node(package, executable, parameters):
        return Node(
            package=package, executable=executable, name=executable, output='screen',
            namespace=value['namespace'], parameters=[config, common, parameters, *more],
            remappings=remappings)

    drive = node('oomwoo_clean', 'dock_drive', {
        'mode': value['mode'], 'dock_on_start': True, 'exit_when_done': True})
    actions = [node('oomwoo_clean', 'dock_detector', {'use_beacon': beacon}), drive]
    if is_true('beacon_sim', value['beacon_sim']):
        actions.append(node('oomwoo_sim_support', 'ir_beacon_sim', {'world': value['world']}))
    return [*actions, RegisterEventHandler(
        OnProcessExit(target_action=drive, on_exit=_drive_ended))]


def _drive_ended(event, context):
    """End with the drive; an error raised here is what makes the launch exit with 1."""
    if event.returncode == 0:
        return [EmitEvent(event=Shutdown(reason='docked'))]
    raise LaunchError('not docked: see what dock_drive said')


def generate_launch_description():
    """Declare the arguments and start the docking."""
    return described(ARGUMENTS, _start)
