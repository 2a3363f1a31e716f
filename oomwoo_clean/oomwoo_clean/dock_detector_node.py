"""
The dock detector in the ROS graph: scan and infrared receivers in, the dock's pose in odom out.

The algorithm is :mod:`oomwoo_clean.dock_detector`; this is its adapter.
"""
from dataclasses import dataclass
import math
import sys

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
import numpy as np
from oomwoo_clean.dock_beacon import beacon_sight, SightSettings
from oomwoo_clean.dock_detector import DetectorSettings, DockDetector, DockTracker
from oomwoo_clean.dock_settings import DockShapeSettings
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import OK, pose_from_msg, pose_to_msg, SuiteNode, WARN
from oomwoo_localization.scan_ros_support import ScanIntake
from oomwoo_localization.settings import setting
from std_msgs.msg import Float32

_WATCH_PERIOD_S = 0.25
_X_Y_YAW = (0, 1, 5)


@dataclass(frozen=True)
class NodeSettings(DetectorSettings, SightSettings, DockShapeSettings):
    """Settings of the detector, of the beacon's bearing, of the dock's shape and of the node."""

    use_beacon: bool = setting(True, 'let the infrared receivers say which thing is the dock')
    beacon_stale_s: float = setting(
        0.5, 'readings of the receivers older than this say nothing', 's', 0.05, 5.0)
    hint_kept_s: float = setting(
        600.0, 'a hint on ~/hint holds for this long', 's', 0.1, 1e6)
    base_frame: str = setting('base_footprint', 'frame of the body centre', live=False)
    odom_frame: str = setting('odom', 'frame that the dock is tracked in', live=False)
    robot_file: str = setting('', 'robot file; empty: the packaged one', live=False)


class DockDetectorNode(SuiteNode):
    """Finds the dock in each scan and says where it is once two scans agree."""

    def __init__(self, **kwargs):
        """Declare parameters and topics."""
        super().__init__('dock_detector', NodeSettings, **kwargs)
        settings = self.settings
        self._robot = load_robot(settings.robot_file or None)
        self._shape = settings.dock_shape
        self._frames = FrameTree(self)
        self._readings = {'left': (0.0, -math.inf), 'right': (0.0, -math.inf)}
        self._hint = None                   # pose in odom, sigma_m, sigma_rad, when it came
        self.settings_changed()
        self._poses = self.create_publisher(PoseStamped, '~/pose', 10)
        self._sure_poses = self.create_publisher(
            PoseWithCovarianceStamped, '~/pose_with_covariance', 10)
        self._intake = ScanIntake(
            self, self._frames, settings.base_frame, settings.odom_frame, self._on_scan)
        for side in self._readings:
            self.create_subscription(
                Float32, f'dock_ir/{side}', lambda msg, side=side: self._on_light(side, msg.data),
                10)
        self.create_subscription(PoseWithCovarianceStamped, '~/hint', self._on_hint, 1)
        self.create_timer(_WATCH_PERIOD_S, self._watch)

    def settings_changed(self):
        """Take over parameters that were set while running; the tracked dock is forgotten."""
        self._detector = DockDetector(self._robot, self._shape, self.settings)
        self._tracker = DockTracker(self.settings)

    def time_went_back(self):
        """Forget what is newer than the clock."""
        self._tracker.reset()
        self._frames.clear()
        self._intake.clear()
        self._hint = None
        self._readings = dict.fromkeys(self._readings, (0.0, -math.inf))

    def _on_light(self, side, strength):
        if not math.isfinite(strength):
            self.get_logger().warning(
                f'dock_ir/{side}: reading is {strength}; ignored', throttle_duration_sec=5.0)
            return
        self._readings[side] = (strength, self.now_s())

    def _on_hint(self, msg):
        """Take a rough pose of the dock in any frame that tf knows."""
        in_frame = pose_from_msg(msg.pose.pose)
        variances = np.diag(np.reshape(msg.pose.covariance, (6, 6)))[list(_X_Y_YAW)]
        frame = msg.header.frame_id
        odom_from_frame = self._frames.pose(self.settings.odom_frame, frame)
        if odom_from_frame is None:
            self.get_logger().warning(f'~/hint ignored: {self._frames.error}')
            return
        if not (np.isfinite(in_frame).all() and (variances > 0.0).all()
                and np.isfinite(variances).all()):
            self.get_logger().warning('~/hint ignored: its pose or covariance is not usable')
            return
        self._hint = (compose(odom_from_frame, in_frame), math.sqrt(variances[:2].max()),
                      math.sqrt(variances[2]), self.now_s())

    def _sight(self):
        """Return the beacon's sight of readings that are fresh, or None."""
        if not self.settings.use_beacon:
            return None
        now_s = self.now_s()
        fresh = [strength if now_s - when <= self.settings.beacon_stale_s else 0.0
                 for strength, when in self._readings.values()]
        return beacon_sight(*fresh, self._robot, self.settings)

    def _hint_in_base(self, odom_pose):
        """Return a hint for the detector: the tracked dock, else what came on ~/hint, or None."""
        if self._hint is None or self.now_s() - self._hint[3] > self.settings.hint_kept_s:
            return None
        pose, sigma_m, sigma_rad, _ = self._hint
        return compose(inverse(odom_pose), pose), sigma_m, sigma_rad

    def _on_scan(self, placed):
        odom_pose = placed.start
        fix = self._detector.find(
            placed.scan, placed.mount, self._sight(), self._hint_in_base(odom_pose))
        pose = self._tracker.update(fix, odom_pose)
        if pose is None:
            reason = self._detector.reason if fix is None else 'two scans must agree'
            self.set_status(WARN, f'no dock: {reason}', 'SEARCH', 'NOT_FOUND')
            return
        self._publish(pose, placed.msg.header.stamp)
        self.set_status(OK, 'dock in sight', 'TRACK')

    def _publish(self, pose, stamp):
        plain, sure = PoseStamped(), PoseWithCovarianceStamped()
        for msg in (plain, sure):
            msg.header.frame_id, msg.header.stamp = self.settings.odom_frame, stamp
        plain.pose = sure.pose.pose = pose_to_msg(pose)
        covariance = np.diag([0.0, 0.0, 1e-6, 1e-6, 1e-6, 0.0])
        covariance[np.ix_(_X_Y_YAW, _X_Y_YAW)] = self._tracker.covariance
        sure.pose.covariance = covariance.ravel()
        self._poses.publish(plain)
        self._sure_poses.publish(sure)

    def _watch(self):
        """Say when scans stay away."""
        self._intake.check_age()
        code, message = self._intake.problem
        if code:
            self.set_status(WARN, message, 'NO_SCAN', code.upper())


def main(args=None):
    """Run the node."""
    return run_node(DockDetectorNode, args)


if __name__ == '__main__':
    sys.exit(main())
