"""The ros2 commands: those of the run side work at all, and ours do what they say."""

import importlib.util
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(not shutil.which('ros2'), reason='env.sh is not sourced')

# How an apt ros2 words its errors, and ends, is not ours to say.
ours = pytest.mark.skipif(
    importlib.util.find_spec('oomwoo_ros2_verbs') is None, reason='this ros2 has verbs of its own')

HERE = Path(__file__).resolve().parent
LAUNCH_FILE = """
import sys
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration


def generate_launch_description():
    program = ('import sys, time; print("got", sys.argv[1], flush=True); '
               'time.sleep(float(sys.argv[2]))')
    return LaunchDescription([
        DeclareLaunchArgument('word', description='what to say'),
        DeclareLaunchArgument('wait', default_value='0', description='how long, s'),
        ExecuteProcess(cmd=[sys.executable, '-c', program, LaunchConfiguration('word'),
                            LaunchConfiguration('wait')], output='screen'),
    ])
"""


def ros2(*arguments, **options):
    """Run a ros2 command; return exit status, output and errors."""
    result = subprocess.run(['ros2', *map(str, arguments)], capture_output=True, text=True,
                            stdin=subprocess.DEVNULL, timeout=60, **options)
    return result.returncode, result.stdout, result.stderr


@pytest.fixture(scope='module')
def node():
    """Start a node with one of everything."""
    process = subprocess.Popen([sys.executable, HERE / 'wait_node.py'], text=True,
                               stdout=subprocess.PIPE)
    assert process.stdout.readline() == 'up\n'
    # Started by the first command; what it does not know yet, the next ones would miss.
    ros2('daemon', 'start')
    while '/wait_node' not in ros2('node', 'list')[1]:
        assert process.poll() is None
    yield process
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)


@pytest.fixture(scope='module')
def package(tmp_path_factory):
    """Make an installed package with an executable and a launch file; return the environment."""
    prefix = tmp_path_factory.mktemp('an install')
    for folder in ('share/ament_index/resource_index/packages', 'share/a_package/launch',
                   'lib/a_package'):
        (prefix / folder).mkdir(parents=True)
    (prefix / 'share/ament_index/resource_index/packages/a_package').touch()
    (prefix / 'share/a_package/launch/say.launch.py').write_text(LAUNCH_FILE)
    program = prefix / 'lib/a_package/greet'
    program.write_text('#!/bin/sh\necho "greetings $*"\n')
    program.chmod(0o755)
    return {**os.environ, 'AMENT_PREFIX_PATH': f'{prefix}:{os.environ["AMENT_PREFIX_PATH"]}'}


@pytest.mark.parametrize(('command', 'expected'), [
    ('topic list', '/chatter'),
    ('topic echo --once /chatter', 'data: hello'),
    ('node info /wait_node', '/wait: nav2_msgs/action/Wait'),
    ('param get /wait_node speed', 'Double value is: 0.3'),
    ('service call /praise std_srvs/srv/Trigger', "message='well done'"),
    ('action list -t', '/wait [nav2_msgs/action/Wait]'),
    ('action type /wait', 'nav2_msgs/action/Wait'),
    ('action info /wait', 'Action servers: 1\n    /wait_node'),
])
def test_command_sees_the_node(node, command, expected):
    status, output, errors = ros2(*command.split())
    assert status == 0, errors
    assert expected in output


def test_interface_show():
    status, output, _ = ros2('interface', 'show', 'nav2_msgs/action/Wait')
    assert status == 0
    assert 'builtin_interfaces/Duration time_left' in output


def test_pkg_and_run(package):
    assert 'a_package' in ros2('pkg', 'list', env=package)[1].split()
    assert ros2('run', 'a_package', 'greet', 'all', env=package)[:2] == (0, 'greetings all\n')


def test_goal_with_feedback(node):
    status, output, errors = ros2('action', 'send_goal', '--feedback', '/wait',
                                  'nav2_msgs/action/Wait', '{time: {sec: 1}}')
    assert status == 0, errors
    assert output.count('Feedback:') >= 5
    assert 'error_msg: none' in output
    assert output.endswith('Goal finished with status: SUCCEEDED\n')


@ours
def test_goal_that_is_refused(node):
    status, output, _ = ros2('action', 'send_goal', '/wait', 'nav2_msgs/action/Wait',
                             '{time: {sec: 100}}')
    assert (status, 'Goal was rejected.' in output) == (1, True)


@ours
def test_interrupt_cancels_the_goal(node):
    process = subprocess.Popen(
        ['ros2', 'action', 'send_goal', '/wait', 'nav2_msgs/action/Wait', '{time: {sec: 90}}'],
        stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if 'accepted' in line:
            break
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert 'Canceling the goal' in output
    assert process.returncode == 130


@ours
@pytest.mark.parametrize(('arguments', 'said'), [
    (['info', '/nothing'], "no action '/nothing'"),
    (['send_goal', '/wait', 'nav2_msgs/action/Wat', '{}'], "no action type 'nav2_msgs"),
    (['send_goal', '/wait', 'nav2_msgs/action/Wait', '{tim: 1}'], 'does not fit'),
    (['send_goal', '/wait', 'nav2_msgs/action/Wait', '5'], 'must be a YAML mapping'),
    (['send_goal', '-t', '0.1', '/nothing', 'nav2_msgs/action/Wait', '{}'], 'no server of'),
])
def test_action_errors_are_named(arguments, said):
    status, _, errors = ros2('action', *arguments)
    assert status == 1
    assert said in errors
    assert 'Traceback' not in errors


def test_launch_from_a_package(package):
    status, output, errors = ros2('launch', 'a_package', 'say.launch.py', 'word:=a b', env=package)
    assert status == 0, errors
    assert 'got a b' in output


@ours
def test_launch_shows_arguments(tmp_path):
    path = tmp_path / 'say.launch.py'
    path.write_text(LAUNCH_FILE)
    status, output, _ = ros2('launch', '--show-args', path)
    assert status == 0
    assert "'word': what to say  (required)" in output
    assert "'wait': how long, s  (default: '0')" in output
    assert ros2('launch', path)[0] == 1  # without the required one
    assert ros2('launch', '--print', path)[1].count('DeclareLaunchArgument') == 2


@pytest.mark.parametrize('number', [
    signal.SIGINT, pytest.param(signal.SIGTERM, marks=ours)])       # launch's own leaves orphans
def test_launch_ends_its_processes_on_a_signal(tmp_path, number):
    path = tmp_path / 'say.launch.py'
    path.write_text(LAUNCH_FILE)
    process = subprocess.Popen(['ros2', 'launch', path, 'word:=x', 'wait:=60'], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    started = None
    for line in process.stdout:
        if 'started with pid' in line:
            started = int(line.split('[')[-1].strip(']\n '))
        if 'got x' in line:
            break
    process.send_signal(number)
    process.communicate(timeout=30)
    with pytest.raises(ProcessLookupError):
        os.kill(started, 0)


@ours
def test_launch_that_waits_for_nothing_ends(tmp_path):
    path = tmp_path / 'waits.launch.py'
    path.write_text("""
import asyncio
from launch import Action, LaunchDescription
from launch.actions import LogInfo


class Forever(Action):
    def execute(self, context):
        self.future = context.asyncio_loop.create_future()

    def get_asyncio_future(self):
        return self.future


def generate_launch_description():
    return LaunchDescription([Forever(), LogInfo(msg='it waits')])
""")
    process = subprocess.Popen(['ros2', 'launch', path], text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in process.stdout:
        if 'it waits' in line:
            break
    time.sleep(2.0)           # by now launch has taken note of what it waits for
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, 'every process has ended' in output) == (1, True), output


def test_launch_errors_are_named(package, tmp_path, monkeypatch, capsys):
    launch = pytest.importorskip('oomwoo_ros2_verbs.launch')
    monkeypatch.setenv('AMENT_PREFIX_PATH', package['AMENT_PREFIX_PATH'])
    for words, said in (
            (['nowhere', 'say.launch.py'], "no package 'nowhere'"),
            (['a_package', 'other.launch.py'], r'has no launch file .*it has: say.launch.py'),
            (['a_package'], 'give: a_package FILE.launch.py'),
            (['gone/say.launch.py'], "no launch file 'gone/say.launch.py'")):
        with pytest.raises(launch.LaunchError, match=said):
            launch.resolve(words)
    for word in ('word', 'word=x', ':=x'):
        with pytest.raises(launch.LaunchError, match='name:=value'):
            launch.parse_arguments([word])
    assert launch.parse_arguments(['a:=1', 'b:=x:=y', 'a:=']) == [('a', ''), ('b', 'x:=y')]


def test_arrays_come_through_dds_with_this_numpy():
    program = """
import array, time
import numpy as np
import rclpy
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import LaserScan
rclpy.init()
node = rclpy.create_node('arrays')
got = {}
for kind, topic in ((LaserScan, 'scan'), (OccupancyGrid, 'map')):
    node.create_subscription(kind, topic, lambda m, t=topic: got.setdefault(t, m), 10)
scans = node.create_publisher(LaserScan, 'scan', 10)
grids = node.create_publisher(OccupancyGrid, 'map', 10)
ranges = np.linspace(0.1, 8.0, 360, dtype=np.float32)
cells = np.arange(-1, 99, dtype=np.int8)
scan, grid = LaserScan(), OccupancyGrid()
scan.ranges = array.array('f', ranges.tobytes())
grid.data = array.array('b', cells.tobytes())
end = time.monotonic() + 30
while len(got) < 2 and time.monotonic() < end:
    scans.publish(scan)
    grids.publish(grid)
    rclpy.spin_once(node, timeout_sec=0.05)
assert np.array_equal(np.asarray(got['scan'].ranges, dtype=np.float32), ranges)
assert np.array_equal(np.frombuffer(got['map'].data, dtype=np.int8), cells)
rclpy.shutdown()
"""
    subprocess.run([sys.executable, '-c', program], check=True, timeout=60)
