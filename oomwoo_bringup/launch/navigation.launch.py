"""
Drive about on a known map: map, localizer, navigator and one RViz window.

What nav.launch.py of oomwoo_clean starts, told where the robot stands: in simulation the start
pose of the world is known, so nobody has to click it in RViz.
"""
from launch.actions import LogInfo
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import described, given, include

ARGUMENTS = (
    common.USE_SIM_TIME.having('false'),
    common.MAP,
    (
        'x_pose', '',
        'start in the map [m]; all three empty: in simulation as the layout of the map says, '
        'else told on /initialpose'),
    *common.START_IN_MAP[1:],
    common.NAV,
    common.LOCALIZER,
    common.NAV_PARAMS,
    common.NAV2_PARAMS,
    common.NAV2_BUMP_MAP,
    common.KEEPOUT_MASK,
    common.RVIZ,
    common.RVIZ_CONFIG,
    common.NAMESPACE,
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
