"""Where the robot truly is, for what stands in for a sensor beside a simulator."""
from nav_msgs.msg import Odometry
import numpy as np
from oomwoo_localization.ros_support import pose_from_msg, SENSOR_QOS

STALE_S = 0.5


class TruePose:
    """The newest pose on ``odom_truth``, while it is fresh."""

    def __init__(self, node):
        """Listen for ``node``."""
        self._node, self._newest = node, None
        self.topic = node.resolve_topic_name('odom_truth')
        node.create_subscription(Odometry, 'odom_truth', self._on_truth, SENSOR_QOS)

    def _on_truth(self, msg):
        pose = pose_from_msg(msg.pose.pose)
        if not np.isfinite(pose).all():
            self._node.get_logger().warning(
                f'{self.topic}: pose is {pose.tolist()}; ignored', throttle_duration_sec=5.0)
            return
        self._newest = pose, self._node.now_s()

    @property
    def pose(self):
        """Where it is in the map, (3,); None when nobody said so for half a second."""
        if self._newest is None or self._node.now_s() - self._newest[1] > STALE_S:
            return None
        return self._newest[0]

    def forget(self):
        """Forget where it was: after a jump back in time."""
        self._newest = None
