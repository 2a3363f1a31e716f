"""Parameter files for Nav2 and slam_toolbox: every key is declared, with the type it has."""
from pathlib import Path
import xml.etree.ElementTree as ElementTree

from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.localization_scene import for_all_nodes
import pytest
import rclpy
import yaml

PACKAGE = Path(__file__).resolve().parents[1]
DATA = PACKAGE / 'test' / 'data'
FILES = sorted(
    path.name for pattern in ('nav*.yaml', 'slam*.yaml')
    for path in (PACKAGE / 'config').glob(pattern))
TREE = PACKAGE / 'behavior_trees' / 'navigate_contact_tolerant.xml'
UPON = {
    'nav2_bump_map.yaml': 'nav2_params.yaml', 'nav2_collision_averse.yaml': 'nav2_params.yaml'}
# Nodes that are called otherwise than the server in the lists.
ALIASES = {
    '/keepout_mask_server': '/map_server', '/keepout_info_server': '/costmap_filter_info_server'}
# Where in the lists an instance of the class is: node and the instance's name.
INSTANCES = {
    'nav2_regulated_pure_pursuit_controller::RegulatedPurePursuitController':
        ('/controller_server', 'RPP'),
    'nav2_controller::SimpleGoalChecker': ('/controller_server', 'general_goal_checker'),
    'nav2_navfn_planner::NavfnPlanner': ('/planner_server', 'GridBased'),
    'nav2_behaviors::Wait': ('/behavior_server', 'wait'),
    'nav2_bt_navigator::NavigateToPoseNavigator': ('/bt_navigator', 'navigate_to_pose'),
    'nav2_costmap_2d::StaticLayer': ('/global_costmap/global_costmap', 'static_layer'),
    'nav2_costmap_2d::ObstacleLayer': ('/global_costmap/global_costmap', 'obstacle_layer'),
    'nav2_costmap_2d::InflationLayer': ('/global_costmap/global_costmap', 'inflation_layer'),
    'nav2_costmap_2d::KeepoutFilter': ('/local_costmap/local_costmap', 'keepout_filter'),
}
LISTS_OF_INSTANCES = (
    'plugins', 'filters', 'navigators', 'controller_plugins', 'goal_checker_plugins',
    'progress_checker_plugins', 'planner_plugins', 'behavior_plugins')
TYPES = {bool: 'bool', int: 'integer', float: 'double', str: 'string'}


def load(name):
    """Return a YAML file of the test data."""
    return yaml.safe_load((DATA / name).read_text(encoding='utf-8'))


MORE = load('declared_nav2_1.3.13_sources.yaml')
DECLARED = {
    **load('declared_nav2_1.3.13.yaml'), **load('declared_slam_toolbox_2.7.0.yaml'),
    **MORE['servers']}


def flat(mapping, prefix=''):
    """Return ``{dotted name: value}`` of nested mappings."""
    found = {}
    for key, value in mapping.items():
        if isinstance(value, dict):
            found |= flat(value, f'{prefix}{key}.')
        else:
            found[prefix + key] = value
    return found


def nodes(tree, name=''):
    """Return ``{node: {dotted parameter: value}}`` of a parameter file."""
    found = {}
    for key, value in tree.items():
        if key == 'ros__parameters':
            found[name] = flat(value)
        else:
            found |= nodes(value, f'{name}/{key}')
    return found


def parameters(file):
    """
    Return ``{node: {dotted parameter: value}}`` of a file of ``config``.

    Of one that comes upon another: what the nodes that it speaks of have of both.
    """
    found = nodes(yaml.safe_load((PACKAGE / 'config' / file).read_text(encoding='utf-8')))
    if file in UPON:
        below = parameters(UPON[file])
        found = {node: below[node] | values for node, values in found.items()}
    return found


def type_of(value):
    """Return the ROS name of a value's type."""
    if isinstance(value, list):
        kinds = {TYPES[type(item)] for item in value}
        return f'{kinds.pop()}[]' if len(kinds) == 1 else f'mixed {sorted(kinds)}'
    return TYPES[type(value)]


def complaints(node, values):
    """Return what is wrong with a node's parameters: unknown names, classes and types."""
    known = DECLARED.get(ALIASES.get(node, node))
    if known is None:
        return [f'{node}: no server is called so']
    classes = {name.removesuffix('.plugin'): value for name, value in values.items()
               if name.endswith('.plugin')}
    wrong = [f'{node}: {name} is listed in {list_name} and has no plugin'
             for list_name in LISTS_OF_INSTANCES for name in values.get(list_name, ())
             if name not in classes]
    wrong += [f'{node}: {name} is in no list' for name in classes
              if not any(name in values.get(list_name, ()) for list_name in LISTS_OF_INSTANCES)]
    for name, value in values.items():
        instance, _, rest = name.partition('.')
        plugin = classes.get(instance)
        if not rest or plugin is None:
            wanted = known.get(name)
        elif plugin in MORE['plugins']:
            wanted = MORE['plugins'][plugin].get(rest)
        elif plugin in INSTANCES:
            there, called = INSTANCES[plugin]
            wanted = DECLARED[there].get(f'{called}.{rest}')
        else:
            wrong.append(f'{node}: {name}: no plugin class {plugin}')
            continue
        if wanted is None:
            wrong.append(f'{node}: {name} is not declared')
        elif wanted != type_of(value):
            wrong.append(f'{node}: {name} is {type_of(value)}, declared as {wanted}')
    return wrong


@pytest.mark.parametrize('file', FILES)
def test_every_parameter_is_one_that_its_server_declares(file):
    found = parameters(file)
    assert found
    assert [line for node, values in found.items() for line in complaints(node, values)] == []


@pytest.mark.parametrize('node, name, value, says', [
    ('/controller_server', 'FollowPath.lookahead', 0.4, 'FollowPath.lookahead is not declared'),
    ('/controller_server', 'FollowPath.lookahead_dist', 1, 'is integer, declared as double'),
    ('/controller_server', 'goal_checker.plugin', 'nav2::Checker', 'no plugin class nav2::Check'),
    ('/controller_server', 'controller_plugins', ['FollowPath', 'RPP'], 'RPP is listed'),
    ('/controller_server', 'critic.plugin', 'nav2_controller::SimpleGoalChecker', 'in no list'),
    ('/velocity_smoother', 'max_velocity', [0.3, 0, 2.55], r"is mixed \['double', 'integer'\]"),
    ('/local_costmap/local_costmap', 'inflation_radius', 0.1, 'inflation_radius is not declared'),
    ('/controller', 'use_sim_time', True, 'no server is called so'),
])
def test_the_check_notices_what_ros_would_not_say(node, name, value, says):
    values = {**parameters('nav2_params.yaml').get(node, {}), name: value}
    with pytest.raises(AssertionError, match=says):
        assert not complaints(node, values), '\n'.join(complaints(node, values))


def test_sizes_and_limits_are_those_of_the_robot():
    robot = load_robot()
    found = parameters('nav2_params.yaml')
    for costmap in ('global_costmap', 'local_costmap'):
        assert found[f'/{costmap}/{costmap}']['robot_radius'] == robot.body.radius
    smoother, limits = found['/velocity_smoother'], robot.limits
    fastest = [limits.linear_speed, 0.0, limits.angular_speed]
    assert smoother['max_velocity'] == fastest
    assert smoother['min_velocity'] == [-v for v in fastest]
    turn = 2.0 * limits.linear_acceleration / robot.wheels.track
    assert smoother['max_accel'] == pytest.approx(
        [limits.linear_acceleration, 0.0, turn], abs=0.02)
    assert smoother['max_decel'] == [-a for a in smoother['max_accel']]
    assert smoother['velocity_timeout'] == limits.command_timeout
    follow = found['/controller_server']
    assert follow['FollowPath.desired_linear_vel'] < limits.linear_speed
    assert follow['FollowPath.max_angular_accel'] < turn
    for file in FILES:
        for values in parameters(file).values():
            for name in ('max_laser_range', 'laser_max_range'):
                assert values.get(name, robot.lidar.range_max) == robot.lidar.range_max


def test_frames_are_those_of_the_suite_and_time_is_everywhere():
    wanted = {
        'global_frame': 'map', 'global_frame_id': 'map', 'map_frame': 'map', 'frame_id': 'map',
        'local_frame': 'odom', 'odom_frame': 'odom', 'odom_frame_id': 'odom',
        'robot_base_frame': 'base_footprint', 'base_frame': 'base_footprint',
        'base_frame_id': 'base_footprint'}
    for file in FILES:
        for node, values in parameters(file).items():
            assert values['use_sim_time'] is True, node
            for name, frame in wanted.items():
                if node == '/local_costmap/local_costmap' and name == 'global_frame':
                    frame = 'odom'
                assert values.get(name, frame) == frame, (file, node, name)


def test_nav2_may_touch_and_leaves_the_bumper_alone():
    found = parameters('nav2_params.yaml')
    follow = found['/controller_server']
    assert follow['FollowPath.plugin'].endswith('::RegulatedPurePursuitController')
    assert follow['FollowPath.use_collision_detection'] is False
    assert follow['FollowPath.use_cost_regulated_linear_velocity_scaling'] is False
    assert follow['FollowPath.lookahead_dist'] == 0.4
    assert follow['FollowPath.use_velocity_scaled_lookahead_dist'] is False
    assert follow['goal_checker.xy_goal_tolerance'] == 0.15
    assert not {'spin', 'backup'} & set(found['/behavior_server']['behavior_plugins'])
    assert found['/bt_navigator']['navigators'] == ['navigate_to_pose']


def test_nav2_gives_a_busy_machine_and_a_slow_person_time():
    """Stock, a server that answers after 20 ms has failed; without a pose for 60 s, all has."""
    found = parameters('nav2_params.yaml')
    navigator = found['/bt_navigator']
    assert navigator['default_server_timeout'] >= 500           # ms
    assert navigator['wait_for_service_timeout'] >= 5000        # ms
    follow = found['/controller_server']
    assert follow['FollowPath.transform_tolerance'] >= 3.0 / load_robot().lidar.rate
    for costmap, server in (
            ('/global_costmap/global_costmap', found['/planner_server']),
            ('/local_costmap/local_costmap', follow)):
        assert found[costmap]['initial_transform_timeout'] >= 3600.0
        assert server['costmap_update_timeout'] >= 4.0 / found[costmap]['update_frequency']


@pytest.mark.parametrize('file', ['nav2_params.yaml', 'nav2_bump_map.yaml'])
def test_costmaps_inflate_little_and_heed_zones(file):
    info = parameters('nav2_params.yaml')['/keepout_info_server']
    mask = parameters('nav2_params.yaml')['/keepout_mask_server']
    for costmap in ('/global_costmap/global_costmap', '/local_costmap/local_costmap'):
        values = parameters(file)[costmap]
        assert values['inflation_layer.inflation_radius'] == 0.10
        assert values['plugins'][-1] == 'inflation_layer'
        assert values['filters'] == ['keepout_filter']
        assert values['keepout_filter.enabled'] is False
        assert values['keepout_filter.filter_info_topic'] == f'/{info["filter_info_topic"]}'
        assert info['mask_topic'] == f'/{mask["topic_name"]}'


def test_the_bump_map_is_a_layer_that_neither_wipes_out_the_map_nor_is_there_unasked():
    for costmap in ('/global_costmap/global_costmap', '/local_costmap/local_costmap'):
        without = parameters('nav2_params.yaml')[costmap]
        # Without a bump map it would hold up every plan, and with one of another size resize all.
        assert not any('bump' in name for name in (*without, *without['plugins']))
        values = parameters('nav2_bump_map.yaml')[costmap]
        assert [name for name in values['plugins'] if name != 'bump_layer'] == without['plugins']
        assert values['plugins'][-2:] == ['bump_layer', 'inflation_layer']
        assert values['use_maximum'] is True
        assert values['bump_layer.map_topic'] == '/bump_map'
    # The rolling window writes an unknown cell as the highest cost of all.
    assert values['track_unknown_space'] is False


def test_ros_itself_lays_the_bump_map_upon_the_rest():
    """By rcl's own reading of the files: lists replaced, the rest kept, and "/**" after them."""
    files = [str(PACKAGE / 'config' / name) for name in (
        'nav2_params.yaml', 'nav2_bump_map.yaml')]
    files.append(for_all_nodes({'keepout_filter.enabled': True}))
    context = rclpy.Context()
    rclpy.init(context=context, args=[
        '--ros-args', *(word for file in files for word in ('--params-file', file))])
    try:
        node = rclpy.create_node(
            'global_costmap', namespace='/global_costmap', context=context,
            automatically_declare_parameters_from_overrides=True)
        values = {name: node.get_parameter(name).value for name in (
            'plugins', 'bump_layer.map_topic', 'static_layer.plugin', 'robot_radius',
            'keepout_filter.enabled')}
        node.destroy_node()
    finally:
        context.shutdown()
    assert values == {
        'plugins': ['static_layer', 'obstacle_layer', 'bump_layer', 'inflation_layer'],
        'bump_layer.map_topic': '/bump_map',
        'static_layer.plugin': 'nav2_costmap_2d::StaticLayer', 'robot_radius': 0.1745,
        'keepout_filter.enabled': True}


def test_the_behaviour_tree_calls_only_servers_that_run():
    root = ElementTree.parse(TREE).getroot()
    found = parameters('nav2_params.yaml')
    actions = {
        'compute_path_to_pose', 'follow_path', *found['/behavior_server']['behavior_plugins']}
    tree = root.find('BehaviorTree')
    assert root.get('main_tree_to_execute') == tree.get('ID')
    called = set()
    children = {'RecoveryNode': 2, 'RateController': 1}
    for node in list(tree.iter())[1:]:
        assert len(node) == children.get(node.tag, len(node)), node.get('name')
        facts = MORE['tree_nodes'][node.tag]
        assert set(node.attrib) - {'name'} <= set(facts['ports']), node.tag
        called |= {facts['action']} if 'action' in facts else set()
        service = node.get('service_name')
        if service:
            costmap = service.split('/')[0]
            assert service == f'{costmap}/clear_entirely_{costmap}'
            assert f'/{costmap}/{costmap}' in found
    assert called == actions
    follow = found['/controller_server']['controller_plugins']
    assert [n.get('controller_id') for n in tree.iter('FollowPath')] == follow
    planners = found['/planner_server']['planner_plugins']
    assert [n.get('planner_id') for n in tree.iter('ComputePathToPose')] == planners


def test_slam_toolbox_matches_every_scan_while_localizing():
    values = parameters('slam_toolbox_localization.yaml')['/slam_toolbox']
    assert values['mode'] == 'localization' and values['use_lifecycle_manager'] is True
    assert values['minimum_time_interval'] <= 0.5 / load_robot().lidar.rate
    assert values['minimum_travel_distance'] == values['minimum_travel_heading'] == 0.0
    mapping = parameters('slam_toolbox_mapping.yaml')['/slam_toolbox']
    assert mapping['mode'] == 'mapping' and mapping['use_lifecycle_manager'] is True
    assert mapping['minimum_travel_distance'] > 0.0


def test_amcl_loose_and_tight_differ_in_how_much_they_believe_the_scan():
    loose = parameters('navigation_loose.yaml')['/amcl']
    tight = parameters('navigation_tight.yaml')['/amcl']
    assert set(loose) == set(tight)
    for name in ('sigma_hit', 'z_rand', 'update_min_d', 'update_min_a', 'alpha1'):
        assert tight[name] < loose[name], name
    for name in ('z_hit', 'max_beams', 'max_particles'):
        assert tight[name] > loose[name], name
    for values in (loose, tight):
        # Mixing in random poses makes it commit to wrong ones.
        assert values['recovery_alpha_slow'] == values['recovery_alpha_fast'] == 0.0
