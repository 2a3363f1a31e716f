"""Cover all the floor in lanes: the coverage planner, beside a navigator that runs already."""
from launch_ros.actions import Node
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import described, given, is_true, number

ARGUMENTS = (
    common.USE_SIM_TIME,
    (
        'contact_aware', 'true',
        'stand aside while an escape reflex drives, and keep out of its pockets'),
    (
        'robot_radius', '',
        'radius of the body that plans are made for [m]; empty: that of robot.yaml'),
    (
        'autostart', 'true',
        'begin as soon as map and pose are there; false: wait for coverage_planner/start'),
    ('exit_when_done', 'false', 'end the node when the job has ended'),
    ('namespace', '', 'namespace of the node, tf included'),
    ('params_file', '', 'YAML with further parameters'),
)
WORDS = ('use_sim_time', 'contact_aware', 'autostart', 'exit_when_done')


def _start(context):
    value = given(ARGUMENTS, context)
    parameters = {name: is_true(name, value[name]) for name in WORDS}
    if value['robot_radius']:
        parameters['robot_radius'] = number('robot_radius', value['robot_radius'])
    more = [value['params_file']] if value['params_file'] else []
    tf = [('/tf', 'tf'), ('/tf_static', 'tf_static')] if value['namespace'] else []
    return [Node(
        package='oomwoo_clean', executable='coverage_planner', name='coverage_planner',
        namespace=value['namespace'], output='screen', parameters=[parameters, *more],
        remappings=tf)]


def generate_launch_description():
    """Return the planner with its launch arguments."""
    return described(ARGUMENTS, _start)
