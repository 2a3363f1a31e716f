"""
The relocalizer on a grid over the whole map, against the simulator's truth.

Needs a simulator and a map to be running, and package oomwoo_sim_support, which holds the meter.
"""

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

ARGUMENTS = (
    ('use_sim_time', 'true', 'take the time from /clock'),
    ('publish_initialpose', 'false', 'tell the localizer each pose that was accepted'),
    ('hold_s', '0.0', 'pause after each answer, to look at [s]'),
    ('csv_path', '', 'file for one line a pose'),
    ('spacing_m', '1.0', 'distance between two places [m]'),
    ('headings', '4', 'headings at each place'),
    ('relocalizer', 'true', 'start a relocalizer; false where the recovery chain runs one'),
    ('gazebo_world', '', 'name of the world in Gazebo, to move the robot by its own service'),
)


def _start(context):
    value = {name: LaunchConfiguration(name).perform(context).strip() for name, _, _ in ARGUMENTS}
    words = {}
    for name in ('use_sim_time', 'publish_initialpose', 'relocalizer'):
        if value[name].lower() not in ('true', 'false'):
            raise RuntimeError(f'{name}:={value[name]}: is neither true nor false')
        words[name] = value[name].lower() == 'true'
    try:
        numbers = {
            'hold_s': float(value['hold_s']),
            'spacing_m': float(value['spacing_m']),
            'headings': int(value['headings']),
        }
    except ValueError as error:
        raise RuntimeError(f'hold_s, spacing_m, headings: {error}') from error
    sim_time = {'use_sim_time': words['use_sim_time']}
    meter = Node(
        package='oomwoo_sim_support',
        executable='reloc_eval',
        name='reloc_eval',
        output='screen',
        parameters=[
            {
                **sim_time,
                **numbers,
                'publish_initialpose': words['publish_initialpose'],
                'csv_path': value['csv_path'],
                'gazebo_world': value['gazebo_world'],
            }
        ],
    )
    relocalizer = Node(
        package='oomwoo_localization',
        executable='global_relocalizer',
        name='global_relocalizer',
        output='screen',
        parameters=[sim_time],
    )
    return [
        meter,
        *([relocalizer] if words['relocalizer'] else []),
        RegisterEventHandler(OnProcessExit(target_action=meter, on_exit=_ended)),
    ]


def _ended(event, context):
    """End everything, and say whether the bounds were kept."""
    kept = 'kept' if event.returncode == 0 else 'missed'
    return [
        LogInfo(msg=f'reloc_eval: bounds {kept}'),
        EmitEvent(event=Shutdown(reason='all poses tried')),
    ]


def generate_launch_description():
    """Declare the arguments and start the evaluation."""
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value=default, description=text)
                for name, default, text in ARGUMENTS
            ),
            OpaqueFunction(function=_start),
        ]
    )
