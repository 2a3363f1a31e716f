"""The embedded simulator's sensors: LiDAR, wheel encoders, bumper halves, IMU."""
from dataclasses import dataclass
import math

import mujoco
import numpy as np
from oomwoo_localization.frames import matrix_from_xyzrpy
from oomwoo_localization.scans import Scan
from oomwoo_sim_support.sim_model import RAYS_SEE

NOSE_OVERLAP_DEG = 8.0        # a hit this near the nose moves both halves of the bumper
GRAVITY_MPS2 = 9.81


@dataclass(frozen=True)
class BaseState:
    """Plane pose ``(x, y, yaw)`` as an array, forward speed in m/s, turn rate in rad/s."""

    pose: np.ndarray
    linear: float
    angular: float


@dataclass(frozen=True)
class ImuReading:
    """Turn rates (3,) rad/s and specific force (3,) m/s^2 in the base's frame; at rest +g up."""

    angular_velocity: np.ndarray
    linear_acceleration: np.ndarray


class LidarSensor:
    """
    A scanner that takes all beams of a turn at once.

    Rays start at the true scanner pose, so that a tilted body scans the floor. Beams beyond the
    range limit or dropped read as ``no_return`` says, beams nearer than the least range -inf
    (REP-117), or as ``no_return`` if that is not ``inf``.
    """

    def __init__(self, robot, settings, rng):
        """Take mount and limits from ``robot.lidar`` and all else from the settings."""
        lidar = robot.lidar
        self._lidar, self._rng = lidar, rng
        self.base_from_scan = matrix_from_xyzrpy(lidar.x, lidar.y, lidar.z, yaw=lidar.yaw)
        beams = settings.beams or lidar.beams
        self._angle_min = math.radians(settings.scan_angle_min_deg)
        self._increment = (-1.0 if settings.scan_clockwise else 1.0) * math.tau / beams
        angles = self._angle_min + self._increment * np.arange(beams)
        in_scan = np.stack([np.cos(angles), np.sin(angles), np.zeros(beams)], axis=1)
        self._beams = in_scan @ self.base_from_scan[:3, :3].T
        self._hit = np.zeros(beams, dtype=np.int32)
        self._seen = np.array(RAYS_SEE, dtype=np.uint8)
        self.configure(settings)

    def configure(self, settings):
        """Take over the settings that may change in a run: noise, dropouts, no-return value."""
        negative = settings.range_noise_std < 0
        self._noise_std = self._lidar.noise_std if negative else settings.range_noise_std
        self._dropout_rate = settings.dropout_rate
        self._far = {'inf': math.inf, 'zero': 0.0, 'nan': math.nan}[settings.no_return]
        self._near = -math.inf if settings.no_return == 'inf' else self._far

    def read(self, model, data, base_position, base_rotation, stamp_s):
        """Return the :class:`Scan` from the base's true position (3,) and rotation (3, 3)."""
        lidar = self._lidar
        ranges = np.empty(len(self._beams))
        origin = base_position + base_rotation @ self.base_from_scan[:3, 3]
        directions = self._beams @ base_rotation.T
        mujoco.mj_multiRay(
            model, data, origin, directions.ravel(), self._seen, 1, -1, self._hit, ranges, None,
            len(ranges), lidar.range_max)
        missed = ranges < 0.0
        if self._noise_std > 0.0:
            ranges += self._noise_std * self._rng.standard_normal(len(ranges))
        near = ranges < lidar.range_min
        missed |= ranges >= lidar.range_max
        if self._dropout_rate > 0.0:
            missed |= self._rng.random(len(ranges)) < self._dropout_rate
        ranges[near] = self._near
        ranges[missed] = self._far
        return Scan(
            ranges, self._angle_min, self._increment, lidar.range_min, lidar.range_max, stamp_s)


@dataclass(frozen=True)
class CalibrationError:
    """What the base believes about itself, over what is true, minus one (relative errors)."""

    left_radius: float
    right_radius: float
    track: float


def draw_calibration_error(settings, rng):
    """Draw one robot's :class:`CalibrationError`; no error goes beyond two sigma."""
    mismatch, track, scale = np.clip(rng.standard_normal(3), -2.0, 2.0).tolist()
    half = mismatch * settings.wheel_radius_mismatch_std / 2
    both = scale * settings.encoder_scale_std
    return CalibrationError(both - half, both + half, track * settings.track_error_std)


class WheelEncoders:
    """Dead reckoning from the wheels' angles with the radii and track the base believes in."""

    def __init__(self, robot, settings, error, rng):
        """Start at the origin of odom; ``rng`` draws the random slip."""
        self.left_radius = robot.wheels.radius * (1.0 + error.left_radius)
        self.right_radius = robot.wheels.radius * (1.0 + error.right_radius)
        self.track = robot.wheels.track * (1.0 + error.track)
        self._slip, self._rng = settings.slip_noise_std, rng
        self.x = self.y = self.yaw = 0.0
        self.angles = (0.0, 0.0)

    def wheel_speeds(self, linear, angular):
        """Return the two wheels' rad/s for a body speed, as the base computes them."""
        across = angular * self.track / 2
        return (linear - across) / self.left_radius, (linear + across) / self.right_radius

    def body_speed(self, left, right):
        """Return the base's m/s and rad/s, as it computes them from its wheel speeds in rad/s."""
        left, right = left * self.left_radius, right * self.right_radius
        return (left + right) / 2, (right - left) / self.track

    def update(self, left_angle, right_angle):
        """Add what the wheels turned since the last call, along an arc."""
        left = (left_angle - self.angles[0]) * self.left_radius
        right = (right_angle - self.angles[1]) * self.right_radius
        self.angles = (left_angle, right_angle)
        if self._slip > 0.0:
            a, b = self._rng.standard_normal(2).tolist()
            left += self._slip * math.sqrt(abs(left)) * a
            right += self._slip * math.sqrt(abs(right)) * b
        along, turn = (left + right) / 2, (right - left) / self.track
        middle = self.yaw + turn / 2
        self.x += along * math.cos(middle)
        self.y += along * math.sin(middle)
        self.yaw += turn


class Bumper:
    """The two halves: pressed while touched and for the release time after."""

    def __init__(self, robot):
        """Take the halves' reach and release time from ``robot.bumper``."""
        self._half_angle = math.radians(robot.bumper.half_angle_deg)
        self._release_s = robot.bumper.release_s
        self.left_until = self.right_until = self.rear_until = -math.inf
        self.contacts = self.rear_contacts = 0

    def touch(self, azimuths, time_s):
        """Take in contacts at the azimuths (rad, 0 at the nose, left positive) at ``time_s``."""
        until = time_s + self._release_s
        before_front, before_rear = self.pressed(time_s), time_s <= self.rear_until
        overlap = math.radians(NOSE_OVERLAP_DEG)
        for azimuth in azimuths:
            if abs(azimuth) > self._half_angle:
                self.rear_until = until
                continue
            if azimuth > -overlap:
                self.left_until = until
            if azimuth < overlap:
                self.right_until = until
        self.contacts += not any(before_front) and any(self.pressed(time_s))
        self.rear_contacts += not before_rear and time_s <= self.rear_until

    def pressed(self, time_s):
        """Return (left, right)."""
        return time_s <= self.left_until, time_s <= self.right_until


class Imu:
    """
    A gyro with a constant bias and an accelerometer, both noisy, at the base's origin.

    The accelerometer gives the mean since the last reading, as one that integrates between
    readings does.
    """

    def __init__(self, settings, rng):
        """Draw the bias of this robot's gyro."""
        self._rng = rng
        self._bias = settings.gyro_bias_std * rng.standard_normal(3)
        self.since = (0.0, np.zeros(3))            # time and velocity of the last reading
        self.configure(settings)

    def configure(self, settings):
        """Take over the noise settings."""
        self._gyro_std = settings.gyro_noise_std
        self._accelerometer_std = settings.accelerometer_noise_std

    def read(self, time_s, rates, velocity, rotation):
        """Return a reading from body rates, velocity in the map (3,) and rotation (3, 3)."""
        noise = self._rng.standard_normal((2, 3))
        before_s, before = self.since
        acceleration = (
            (velocity - before) / (time_s - before_s) if time_s > before_s else np.zeros(3))
        self.since = (time_s, velocity.copy())
        force = rotation.T @ (acceleration + [0.0, 0.0, GRAVITY_MPS2])
        return ImuReading(
            rates + self._bias + self._gyro_std * noise[0],
            force + self._accelerometer_std * noise[1])
