"""Start the bump map: what the bumper feels, on the cells of /map. It never drives."""
from launch_ros.actions import Node
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import described, given, is_true

ARGUMENTS = (
    common.USE_SIM_TIME.having('false'),
    common.BUMP_MAP_FILE,
    ('namespace', '', 'namespace of the node'),
    ('params_file', '', 'YAML with further parameters'),
)


def _start(context):
    value = given(ARGUMENTS, context)
    parameters = [{
        'use_sim_time': is_true('use_sim_time', value['use_sim_time']),
        'file': value['bump_map_file']}]
    if value['params_file']:
        parameters.append(value['params_file'])
    return [Node(package='oomwoo_clean', executable='bump_map', name='bump_map',
                 namespace=value['namespace'], output='screen', parameters=parameters,
                 remappings=[('/tf', 'tf'), ('/tf_static', 'tf_static')])]


def generate_launch_description():
    """Return the node with its launch arguments."""
    return described(ARGUMENTS, _start)
