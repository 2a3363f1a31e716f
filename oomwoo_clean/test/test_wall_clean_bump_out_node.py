"""The bump-out's node over real DDS, against a fake base."""
from pathlib import Path
import signal
import subprocess
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from oomwoo_localization.ros_support import LATCHED_QOS, pose_to_msg
import pytest
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool


class Bench:
    """The other side of the graph: odometry and bumpers, and ears for what the node says."""

    def __init__(self):
        """Start publishing nothing."""
        self.node = rclpy.create_node('bench')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        publisher, listen = self.node.create_publisher, self.node.create_subscription
        self.odometry = publisher(Odometry, 'odom', 10)
        self.bumpers = {s: publisher(Bool, f'bumper/{s}', 10) for s in ('left', 'right')}
        self.reflex = publisher(Bool, 'escape_reflex/active', LATCHED_QOS)
        self.reflex_drives = False          # said again and again, as the reflex does
        self.x, self.pressed = 0.0, {'left': False, 'right': False}
        self.commands, self.states, self.events, self.status = [], [], [], []
        self.flags = {'touch_cleaning': [], 'cleaning_active': []}
        listen(Twist, 'cmd_vel', lambda m: self.commands.append((m.linear.x, m.angular.z)), 10)
        listen(String, 'wall_clean_bump_out/state', lambda m: self.states.append(m.data),
               LATCHED_QOS)
        listen(String, 'wall_clean_bump_out/event', lambda m: self.events.append(m.data), 10)
        listen(DiagnosticStatus, 'wall_clean_bump_out/status', self.status.append, LATCHED_QOS)
        for name, heard in self.flags.items():
            listen(Bool, name, lambda m, heard=heard: heard.append(m.data), LATCHED_QOS)
        self.enabler = self.node.create_client(SetBool, 'wall_clean_bump_out/enable')
        self.setter = self.node.create_client(
            SetParameters, 'wall_clean_bump_out/set_parameters')

    def say(self, odom=True, bumper=True):
        """Publish odometry that follows the last command, both bumpers, a reflex that drives."""
        if self.reflex_drives:
            self.reflex.publish(Bool(data=True))
        if bumper:
            for side, publisher in self.bumpers.items():
                publisher.publish(Bool(data=self.pressed[side]))
        if odom:
            self.x += 0.05 * (self.commands[-1][0] if self.commands else 0.0)
            msg = Odometry()
            msg.header.stamp = self.node.get_clock().now().to_msg()
            msg.pose.pose = pose_to_msg((self.x, 0.0, 0.0))
            self.odometry.publish(msg)

    def spin(self, seconds, until=lambda: False, **said):
        """Listen for some time and publish at 20 Hz; True as soon as ``until`` holds."""
        end, due = time.monotonic() + seconds, 0.0
        while time.monotonic() < end:
            if time.monotonic() >= due:
                self.say(**said)
                due = time.monotonic() + 0.05
            self.executor.spin_once(timeout_sec=0.02)
            if until():
                return True
        return False

    def reaches(self, state, **said):
        """Tell whether the node gets into a state in time."""
        return self.spin(15.0, lambda: self.states[-1:] == [state], **said)

    def stands_for(self, code, **said):
        """Tell whether the node stands and says why in time."""
        return self.spin(
            15.0, lambda: self.reason() == code and self.commands[-1:] == [(0.0, 0.0)], **said)

    def reason(self):
        """Return the reason_code of the newest status."""
        return self.evidence('reason_code')

    def evidence(self, key):
        """Return a value of the newest status."""
        return {p.key: p.value for p in self.status[-1].values}[key]

    def enable(self, on):
        """Call the service; return what it answers."""
        return self.answer(on).message

    def answer(self, on):
        """Call the service; return its response."""
        future = self.enabler.call_async(SetBool.Request(data=on))
        self.executor.spin_until_future_complete(future, 15.0)
        return future.result()

    def set_parameter(self, name, value):
        """Set a parameter of the node; return the result."""
        message = Parameter(name, value=value).to_parameter_msg()
        future = self.setter.call_async(SetParameters.Request(parameters=[message]))
        self.executor.spin_until_future_complete(future, 15.0)
        return future.result().results[0]


def start(*parameters):
    """Start the node as a process of its own."""
    arguments = [part for parameter in parameters for part in ('-p', parameter)]
    command = [
        sys.executable, '-m', 'oomwoo_clean.wall_clean_bump_out_node', '--ros-args', *arguments]
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])


@pytest.fixture(scope='module')
def running():
    """Return a bench with a running node; one for all tests, for a process takes long to start."""
    process = start('seed:=1')
    rclpy.init()
    bench = Bench()
    assert bench.enabler.wait_for_service(60.0) and bench.setter.wait_for_service(60.0)
    bench.process = process
    yield bench
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    bench.executor.shutdown()
    bench.node.destroy_node()
    rclpy.try_shutdown()


@pytest.fixture
def bench(running):
    """Return the bench with the node disabled and nothing heard yet."""
    running.enable(False)
    running.pressed = {'left': False, 'right': False}
    assert running.spin(15.0, lambda: running.states[-1:] == ['IDLE'])
    running.spin(0.2)
    for heard in (running.commands, running.events):
        heard.clear()
    return running


def test_drives_only_while_enabled_and_goes_back_on_a_bump(bench):
    bench.spin(0.5)
    # It says nothing as yet: another behaviour may just have said that it touches, or cleans.
    assert bench.commands == [] and bench.flags == {'touch_cleaning': [], 'cleaning_active': []}

    assert bench.enable(True) == 'enabled' and bench.enable(True) == 'already enabled'
    assert bench.reaches('DRIVE')
    assert bench.spin(15.0, lambda: bench.commands[-1:] == [(0.28, 0.0)])
    assert bench.flags['touch_cleaning'][-1] is True
    assert bench.spin(15.0, lambda: bench.flags['cleaning_active'][-1] is True)
    bench.spin(0.5)

    bench.pressed['right'] = True
    assert bench.reaches('BACK')
    assert bench.spin(15.0, lambda: bench.commands[-1][0] < 0.0)
    assert bench.events == ['wall new']
    bench.pressed['right'] = False
    assert bench.reaches('TURN')
    assert bench.spin(15.0, lambda: bench.commands[-1][1] > 1.0)      # away: to the left
    assert 'surface on the right' in bench.status[-1].message

    bench.enable(False)
    assert bench.spin(15.0, lambda: bench.commands[-1] == (0.0, 0.0))
    assert bench.reaches('IDLE')
    assert bench.spin(15.0, lambda: not (
        bench.flags['touch_cleaning'][-1] or bench.flags['cleaning_active'][-1]))
    bench.commands.clear()
    bench.spin(0.4)
    assert bench.commands == []


def test_stands_without_odometry_or_bumper_and_goes_on_after(bench):
    bench.enable(True)
    assert bench.reaches('DRIVE')
    assert bench.stands_for('STALE_ODOMETRY', odom=False)
    assert '/odom' in bench.status[-1].message and bench.states[-1] == 'HALT'
    assert bench.reaches('DRIVE')
    assert bench.stands_for('STALE_BUMPER', bumper=False)
    assert '/bumper/left and /bumper/right' in bench.status[-1].message
    assert bench.spin(15.0, lambda: bench.flags['cleaning_active'][-1] is False, bumper=False)
    assert bench.reaches('DRIVE')


def test_stands_while_the_escape_reflex_drives(bench):
    bench.enable(True)
    assert bench.reaches('DRIVE')
    bench.reflex_drives = True
    assert bench.stands_for('ESCAPE_REFLEX')
    assert bench.flags['touch_cleaning'][-1] is True       # it is not done, it only waits
    bench.spin(0.2)
    bench.commands.clear()
    bench.spin(0.5)
    assert bench.commands == []                            # the reflex alone writes
    bench.reflex_drives = False
    bench.reflex.publish(Bool(data=False))
    assert bench.reaches('DRIVE')


def test_a_reflex_that_is_killed_while_it_drives_is_not_waited_for(bench):
    bench.enable(True)
    assert bench.reaches('DRIVE')
    bench.reflex.publish(Bool(data=True))
    assert bench.stands_for('ESCAPE_REFLEX')
    assert bench.reaches('DRIVE')


def test_one_of_two_drives(bench):
    follower = bench.node.create_publisher(String, 'contour_follower/state', LATCHED_QOS)

    def spin(until):
        def also():
            follower.publish(String(data='FOLLOW'))
            return until()
        return bench.spin(20.0, also)

    # The follower was first: refused, by name, and nothing is driven.
    bench.spin(2.0, lambda: follower.publish(String(data='FOLLOW')))
    answer = bench.answer(True)
    assert not answer.success and 'the contour follower drives (FOLLOW)' in answer.message
    assert bench.states[-1] == 'IDLE' and bench.commands == []
    # It stands: now it may. The follower comes on later: the first goes on, and says so.
    bench.spin(0.5, lambda: follower.publish(String(data='IDLE')))
    assert bench.answer(True).success and bench.reaches('DRIVE')
    bench.spin(2.5)
    assert spin(lambda: 'contour follower' in bench.evidence('other_driver'))
    assert bench.states[-1] != 'IDLE'
    bench.enable(False)
    # Both at the same time: whoever has only just begun ends.
    bench.spin(0.5, lambda: follower.publish(String(data='IDLE')))
    assert bench.answer(True).success
    assert spin(lambda: bench.reason() == 'OTHER_DRIVER')
    assert bench.states[-1] == 'IDLE' and bench.status[-1].level == DiagnosticStatus.WARN
    bench.spin(0.5, lambda: follower.publish(String(data='IDLE')))
    bench.node.destroy_publisher(follower)


def test_a_bumper_pressed_from_the_start_holds_it(bench):
    bench.pressed['left'] = True
    bench.spin(0.3)
    bench.enable(True)
    assert bench.stands_for('BUMPER_PRESSED')
    assert all(command == (0.0, 0.0) for command in bench.commands)
    bench.pressed['left'] = False
    assert bench.reaches('DRIVE')


def test_takes_parameters_while_driving_and_refuses_what_cannot_be(bench):
    bench.enable(True)
    assert bench.reaches('DRIVE')
    refused = bench.set_parameter('glide_least_m', 0.9)
    assert not refused.successful and 'glide_most_m' in refused.reason
    assert bench.set_parameter('cruise_speed', 0.11).successful
    assert bench.spin(15.0, lambda: bench.commands[-1] == (0.11, 0.0))
    assert bench.set_parameter('cruise_speed', 0.28).successful


def test_stops_when_its_time_is_over(bench):
    assert bench.set_parameter('duration_s', 0.8).successful
    bench.enable(True)
    assert bench.spin(15.0, lambda: bench.reason() == 'DONE')
    assert bench.spin(15.0, lambda: bench.commands[-1:] == [(0.0, 0.0)])
    assert bench.states[-1] == 'IDLE' and bench.set_parameter('duration_s', 0.0).successful


def test_refuses_a_parameter_by_name():
    process = start('jitter:=3.0')
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2 and 'jitter' in errors


def test_leaves_the_robot_standing_when_it_is_ended(bench):
    bench.enable(True)
    assert bench.spin(15.0, lambda: bench.commands[-1:] == [(0.28, 0.0)])
    bench.process.send_signal(signal.SIGTERM)
    assert bench.spin(15.0, lambda: bench.commands[-1] == (0.0, 0.0))
    assert bench.process.wait(30) == 0
