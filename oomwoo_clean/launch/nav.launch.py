"""Map, localizer and navigator: ``/map``, ``map -> odom`` and ``/navigate_to_pose``."""
from launch.actions import LogInfo
from launch_ros.actions import Node
from oomwoo_sim_support.launch_choices import (
    choose,
    described,
    find_file,
    given,
    is_true,
    LaunchError,
    number,
)

ARGUMENTS = (
    ('x_pose', '', 'start in the map [m]; all three empty: told later on /initialpose'),
    ('y_pose', '', 'start in the map [m]'),
    ('yaw', '', 'start heading in the map [rad]'),
    (
        'map', 'contour_torture.yaml',
        'map file, or the name of one that oomwoo_sim_support carries'),
    ('use_sim_time', 'true', 'take the time from /clock'),
    ('nav', 'auto', 'auto, embedded or nav2'),
    ('localizer', 'auto', 'auto, scan or truth'),
    ('namespace', '', 'namespace of all of it, tf included'),
)
NAVIGATORS = {
    'nav2': (
        'nav2_controller', 'nav2_planner', 'nav2_behaviors', 'nav2_bt_navigator',
        'nav2_lifecycle_manager', 'nav2_map_server', 'nav2_regulated_pure_pursuit_controller'),
    'embedded': (),
}
STAND_INS = 'oomwoo_sim_support'
LOCALIZERS = {'scan': (), 'truth': ()}
SAYS = {
    'scan': 'map -> odom from matching every scan with the map',
    'truth': "map -> odom is the simulator's /odom_truth: a stand-in, nothing is localized",
}


def _start(context):
    value = given(ARGUMENTS, context)
    start = {
        name: number(name, value[name]) for name in ('x_pose', 'y_pose', 'yaw') if value[name]}
    sim_time = {'use_sim_time': is_true('use_sim_time', value['use_sim_time'])}
    map_file = find_file('map', value['map'], 'oomwoo_sim_support', 'maps', '.yaml')
    navigator, navigator_line = choose('nav', value['nav'], NAVIGATORS)
    localizer, localizer_line = choose('localizer', value['localizer'], LOCALIZERS)
    if navigator == 'nav2' and value['namespace']:
        raise LaunchError('namespace: nav:=nav2 is not set up for one yet')
    navigation = _nav2(map_file, sim_time) if navigator == 'nav2' else [
        _ours(STAND_INS, 'map_server', value['namespace'], [
            sim_time, {'yaml_filename': map_file}]),
        _ours(STAND_INS, 'embedded_navigator', value['namespace'], [sim_time])]
    return [
        LogInfo(msg=navigator_line),
        LogInfo(msg=f'{localizer_line}: {SAYS[localizer]}'),
        _ours(STAND_INS, 'truth_localizer', value['namespace'], [sim_time])
        if localizer == 'truth' else
        _ours('oomwoo_localization', 'scan_localizer', value['namespace'], [sim_time, start]),
        *navigation,
    ]


def _ours(package, executable, namespace, parameters):
    return Node(
        package=package, executable=executable, name=executable, namespace=namespace,
        output='screen', parameters=parameters,
        remappings=[('/tf', 'tf'), ('/tf_static', 'tf_static')] if namespace else [])


def _nav2(map_file, sim_time):
    """Nav2's servers that a goal needs: no smoother, docking or collision monitor."""
    from nav2_common.launch import RewrittenYaml
    from oomwoo_localization.robot import load_robot
    params = RewrittenYaml(
        source_file=find_file('params', 'nav2_params.yaml', 'oomwoo_bringup', 'config', '.yaml'),
        convert_types=True,
        param_rewrites={
            'robot_radius': str(load_robot().body.radius), 'yaml_filename': map_file,
            'use_sim_time': str(sim_time['use_sim_time']).lower()})
    servers = (
        ('nav2_map_server', 'map_server'), ('nav2_controller', 'controller_server'),
        ('nav2_planner', 'planner_server'), ('nav2_behaviors', 'behavior_server'),
        ('nav2_bt_navigator', 'bt_navigator'))
    return [
        *(Node(package=package, executable=name, name=name, output='screen', parameters=[params])
          for package, name in servers),
        Node(
            package='nav2_lifecycle_manager', executable='lifecycle_manager',
            name='lifecycle_manager_navigation', output='screen',
            parameters=[
                 sim_time, {'autostart': True, 'node_names': [name for _, name in servers]}]),
    ]


def generate_launch_description():
    """Declare the arguments and start what they ask for."""
    return described(ARGUMENTS, _start)
