"""
Clean along walls by touch: point the robot at a wall and start this.

Starts the bump-out, enabled at once, and the bump map, which draws what it touches. A localizer
(``navigation.launch.py``) makes the frame ``map`` in which that is drawn; the bump-out needs none.
"""
from launch_ros.actions import Node
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import described, given, is_true, number

ARGUMENTS = (
    common.USE_SIM_TIME.having('false'),
    ('bump_map', 'true', 'start the bump map, too; false: the bump-out alone'),
    common.BUMP_MAP_FILE,
    ('autostart', 'true', 'enabled from the start; false: waits for wall_clean_bump_out/enable'),
    ('duration', '0.0', 'seconds after which it stops by itself; 0: never'),
    ('namespace', '', 'namespace of both nodes'),
    ('params_file', '', 'YAML with further parameters for both nodes'),
)
# The bump-out touches a wall every 40 to 60 cm, and rolls on by up to 6 cm while it is pressed.
SEGMENT_GAP_M, THROUGH_M = 0.75, 0.12


def _start(context):
    value = given(ARGUMENTS, context)
    use_sim_time = is_true('use_sim_time', value['use_sim_time'])
    duration_s = number('duration', value['duration'])
    more = [value['params_file']] if value['params_file'] else []
    tf = [('/tf', 'tf'), ('/tf_static', 'tf_static')]      # under a namespace, too
    nodes = [Node(
        package='oomwoo_clean', executable='wall_clean_bump_out', name='wall_clean_bump_out',
        namespace=value['namespace'], output='screen', remappings=tf, parameters=[{
            'use_sim_time': use_sim_time, 'duration_s': duration_s,
            'autostart': is_true('autostart', value['autostart'])}, *more])]
    if is_true('bump_map', value['bump_map']):
        nodes.append(Node(
            package='oomwoo_clean', executable='bump_map', name='bump_map',
            namespace=value['namespace'], output='screen', remappings=tf, parameters=[{
                'use_sim_time': use_sim_time, 'file': value['bump_map_file'],
                'segment_gap_m': SEGMENT_GAP_M, 'through_m': THROUGH_M}, *more]))
    return nodes


def generate_launch_description():
    """Return bump-out and bump map with their launch arguments."""
    return described(ARGUMENTS, _start)
