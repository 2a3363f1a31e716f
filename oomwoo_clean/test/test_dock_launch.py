"""``dock_sim.launch.py`` as a user starts it: it docks, ends by itself, and its status tells."""
from dataclasses import fields
import os
from pathlib import Path
import signal
import subprocess
import time

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from oomwoo_clean.dock_detector_node import NodeSettings as DetectorNodeSettings
from oomwoo_clean.dock_drive_node import NodeSettings
import pytest
import yaml

WALL_LIMIT_S = 150.0
CONFIG = Path(__file__).parents[1] / 'config' / 'dock.yaml'


def built():
    """Tell whether launch files and executables are installed."""
    try:
        return all((Path(get_package_prefix(name)) / 'lib' / name).is_dir()
                   for name in ('oomwoo_clean', 'oomwoo_sim_support', 'oomwoo_gazebo'))
    except PackageNotFoundError:
        return False


pytestmark = pytest.mark.skipif(not built(), reason='the workspace is not built (make build)')


def launch(*arguments):
    """Start ``ros2 launch`` in a process group of its own."""
    return subprocess.Popen(
        ['ros2', 'launch', *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True)


def stop(process):
    """End a launch and all that it started; return what it said."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    try:
        return process.communicate(timeout=30)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


def dock_in(world_arguments, *dock_arguments):
    """Launch a world and the docking; return (exit status, lines) of the docking."""
    world = launch('oomwoo_gazebo', 'world.launch.py', 'world:=kitchen_dining.world',
                   'sim:=embedded', 'real_time_factor:=3.0', 'command_wait_s:=0.2',
                   *world_arguments)
    try:
        docking = launch('oomwoo_sim_support', 'dock_sim.launch.py', 'use_sim_time:=true',
                         *dock_arguments)
        until = time.monotonic() + WALL_LIMIT_S
        while docking.poll() is None and time.monotonic() < until:
            time.sleep(0.2)
        ended = docking.poll() is not None
        lines = stop(docking).splitlines()
    finally:
        stop(world)
    assert ended, '\n'.join(lines)
    return docking.returncode, lines


@pytest.mark.timeout(WALL_LIMIT_S + 60.0)
def test_it_docks_says_how_well_and_ends_with_status_0():
    status, lines = dock_in(('x_pose:=-1.5', 'y_pose:=-0.5'))
    said = [line.split(']: ', 1)[1] for line in lines if '[dock_drive]: ' in line]
    assert status == 0, '\n'.join(lines)
    assert said[-1] == 'docking complete; exiting'
    words = said[-2].split()
    assert words[:2] == ['docked:', 'lateral'] and words[3:5] == ['mm,', 'yaw']
    assert abs(float(words[2])) < 5.0 and abs(float(words[5])) < 1.5 and words[6] == 'deg'


@pytest.mark.timeout(WALL_LIMIT_S + 60.0)
def test_a_kitchen_without_its_dock_ends_with_status_1_and_the_reason(tmp_path):
    no_dock, short = tmp_path / 'world.yaml', tmp_path / 'dock.yaml'
    no_dock.write_text('/**:\n  ros__parameters: {dock_present: false}\n')
    short.write_text('/**/dock_drive:\n  ros__parameters: {vantage_points: 0}\n')
    status, lines = dock_in((f'params_file:={no_dock}',), f'params_file:={short}')
    said = '\n'.join(lines)
    assert status == 1, said
    assert 'docking failed: NOT_FOUND: no dock found from 1 place' in said, said
    assert 'docking given up; exiting' in said, said


def test_the_parameter_file_has_known_names_at_their_defaults():
    config = yaml.safe_load(CONFIG.read_text(encoding='utf-8'))
    for node, kind in (('dock_drive', NodeSettings), ('dock_detector', DetectorNodeSettings)):
        defaults = {info.name: info.default for info in fields(kind)}
        written = config[f'/**/{node}']['ros__parameters']
        assert written == {name: defaults[name] for name in written}
