"""
Every launch file of the workspace under the real launch system, with stubs for what it starts.

On a bare machine, where nothing of others is installed, and on a full one, where all of it is.
"""
import dataclasses
from functools import cache
import importlib
from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

import pytest
from stub_workspace import entry_points, OTHERS, PACKAGES, ROOT, StubWorkspace
from test_parameter_files import complaints, DECLARED, parameters
from test_rviz_files import documented as documented_topics
import yaml

FILES = sorted((path.parents[1].name, path.name)
               for path in ROOT.glob('oomwoo_*/launch/*.launch.py'))
NAMES = [f'{package}-{file}' for package, file in FILES]
KINDS = ('bare', 'full')
# What has the time of the world, and what does one thing and needs none.
WITHOUT_SIM_TIME = {
    'embedded_sim', 'gz', 'create', 'gazebo_services', 'spawn_obstacle', 'timeout'}
# Parameters that name a file to be written, or one whose name is completed.
WRITTEN = {'path', 'csv_path', 'output_dir', 'map_file_name', 'config_file'}
MANAGED = {
    'amcl', 'behavior_server', 'bt_navigator', 'controller_server', 'costmap_filter_info_server',
    'map_server', 'planner_server', 'velocity_smoother', 'async_slam_toolbox_node',
    'localization_slam_toolbox_node'}
MUX_PARAMETER = re.compile(r'use_stamped|(topics|locks)\.\w+\.(topic|timeout|priority)')
COSTMAPS = {'controller_server': 'local_costmap', 'planner_server': 'global_costmap'}
EMBEDDED = {'map_server', 'embedded_navigator'}
NAV2 = {
    'map_server', 'controller_server', 'planner_server', 'behavior_server', 'bt_navigator',
    'velocity_smoother', 'lifecycle_manager_navigation'}
GAZEBO = {
    'gz', 'create', 'robot_state_publisher', 'gazebo_bridge', 'gazebo_services',
    'bumper_adapter', 'command_expiry', 'scan_watch', 'battery_sim'}
COVERAGE = {'coverage_planner', 'coverage_meter'}
EDGES = {'bump_map', 'contour_follower', 'clean_manager'}
BARE_REFLEX, FULL_REFLEX = (
    {'escape_reflex', 'velocity_mux'}, {'escape_reflex', 'twist_mux'})
SCENE = {'map_server', 'scan_localizer'}
STRESS = {
    'localization_health', 'scan_filter', 'dynamic_object_detector', 'loc_err_slam'}
RECOVERY = {'localization_health', 'global_relocalizer', 'localization_manager'}
# file: (nodes on a bare machine, nodes on a full one)
STARTS = {
    'world': ({'embedded_sim', *BARE_REFLEX}, {*GAZEBO, *FULL_REFLEX}),
    'escape_reflex': (BARE_REFLEX, FULL_REFLEX),
    'nav': ({'scan_localizer', *EMBEDDED}, {'scan_localizer', *NAV2}),
    'navigation': ({'scan_localizer', *EMBEDDED}, {'scan_localizer', 'rviz2', *NAV2}),
    'slam': (set(), {'slam_toolbox', 'lifecycle_manager_slam_toolbox', 'rviz2'}),
    'save_map': ({'map_saver'}, {'map_saver', 'timeout'}),
    'contour_follow': ({'contour_follower'},) * 2,
    'edge_clean': (EDGES,) * 2,
    'wall_clean_bump_out': ({'wall_clean_bump_out', 'bump_map'},) * 2,
    'bump_map': ({'bump_map'},) * 2,
    'coverage': ({'coverage_planner'},) * 2,
    'cleaning': (
        {'scan_localizer', *EMBEDDED, *EDGES, *BARE_REFLEX},
        {'scan_localizer', *NAV2, *EDGES, *FULL_REFLEX}),
    'demo': (
        {'embedded_sim', 'scan_localizer', 'recorder', *EMBEDDED, *EDGES, *BARE_REFLEX},
        {'scan_localizer', 'recorder', *GAZEBO, *NAV2, *EDGES, *FULL_REFLEX}),
    'coverage_regression': (
        {'embedded_sim', 'scan_localizer', *EMBEDDED, *COVERAGE, *BARE_REFLEX},
        {'scan_localizer', *GAZEBO, *NAV2, *COVERAGE, *FULL_REFLEX}),
    'localization_relocalize': (
        {*SCENE, 'kidnap_injector'}, {*SCENE, 'kidnap_injector', 'rviz2'}),
    'localization_stress': ({*SCENE, *STRESS}, {*SCENE, *STRESS, 'rviz2'}),
    'localization_compare': (
        {*SCENE, 'loc_err_slam'},
        {*SCENE, 'loc_err_slam', 'loc_err_amcl', 'amcl', 'lifecycle_manager_amcl', 'rviz2'}),
    'localization_recovery': (RECOVERY,) * 2,
    'reloc_eval': ({'reloc_eval', 'global_relocalizer'},) * 2,
    'spawn_obstacle': ({'spawn_obstacle'},) * 2,
    'robot_description': (set(), {'robot_state_publisher'}),
    'dock_sim': ({'dock_detector', 'dock_drive'},) * 2,
    'physical': (set(), {
        'robot_state_publisher', 'micro_ros_agent', *FULL_REFLEX, 'command_guard', 'lidar_driver',
        'ekf_filter_node', 'analyzers'}),
}
FOLLOW_UP = {('save_map.launch.py', 'full'): 1}


@pytest.fixture(scope='module')
def machines(tmp_path_factory):
    """Return a function (kind, package, file, *arguments) -> Run, each launched once."""
    there = {
        'bare': StubWorkspace(tmp_path_factory.mktemp('bare')),
        'full': StubWorkspace(tmp_path_factory.mktemp('full'), [*OTHERS, 'ros_gz_sim'])}

    @cache
    def run(kind, package, file, *arguments):
        return there[kind].run(package, file, arguments, FOLLOW_UP.get((file, kind), 0))

    run.there = there
    return run


@cache
def declared_by(package, executable):
    """Return names that contain all parameters which a node of the workspace declares."""
    module = importlib.import_module(entry_points(package)[executable])
    names = {'use_sim_time'}
    for value in vars(module).values():
        if dataclasses.is_dataclass(value):
            names |= {f.name for f in dataclasses.fields(value) if 'live' in f.metadata}
    # What is declared one by one stands in the module, in quotes.
    return names | set(re.findall(r"'(\w+)'", Path(module.__file__).read_text(encoding='utf-8')))


def wrong_parameters(process):
    """Return what is wrong with the parameters of a process of Nav2 or slam_toolbox."""
    names = [f'/{process.name}']
    if process.executable in COSTMAPS:
        costmap = COSTMAPS[process.executable]
        names.append(f'/{costmap}/{costmap}')
    wrong, used, all_of_it = [], set(), set()
    for name in names:
        listed = re.sub(r'/lifecycle_manager_.*', '/lifecycle_manager_navigation', name)
        values = process.parameters(name)
        all_of_it |= set(values)
        for_all = {key for content in process.parameter_files
                   for key in (content.get('/**') or {}).get('ros__parameters', ())}
        mine = {key: value for key, value in values.items()
                if key not in for_all or key in DECLARED.get(listed, values)
                or key.split('.')[0] in str(values.get('plugins', '')) + str(
                    values.get('filters', ''))}
        used |= set(mine)
        wrong += complaints(listed, mine)
    return wrong + [f'{key}: no node of {process.executable} has it'
                    for key in sorted(all_of_it - used)]


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('package, file', FILES, ids=NAMES)
def test_it_starts_nodes_that_exist_with_what_they_know(machines, package, file, kind):
    run = machines(kind, package, file)
    if run.errors:
        # Refused: in one line that says what to install, and nothing has started.
        assert kind == 'bare' and len(run.errors) == 1 and 'install' in run.errors[0], run.errors
        assert run.started == []
        return
    assert run.started or run.lines
    for process in run.nodes().values():
        if process.package.startswith('oomwoo_'):
            known = declared_by(process.package, process.executable)
            # The file of the mux is for all nodes, so those that share its process get it, too.
            given = {name for name in process.parameters() if not MUX_PARAMETER.fullmatch(name)}
            assert given <= known, process.name
        elif process.package.startswith(('nav2_', 'slam_toolbox')):
            assert wrong_parameters(process) == []
        for name, value in process.parameters().items():
            if name not in WRITTEN and isinstance(value, str) and value.startswith('/') and (
                    Path(value).suffix):
                assert Path(value).is_file(), f'{process.name}: {name}: {value}'
        if process.executable == 'rviz2':
            assert Path(process.arguments[process.arguments.index('-d') + 1]).is_file()


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('file', STARTS)
def test_it_starts_just_these(machines, file, kind):
    package = next(p for p, name in FILES if name == f'{file}.launch.py')
    run = machines(kind, package, f'{file}.launch.py')
    assert set(run.nodes()) == STARTS[file][KINDS.index(kind)], run.lines + run.errors


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('package, file', FILES, ids=NAMES)
def test_topics_are_renamed_only_to_documented_ones(machines, package, file, kind):
    topics = {*documented_topics(), 'tf', 'tf_static'}
    for process in machines(kind, package, file).started:
        for to in process.remappings.values():
            assert to.removeprefix('/') in topics, f'{process.name}: {process.remappings}'


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('package, file', FILES, ids=NAMES)
def test_all_have_one_time(machines, package, file, kind):
    if 'use_sim_time' not in machines.there[kind].arguments_of(package, file):
        return
    for process in machines(kind, package, file, 'use_sim_time:=true').started:
        if process.executable not in WITHOUT_SIM_TIME and process.name not in WITHOUT_SIM_TIME:
            assert process.parameters()['use_sim_time'] is True, process.name
            if process.executable in COSTMAPS:
                costmap = COSTMAPS[process.executable]
                assert process.parameters(f'/{costmap}/{costmap}')['use_sim_time'] is True


@pytest.mark.parametrize('package, file', FILES, ids=NAMES)
def test_arguments_are_described_and_have_defaults(machines, package, file):
    arguments = machines.there['bare'].arguments_of(package, file)
    for name, argument in arguments.items():
        assert argument.default_value is not None, name
        assert len(argument.description) >= 8 and 'No description' not in argument.description


@pytest.mark.parametrize('package, file', FILES, ids=NAMES)
def test_a_namespace_takes_all_of_it_along(machines, package, file):
    if 'namespace' not in machines.there['bare'].arguments_of(package, file):
        return
    for process in machines('bare', package, file, 'namespace:=upstairs').started:
        assert process.namespace == 'upstairs', process.name
        uses_tf = process.executable not in {
            'contour_follower', 'clean_manager', 'spawn_obstacle', 'dock_detector', 'dock_drive',
            'localization_error'}
        if uses_tf:
            assert process.remappings.items() >= {'/tf': 'tf', '/tf_static': 'tf_static'}.items()


@pytest.mark.parametrize('package, file', FILES, ids=NAMES)
def test_every_lifecycle_node_has_a_manager(machines, package, file):
    nodes = machines('full', package, file).nodes()
    managed = [name for process in nodes.values() if process.executable == 'lifecycle_manager'
               for name in process.parameters()['node_names']]
    wanted = [name for name, process in nodes.items()
              if process.executable in MANAGED and not process.package.startswith('oomwoo_')]
    assert sorted(managed) == sorted(wanted)
    for process in nodes.values():
        if process.executable == 'lifecycle_manager':
            assert process.parameters()['autostart'] is True
            assert process.parameters()['bond_timeout'] >= 10.0     # stock: 4 s


def test_a_localizer_gets_its_own_parameters_and_the_start_pose(machines, tmp_path):
    for suffix in ('.yaml', '.pgm'):
        source = ROOT / 'oomwoo_sim_support' / 'maps' / f'living_room{suffix}'
        (tmp_path / source.name).write_bytes(source.read_bytes())
    (tmp_path / 'living_room.posegraph').touch()
    home = f'map:={tmp_path}/living_room.yaml'

    def start(*arguments):
        return machines('full', 'oomwoo_bringup', 'navigation.launch.py', home, *arguments)

    run = start('use_sim_time:=true')
    slam = run.nodes()['slam_toolbox']
    assert slam.executable == 'localization_slam_toolbox_node'
    values = slam.parameters()
    assert values['map_file_name'] == f'{tmp_path}/living_room'
    assert values['map_start_pose'] == [0.32, 1.59, 0.0]
    assert values['minimum_travel_heading'] == 0.0 and values['mode'] == 'localization'
    assert slam.remappings['/map'] == 'slam_map'
    assert 'localizer: slam_toolbox (auto)' in '\n'.join(run.lines)

    amcl = start('use_sim_time:=true', 'localizer:=amcl', 'yaw:=1.5').nodes()['amcl'].parameters()
    assert amcl['set_initial_pose'] is True and amcl['sigma_hit'] == 0.05
    assert [amcl[f'initial_pose.{k}'] for k in ('x', 'y', 'yaw')] == [0.0, 0.0, 1.5]
    # Whose robot is real has to say where it is.
    run = start('localizer:=amcl', 'nav_params:=/elsewhere/config/navigation_loose.yaml')
    amcl = run.nodes()['amcl'].parameters()
    assert amcl['set_initial_pose'] is False and amcl['sigma_hit'] == 0.2
    assert 'initial_pose.x' not in amcl and amcl['use_sim_time'] is False
    assert any('start: not known' in line for line in run.lines)
    assert any('navigation_loose.yaml is not there; takes' in line for line in run.lines)


def test_an_included_file_gets_its_own_arguments_and_no_others(machines):
    # localization_recovery has a map of its own, which the scene's is not meant for.
    run = machines(
        'bare', 'oomwoo_sim_support', 'localization_relocalize.launch.py', 'auto_recovery:=true',
        'map:=/ros_ws/src/oomwoo_gazebo/maps/living_room.yaml')
    nodes = run.nodes()
    assert set(nodes) == {*SCENE, *RECOVERY, 'kidnap_injector'}
    assert nodes['localization_health'].parameters()['yaml_filename'] == ''
    assert Path(nodes['map_server'].parameters()['yaml_filename']).is_file()
    # The world's empty params_file is not Nav2's.
    demo = machines('full', 'oomwoo_clean', 'demo.launch.py').nodes()
    assert demo['controller_server'].parameters()['FollowPath.lookahead_dist'] == 0.4


def test_nav2_drives_through_the_smoother_with_the_robots_own_tree(machines):
    nodes = machines('full', 'oomwoo_bringup', 'navigation.launch.py').nodes()
    for name in ('controller_server', 'behavior_server'):
        assert nodes[name].remappings == {'cmd_vel': 'cmd_vel_nav'}
    assert nodes['velocity_smoother'].remappings == {
        'cmd_vel': 'cmd_vel_nav', 'cmd_vel_smoothed': 'cmd_vel'}
    tree = nodes['bt_navigator'].parameters()['default_nav_to_pose_bt_xml']
    assert tree.endswith('/behavior_trees/navigate_contact_tolerant.xml')
    assert nodes['controller_server'].parameters()['FollowPath.use_collision_detection'] is False
    for node, costmap in COSTMAPS.items():
        values = nodes[node].parameters(f'/{costmap}/{costmap}')
        assert values['keepout_filter.enabled'] is False and 'bump_layer' not in values['plugins']
    assert nodes['map_server'].parameters()['yaml_filename'].endswith('/maps/living_room.yaml')


@pytest.mark.parametrize('package, file, arguments', [
    ('oomwoo_clean', 'nav.launch.py', [
        'localizer:=amcl', 'bump_map:=true', 'keepout_mask:=test_room']),
    ('oomwoo_bringup', 'slam.launch.py', ['rviz:=false']),
])
def test_nav2_and_slam_toolbox_move_into_a_namespace(machines, package, file, arguments):
    plain = machines('full', package, file, *arguments).nodes()
    moved = machines('full', package, file, *arguments, 'namespace:=upstairs').nodes()
    assert set(moved) == {f'upstairs/{name}' for name in plain}
    for name, process in plain.items():
        there = moved[f'upstairs/{name}']
        assert there.remappings.items() >= {'/tf': 'tf', '/tf_static': 'tf_static'}.items()
        for node in (f'/{name}', *(
                [f'/{COSTMAPS[name]}/{COSTMAPS[name]}'] if name in COSTMAPS else [])):
            before, after = process.parameters(node), there.parameters(f'/upstairs{node}')
            assert set(before) == set(after) and len(before) > 1
            for key, value in before.items():
                topic = isinstance(value, str) and value.startswith('/') and (
                    not Path(value).is_file())
                assert after[key] == (f'/upstairs{value}' if topic else value), key
    if 'controller_server' in plain:
        costmap = moved['upstairs/controller_server'].parameters(
            '/upstairs/local_costmap/local_costmap')
        assert costmap['bump_layer.map_topic'] == '/upstairs/bump_map'
        assert costmap['keepout_filter.enabled'] is True


@pytest.mark.parametrize('file', ['navigation.launch.py', 'monitor_robot.launch.py'])
def test_rviz_looks_into_the_namespace(machines, file):
    run = machines.there['full'].run('oomwoo_bringup', file, ['namespace:=upstairs'])
    process = run.nodes()['upstairs/rviz2']
    config = Path(process.arguments[process.arguments.index('-d') + 1])
    manager = yaml.safe_load(config.read_text(encoding='utf-8'))['Visualization Manager']
    topics = [display[key]['Value'] for display in manager['Displays']
              for key in ('Topic', 'Update Topic', 'Description Topic') if key in display]
    assert len(topics) > 3 and all(topic.startswith('/upstairs/') for topic in topics)
    assert manager['Global Options']['Fixed Frame'] in ('map', 'odom')
    assert process.remappings == {'/tf': 'tf', '/tf_static': 'tf_static'}


def test_bumps_and_zones_are_switched_on_by_argument(machines):
    run = machines(
        'full', 'oomwoo_clean', 'nav.launch.py', 'bump_map:=true', 'keepout_mask:=test_room')
    nodes = run.nodes()
    assert set(nodes) == {
        'scan_localizer', *NAV2, 'keepout_mask_server', 'keepout_info_server'}
    for node, costmap in COSTMAPS.items():
        values = nodes[node].parameters(f'/{costmap}/{costmap}')
        assert values['keepout_filter.enabled'] is True and 'bump_layer' in values['plugins']
        assert values['bump_layer.map_topic'] == '/bump_map'
    mask = nodes['keepout_mask_server']
    assert mask.executable == 'map_server'
    assert mask.parameters()['yaml_filename'].endswith('/maps/test_room.yaml')
    assert mask.parameters()['topic_name'] == 'keepout_mask'
    assert nodes['keepout_info_server'].parameters()['mask_topic'] == '/keepout_mask'
    order = nodes['lifecycle_manager_navigation'].parameters()['node_names']
    assert order.index('keepout_mask_server') < order.index('controller_server')
    assert all(wrong_parameters(process) == [] for process in run.started
               if process.package.startswith('nav2_'))


def test_the_pose_graph_is_saved_beside_the_map(machines, tmp_path):
    run = machines.there['full'].run(
        'oomwoo_bringup', 'save_map.launch.py', [f'map:={tmp_path}/home.yaml'], more=1)
    nodes = run.nodes()
    assert nodes['map_saver'].parameters()['path'] == f'{tmp_path}/home'
    assert nodes['timeout'].argv == [
        '10.0', 'ros2', 'service', 'call', '/slam_toolbox/serialize_map',
        'slam_toolbox/srv/SerializePoseGraph', f'{{filename: "{tmp_path}/home"}}']
    only = machines(
        'full', 'oomwoo_bringup', 'save_map.launch.py', 'serialize:=false', 'map:=a.v2')
    assert set(only.nodes()) == {'map_saver'}
    assert only.nodes()['map_saver'].parameters()['path'].endswith('/home/a.v2')


@pytest.mark.parametrize('package, file, argument, says', [
    ('oomwoo_bringup', 'slam.launch.py', 'rviz:=true', 'ros-jazzy-slam-toolbox'),
    ('oomwoo_bringup', 'navigation.launch.py', 'nav:=nav2', 'not installed: nav2_controller'),
    ('oomwoo_bringup', 'navigation.launch.py', 'localizer:=amcl', 'not installed: nav2_amcl'),
    ('oomwoo_bringup', 'navigation.launch.py', 'map:=nowhere', 'map:=nowhere: no such file'),
    ('oomwoo_bringup', 'save_map.launch.py', 'map:=/nowhere/at/all', 'no file in a folder'),
    ('oomwoo_bringup', 'save_map.launch.py', 'serialize:=true', 'not installed: slam_toolbox'),
    ('oomwoo_clean', 'edge_clean.launch.py', 'autostart:=perhaps', 'neither true nor false'),
    ('oomwoo_gazebo', 'world.launch.py', 'sim:=gazebo', 'not installed: ros_gz_sim'),
])
def test_what_a_bare_machine_has_not_is_refused_in_one_line(
        machines, package, file, argument, says):
    run = machines('bare', package, file, argument)
    assert run.started == [] and len(run.errors) == 1
    assert says in run.errors[0]


def test_whatever_is_started_or_shown_is_a_dependency(machines):
    declared = {
        element.text for path in ROOT.glob('oomwoo_*/package.xml')
        for element in ElementTree.parse(path).getroot()
        if element.tag in ('exec_depend', 'depend')}
    started = {process.package for package, file in FILES
               for process in machines('full', package, file).started} - {'timeout'}
    plugins = {
        display.split('/')[0] for path in (ROOT / 'oomwoo_bringup' / 'rviz').glob('*.rviz')
        for display in re.findall(r'Class: (\w+/.+)', path.read_text(encoding='utf-8'))}
    nav2 = {value.split('::')[0] for values in parameters('nav2_params.yaml').values()
            for name, value in values.items() if name.endswith('plugin')}
    # Built from source: it is not among ROS's packages (docs/robot.md).
    wanted = (started - {'micro_ros_agent'}) | (plugins - {'rviz_common'}) | nav2
    assert wanted - {*PACKAGES} <= declared
    assert {'nav2_navfn_planner', 'slam_toolbox', 'nav2_rviz_plugins'} <= wanted


def test_the_harness_sees_what_is_missing(tmp_path):
    machine = StubWorkspace(tmp_path)
    machine.add('pretender', 'something', share=tmp_path / 'pretender')
    launch_folder = tmp_path / 'pretender' / 'launch'
    launch_folder.mkdir(parents=True)
    (launch_folder / 'a.launch.py').write_text(
        'from launch import LaunchDescription\n'
        'from launch_ros.actions import Node\n'
        'def generate_launch_description():\n'
        "    return LaunchDescription([Node(package='pretender', executable='nothing')])\n")
    run = machine.run('pretender', 'a.launch.py')
    assert run.started == [] and "executable 'nothing' not found" in run.errors[0]


@pytest.mark.parametrize('namespace', ['', 'upstairs'])
@pytest.mark.parametrize('package, file', [
    ('oomwoo_clean', 'nav.launch.py'), ('oomwoo_clean', 'edge_clean.launch.py'),
    ('oomwoo_clean', 'escape_reflex.launch.py'), ('oomwoo_clean', 'cleaning.launch.py')])
def test_composed_nodes_are_the_same_nodes_with_the_same_parameters(
        machines, package, file, namespace):
    common = ['x_pose:=1.0'] if file in ('nav.launch.py', 'cleaning.launch.py') else []
    common += [f'namespace:={namespace}'] if namespace else []
    apart = machines('bare', package, file, *common, 'compose:=false').nodes()
    process, = machines('bare', package, file, *common, 'compose:=true').processes
    assert (process.package, process.executable) == ('oomwoo_localization', 'compose')
    assert set(process.arguments) == {f'{p.package}/{p.executable}' for p in apart.values()}
    assert process.namespace == namespace
    for name, alone in apart.items():
        given, together = alone.parameters(), process.parameters(f'/{name}')
        # A file for all nodes of the process is for each of them.
        assert given.items() <= together.items() and 'use_sim_time' in given
        assert alone.remappings.items() <= process.remappings.items()


def test_what_is_not_of_the_suite_stays_in_a_process_of_its_own(machines):
    """With all installed, Nav2 and twist_mux drive beside the suite's process."""
    processes = machines('full', 'oomwoo_clean', 'cleaning.launch.py').processes
    composed = [process for process in processes if process.executable == 'compose']
    assert [{part.name for part in process.parts()} for process in composed] == [
        {'escape_reflex', 'scan_localizer', *EDGES}]
    assert {process.name for process in processes if process not in composed} == {
        'twist_mux', *NAV2}


@pytest.mark.parametrize('package, file, argument, there', [
    ('oomwoo_gazebo', 'world.launch.py', 'reflex:=elsewhere', 'embedded_sim'),
    ('oomwoo_bringup', 'physical.launch.py', 'twist_mux:=elsewhere', 'command_guard')])
def test_who_may_drive_can_be_decided_by_another_launch_file(
        machines, package, file, argument, there):
    """The base then hears what cleaning.launch.py lets through."""
    kind = 'full' if file == 'physical.launch.py' else 'bare'
    nodes = machines(kind, package, file, argument).nodes()
    assert not set(nodes) & {*BARE_REFLEX, *FULL_REFLEX}
    base = nodes[there].remappings.get('cmd_vel', 'cmd_vel_mux')
    decided = machines('bare', 'oomwoo_clean', 'cleaning.launch.py').nodes()['velocity_mux']
    assert base == decided.remappings['cmd_vel_out'] == 'cmd_vel_mux'
    assert 'cmd_vel_mux' not in nodes[there].remappings
