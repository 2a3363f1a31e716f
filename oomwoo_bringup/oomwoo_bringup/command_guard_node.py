"""
The last node before the base: ``cmd_vel_mux`` in, ``cmd_vel_base`` out, zero when it ceases.

The algorithm is :mod:`oomwoo_bringup.command_guard`; this node is its adapter.
"""
from dataclasses import dataclass
import sys

from geometry_msgs.msg import Twist
from oomwoo_bringup.command_guard import CommandGuard
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import OK, SuiteNode, twist_msg, WARN
from oomwoo_localization.settings import setting
from rclpy.clock import Clock, ClockType

_TICK_S = 0.05


@dataclass(frozen=True)
class CommandGuardSettings:
    """How long a command counts; how fast the base may be is the robot file's."""

    timeout_s: float = setting(
        -1.0, 'the base stops this long after the last command; negative: as robot.yaml says',
        's', -1.0, 2.0)
    robot_file: str = setting('', 'robot file; empty: the packaged one', live=False)


class CommandGuardNode(SuiteNode):
    """Passes on commands that are fresh, finite and within the robot's limits."""

    def __init__(self):
        """Wait for a command."""
        super().__init__('command_guard', CommandGuardSettings)
        self._limits = load_robot(self.settings.robot_file or None).limits
        self._guard = CommandGuard(
            self._limits.linear_speed, self._limits.angular_speed, self._timeout_s())
        # Not the node's clock: on a robot that is set by the network, and one that is set back
        # would make an old command young.
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._out = self.create_publisher(Twist, 'cmd_vel_base', 10)
        self.create_subscription(Twist, 'cmd_vel_mux', self._on_command, 10)
        self.create_timer(_TICK_S, self._tick, clock=self._steady)
        self.set_status(OK, 'no command', 'WAITING')

    def _timeout_s(self):
        asked = self.settings.timeout_s
        return self._limits.command_timeout if asked < 0.0 else asked

    def settings_changed(self):
        """Take over parameters that were set while running."""
        self._guard.timeout_s = self._timeout_s()

    def _steady_s(self):
        return self._steady.now().nanoseconds * 1e-9

    def _on_command(self, msg):
        command = self._guard.take(msg.linear.x, msg.angular.z, self._steady_s())
        self._out.publish(twist_msg(command.linear, command.angular))
        if command.reason:
            self.set_status(WARN, f'command changed: {command.reason}', 'LIMITED', 'command')
        else:
            self.set_status(OK, 'commands come in', 'DRIVING')

    def _tick(self):
        if self._guard.expired(self._steady_s()):
            self._out.publish(Twist())
            topic = self.resolve_topic_name('cmd_vel_mux')
            self.set_status(
                OK, f'standing: nothing on {topic} for {self._guard.timeout_s} s', 'WAITING')

    def stop(self):
        """Leave the robot standing."""
        self._out.publish(Twist())


def main(args=None):
    """Run the node."""
    return run_node(CommandGuardNode, args)


if __name__ == '__main__':
    sys.exit(main())
