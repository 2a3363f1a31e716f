"""Receivers and charging in the graph: the embedded simulator's own, and those beside Gazebo."""
import math
import signal
import time

from nav_msgs.msg import Odometry
import numpy as np
from oomwoo_localization.dock import docked_pose
from oomwoo_localization.frames import compose
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import pose_to_msg
from oomwoo_sim_support.layout import load_layout
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import BatteryState
from sim_graph import start_node
from std_msgs.msg import Float32

KITCHEN = load_layout('kitchen_dining')
DOCK = np.array(KITCHEN.dock.pose)
HOME = compose(DOCK, docked_pose(KITCHEN.dock, load_robot()) + [0.002, 0.0, 0.0])


class Ears:
    """Listens to receivers and battery, and tells where the robot is."""

    def __init__(self):
        """Hear nothing yet."""
        self.node = rclpy.create_node('ears')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.light, self.battery = {'left': [], 'right': []}, []
        for side, heard in self.light.items():
            self.node.create_subscription(
                Float32, f'dock_ir/{side}', lambda msg, heard=heard: heard.append(msg.data), 10)
        self.node.create_subscription(BatteryState, 'battery_state', self.battery.append, 10)
        self.truth = self.node.create_publisher(Odometry, 'odom_truth', 10)

    def spin(self, seconds, until=lambda: False, pose=None):
        """Listen, and say the pose at 20 Hz if there is one; True as soon as ``until`` holds."""
        end, due = time.monotonic() + seconds, 0.0
        while time.monotonic() < end:
            if pose is not None and time.monotonic() > due:
                due = time.monotonic() + 0.05
                msg = Odometry()
                msg.pose.pose = pose_to_msg(pose)
                self.truth.publish(msg)
            self.executor.spin_once(timeout_sec=0.02)
            if until():
                return True
        return False

    def reads(self, pose, holds):
        """Tell whether ``holds(left, right)`` of the last eight readings' means comes to hold."""
        def settled():
            last = [heard[-8:] for heard in self.light.values()]
            return min(map(len, last)) == 8 and holds(*np.mean(last, axis=1))
        self.forget()
        return self.spin(20.0, settled, pose)

    def forget(self):
        """Forget all readings."""
        for heard in self.light.values():
            heard.clear()


@pytest.fixture(scope='module', autouse=True)
def without_dock():
    """Start a node for a world without a dock early: it takes its time to refuse."""
    return start_node('ir_beacon_sim_node', 'world:=test_room')


@pytest.fixture(scope='module')
def ears():
    """Return the listener; one context for all tests."""
    rclpy.init()
    found = Ears()
    yield found
    found.node.destroy_node()
    rclpy.shutdown()


def end(process):
    """Stop a node; return what it said."""
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=45)
    assert process.returncode == 0 and 'Traceback' not in said, said
    return said


def test_a_robot_in_its_dock_charges_and_reads_the_beacon(ears):
    x, y, yaw = HOME.tolist()
    process = start_node(
        'embedded_sim_node', 'world:=kitchen_dining', f'x_pose:={x}', f'y_pose:={y}',
        f'yaw:={yaw}', 'battery_start:=0.4', 'real_time_factor:=4.0')
    try:
        assert ears.spin(60.0, lambda: len(ears.battery) > 2 and len(ears.light['right']) > 20)
    finally:
        end(process)
    last = ears.battery[-1]
    assert last.power_supply_status == BatteryState.POWER_SUPPLY_STATUS_CHARGING
    assert last.current > 0.0 and 0.4 <= last.percentage < 0.41
    assert min(np.mean(ears.light['left']), np.mean(ears.light['right'])) > 0.3
    assert ears.node.count_publishers('dock_ir/left') <= 1


def test_beside_gazebo_the_readings_follow_the_true_pose(ears):
    process = start_node('ir_beacon_sim_node', 'world:=kitchen_dining')
    try:
        ears.spin(0.5)
        ears.forget()
        assert not ears.spin(1.0, lambda: ears.light['left']), 'nothing without a pose'
        ahead = compose(DOCK, (0.6, 0.0, 0.0))
        assert ears.reads(ahead, lambda left, right: min(left, right) > 0.15)
        assert ears.reads(compose(DOCK, (0.6, 0.0, math.pi)),
                          lambda left, right: max(left, right) < 0.03)
        assert ears.reads(compose(DOCK, (0.6, 0.0, 0.25)),
                          lambda left, right: left > 1.5 * right > 0.03)
        leg, = [leg for leg in KITCHEN.cylinders if leg.name == 'table_leg_1']
        emitter = compose(DOCK, (-0.33, 0.0, 0.0))[:2]
        away = np.array(leg.center) - emitter
        behind = np.array(leg.center) + 0.6 * away / np.hypot(*away)
        assert ears.reads((*behind, math.atan2(away[1], away[0])),
                          lambda left, right: max(left, right) < 0.03)
        ears.spin(2.0, pose=(math.nan, 0.0, 0.0))
        ears.forget()
        assert not ears.spin(1.0, lambda: ears.light['left']), 'stale'
    finally:
        end(process)


def test_beside_gazebo_the_battery_fills_on_the_contacts_and_drains_elsewhere(ears):
    """At the true pose of the docked robot, not near it, and not when nobody tells the pose."""
    process = start_node(
        'battery_sim_node', 'world:=kitchen_dining', 'battery_start:=0.5', 'battery_minutes:=1.0',
        'charge_minutes:=0.5', 'rate:=20.0')
    charging, draining = (
        BatteryState.POWER_SUPPLY_STATUS_CHARGING, BatteryState.POWER_SUPPLY_STATUS_DISCHARGING)

    def said(status):
        last = ears.battery[-20:]
        return len(last) == 20 and all(msg.power_supply_status == status for msg in last)

    try:
        for pose, status in (
                (HOME, charging), (compose(HOME, (0.01, 0.0, 0.0)), draining),
                (compose(HOME, (0.0, 0.02, 0.0)), draining), (HOME, charging), (None, draining),
                ((math.nan, 0.0, 0.0), draining)):
            ears.battery.clear()
            assert ears.spin(40.0, lambda s=status: said(s), pose), (pose, status)
            first, last = ears.battery[-20], ears.battery[-1]
            passed_s = (last.header.stamp.sec - first.header.stamp.sec) + 1e-9 * (
                last.header.stamp.nanosec - first.header.stamp.nanosec)
            gained = last.percentage - first.percentage
            per_s = 1.0 / 30.0 if status == charging else -1.0 / 60.0
            assert gained == pytest.approx(per_s * passed_s, rel=0.25), (pose, passed_s)
    finally:
        end(process)


def test_a_world_without_a_dock_is_refused(without_dock):
    said, _ = without_dock.communicate(timeout=90)
    assert without_dock.returncode == 2 and 'test_room has no dock' in said, said
