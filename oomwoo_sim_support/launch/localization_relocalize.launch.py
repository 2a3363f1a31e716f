"""Map, everyday localizer, kidnap injector and RViz: the scene in which a robot is kidnapped."""

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, LogInfo, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import is_true, number

ARGUMENTS = (
    *scene.ARGUMENTS,
    ('auto_recovery', 'false', 'start the recovery chain, too (localization_recovery.launch.py)'),
    ('seed', '0', 'of the poses to which the robot is kidnapped'),
    ('gazebo_world', '', 'name of the world in Gazebo, to kidnap by its own service'),
)


def _start(context):
    value = {name: LaunchConfiguration(name).perform(context).strip() for name, _, _ in ARGUMENTS}
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
        share = get_package_share_directory('oomwoo_localization')
        actions.append(
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(f'{share}/launch/localization_recovery.launch.py'),
                launch_arguments={
                    name: value[name] for name in ('use_sim_time', 'namespace')
                }.items(),
            )
        )
    return actions


def generate_launch_description():
    """Declare the arguments and start the scene."""
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value=default, description=text)
                for name, default, text in ARGUMENTS
            ),
            OpaqueFunction(function=_start),
        ]
    )
