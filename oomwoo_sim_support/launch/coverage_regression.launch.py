"""
How much floor in a fixed time: world, map, localizer, navigator, coverage planner, meter.

One line of result when the window is over, and all of it ends.
"""
from pathlib import Path

from launch.actions import EmitEvent, LogInfo, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import described, given, include, is_true, number
import yaml

ARGUMENTS = (
    common.WORLD,
    common.MAP,
    *common.START_BY_LAYOUT,
    ('window_s', '135.0', 'robot time that is measured, from the beginning of the cleaning [s]'),
    (
        'contact_aware', 'true',
        'escape reflexes, and a planner that heeds them; false: neither'),
    (
        'robot_radius', '',
        'radius of the body that the planner plans for [m]; empty: that of robot.yaml'),
    (
        'use_collision_detection', 'auto',
        'a controller that aborts before it would touch: true, false, or auto for what '
        'params_file says'),
    (
        'params_file', 'nav2_params.yaml',
        'parameters of Nav2: a file, or the name of one that oomwoo_bringup carries; of them the '
        'embedded navigator heeds use_collision_detection'),
    common.GUI,
    common.HEADLESS,
    ('use_sim_time', 'true', 'must be true: a simulator is the clock'),
    common.ODOM_SOURCE,
    common.SIM,
    common.NAV,
    common.LOCALIZER,
    common.REAL_TIME_FACTOR,
    common.COMMAND_WAIT,
    common.SEED,
)
WORLD = (
    'world', 'x_pose', 'y_pose', 'yaw', 'gui', 'headless', 'use_sim_time', 'odom_source', 'sim',
    'real_time_factor', 'command_wait_s', 'seed')
NAVIGATION = ('use_sim_time', 'nav', 'localizer', 'params_file')
PLANNER = ('use_sim_time', 'contact_aware', 'robot_radius')
# Wall time until something cleans: a busy machine takes long to start a dozen processes.
PATIENCE_S = 180.0


def foresees_collisions(asked, params_file):
    """Return whether the controller aborts before it touches: as asked, or as a file says."""
    if asked != 'auto':
        return is_true('use_collision_detection', asked)
    path, _ = scene.parameter_file('params_file', params_file)
    content = yaml.safe_load(Path(path).read_text(encoding='utf-8')) or {}
    for key in ('controller_server', 'ros__parameters', 'FollowPath', 'use_collision_detection'):
        content = content.get(key, {}) if isinstance(content, dict) else {}
    return content is True


def _start(context):
    value = given(ARGUMENTS, context)
    map_file, notes = scene.find_map(value['map'])
    averse = foresees_collisions(value['use_collision_detection'], value['params_file'])
    start = scene.start_pose(value, map_file)
    # Whoever puts the robot down knows where; from then on the localizer has to.
    if start is not None:
        value |= dict(zip(('x_pose', 'y_pose', 'yaw'), map(str, start)))
    meter = scene.ours('coverage_meter', {**value, 'namespace': ''}, [{
        'window_s': number('window_s', value['window_s']), 'patience_s': PATIENCE_S}])
    ended = EmitEvent(event=Shutdown(reason='the meter has said what it came to'))
    return [
        *(LogInfo(msg=note) for note in notes),
        LogInfo(msg=(
            f'controller: {"averse" if averse else "tolerant"} of contact; contact_aware: '
            f'{value["contact_aware"]}; {value["window_s"]} s of robot time')),
        include('oomwoo_gazebo', 'world.launch.py', {
            **{k: value[k] for k in WORLD}, 'reflex': value['contact_aware']}),
        include('oomwoo_clean', 'nav.launch.py', {
            **{k: value[k] for k in (*NAVIGATION, 'x_pose', 'y_pose', 'yaw')}, 'map': map_file,
            'controller': 'averse' if averse else 'tolerant'}),
        include('oomwoo_clean', 'coverage.launch.py', {k: value[k] for k in PLANNER}),
        meter,
        RegisterEventHandler(OnProcessExit(target_action=meter, on_exit=[ended])),
    ]


def generate_launch_description():
    """Declare the arguments and start everything."""
    return described(ARGUMENTS, _start)
