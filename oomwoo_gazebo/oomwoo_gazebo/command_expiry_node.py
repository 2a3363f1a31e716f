"""
The last node before Gazebo's base: ``cmd_vel`` in, ``cmd_vel_base`` out, zero when it ceases.

Gazebo's drive has no time limit of its own. All commands pass through here, as through
``command_guard`` on the robot: the bridge can't take two topics to one of Gazebo's, whose
transport lets a node advertise a topic once. The algorithm is
:mod:`oomwoo_localization.command_expiry`.
"""
from dataclasses import dataclass
import math
import sys

from geometry_msgs.msg import Twist
from oomwoo_localization.command_expiry import CommandExpiry
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import OK, SuiteNode, twist_msg, WARN
from oomwoo_localization.settings import setting

_TICK_S = 0.05


@dataclass(frozen=True)
class CommandExpirySettings:
    """How long a command counts."""

    timeout_s: float = setting(
        -1.0, 'the base stops this long after the last command; negative: as robot.yaml says',
        's', -1.0, 10.0)
    robot_file: str = setting('', 'robot file; empty: the packaged one', live=False)


class CommandExpiryNode(SuiteNode):
    """Passes on ``cmd_vel``, and says zero when it has ceased."""

    def __init__(self):
        """Wait for a command."""
        super().__init__('command_expiry', CommandExpirySettings)
        self._robot_timeout_s = load_robot(self.settings.robot_file or None).limits.command_timeout
        self._expiry = CommandExpiry(self._timeout_s())
        self._out = self.create_publisher(Twist, 'cmd_vel_base', 10)
        self.create_subscription(Twist, 'cmd_vel', self._on_command, 10)
        self.create_timer(_TICK_S, self._tick)
        self.set_status(OK, 'no command', 'WAITING')

    def _timeout_s(self):
        asked = self.settings.timeout_s
        return self._robot_timeout_s if asked < 0.0 else asked

    def settings_changed(self):
        """Take over parameters that were set while running."""
        self._expiry.timeout_s = self._timeout_s()

    def time_went_back(self):
        """Stop: the last command belongs to another time."""
        self._expiry.forget()
        self._out.publish(Twist())

    def _on_command(self, msg):
        linear, angular = msg.linear.x, msg.angular.z
        if not (math.isfinite(linear) and math.isfinite(angular)):
            topic = self.resolve_topic_name('cmd_vel')
            self.set_status(
                WARN, f'{topic}: linear.x is {linear}, angular.z is {angular}: stopped',
                'STOPPED', 'bad_command')
            linear = angular = 0.0
        else:
            self.set_status(OK, 'commands come in', 'DRIVING')
        if linear == angular == 0.0:
            self._expiry.forget()               # the base has been told to stop
        else:
            self._expiry.heard(self.now_s())
        self._out.publish(twist_msg(linear, angular))

    def _tick(self):
        if self._expiry.expired(self.now_s()):
            self._out.publish(Twist())
            topic = self.resolve_topic_name('cmd_vel')
            self.set_status(
                WARN, f'stopped: nothing on {topic} for {self._expiry.timeout_s} s', 'STOPPED',
                'stale_command')

    def stop(self):
        """Leave the robot standing."""
        self._out.publish(Twist())


def main(args=None):
    """Run the node."""
    return run_node(CommandExpiryNode, args)


if __name__ == '__main__':
    sys.exit(main())
