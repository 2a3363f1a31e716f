"""
Escape reflexes in the ROS graph: bumpers, scan and commands in, ``cmd_vel_reflex`` out.

The algorithm is :mod:`oomwoo_clean.escape_reflex`; this is its adapter.
"""
from dataclasses import dataclass
import sys

from geometry_msgs.msg import Twist
from oomwoo_localization.ros_support import LATCHED_QOS, OK, run_node, SuiteNode, twist_msg
from oomwoo_localization.settings import setting
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray


@dataclass(frozen=True)
class NodeSettings:
    """Settings of the reflexes and of their node."""

    robot_file: str = setting('', 'robot file; empty: the packaged one', live=False)


class EscapeReflexNode(SuiteNode):
    """Drives while a reflex has to, and says so."""

    def __init__(self, **kwargs):
        """Declare parameters, topics and the service."""
        super().__init__('escape_reflex', NodeSettings, **kwargs)
        self._command = self.create_publisher(Twist, 'cmd_vel_reflex', 10)
        self._active = self.create_publisher(Bool, '~/active', LATCHED_QOS)
        self._pockets = self.create_publisher(MarkerArray, '~/pockets', LATCHED_QOS)
        self.create_service(Trigger, '~/reset', self._on_reset)
        self._active.publish(Bool(data=False))
        self._pockets.publish(MarkerArray())
        self.set_status(OK, 'watching', 'WATCH')

    def _on_reset(self, request, response):
        response.success, response.message = True, 'nothing to free'
        return response

    def stop(self):
        """Leave the robot standing."""
        self._command.publish(twist_msg(0.0, 0.0))


def main(args=None):
    """Run the node."""
    return run_node(EscapeReflexNode, args)


if __name__ == '__main__':
    sys.exit(main())
