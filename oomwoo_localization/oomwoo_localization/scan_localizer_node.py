"""``map -> odom`` by matching every scan with the map: the everyday localizer."""
from dataclasses import dataclass
import math
import sys

from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
from nav_msgs.msg import OccupancyGrid
import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.grids import GridError
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import (
    ERROR,
    grid_from_msg,
    LATCHED_QOS,
    matrix_from_msg,
    OK,
    pose_from_msg,
    pose_to_msg,
    SuiteNode,
    WARN,
)
from oomwoo_localization.scan_localizer import BLIND, LocalizerSettings, ODOMETRY, ScanLocalizer
from oomwoo_localization.scan_ros_support import ScanIntake
from oomwoo_localization.settings import setting, SettingError
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.duration import Duration
from rclpy.time import Time
from tf2_ros import TransformBroadcaster

PLANE = np.ix_([0, 1, 5], [0, 1, 5])          # x, y, yaw in a covariance of six
ADRIFT_SCANS = 5              # this many without a match are worth a word


@dataclass(frozen=True)
class LocalizerNodeSettings(LocalizerSettings):
    """The localizer's settings and what the node adds."""

    map_frame: str = setting('map', 'frame of the map', live=False)
    odom_frame: str = setting('odom', 'frame of odometry', live=False)
    robot_frame: str = setting(
        'base_footprint', "frame of the body's middle on the floor", live=False)
    transform_tolerance_s: float = setting(
        0.2, 'how far ahead of its scan the transform is dated, so that it can be used with the '
        'newest odometry', 's', 0.0, 2.0)


class ScanLocalizerNode(SuiteNode):
    """Says nothing about where the robot is until it was told once; then with every scan."""

    def __init__(self):
        """Declare parameters and wait for a map, a pose and scans."""
        super().__init__('scan_localizer', LocalizerNodeSettings)
        self._start = self._start_pose()
        self._localizer = None
        self._pose = None if self._start is None else (self._start, None, None)
        self._map_problem = ('no_map', 'no map on topic map yet')
        self._adrift = 0
        self._frames = FrameTree(self)
        self._tf = TransformBroadcaster(self)
        self._out = self.create_publisher(PoseWithCovarianceStamped, 'pose', 10)
        self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        self.create_subscription(
            PoseWithCovarianceStamped, 'initialpose', self._on_initial_pose, 10)
        settings = self.settings
        self._intake = ScanIntake(
            self, self._frames, settings.robot_frame, settings.odom_frame, self._on_scan)
        self.create_timer(0.5, self._say)
        self._say()

    def _start_pose(self):
        """Return the pose from x_pose, y_pose and yaw, or None when none of them is given."""
        values = []
        for name in ('x_pose', 'y_pose', 'yaw'):
            descriptor = ParameterDescriptor(
                description='start in the map; without all three, initialpose is waited for',
                dynamic_typing=True)
            value = self.declare_parameter(name, None, descriptor).value
            if value is not None and (isinstance(value, bool) or not isinstance(
                    value, (int, float)) or not math.isfinite(value)):
                raise SettingError(
                    f'scan_localizer: parameter {name}: expected a number, got {value!r}')
            values.append(value)
        if values == [None, None, None]:
            return None
        return np.array([float(value or 0.0) for value in values])

    # -- inputs -----------------------------------------------------------------------------

    def _on_map(self, msg):
        try:
            if msg.header.frame_id and msg.header.frame_id != self.settings.map_frame:
                raise GridError(
                    f'header.frame_id is {msg.header.frame_id!r}, not {self.settings.map_frame!r}')
            grid = grid_from_msg(msg)
            if not grid.obstacles.any():
                raise GridError('no cell is occupied, so there is nothing to match a scan with')
            if self._localizer is None:
                self._localizer = ScanLocalizer(grid, self.settings, load_robot())
            else:
                self._localizer.set_map(grid)
            self._map_problem = ('', '')
        except GridError as error:
            kept = '' if self._localizer is None else '; the one before stays'
            self._map_problem = ('bad_map', f'topic map: {error}{kept}')
        self._say()

    def _on_initial_pose(self, msg):
        try:
            pose, covariance, odom = self._understand(msg)
            if self._localizer is None:
                self._pose = (pose, covariance, odom)
            else:
                self._localizer.set_pose(pose, covariance, odom)
                self._pose = None
        except ValueError as error:
            self.get_logger().error(f'topic initialpose: {error}; ignored')
            return
        self.get_logger().info(
            f'told to be at x {pose[0]:.2f} m, y {pose[1]:.2f} m, '
            f'heading {math.degrees(pose[2]):.0f} deg')

    def _understand(self, msg):
        """Return (pose, covariance in the map, odom pose at its time) or raise ValueError."""
        stamped = TransformStamped()
        position, stamped.transform.rotation = msg.pose.pose.position, msg.pose.pose.orientation
        stamped.transform.translation.x, stamped.transform.translation.y = position.x, position.y
        matrix_from_msg(stamped.transform)
        pose = pose_from_msg(msg.pose.pose)
        covariance = np.array(msg.pose.covariance, dtype=float).reshape(6, 6)[PLANE]
        frame, stamp = msg.header.frame_id, Time.from_msg(msg.header.stamp)
        if frame != self.settings.map_frame:
            map_from_frame = self._frames.pose(self.settings.map_frame, frame) if frame else None
            if map_from_frame is None:
                why = self._frames.error if frame else 'is empty'
                raise ValueError(f'header.frame_id {frame!r}: {why}')
            c, s = math.cos(map_from_frame[2]), math.sin(map_from_frame[2])
            turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            pose, covariance = compose(map_from_frame, pose), turn @ covariance @ turn.T
        odom = self._frames.pose(self.settings.odom_frame, self.settings.robot_frame, stamp)
        if odom is None:
            odom = self._frames.pose(self.settings.odom_frame, self.settings.robot_frame)
        return pose, covariance if covariance.any() else None, odom

    def settings_changed(self):
        """Go on with the new settings."""
        if self._localizer is not None:
            self._localizer.configure(self.settings)

    # -- work -------------------------------------------------------------------------------

    def _on_scan(self, placed):
        if self._localizer is None:
            return
        if self._pose is not None:
            self._localizer.set_pose(*self._pose)
            self._pose = None
        if self._localizer.pose is None:
            return
        found = self._localizer.step(
            placed.scan, placed.mount, placed.start, placed.scan.stamp_s, placed.end)
        self._publish(found, placed.stamp)
        self._adrift = self._adrift + 1 if found.state in (ODOMETRY, BLIND) else 0
        if self._adrift in (0, ADRIFT_SCANS):
            self._say(found)

    def _publish(self, found, stamp):
        transform = TransformStamped(child_frame_id=self.settings.odom_frame)
        transform.header.frame_id = self.settings.map_frame
        ahead = Duration(seconds=self.settings.transform_tolerance_s)
        transform.header.stamp = (stamp + ahead).to_msg()
        correction = pose_to_msg(found.map_from_odom)
        transform.transform.translation.x = correction.position.x
        transform.transform.translation.y = correction.position.y
        transform.transform.rotation = correction.orientation
        self._tf.sendTransform(transform)
        msg = PoseWithCovarianceStamped()
        msg.header.frame_id, msg.header.stamp = self.settings.map_frame, stamp.to_msg()
        msg.pose.pose = pose_to_msg(found.pose)
        covariance = np.zeros((6, 6))
        covariance[PLANE] = found.covariance
        msg.pose.covariance = covariance.ravel()
        self._out.publish(msg)

    def _say(self, found=None):
        """Set the status to what is missing first, else to how it goes."""
        self._intake.check_age()
        pose = None if self._localizer is None else self._localizer.pose
        if self._map_problem[0]:
            level = ERROR if self._map_problem[0] == 'bad_map' else WARN
            state = 'WAITING' if pose is None else 'TRACKING'
            self.set_status(level, self._map_problem[1], state, self._map_problem[0])
        elif pose is None and self._pose is None:
            self.set_status(
                WARN, 'nobody said where the robot is: give it a pose on topic initialpose, or '
                'x_pose, y_pose and yaw at start', 'WAITING', 'no_pose')
        elif self._intake.problem[0]:
            self.set_status(WARN, self._intake.problem[1], 'WAITING', self._intake.problem[0])
        elif self._adrift >= ADRIFT_SCANS:
            self.set_status(
                WARN, 'the scans fit nowhere near, or have too few returns: the pose rides on '
                'odometry', 'ADRIFT', 'no_match', pose=pose)
        else:
            self.set_status(
                OK, 'map -> odom from scans matched with the map', 'TRACKING', pose=pose)

    def time_went_back(self):
        """Begin again where the robot was said to start, else go on from where it is."""
        self._frames.clear()
        self._intake.clear()
        if self._localizer is not None:
            self._localizer.forget_motion()
        if self._start is not None:
            self._pose = (self._start, None, None)


def main(args=None):
    """Run the node."""
    return run_node(ScanLocalizerNode, args)


if __name__ == '__main__':
    sys.exit(main())
