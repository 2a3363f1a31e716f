"""Write the map on ``/map`` to a file, with slam_toolbox's own beside it, and end."""
from functools import partial
from pathlib import Path

from launch.actions import EmitEvent, ExecuteProcess, LogInfo, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import (
    described,
    given,
    installed,
    is_true,
    LaunchError,
    number,
)

ARGUMENTS = (
    ('map', 'map', 'file to write, with or without .yaml; what is there is replaced'),
    common.USE_SIM_TIME.having('false'),
    (
        'serialize', 'auto',
        'true: also the pose graph, for localizer:=slam_toolbox; auto: where it is installed'),
    ('patience_s', '10.0', 'wall time within which a map has to come [s]'),
    ('namespace', '', 'namespace of the map'),
)


def _start(context):
    value = given(ARGUMENTS, context)
    path = Path(value['map'].removesuffix('.yaml') or '.').expanduser().absolute()
    if not value['map'] or not path.parent.is_dir():
        raise LaunchError(f'map:={value["map"]}: no file in a folder that is there')
    patience_s = number('patience_s', value['patience_s'])
    there = installed('slam_toolbox')
    asked = value['serialize'] != 'auto' and is_true('serialize', value['serialize'])
    if asked and not there:
        raise LaunchError('serialize:=true: not installed: slam_toolbox')
    saver = scene.ours(
        'map_saver', value, [{'path': str(path), 'patience_s': patience_s}])
    if not (asked or (there and value['serialize'] == 'auto')):
        return [saver, _then(saver, _saved)]
    service = f'{value["namespace"].rstrip("/")}/slam_toolbox/serialize_map'
    graph = ExecuteProcess(
        cmd=[
            'timeout', str(patience_s), 'ros2', 'service', 'call', f'/{service.lstrip("/")}',
            'slam_toolbox/srv/SerializePoseGraph', f'{{filename: "{path}"}}'],
        output='screen')
    return [
        LogInfo(msg=f'save_map: the pose graph goes to {path}.posegraph'),
        saver, _then(saver, partial(_saved, more=[graph, _then(graph, _graph)]))]


def _then(process, what):
    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=what))


def _saved(event, context, more=None):
    """Go on, or end; an error raised here is what makes the launch exit with 1."""
    if event.returncode:
        raise LaunchError('save_map: the map is not saved')
    return more or [EmitEvent(event=Shutdown(reason='the map is saved'))]


def _graph(event, context):
    if event.returncode:
        raise LaunchError('save_map: the map is saved, its pose graph is not')
    return [EmitEvent(event=Shutdown(reason='map and pose graph are saved'))]


def generate_launch_description():
    """Declare the arguments and save."""
    return described(ARGUMENTS, _start)
