"""Gazebo's base stops when commands cease: the node over real DDS."""
import math
import time

from geometry_msgs.msg import Twist
from oomwoo_gazebo.command_expiry_node import CommandExpiryNode
from oomwoo_localization.robot import load_robot
import rclpy
from rclpy.executors import SingleThreadedExecutor


def test_the_node_passes_commands_on_and_says_stop_when_they_cease():
    """After robot.yaml's time, as a zero; none while they come; what is no number is one, too."""
    rclpy.init()
    expiry, node = CommandExpiryNode(), rclpy.create_node('expiry_test')
    executor = SingleThreadedExecutor()
    executor.add_node(expiry)
    executor.add_node(node)
    try:
        heard = []
        node.create_subscription(
            Twist, 'cmd_vel_base', lambda msg: heard.append((time.monotonic(), msg)), 10)
        commands = node.create_publisher(Twist, 'cmd_vel', 10)
        moving = Twist()
        moving.linear.x, moving.angular.z = 0.2, -0.7
        end = time.monotonic() + 30.0
        while not heard and time.monotonic() < end:
            commands.publish(moving)
            executor.spin_once(timeout_sec=0.05)
        last = time.monotonic()
        while time.monotonic() < end and not (heard and heard[-1][1] == Twist()):
            executor.spin_once(timeout_sec=0.05)
        stops = [entry for entry in heard if entry[1] != moving]
        assert heard[0][1] == moving and stops and stops[0][1] == Twist()
        # The last command may have come some time after it was sent, never before.
        assert stops[0][0] - last > load_robot().limits.command_timeout - 0.1
        assert expiry._status.message.startswith('stopped: nothing on /cmd_vel')
        moving.angular.z = math.nan
        while time.monotonic() < end and 'nan' not in expiry._status.message:
            commands.publish(moving)
            executor.spin_once(timeout_sec=0.05)
        assert expiry._status.message == '/cmd_vel: linear.x is 0.2, angular.z is nan: stopped'
        # The base stands by then: nothing has to be stopped, and nothing is said of it.
        end = time.monotonic() + load_robot().limits.command_timeout + 0.3
        while time.monotonic() < end:
            executor.spin_once(timeout_sec=0.05)
        assert expiry._status.message.endswith('angular.z is nan: stopped')
        assert all(msg in (Twist(), heard[0][1]) for _, msg in heard)
    finally:
        executor.shutdown()
        expiry.destroy_node()
        node.destroy_node()
        rclpy.try_shutdown()
