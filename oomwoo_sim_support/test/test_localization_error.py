"""The meters' arithmetic, and the two nodes against a truth that is off by a known amount."""
import math
import os
import signal
import subprocess
import sys
import time

from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
from nav_msgs.msg import Odometry
import numpy as np
from oomwoo_localization.ros_support import pose_to_msg
from oomwoo_sim_support.localization_error import ErrorMeter, pose_error, PoseHistory, SlipMeter
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.time import Time
from std_msgs.msg import Float32
from tf2_msgs.msg import TFMessage


def test_an_error_is_a_distance_and_an_angle():
    position_m, yaw_deg = pose_error((1.03, 2.04, math.pi - 0.01), (1.0, 2.0, -math.pi + 0.01))
    assert position_m == pytest.approx(0.05)
    assert yaw_deg == pytest.approx(math.degrees(0.02))


def test_a_pose_between_two_and_none_outside():
    history = PoseHistory(keep_s=1.0)
    history.add(1.0, (0.0, 0.0, 3.1))
    history.add(1.5, (1.0, 2.0, -3.1))
    np.testing.assert_allclose(history.at(1.0), (0.0, 0.0, 3.1))
    between = history.at(1.25)
    assert between[:2] == pytest.approx((0.5, 1.0))
    assert math.cos(between[2]) == pytest.approx(-1.0, abs=1e-6)
    assert history.at(0.9) is None and history.at(1.6) is None
    history.add(2.3, (0.0, 0.0, 0.0))
    assert not history.covers(1.2), 'older than a second'
    history.add(0.2, (0.0, 0.0, 0.0))
    assert not history.covers(2.3) and history.covers(0.2), 'time went back'


def test_rms_and_worst():
    meter = ErrorMeter()
    assert meter.rms.tolist() == [0.0, 0.0]
    meter.add(0.03, 1.0)
    meter.add(0.04, 0.0)
    assert meter.count == 2
    assert meter.rms == pytest.approx([math.sqrt(0.00125), math.sqrt(0.5)])
    assert meter.worst == pytest.approx([0.04, 1.0])


def test_slip_adds_up_past_half_a_turn_and_has_a_rate():
    meter = SlipMeter()
    for k in range(101):
        truth = 2.0 * 0.05 * k
        rate, slip = meter.update(0.05 * k, 1.05 * truth + 0.3, truth)
    assert rate == pytest.approx(math.degrees(0.1))
    assert slip == pytest.approx(math.degrees(0.5))
    rate, slip = meter.update(0.1, 0.0, 0.0)
    assert (rate, slip) == (0.0, 0.0), 'time went back'


class Truth:
    """A truth, odometry that turns 10 % too far, and a pose that is 3 cm and 1 deg off."""

    def __init__(self):
        self.node = rclpy.create_node('truth')
        self.step_s = 0.05
        self.time_s = 0.0
        self.values = {}
        self._pub = {name: self.node.create_publisher(kind, name, 10) for name, kind in (
            ('odom', Odometry), ('odom_truth', Odometry), ('pose', PoseWithCovarianceStamped))}
        self._tf = self.node.create_publisher(TFMessage, '/tf', 10)
        for topic in ('loc_err_tf/pos_err_m', 'loc_err_tf/yaw_err_deg', 'loc_err_pose/pos_err_m',
                      'loc_err_pose/yaw_err_deg', 'odom_slip/slip_deg', 'odom_slip/slip_rate_dps'):
            self.node.create_subscription(
                Float32, topic, lambda msg, topic=topic: self.values.__setitem__(topic, msg.data),
                10)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)

    def step(self):
        """Send everything of one instant."""
        self.time_s += self.step_s
        stamp = Time(seconds=self.time_s).to_msg()
        yaw = 0.5 * self.time_s
        for name, frame, pose in (
                ('odom_truth', 'map', (1.0, 2.0, yaw)), ('odom', 'odom', (0.0, 0.0, 1.1 * yaw)),
                ('pose', 'map', (1.03, 2.0, yaw + math.radians(1.0)))):
            msg = PoseWithCovarianceStamped() if name == 'pose' else Odometry()
            msg.header.frame_id, msg.header.stamp = frame, stamp
            msg.pose.pose = pose_to_msg(pose)
            self._pub[name].publish(msg)
        tf = TransformStamped(child_frame_id='base_footprint')
        tf.header.frame_id, tf.header.stamp = 'map', stamp
        tf.transform.translation.x, tf.transform.translation.y = 1.0, 2.04
        tf.transform.rotation = pose_to_msg((0.0, 0.0, yaw)).orientation
        self._tf.publish(TFMessage(transforms=[tf]))
        until = time.monotonic() + 0.02
        while (left := until - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)


def test_the_nodes_measure_what_is_off():
    rclpy.init()
    commands = [
        ('localization_error', '-r', '__node:=loc_err_tf'),
        ('localization_error', '-r', '__node:=loc_err_pose', '-p', 'source:=pose'),
        ('odom_slip',)]
    processes = [subprocess.Popen(
        [sys.executable, '-m', f'oomwoo_sim_support.{name}_node', '--ros-args', *rest],
        env=dict(os.environ, OMP_NUM_THREADS='1'), stderr=subprocess.PIPE, text=True)
        for name, *rest in commands]
    world = Truth()
    try:
        patience = time.monotonic() + 90.0
        while len(world.values) < 6 and time.monotonic() < patience:
            world.step()
        for _ in range(20):
            world.step()
        assert world.values['loc_err_tf/pos_err_m'] == pytest.approx(0.04, abs=1e-6)
        assert world.values['loc_err_tf/yaw_err_deg'] == pytest.approx(0.0, abs=1e-4)
        assert world.values['loc_err_pose/pos_err_m'] == pytest.approx(0.03, abs=1e-6)
        assert world.values['loc_err_pose/yaw_err_deg'] == pytest.approx(1.0, abs=1e-4)
        rate = world.values['odom_slip/slip_rate_dps']
        assert rate == pytest.approx(math.degrees(0.05), rel=1e-3)
        assert world.values['odom_slip/slip_deg'] > 2.0
    finally:
        for process in processes:
            process.send_signal(signal.SIGINT)
        said = [process.communicate(timeout=60)[1] for process in processes]
        world.executor.shutdown()
        world.node.destroy_node()
        rclpy.shutdown()
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert 'position 40.0 mm rms' in said[0] and 'heading slipped by' in said[2]
