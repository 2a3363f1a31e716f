"""The last node before the motors: limits, expiry, and over real DDS."""
import math
import os
import subprocess
import sys
import time

from geometry_msgs.msg import Twist
from hypothesis import given
from hypothesis import strategies as st
from oomwoo_bringup.command_guard import CommandGuard
from oomwoo_localization.ros_support import twist_msg
import pytest
import rclpy

SPEEDS = st.floats(-1e6, 1e6)


@given(SPEEDS, SPEEDS)
def test_a_command_that_is_too_fast_keeps_its_arc(linear, angular):
    guard = CommandGuard(0.3, 2.5, 0.5)
    command = guard.take(linear, angular, 0.0)
    assert abs(command.linear) <= 0.3 + 1e-12 and abs(command.angular) <= 2.5 + 1e-12
    # Same ratio and signs: v w' = v' w.
    assert command.linear * angular == pytest.approx(command.angular * linear, rel=1e-9, abs=1e-9)
    assert command.linear * linear >= 0.0 and command.angular * angular >= 0.0
    if abs(linear) <= 0.3 and abs(angular) <= 2.5:
        assert (command.linear, command.angular, command.reason) == (linear, angular, '')
    else:
        assert 'too fast' in command.reason


@pytest.mark.parametrize('linear, angular', [
    (math.nan, 0.1), (0.1, math.inf), (-math.inf, math.nan)])
def test_what_is_no_number_stops_the_robot(linear, angular):
    command = CommandGuard(0.3, 2.5, 0.5).take(linear, angular, 0.0)
    assert (command.linear, command.angular) == (0.0, 0.0)
    assert f'linear.x is {linear}' in command.reason


def test_any_command_ends_in_stops_be_it_one_that_was_changed():
    guard = CommandGuard(0.3, 2.5, 0.5)
    for number, wish in enumerate(((0.2, 0.0), (9.0, 0.0), (math.nan, 0.0), (0.0, 0.0))):
        guard.take(*wish, 10.0 * number)
        assert not guard.expired(10.0 * number + 0.49) and guard.expired(10.0 * number + 0.51)


def test_a_robot_whose_driver_dies_stands_within_the_time_of_robot_yaml():
    process = subprocess.Popen(
        [sys.executable, '-m', 'oomwoo_bringup.command_guard_node'], env=dict(os.environ))
    rclpy.init()
    node = rclpy.create_node('driver')
    heard = []
    node.create_subscription(
        Twist, 'cmd_vel_base', lambda m: heard.append((time.monotonic(), m.linear.x)), 10)
    drive = node.create_publisher(Twist, 'cmd_vel_mux', 10)
    try:
        until = time.monotonic() + 60.0
        while not any(v == pytest.approx(0.3) for _, v in heard):
            assert time.monotonic() < until
            drive.publish(twist_msg(0.9, 0.0))              # limited to 0.3
            last = time.monotonic()
            rclpy.spin_once(node, timeout_sec=0.1)
        while heard[-1][1] != 0.0:
            assert time.monotonic() < last + 20.0
            rclpy.spin_once(node, timeout_sec=0.1)
        assert heard[-1][0] - last > 0.4
    finally:
        node.destroy_node()
        rclpy.shutdown()
        process.terminate()
        assert process.wait(20) == 0
