"""
All that a robot needs to clean its edges: arbitration, reflexes, localizer, navigator, edge job.

Beside ``physical.launch.py twist_mux:=elsewhere``, or ``world.launch.py reflex:=elsewhere``. It is
the three launch files that it includes, with what is the suite's own among them in one process.
"""
from oomwoo_sim_support.launch_choices import described, given, include, is_true, together

ARGUMENTS = (
    ('use_sim_time', 'true', 'take the time from /clock'),
    (
        'map', 'living_room.yaml',
        'map file, or the name of one that oomwoo_sim_support carries'),
    ('x_pose', '', 'start in the map [m]; all three empty: told later on /initialpose'),
    ('y_pose', '', 'start in the map [m]'),
    ('yaw', '', 'start heading in the map [rad]'),
    ('nav', 'auto', 'auto, embedded or nav2'),
    ('localizer', 'auto', 'auto, scan, slam_toolbox, amcl or truth'),
    ('controller', 'auto', 'near obstacles: auto, tolerant or averse, as nav.launch.py says'),
    ('output_dir', 'out', 'folder for edge_clean.png, edge_clean.json and the saved job'),
    ('side', 'right', 'side on which edges are followed: right or left'),
    (
        'autostart', 'true',
        'begin at once; false: wait for clean_manager/start or the action '
        'clean_manager/clean_edges'),
    ('exit_when_done', 'true', 'end the launch when the job has ended'),
    (
        'bump_map_file', '',
        'where the bump map is kept: a .npz, or a map file (.yaml) to keep it beside; empty: '
        'nowhere'),
    (
        'mux', 'auto',
        'who arbitrates: auto, twist_mux or velocity_mux; both read twist_mux.yaml'),
    ('reflex', 'true', 'start the escape reflexes; false: arbitration alone'),
    ('robot_file', '', 'robot.yaml of this robot; empty: the packaged one'),
    (
        'compose', 'true',
        'true: nodes of the suite in one process, which takes a third less CPU; false: a process '
        'for each'),
    ('namespace', '', 'namespace of all of it, tf included'),
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
