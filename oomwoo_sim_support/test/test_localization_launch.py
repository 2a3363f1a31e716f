"""What the localization launch files start, and what they refuse."""
import importlib.util
from pathlib import Path

from launch import LaunchContext
from launch.actions import LogInfo
from launch_ros.actions import Node
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import LaunchError
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCENE = ['map_server', 'scan_localizer']
STARTS = {
    'oomwoo_sim_support/launch/localization_relocalize.launch.py': [*SCENE, 'kidnap_injector'],
    'oomwoo_sim_support/launch/localization_compare.launch.py': [*SCENE, 'localization_error'],
    'oomwoo_sim_support/launch/localization_stress.launch.py': [
        *SCENE, 'localization_health', 'scan_filter', 'dynamic_object_detector',
        'localization_error'],
    'oomwoo_sim_support/launch/spawn_obstacle.launch.py': ['spawn_obstacle'],
    'oomwoo_localization/launch/localization_recovery.launch.py': [
        'localization_health', 'global_relocalizer', 'localization_manager'],
    'oomwoo_localization/launch/reloc_eval.launch.py': ['reloc_eval', 'global_relocalizer'],
}


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """Have nothing installed, and the maps of the source tree."""
    monkeypatch.setattr(scene, 'installed', lambda package: False)
    monkeypatch.setattr('oomwoo_sim_support.launch_choices.installed', lambda package: False)
    share = str(ROOT / 'oomwoo_sim_support')
    monkeypatch.setattr(
        'oomwoo_sim_support.launch_choices.get_package_share_directory', lambda package: share)


def start(file, **arguments):
    """Return (executables, log lines) of a launch file."""
    spec = importlib.util.spec_from_file_location('launched', ROOT / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    context = LaunchContext()
    for name, default, _ in module.ARGUMENTS:
        context.launch_configurations[name] = arguments.get(name, default)
    actions = module._start(context)
    lines = [''.join(part.perform(context) for part in action.msg)
             for action in actions if isinstance(action, LogInfo)]
    return [action.node_executable for action in actions if isinstance(action, Node)], lines


@pytest.mark.parametrize('file', STARTS)
def test_each_starts_what_it_says(file):
    assert start(file)[0] == STARTS[file]


@pytest.mark.parametrize('display, started', [('', []), (':0', ['rviz2'])])
def test_rviz_is_started_where_it_can_open_a_window(monkeypatch, display, started):
    for name in scene.DISPLAYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('DISPLAY', display)
    monkeypatch.setattr(scene, 'installed', lambda package: package == 'rviz2')
    monkeypatch.setattr(
        'oomwoo_sim_support.launch_choices.get_package_share_directory',
        lambda package: str(ROOT / package))
    file = next(iter(STARTS))
    executables, lines = start(file)
    assert executables == [*STARTS[file], *started]
    assert any('there is no display' in line for line in lines) == (not started)


def test_a_map_of_another_machine_is_taken_by_its_name():
    _, lines = start(next(iter(STARTS)), map='/ros_ws/src/maps/living_room.yaml')
    assert 'is not there; takes' in lines[0]
    with pytest.raises(LaunchError, match='map:=/nowhere/else.yaml'):
        start(next(iter(STARTS)), map='/nowhere/else.yaml')


def test_what_is_not_installed_or_wrong_is_refused_by_name():
    file = next(iter(STARTS))
    with pytest.raises(LaunchError, match='amcl: not installed: nav2_amcl'):
        start(file, localizer='amcl')
    with pytest.raises(LaunchError, match='auto_recovery:=perhaps'):
        start(file, auto_recovery='perhaps')
    with pytest.raises(RuntimeError, match='may_move:=maybe'):
        start('oomwoo_localization/launch/localization_recovery.launch.py', may_move='maybe')
    with pytest.raises(LaunchError, match='x:=left'):
        start('oomwoo_sim_support/launch/spawn_obstacle.launch.py', x='left')


def test_the_start_is_the_layouts_unless_it_is_given():
    value = {name: default for name, default, _ in scene.ARGUMENTS}
    assert scene.start_pose(value, 'living_room.yaml') == (0.32, 1.59, 0.0)
    assert scene.start_pose({**value, 'x_pose': '1'}, 'living_room.yaml') == (1.0, 0.0, 0.0)
    assert scene.start_pose(value, 'nowhere.yaml') is None
    assert scene.start_pose(value, 'living_room.yaml', from_layout=False) is None


def test_a_real_robot_may_stand_anywhere():
    value = {name: default for name, default, _ in scene.ARGUMENTS} | {'use_sim_time': 'false'}
    assert scene.start_pose(value, 'living_room.yaml') is None
    assert scene.start_pose({**value, 'yaw': '1'}, 'living_room.yaml') == (0.0, 0.0, 1.0)
