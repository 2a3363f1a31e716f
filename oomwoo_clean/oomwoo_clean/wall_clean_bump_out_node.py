"""
Bump-out in the ROS graph: bumper and wheel odometry in, ``cmd_vel`` out while enabled.

The algorithm is :mod:`oomwoo_clean.wall_bump_out`; this is its adapter.
"""
from dataclasses import dataclass
import sys

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
import numpy as np
from oomwoo_clean.bump_out_settings import BumpOutSettings
from oomwoo_clean.bumper_sense import SIDES
from oomwoo_clean.drivers_ros_support import OtherDrivers
from oomwoo_clean.wall_bump_out import HALT, IDLE, WallBumpOut
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import (
    LATCHED_QOS,
    OK,
    pose_from_msg,
    ReflexWatch,
    seconds,
    SENSOR_QOS,
    SuiteNode,
    twist_msg,
    WARN,
)
from oomwoo_localization.settings import setting
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool

_WATCH_PERIOD_S = 0.1
_HEARTBEAT_S = 0.5            # the state is said at least this often: silence means trouble
CLEAN = 'CLEAN'               # in the status, which is a log line, too: states change too often


@dataclass(frozen=True)
class NodeSettings(BumpOutSettings):
    """Settings of the bump-out and of its node."""

    autostart: bool = setting(False, 'enabled from the start', live=False)
    duration_s: float = setting(
        0.0, 'stops by itself after cleaning for this long; 0: never', 's', 0.0, 86400.0)
    stale_s: float = setting(
        0.5, 'odometry or bumper silent for this long: it stands', 's', 0.05, 5.0)
    seed: int = setting(
        0, 'of what is left to chance; 0: another one each time', '', 0, 2147483647, live=False)


class WallCleanBumpOutNode(SuiteNode):
    """Steps a :class:`WallBumpOut` on odometry and on each change of the bumper."""

    def __init__(self, **kwargs):
        """Declare parameters, topics and the service."""
        super().__init__('wall_clean_bump_out', NodeSettings, **kwargs)
        self._bump_out = WallBumpOut(
            self.settings, rng=np.random.default_rng(self.settings.seed or None))
        self._odom = None                   # newest pose
        self._odom_stamp_s = self._odom_heard_s = None
        self._heard_s = dict.fromkeys(SIDES)
        self._pressed = dict.fromkeys(SIDES, False)
        self._reflex, self._others = ReflexWatch(self), OtherDrivers(self)
        self._standing = ''                 # reason_code while it stands for the node's reasons
        self._enabled_s = self._said_s = self.now_s()
        self._state = None
        self._command = self.create_publisher(Twist, 'cmd_vel', 10)
        self._states = self.create_publisher(String, '~/state', LATCHED_QOS)
        self._events = self.create_publisher(String, '~/event', 10)
        self._flags = {
            name: self.create_publisher(Bool, name, LATCHED_QOS)
            for name in ('touch_cleaning', 'cleaning_active')}
        # Said when it changes: others say it on these topics, too, and the last word counts.
        self._said = dict.fromkeys(self._flags, False)
        self.create_subscription(Odometry, 'odom', self._on_odom, SENSOR_QOS)
        for side in SIDES:
            self.create_subscription(
                Bool, f'bumper/{side}', lambda msg, side=side: self._on_bumper(side, msg.data), 10)
        self.create_service(SetBool, '~/enable', self._on_enable)
        self.create_timer(_WATCH_PERIOD_S, self._watch)
        self._enable(self.settings.autostart)

    # -- on and off -------------------------------------------------------------------------

    def _on_enable(self, request, response):
        return self._others.switch(request, response, self._bump_out.enabled, self._enable)

    def _enable(self, on, why='', code='', level=OK):
        was = self._bump_out.enabled
        self._bump_out.enable(on)
        if on and not was:
            self._enabled_s = self.now_s()
            self._others.begin()
            self._stand('enabled, waiting for odometry and bumper', 'WAITING', OK)
        elif not on:
            if was:
                self._command.publish(twist_msg(0.0, 0.0))
            self._standing = self._others.beside = ''
            self._say(IDLE, level, why or 'disabled', code)

    def stop(self):
        """Leave the robot standing."""
        if self._bump_out.enabled:
            self._enable(False)

    def settings_changed(self):
        """Take over parameters that were set while running."""
        self._bump_out.configure(self.settings)

    def time_went_back(self):
        """Stand, and forget what is newer than the clock; it goes on with the next odometry."""
        if self._bump_out.enabled:
            self._command.publish(twist_msg(0.0, 0.0))
        self._bump_out.forget()
        self._odom = self._odom_stamp_s = self._odom_heard_s = None
        self._heard_s = dict.fromkeys(SIDES)
        self._enabled_s = self._said_s = self.now_s()
        self.get_logger().warning('the clock jumped back: forgot what was felt before')

    # -- input ------------------------------------------------------------------------------

    def _on_odom(self, msg):
        now_s, stamp_s = self.now_s(), seconds(msg.header.stamp)
        pose = pose_from_msg(msg.pose.pose)
        if self._odom_stamp_s is not None and stamp_s <= self._odom_stamp_s:
            return                          # repeated, or overtaken by a newer one
        if abs(now_s - stamp_s) > self.settings.stale_s or not np.isfinite(pose).all():
            return                          # as good as none: the watch will say so
        self._odom, self._odom_stamp_s, self._odom_heard_s = pose, stamp_s, now_s
        self._step()

    def _on_bumper(self, side, pressed):
        self._heard_s[side] = self.now_s()
        changed = pressed != self._pressed[side]
        self._pressed[side] = pressed
        if changed:
            self._step()

    def _missing(self):
        """Return (code, sentence) of what keeps the node from driving, or None."""
        if self._reflex.active:
            return 'ESCAPE_REFLEX', 'the escape reflex drives: standing until it is done'
        now_s, stale_s = self.now_s(), self.settings.stale_s
        silent = [
            self.resolve_topic_name(topic) for topic, at in (
                ('odom', self._odom_heard_s),
                *((f'bumper/{side}', at) for side, at in self._heard_s.items()))
            if at is None or now_s - at > stale_s]
        if not silent:
            return None
        code = 'STALE_ODOMETRY' if silent[0].endswith('odom') else 'STALE_BUMPER'
        return code, f'nothing usable on {" and ".join(silent)} for {stale_s} s'

    # -- driving ----------------------------------------------------------------------------

    def _step(self):
        if not self._bump_out.enabled or self._odom is None:
            return
        missing = self._missing()
        if missing is not None:
            self._stand(missing[1], missing[0])
            return
        if self._standing:
            self._bump_out.forget()         # who knows where it was carried, and what it felt
            self._standing = ''
        out = self._bump_out.step(self.now_s(), self._odom, *self._pressed.values())
        self._command.publish(twist_msg(out.linear, out.angular))
        if out.event:
            self._events.publish(String(data=out.event))
        if out.state == HALT:
            self._say(HALT, WARN, out.reason, out.code)
        elif out.side:
            self._say(
                out.state, OK, f'along the surface on the {out.side}, by touch', status=CLEAN)
        else:
            self._say(out.state, OK, 'driving until something is touched')

    def _watch(self):
        """Stand when something is missing, end when its time is over; say that it is there."""
        now_s = self.now_s()
        if self._bump_out.enabled:
            duration_s = self.settings.duration_s
            missing, other = self._missing(), self._others.in_the_way()
            if other:
                self._enable(False, f'stopped: {other}', 'OTHER_DRIVER', WARN)
            elif 0.0 < duration_s <= now_s - self._enabled_s:
                self._enable(False, f'done: cleaned for {duration_s:g} s', 'DONE')
            elif missing is not None and (
                    self._reflex.active or now_s - self._enabled_s > self.settings.stale_s):
                self._stand(missing[1], missing[0])
        if now_s - self._said_s >= _HEARTBEAT_S:
            self._said_s = now_s
            self._states.publish(String(data=self._state))

    def _stand(self, message, code, level=WARN):
        """Stand; nothing more is published while the reflex drives, so that it alone does."""
        if not (self._reflex.active and self._standing == code):
            self._command.publish(twist_msg(0.0, 0.0))
        self._standing = code
        self._say(HALT, level, message, code)

    def _say(self, state, level, message, code='', status=''):
        self._flag('touch_cleaning', self._bump_out.enabled)
        self._flag('cleaning_active', state not in (IDLE, HALT))
        if state != self._state:
            self._state, self._said_s = state, self.now_s()
            self._states.publish(String(data=state))
        self.set_status(
            level, message, status or state, code,
            evidence={'other_driver': self._others.beside})

    def _flag(self, name, value):
        if self._said[name] != value:
            self._said[name] = value
            self._flags[name].publish(Bool(data=value))


def main():
    """Run the node."""
    return run_node(WallCleanBumpOutNode)


if __name__ == '__main__':
    sys.exit(main())
