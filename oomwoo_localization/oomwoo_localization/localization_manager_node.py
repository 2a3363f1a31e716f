"""
Localization manager in the ROS graph: on ``lost``, asks the relocalizer and acts on the answer.

The policy is :mod:`oomwoo_localization.localization_manager`; this is its adapter.
"""

from dataclasses import dataclass
import math
import sys

from geometry_msgs.msg import PoseArray, PoseWithCovarianceStamped
from nav_msgs.msg import OccupancyGrid
import numpy as np
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.grids import GridError
from oomwoo_localization.localization_manager import LocalizationManager
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.recovery_ros_support import CommandLine, OtherDrivers
from oomwoo_localization.recovery_types import (
    Answer,
    GIVEN_UP,
    Inputs,
    ManagerSettings,
    WATCHING,
)
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import (
    ERROR,
    grid_from_msg,
    LATCHED_QOS,
    OK,
    pose_from_msg,
    pose_to_msg,
    ReflexWatch,
    scan_from_msg,
    seconds,
    SENSOR_QOS,
    SuiteNode,
    twist_msg,
    WARN,
)
from oomwoo_localization.scans import scan_points, ScanError
from oomwoo_localization.settings import setting
from oomwoo_localization_msgs.srv import Relocalize
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.time import Time
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger

PERIOD_S = 0.05
PLANE = np.ix_([0, 1, 5], [0, 1, 5])  # x, y, yaw in a covariance of six
ABOVE_FLOOR_M = 0.01
# Whoever asks for what is latched, as `ros2 topic echo` does, sees how it came so far.
RECENT_QOS = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
GOOD_WORDS = ('commit', 'confirmed', 'found')


@dataclass(frozen=True)
class ManagerNodeSettings(ManagerSettings):
    """The policy's settings and those of the node."""

    map_frame: str = setting('map', 'frame of the map', live=False)
    odom_frame: str = setting('odom', 'frame of odometry', live=False)
    robot_frame: str = setting(
        'base_footprint', "frame of the body's middle on the floor", live=False
    )
    stale_s: float = setting(
        0.5, 'a scan or odometry older than this is not driven by', 's', 0.05, 5.0
    )


class LocalizationManagerNode(SuiteNode):
    """Steps a :class:`LocalizationManager` twenty times a second and carries out its orders."""

    def __init__(self, **kwargs):
        """Declare parameters, topics and the service."""
        super().__init__('localization_manager', ManagerNodeSettings, **kwargs)
        self._manager = LocalizationManager(self.settings, load_robot())
        self._map_number, self._asked_map = 0, 0
        self._lost = (None, -math.inf)
        self._scan = None  # (points, when)
        self._mounts = {}
        self._pressed = {'left': False, 'right': False}
        self._felt = self._told = False
        self._answer = self._asked = None
        self._seeds = []  # own poses on initialpose
        self._said = ''
        self._frames = FrameTree(self)
        self._others, self._wheels = OtherDrivers(self), CommandLine(self)
        self._reflex = ReflexWatch(self)
        self._actions = self.create_publisher(String, '~/recovery_action', RECENT_QOS)
        self._candidates = self.create_publisher(PoseArray, '~/candidates', LATCHED_QOS)
        self._seed = self.create_publisher(PoseWithCovarianceStamped, 'initialpose', 10)
        self._relocalize = self.create_client(Relocalize, 'global_relocalizer/relocalize')
        self.create_subscription(
            PoseWithCovarianceStamped, 'initialpose', self._on_initial_pose, 10
        )
        self.create_subscription(Bool, 'localization_health/lost', self._on_lost, LATCHED_QOS)
        self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        self.create_subscription(LaserScan, 'scan', self._on_scan, SENSOR_QOS)
        for half in self._pressed:
            self.create_subscription(
                Bool, f'bumper/{half}', lambda msg, half=half: self._on_bumper(half, msg.data), 10
            )
        self.create_service(Trigger, '~/retry', self._on_retry)
        self.create_timer(PERIOD_S, self._tick)
        self.set_status(OK, 'waiting for localization_health', WATCHING, 'no_health')

    # -- inputs -----------------------------------------------------------------------------

    def _on_lost(self, msg):
        self._lost = (msg.data, self.now_s())

    def _on_map(self, msg):
        self._map_number += 1
        try:
            self._manager.set_map(grid_from_msg(msg))
        except GridError as error:
            self._manager.set_map(None)
            self.get_logger().error(f'topic map: {error}; drives without one')

    def _on_scan(self, msg):
        if not self._manager.recovering:
            return
        frame = msg.header.frame_id
        if frame not in self._mounts:
            mount = self._frames.matrix(self.settings.robot_frame, frame) if frame else None
            if mount is None:
                self.get_logger().warning(
                    f'topic scan: no transform {self.settings.robot_frame} <- {frame!r}',
                    throttle_duration_sec=5.0,
                )
                return
            self._mounts[frame] = mount
        try:
            points, _ = scan_points(scan_from_msg(msg), self._mounts[frame])
        except ScanError as error:
            self.get_logger().warning(f'topic scan: {error}; ignored', throttle_duration_sec=5.0)
            return
        self._scan = (points[points[:, 2] > ABOVE_FLOOR_M, :2], seconds(msg.header.stamp))

    def _on_bumper(self, half, pressed):
        self._pressed[half] = pressed
        self._felt |= pressed

    def _on_initial_pose(self, msg):
        pose = pose_from_msg(msg.pose.pose)
        if not any(np.allclose(pose, own, atol=1e-6) for own in self._seeds):
            self._told = True

    def _on_retry(self, request, response):
        response.success, response.message = self._manager.retry()
        return response

    # -- a step -----------------------------------------------------------------------------

    def _tick(self):
        now_s, settings = self.now_s(), self.settings
        lost, heard_s = self._lost
        if now_s - heard_s > settings.health_patience_s:
            lost = None
        felt, self._felt = self._felt or any(self._pressed.values()), False
        told, self._told = self._told, False
        answer, self._answer = self._answer, None
        orders = self._manager.step(
            Inputs(
                now_s,
                lost,
                heard_s,
                self._pose(settings.map_frame, 1.0),
                self._pose(settings.odom_frame, settings.stale_s),
                self._points(now_s),
                felt,
                self._relocalize.service_is_ready(),
                answer,
                self._others.stand,
                self._wheels.foreign or self._reflex.active,
                told,
                self._map_number,
            )
        )
        self._others.want(orders.hold, orders.wheels)
        self._wheels.drive(orders.command, twist_msg)
        if orders.seed is not None:
            self._publish_seed(orders.seed)
        if orders.ask:
            self._send_question()
        for word, sentence in orders.actions:
            self._tell(orders, word, sentence)
        if orders.actions:
            self._show_candidates()
        elif orders.state == WATCHING:
            self._say_watching(lost)

    def _pose(self, frame, patience_s):
        """Return the robot's pose in a frame, None when it is missing or old."""
        found = self._frames.stamped_pose(frame, self.settings.robot_frame)
        if found is None or self.now_s() - found[1] > patience_s:
            return None
        return found[0]

    def _points(self, now_s):
        if (
            self._scan is None
            or not 0.0 <= now_s - self._scan[1] + PERIOD_S <= self.settings.stale_s + PERIOD_S
        ):
            return None
        return self._scan[0]

    # -- question and answer ----------------------------------------------------------------

    def _send_question(self):
        if self._asked is not None:
            self._relocalize.remove_pending_request(self._asked)
        self._asked_map = self._map_number
        self._asked = self._relocalize.call_async(Relocalize.Request())
        self._asked.add_done_callback(self._on_answer)

    def _on_answer(self, future):
        if future is not self._asked or future.cancelled() or future.exception() is not None:
            return
        self._asked = None
        msg = future.result()
        stamp = msg.pose.header.stamp
        self._answer = Answer(
            msg.success,
            pose_from_msg(msg.pose.pose.pose),
            np.array(msg.pose.pose.covariance).reshape(6, 6)[PLANE],
            tuple(pose_from_msg(pose) for pose in msg.candidates),
            msg.candidates_complete,
            msg.reason_code,
            msg.message,
            self._frames.pose(
                self.settings.odom_frame, self.settings.robot_frame, Time.from_msg(stamp)
            ),
            stamp,
            self._asked_map,
        )

    # -- what the world is told -------------------------------------------------------------

    def _publish_seed(self, seed):
        msg = PoseWithCovarianceStamped()
        msg.header.frame_id = self.settings.map_frame
        msg.header.stamp = self.get_clock().now().to_msg() if seed.stamp is None else seed.stamp
        msg.pose.pose = pose_to_msg(seed.pose)
        covariance = np.zeros((6, 6))
        covariance[PLANE] = seed.covariance
        msg.pose.covariance = covariance.ravel().tolist()
        self._seeds = [*self._seeds[-7:], pose_from_msg(msg.pose.pose)]
        self._seed.publish(msg)

    def _tell(self, orders, word, sentence):
        self._actions.publish(String(data=word))
        level = OK if word in GOOD_WORDS else ERROR if orders.state == GIVEN_UP else WARN
        message = f'{word}: {sentence}'
        if message == self._said:  # the status says nothing twice, the log does
            self.get_logger().info(message)
        self._said = message
        pose = None if orders.seed is None else orders.seed.pose
        self.set_status(level, message, orders.state, word, True, pose)

    def _show_candidates(self):
        msg = PoseArray()
        msg.header.frame_id, msg.header.stamp = (
            self.settings.map_frame,
            self.get_clock().now().to_msg(),
        )
        msg.poses = [pose_to_msg(pose) for pose in self._manager.candidates()]
        self._candidates.publish(msg)

    def _say_watching(self, lost):
        if lost is None:
            self.set_status(
                WARN,
                f'topic {self.resolve_topic_name("localization_health/lost")} is silent: would '
                f'not '
                'notice being lost',
                WATCHING,
                'no_health',
            )
        elif self._said:
            self.set_status(OK, self._said, WATCHING, self._said.split(':')[0])
        else:
            self.set_status(OK, 'not lost', WATCHING, '')

    # -- life -------------------------------------------------------------------------------

    def settings_changed(self):
        """Go on with the new settings."""
        self._manager.configure(self.settings)

    def time_went_back(self):
        """Stand, forget what is newer than the clock, and begin a recovery under way anew."""
        self._wheels.drive(None, twist_msg)
        self._frames.clear()
        self._mounts.clear()
        self._others.forget_time()
        self._scan = self._answer = self._asked = None
        self._lost = (None, -math.inf)
        self._manager.time_went_back()

    def stop(self):
        """Leave the robot standing; what was paused stays so, since the pose is not known."""
        self._wheels.drive(None, twist_msg)


def main(args=None):
    """Run the node."""
    return run_node(LocalizationManagerNode, args)


if __name__ == '__main__':
    sys.exit(main())
