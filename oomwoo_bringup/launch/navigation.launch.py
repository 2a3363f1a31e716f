"""
Drive about on a known map: map, localizer, navigator and one RViz window.

What nav.launch.py of oomwoo_clean starts, told where the robot stands: in simulation the start
pose of the world is known, so nobody has to click it in RViz.
"""
from launch.actions import LogInfo
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import described, given, include

ARGUMENTS = (
    ('use_sim_time', 'false', 'take the time from /clock'),
    ('map', 'living_room.yaml', 'map file, or the name of one that oomwoo_sim_support carries'),
    (
        'x_pose', '',
        'start in the map [m]; all three empty: in simulation as the layout of the map says, '
        'else told on /initialpose'),
    ('y_pose', '', 'start in the map [m]'),
    ('yaw', '', 'start heading in the map [rad]'),
    ('nav', 'auto', 'auto, embedded or nav2'),
    ('localizer', 'auto', 'auto, scan, slam_toolbox, amcl or truth'),
    (
        'nav_params', 'navigation_tight.yaml',
        'parameters of amcl: a file, or the name of one that oomwoo_bringup carries'),
    (
        'params_file', 'nav2_params.yaml',
        'parameters of Nav2: a file, or the name of one that oomwoo_bringup carries'),
    (
        'bump_map', 'false',
        'true: Nav2 keeps off what the bumper has felt; needs the node that publishes /bump_map'),
    ('keepout_mask', '', 'map file whose dark cells Nav2 keeps out of; empty: none'),
    ('rviz', 'true', 'start RViz where it is installed'),
    (
        'rviz_config', 'navigation.rviz',
        'RViz file, or the name of one that oomwoo_bringup carries'),
    ('namespace', '', 'namespace of all of it, tf included'),
)
NOT_OF_NAVIGATION = ('rviz', 'rviz_config')


def _start(context):
    value = given(ARGUMENTS, context)
    map_file, notes = scene.find_map(value['map'])
    start = scene.start_pose(value, map_file)
    told = {name: item for name, item in value.items() if name not in NOT_OF_NAVIGATION}
    told['map'] = map_file
    if start is None:
        line = 'start: not known; tell it on /initialpose (2D Pose Estimate in RViz)'
    else:
        told |= dict(zip(('x_pose', 'y_pose', 'yaw'), map(str, start)))
        line = 'start: ({:.2f}, {:.2f}), {:.2f} rad in the map'.format(*start)
    return [
        *(LogInfo(msg=note) for note in (*notes, line)),
        include('oomwoo_clean', 'nav.launch.py', told),
        *scene.viewer(value),
    ]


def generate_launch_description():
    """Declare the arguments and start what they ask for."""
    return described(ARGUMENTS, _start)
