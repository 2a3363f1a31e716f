"""Make a map while somebody drives: slam_toolbox and RViz. Save it with save_map.launch.py."""
from launch.actions import LogInfo
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import (
    described,
    given,
    installed,
    is_true,
    LaunchError,
)

ARGUMENTS = (
    common.USE_SIM_TIME.having('false'),
    (
        'params_file', 'slam_toolbox_mapping.yaml',
        'parameters of slam_toolbox: a file, or the name of one that oomwoo_bringup carries'),
    common.RVIZ,
    common.RVIZ_CONFIG,
    ('namespace', '', 'namespace of slam_toolbox, tf included'),
)
NEEDS = ('slam_toolbox', 'nav2_lifecycle_manager')


def _start(context):
    value = given(ARGUMENTS, context)
    sim_time = {'use_sim_time': is_true('use_sim_time', value['use_sim_time'])}
    params, notes = scene.parameter_file('params_file', value['params_file'], value['namespace'])
    lacking = [package for package in NEEDS if not installed(package)]
    if lacking:
        apt = ' '.join(f'ros-jazzy-{package.replace("_", "-")}' for package in lacking)
        raise LaunchError(
            f'slam: nothing here makes maps; install {apt}. The maps of the packaged worlds are '
            'drawn: python3 -m oomwoo_sim_support.generate')
    return [
        *(LogInfo(msg=note) for note in (*notes, f'slam: slam_toolbox with {params}')),
        scene.others(
            'slam_toolbox', 'async_slam_toolbox_node', value, [params, sim_time],
            name='slam_toolbox'),
        scene.lifecycle_manager('slam_toolbox', ['slam_toolbox'], value),
        *scene.viewer(value),
    ]


def generate_launch_description():
    """Declare the arguments and start mapping."""
    return described(ARGUMENTS, _start)
