"""The follower's node over real DDS, against a fake scanner."""
import math
from pathlib import Path
import signal
import subprocess
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, Pose, PoseArray, TransformStamped, Twist
from nav_msgs.msg import Odometry
from oomwoo_localization.ros_support import LATCHED_QOS, SENSOR_QOS
import pytest
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool
from tf2_ros import StaticTransformBroadcaster

BEAMS = 360
MOUNT_X_M = 0.0745


class Bench:
    """The other side of the graph: a scanner at a wall, and ears for what the node says."""

    def __init__(self):
        """Start publishing nothing."""
        self.node = rclpy.create_node('bench')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.scans = self.node.create_publisher(LaserScan, 'scan', SENSOR_QOS)
        self.bumper = self.node.create_publisher(Bool, 'bumper/left', 10)
        self.odometry = self.node.create_publisher(Odometry, 'odom', 10)
        self.touched = self.node.create_publisher(
            PoseArray, 'contour_follower/touched', LATCHED_QOS)
        self.touching = []
        self.broadcaster = None
        self.commands, self.states, self.events, self.status = [], [], [], []
        listen = self.node.create_subscription
        listen(Twist, 'cmd_vel', lambda m: self.commands.append((m.linear.x, m.angular.z)), 10)
        listen(String, 'contour_follower/state', lambda m: self.states.append(m.data), LATCHED_QOS)
        listen(String, 'contour_follower/event', lambda m: self.events.append(m.data), 10)
        listen(Bool, 'touch_cleaning', lambda m: self.touching.append(m.data), LATCHED_QOS)
        listen(DiagnosticStatus, 'contour_follower/status', self.status.append, LATCHED_QOS)
        self.enabler = self.node.create_client(SetBool, 'contour_follower/enable')

    def send_mount(self, frame='base_scan'):
        """Tell where the scanner is."""
        if self.broadcaster is None:
            self.broadcaster = StaticTransformBroadcaster(self.node)
        transform = TransformStamped()
        transform.header.frame_id, transform.child_frame_id = 'base_footprint', frame
        transform.header.stamp = self.node.get_clock().now().to_msg()
        transform.transform.translation.x, transform.transform.translation.z = MOUNT_X_M, 0.088
        transform.transform.rotation.w = 1.0
        self.broadcaster.sendTransform(transform)

    def scan(self, distance_m=0.23, frame='base_scan', age_s=0.0):
        """Publish a scan of an endless wall straight out to the right."""
        msg = LaserScan()
        now = self.node.get_clock().now().nanoseconds - int(age_s * 1e9)
        msg.header.stamp.sec, msg.header.stamp.nanosec = divmod(now, 10 ** 9)
        msg.header.frame_id = frame
        msg.angle_min, msg.angle_increment = -math.pi, 2.0 * math.pi / BEAMS
        msg.range_min, msg.range_max = 0.05, 8.0
        angles = [msg.angle_min + i * msg.angle_increment for i in range(BEAMS)]
        msg.ranges = [
            distance_m / -math.sin(a) if math.sin(a) < -0.03 else math.inf for a in angles]
        self.scans.publish(msg)
        return msg

    def odom(self):
        """Publish that the robot stands where odometry began."""
        msg = Odometry()
        msg.header.stamp = self.node.get_clock().now().to_msg()
        msg.header.frame_id = 'odom'
        msg.pose.pose.orientation.w = 1.0
        self.odometry.publish(msg)

    def spin(self, seconds, scans=True, until=lambda: False, **scan):
        """Listen for some time and publish scans at 10 Hz; True as soon as ``until`` holds."""
        end, due = time.monotonic() + seconds, 0.0
        while time.monotonic() < end:
            if scans and time.monotonic() >= due:
                self.scan(**scan)
                due = time.monotonic() + 0.1
            self.executor.spin_once(timeout_sec=0.02)
            if until():
                return True
        return False

    def enable(self, on):
        """Call the service; return its response."""
        assert self.enabler.wait_for_service(60.0)
        future = self.enabler.call_async(SetBool.Request(data=on))
        self.executor.spin_until_future_complete(future, 5.0)
        return future.result()

    def last_status(self):
        """Return the newest status as (level, message, values)."""
        status = self.status[-1]
        return status.level, status.message, {pair.key: pair.value for pair in status.values}


def start(*parameters):
    """Start the node as a process of its own."""
    arguments = [part for parameter in parameters for part in ('-p', parameter)]
    command = [
        sys.executable, '-m', 'oomwoo_clean.contour_follower_node', '--ros-args', *arguments]
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])


@pytest.fixture(scope='module')
def running():
    """Return a bench with a running node; one for all tests, for a process takes long to start."""
    process = start()
    rclpy.init()
    bench = Bench()
    assert bench.enabler.wait_for_service(60.0)
    bench.send_mount()
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
    running.spin(0.3, scans=False)
    running.commands.clear()
    running.events.clear()
    return running


def test_drives_only_while_enabled_and_bumps_once(bench):
    bench.spin(0.6)
    assert bench.commands == [] and bench.states[-1] == 'IDLE'

    assert bench.enable(True).message == 'enabled'
    assert bench.spin(5.0, until=lambda: bench.states[-1] == 'FOLLOW')
    bench.spin(0.3)
    linear, angular = bench.commands[-1]
    assert linear == pytest.approx(0.15, abs=0.005) and angular == pytest.approx(0.0, abs=0.05)
    assert bench.enable(True).message == 'already enabled'

    bench.commands.clear()
    bench.bumper.publish(Bool(data=True))
    assert bench.spin(2.0, scans=False, until=lambda: bool(bench.commands))
    assert bench.commands[0] == (0.0, 0.0)                       # at once, without a scan
    bench.bumper.publish(Bool(data=False))
    assert bench.spin(2.0, until=lambda: bench.commands[-1][0] < 0.0)
    assert bench.spin(3.0, until=lambda: bench.commands[-1] == (0.0, 0.0))
    assert bench.states[-1] == 'HALT' and bench.events == ['bump left']
    assert bench.last_status()[2]['reason_code'] == 'BUMP'

    bench.enable(True)
    assert bench.spin(3.0, until=lambda: bench.states[-1] == 'FOLLOW')
    bench.enable(False)
    bench.spin(0.3)
    assert bench.commands[-1] == (0.0, 0.0) and bench.states[-1] == 'IDLE'
    bench.commands.clear()
    bench.spin(0.5)
    assert bench.commands == []


def test_stands_on_scans_it_cannot_drive_by_and_goes_on_after(bench):
    bench.enable(True)
    following = lambda: bench.states[-1] == 'FOLLOW'             # noqa: E731
    assert bench.spin(5.0, until=following)

    def stands(code, **scans):
        """Wait until the node gives the reason; it must stand then."""
        said = bench.spin(
            3.0, until=lambda: bench.last_status()[2]['reason_code'] == code, **scans)
        bench.spin(0.1, **scans)
        return said and bench.states[-1] == 'LOST' and bench.commands[-1] == (0.0, 0.0)

    assert stands('STALE_SCAN', scans=False)
    assert 'no new scan on /scan' in bench.last_status()[1]
    assert bench.spin(5.0, until=following)

    assert stands('STALE_SCAN', age_s=2.0)     # older than the one before: no news
    assert bench.spin(5.0, until=following)

    assert stands('NO_TRANSFORM', frame='nowhere')
    level, message, values = bench.last_status()
    assert "'nowhere'" in message and level == DiagnosticStatus.WARN
    assert values['reason_code'] == 'NO_TRANSFORM'
    assert bench.spin(5.0, until=following)

    repeated = bench.scan()
    bench.spin(0.1, scans=False)
    bench.commands.clear()
    for _ in range(3):
        bench.scans.publish(repeated)
    bench.spin(0.3, scans=False)
    assert len(bench.commands) <= 1


def test_it_stands_while_an_escape_reflex_drives_and_goes_on_after(bench):
    """Without a word on cmd_vel, in the state it was in, and with a reason."""
    reflex = bench.node.create_publisher(Bool, 'escape_reflex/active', LATCHED_QOS)
    bench.enable(True)
    assert bench.spin(10.0, until=lambda: bench.states[-1:] == ['FOLLOW'])
    reflex.publish(Bool(data=True))
    assert bench.spin(5.0, until=lambda: bench.last_status()[2]['reason_code'] == 'REFLEX')
    bench.commands.clear()
    bench.spin(0.6)
    assert bench.commands == [] and bench.states[-1] == 'FOLLOW'
    reflex.publish(Bool(data=False))
    assert bench.spin(5.0, until=lambda: bool(bench.commands))
    # A reflex that has died is not waited for.
    reflex.publish(Bool(data=True))
    assert bench.spin(5.0, until=lambda: bench.last_status()[2]['reason_code'] == 'REFLEX')
    bench.commands.clear()
    assert bench.spin(6.0, until=lambda: bool(bench.commands))
    bench.enable(False)
    bench.node.destroy_publisher(reflex)


def test_takes_parameters_while_driving_and_refuses_what_cannot_be(bench):
    setter = bench.node.create_client(SetParameters, 'contour_follower/set_parameters')
    assert setter.wait_for_service(60.0)

    def set_parameter(name, value):
        message = Parameter(name, value=value).to_parameter_msg()
        future = setter.call_async(SetParameters.Request(parameters=[message]))
        bench.executor.spin_until_future_complete(future, 10.0)
        return future.result().results[0]

    bench.enable(True)
    assert bench.spin(5.0, until=lambda: bench.states[-1] == 'FOLLOW')
    refused = set_parameter('stop_margin_m', 0.08)
    assert not refused.successful and 'standoff_m: 0.23' in refused.reason
    assert set_parameter('speed', 0.1).successful        # would fail if the refused one had stuck
    assert bench.spin(3.0, until=lambda: bench.commands[-1][0] == pytest.approx(0.1, abs=0.005))


def test_traces_by_touch_and_says_so_until_the_bumper_falls_silent(bench):
    def feel(pressed, regular=True):
        bench.odom()
        if regular:
            bench.bumper.publish(Bool(data=pressed))

    def spin(seconds, until=lambda: False, pressed=False, regular=True):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            feel(pressed, regular)
            if bench.spin(0.1, until=until, distance_m=0.5):
                return True
        return False

    assert bench.enable(True).success
    assert spin(10.0, lambda: bench.commands and bench.commands[-1][0] > 0.05)
    assert bench.touching == []       # another behaviour may just have said that it touches
    feel(True)
    assert spin(10.0, lambda: bench.states[-1] == 'TOUCH')
    assert spin(5.0, lambda: bench.touching[-1:] == [True])
    assert spin(10.0, lambda: 'bump left' in bench.events)
    # It backs off, turns away from what it does not see, and goes on.
    assert spin(10.0, lambda: bench.commands[-1][0] < 0.0)
    assert spin(10.0, lambda: bench.commands[-1][1] > 0.5)
    # The bumper, which has repeated itself, says nothing any more: it stands.
    assert spin(10.0, lambda: 'bumper/left' in bench.last_status()[1], regular=False)
    assert bench.commands[-1] == (0.0, 0.0) and bench.last_status()[2]['state'] == 'LOST'
    bench.enable(False)
    assert spin(5.0, lambda: bench.touching[-1] is False and bench.states[-1] == 'IDLE')


def test_sees_what_it_is_told_that_touch_has_found(bench):
    msg = PoseArray(poses=[Pose(position=Point(x=0.4, y=y)) for y in (-0.1, -0.05, 0.0, 0.05)])
    msg.header.frame_id = 'odom'
    bench.touched.publish(msg)
    bench.spin(1.0, scans=False)
    bench.odom()
    bench.spin(0.5, scans=False)
    assert bench.enable(True).success
    end = time.monotonic() + 10.0
    while time.monotonic() < end and bench.states[-1] != 'TOUCH':
        bench.odom()
        bench.spin(0.1, distance_m=0.7)
    assert bench.states[-1] == 'TOUCH' and bench.events == []


def test_refuses_a_parameter_by_name():
    process = start('standoff_m:=0.05')
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert 'standoff_m' in errors


def test_leaves_the_robot_standing_when_it_is_ended(bench):
    bench.enable(True)
    assert bench.spin(5.0, until=lambda: bench.commands[-1:] and bench.commands[-1][0] > 0.05)
    bench.process.send_signal(signal.SIGTERM)
    assert bench.spin(5.0, scans=False, until=lambda: bench.commands[-1] == (0.0, 0.0))
    assert bench.process.wait(30) == 0
