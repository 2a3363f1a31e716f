"""The detector's node over real DDS, against a scanner and receivers that are made up."""
import math
from pathlib import Path
import signal
import subprocess
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
from dock_scenes import around, outline, ROOM, see
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TransformStamped
import numpy as np
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.ros_support import LATCHED_QOS, pose_from_msg, pose_to_msg, SENSOR_QOS
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Float32
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

ODOM = np.array([0.7, -0.3, 0.4])          # the robot in odom
AHEAD = around(0.9, 0.2)                   # the robot in the dock frame, its back to the dock


class Bench:
    """The other side of the graph."""

    def __init__(self):
        """Listen, and publish nothing yet."""
        self.node = rclpy.create_node('dock_bench')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        create = self.node.create_publisher
        self.scans = create(LaserScan, 'scan', SENSOR_QOS)
        self.light = [create(Float32, f'dock_ir/{side}', 10) for side in ('left', 'right')]
        self.hints = create(PoseWithCovarianceStamped, 'dock_detector/hint', 1)
        self.moving = TransformBroadcaster(self.node)
        self.fixed = StaticTransformBroadcaster(self.node)
        self.poses, self.sure, self.status = [], [], []
        listen = self.node.create_subscription
        listen(PoseStamped, 'dock_detector/pose', self.poses.append, 10)
        listen(PoseWithCovarianceStamped, 'dock_detector/pose_with_covariance', self.sure.append,
               10)
        listen(DiagnosticStatus, 'dock_detector/status', self.status.append, LATCHED_QOS)
        self.rng = np.random.default_rng(1)
        self._transform(self.fixed, 'base_footprint', 'base_scan', (0.0745, 0.0, 0.0))

    def _transform(self, broadcaster, parent, child, pose):
        msg = TransformStamped(child_frame_id=child)
        msg.header.frame_id = parent
        msg.header.stamp = self.node.get_clock().now().to_msg()
        at = pose_to_msg(pose)
        msg.transform.translation.x, msg.transform.translation.y = at.position.x, at.position.y
        msg.transform.rotation = at.orientation
        broadcaster.sendTransform(msg)

    def publish(self, base, segments=None, light=None, **header):
        """Publish transforms, the receivers' readings and a scan of this instant."""
        self._transform(self.moving, 'odom', 'base_footprint', ODOM)
        for publisher, strength in zip(self.light, light or ()):
            publisher.publish(Float32(data=strength))
        scan, _ = see(base, segments, noise_m=0.005, rng=self.rng)
        msg = LaserScan(
            angle_min=scan.angle_min, angle_increment=scan.angle_increment, range_min=0.05,
            range_max=8.0, ranges=scan.ranges.tolist())
        msg.header.frame_id = 'base_scan'
        msg.header.stamp = self.node.get_clock().now().to_msg()
        for name, value in header.items():
            setattr(msg if hasattr(msg, name) else msg.header, name, value)
        self.scans.publish(msg)

    def spin(self, seconds, until=lambda: False, base=AHEAD, **scene):
        """Publish at 10 Hz and listen; True as soon as ``until`` holds."""
        end, due = time.monotonic() + seconds, 0.0
        while time.monotonic() < end:
            if base is not None and time.monotonic() >= due:
                self.publish(base, **scene)
                due = time.monotonic() + 0.1
            self.executor.spin_once(timeout_sec=0.02)
            if until():
                return True
        return False

    def says(self, words):
        """Tell whether the newest status has the words."""
        return bool(self.status) and words in self.status[-1].message

    def hint(self, in_base, frame='odom', sigma_m=0.05):
        """Publish a hint: the dock in base_footprint, said in another frame."""
        msg = PoseWithCovarianceStamped()
        msg.header.frame_id = frame
        msg.pose.pose = pose_to_msg(compose(ODOM, in_base))
        msg.pose.covariance[0] = msg.pose.covariance[7] = sigma_m ** 2
        msg.pose.covariance[35] = 0.08 ** 2
        self.hints.publish(msg)


@pytest.fixture(scope='module')
def process():
    """Return a running node of its own process."""
    command = [sys.executable, '-m', 'oomwoo_clean.dock_detector_node', '--ros-args',
               '-p', 'hint_kept_s:=1.5']
    running = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    yield running
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=45)
    assert running.returncode == 0 and 'Traceback' not in said, said


@pytest.fixture(scope='module')
def connected(process):
    """Return a bench that the node has heard of."""
    rclpy.init()
    bench = Bench()
    assert bench.spin(60.0, lambda: bench.status and bench.scans.get_subscription_count(), None)
    yield bench
    bench.node.destroy_node()
    rclpy.shutdown()


@pytest.fixture
def bench(connected):
    """Forget what was said in the test before."""
    connected.spin(0.3, base=None)
    for heard in (connected.poses, connected.sure):
        heard.clear()
    return connected


def test_nothing_is_said_before_there_is_a_scan(bench):
    assert bench.spin(20.0, lambda: bench.says('no scan on topic scan'), base=None)
    assert not bench.poses


def test_the_dock_is_published_in_odom_with_its_covariance(bench):
    assert bench.spin(30.0, lambda: len(bench.sure) > 5, light=(0.4, 0.38))
    expected = compose(ODOM, inverse(AHEAD))
    pose = pose_from_msg(bench.poses[-1].pose)
    assert bench.poses[-1].header.frame_id == 'odom'
    np.testing.assert_allclose(pose[:2], expected[:2], atol=0.01)
    assert abs(pose[2] - expected[2]) < math.radians(1.5)
    covariance = np.reshape(bench.sure[-1].pose.covariance, (6, 6))
    assert (np.diag(covariance)[[0, 1, 5]] > 0.0).all()
    assert math.sqrt(covariance[0, 0]) < 0.01
    assert bench.spin(5.0, lambda: bench.says('dock in sight'), light=(0.4, 0.38))
    stamp = bench.poses[-1].header.stamp
    assert (stamp.sec, stamp.nanosec) != (0, 0)


def test_light_from_elsewhere_refuses_it(bench):
    assert bench.spin(20.0, lambda: bench.says('no dock'), light=(0.35, 0.06))
    bench.poses.clear()
    assert not bench.spin(1.0, lambda: bench.poses, light=(0.35, 0.06))


def test_readings_that_are_no_numbers_or_stale_leave_the_lidar(bench):
    """Both sides of the bay are in view from here: it is found without the beacon as well."""
    bench.spin(1.0, light=(math.nan, -math.inf))
    bench.poses.clear()
    assert bench.spin(20.0, lambda: bench.poses, light=(math.nan, -math.inf))
    bench.poses.clear()
    assert bench.spin(20.0, lambda: bench.poses)


def test_from_the_side_a_hint_decides_while_it_holds(bench):
    from_the_side = around(1.2, math.radians(72), 2.5)
    bench.spin(1.0, base=from_the_side)
    bench.poses.clear()
    assert not bench.spin(1.5, lambda: bench.poses, base=from_the_side)
    bench.hint(inverse(from_the_side), frame='nowhere')
    bench.hint(inverse(from_the_side), sigma_m=0.0)
    assert not bench.spin(1.0, lambda: bench.poses, base=from_the_side)
    bench.hint(inverse(from_the_side))
    assert bench.spin(10.0, lambda: bench.poses, base=from_the_side)
    expected = compose(ODOM, inverse(from_the_side))
    assert np.hypot(*(pose_from_msg(bench.poses[-1].pose) - expected)[:2]) < 0.05
    assert bench.spin(10.0, lambda: bench.says('no dock'), base=from_the_side), 'it has expired'


def test_a_broken_header_is_named_and_survived(bench):
    assert bench.spin(20.0, lambda: bench.says('angle_increment is 0'), angle_increment=0.0,
                      light=(0.4, 0.38))
    assert bench.spin(20.0, lambda: bench.says('no transform base_footprint <- attic'),
                      frame_id='attic', light=(0.4, 0.38))
    bench.poses.clear()
    assert bench.spin(20.0, lambda: bench.poses, light=(0.4, 0.38))


def test_an_empty_room_says_why(bench):
    bench.spin(0.6, segments=ROOM)
    bench.poses.clear()
    assert bench.spin(20.0, lambda: bench.says('no dock: '), segments=ROOM)
    half = [*outline()[:3], *ROOM]
    assert bench.spin(20.0, lambda: bench.says('no dock: '), segments=half)
    assert not bench.poses


BAD_STARTS = (
    ('dock_width:=0.0', 'dock_width'), ('farthest_m:=far', 'farthest_m'),
    ('robot_file:=/nowhere.yaml', 'nowhere'))
TRY_ALL = """
import sys
from oomwoo_clean.dock_detector_node import main
for bad in sys.argv[1:]:
    status = main(['--ros-args', '-p', bad])
    print('status', status, file=sys.stderr, flush=True)
"""


def test_a_bad_start_is_refused_by_name():
    tried = subprocess.run([sys.executable, '-c', TRY_ALL, *(bad for bad, _ in BAD_STARTS)],
                           capture_output=True, text=True, timeout=90)
    said = tried.stderr.split('status 2\n')
    assert len(said) == len(BAD_STARTS) + 1 and 'Traceback' not in tried.stderr, tried.stderr
    for (bad, words), output in zip(BAD_STARTS, said):
        assert 'error: ' in output and words in output, (bad, output)
