"""
The robot in a world, with MuJoCo (Todorov, Erez and Tassa, 2012) as its physics.

Nothing of ROS in here: command in, time forward, sensors out. The same seed gives the same bits.
"""
from copy import deepcopy
from dataclasses import replace
import math

import mujoco
import numpy as np
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout_fields import polygon_holds
from oomwoo_sim_support.layout_primitives import Primitive, primitives
from oomwoo_sim_support.sim_body import resting, SimBody
from oomwoo_sim_support.sim_clearance import Carpets
from oomwoo_sim_support.sim_dock import add_dock, dock_of, SimDock
from oomwoo_sim_support.sim_model import build_model, yaw_quaternion
from oomwoo_sim_support.sim_obstacles import finite_pose, Obstacles, SimError
from oomwoo_sim_support.sim_sensors import (
    BaseState,
    Bumper,
    draw_calibration_error,
    Imu,
    LidarSensor,
    WheelEncoders,
)
from oomwoo_sim_support.sim_settings import SimSettings, TICK_S
from oomwoo_sim_support.sim_soft import SoftThings

_NO_RAMP = 1e4                 # rad/s^2: at once
_DOCK_MOVED = 1e-4             # m or rad
_TOUCH_M = 1e-4               # a shell that is pressed this far into something only touches it


class EmbeddedSim:
    """One robot in one world."""

    def __init__(self, layout, robot=None, settings=None, seed=0, start=None):
        """
        Build the world and put the robot at ``start`` = (x, y, yaw), by default the layout's.

        Raises :class:`SimError` when the robot would stand in something there.
        """
        self.layout = layout
        self.robot = robot or load_robot()
        self.settings = (settings or SimSettings()).check()
        self.seed = seed
        # The dock is a body of its own.
        self._fixed = primitives(replace(layout, dock=None))
        dock = dock_of(layout, self.settings)
        self._carpets = Carpets(layout.carpets, self.settings.tyre_friction)
        self._substeps = round(TICK_S / self.settings.timestep_s)
        self._encoder_steps = 2 * self._substeps
        self._timeout_s = self.robot.limits.command_timeout
        self._slope = self.robot.limits.linear_acceleration / self.robot.wheels.radius
        if not self.settings.ramp:
            self._slope = _NO_RAMP
        self._steps, self._command, self._command_s = 0, (0.0, 0.0), -math.inf
        self._wheel_targets = (0.0, 0.0)
        calibration, lidar, slip, imu, infrared = np.random.default_rng(seed).spawn(5)
        self.calibration_error = draw_calibration_error(self.settings, calibration)
        self._lidar = LidarSensor(self.robot, self.settings, lidar)
        self._encoders = WheelEncoders(self.robot, self.settings, self.calibration_error, slip)
        self._imu = Imu(self.settings, imu)
        self._dock = SimDock(dock, self.robot, self.settings, infrared)
        self._obstacles = Obstacles(self._fixed, self.robot)
        self._place_dock(np.zeros(3) if dock is None else np.array(dock.pose))
        self._rngs = {'lidar': lidar, 'slip': slip, 'imu': imu, 'infrared': infrared}
        self._bumper = Bumper(self.robot)
        self._soft = SoftThings(self._fixed, self.robot)
        self._build()
        self._rest = resting(self.robot, self.settings)
        self.teleport(layout.start if start is None else start)
        self._initial = self.save()

    # -- driving ----------------------------------------------------------------------------

    @property
    def time_s(self):
        """Return the simulated time since the start, seconds."""
        return self._steps * self.settings.timestep_s

    @property
    def command(self):
        """Return the (m/s, rad/s) that the base is ramping to, zero after the command timeout."""
        return self._command

    def set_command(self, linear, angular):
        """
        Drive at ``linear`` m/s and ``angular`` rad/s, both clipped to the robot's limits.

        The base ramps each wheel and stops by itself when no command comes for the command
        timeout. Raises ValueError for what is not finite.
        """
        if not (math.isfinite(linear) and math.isfinite(angular)):
            raise ValueError(f'command is not finite: linear {linear}, angular {angular}')
        limits = self.robot.limits
        self._command_s = self.time_s
        self._aim(max(-limits.linear_speed, min(limits.linear_speed, linear)),
                  max(-limits.angular_speed, min(limits.angular_speed, angular)))

    def step(self, duration_s):
        """Go on by ``duration_s``, to the nearest whole step; ValueError if that is none."""
        steps = duration_s / self.settings.timestep_s
        if not (math.isfinite(steps) and steps >= 0.5):
            raise ValueError(
                f'cannot step by {duration_s} s; a physics step is {self.settings.timestep_s} s')
        left = round(steps)
        while left > 0:
            count = min(left, self._substeps - self._steps % self._substeps)
            if self._command != (0.0, 0.0) and self.time_s - self._command_s > self._timeout_s:
                self._aim(0.0, 0.0)
            mujoco.mj_step(self.model, self.data, count)
            self._steps += count
            left -= count
            self._tick()

    def _aim(self, linear, angular):
        """Let both wheels ramp to what the base believes makes this body speed."""
        if (linear, angular) == self._command:
            return
        self._command = (linear, angular)
        self._wheel_targets = self._encoders.wheel_speeds(linear, angular)
        self._body.ramp(self._wheel_targets, self._slope)

    def _tick(self):
        """Read the bumpers after a hundredth of a second, the encoders every second time."""
        contacts = self._body.touching()
        if contacts is not None:
            azimuths = self._body.pressed_at(contacts)
            if azimuths:
                self._bumper.touch(azimuths, self.time_s)
            self._dock.feel(contacts, self._body.shell, self.time_s)
        if self._soft:
            azimuths = self._soft.touches(self.truth().pose.tolist())
            if azimuths:
                self._bumper.touch(azimuths, self.time_s)
        if self._steps % self._encoder_steps == 0:
            self._encoders.update(*self._body.wheel_angles.tolist())
            if self._carpets:
                self._body.grip(self._carpets)
            period_s = self._encoder_steps * self.settings.timestep_s
            if self._dock.dock is None:
                self._dock.battery.tick(period_s, charging=False)
            else:
                self._dock.tick(self.truth().pose, period_s)

    # -- sensors ----------------------------------------------------------------------------

    @property
    def base_from_scan(self):
        """Return the scanner's nominal mount, 4 x 4 in base_footprint."""
        return self._lidar.base_from_scan

    def scan(self):
        """Return a :class:`Scan` of this instant, from where the scanner truly is."""
        mujoco.mj_kinematics(self.model, self.data)
        return self._lidar.read(
            self.model, self.data, self._body.position, self._body.rotation, self.time_s)

    def odometry(self):
        """Return what the wheel encoders make of it: a :class:`BaseState`; odom starts at zero."""
        encoders = self._encoders
        linear, angular = encoders.body_speed(*self._body.wheel_rates.tolist())
        return BaseState(
            np.array([encoders.x, encoders.y, math.remainder(encoders.yaw, math.tau)]),
            linear, angular)

    def truth(self):
        """Return the true :class:`BaseState` of base_footprint in the map, for meters only."""
        return self._body.state()

    def tilt(self):
        """Return the true (roll, pitch) in radians; pitch is positive with the nose down."""
        return self._body.tilt()

    def bumpers(self):
        """Return (left, right): pressed now or within the release time."""
        return self._bumper.pressed(self.time_s)

    @property
    def contacts(self):
        """Return how often the bumper was touched so far, both halves together."""
        return self._bumper.contacts

    @property
    def rear_contacts(self):
        """Return how often the shell behind the bumper touched something so far."""
        return self._bumper.rear_contacts

    def imu(self):
        """Return an :class:`ImuReading`."""
        mujoco.mj_kinematics(self.model, self.data)
        return self._imu.read(
            self.time_s, self._body.qvel[3:], self._body.qvel[:3], self._body.rotation)

    def joint_states(self):
        """Return ``{joint: (angle rad, speed rad/s)}`` of the two wheels."""
        angles, rates = self._body.wheel_angles.tolist(), self._body.wheel_rates.tolist()
        return {
            'wheel_left_joint': (angles[0], rates[0]),
            'wheel_right_joint': (angles[1], rates[1])}

    def battery(self):
        """Return the charge left, 0..1."""
        return self._dock.battery.charge

    def clearance(self):
        """Return the true gap from the shell to the nearest solid, metres; for meters only."""
        self._follow_dock()
        return self._obstacles.gap(*self._xy())[0]

    # -- the dock ---------------------------------------------------------------------------

    @property
    def has_dock(self):
        """Tell whether the world has a dock, be it there or taken away by a setting."""
        return self.layout.dock is not None

    def dock_pose(self):
        """Return the true pose (3,) of the dock's mouth in the map; None without a dock."""
        return self._dock.pose()

    def dock_push_m(self):
        """Return how far the dock was from its place at most, metres."""
        return self._dock.push_m

    @property
    def dock_touched(self):
        """Return how often the shell touched a panel or the back of the dock so far."""
        return self._dock.touches

    def dock_ir(self):
        """Return what the (left, right) infrared receivers read, 0..1."""
        mujoco.mj_kinematics(self.model, self.data)
        return self._dock.infrared(self.truth().pose)

    def charging(self):
        """Tell whether the charging contacts meet."""
        return self._dock.charging(self.truth().pose)

    def configure(self, settings):
        """Take over those settings that may change while running."""
        self.settings = settings.check()
        self._lidar.configure(settings)
        self._imu.configure(settings)

    # -- the world --------------------------------------------------------------------------

    @property
    def entities(self):
        """Return the spawned obstacles: ``{name: Primitive}``."""
        return dict(self._obstacles.entities)

    def spawn_box(self, name, x, y, yaw=0.0, size=(0.3, 0.3, 0.4), z=0.0, soft=False):
        """Put a box of ``size`` (x, y, z) m, its underside at ``z``; raises :class:`SimError`."""
        self._spawn(Primitive(
            name, 'box', x, y, yaw, size[0] / 2, size[1] / 2, z, z + size[2], soft))

    def spawn_cylinder(self, name, x, y, radius=0.1, height=0.4, z=0.0, soft=False):
        """Put an upright cylinder with its underside at ``z``; raises :class:`SimError`."""
        self._spawn(Primitive(name, 'cylinder', x, y, 0.0, radius, radius, z, z + height, soft))

    def delete(self, name):
        """Take a spawned obstacle away; raises :class:`SimError` when none has that name."""
        self._obstacles.remove(name)
        self._rebuild()

    def move(self, name, pose):
        """Move a spawned obstacle to (x, y, yaw); raises :class:`SimError` as spawning it does."""
        self._obstacles.move(name, pose, self._xy())
        self._place_entities()

    def teleport(self, pose):
        """
        Put the robot at (x, y, yaw), standing; odometry does not notice.

        Raises :class:`SimError` when it would stand in something there, or outside the world.
        """
        x, y, yaw = finite_pose(pose)
        if not polygon_holds(self.layout.floor, [(x, y)])[0]:
            raise SimError(
                f'the robot at ({x:.3f}, {y:.3f}) would stand outside the floor of '
                f'{self.layout.name}')
        self._follow_dock()
        gap, name = self._obstacles.gap(x, y)
        if gap < -_TOUCH_M:
            raise SimError(
                f'the robot at ({x:.3f}, {y:.3f}) would stand {-gap * 1000:.0f} mm in {name!r}')
        self._body.put(x, y, yaw, self._rest)
        self._imu.since = (self.time_s, np.zeros(3))
        self._soft.put()
        self._body.ramp(self._wheel_targets, self._slope)
        mujoco.mj_forward(self.model, self.data)

    def reset(self, keep_time=False, keep_entities=False):
        """
        Go back to how it was after building, random numbers included.

        ``keep_time`` lets the clock go on, ``keep_entities`` leaves spawned obstacles where they
        are; raises :class:`SimError` when one of them stands where the robot starts.
        """
        steps, entities = self._steps, self.entities
        if keep_entities:
            name = self._obstacles.entity_over(self._initial['pose'][:2])
            if name:
                raise SimError(f'{name!r} stands where the robot starts')
        self.restore({**self._initial, **({'entities': entities} if keep_entities else {})})
        if keep_time:
            self._steps = steps
            self._imu.since = (self.time_s, np.zeros(3))

    def save(self):
        """Return the whole state, for :meth:`restore`."""
        encoders = self._encoders
        return {
            'pose': self.truth().pose, 'physics': self._body.physics(), 'entities': self.entities,
            'steps': self._steps,
            'command': (self._command, self._command_s, self._wheel_targets),
            'encoders': (encoders.x, encoders.y, encoders.yaw, encoders.angles),
            'dock': self._dock.save(),
            'bumper': dict(vars(self._bumper)), 'soft': list(self._soft.depths),
            'imu': self._imu.since,
            'rng': {name: deepcopy(rng.bit_generator.state) for name, rng in self._rngs.items()}}

    def restore(self, state):
        """Go back to a saved state; what follows is the same bit by bit."""
        if list(state['entities'].items()) != list(self.entities.items()):
            self._obstacles.set_entities(state['entities'])
            self._build()
        self._steps = state['steps']
        self._command, self._command_s, self._wheel_targets = state['command']
        encoders = self._encoders
        encoders.x, encoders.y, encoders.yaw, encoders.angles = state['encoders']
        vars(self._bumper).update(state['bumper'])
        self._soft.depths = list(state['soft'])
        self._dock.restore(state['dock'])
        self._imu.since = state['imu']
        for name, rng in self._rngs.items():
            rng.bit_generator.state = deepcopy(state['rng'][name])
        self._set_physics(state['physics'])

    def _spawn(self, part):
        self._obstacles.add(part, self._xy())
        self._rebuild()

    def _xy(self):
        return self._body.qpos[:2].tolist()

    def _set_physics(self, physics):
        self._body.set_physics(physics, self._wheel_targets, self._slope)
        if self._carpets:
            self._body.grip(self._carpets)

    def _rebuild(self):
        """Build the model anew and go on with the robot's state."""
        physics = self._body.physics()
        self._build()
        self._set_physics(physics)

    def _build(self):
        entities = self._obstacles.entities
        self.model = build_model(
            self._fixed, entities, self.robot, self.settings, self._add_dock)
        self.data = data = mujoco.MjData(self.model)
        self._dock.bind(self.model, data)
        self._body = SimBody(self.model, data, self.robot)
        self._mocap = {name: self.model.body(f'entity/{name}').mocapid[0] for name in entities}
        self._place_entities()
        mujoco.mj_forward(self.model, data)

    def _add_dock(self, spec):
        if self._dock.dock is not None:
            add_dock(spec, self._dock.dock, self.robot, self.settings)

    def _follow_dock(self):
        """Let the clearances know when the dock was pushed."""
        pose = self._dock.pose()
        if pose is not None and np.abs(pose - self._dock_seen).max() > _DOCK_MOVED:
            self._place_dock(pose)

    def _place_dock(self, pose):
        self._dock_seen = pose
        self._obstacles.set_parts([*self._fixed, *self._dock.parts()])

    def _place_entities(self):
        for name, index in self._mocap.items():
            part = self._obstacles.entities[name]
            self.data.mocap_pos[index] = (part.x, part.y, 0.0)
            self.data.mocap_quat[index] = yaw_quaternion(part.yaw)
