"""A meter: how much the wheels slip, as the heading of ``odom`` against that of ``odom_truth``."""
from dataclasses import dataclass
import sys

from nav_msgs.msg import Odometry
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import OK, pose_from_msg, seconds, SuiteNode, WARN
from oomwoo_localization.settings import setting
from oomwoo_sim_support.localization_error import PoseHistory, SlipMeter
from std_msgs.msg import Float32


@dataclass(frozen=True)
class SlipSettings:
    """How odometry and truth are brought together."""

    patience_s: float = setting(
        1.0, 'odometry waits this long for a truth of its time', 's', 0.05, 3.0)


class OdomSlipNode(SuiteNode):
    """Publishes ``~/slip_deg``, which adds up from the start, and ``~/slip_rate_dps``."""

    def __init__(self):
        """Listen to both."""
        super().__init__('odom_slip', SlipSettings)
        self._meter, self._truth = SlipMeter(), PoseHistory()
        self._waiting = []
        self._rate = self.create_publisher(Float32, '~/slip_rate_dps', 10)
        self._slip = self.create_publisher(Float32, '~/slip_deg', 10)
        self.create_subscription(Odometry, 'odom', self._on_odom, 50)
        self.create_subscription(Odometry, 'odom_truth', self._on_truth, 50)
        self.set_status(WARN, 'waiting for odom and odom_truth', 'WAITING', 'no_input')

    def _on_odom(self, msg):
        self._waiting.append((seconds(msg.header.stamp), pose_from_msg(msg.pose.pose)[2]))
        self._work()

    def _on_truth(self, msg):
        self._truth.add(seconds(msg.header.stamp), pose_from_msg(msg.pose.pose))
        self._work()

    def _work(self):
        """Measure every odometry whose truth has come."""
        newest_s = self._waiting[-1][0] if self._waiting else 0.0
        still = []
        for time_s, yaw in self._waiting:
            truth = self._truth.at(time_s)
            if truth is not None:
                rate, slip = self._meter.update(time_s, yaw, truth[2])
                self._rate.publish(Float32(data=rate))
                self._slip.publish(Float32(data=slip))
                self.set_status(OK, 'comparing the heading of odom with the truth', 'MEASURING')
            elif 0.0 <= newest_s - time_s < self.settings.patience_s:
                still.append((time_s, yaw))
        self._waiting = still

    def time_went_back(self):
        """Begin anew."""
        self._meter.clear()
        self._truth.clear()
        self._waiting = []

    def stop(self):
        """Say what it came to."""
        self.get_logger().info(f'heading slipped by {self._meter.slip_deg:.2f} deg in all')


def main(args=None):
    """Run the node."""
    return run_node(OdomSlipNode, args)


if __name__ == '__main__':
    sys.exit(main())
