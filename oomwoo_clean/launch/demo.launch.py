"""Edge cleaning in one launch: world, map, localizer, navigator, follower, manager, recorder."""
from pathlib import Path

from launch_ros.actions import Node
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.generate import map_file_for
from oomwoo_sim_support.launch_choices import (
    described,
    ELSEWHERE,
    given,
    include,
    is_true,
)
from oomwoo_sim_support.layout import load_layout

ARGUMENTS = (
    ('world', 'contour_torture', 'world of the suite, or path of a layout file'),
    *common.START_IN_WORLD,
    ('map', '', 'map file; empty: the one drawn from the layout of the world'),
    common.USE_SIM_TIME,
    common.ODOM_SOURCE,
    common.SIM,
    common.NAV,
    ('localizer', 'auto', 'auto, scan or truth'),
    common.REAL_TIME_FACTOR.having('5.0'),
    common.COMMAND_WAIT.having('0.1'),
    common.SEED,
    ('output_dir', 'out', 'folder for picture, report, saved job and recording'),
    ('compose', 'true', 'true: all but simulator and recorder in one process'),
    ('record', 'true', 'write OUTPUT_DIR/edge_clean.mcap'),
)
WORLD = (
    'world', 'x_pose', 'y_pose', 'yaw', 'use_sim_time', 'odom_source', 'sim', 'real_time_factor',
    'command_wait_s', 'seed')
CLEANING = (
    'x_pose', 'y_pose', 'yaw', 'use_sim_time', 'nav', 'localizer', 'output_dir', 'compose')


def _start(context):
    value = given(ARGUMENTS, context)
    chosen_map = value['map'] or str(map_file_for(value['world'], value['output_dir']))
    # Whoever puts the robot down knows where; from then on the localizer has to.
    for name, at in zip(('x_pose', 'y_pose', 'yaw'), load_layout(value['world']).start):
        value[name] = value[name] or str(at)

    actions = [
        include('oomwoo_gazebo', 'world.launch.py', {
            **{k: value[k] for k in WORLD}, 'reflex': ELSEWHERE}),
        include('oomwoo_clean', 'cleaning.launch.py', {
            **{k: value[k] for k in CLEANING}, 'map': chosen_map}),
    ]
    if is_true('record', value['record']):
        actions.append(Node(
            package='oomwoo_sim_support', executable='recorder', output='screen', parameters=[{
                'use_sim_time': is_true('use_sim_time', value['use_sim_time']),
                'path': str(Path(value['output_dir']) / 'edge_clean.mcap')}]))
    return actions


def generate_launch_description():
    """Declare the arguments and start everything."""
    return described(ARGUMENTS, _start)
