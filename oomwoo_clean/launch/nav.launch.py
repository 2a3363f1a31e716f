"""Map, localizer and navigator: ``/map``, ``map -> odom`` and ``/navigate_to_pose``."""
from launch.actions import LogInfo
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import (
    choose,
    described,
    find_file,
    given,
    is_true,
    LaunchError,
    together,
)
from oomwoo_sim_support.navigator_settings import CONTROLLERS

ARGUMENTS = (
    *common.START_IN_MAP,
    common.MAP,
    common.USE_SIM_TIME,
    common.NAV,
    common.LOCALIZER,
    common.NAV_PARAMS,
    common.NAV2_PARAMS,
    common.NAV2_BUMP_MAP,
    common.CONTROLLER,
    common.KEEPOUT_MASK,
    common.COMPOSE,
    common.NAMESPACE,
)
NAVIGATORS = {
    'nav2': (
        'nav2_controller', 'nav2_planner', 'nav2_behaviors', 'nav2_bt_navigator',
        'nav2_lifecycle_manager', 'nav2_map_server', 'nav2_costmap_2d', 'nav2_navfn_planner',
        'nav2_velocity_smoother', 'nav2_regulated_pure_pursuit_controller'),
    'embedded': (),
}
SAYS = {
    'scan': 'map -> odom from matching every scan with the map',
    'slam_toolbox': 'map -> odom from matching every scan with its own serialized map',
    'amcl': 'map -> odom from a particle filter, the mean of its cloud',
    'truth': "map -> odom is the simulator's /odom_truth: a stand-in, nothing is localized",
}
# A command passes the smoother on its way to the base.
TO_SMOOTHER = [('cmd_vel', 'cmd_vel_nav')]
SMOOTHER = [('cmd_vel', 'cmd_vel_nav'), ('cmd_vel_smoothed', 'cmd_vel')]


def _start(context):
    value = given(ARGUMENTS, context)
    map_file, notes = scene.find_map(value['map'])
    navigator, navigator_line = choose('nav', value['nav'], NAVIGATORS)
    localizer, localizer_line = scene.choose_localizer(value['localizer'], map_file)
    if value['controller'] not in CONTROLLERS:
        raise LaunchError(
            f'controller:={value["controller"]}: is none of {", ".join(CONTROLLERS)}')
    navigation = _nav2(value, map_file) if navigator == 'nav2' else _embedded(value, map_file)
    nodes = [*scene.localizer_nodes(localizer, value, map_file, from_layout=False), *navigation]
    if is_true('compose', value['compose']):
        nodes = together(nodes)
    return [
        *(LogInfo(msg=note) for note in notes),
        LogInfo(msg=navigator_line),
        LogInfo(msg=f'{localizer_line}: {SAYS[localizer]}'),
        *nodes,
    ]


def _embedded(value, map_file):
    """Return map server and navigator of the suite."""
    if value['keepout_mask'] or is_true('bump_map', value['bump_map']):
        raise LaunchError(
            'bump_map, keepout_mask: the embedded navigator heeds neither; they take nav:=nav2')
    return [
        scene.map_server(value, map_file),
        scene.ours('embedded_navigator', value, [CONTROLLERS[value['controller']]])]


def _nav2(value, map_file):
    """Return Nav2's servers that a goal needs: no path smoother, docking or collision monitor."""
    sim_time = {'use_sim_time': is_true('use_sim_time', value['use_sim_time'])}
    params, notes = scene.parameter_file('params_file', value['params_file'], value['namespace'])
    tree = find_file(
        'behavior_tree', 'navigate_contact_tolerant.xml', 'oomwoo_bringup', 'behavior_trees',
        '.xml')
    files = [params]
    if value['controller'] == 'averse':
        files += scene.parameter_file(
            'controller', 'nav2_collision_averse.yaml', value['namespace'])[:1]
    if is_true('bump_map', value['bump_map']):
        files += scene.parameter_file('bump_map', 'nav2_bump_map.yaml', value['namespace'])[:1]
    costmaps = scene.for_all_nodes(
        {**sim_time, 'keepout_filter.enabled': bool(value['keepout_mask'])})
    servers = [
        ('nav2_map_server', 'map_server', 'map_server', {'yaml_filename': map_file}, []),
        ('nav2_controller', 'controller_server', 'controller_server', costmaps, TO_SMOOTHER),
        ('nav2_planner', 'planner_server', 'planner_server', costmaps, []),
        ('nav2_behaviors', 'behavior_server', 'behavior_server', {}, TO_SMOOTHER),
        ('nav2_bt_navigator', 'bt_navigator', 'bt_navigator', {
            'default_nav_to_pose_bt_xml': tree}, []),
        ('nav2_velocity_smoother', 'velocity_smoother', 'velocity_smoother', {}, SMOOTHER),
    ]
    if value['keepout_mask']:
        mask = find_file(
            'keepout_mask', value['keepout_mask'], 'oomwoo_sim_support', 'maps', '.yaml')
        servers[1:1] = [
            ('nav2_map_server', 'map_server', 'keepout_mask_server', {'yaml_filename': mask}, []),
            ('nav2_map_server', 'costmap_filter_info_server', 'keepout_info_server', {}, [])]
    return [
        *(LogInfo(msg=note) for note in notes),
        *(scene.others(
            package, executable, value, [*files, sim_time, own], name=name,
            remap=remappings)
          for package, executable, name, own, remappings in servers),
        scene.lifecycle_manager('navigation', [name for _, _, name, *_ in servers], value),
    ]


def generate_launch_description():
    """Declare the arguments and start what they ask for."""
    return described(ARGUMENTS, _start)
