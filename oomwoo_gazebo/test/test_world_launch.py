"""The world's launch file: what it starts, what it refuses, and that it starts."""
import importlib.util
import os
from pathlib import Path
import signal
import subprocess
import time

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument
from nav_msgs.msg import Odometry
from oomwoo_sim_support import launch_choices, localization_scene
from oomwoo_sim_support.launch_choices import LaunchError
from oomwoo_sim_support.layout import LayoutError
import pytest
import rclpy

FILE = Path(__file__).resolve().parent.parent / 'launch' / 'world.launch.py'


@pytest.fixture
def launch_file():
    """Load the launch file as a module."""
    spec = importlib.util.spec_from_file_location('world_launch', FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(module, **changes):
    """Return the launch arguments' defaults with changes."""
    return {name: default for name, default, _ in module.ARGUMENTS} | changes


def parameters_of(module, **changes):
    """Return the parameters, as text, that the simulator gets."""
    context = LaunchContext()
    node = module.embedded_simulator(arguments(module, **changes))
    node._perform_substitutions(context)
    files = [file for file, is_file in node._Node__expanded_parameter_arguments if is_file]
    text = ''.join(Path(file).read_text() for file in files)
    return node, text


def test_arguments_keep_their_names(launch_file):
    """The names that every launch file of the suite uses."""
    declared = [action.name for action in launch_file.generate_launch_description().entities
                if isinstance(action, DeclareLaunchArgument)]
    assert {'world', 'x_pose', 'y_pose', 'yaw', 'use_sim_time', 'odom_source', 'sim', 'headless',
            'real_time_factor', 'seed'} <= set(declared)


@pytest.mark.parametrize('world', ['contour_torture', 'contour_torture.world'])
def test_simulator_gets_the_layout_and_what_was_given(launch_file, world):
    """Numbers as numbers; a start that is not given is left to the layout."""
    _, text = parameters_of(launch_file, world=world, x_pose='-2', seed='7', real_time_factor='3')
    assert 'contour_torture.yaml' in text
    assert 'x_pose: -2.0' in text and 'y_pose' not in text
    assert 'seed: 7' in text and 'real_time_factor: 3.0' in text and 'use_sim_time: false' in text


def test_without_a_world_it_is_that_of_the_localization_scene(launch_file):
    """Their commands start a simulator without naming one; map and world have to be the same."""
    _, text = parameters_of(launch_file)
    maps = {name: default for name, default, _ in localization_scene.ARGUMENTS}['map']
    assert f'layouts/{maps}' in text and maps == 'living_room.yaml'


def test_without_sim_time_the_embedded_simulator_goes_by_the_wall_and_gazebo_is_refused(
        launch_file, monkeypatch):
    """What listens to the wall's clock hears stamps of it."""
    assert 'clock: simulated' in parameters_of(launch_file)[1]
    assert 'clock: wall' in parameters_of(launch_file, use_sim_time='false')[1]
    handed_on = []
    monkeypatch.setattr(launch_file, 'include', lambda *words: handed_on.append(words[-1]))
    launch_file.commands(arguments(launch_file, use_sim_time='false'))
    assert handed_on[0]['use_sim_time'] == 'false'
    monkeypatch.setattr(launch_file, 'choose_simulator', lambda asked: ('gazebo', 'gazebo'))
    monkeypatch.setattr(
        launch_file, 'given', lambda *_: arguments(launch_file, use_sim_time='false'))
    with pytest.raises(launch_file.LaunchError, match='sim:=embedded'):
        launch_file._start(LaunchContext())


def test_namespace_takes_tf_with_it(launch_file):
    """Two robots do not share a tree of frames."""
    node = launch_file.embedded_simulator(
        arguments(launch_file, namespace='upstairs', reflex='false'))
    assert len(node._Node__remappings) == 2


def test_the_base_listens_to_what_the_mux_lets_through(launch_file):
    """Unless there is none."""
    _, remappings = launch_file.common_arguments(arguments(launch_file))
    assert remappings == [('cmd_vel', 'cmd_vel_mux')]
    assert launch_file.common_arguments(arguments(launch_file, reflex='false')) == ([], [])
    assert launch_file.commands(arguments(launch_file, reflex='false')) == []


def test_nonsense_is_refused_by_argument(launch_file):
    """Before anything is started."""
    for changes, words in (
            ({'x_pose': 'east'}, 'x_pose:=east'),
            ({'real_time_factor': 'fast'}, 'real_time_factor')):
        with pytest.raises(LaunchError, match=words):
            launch_file.embedded_simulator(arguments(launch_file, **changes))
    with pytest.raises(LayoutError, match='atlantis'):
        launch_file.embedded_simulator(arguments(launch_file, world='atlantis.world'))


def test_gazebo_is_taken_where_it_is_installed(launch_file, monkeypatch):
    """Else auto takes the embedded one and says why, and asking for it names what is missing."""
    monkeypatch.setattr(launch_choices, 'installed', lambda package: False)
    taken, line = launch_file.choose_simulator('auto')
    assert taken == 'embedded' and 'for gazebo, ros_gz_sim and 4 more would have' in line
    with pytest.raises(LaunchError, match='sim:=gazebo: not installed: ros_gz_sim ros_gz_bridge'):
        launch_file.choose_simulator('gazebo')
    monkeypatch.setattr(launch_choices, 'installed', lambda package: package != 'ros_gz_bridge')
    assert launch_file.choose_simulator('auto')[0] == 'embedded'
    monkeypatch.setattr(launch_choices, 'installed', lambda package: True)
    assert launch_file.choose_simulator('auto') == ('gazebo', 'sim: gazebo (auto)')
    assert launch_file.choose_simulator('embedded')[0] == 'embedded'
    with pytest.raises(LaunchError, match='sim:=unity'):
        launch_file.choose_simulator('unity')


def test_a_window_where_there_is_a_display_or_as_it_was_asked_for(launch_file, monkeypatch):
    """``gui`` is ``headless`` the other way round, and both at odds are refused."""
    monkeypatch.delenv('DISPLAY', raising=False)
    monkeypatch.delenv('WAYLAND_DISPLAY', raising=False)

    def headless(**changes):
        return launch_file.without_window(arguments(launch_file, **changes))

    assert headless() and not headless(gui='true') and not headless(headless='false')
    monkeypatch.setenv('DISPLAY', ':0')
    assert not headless() and headless(headless='true') and headless(gui='false')
    assert headless(headless='true', gui='false')
    for changes in ({'headless': 'true', 'gui': 'true'}, {'headless': 'false', 'gui': 'false'}):
        with pytest.raises(LaunchError, match='opposite'):
            headless(**changes)
    with pytest.raises(LaunchError, match='gui:=maybe'):
        headless(gui='maybe')


@pytest.mark.skipif(
    not launch_choices.installed('oomwoo_gazebo'), reason='the workspace is not built')
def test_documented_command_starts_the_world():
    """``ros2 launch`` with the arguments of the README, odometry in its place, a clean end."""
    process = subprocess.Popen(
        ['ros2', 'launch', 'oomwoo_gazebo', 'world.launch.py', 'world:=contour_torture.world',
         'x_pose:=-2.6', 'y_pose:=-2.77', 'odom_source:=robot_wheels', 'real_time_factor:=2.0',
         'sim:=embedded'],              # else it would be Gazebo, where that is installed
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    got = []
    rclpy.init()
    node = rclpy.create_node('world_launch_test')
    try:
        node.create_subscription(Odometry, 'odom_truth', got.append, 10)
        end = time.monotonic() + 120.0
        while not got and time.monotonic() < end:
            rclpy.spin_once(node, timeout_sec=0.2)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert got, output
    assert got[0].pose.pose.position.x == pytest.approx(-2.6, abs=0.01)
    assert got[0].pose.pose.position.y == pytest.approx(-2.77, abs=0.01)
    assert 'sim: embedded' in output and 'Traceback' not in output
    assert process.returncode == 0, output
