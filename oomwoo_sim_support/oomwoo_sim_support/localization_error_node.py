"""
A meter: the pose in the map against the simulator's truth.

The node's name is the prefix of its topics: ``--ros-args -r __node:=loc_err_amcl`` publishes
``loc_err_amcl/pos_err_m`` and ``loc_err_amcl/yaw_err_deg``.
"""
from collections import deque
from dataclasses import dataclass
import sys

from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import ERROR, OK, pose_from_msg, seconds, SuiteNode, WARN
from oomwoo_localization.settings import setting
from oomwoo_sim_support.localization_error import ErrorMeter, pose_error, PoseHistory
from rclpy.time import Time
from std_msgs.msg import Float32

PATIENCE_S = 1.0              # a pose or a truth waits this long for the other


@dataclass(frozen=True)
class ErrorSettings:
    """Which pose is compared with ``odom_truth``."""

    source: str = setting(
        'tf', 'the transform as everybody uses it, or the messages on topic pose', '',
        choices=('tf', 'pose'), live=False)
    map_frame: str = setting('map', 'frame in which both poses are', live=False)
    robot_frame: str = setting('base_footprint', 'the frame whose pose it is', live=False)


class LocalizationErrorNode(SuiteNode):
    """Publishes one pair of errors for each pose whose truth is known."""

    def __init__(self):
        """Listen to the truth and to what is measured."""
        super().__init__('localization_error', ErrorSettings)
        self._meter, self._history = ErrorMeter(), PoseHistory()
        self._waiting = deque()
        self._position = self.create_publisher(Float32, '~/pos_err_m', 10)
        self._yaw = self.create_publisher(Float32, '~/yaw_err_deg', 10)
        self.create_subscription(Odometry, 'odom_truth', self._on_truth, 50)
        if self.settings.source == 'tf':
            self._frames = FrameTree(self)
        else:
            self._frames = None
            self.create_subscription(PoseWithCovarianceStamped, 'pose', self._on_pose, 10)
        self._updater.add('error', self._diagnose_error)
        self.set_status(WARN, 'waiting for odom_truth and a pose', 'WAITING', 'no_input')

    def _on_truth(self, msg):
        if msg.header.frame_id != self.settings.map_frame:
            self.set_status(
                ERROR, f'topic odom_truth: header.frame_id is {msg.header.frame_id!r}, not '
                f'{self.settings.map_frame!r}', 'WAITING', 'bad_frame')
            return
        truth = pose_from_msg(msg.pose.pose)
        self._history.add(seconds(msg.header.stamp), truth)
        if self._frames is not None:
            self._waiting.append((msg.header.stamp, truth))
        self._work()

    def _on_pose(self, msg):
        if msg.header.frame_id != self.settings.map_frame:
            self.set_status(
                ERROR, f'topic pose: header.frame_id is {msg.header.frame_id!r}, not '
                f'{self.settings.map_frame!r}', 'WAITING', 'bad_frame')
            return
        self._waiting.append((msg.header.stamp, pose_from_msg(msg.pose.pose)))
        self._work()

    def _work(self):
        """Compare all that waits for its other half and has got it; drop what waits too long."""
        newest_s = seconds(self._waiting[-1][0]) if self._waiting else 0.0
        for _ in range(len(self._waiting)):
            stamp, known = self._waiting.popleft()
            pair = self._pair(stamp, known)
            if pair is not None:
                self._publish(*pair)
            elif 0.0 <= newest_s - seconds(stamp) < PATIENCE_S:
                self._waiting.append((stamp, known))

    def _pair(self, stamp, known):
        """Return (pose, truth) at a stamp of which one is known, or None."""
        if self._frames is None:
            truth = self._history.at(seconds(stamp))
            return None if truth is None else (known, truth)
        pose = self._frames.pose(
            self.settings.map_frame, self.settings.robot_frame, Time.from_msg(stamp))
        return None if pose is None else (pose, known)

    def _publish(self, pose, truth):
        position_m, yaw_deg = pose_error(pose, truth)
        self._meter.add(position_m, yaw_deg)
        self._position.publish(Float32(data=position_m))
        self._yaw.publish(Float32(data=yaw_deg))
        what = 'map <- base in tf' if self._frames else 'topic pose'
        self.set_status(OK, f'comparing {what} with the truth', 'MEASURING')

    def _diagnose_error(self, stat):
        rms, worst = self._meter.rms, self._meter.worst
        stat.summary(OK, f'{rms[0] * 1e3:.1f} mm rms, {worst[0] * 1e3:.1f} mm at worst')
        stat.add('poses', str(self._meter.count))
        for name, (position_m, yaw_deg) in (('rms', rms), ('worst', worst)):
            stat.add(f'{name}_m', f'{position_m:.4f}')
            stat.add(f'{name}_deg', f'{yaw_deg:.3f}')
        return stat

    def time_went_back(self):
        """Begin anew."""
        self._history.clear()
        self._waiting.clear()
        self._meter.clear()
        if self._frames is not None:
            self._frames.clear()

    def stop(self):
        """Say what it came to."""
        rms, worst = self._meter.rms, self._meter.worst
        self.get_logger().info(
            f'{self._meter.count} poses: position {rms[0] * 1e3:.1f} mm rms, '
            f'{worst[0] * 1e3:.1f} mm worst; heading {rms[1]:.2f} deg rms, '
            f'{worst[1]:.2f} deg worst')


def main(args=None):
    """Run the node."""
    return run_node(LocalizationErrorNode, args)


if __name__ == '__main__':
    sys.exit(main())
