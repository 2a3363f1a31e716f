"""monitor_robot.launch.py: what it opens."""
import importlib.util
from pathlib import Path

from launch import LaunchContext
from launch.actions import LogInfo
from launch_ros.actions import Node
from oomwoo_sim_support import launch_choices
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import LaunchError
import pytest

PACKAGE = Path(__file__).resolve().parents[1]


def start(monkeypatch, there, sdk=False, display=':0', **arguments):
    """Return (log lines, executables) with the packages ``there`` and Foxglove's SDK installed."""
    monkeypatch.setattr(launch_choices, 'installed', lambda package: package in there)
    monkeypatch.setattr(
        launch_choices, 'get_package_share_directory', lambda package: str(PACKAGE))
    spec = importlib.util.spec_from_file_location(
        'monitor', PACKAGE / 'launch' / 'monitor_robot.launch.py')
    monitor = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(monitor)
    monkeypatch.setattr(monitor, 'find_spec', lambda name: sdk or None)
    for name in scene.DISPLAYS:
        monkeypatch.delenv(name, raising=False)
    if display:
        monkeypatch.setenv('DISPLAY', display)
    context = LaunchContext()
    for name, default, _ in monitor.ARGUMENTS:
        context.launch_configurations[name] = arguments.get(name, default)
    actions = monitor._start(context)
    lines = [
        ''.join(part.perform(context) for part in a.msg)
        for a in actions if isinstance(a, LogInfo)]
    return lines, [a.node_executable for a in actions if isinstance(a, Node)]


@pytest.mark.parametrize(
    'there', [(), ('rviz2',), ('foxglove_bridge',), ('rviz2', 'foxglove_bridge')])
def test_what_is_installed_is_started_and_else_it_says_how_to_look(monkeypatch, there):
    lines, executables = start(monkeypatch, there)
    assert executables == list(there)
    assert len(lines) == max(1, len(there))
    assert ('edge_clean.mcap' in lines[0]) == (there == ())


@pytest.mark.parametrize('there', [(), ('rviz2',)])
def test_without_the_bridge_the_suites_own_server_takes_the_same_port(monkeypatch, there):
    lines, executables = start(monkeypatch, there, sdk=True, foxglove_port='9000')
    assert executables == [*there, 'foxglove_server']
    assert 'foxglove_server at ws://127.0.0.1:9000' in lines[-1]
    _, executables = start(monkeypatch, ('foxglove_bridge',), sdk=True)
    assert executables == ['foxglove_bridge']
    assert start(monkeypatch, (), sdk=True, foxglove='false', rviz='false') == ([], [])


def test_without_a_display_rviz_is_not_started_to_abort(monkeypatch):
    lines, executables = start(monkeypatch, ('rviz2', 'foxglove_bridge'), display='')
    assert executables == ['foxglove_bridge']
    assert 'no display (DISPLAY, ' in lines[0] and 'foxglove_bridge at' in lines[1]


def test_rviz_can_be_left_out_and_a_missing_file_is_named(monkeypatch):
    assert start(monkeypatch, ('rviz2',), rviz='false', foxglove='false') == ([], [])
    says = 'rviz_config:=none.rviz: no such file; oomwoo_bringup has bump_map.rviz, edge_clean'
    with pytest.raises(LaunchError, match=says):
        start(monkeypatch, ('rviz2',), rviz_config='none.rviz')
