"""What ``auto`` takes, and that what cannot be had is said by argument and value."""
from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, GroupAction, OpaqueFunction
from launch_ros.actions import Node
from oomwoo_sim_support import launch_choices
from oomwoo_sim_support.launch_choices import (
    choose,
    described,
    find_file,
    given,
    is_true,
    LaunchError,
    number,
    OneProcess,
    runs,
    SuiteProcess,
    together,
)
import pytest
import yaml

WAYS = {'nav2': ('nav2_a', 'nav2_b'), 'embedded': ()}


def test_a_launch_file_is_its_arguments_and_one_function():
    arguments = (('map', 'house', 'map file'), ('yaw', '', 'heading [rad]'))
    seen = []

    def start(context):
        seen.append(given(arguments, context))
        return []

    context = LaunchContext()
    context.launch_configurations['yaw'] = ' 1.5 '
    entities = described(arguments, start).entities
    for entity in entities:
        entity.visit(context)
    assert seen == [{'map': 'house', 'yaw': '1.5'}]
    assert [(e.name, e.description) for e in entities if isinstance(e, DeclareLaunchArgument)] == [
        ('map', 'map file'), ('yaw', 'heading [rad]')]


@pytest.fixture(params=[(), ('nav2_a',), ('nav2_a', 'nav2_b')])
def there(request, monkeypatch):
    """Pretend that just these packages are installed."""
    monkeypatch.setattr(launch_choices, 'installed', lambda package: package in request.param)
    return request.param


def test_auto_takes_the_full_one_only_where_all_of_it_is_installed(there):
    value, line = choose('nav', 'auto', WAYS)
    assert value == ('nav2' if len(there) == 2 else 'embedded')
    assert line.startswith(f'nav: {value} (auto')
    assert ('nav2_a and 1 more' in line) == (there == ())
    assert '\n' not in line


def test_what_is_asked_for_by_name_is_taken_or_refused(there):
    assert choose('nav', 'embedded', WAYS) == ('embedded', 'nav: embedded')
    if len(there) == 2:
        assert choose('nav', 'nav2', WAYS)[0] == 'nav2'
    else:
        with pytest.raises(LaunchError, match='nav:=nav2: not installed: .*nav2_b'):
            choose('nav', 'nav2', WAYS)
    with pytest.raises(LaunchError, match='nav:=magic: is none of auto, nav2, embedded'):
        choose('nav', 'magic', WAYS)


def test_auto_with_nothing_installed_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(launch_choices, 'installed', lambda package: False)
    with pytest.raises(LaunchError, match='sim:=auto.*gazebo'):
        choose('sim', 'auto', {'gazebo': ('ros_gz_sim',)})


def test_booleans_and_numbers_are_named_when_they_are_none():
    assert is_true('headless', 'True') and not is_true('headless', ' false')
    with pytest.raises(LaunchError, match='headless:=maybe'):
        is_true('headless', 'maybe')
    assert number('yaw', '-1.5') == -1.5
    with pytest.raises(LaunchError, match='yaw:=north'):
        number('yaw', 'north')


def test_files_by_path_by_name_and_by_name_without_suffix(tmp_path, monkeypatch):
    monkeypatch.setattr(
        launch_choices, 'get_package_share_directory', lambda package: str(tmp_path))
    (tmp_path / 'maps').mkdir()
    there = tmp_path / 'maps' / 'house.yaml'
    there.write_text('x')
    for value in ('house', 'house.yaml', str(there)):
        assert find_file('map', value, 'some_package', 'maps', '.yaml') == str(there)
    for value in ('barn', ''):
        says = f'map:={value}: no such file; some_package has house.yaml'
        with pytest.raises(LaunchError, match=says):
            find_file('map', value, 'some_package', 'maps', '.yaml')


def test_nodes_in_one_process_keep_their_parameters_and_share_the_rest(tmp_path):
    mine = tmp_path / 'mine.yaml'
    mine.write_text('/**: {ros__parameters: {}}')
    tf = ('/tf', 'tf')
    process = OneProcess([
        SuiteProcess(
            package='oomwoo_clean', executable='contour_follower', namespace='upstairs',
            parameters=[{'autostart': False}, str(mine)], remappings=[tf], respawn=True),
        SuiteProcess(
            package='oomwoo_clean', executable='clean_manager', namespace='upstairs',
            parameters=[{'autostart': True, 'side': 'left'}, str(mine)], remappings=[tf])])
    context = LaunchContext()
    process._perform_substitutions(context)
    words = [''.join(part.perform(context) for part in word) for word in process.cmd[1:3]]
    assert words == ['oomwoo_clean/contour_follower', 'oomwoo_clean/clean_manager']
    files = [file for file, is_file in process._Node__expanded_parameter_arguments if is_file]
    assert [str(file) for file in files[1:]] == [str(mine)]
    with open(files[0], encoding='utf-8') as own:
        assert yaml.safe_load(own) == {
            '/upstairs/contour_follower': {'ros__parameters': {'autostart': False}},
            '/upstairs/clean_manager': {'ros__parameters': {'autostart': True, 'side': 'left'}}}
    assert process.expanded_remapping_rules == [tf]


def node(name, respawn=True):
    return SuiteProcess(package='oomwoo_clean', executable=name, respawn=respawn)


def test_nodes_below_are_gathered_and_those_after_are_not(monkeypatch):
    alone = []
    monkeypatch.setattr(Node, 'execute', lambda action, context: alone.append(action))
    first, second, other = node('bump_map'), node('clean_manager', respawn=False), node('recorder')
    foreign = Node(package='nav2_amcl', executable='amcl')
    below = GroupAction([OpaqueFunction(function=lambda context: [second])])
    context = LaunchContext()

    def visit(entity):
        for part in entity.visit(context) or ():
            visit(part)

    for action in (*together([first, foreign, below]), other):
        visit(action)
    assert alone[0] is foreign and alone[2] is other and len(alone) == 3
    process = alone[1]
    assert isinstance(process, OneProcess) and process.nodes == [first, second]
    assert runs(first)(process) and runs(other)(other) and not runs(other)(process)
    # It is started again only where that is wanted for each: a localizer has a start pose.
    assert not process.comes_back and OneProcess([first]).comes_back


def test_nothing_to_gather_starts_nothing(monkeypatch):
    context = LaunchContext()
    assert [action.visit(context) for action in together([])] == [None, []]
