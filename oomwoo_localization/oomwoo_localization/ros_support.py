"""What every node of the suite does alike: parameters, status, QoS, topics, conversions."""
from array import array
from dataclasses import fields, replace
import math
import time

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from diagnostic_updater import Updater
from geometry_msgs.msg import Pose, Twist
from nav_msgs.msg import OccupancyGrid as OccupancyGridMsg
import numpy as np
from oomwoo_localization.frames import (
    matrix_from_quaternion,
    quaternion_from_yaw,
    yaw_from_quaternion,
)
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.scans import Scan
from oomwoo_localization.settings import check_setting, check_settings, SettingError
from oomwoo_localization.shared_process import Share, SharedProcess
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
import rclpy
from rclpy.clock import ClockChange
from rclpy.duration import Duration
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from std_msgs.msg import Bool

SENSOR_QOS = qos_profile_sensor_data
LATCHED_QOS = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)

_REFLEX_SILENT_S = 1.5      # it says twice a second that it drives

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


def seconds(stamp):
    """Return a builtin_interfaces Time as float seconds."""
    return stamp.sec + stamp.nanosec * 1e-9


def scan_from_msg(msg):
    """Return a :class:`Scan` of a sensor_msgs/LaserScan; ScanError naming a bad header field."""
    return Scan(
        np.asarray(msg.ranges, dtype=float), msg.angle_min, msg.angle_increment,
        msg.range_min, msg.range_max, seconds(msg.header.stamp), msg.time_increment).check()


def grid_from_msg(msg):
    """Return an :class:`OccupancyGrid` of the message; raises GridError naming what is wrong."""
    info = msg.info
    cells = np.asarray(msg.data, dtype=np.int8)
    if cells.size == info.width * info.height:
        cells = cells.reshape(info.height, info.width)
    grid = OccupancyGrid(cells, float(info.resolution), tuple(pose_from_msg(info.origin)))
    return grid.check('map')


def grid_to_msg(grid, frame_id='map', stamp=None):
    """Return a nav_msgs/OccupancyGrid; ``stamp`` is a builtin_interfaces Time."""
    msg = OccupancyGridMsg()
    msg.header.frame_id = frame_id
    if stamp is not None:
        msg.header.stamp = msg.info.map_load_time = stamp
    msg.info.resolution = float(grid.resolution)
    msg.info.height, msg.info.width = grid.shape
    msg.info.origin = pose_to_msg(grid.origin)
    msg.data = array('b', np.ascontiguousarray(grid.cells, dtype=np.int8).tobytes())
    return msg


def pose_from_msg(pose):
    """Return the plane pose ``(x, y, yaw)`` of a geometry_msgs/Pose."""
    q = pose.orientation
    return np.array([pose.position.x, pose.position.y, yaw_from_quaternion(q.x, q.y, q.z, q.w)])


def pose_to_msg(pose):
    """Return a geometry_msgs/Pose of a plane pose ``(x, y, yaw)``."""
    msg = Pose()
    msg.position.x, msg.position.y = float(pose[0]), float(pose[1])
    q = msg.orientation
    q.x, q.y, q.z, q.w = quaternion_from_yaw(float(pose[2]))
    return msg


def matrix_from_msg(transform):
    """Return the 4 x 4 matrix of a geometry_msgs/Transform; raises ValueError when it is none."""
    t, q = transform.translation, transform.rotation
    return matrix_from_quaternion(t.x, t.y, t.z, q.x, q.y, q.z, q.w)


def twist_msg(linear, angular):
    """Return a geometry_msgs/Twist that drives at ``linear`` m/s and ``angular`` rad/s."""
    msg = Twist()
    msg.linear.x, msg.angular.z = float(linear), float(angular)
    return msg


class SuiteNode(Node):
    """
    A node with declared settings, a latched ``~/status``, diagnostics and an orderly stop.

    A subclass overrides :meth:`stop` to leave the robot standing, :meth:`settings_changed` to
    follow ``ros2 param set``, and :meth:`time_went_back` to forget what is newer than the clock.
    """

    def __init__(self, name, settings_class=None, **kwargs):
        """Declare the fields of ``settings_class`` as parameters; ``self.settings`` has values."""
        super().__init__(name, **kwargs)
        self._status_publisher = self.create_publisher(DiagnosticStatus, '~/status', LATCHED_QOS)
        self._status = DiagnosticStatus(level=OK, name=name, message='starting')
        self._updater = Updater(self)
        self._updater.setHardwareID('oomwoo')
        self._updater.add(name, self._diagnose)
        self.settings = self._declare(settings_class) if settings_class else None
        self._simulated = self.get_clock().ros_time_is_active
        # Kept, because the clock does not: a callback whose handle is gone is called all the same.
        self._jump_handle = self.get_clock().create_jump_callback(
            _BACKWARDS, post_callback=self._on_jump)

    # -- settings ---------------------------------------------------------------------------

    def _declare(self, kind):
        values = {}
        for info in fields(kind):
            try:
                parameter = self.declare_parameter(info.name, info.default, _descriptor(info))
                values[info.name] = check_setting(info, parameter.value)
            except (
                    SettingError, InvalidParameterTypeException,
                    InvalidParameterValueException) as error:
                raise SettingError(f'{self.get_name()}: parameter {info.name}: {error}') from error
        try:
            settings = check_settings(kind(**values))
        except ValueError as error:
            raise SettingError(f'{self.get_name()}: {error}') from error
        self.add_on_set_parameters_callback(self._on_set_parameters)
        return settings

    def _on_set_parameters(self, parameters):
        known = {info.name: info for info in fields(self.settings)}
        changes = {}
        try:
            for parameter in parameters:
                info = known.get(parameter.name)
                if info is None:
                    continue
                if not info.metadata['live']:
                    raise SettingError(
                        f'{info.name}: cannot change while the node runs; '
                        'restart it with the value')
                changes[info.name] = check_setting(info, parameter.value)
            if changes:
                before = self.settings
                self.settings = check_settings(replace(self.settings, **changes))
                try:
                    self.settings_changed()
                except ValueError:
                    self.settings = before
                    raise
        except ValueError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def settings_changed(self):
        """Take over new ``self.settings`` after ``ros2 param set``; ValueError refuses them."""

    # -- status -----------------------------------------------------------------------------

    def set_status(
            self, level, message, state='', reason_code='', recoverable=True, pose=None,
            evidence=None):
        """
        Publish why the node is in the state it is in, once per change, and log it.

        ``message`` is one sentence for a human; ``pose`` a plane pose in the map frame, if known;
        ``evidence`` a dict of further values, of which a change is published and not logged.
        """
        evidence = {key: str(value) for key, value in (evidence or {}).items()}
        values = {
            'state': state, 'reason_code': reason_code,
            'recoverable': str(bool(recoverable)).lower(), **evidence}
        if pose is not None:
            values['pose'] = ' '.join(f'{v:.3f}' for v in pose)
        now = (level, message, state, reason_code)
        old = {kv.key: kv.value for kv in self._status.values}
        before = (
            self._status.level, self._status.message, old.get('state', ''),
            old.get('reason_code', ''))
        said = now == before
        if said and all(old.get(key) == value for key, value in evidence.items()):
            return
        self._status = DiagnosticStatus(
            level=level, name=self.get_name(), message=message, hardware_id='oomwoo',
            values=[KeyValue(key=k, value=str(v)) for k, v in values.items()])
        self._status_publisher.publish(self._status)
        if said:
            return
        # One line of code per severity: rclpy refuses a call site that changes its own.
        if level == OK:
            self.get_logger().info(message)
        elif level == WARN:
            self.get_logger().warning(message)
        else:
            self.get_logger().error(message)

    def _diagnose(self, stat):
        stat.summary(self._status.level, self._status.message)
        for pair in self._status.values:
            stat.add(pair.key, pair.value)
        return stat

    # -- topics -----------------------------------------------------------------------------

    def create_subscription(self, msg_type, topic, callback, qos_profile, **words):
        """Subscribe as rclpy's nodes do; nodes in one process take a message in once for all."""
        def subscribe(on_message):
            return super(SuiteNode, self).create_subscription(
                msg_type, topic, on_message, qos_profile, **words)

        qos = QoSProfile(depth=qos_profile) if isinstance(qos_profile, int) else qos_profile
        latched = qos.durability != DurabilityPolicy.VOLATILE     # each gets what was said before
        if SharedProcess.here is None or latched or words.keys() - {'raw'}:
            return subscribe(callback)
        return SharedProcess.here.subscribe(
            (self.resolve_topic_name(topic), msg_type, words.get('raw', False)), qos, subscribe,
            callback)

    def create_unread_subscription(self, msg_type, topic, callback, qos_profile):
        """
        Subscribe to a topic of which few messages are looked at: ``callback(read)``.

        ``read()`` returns the message, which is taken apart only then.
        """
        if SharedProcess.here is not None:            # others look at all of them
            return self.create_subscription(
                msg_type, topic, lambda msg: callback(lambda: msg), qos_profile)
        return self.create_subscription(
            msg_type, topic, lambda raw: callback(lambda: deserialize_message(raw, msg_type)),
            qos_profile, raw=True)

    def destroy_subscription(self, subscription):
        """Hear no more of it; in a shared process the others go on hearing."""
        if isinstance(subscription, Share):
            return subscription.end()
        return super().destroy_subscription(subscription)

    # -- time -------------------------------------------------------------------------------

    def now_s(self):
        """Return the node clock in seconds."""
        if self._simulated:
            return self.get_clock().now().nanoseconds * 1e-9
        return time.time()                 # the same, at a tenth of the cost

    def _on_jump(self, jump):
        self._simulated = self.get_clock().ros_time_is_active
        if jump.clock_change in (
                ClockChange.ROS_TIME_NO_CHANGE, ClockChange.SYSTEM_TIME_NO_CHANGE):
            self.time_went_back()

    def time_went_back(self):
        """Forget everything that is newer than the clock; called after a jump back in time."""

    # -- life -------------------------------------------------------------------------------

    def stop(self):
        """Leave the robot standing; called once before the node goes down."""


_BACKWARDS = rclpy.clock.JumpThreshold(
    min_forward=None, min_backward=Duration(seconds=-0.5), on_clock_change=True)


def _descriptor(info):
    meta = info.metadata
    text = meta['description'] + (f' [{meta["unit"]}]' if meta['unit'] else '')
    described = ParameterDescriptor(description=text)
    low, high = meta['low'], meta['high']
    if meta['choices']:
        described.additional_constraints = 'one of: ' + ', '.join(meta['choices'])
    if isinstance(info.default, float) and (low is not None or high is not None):
        described.floating_point_range = [FloatingPointRange(
            from_value=-math.inf if low is None else float(low),
            to_value=math.inf if high is None else float(high))]
    elif (isinstance(info.default, int) and not isinstance(info.default, bool)
            and None not in (low, high)):
        described.integer_range = [IntegerRange(from_value=low, to_value=high, step=0)]
    return described


class ReflexWatch:
    """
    Whether the escape reflex drives or holds the robot: every behaviour stands meanwhile.

    A behaviour asks :attr:`active` before it steps, and :meth:`over` to take up again from where
    the robot is then. A reflex that has died is not waited for.
    """

    def __init__(self, node):
        """Listen for ``node``; silence means that no reflex drives."""
        self._node, self._heard_s, self._was = node, None, False
        node.create_subscription(Bool, 'escape_reflex/active', self._on_active, LATCHED_QOS)

    def _on_active(self, msg):
        self._heard_s = self._node.now_s() if msg.data else None

    @property
    def active(self):
        """Tell whether it drives or holds."""
        if self._heard_s is None:
            return False
        silent_s = self._node.now_s() - self._heard_s
        if silent_s < 0.0:
            self._heard_s = self._node.now_s()              # the clock jumped back
        elif silent_s > _REFLEX_SILENT_S:
            self._heard_s = None
            return False
        self._was = True
        return True

    def over(self):
        """Tell, once, that it has driven since the last time and does no more."""
        if self.active or not self._was:
            return False
        self._was = False
        return True


def publishers_qos(publishers, depth):
    """
    Return the strongest QoS that every publisher of a topic offers.

    ``publishers`` is what ``get_publishers_info_by_topic`` returns.
    """
    latched = all(p.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in publishers)
    reliable = all(p.qos_profile.reliability == ReliabilityPolicy.RELIABLE for p in publishers)
    return QoSProfile(
        depth=depth,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT)
