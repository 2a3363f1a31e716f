"""Put a wall that no map has into the running simulator."""

from launch.actions import EmitEvent, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch_ros.actions import Node
from oomwoo_sim_support.launch_choices import described, given, is_true, number

NUMBERS = (
    ('x', '0.0', 'middle of the box in the map [m]'),
    ('y', '0.0', 'middle of the box in the map [m]'),
    ('yaw', '0.0', 'its heading [rad]'),
    ('size_x', '0.2', 'length [m]'),
    ('size_y', '1.2', 'width [m]'),
    ('size_z', '0.5', 'height [m]'),
)
ARGUMENTS = (
    *NUMBERS,
    ('name', 'obstacle', 'what it is called; a taken name gets a number'),
    ('remove', 'false', 'take it away again instead'),
    ('sim', 'auto', 'simulator to ask: auto, embedded or gazebo'),
    ('namespace', '', 'namespace of the simulator'),
)


def _start(context):
    value = given(ARGUMENTS, context)
    parameters = {name: number(name, value[name]) for name, _, _ in NUMBERS}
    parameters |= {
        'entity': value['name'], 'remove': is_true('remove', value['remove']),
        'sim': value['sim']}
    node = Node(
        package='oomwoo_sim_support',
        executable='spawn_obstacle',
        name='spawn_obstacle',
        namespace=value['namespace'],
        output='screen',
        parameters=[parameters],
    )
    ended = OnProcessExit(
        target_action=node, on_exit=[EmitEvent(event=Shutdown(reason='asked the simulator'))]
    )
    return [node, RegisterEventHandler(ended)]


def generate_launch_description():
    """Declare the arguments and spawn."""
    return described(ARGUMENTS, _start)
