"""The recovery chain: health notices, the relocalizer finds, the manager decides."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

ARGUMENTS = (
    ('use_sim_time', 'true', 'take the time from /clock'),
    ('may_move', 'true', 'the manager may drive to another view when it cannot tell'),
    ('fallback', 'vantage', 'vantage, or wait: leave the driving to whoever listens'),
    ('map', '', 'saved map file that health scores against; empty: the one on topic map'),
    ('namespace', '', 'namespace of all three nodes'),
    ('params_file', '', 'YAML with further parameters for all three nodes'),
)


def _start(context):
    value = {name: LaunchConfiguration(name).perform(context).strip() for name, _, _ in ARGUMENTS}
    words = {}
    for name in ('use_sim_time', 'may_move'):
        if value[name].lower() not in ('true', 'false'):
            raise RuntimeError(f'{name}:={value[name]}: is neither true nor false')
        words[name] = value[name].lower() == 'true'
    own = {
        'localization_health': {'yaml_filename': value['map']},
        'global_relocalizer': {},
        'localization_manager': {'may_move': words['may_move'], 'fallback': value['fallback']},
    }
    more = [value['params_file']] if value['params_file'] else []
    frames = [('/tf', 'tf'), ('/tf_static', 'tf_static')] if value['namespace'] else []
    return [
        Node(
            package='oomwoo_localization',
            executable=name,
            name=name,
            namespace=value['namespace'],
            output='screen',
            remappings=frames,
            parameters=[{'use_sim_time': words['use_sim_time'], **parameters}, *more],
        )
        for name, parameters in own.items()
    ]


def generate_launch_description():
    """Declare the arguments and start the three nodes."""
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value=default, description=text)
                for name, default, text in ARGUMENTS
            ),
            OpaqueFunction(function=_start),
        ]
    )
