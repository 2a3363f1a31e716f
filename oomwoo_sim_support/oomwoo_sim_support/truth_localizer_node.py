"""``map -> odom`` from the simulator's truth: a stand-in for a localizer, and it says so."""
from dataclasses import dataclass
import sys

from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import (
    OK,
    pose_from_msg,
    pose_to_msg,
    seconds,
    SuiteNode,
    WARN,
)
from oomwoo_localization.settings import setting
from rclpy.duration import Duration
from rclpy.time import Time
from tf2_ros import TransformBroadcaster


@dataclass(frozen=True)
class TruthLocalizerSettings:
    """Frames are those of the two odometry topics."""

    transform_tolerance_s: float = setting(
        0.1, 'how far ahead the transform is dated', 's', 0.0, 2.0)


class TruthLocalizerNode(SuiteNode):
    """Matches odom_truth and odom by their stamps."""

    def __init__(self):
        """Listen to both topics."""
        super().__init__('truth_localizer', TruthLocalizerSettings)
        self._tf = TransformBroadcaster(self)
        self._waiting = {}
        self.create_subscription(Odometry, 'odom', lambda msg: self._take('odom', msg), 10)
        self.create_subscription(Odometry, 'odom_truth', lambda msg: self._take('truth', msg), 10)
        self.set_status(WARN, 'waiting for odom and odom_truth', 'WAITING', 'no_odometry')

    def _take(self, which, msg):
        stamp = seconds(msg.header.stamp)
        both = self._waiting.setdefault(stamp, {})
        both[which] = msg
        if len(both) < 2:
            self._waiting = {
                at: kept for at, kept in self._waiting.items() if abs(at - stamp) < 1.0}
            return
        del self._waiting[stamp]
        odom, truth = both['odom'], both['truth']
        map_from_odom = compose(
            pose_from_msg(truth.pose.pose), inverse(pose_from_msg(odom.pose.pose)))
        ahead = Duration(seconds=self.settings.transform_tolerance_s)
        transform = TransformStamped(child_frame_id=odom.header.frame_id)
        transform.header.frame_id = truth.header.frame_id
        transform.header.stamp = (Time.from_msg(odom.header.stamp) + ahead).to_msg()
        pose = pose_to_msg(map_from_odom)
        transform.transform.translation.x = pose.position.x
        transform.transform.translation.y = pose.position.y
        transform.transform.rotation = pose.orientation
        self._tf.sendTransform(transform)
        self.set_status(
            OK, "map -> odom is the simulator's ground truth, not a localizer's work", 'TRUTH')

    def time_went_back(self):
        """Forget unmatched messages."""
        self._waiting.clear()


def main(args=None):
    """Run the node."""
    return run_node(TruthLocalizerNode, args)


if __name__ == '__main__':
    sys.exit(main())
