"""
The commands that people know this robot's software by: each is there and takes its arguments.

Written down as they are published, paths of the container included. Each ``ros2 launch`` is
launched under the real launch system with stubs for what it starts, on a bare machine and a full
one; ``ros2 run`` finds its executable, ``ros2 topic`` and ``service`` their names and types.
"""
import importlib
import shlex
import subprocess

import pytest
from stub_workspace import entry_points, OTHERS, PACKAGES, ROOT, StubWorkspace
from test_rviz_files import documented as documented_topics

MAP = '/ros_ws/src/oomwoo_gazebo/maps/living_room.yaml'
KITCHEN = 'ros2 launch oomwoo_gazebo world.launch.py world:=kitchen_dining.world'
REGRESSION = (
    'ros2 launch oomwoo_sim_support coverage_regression.launch.py {}world:=$GZ/worlds/'
    'living_room.world map:=$SIM/maps/living_room.yaml x_pose:=0.32 y_pose:=1.59')
# command: the node without which it would be another command, where nothing of others is there
LAUNCHES = {
    'ros2 launch oomwoo_gazebo world.launch.py': 'embedded_sim',
    'ros2 launch oomwoo_gazebo world.launch.py odom_source:=robot_wheels': 'embedded_sim',
    'ros2 launch oomwoo_gazebo world.launch.py world:=contour_torture.world '
    'odom_source:=robot_wheels': 'embedded_sim',
    'ros2 launch oomwoo_gazebo world.launch.py world:=contour_torture.world x_pose:=-2.6 '
    'y_pose:=-2.77 odom_source:=robot_wheels': 'embedded_sim',
    KITCHEN: 'embedded_sim',
    f'{KITCHEN} headless:=true': 'embedded_sim',
    f'{KITCHEN} x_pose:=-2.0 y_pose:=-0.5': 'embedded_sim',
    f'{KITCHEN} x_pose:=-1.5 y_pose:=-0.5': 'embedded_sim',
    f'{KITCHEN} x_pose:=-1.6 y_pose:=-0.9': 'embedded_sim',
    f'ros2 launch oomwoo_bringup navigation.launch.py use_sim_time:=true   map:={MAP}   '
    'rviz_config:=bump_map.rviz': 'scan_localizer',
    'ros2 launch oomwoo_bringup monitor_robot.launch.py use_sim_time:=true '
    'rviz_config:=edge_clean.rviz': None,
    'ros2 launch oomwoo_clean contour_follow.launch.py use_sim_time:=true': 'contour_follower',
    'ros2 launch oomwoo_clean nav.launch.py x_pose:=-2.6 y_pose:=-2.77 map:=$(ros2 pkg prefix '
    'oomwoo_sim_support)/share/oomwoo_sim_support/maps/contour_torture.yaml':
        'embedded_navigator',
    'ros2 launch oomwoo_clean edge_clean.launch.py': 'clean_manager',
    'ros2 launch oomwoo_clean wall_clean_bump_out.launch.py use_sim_time:=true':
        'wall_clean_bump_out',
    REGRESSION.format(''): 'coverage_planner',
    REGRESSION.format('gui:=true '): 'coverage_planner',
    REGRESSION.format('contact_aware:=false robot_radius:=0.1 '): 'coverage_planner',
    'ros2 launch oomwoo_sim_support dock_sim.launch.py use_sim_time:=true': 'dock_drive',
    'ros2 launch oomwoo_sim_support localization_compare.launch.py use_sim_time:=true '
    f'map:={MAP} nav_params:=/ros_ws/src/oomwoo_one/config/etc/navigation_loose.yaml':
        'loc_err_slam',
    'ros2 launch oomwoo_sim_support localization_compare.launch.py use_sim_time:=true '
    f'map:={MAP} nav_params:=/ros_ws/src/oomwoo_one/config/etc/navigation_tight.yaml':
        'loc_err_slam',
    f'ros2 launch oomwoo_sim_support localization_stress.launch.py use_sim_time:=true map:={MAP} '
    'rviz:=true': 'loc_err_slam',
    f'ros2 launch oomwoo_sim_support localization_stress.launch.py use_sim_time:=true map:={MAP} '
    'rviz:=true filter:=true': 'scan_filter',
    'ros2 launch oomwoo_sim_support spawn_obstacle.launch.py x:=0.0 y:=-0.5': 'spawn_obstacle',
    'ros2 launch oomwoo_sim_support localization_relocalize.launch.py use_sim_time:=true '
    f'auto_recovery:=false map:={MAP}': 'kidnap_injector',
    'ros2 launch oomwoo_localization localization_recovery.launch.py use_sim_time:=true':
        'localization_manager',
    'ros2 launch oomwoo_localization reloc_eval.launch.py use_sim_time:=true '
    'publish_initialpose:=true hold_s:=3.0 csv_path:=/root/reloc_eval.csv': 'reloc_eval',
}
# Files of commands that nobody has written yet. Whoever does takes them out of here.
NOT_YET = set()
RUNS = (
    'ros2 run oomwoo_sim_support odom_slip --ros-args -p use_sim_time:=true',
    'ros2 run foxglove_bridge foxglove_bridge',
    'ros2 run kaiaai_teleop teleop_keyboard',
)
# Packages of others, installed in the container or from their own repositories.
NOT_OURS = {'kaiaai_teleop'}
TOPICS = {
    'ros2 topic echo /dock_drive/state': 'std_msgs/msg/String',
    'ros2 topic echo /localization_manager/recovery_action': 'std_msgs/msg/String',
}
SERVICES = (
    'ros2 service call /kidnap_injector/kidnap std_srvs/srv/Trigger {}',
    'ros2 service call /global_relocalizer/relocalize oomwoo_localization_msgs/srv/Relocalize {}',
)
MODULES = ('python3 -m oomwoo_clean.contour_harness',)


@pytest.fixture(scope='module')
def machines(tmp_path_factory):
    """Return a bare and a full machine."""
    return {'bare': StubWorkspace(tmp_path_factory.mktemp('bare')),
            'full': StubWorkspace(tmp_path_factory.mktemp('full'), [*OTHERS, 'ros_gz_sim'])}


def split(command, machine):
    """Return (package, file or executable, the other words) as the shell makes them."""
    share = f'{machine.folder}/share'
    for text, value in (
            ('$GZ', f'{share}/oomwoo_gazebo'), ('$SIM', f'{share}/oomwoo_sim_support'),
            *((f'$(ros2 pkg prefix {package})', machine.folder) for package in PACKAGES)):
        command = command.replace(text, str(value))
    assert '$' not in command
    _, _, package, what, *words = shlex.split(command)
    return package, what, words


def is_there(package, file):
    """Tell whether a launch file is there."""
    return (ROOT / package / 'launch' / file).is_file()


def test_what_is_not_there_yet_is_said_and_nothing_else(machines):
    missing = {file for package, file, _ in (
        split(command, machines['bare']) for command in LAUNCHES) if not is_there(package, file)}
    assert missing == NOT_YET


@pytest.mark.parametrize('kind', ['bare', 'full'])
@pytest.mark.parametrize('command', LAUNCHES)
def test_each_launches_as_written(machines, command, kind):
    machine = machines[kind]
    package, file, words = split(command, machine)
    if not is_there(package, file):
        assert file in NOT_YET
        return
    known = machine.arguments_of(package, file)
    assert {word.split(':=')[0] for word in words} <= set(known)
    run = machine.run(package, file, words)
    assert run.errors == []
    node = LAUNCHES[command]
    if node is not None and (kind == 'bare' or package not in ('oomwoo_gazebo', 'oomwoo_clean')):
        assert node in run.nodes(), run.lines
    if kind == 'bare':
        # What stands in for what, and why, one line each.
        stands_in = [line for line in run.lines if 'would have to be installed' in line]
        assert not {'embedded_sim', 'embedded_navigator'} & set(run.nodes()) or stands_in


@pytest.mark.parametrize('command', RUNS)
def test_each_executable_is_there(command):
    package, executable, *_ = shlex.split(command)[2:]
    known = {**OTHERS, **{name: entry_points(name) for name in PACKAGES}}
    assert package in NOT_OURS or executable in known[package]


@pytest.mark.parametrize('command', TOPICS)
def test_each_topic_has_its_type(command):
    assert documented_topics()[command.split('/', 1)[1]][0] == TOPICS[command]


@pytest.mark.parametrize('command', SERVICES)
def test_each_service_has_its_type(command):
    _, _, _, name, type_, _ = shlex.split(command)
    page = (ROOT / 'docs' / 'interfaces.md').read_text(encoding='utf-8')
    assert f'| `{name.removeprefix("/")}` | {type_} |' in page


@pytest.mark.parametrize('command', MODULES)
def test_each_module_is_a_program(command):
    assert callable(importlib.import_module(command.split()[-1]).main)


def test_a_shell_makes_of_it_what_ros2_launch_understands():
    """One of them on the real command line, its arguments shown in place of being launched."""
    command = next(c for c in LAUNCHES if 'nav.launch.py' in c)
    done = subprocess.run(
        ['bash', '-c', f'{command} --show-args'], capture_output=True, text=True, timeout=120,
        check=False)
    assert done.returncode == 0, done.stderr
    assert "'keepout_mask'" in done.stdout
