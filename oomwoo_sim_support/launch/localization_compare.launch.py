"""AMCL beside scan matching, each with a meter, where both are installed."""

from launch.actions import LogInfo
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import described, given, installed, LaunchError

ARGUMENTS = scene.ARGUMENTS


def _start(context):
    value = given(ARGUMENTS, context)
    map_file, notes = scene.find_map(value['map'])
    localizer, line = scene.choose_localizer(value['localizer'], map_file)
    if localizer == 'amcl':
        raise LaunchError('localizer:=amcl: that is what the other one is compared with')
    actions = [
        *(LogInfo(msg=note) for note in (*notes, line)),
        scene.map_server(value, map_file),
        *scene.localizer_nodes(localizer, value, map_file),
        scene.error_meter('loc_err_slam', value),
    ]
    lacking = [package for package in scene.LOCALIZERS['amcl'] if not installed(package)]
    if lacking:
        actions.append(
            LogInfo(
                msg=f'compare: {lacking[0]} is not installed, so {localizer} is measured alone, '
                f'on '
                'loc_err_slam/pos_err_m and yaw_err_deg'
            )
        )
    else:
        actions += [
            *scene.localizer_nodes('amcl', value, map_file, broadcast=False),
            scene.error_meter('loc_err_amcl', value, 'amcl_pose'),
        ]
    return [*actions, *scene.viewer(value)]


def generate_launch_description():
    """Declare the arguments and start the comparison."""
    return described(ARGUMENTS, _start)
