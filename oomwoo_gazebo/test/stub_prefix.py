"""A prefix of stub packages: their executables write down how they were started, and wait."""
import json
import os
from pathlib import Path
import signal
import subprocess
import time

_EXECUTABLE = """#!/usr/bin/env python3
import json, os, sys, time
files = [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == '--params-file']
record = {{
    'package': {package!r}, 'executable': {executable!r}, 'argv': sys.argv[1:],
    'parameters': [open(file, encoding='utf-8').read() for file in files],
    'environment': {{name: os.environ.get(name) for name in {environment!r}}}}}
path = os.path.join({folder!r}, f'{{time.monotonic_ns()}}_{{os.getpid()}}')
with open(path + '.part', 'w', encoding='utf-8') as out:
    json.dump(record, out)
os.rename(path + '.part', path + '.json')
if {waits!r}:
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        pass
sys.exit({status!r})
"""
_GZ_SIM_LAUNCH = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument('gz_args', default_value=''),
        DeclareLaunchArgument('on_exit_shutdown', default_value='false'),
        ExecuteProcess(
            cmd=['exec gz sim', LaunchConfiguration('gz_args'), '--force-version', '8',
                 '--on-exit-shutdown', LaunchConfiguration('on_exit_shutdown')],
            shell=True, name='gazebo')])
"""


class StubPrefix:
    """Stub packages below ``folder``."""

    def __init__(self, folder, environment=()):
        """Begin without any; records hold the variables named in ``environment``."""
        self.folder, self._environment = Path(folder) / 'prefix', tuple(environment)
        self._records = Path(folder) / 'records'
        self._records.mkdir(parents=True)

    def add(self, package, *executables, waits=True, status=0, share=None):
        """Install a package; ``share`` is a folder to be its share folder."""
        index = self.folder / 'share' / 'ament_index' / 'resource_index' / 'packages'
        index.mkdir(parents=True, exist_ok=True)
        (index / package).touch()
        if share is not None:
            (self.folder / 'share' / package).symlink_to(share)
        for executable in executables:
            self.script(self.folder / 'lib' / package / executable, package, waits, status)

    def script(self, path, package, waits=True, status=0):
        """Write an executable that writes down how it was started."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_EXECUTABLE.format(
            package=package, executable=path.name, folder=str(self._records), waits=waits,
            status=status, environment=self._environment), encoding='utf-8')
        path.chmod(0o755)

    def add_gazebo(self, **create):
        """Install what Gazebo's launch takes: server, spawner, bridge, publisher, messages."""
        self.add('ros_gz_sim', 'create', **({'waits': False} | create))
        launch = self.folder / 'share' / 'ros_gz_sim' / 'launch'
        launch.mkdir(parents=True)
        (launch / 'gz_sim.launch.py').write_text(_GZ_SIM_LAUNCH, encoding='utf-8')
        self.script(self.folder / 'bin' / 'gz', 'ros_gz_sim')
        self.add('ros_gz_bridge', 'parameter_bridge')
        self.add('ros_gz_interfaces')
        self.add('robot_state_publisher', 'robot_state_publisher')

    def records(self):
        """Return what was started so far, a list of dicts."""
        return [json.loads(file.read_text(encoding='utf-8'))
                for file in sorted(self._records.glob('*.json'))]

    def launch(self, *words, count, patience_s=90.0, **variables):
        """
        Run ``ros2 launch`` with ``words`` until ``count`` processes have started, then interrupt.

        Returns (records, output, exit status); fewer records when the launch ends before.
        """
        environment = {name: value for name, value in os.environ.items() if name not in (
            'DISPLAY', 'WAYLAND_DISPLAY')} | variables
        environment['AMENT_PREFIX_PATH'] = os.pathsep.join(
            [str(self.folder), os.environ['AMENT_PREFIX_PATH']])
        environment['PATH'] = os.pathsep.join([str(self.folder / 'bin'), os.environ['PATH']])
        environment['ROS_LOG_DIR'] = str(self._records.parent / 'log')
        process = subprocess.Popen(
            ['ros2', 'launch', *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=environment, start_new_session=True)
        try:
            end = time.monotonic() + patience_s
            while (process.poll() is None and len(self.records()) < count
                    and time.monotonic() < end):
                time.sleep(0.1)
        finally:
            output = _ended(process)
        return self.records(), output, process.returncode


def _ended(process):
    """Interrupt a launch, once more when nothing comes of it, and return its output."""
    steps = (signal.SIGINT, 20.0), (signal.SIGINT, 40.0), (signal.SIGKILL, None)
    for number, patience_s in steps:
        if process.poll() is None:
            os.killpg(process.pid, number)
        try:
            return process.communicate(timeout=patience_s)[0]
        except subprocess.TimeoutExpired:
            continue
    return ''
