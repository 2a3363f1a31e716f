"""
The whole workspace in a prefix of stubs: what every launch file would start, without starting it.

Builds on the stub packages of oomwoo_gazebo's tests. Packages of the workspace keep their share
folders (launch files, parameters, maps) and get a stub for every entry point in ``setup.py``;
those of others get the executables that the suite starts. The prefix is the only one on
``AMENT_PREFIX_PATH``, so that tests say the same on a bare machine and in the container.
"""
import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
import importlib.util
import logging
import os
from pathlib import Path
import re
import shlex
import time
import warnings

import launch
from launch import LaunchDescription, LaunchService
from launch.actions import ExecuteLocal, IncludeLaunchDescription, OpaqueCoroutine
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
import launch.logging
import yaml

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = sorted(path.parent.name for path in ROOT.glob('oomwoo_*/package.xml'))
# What else the suite starts, where it is installed.
OTHERS = {
    'nav2_amcl': ('amcl',), 'nav2_behaviors': ('behavior_server',),
    'nav2_bt_navigator': ('bt_navigator',), 'nav2_controller': ('controller_server',),
    'nav2_lifecycle_manager': ('lifecycle_manager',),
    'nav2_map_server': ('map_server', 'costmap_filter_info_server', 'map_saver_cli'),
    'nav2_planner': ('planner_server',), 'nav2_velocity_smoother': ('velocity_smoother',),
    'nav2_costmap_2d': (), 'nav2_navfn_planner': (),
    'nav2_regulated_pure_pursuit_controller': (),
    'slam_toolbox': ('async_slam_toolbox_node', 'localization_slam_toolbox_node'),
    'rviz2': ('rviz2',), 'foxglove_bridge': ('foxglove_bridge',),
    'robot_localization': ('ekf_node',), 'twist_mux': ('twist_mux',),
    'diagnostic_aggregator': ('aggregator_node',), 'micro_ros_agent': ('micro_ros_agent',),
}
# A shell starts in a twentieth of the time of a Python. Parameter files of launch are temporary.
_EXECUTABLE = """#!/bin/sh
record={folder}/$$
printf '%s\\n' '{package}' "$0" "$@" > $record.part
number=0 before=
for word in "$@"; do
  if [ "$before" = --params-file ]; then
    cp "$word" $record.$number.yaml
    number=$((number + 1))
  fi
  before=$word
done
mv $record.part $record.started
{then}
"""
_ENTRY_POINT = re.compile(r"'(\w+) = ([\w.]+):main'")
ENDS_BY_ITSELF = {'create', 'map_saver', 'ros2', 'spawn_obstacle', 'timeout'}
PATIENCE_S = 40.0


def _stub_prefix():
    """Return the class of oomwoo_gazebo's tests."""
    spec = importlib.util.spec_from_file_location(
        'gazebo_stub_prefix', ROOT / 'oomwoo_gazebo' / 'test' / 'stub_prefix.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.StubPrefix


def entry_points(package):
    """Return ``{executable: module}`` of a package of the workspace."""
    setup = ROOT / package / 'setup.py'
    if not setup.is_file():
        return {}
    return dict(_ENTRY_POINT.findall(setup.read_text(encoding='utf-8')))


class _Loader(yaml.SafeLoader):
    """Reads what launch_ros writes, too: a list of its goes through a tuple."""


_Loader.add_constructor(
    'tag:yaml.org,2002:python/tuple', lambda loader, node: loader.construct_sequence(node))


@dataclass
class Started:
    """One process that was started: its words, and its parameter files in their order."""

    package: str
    executable: str
    argv: list
    parameter_files: list

    def parts(self):
        """Return the nodes in it, each as if it had a process of its own; else itself."""
        if self.executable != 'compose':
            return [self]
        words = self.argv[len(self.arguments):]
        return [Started(*name.split('/'), words, self.parameter_files) for name in self.arguments]

    def _remaps(self):
        return dict(
            word.split(':=', 1) for flag, word in zip(self.argv, self.argv[1:])
            if flag == '-r' and ':=' in word)

    @property
    def name(self):
        """Name of the node, else of the executable."""
        return self._remaps().get('__node', self.executable)

    @property
    def namespace(self):
        """Namespace of the node, '' for the root."""
        return self._remaps().get('__ns', '/').strip('/')

    @property
    def remappings(self):
        """``{from: to}``."""
        return {key: to for key, to in self._remaps().items() if not key.startswith('__')}

    @property
    def arguments(self):
        """What stands in front of ROS's own arguments."""
        return self.argv[:self.argv.index('--ros-args')] if '--ros-args' in self.argv else (
            self.argv)

    def parameters(self, node=None):
        """
        Return ``{dotted name: value}`` that ROS would give a node of this process.

        Files in their order, each with what it says for all nodes and for this one; ``node`` is
        its full name, by default that of the process.
        """
        node = (node or f'/{self.namespace}/{self.name}').replace('//', '/')
        found = {}
        for content in self.parameter_files:
            for path, values in _sections(content):
                if path in ('/**', node):
                    found |= _flat(values)
        return found


def _sections(tree, path=''):
    for key, value in tree.items():
        if key == 'ros__parameters':
            yield path, value
        elif isinstance(value, dict):
            yield from _sections(value, f'{path}/{key.strip("/")}')


def _flat(values, prefix=''):
    found = {}
    for key, value in values.items():
        found |= _flat(value, f'{prefix}{key}.') if isinstance(value, dict) else {
            f'{prefix}{key}': value}
    return found


@dataclass
class Run:
    """What a launch file did."""

    processes: list
    lines: list
    errors: list

    @property
    def started(self):
        """A :class:`Started` for each node, those that share a process apart."""
        return [part for process in self.processes for part in process.parts()]

    def nodes(self):
        """Return ``{name: Started}``; a name that was given twice is an error."""
        found = {}
        for process in self.started:
            key = f'{process.namespace}/{process.name}'.lstrip('/')
            assert key not in found, f'two nodes are called {key}'
            found[key] = process
        return found


class StubWorkspace(_stub_prefix()):
    """The workspace, and those of ``OTHERS`` that are asked for."""

    def __init__(self, folder, others=()):
        """``others`` names packages; Gazebo's come with ``ros_gz_sim``."""
        super().__init__(folder)
        self.home = Path(folder) / 'home'
        self.home.mkdir()
        for package in PACKAGES:
            self.add(package, *entry_points(package), share=ROOT / package)
        for package in others:
            if package == 'ros_gz_sim':
                self.add_gazebo()
            else:
                self.add(package, *OTHERS[package])
        for name in ('timeout', 'ros2'):
            self.script(self.folder / 'bin' / name, name)

    def script(self, path, package, waits=True, status=0):
        """Write an executable that writes down how it was started."""
        path.parent.mkdir(parents=True, exist_ok=True)
        ends = not waits or path.name in ENDS_BY_ITSELF
        then = f'exit {status}' if ends else 'exec sleep 120'
        path.write_text(_EXECUTABLE.format(
            package=package, folder=shlex.quote(str(self._records)), then=then), encoding='utf-8')
        path.chmod(0o755)

    def records(self):
        """Return what was started since the last :meth:`run`."""
        found = []
        for file in sorted(self._records.glob('*.started'), key=lambda p: p.stat().st_mtime_ns):
            package, path, *argv = file.read_text(encoding='utf-8').splitlines()
            parameters = sorted(
                self._records.glob(f'{file.stem}.*.yaml'), key=lambda p: int(p.stem.split('.')[1]))
            found.append(Started(package, Path(path).name, argv, [
                yaml.load(p.read_text(encoding='utf-8'), _Loader) for p in parameters]))
        return found

    @contextmanager
    def environment(self):
        """Have this prefix and no other, and a folder of its own to write to."""
        before, here = dict(os.environ), os.getcwd()
        os.environ.update(
            AMENT_PREFIX_PATH=str(self.folder),
            PATH=os.pathsep.join([str(self.folder / 'bin'), before['PATH']]),
            QT_QPA_PLATFORM='offscreen')              # a window for RViz and none for Gazebo
        for name in ('DISPLAY', 'WAYLAND_DISPLAY'):
            os.environ.pop(name, None)
        os.chdir(self.home)
        try:
            yield
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)

    def run(self, package, file, arguments=(), more=0):
        """
        Launch a file under the real launch system until all that it starts has started.

        ``arguments`` are ``name:=value`` words; ``more`` is how many processes follow when the
        first ones have ended. Returns a :class:`Run`.
        """
        for record in self._records.iterdir():
            record.unlink()
        path = self.folder / 'share' / package / 'launch' / file
        given = dict(word.split(':=', 1) for word in arguments)
        executed, log = [], {}
        plain = ExecuteLocal.execute

        def execute(action, context):
            executed.append(action)
            return plain(action, context)

        async def settle(context):
            end = time.monotonic() + PATIENCE_S
            while executed and self._number() < max(len(executed), 1 + more):
                if time.monotonic() > end:
                    break
                await asyncio.sleep(0.02)
            # What is said while stubs are interrupted says nothing about the launch file.
            log.update({name: list(lines) for name, lines in logged.items()})
            await context.emit_event(Shutdown(reason='all has started'))

        with self.environment(), _log(self.home) as logged:
            ExecuteLocal.execute = execute
            try:
                service = LaunchService(noninteractive=True)
                service.include_launch_description(LaunchDescription([
                    IncludeLaunchDescription(
                        PythonLaunchDescriptionSource(str(path)),
                        launch_arguments=given.items()),
                    OpaqueCoroutine(coroutine=settle)]))
                service.run()
            finally:
                ExecuteLocal.execute = plain
        log = log or logged
        return Run(self.records(), log['launch.user'], log['launch'])

    def _number(self):
        return sum(1 for _ in self._records.glob('*.started'))

    def arguments_of(self, package, file):
        """Return the declared arguments of a launch file: ``{name: action}``."""
        path = self.folder / 'share' / package / 'launch' / file
        with self.environment():
            description = launch.launch_description_sources.PythonLaunchDescriptionSource(
                str(path)).get_launch_description(launch.LaunchContext())
        return {action.name: action for action in description.get_launch_arguments()}


@contextmanager
def _log(folder):
    """Collect the lines of launch files and the errors of launch itself."""
    (folder / 'log').mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')              # of an earlier folder
        launch.logging.launch_config.log_dir = str(folder / 'log')
    found = {'launch.user': [], 'launch': []}
    handlers = []
    for name, level in (('launch.user', logging.INFO), ('launch', logging.ERROR)):
        handler = logging.Handler(level)
        handler.emit = lambda record, into=found[name]: into.append(record.getMessage())
        logger = launch.logging.get_logger(name)
        logger.addHandler(handler)
        handlers.append((logger, handler))
    try:
        yield found
    finally:
        for logger, handler in handlers:
            logger.removeHandler(handler)
