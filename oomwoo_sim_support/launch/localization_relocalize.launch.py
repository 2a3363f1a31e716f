"""Map, everyday localizer, kidnap injector and RViz: the scene in which a robot is kidnapped."""

from launch.actions import LogInfo
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import described, given, include, is_true, number

ARGUMENTS = (
    *scene.ARGUMENTS,
    ('auto_recovery', 'false', 'start the recovery chain, too (localization_recovery.launch.py)'),
    ('seed', '0', 'of the poses to which the robot is kidnapped'),
    ('gazebo_world', '', 'name of the world in Gazebo, to kidnap by its own service'),
)


def _start(context):
    value = given(ARGUMENTS, context)
    map_file, notes = scene.find_map(value['map'])
    localizer, line = scene.choose_localizer(value['localizer'], map_file)
    actions = [
        *(LogInfo(msg=note) for note in (*notes, line)),
        scene.map_server(value, map_file),
        *scene.localizer_nodes(localizer, value, map_file),
        scene.ours(
            'kidnap_injector',
            value,
            [{'seed': int(number('seed', value['seed'])), 'gazebo_world': value['gazebo_world']}],
        ),
        *scene.viewer(value),
    ]
    if is_true('auto_recovery', value['auto_recovery']):
        actions.append(
            include(
                'oomwoo_localization',
                'localization_recovery.launch.py',
                {name: value[name] for name in ('use_sim_time', 'namespace')},
            )
        )
    return actions


def generate_launch_description():
    """Declare the arguments and start the scene."""
    return described(ARGUMENTS, _start)
