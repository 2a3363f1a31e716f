"""Start a world with the robot in it: Gazebo where it can be had, else the embedded simulator."""
import os
from pathlib import Path
import shlex
import tempfile

from ament_index_python.packages import get_package_share_directory
from launch.actions import (
    LogInfo,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.logging import launch_config
from launch_ros.actions import Node
from oomwoo_gazebo.gazebo_files import bridge_config, GazeboWorld, service_bridges
from oomwoo_gazebo.scan_watch import has_card
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import (
    choose,
    described,
    ELSEWHERE,
    given,
    include,
    is_true,
    LaunchError,
    number,
)
from oomwoo_sim_support.layout import find_layout

ARGUMENTS = (
    common.WORLD,
    *common.START_IN_WORLD,
    common.ODOM_SOURCE,
    common.SIM,
    (
        'use_sim_time', 'true',
        'the simulator is the clock; false: it goes by the wall, as a robot does (embedded only)'),
    common.HEADLESS,
    common.GUI,
    common.REAL_TIME_FACTOR,
    common.COMMAND_WAIT,
    (
        'reflex', 'true',
        'escape reflexes, and arbitration between behaviours, them and cmd_vel_teleop; elsewhere: '
        'the base listens to cmd_vel_mux, and another launch file starts them; false: the base '
        'listens to cmd_vel'),
    ('compose', 'false', 'true: arbitration and reflexes in one process'),
    ('seed', '0', 'of noise, slip and calibration errors'),
    ('namespace', '', 'namespace of the simulator, tf included'),
    ('params_file', '', 'YAML with further parameters of the simulator'),
)
GAZEBO_PACKAGES = (
    'ros_gz_sim', 'ros_gz_bridge', 'ros_gz_interfaces', 'robot_state_publisher', 'oomwoo_bringup')
# Wheels and caster touch down from here without a bounce, and nothing starts inside the floor.
SPAWN_HEIGHT_M = 0.002
SOFTWARE_GL = {'LIBGL_ALWAYS_SOFTWARE': '1', 'EGL_PLATFORM': 'surfaceless'}


def _start(context):
    value = given(ARGUMENTS, context)
    headless = without_window(value)
    taken, line = choose_simulator(value['sim'])
    if taken == 'gazebo' and not is_true('use_sim_time', value['use_sim_time']):
        raise LaunchError(
            'use_sim_time:=false: Gazebo is the clock of everything that runs with it; '
            'sim:=embedded can go by the wall')
    above = commands(value)
    if taken == 'embedded':
        return [LogInfo(msg=line), embedded_simulator(value), *above]
    return [LogInfo(msg=line), *gazebo(value, headless), *above]


def commands(value):
    """Return what commands pass on their way to the base, as on the robot itself."""
    if value['reflex'] == ELSEWHERE or not is_true('reflex', value['reflex']):
        return []
    return [include('oomwoo_clean', 'escape_reflex.launch.py', {
        'use_sim_time': value['use_sim_time'], 'namespace': value['namespace'],
        'compose': value['compose'], 'params_file': value['params_file']})]


def choose_simulator(asked):
    """Return (which, why); raises LaunchError for one that is not installed, naming packages."""
    return choose('sim', asked, {'gazebo': GAZEBO_PACKAGES, 'embedded': ()})


def without_window(value):
    """Return whether Gazebo runs without its window; raises LaunchError for a contradiction."""
    asked = []
    for name, inverted in (('headless', False), ('gui', True)):
        if value[name] != 'auto':
            asked.append(is_true(name, value[name]) != inverted)
    if len(set(asked)) == 2:
        raise LaunchError(
            f'headless:={value["headless"]} gui:={value["gui"]}: one is the opposite of the other')
    if asked:
        return asked[0]
    return not (os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY'))


def start_pose(value, layout):
    """Return (x, y, yaw) where the robot starts: as asked for, else where the layout says."""
    default = layout.start if layout is not None else (0.0, 0.0, 0.0)
    return tuple(number(name, value[name]) if value[name] else float(at)
                 for name, at in zip(('x_pose', 'y_pose', 'yaw'), default))


def common_arguments(value):
    """Return (parameter files, remappings) that every node of the simulator gets."""
    tf = [('/tf', 'tf'), ('/tf_static', 'tf_static')] if value['namespace'] else []
    arbitrated = value['reflex'] == ELSEWHERE or is_true('reflex', value['reflex'])
    base = [('cmd_vel', 'cmd_vel_mux')] if arbitrated else []
    return [value['params_file']] if value['params_file'] else [], [*base, *tf]


def embedded_simulator(value):
    """Return the node of the embedded simulator for the launch arguments ``value``, as strings."""
    simulated = is_true('use_sim_time', value['use_sim_time'])
    parameters = {
        'use_sim_time': False, 'clock': 'simulated' if simulated else 'wall',
        'world': str(Path(find_layout(value['world'])).resolve()),
        'odom_source': value['odom_source'], 'seed': int(number('seed', value['seed'])),
        'real_time_factor': number('real_time_factor', value['real_time_factor']),
        'command_wait_s': number('command_wait_s', value['command_wait_s'])}
    for name in ('x_pose', 'y_pose', 'yaw'):
        if value[name]:
            parameters[name] = number(name, value[name])
    files, remappings = common_arguments(value)
    return Node(
        package='oomwoo_sim_support', executable='embedded_sim', name='embedded_sim',
        namespace=value['namespace'], output='screen', parameters=[parameters, *files],
        remappings=remappings, on_exit=Shutdown(reason='the simulator has ended'))


def gazebo(value, headless):
    """Return what Gazebo takes: server, robot, bridges, and what the base has beside them."""
    # Beside the log of this launch: what Gazebo was started with belongs to it.
    folder = Path(tempfile.mkdtemp(prefix='gazebo_', dir=launch_config.log_dir))
    speed, actions = gazebo_speed(value)
    world = GazeboWorld(value['world'], folder, speed)
    robot = load_robot().name
    actions += [LogInfo(msg=f'world {world.file}: {trouble}') for trouble in world.trouble]
    return [
        *actions, *software_rendering(headless), gazebo_server(value, world, headless),
        include('oomwoo_bringup', 'robot_description.launch.py', {
            'use_sim_time': 'true', 'odom_source': value['odom_source'],
            'namespace': value['namespace']}),
        *spawn(value, world, robot), *bridges(value, world, robot, folder),
        *beside_gazebo(value, world)]


def gazebo_speed(value):
    """Return (real time factor, what there is to say): Gazebo's clock waits for nobody."""
    speed = number('real_time_factor', value['real_time_factor'])
    if speed == 1.0 or number('command_wait_s', value['command_wait_s']) <= 0.0:
        return speed, []
    return 1.0, [LogInfo(msg=(
        f'real_time_factor:={speed:g} with command_wait_s: Gazebo does not wait for whoever '
        'drives, so it runs in real time'))]


def software_rendering(headless):
    """Return what makes the LiDAR's renderer do without a graphics card, where there is none."""
    if not headless or has_card():
        return []
    return [
        LogInfo(msg='gazebo: no graphics card, the LiDAR is rendered in software (Mesa, EGL)'),
        *(SetEnvironmentVariable(name, value) for name, value in SOFTWARE_GL.items()
          if name not in os.environ)]


def gazebo_server(value, world, headless):
    """Return Gazebo itself, running from the start; its end ends the launch."""
    words = ['-r', '-v', '2', '--seed', str(int(number('seed', value['seed'])))]
    if headless:
        words += ['-s', '--headless-rendering']
    return include('ros_gz_sim', 'gz_sim.launch.py', {
        'gz_args': shlex.join([*words, str(world.file)]), 'on_exit_shutdown': 'true'})


def spawn(value, world, robot):
    """Return what puts the robot into the world; when that fails, the launch ends."""
    x, y, yaw = start_pose(value, world.layout)
    create = Node(
        package='ros_gz_sim', executable='create', namespace=value['namespace'], output='screen',
        arguments=[
            '-world', world.name, '-topic', 'robot_description', '-name', robot,
            '-x', f'{x:g}', '-y', f'{y:g}', '-z', f'{SPAWN_HEIGHT_M:g}', '-Y', f'{yaw:g}'])

    def created(event, context):
        if event.returncode != 0 and not context.is_shutdown:
            raise LaunchError(f'Gazebo did not take the robot into {world.name}: see above')

    return [create, RegisterEventHandler(OnProcessExit(target_action=create, on_exit=created))]


def bridges(value, world, robot, folder):
    """Return the bridges of topics and of services."""
    template = Path(get_package_share_directory('oomwoo_gazebo')) / 'config' / 'bridge.yaml'
    config = folder / 'bridge.yaml'
    config.write_text(
        bridge_config(template.read_text(encoding='utf-8'), world.name, robot), encoding='utf-8')
    _, remappings = common_arguments(value)
    # Two processes: one that is given a topic or service by argument need not read its file.
    return [
        Node(package='ros_gz_bridge', executable='parameter_bridge', name='gazebo_bridge',
             namespace=value['namespace'], output='screen',
             parameters=[{'config_file': str(config), 'use_sim_time': True}],
             remappings=remappings),
        Node(package='ros_gz_bridge', executable='parameter_bridge', name='gazebo_services',
             namespace=value['namespace'], output='screen',
             arguments=service_bridges(world.name))]


def beside_gazebo(value, world):
    """Return what Gazebo lacks: bumper, end to commands, word on scans, battery, infrared."""
    files, remappings = common_arguments(value)

    def node(package, executable, on_exit=None, **parameters):
        return Node(
            package=package, executable=executable, name=executable, output='screen',
            namespace=value['namespace'], remappings=remappings, on_exit=on_exit,
            parameters=[{'use_sim_time': True, **parameters}, *files])

    nodes = [node('oomwoo_gazebo', name) for name in ('bumper_adapter', 'scan_watch')]
    # Without it, the base would go on with the last command for ever.
    nodes.append(node('oomwoo_gazebo', 'command_expiry', on_exit=Shutdown(
        reason='nothing stands between commands and the base any more')))
    layout = '' if world.layout is None else str(world.layout.path.resolve())
    nodes.append(node('oomwoo_sim_support', 'battery_sim', world=layout))
    if layout and world.layout.dock is not None:
        nodes.append(node('oomwoo_sim_support', 'ir_beacon_sim', world=layout))
    return nodes


def generate_launch_description():
    """Declare the arguments and start the simulator."""
    return described(ARGUMENTS, _start)
