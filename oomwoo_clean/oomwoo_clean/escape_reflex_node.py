"""
Escape reflexes in the ROS graph: bumpers, scan and commands in, ``cmd_vel_reflex`` out.

The algorithm is :mod:`oomwoo_clean.escape_reflex`; this is its adapter. It runs only when
something happens: while nothing is pressed, one scan is read in a window of travel.
"""
from dataclasses import dataclass
import math
import sys

from action_msgs.srv import CancelGoal
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from oomwoo_clean.escape_reflex import EscapeReflex
from oomwoo_clean.reflex_ros_support import NoGoPockets, RareFrames
from oomwoo_clean.reflex_settings import OVERRIDDEN, ReflexSettings, STUCK, WATCH
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import (
    ERROR,
    LATCHED_QOS,
    OK,
    pose_from_msg,
    scan_from_msg,
    seconds,
    SENSOR_QOS,
    SuiteNode,
    twist_msg,
    WARN,
)
from oomwoo_localization.scans import ScanError
from oomwoo_localization.settings import setting
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

_STEP_S = 0.05                # while it drives, or something is pressed
_LOOK_S = 1.0                 # how often it looks whether its senses are there
_HOLD_S = 0.2                 # a robot that is held is told so this often
_ALIVE_S = 0.5                # and others, that it still is
_SILENT_S = 2.0               # a scan or odometry that has not come for this long does not come


@dataclass(frozen=True)
class NodeSettings(ReflexSettings):
    """Settings of the reflexes and of their node."""

    base_frame: str = setting('base_footprint', 'frame of the body centre', live=False)
    odom_frame: str = setting('odom', 'frame of the odometry', live=False)
    map_frame: str = setting('map', 'frame of the pockets', live=False)
    stale_s: float = setting(0.5, 'a scan older than this is not driven by', 's', 0.05, 5.0)
    robot_file: str = setting('', 'robot file; empty: the packaged one', live=False)


class EscapeReflexNode(SuiteNode):
    """Steps an :class:`EscapeReflex`; drives only while that says so."""

    def __init__(self, **kwargs):
        """Declare parameters, topics and the service."""
        super().__init__('escape_reflex', NodeSettings, **kwargs)
        self._reflex = EscapeReflex(self.settings, load_robot(self.settings.robot_file or None))
        self._frames, self._mounts = RareFrames(self), {}
        self._scan_s = self._drove_s = self._odom_s = self._odom = None
        self._scan_fault = self._odom_fault = ''
        self._said_s = self._sent_s = -math.inf
        self._was_active, self._sent = False, None
        self._command = self.create_publisher(Twist, 'cmd_vel_reflex', 10)
        self._active = self.create_publisher(Bool, '~/active', LATCHED_QOS)
        self._pockets = NoGoPockets(self, '~/pockets', self.settings.map_frame)
        for side in ('left', 'right'):
            self.create_subscription(
                Bool, f'bumper/{side}', lambda msg, side=side: self._on_bumper(side, msg.data), 10)
        self.create_subscription(Twist, 'cmd_vel_mux', self._on_command, 10)
        self.create_unread_subscription(LaserScan, 'scan', self._on_scan, SENSOR_QOS)
        self.create_unread_subscription(Odometry, 'odom', self._on_odom, SENSOR_QOS)
        self.create_subscription(Bool, 'touch_cleaning', self._on_touch_cleaning, LATCHED_QOS)
        self._cancel = self.create_client(CancelGoal, 'navigate_to_pose/_action/cancel_goal')
        self.create_service(Trigger, '~/reset', self._on_reset)
        self._timer = self.create_timer(_STEP_S, self._step)
        self._timer.cancel()
        self.create_timer(_LOOK_S, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._active.publish(Bool(data=False))
        self.set_status(OK, 'watching', WATCH)

    # -- input ------------------------------------------------------------------------------

    def _on_bumper(self, side, pressed):
        self._read_odometry()
        self._reflex.bumper(side, pressed, self.now_s())
        if self._reflex.busy:
            self._step()

    def _on_command(self, msg):
        linear, angular = msg.linear.x, msg.angular.z
        if not (math.isfinite(linear) and math.isfinite(angular)):
            self.get_logger().warning(
                f'topic {self.resolve_topic_name("cmd_vel_mux")}: a speed is not a number or not '
                'finite; ignored', throttle_duration_sec=5.0)
            return
        self._drove_s = now_s = self.now_s()
        self._reflex.commanded(linear, angular, now_s)

    def _on_odom(self, read):
        self._odom, self._came_s = read, self.now_s()

    def _read_odometry(self):
        """Show the reflex where it is, as odometry last said."""
        if self._odom is None:
            return
        msg, self._odom = self._odom(), None
        if self._reflex.odometry(pose_from_msg(msg.pose.pose), self._came_s):
            self._odom_s, self._odom_fault = self._came_s, ''
        else:
            self._odom_fault = 'its pose is not finite'

    def _on_touch_cleaning(self, msg):
        self._reflex.touch_cleaning = msg.data

    def _on_scan(self, read):
        now_s = self.now_s()
        if not (self._scan_fault or self._reflex.wants_scan(now_s)):
            self._scan_s = now_s
            return
        self._scan_fault = self._use_scan(read(), now_s)
        if self._scan_fault:
            self.get_logger().warning(
                f'topic {self.resolve_topic_name("scan")}: {self._scan_fault}; ignored',
                throttle_duration_sec=5.0)
            return
        self._scan_s = now_s
        self._step()

    def _use_scan(self, msg, now_s):
        """Show the reflex a scan; return why that cannot be, '' when it can."""
        age_s = now_s - seconds(msg.header.stamp)
        if abs(age_s) > self.settings.stale_s:
            return f'stamped {abs(age_s):.1f} s {"ago" if age_s > 0.0 else "ahead"}'
        mount = self._mount(msg.header.frame_id)
        if mount is None:
            return f'no transform {self.settings.base_frame} <- {msg.header.frame_id!r}'
        try:
            used = self._reflex.scanned(scan_from_msg(msg), mount, now_s)
        except ScanError as error:
            return str(error)
        return '' if used else f'too few of its {len(msg.ranges)} beams are measurements'

    def _mount(self, frame):
        """Return the 4 x 4 mount of a scan frame, or None; looked up until it is known."""
        if frame not in self._mounts:
            found = self._frames.matrix(self.settings.base_frame, frame) if frame else None
            if found is None:
                return None
            self._mounts[frame] = found
        return self._mounts[frame]

    def _on_reset(self, request, response):
        self._reflex.free()
        response.success = True
        response.message = 'behaviours may drive again' if self._was_active else 'nothing was held'
        self._step()
        return response

    # -- a step -----------------------------------------------------------------------------

    def _step(self):
        now_s = self.now_s()
        self._read_odometry()
        out = self._reflex.step(now_s)
        if out.cancel_goals and self._cancel.service_is_ready():
            self._cancel.call_async(CancelGoal.Request())        # an empty one: all goals
        if out.pocket is not None:
            self._pockets.add(out.pocket)
            self._place_pockets()
        if out.active:
            self._drive(out, now_s)
        elif self._was_active:
            self._command.publish(twist_msg(0.0, 0.0))
            self._sent = None
        if out.active != self._was_active or out.active and now_s - self._said_s > _ALIVE_S:
            self._was_active, self._said_s = out.active, now_s
            self._active.publish(Bool(data=out.active))
        if out.changed:
            self._say(out)
        if self._reflex.busy:
            if self._timer.is_canceled():
                self._timer.reset()
        else:
            self._timer.cancel()

    def _drive(self, out, now_s):
        command = (out.linear, out.angular)
        if out.state == STUCK and command == self._sent and now_s - self._sent_s < _HOLD_S:
            return
        self._sent, self._sent_s = command, now_s
        self._command.publish(twist_msg(*command))

    def _say(self, out):
        level = OK if out.state == WATCH else ERROR if out.state == STUCK else WARN
        message = out.evidence or 'watching'
        if out.state == WATCH and out.reason_code != OVERRIDDEN:
            message = f'watching; {out.evidence or "the reflex is over"}'
        self.set_status(
            level, message, out.state, out.reason_code, out.state != STUCK,
            evidence={'evidence': out.evidence})

    def _look(self):
        """Place pockets on the map, and say which of the senses are missing."""
        self._place_pockets()
        if self._reflex.touch_cleaning and not self.count_publishers('touch_cleaning'):
            self._reflex.touch_cleaning = False          # who said so did not end in order
        self._read_odometry()
        if self._reflex.state != WATCH:
            return
        now_s = self.now_s()
        driven = self._drove_s is not None and 0.0 <= now_s - self._drove_s < _SILENT_S
        absent = [self.resolve_topic_name(f'bumper/{side}') for side in ('left', 'right')
                  if not self.count_publishers(f'bumper/{side}')]
        if absent:
            self.set_status(
                WARN, f'watching, but nobody publishes {" and ".join(absent)}: blind to contact',
                WATCH, 'NO_BUMPER')
        elif driven and self._silent(self._scan_s, now_s):
            self.set_status(
                WARN, f'watching, but {self._missing("scan", self._scan_fault)}: cannot tell a '
                'robot that is high-centred', WATCH, 'NO_SCAN')
        elif driven and self._silent(self._odom_s, now_s):
            self.set_status(
                WARN, f'watching, but {self._missing("odom", self._odom_fault)}: cannot tell a '
                'robot that is confined', WATCH, 'NO_ODOMETRY')
        elif self._status.level == WARN:
            self.set_status(OK, 'watching', WATCH)

    @staticmethod
    def _silent(heard_s, now_s):
        return heard_s is None or now_s - heard_s > _SILENT_S

    def _missing(self, topic, fault):
        topic = self.resolve_topic_name(topic)
        return f'what comes on {topic} is of no use ({fault})' if fault else (
            f'nothing comes on {topic}')

    def _place_pockets(self):
        """Publish what was recorded in odom, as soon as tf knows where that is in the map."""
        if not self._pockets.waiting:
            return
        found = self._frames.matrix(self.settings.map_frame, self.settings.odom_frame)
        if found is not None:
            self._pockets.place((found[0, 3], found[1, 3], math.atan2(found[1, 0], found[0, 0])))

    # -- life -------------------------------------------------------------------------------

    def settings_changed(self):
        """Take over parameters that were set while running."""
        self._reflex.configure(self.settings)

    def time_went_back(self):
        """Forget what is newer than the clock; a robot that is stuck stays so."""
        self._reflex.time_went_back()
        self._frames.clear()
        self._mounts.clear()
        self._scan_s = self._drove_s = self._odom_s = self._odom = None
        self._scan_fault = self._odom_fault = ''
        self._said_s = self._sent_s = -math.inf
        self._step()

    def stop(self):
        """Leave the robot standing, and to others."""
        self._command.publish(twist_msg(0.0, 0.0))
        self._active.publish(Bool(data=False))


def main(args=None):
    """Run the node."""
    return run_node(EscapeReflexNode, args)


if __name__ == '__main__':
    sys.exit(main())
