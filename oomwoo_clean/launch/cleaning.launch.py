"""
All that a robot needs to clean its edges: arbitration, reflexes, localizer, navigator, edge job.

Beside ``physical.launch.py twist_mux:=elsewhere``, or ``world.launch.py reflex:=elsewhere``. It is
the three launch files that it includes, with what is the suite's own among them in one process.
"""
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import described, given, include, is_true, together

ARGUMENTS = (
    common.USE_SIM_TIME,
    common.MAP,
    *common.START_IN_MAP,
    common.NAV,
    common.LOCALIZER,
    common.CONTROLLER,
    common.OUTPUT_DIR,
    common.EDGE_SIDE,
    common.EDGE_AUTOSTART,
    common.EXIT_WHEN_DONE,
    common.BUMP_MAP_FILE,
    common.MUX,
    common.REFLEX,
    common.ROBOT_FILE,
    (
        'compose', 'true',
        'true: nodes of the suite in one process, which takes a third less CPU; false: a process '
        'for each'),
    common.NAMESPACE,
    ('params_file', '', 'YAML with further parameters for arbitration, reflexes and edge job'),
)
COMMON = ('use_sim_time', 'namespace')
PARTS = {
    'escape_reflex.launch.py': ('mux', 'reflex', 'robot_file', 'params_file'),
    'nav.launch.py': ('map', 'x_pose', 'y_pose', 'yaw', 'nav', 'localizer', 'controller'),
    'edge_clean.launch.py': (
        'output_dir', 'side', 'autostart', 'exit_when_done', 'bump_map_file', 'params_file'),
}


def _start(context):
    value = given(ARGUMENTS, context)
    parts = [
        include('oomwoo_clean', file, {name: value[name] for name in (*COMMON, *names)})
        for file, names in PARTS.items()]
    return together(parts) if is_true('compose', value['compose']) else parts


def generate_launch_description():
    """Declare the arguments and start all three."""
    return described(ARGUMENTS, _start)
