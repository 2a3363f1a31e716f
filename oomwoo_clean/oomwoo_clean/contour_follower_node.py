"""
Contour follower in the ROS graph: scan and bumpers in, ``cmd_vel`` out while enabled.

The algorithm is :mod:`oomwoo_clean.contour_follower`; this is its adapter.
"""
from dataclasses import dataclass
import sys

from geometry_msgs.msg import Point, PoseArray, Twist
from nav_msgs.msg import Odometry
import numpy as np
from oomwoo_clean.contour_follower import ContourFollower
from oomwoo_clean.contour_settings import (
    ALIGN,
    ARC,
    FOLLOW,
    FollowerSettings,
    HALT,
    IDLE,
    LOST,
    TOUCH,
)
from oomwoo_clean.drivers_ros_support import OtherDrivers
from oomwoo_clean.front_guard import polar_point
from oomwoo_localization.frames import transform_points
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import (
    LATCHED_QOS,
    OK,
    pose_from_msg,
    ReflexWatch,
    scan_from_msg,
    seconds,
    SENSOR_QOS,
    SuiteNode,
    twist_msg,
    WARN,
)
from oomwoo_localization.scans import ScanError
from oomwoo_localization.settings import setting
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Bool, ColorRGBA, Empty, String
from std_srvs.srv import SetBool
from visualization_msgs.msg import Marker, MarkerArray

_WATCH_PERIOD_S = 0.1
_HEARTBEAT_S = 0.5            # the state is said at least this often: silence means trouble
_MOUNT_KEPT_S = 1.0           # the mount is looked up again after this long
_COLOURS = {
    FOLLOW: (0.2, 0.8, 0.2), ALIGN: (0.2, 0.4, 1.0), ARC: (0.7, 0.2, 0.9), LOST: (0.9, 0.1, 0.1),
    HALT: (0.9, 0.1, 0.1), IDLE: (0.5, 0.5, 0.5), TOUCH: (1.0, 0.5, 0.0)}
_SAYS = {
    IDLE: 'disabled', ALIGN: 'approaching the surface', FOLLOW: 'following the surface',
    ARC: 'the surface ended, curving towards it', TOUCH: 'tracing by touch'}


@dataclass(frozen=True)
class NodeSettings(FollowerSettings):
    """Settings of the follower and of its node."""

    base_frame: str = setting('base_footprint', 'frame of the body centre', live=False)
    autostart: bool = setting(False, 'enabled from the start', live=False)
    lease_s: float = setting(
        0.0, 'stops by itself when ~/keep_alive has been silent for this long; 0: never', 's',
        0.0, 60.0)
    stale_s: float = setting(
        0.5, 'a scan or an odometry older than this is not driven by', 's', 0.05, 5.0)
    bumper_stale_s: float = setting(
        1.0, 'without a word of the bumper for this long, nothing is traced by touch', 's',
        0.2, 60.0)


class ContourFollowerNode(SuiteNode):
    """Steps a :class:`ContourFollower` on each scan."""

    def __init__(self, **kwargs):
        """Declare parameters, topics and the service."""
        super().__init__('contour_follower', NodeSettings, **kwargs)
        self._follower = ContourFollower(self.settings)
        self._frames = FrameTree(self)
        self._mounts = {}                   # scan frame: (4 x 4, when looked up)
        self._stamp_s = None                # of the newest scan
        self._heard_s = self.now_s()        # when a new scan came last, or it was enabled
        self._pressed = {'left': False, 'right': False}
        self._felt = set()                  # halves pressed since the last step
        self._bumper_s = dict.fromkeys(self._pressed)     # last word of each, if regular
        self._odometry = None               # newest message
        self._state = None
        self._reflex, self._others = ReflexWatch(self), OtherDrivers(self)
        self._command = self.create_publisher(Twist, 'cmd_vel', 10)
        self._states = self.create_publisher(String, '~/state', LATCHED_QOS)
        self._said_s = self._alive_s = self.now_s()
        self._touching = self.create_publisher(Bool, 'touch_cleaning', LATCHED_QOS)
        self._touches = False               # said when it changes: others say it, too
        self._events = self.create_publisher(String, '~/event', 10)
        self._markers = self.create_publisher(MarkerArray, '~/markers', 1)
        self.create_subscription(LaserScan, 'scan', self._on_scan, SENSOR_QOS)
        for half in self._pressed:
            self.create_subscription(
                Bool, f'bumper/{half}', lambda msg, half=half: self._on_bumper(half, msg.data), 10)
        self.create_subscription(Odometry, 'odom', self._on_odom, SENSOR_QOS)
        self._touched = None                # newest message of what is known by touch already
        self.create_subscription(PoseArray, '~/touched', self._on_touched, LATCHED_QOS)
        self.create_subscription(Empty, '~/keep_alive', lambda _: self._keep_alive(), 1)
        self.create_service(SetBool, '~/enable', self._on_enable)
        self.create_timer(_WATCH_PERIOD_S, self._watch)
        self._enable(self.settings.autostart)

    # -- on and off -------------------------------------------------------------------------

    def _on_enable(self, request, response):
        return self._others.switch(request, response, self._follower.enabled, self._enable)

    def _enable(self, on):
        was, bumped = self._follower.enabled, self._follower.bumped
        if on and not was:
            self._others.begin()
            self._recall()
        self._follower.enable(on)
        if on and (bumped or not was):
            self._heard_s = self._alive_s = self.now_s()
            self._felt = {half for half, pressed in self._pressed.items() if pressed}
            self._say(ALIGN, OK, 'enabled, waiting for a scan')
        elif not on:
            if was:
                self._command.publish(twist_msg(0.0, 0.0))
            self._others.beside = ''
            self._say(IDLE, OK, _SAYS[IDLE])

    def stop(self):
        """Leave the robot standing."""
        if self._follower.enabled:
            self._enable(False)

    def settings_changed(self):
        """Take over parameters that were set while running."""
        self._follower.configure(self.settings)

    def time_went_back(self):
        """Stand, and forget what is newer than the clock; it goes on with the next scan."""
        if self._follower.enabled:
            self._command.publish(twist_msg(0.0, 0.0))
        self._follower.forget()
        self._follower.forget_touches()
        self._frames.clear()
        self._mounts.clear()
        self._odometry = None
        self._bumper_s = dict.fromkeys(self._pressed)
        self._stamp_s = None
        self._heard_s = self._alive_s = self._said_s = self.now_s()
        self.get_logger().warning('the clock jumped back: forgot what was seen before')

    # -- input ------------------------------------------------------------------------------

    def _on_odom(self, msg):
        self._odometry = msg

    def _odom(self):
        """Return the newest pose (x, y, yaw) in odometry, None for one that is old or broken."""
        msg = self._odometry
        if msg is None or abs(self.now_s() - seconds(msg.header.stamp)) > self.settings.stale_s:
            return None
        try:
            x, y, yaw = pose_from_msg(msg.pose.pose)
        except ValueError:
            return None
        return np.array([x, y, yaw])

    def _on_touched(self, msg):
        self._touched = msg

    def _recall(self):
        """Let the follower know, in odometry, what earlier touches have found."""
        msg, odometry = self._touched, self._odometry
        if msg is None or odometry is None:
            return
        points = np.array([(pose.position.x, pose.position.y) for pose in msg.poses])
        points = points.reshape(-1, 2)
        pose = self._frames.pose(odometry.header.frame_id, msg.header.frame_id)
        if pose is None or not np.isfinite(points).all():
            self.get_logger().warning(
                f'topic {self.resolve_topic_name("~/touched")} is not usable: '
                f'{self._frames.error if pose is None else "a point is not finite"}')
            return
        self._follower.know(transform_points(pose, points))

    def _on_bumper(self, half, pressed):
        if pressed == self._pressed[half] or self._bumper_s[half] is not None:
            self._bumper_s[half] = self.now_s()         # one that repeats itself should go on so
        if pressed and not self._pressed[half]:
            self._felt.add(half)
            if self._follower.enabled and not self._follower.bumped:
                self._command.publish(twist_msg(0.0, 0.0))        # now, and not with the next scan
        self._pressed[half] = pressed

    def _on_scan(self, msg):
        if not self._follower.enabled:
            return
        stamp_s = seconds(msg.header.stamp)
        if self._stamp_s is not None and stamp_s <= self._stamp_s:
            return                      # repeated, or overtaken by a newer one
        self._heard_s = self.now_s()
        if self._reflex.active:
            self.set_status(
                WARN, 'standing: an escape reflex drives or holds the robot', self._state,
                'REFLEX')
            return
        if self._reflex.over():
            self._follower.forget()     # it is somewhere else now
            self._felt.clear()
        age_s = self.now_s() - stamp_s
        if abs(age_s) > self.settings.stale_s:
            when = (f'{age_s:.2f} s old' if age_s > 0.0
                    else f'stamped {-age_s:.2f} s ahead of the clock')
            self._stand(f'scan on {self._scan_topic()} is {when}', 'STALE_SCAN')
            return
        mount = self._mount(msg.header.frame_id)
        if mount is None:
            self._stand(
                f'scan in frame {msg.header.frame_id!r}: {self._frames.error}', 'NO_TRANSFORM')
            return
        try:
            scan = scan_from_msg(msg)
        except ScanError as error:
            self._stand(f'scan on {self._scan_topic()} not usable: {error}', 'BAD_SCAN')
            return
        self._stamp_s = stamp_s
        silent = self._silent_bumper()
        if silent and self._follower.touching:
            self._stand(
                f'tracing by touch, but nothing on {self.resolve_topic_name(silent)} for '
                f'{self.settings.bumper_stale_s} s', 'STALE_BUMPER')
            return
        felt = self._felt | {half for half, pressed in self._pressed.items() if pressed}
        had_bumped = self._follower.bumped
        out = self._follower.step(
            scan, mount, stamp_s, 'left' in felt, 'right' in felt, max(age_s, 0.0),
            self._odom())
        self._felt = set()
        self._command.publish(twist_msg(out.linear, out.angular))
        if out.bumped and not had_bumped:
            where = 'both' if len(felt) == 2 else next(iter(felt))
            self._events.publish(String(data=f'bump {where}'))
        level = WARN if out.state in (LOST, HALT) else OK
        code = 'BUMP' if out.bumped else 'NO_SURFACE' if out.state == LOST else ''
        self._say(out.state, level, out.reason or _SAYS[out.state], code)
        if self._markers.get_subscription_count():
            self._markers.publish(self._picture(out))

    def _silent_bumper(self):
        """Return the topic of a half that used to repeat itself and does not, or None."""
        for half, heard_s in self._bumper_s.items():
            if heard_s is not None and self.now_s() - heard_s > self.settings.bumper_stale_s:
                return f'bumper/{half}'
        return None

    def _mount(self, frame):
        """Return the 4 x 4 mount of a scan frame, or None; looked up once a second."""
        mount, when = self._mounts.get(frame, (None, -1e9))
        if self.now_s() - when > _MOUNT_KEPT_S:
            found = self._frames.matrix(self.settings.base_frame, frame)
            if found is None:
                return mount
            mount = found
            self._mounts[frame] = (mount, self.now_s())
        return mount

    def _keep_alive(self):
        """Take a sign of life of whoever switched the follower on."""
        self._alive_s = self.now_s()

    def _watch(self):
        """Stand when scans stay away, stop when its master does; say that it is there."""
        now_s, lease_s = self.now_s(), self.settings.lease_s
        if self._follower.enabled and 0.0 < lease_s < now_s - self._alive_s:
            self._enable(False)
            topic = self.resolve_topic_name('~/keep_alive')
            self.set_status(
                WARN, f'stopped: nothing on {topic} for {lease_s} s', IDLE, 'LEASE_OVER')
        other = self._others.in_the_way() if self._follower.enabled else ''
        if other:
            self._enable(False)
            self.set_status(WARN, f'stopped: {other}', IDLE, 'OTHER_DRIVER')
        if now_s - self._said_s >= _HEARTBEAT_S:
            self._said_s = now_s
            self._states.publish(String(data=self._state))
        if self._follower.enabled and self.now_s() - self._heard_s > self.settings.stale_s:
            self._stand(
                f'no new scan on {self._scan_topic()} for {self.settings.stale_s} s', 'STALE_SCAN')

    def _scan_topic(self):
        return self.resolve_topic_name('scan')

    # -- output -----------------------------------------------------------------------------

    def _stand(self, message, code):
        self._command.publish(twist_msg(0.0, 0.0))
        self._say(
            HALT if self._follower.bumped and not self._follower.touching else LOST, WARN,
            message, code)

    def _say(self, state, level, message, code=''):
        if state != self._state:
            if state == LOST:
                self._events.publish(String(data='lost'))
            self._state, self._said_s = state, self.now_s()
            self._states.publish(String(data=state))
        if self._touches is not (state == TOUCH):
            self._touches = state == TOUCH
            self._touching.publish(Bool(data=self._touches))
        self.set_status(
            level, message, state, code, evidence={'other_driver': self._others.beside})

    def _picture(self, out):
        """Return markers: an arrow from the body centre to the nearest point of the surface."""
        arrow = Marker(ns='surface', type=Marker.ARROW, action=Marker.ADD)
        arrow.header.frame_id = self.settings.base_frame
        arrow.header.stamp = self.get_clock().now().to_msg()
        if out.surface_seen:
            x, y = polar_point(out.distance_m, out.bearing_rad).tolist()
            arrow.points = [Point(), Point(x=x, y=y)]
            arrow.scale.x, arrow.scale.y = 0.01, 0.03
            red, green, blue = (1.0, 0.6, 0.0) if out.blocked else _COLOURS[out.state]
            arrow.color = ColorRGBA(r=red, g=green, b=blue, a=1.0)
        else:
            arrow.action = Marker.DELETE
        return MarkerArray(markers=[arrow])


def main():
    """Run the node."""
    return run_node(ContourFollowerNode)


if __name__ == '__main__':
    sys.exit(main())
