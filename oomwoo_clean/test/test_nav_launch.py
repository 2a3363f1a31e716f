"""nav.launch.py: what it starts for which arguments, and which it refuses."""
import importlib.util
from pathlib import Path

from launch import LaunchContext
from launch.actions import LogInfo
from launch_ros.actions import Node
from oomwoo_sim_support import launch_choices, localization_scene
from oomwoo_sim_support.launch_choices import LaunchError
import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location(
    'nav_launch', ROOT / 'oomwoo_clean' / 'launch' / 'nav.launch.py')
NAV = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(NAV)


@pytest.fixture(autouse=True)
def shared(monkeypatch):
    """Look into the source tree for data files, and let no more be installed than the suite."""
    monkeypatch.setattr(
        launch_choices, 'get_package_share_directory', lambda package: str(ROOT / package))
    monkeypatch.setattr(launch_choices, 'installed', lambda package: False)
    monkeypatch.setattr(localization_scene, 'installed', lambda package: False)


def start(**arguments):
    """Return (log lines, nodes) for launch arguments."""
    context = LaunchContext()
    for name, default, _ in NAV.ARGUMENTS:
        context.launch_configurations[name] = arguments.get(name, default)
    actions = NAV._start(context)
    lines = [
        ''.join(part.perform(context) for part in a.msg) for a in actions
        if isinstance(a, LogInfo)]
    return lines, [a for a in actions if isinstance(a, Node)]


def executables(nodes):
    """Return (package, executable) pairs."""
    return {(node.node_package, node.node_executable) for node in nodes}


def test_on_a_bare_machine_auto_is_the_embedded_navigator_and_the_scan_localizer():
    lines, nodes = start(map='test_room')
    assert executables(nodes) == {
        ('oomwoo_sim_support', 'map_server'), ('oomwoo_sim_support', 'embedded_navigator'),
        ('oomwoo_localization', 'scan_localizer')}
    assert lines[0].startswith('nav: embedded (auto; for nav2, nav2_controller')
    assert lines[1].startswith('localizer: scan (auto)') and 'every scan' in lines[1]


def test_truth_in_place_of_a_localizer_only_when_asked_for_and_says_so():
    lines, nodes = start(map='test_room', localizer='truth')
    assert ('oomwoo_sim_support', 'truth_localizer') in executables(nodes)
    assert ('oomwoo_localization', 'scan_localizer') not in executables(nodes)
    assert lines[1].startswith('localizer: truth: ') and 'stand-in' in lines[1]


@pytest.mark.parametrize('given, told', [
    ({}, {}),
    ({'x_pose': '-2.6', 'y_pose': '-2.77'}, {'x_pose': -2.6, 'y_pose': -2.77, 'yaw': 0.0})])
def test_the_localizer_is_told_the_start_that_was_given_and_nothing_else(given, told):
    _, nodes = start(map='test_room', **given)
    localizer = next(node for node in nodes if node.node_executable == 'scan_localizer')
    parameters = {}
    for entry in localizer._Node__parameters:
        parameters |= {key[0].text: value for key, value in entry.items()}
    parameters.pop('use_sim_time')
    assert parameters == told


def test_with_nav2_installed_auto_takes_it_with_our_parameters(monkeypatch):
    monkeypatch.setattr(launch_choices, 'installed', lambda package: package.startswith('nav2_'))
    lines, nodes = start()
    assert lines[0] == 'nav: nav2 (auto)'
    assert executables(nodes) >= {
        ('nav2_controller', 'controller_server'), ('nav2_planner', 'planner_server'),
        ('nav2_bt_navigator', 'bt_navigator'), ('nav2_map_server', 'map_server'),
        ('nav2_lifecycle_manager', 'lifecycle_manager')}
    assert ('oomwoo_sim_support', 'embedded_navigator') not in executables(nodes)
    assert executables(start(nav='embedded')[1]) & {('oomwoo_sim_support', 'embedded_navigator')}


@pytest.mark.parametrize('argument, value, says', [
    ('nav', 'nav2', 'nav:=nav2: not installed: nav2_controller'),
    ('nav', 'move_base', 'nav:=move_base: is none of auto, nav2, embedded'),
    ('localizer', 'gps', 'localizer:=gps: is none of auto, slam_toolbox, scan, amcl, truth'),
    ('localizer', 'amcl', 'localizer:=amcl: not installed: nav2_amcl'),
    ('keepout_mask', 'test_room', 'the embedded navigator heeds neither'),
    ('bump_map', 'true', 'the embedded navigator heeds neither'),
    ('map', 'nowhere', 'map:=nowhere: no such file; oomwoo_sim_support has .*test_room.yaml'),
    ('use_sim_time', 'perhaps', 'use_sim_time:=perhaps: is neither true nor false'),
    ('x_pose', 'left', 'x_pose:=left: is not a number'),
])
def test_what_cannot_be_had_is_refused_by_argument_and_value(argument, value, says):
    with pytest.raises(LaunchError, match=says):
        start(**{argument: value})
