"""What stands between behaviours and base: the escape reflexes, and who of them all may drive."""
from launch.actions import LogInfo
from launch_ros.actions import Node
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import (
    choose,
    described,
    find_file,
    given,
    is_true,
    SuiteProcess,
    together,
)

ARGUMENTS = (
    common.USE_SIM_TIME,
    common.MUX,
    common.REFLEX,
    common.ROBOT_FILE,
    common.COMPOSE,
    ('namespace', '', 'namespace of both nodes'),
    ('params_file', '', 'YAML with further parameters for both nodes'),
)
MUXES = {'twist_mux': ('twist_mux',), 'velocity_mux': ()}
PACKAGES = {'twist_mux': 'twist_mux', 'velocity_mux': 'oomwoo_clean'}
OUT = 'cmd_vel_mux'                # what the base gets, or the guard before it


def _start(context):
    value = given(ARGUMENTS, context)
    reflex = is_true('reflex', value['reflex'])
    mux, line = choose('mux', value['mux'], MUXES)
    order = 'cmd_vel < cmd_vel_reflex < cmd_vel_teleop' if reflex else 'cmd_vel < cmd_vel_teleop'
    sim_time = {'use_sim_time': is_true('use_sim_time', value['use_sim_time'])}
    more = [value['params_file']] if value['params_file'] else []
    tf = [('/tf', 'tf'), ('/tf_static', 'tf_static')] if value['namespace'] else []

    def node(package, executable, parameters, remappings=()):
        kind = SuiteProcess if package == 'oomwoo_clean' else Node
        return kind(
            package=package, executable=executable, name=executable, output='screen',
            namespace=value['namespace'],
            parameters=[sim_time, *parameters, *more], remappings=[*remappings, *tf],
            respawn=True, respawn_delay=0.5)

    config = find_file('mux', 'twist_mux', 'oomwoo_bringup', 'config', '.yaml')
    nodes = [node(PACKAGES[mux], mux, [config], [('cmd_vel_out', OUT)])]
    if reflex:
        own = {'robot_file': value['robot_file']}
        nodes.append(node('oomwoo_clean', 'escape_reflex', [own]))
    if is_true('compose', value['compose']):
        nodes = together(nodes)
    return [LogInfo(msg=f'{line}: {order} -> {OUT}'), *nodes]


def generate_launch_description():
    """Return mux and reflexes with their launch arguments."""
    return described(ARGUMENTS, _start)
