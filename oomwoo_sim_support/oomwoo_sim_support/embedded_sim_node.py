"""The embedded simulator in the ROS graph: base, sensors, ``/clock``, simulation control."""
from array import array
from dataclasses import dataclass
import math
import sys
import time

from geometry_msgs.msg import TransformStamped, Twist
from nav_msgs.msg import Odometry
import numpy as np
from oomwoo_localization.frames import compose, inverse, quaternion_from_yaw
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import OK, pose_to_msg, SENSOR_QOS, SuiteNode, WARN
from oomwoo_localization.settings import setting, SettingError
from oomwoo_sim_support.battery_ros_support import battery_msg
from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.sim_pacing import Pacer
from oomwoo_sim_support.sim_ros_support import SimulationServices
from oomwoo_sim_support.sim_settings import SimSettings, TICK_S
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.clock import Clock, ClockType
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMsg
from sensor_msgs.msg import BatteryState, Imu, JointState, LaserScan
from std_msgs.msg import Bool, Float32
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

MAP, ODOM, BASE = 'map', 'odom', 'base_footprint'
SLOW_BELOW = 0.8              # share of the wanted factor; under it the machine counts as busy
TICK_NS = round(TICK_S * 1e9)
WALL_DRIFT_NS = 100_000_000   # stamps by the wall are set anew when they are off by this much


@dataclass(frozen=True)
class SimNodeSettings(SimSettings):
    """The simulator's settings and those of its node."""

    world: str = setting(
        'contour_torture', 'packaged layout, or path of a layout file', live=False)
    odom_source: str = setting(
        'robot_wheels', 'what odom comes from', '', choices=('robot_wheels', 'ground_truth'),
        live=False)
    real_time_factor: float = setting(
        1.0, 'simulated over wall time; 0: as fast as possible', '', 0.0, 1000.0)
    seed: int = setting(0, 'of noise, slip and calibration errors', '', 0, 2147483647, live=False)
    robot_file: str = setting('', 'robot file; empty: the packaged one', live=False)
    clock: str = setting(
        'simulated', 'what time it is: simulated, said on /clock, or wall: no /clock, '
        'as on a robot', '', choices=('simulated', 'wall'), live=False)
    clock_rate: float = setting(
        50.0, '/clock messages a simulated second; divides 100', 'Hz', 1.0, 100.0, live=False)
    odom_rate: float = setting(
        20.0, 'odometry, tf and joint states; divides 100', 'Hz', 1.0, 100.0, live=False)
    imu_rate: float = setting(50.0, 'IMU; divides 100', 'Hz', 1.0, 100.0, live=False)
    dock_ir_rate: float = setting(
        20.0, 'infrared receivers, in a world with a dock; divides 100', 'Hz', 1.0, 100.0,
        live=False)
    command_wait_s: float = setting(
        0.0, 'wall time that the clock waits for whoever drives to answer a scan; keeps the delay '
        'between scan and command small on a busy machine', 's', 0.0, 2.0)
    robot_tf: bool = setting(
        True, 'publish the frames of the robot; false where a robot_state_publisher does',
        live=False)


class EmbeddedSimNode(SuiteNode):
    """Steps an :class:`EmbeddedSim` at a real-time factor and speaks for its base and sensors."""

    def __init__(self):
        """Build the world; raises ValueError for a bad layout, robot or start, and names it."""
        super().__init__('embedded_sim', SimNodeSettings)
        settings = self.settings.check()
        self._check_clock()
        robot = load_robot(settings.robot_file or None)
        layout = load_layout(settings.world)
        self.sim = EmbeddedSim(
            layout, robot, settings, settings.seed, self._start_pose(layout.start))
        self._odom_from_map = inverse(self.sim.truth().pose)
        self.paused = False
        self._every = {
            name: self._ticks_between(name)
            for name in ('clock_rate', 'odom_rate', 'imu_rate', 'dock_ir_rate')}
        self._scan_every = max(1, round(1.0 / robot.lidar.rate / TICK_S))
        self._tick = 0
        self._began_ns = None           # time of tick 0, by the wall
        self._bumpers = self._charging = None
        self._command_s = self._waiting_since = -math.inf
        self._create_publishers(robot)
        self.create_subscription(Twist, 'cmd_vel', self._on_command, 1)
        self._control = SimulationServices(self)
        self._pacer = Pacer(TICK_S, settings.real_time_factor)
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(self._pacer.period_s, self._on_timer, clock=self._wall)
        self._updater.add('simulation', self._diagnose_speed)
        self._say_running()

    def _check_clock(self):
        if self.settings.clock == 'wall' and self.settings.real_time_factor != 1.0:
            raise SettingError(
                'embedded_sim: parameter clock: wall goes with a real_time_factor of 1 only')

    def _start_pose(self, start):
        """Return the start from x_pose, y_pose and yaw; what is not given is the layout's."""
        given = []
        for name, default in zip(('x_pose', 'y_pose', 'yaw'), start):
            descriptor = ParameterDescriptor(
                description='start in the map; as the layout says when not given',
                dynamic_typing=True)
            value = self.declare_parameter(name, None, descriptor).value
            value = default if value is None else value
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not math.isfinite(value):
                raise SettingError(
                    f'embedded_sim: parameter {name}: expected a number, got {value!r}')
            given.append(float(value))
        return given

    def _ticks_between(self, name):
        rate = getattr(self.settings, name)
        ticks = 1.0 / rate / TICK_S
        if abs(ticks - round(ticks)) > 1e-6:
            raise SettingError(f'embedded_sim: parameter {name}: {rate} Hz does not divide 100 Hz')
        return round(ticks)

    def _create_publishers(self, robot):
        def publisher(kind, topic, qos=10):
            return self.create_publisher(kind, topic, qos)

        simulated = self.settings.clock == 'simulated'
        self._clock_out = publisher(ClockMsg, '/clock') if simulated else None
        self._scan = publisher(LaserScan, 'scan', SENSOR_QOS)
        self._odom, self._truth = publisher(Odometry, 'odom'), publisher(Odometry, 'odom_truth')
        self._joints = publisher(JointState, 'joint_states')
        self._imu = publisher(Imu, 'imu', SENSOR_QOS)
        self._bumper = publisher(Bool, 'bumper/left'), publisher(Bool, 'bumper/right')
        self._battery = publisher(BatteryState, 'battery_state')
        self._dock_ir = [publisher(Float32, f'dock_ir/{side}') for side in ('left', 'right')
                         if self.sim.has_dock]
        self._tf, self._static_tf = TransformBroadcaster(self), StaticTransformBroadcaster(self)
        self._odom_msg, self._truth_msg = _odometry_msg(ODOM), _odometry_msg(MAP)
        self._tf_msg = TransformStamped(child_frame_id=BASE)
        self._tf_msg.header.frame_id = ODOM
        self._scan_msg = LaserScan(
            scan_time=1.0 / robot.lidar.rate,
            range_min=robot.lidar.range_min, range_max=robot.lidar.range_max)
        self._scan_msg.header.frame_id = 'base_scan'
        self._imu_msg = _imu_msg(self.settings)
        self._joint_msg = JointState()
        if self.settings.robot_tf:
            self._static_tf.sendTransform(_robot_frames(robot))

    # -- commands ---------------------------------------------------------------------------

    def _on_command(self, msg):
        linear, angular = msg.linear.x, msg.angular.z
        if not (math.isfinite(linear) and math.isfinite(angular)):
            self.get_logger().warning(
                f'cmd_vel ignored: linear.x {linear}, angular.z {angular}',
                throttle_duration_sec=1.0)
            return
        self.sim.set_command(linear, angular)
        self._command_s = self.sim.time_s
        self._waiting_since = -math.inf

    def settings_changed(self):
        """Take over noise and speed; see :class:`SimSettings` for what may change."""
        self._check_clock()
        self.sim.configure(self.settings)
        self._pacer.set_factor(self.settings.real_time_factor)
        self._timer.timer_period_ns = int(self._pacer.period_s * 1e9)

    # -- time -------------------------------------------------------------------------------

    def _on_timer(self):
        if self.paused:
            return
        wall_s = time.perf_counter()
        if wall_s - self._waiting_since < self.settings.command_wait_s:
            return
        for _ in range(self._pacer.due(wall_s)):
            self.tick()
            self._pacer.did(1)
            if self._waiting_since > wall_s:
                break
        if self._pacer.report(wall_s):
            self._say_running()

    def set_paused(self, paused):
        """Hold the simulated time, or let it go on."""
        self.paused = paused
        self._pacer.restart()
        self._say_running()

    def reset(self, keep_time, keep_entities):
        """Start anew; raises SimError when something stands where the robot starts."""
        self.sim.reset(keep_time, keep_entities)
        self._odom_from_map = inverse(self.sim.truth().pose)
        self._tick = round(self.sim.time_s / TICK_S)
        self._command_s = self._waiting_since = -math.inf
        self.publish_all()

    def tick(self):
        """Go on by a hundredth of a second and publish what is due."""
        self.sim.step(TICK_S)
        self._tick += 1
        tick, every = self._tick, self._every
        odom, scan = tick % every['odom_rate'] == 0, tick % self._scan_every == 0
        imu = tick % every['imu_rate'] == 0
        stamp = self._stamp()
        bumpers = self.sim.bumpers()
        pressed = bumpers != self._bumpers
        if odom or scan or imu or pressed or tick % every['clock_rate'] == 0:
            self._publish_clock(stamp)
        if odom or scan:
            self._publish_motion(stamp)
        if imu:
            self._publish_imu(stamp)
        if pressed or scan:
            self._publish_bumpers(bumpers)
        if scan:
            self._publish_scan(stamp)
        if self._dock_ir and tick % every['dock_ir_rate'] == 0:
            self._publish_dock_ir()
        if tick % round(1.0 / TICK_S) == 0 or self.sim.charging() != self._charging:
            self._publish_battery(stamp)

    def publish_all(self):
        """Publish clock, motion, bumpers and a scan of this instant, after something was moved."""
        stamp = self._stamp()
        self._publish_clock(stamp)
        self._publish_motion(stamp)
        self._publish_bumpers(self.sim.bumpers())
        self._publish_scan(stamp)

    def _stamp(self):
        """Return the time of this tick, by the simulation or by the wall."""
        stamp_ns = self._tick * TICK_NS
        if self.settings.clock == 'wall':
            wall_ns = self.get_clock().now().nanoseconds
            # In even steps, for speeds are told from stamps; anew when time was lost.
            if self._began_ns is None or abs(
                    wall_ns - self._began_ns - stamp_ns) > WALL_DRIFT_NS:
                self._began_ns = wall_ns - stamp_ns
            stamp_ns += self._began_ns
        return Time(nanoseconds=stamp_ns).to_msg()

    # -- topics -----------------------------------------------------------------------------

    def _publish_clock(self, stamp):
        if self._clock_out is not None:
            self._clock_out.publish(ClockMsg(clock=stamp))

    def _publish_motion(self, stamp):
        truth = self.sim.truth()
        state, pose = self.sim.odometry(), None
        if self.settings.odom_source == 'ground_truth':
            state, pose = truth, compose(self._odom_from_map, truth.pose)
        pose = state.pose if pose is None else pose
        for publisher, msg, at, of in (
                (self._odom, self._odom_msg, pose, state),
                (self._truth, self._truth_msg, truth.pose, truth)):
            msg.header.stamp = stamp
            msg.pose.pose = pose_to_msg(at)
            msg.twist.twist.linear.x = float(of.linear)
            msg.twist.twist.angular.z = float(of.angular)
            publisher.publish(msg)
        transform = self._tf_msg.transform
        self._tf_msg.header.stamp = stamp
        transform.translation.x, transform.translation.y = float(pose[0]), float(pose[1])
        transform.rotation = self._odom_msg.pose.pose.orientation
        self._tf.sendTransform(self._tf_msg)
        joints = self.sim.joint_states()
        self._joint_msg.header.stamp = stamp
        self._joint_msg.name = list(joints)
        self._joint_msg.position = [angle for angle, _ in joints.values()]
        self._joint_msg.velocity = [rate for _, rate in joints.values()]
        self._joints.publish(self._joint_msg)

    def _publish_imu(self, stamp):
        reading, msg = self.sim.imu(), self._imu_msg
        msg.header.stamp = stamp
        for vector, values in ((msg.angular_velocity, reading.angular_velocity),
                               (msg.linear_acceleration, reading.linear_acceleration)):
            vector.x, vector.y, vector.z = values.tolist()
        self._imu.publish(msg)

    def _publish_bumpers(self, bumpers):
        self._bumpers = bumpers
        for publisher, pressed in zip(self._bumper, bumpers):
            publisher.publish(Bool(data=bool(pressed)))

    def _publish_scan(self, stamp):
        scan, msg = self.sim.scan(), self._scan_msg
        msg.header.stamp = stamp
        msg.angle_min, msg.angle_increment = scan.angle_min, scan.angle_increment
        msg.angle_max = scan.angle_min + scan.angle_increment * (len(scan.ranges) - 1)
        msg.ranges = array('f', scan.ranges.astype(np.float32).tobytes())
        self._scan.publish(msg)
        if self.settings.command_wait_s > 0.0 and self.sim.time_s - self._command_s < 0.5:
            self._waiting_since = time.perf_counter()

    def _publish_dock_ir(self):
        for publisher, strength in zip(self._dock_ir, self.sim.dock_ir()):
            publisher.publish(Float32(data=float(strength)))

    def _publish_battery(self, stamp):
        charge, charging = self.sim.battery(), self.sim.charging()
        self._charging = charging
        self._battery.publish(battery_msg(charge, charging, stamp))

    # -- status -----------------------------------------------------------------------------

    def _say_running(self):
        wanted, achieved = self.settings.real_time_factor, self._pacer.achieved
        name = self.sim.layout.name
        if self.paused:
            self.set_status(OK, f'{name}: paused', 'PAUSED')
        elif wanted > 0 and achieved < SLOW_BELOW * wanted:
            self.set_status(
                WARN,
                f'{name}: slower than the {wanted:g} x real time asked for: the machine is busy',
                'RUNNING', 'slow')
        else:
            asked = f'{wanted:g} x real time' if wanted > 0 else 'as fast as it goes'
            self.set_status(
                OK, f'{name}: {asked}, odom from {self.settings.odom_source}', 'RUNNING')

    def _diagnose_speed(self, stat):
        stat.summary(OK, f'{self._pacer.achieved:.2f} x real time')
        stat.add('real_time_factor', f'{self._pacer.achieved:.3f}')
        stat.add('real_time_factor_wanted', f'{self.settings.real_time_factor:g}')
        stat.add('simulated_s', f'{self.sim.time_s:.1f}')
        stat.add('bumper_contacts', str(self.sim.contacts))
        stat.add('rear_contacts', str(self.sim.rear_contacts))
        if self.sim.has_dock:
            stat.add('dock_touched', str(self.sim.dock_touched))
            stat.add('dock_push_m', f'{self.sim.dock_push_m():.4f}')
        return stat


def _odometry_msg(frame):
    """Return an Odometry of base_footprint in ``frame`` with plausible covariances."""
    msg = Odometry(child_frame_id=BASE)
    msg.header.frame_id = frame
    if frame == ODOM:
        msg.pose.covariance = np.diag([1e-3, 1e-3, 1e-6, 1e-6, 1e-6, 1e-2]).ravel()
        msg.twist.covariance = np.diag([1e-4, 1e-6, 1e-6, 1e-6, 1e-6, 1e-3]).ravel()
    return msg


def _imu_msg(settings):
    """Return an Imu without orientation and with the covariances of its noise."""
    msg = Imu()
    msg.header.frame_id = 'imu_link'
    msg.orientation_covariance[0] = -1.0
    gyro = max(settings.gyro_noise_std, 1e-6) ** 2
    msg.angular_velocity_covariance = np.diag([gyro] * 3).ravel()
    accelerometer = max(settings.accelerometer_noise_std, 1e-6) ** 2
    msg.linear_acceleration_covariance = np.diag([accelerometer] * 3).ravel()
    return msg


def _robot_frames(robot):
    """Return the fixed frames; base_link is mid-axle, base_footprint on the floor below it."""
    axle, lidar, caster = robot.wheels.radius, robot.lidar, robot.caster
    frames = (
        (BASE, 'base_link', (0.0, 0.0, axle), 0.0),
        ('base_link', 'base_scan', (lidar.x, lidar.y, lidar.z - axle), lidar.yaw),
        ('base_link', 'imu_link', (0.0, 0.0, 0.0), 0.0),
        ('base_link', 'wheel_left_link', (0.0, robot.wheels.track / 2, 0.0), 0.0),
        ('base_link', 'wheel_right_link', (0.0, -robot.wheels.track / 2, 0.0), 0.0),
        ('base_link', 'caster_link', (caster.x, 0.0, caster.radius - axle), 0.0))
    found = []
    for parent, child, (x, y, z), yaw in frames:
        transform = TransformStamped(child_frame_id=child)
        transform.header.frame_id = parent
        move, turn = transform.transform.translation, transform.transform.rotation
        move.x, move.y, move.z = x, y, z
        turn.x, turn.y, turn.z, turn.w = quaternion_from_yaw(yaw)
        found.append(transform)
    return found


def main(args=None):
    """Run the node."""
    return run_node(EmbeddedSimNode, args)


if __name__ == '__main__':
    sys.exit(main())
