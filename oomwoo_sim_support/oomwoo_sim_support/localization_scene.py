"""What the localization launch files share: map, everyday localizer, start pose, RViz."""

import os
from pathlib import Path
import re
from tempfile import NamedTemporaryFile

from launch.actions import LogInfo
from launch_ros.actions import Node
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import (
    choose,
    find_file,
    find_packaged,
    installed,
    is_true,
    LaunchError,
    number,
    SuiteProcess,
    written_parameters,
)
from oomwoo_sim_support.layout import LayoutError, load_layout
import yaml

ARGUMENTS = (
    common.USE_SIM_TIME,
    common.MAP,
    common.LOCALIZER,
    *common.START_BY_LAYOUT,
    common.NAV_PARAMS,
    common.RVIZ,
    common.RVIZ_CONFIG.having('localization.rviz'),
    common.NAMESPACE,
)
LOCALIZERS = {
    'slam_toolbox': ('slam_toolbox', 'nav2_lifecycle_manager'),
    'scan': (),
    'amcl': ('nav2_amcl', 'nav2_lifecycle_manager'),
    'truth': (),
}

DISPLAYS = ('DISPLAY', 'WAYLAND_DISPLAY', 'QT_QPA_PLATFORM')
NO_DISPLAY = f'rviz: there is no display ({", ".join(DISPLAYS)}); open Foxglove'


def find_map(value):
    """Return ``(path, lines for the log)`` of a map argument: a path, or a packaged map's name."""
    return find_packaged('map', value, 'oomwoo_sim_support', 'maps', '.yaml')


def start_pose(value, map_file, from_layout=True):
    """
    Return (x, y, yaw) at which the localizer begins, or None when it has to be told.

    Given by the arguments, else, in simulation, by the layout that the map was drawn from: there
    the robot stands where the simulator put it. A real one may stand anywhere.
    """
    names = ('x_pose', 'y_pose', 'yaw')
    if any(value[name] for name in names):
        return tuple(number(name, value[name] or '0.0') for name in names)
    if not (from_layout and is_true('use_sim_time', value['use_sim_time'])):
        return None
    try:
        return tuple(float(v) for v in load_layout(Path(map_file).stem).start)
    except LayoutError:
        return None


def ours(executable, value, parameters=(), package='oomwoo_sim_support', name=None, remap=()):
    """Return a node of the suite for the launch arguments ``value``."""
    namespace = value['namespace']
    frames = [('/tf', 'tf'), ('/tf_static', 'tf_static')] if namespace else []
    sim_time = {'use_sim_time': is_true('use_sim_time', value['use_sim_time'])}
    return SuiteProcess(
        package=package,
        executable=executable,
        name=name or executable,
        namespace=namespace,
        parameters=[sim_time, *parameters],
        remappings=[*frames, *remap],
    )


def map_server(value, map_file):
    """Return the node that serves the map."""
    return ours('map_server', value, [{'yaml_filename': map_file}])


def choose_localizer(asked, map_file):
    """Return ``(localizer, line)``; slam_toolbox can only be taken with its own map beside."""
    graph = Path(map_file).with_suffix('.posegraph')
    ways = dict(LOCALIZERS)
    if asked == 'auto' and not graph.is_file():
        del ways['slam_toolbox']
        localizer, line = choose('localizer', asked, ways)
        if installed('slam_toolbox'):
            line += f'; slam_toolbox would need {graph}'
        return localizer, line
    if asked == 'slam_toolbox' and installed('slam_toolbox') and not graph.is_file():
        raise LaunchError(f'localizer:=slam_toolbox: needs a serialized map, {graph}')
    return choose('localizer', asked, ways)


def parameter_file(argument, name, namespace=''):
    """
    Return ``(path, lines for the log)`` of parameters: a file, or one that oomwoo_bringup carries.

    Sections of such a file are named for nodes outside any namespace, and topics that Nav2 looks
    for in a namespace of its own are absolute; under one it is a copy with both moved there.
    """
    path, notes = find_packaged(argument, name, 'oomwoo_bringup', 'config', '.yaml')
    if not namespace:
        return path, notes
    content = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
    namespace = namespace.strip('/')
    return written_parameters({namespace: _moved(content, namespace)}), notes


def for_all_nodes(parameters):
    """
    Return the path of a file with parameters for every node of a process.

    A dict among the parameters of a launched node is for that node alone when its name is known
    in full, and not for the costmap that it holds.
    """
    return written_parameters({'/**': {'ros__parameters': parameters}})


def _moved(content, namespace):
    if isinstance(content, dict):
        return {key: _moved(value, namespace) for key, value in content.items()}
    if isinstance(content, str) and content.startswith('/'):
        return f'/{namespace}{content}'
    return content


def others(package, executable, value, parameters, name=None, remap=()):
    """Return a node of another package, in the namespace of the launch arguments ``value``."""
    namespace = value['namespace']
    frames = [('/tf', 'tf'), ('/tf_static', 'tf_static')] if namespace else []
    return Node(
        package=package,
        executable=executable,
        name=name or executable,
        namespace=namespace,
        output='screen',
        parameters=parameters,
        remappings=[*frames, *remap],
    )


def lifecycle_manager(group, names, value):
    """
    Return the manager that configures and activates the nodes ``names``, in this order.

    It stops them all when one is silent for ``bond_timeout`` s; at the stock 4 s, of which the
    first sign may take half, a machine that is merely busy loses its navigator for good.
    """
    sim_time = {'use_sim_time': is_true('use_sim_time', value['use_sim_time'])}
    return others(
        'nav2_lifecycle_manager',
        'lifecycle_manager',
        value,
        [sim_time, {'autostart': True, 'bond_timeout': 15.0, 'node_names': list(names)}],
        name=f'lifecycle_manager_{group}',
    )


def localizer_nodes(localizer, value, map_file, scan='scan', broadcast=True, from_layout=True):
    """
    Return the nodes of an everyday localizer.

    ``scan`` is the topic it matches; ``broadcast`` whether amcl publishes ``map -> odom``;
    ``from_layout`` whether it begins where the layout says when the arguments give no pose.
    """
    start = start_pose(value, map_file, from_layout)
    sim_time = {'use_sim_time': is_true('use_sim_time', value['use_sim_time'])}
    remap = [] if scan == 'scan' else [('scan', scan)]
    if localizer == 'truth':
        return [ours('truth_localizer', value)]
    if localizer == 'scan':
        begin = dict(zip(('x_pose', 'y_pose', 'yaw'), start)) if start else {}
        return [
            ours(
                'scan_localizer',
                value,
                [begin] if begin else [],
                'oomwoo_localization',
                remap=remap,
            )
        ]
    if localizer == 'slam_toolbox':
        params, _ = parameter_file(
            'parameters', 'slam_toolbox_localization.yaml', value['namespace']
        )
        begin = {'map_start_pose': list(start)} if start else {}
        own = {'scan_topic': scan, 'map_file_name': str(Path(map_file).with_suffix('')), **begin}
        return [
            others(
                'slam_toolbox',
                'localization_slam_toolbox_node',
                value,
                [params, {**sim_time, **own}],
                name='slam_toolbox',
                # Its own evolving map must not replace the saved one.
                remap=[('map', 'slam_map'), ('/map', 'slam_map')],
            ),
            lifecycle_manager('slam_toolbox', ['slam_toolbox'], value),
        ]
    params, notes = parameter_file('nav_params', value['nav_params'], value['namespace'])
    begin = dict(zip(('initial_pose.x', 'initial_pose.y', 'initial_pose.yaw'), start or ()))
    own = {'scan_topic': scan, 'tf_broadcast': broadcast, 'set_initial_pose': bool(start)}
    return [
        *(LogInfo(msg=note) for note in notes),
        others('nav2_amcl', 'amcl', value, [params, {**sim_time, **own, **begin}]),
        lifecycle_manager('amcl', ['amcl'], value),
    ]


def error_meter(name, value, pose_topic=''):
    """Return a meter called ``name`` of what tf says, or of the messages on ``pose_topic``."""
    source = {'source': 'pose' if pose_topic else 'tf'}
    return ours(
        'localization_error',
        value,
        [source],
        name=name,
        remap=[('pose', pose_topic)] if pose_topic else (),
    )


def viewer(value):
    """Return RViz where it is wanted and can be had, else one line saying why it is not there."""
    if not is_true('rviz', value['rviz']):
        return []
    if not installed('rviz2'):
        return [LogInfo(msg='rviz: rviz2 is not installed; echo the topics, or open Foxglove')]
    if not has_display():
        return [LogInfo(msg=NO_DISPLAY)]
    return [rviz_node(rviz_config(value), value)]


def has_display():
    """Return whether a window can be opened; without a display, RViz would only abort."""
    return any(os.environ.get(name) for name in DISPLAYS)


def rviz_config(value):
    """Return the path of the RViz file that ``rviz_config`` means."""
    return find_file('rviz_config', value['rviz_config'], 'oomwoo_bringup', 'rviz', '.rviz')


def rviz_node(config, value):
    """Return RViz with the file ``config``; under a namespace, with its topics moved there."""
    namespace = value['namespace'].strip('/')
    if namespace:
        text = Path(config).read_text(encoding='utf-8')
        with NamedTemporaryFile(
            'w', prefix='oomwoo_', suffix='.rviz', delete=False, encoding='utf-8'
        ) as file:
            file.write(re.sub(r'(?m)^(\s+Value: )/(?=\w)', rf'\1/{namespace}/', text))
        config = file.name
    sim_time = {'use_sim_time': is_true('use_sim_time', value['use_sim_time'])}
    return Node(
        package='rviz2',
        executable='rviz2',
        namespace=namespace,
        arguments=['-d', config],
        output='screen',
        parameters=[sim_time],
        remappings=[('/tf', 'tf'), ('/tf_static', 'tf_static')] if namespace else [],
    )
