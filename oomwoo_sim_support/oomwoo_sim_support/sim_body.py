"""The robot in MuJoCo's arrays: where it is, how its wheels ramp, what its shell touches."""
import math

import mujoco
import numpy as np
from oomwoo_sim_support.sim_model import build_model, UNLIMITED, yaw_quaternion
from oomwoo_sim_support.sim_sensors import BaseState

_STATE = (mujoco.mjtState.mjSTATE_FULLPHYSICS | mujoco.mjtState.mjSTATE_WARMSTART
          | mujoco.mjtState.mjSTATE_CTRL)
_SIDES = (1, -1)              # left, right: sign of y
_UNDERNEATH = 0.7             # vertical part of a contact's normal
_SETTLE_S = 0.5               # the tyres sink in by a tenth of a mm before the clock starts


class SimBody:
    """
    Views of a compiled model's data, and so made anew with each model.

    ``position`` (3,), ``rotation`` (3, 3), ``qpos`` (7,) and ``qvel`` (6,) are those of
    base_footprint, ``wheel_angles`` (2,) rad and ``wheel_rates`` (2,) rad/s left and right,
    ``shell`` its geom.
    """

    def __init__(self, model, data, robot):
        """Look at the robot in ``data``."""
        self._model, self._data, self._half_track = model, data, robot.wheels.track / 2
        base = model.body('base').id
        self.position, self.rotation = data.xpos[base], data.xmat[base].reshape(3, 3)
        self.qpos, self.qvel = data.qpos[:7], data.qvel[:6]
        self.wheel_angles, self.wheel_rates = data.qpos[7:9], data.qvel[6:8]
        self.shell, self._floor = model.geom('shell').id, model.geom('floor').id
        self._wheels = [model.geom(f'{side}_wheel').id for side in ('left', 'right')]
        self._ramp_ends, self._friction = model.actuator_actrange, model.geom_friction
        self._contacts = data.contact
        # Pairs of geoms known not to hold the shell, to look them up fast.
        self._untouched = set()

    def state(self):
        """Return the true :class:`BaseState` in the map."""
        x, y, _, qw, qx, qy, qz = self.qpos.tolist()
        vx, vy, _, _, _, turn = self.qvel.tolist()
        yaw = math.atan2(2.0 * (qw * qz + qx * qy), 1.0 - 2.0 * (qy * qy + qz * qz))
        return BaseState(np.array([x, y, yaw]), vx * math.cos(yaw) + vy * math.sin(yaw), turn)

    def tilt(self):
        """Return the true (roll, pitch) in radians; pitch is positive with the nose down."""
        w, x, y, z = self.qpos[3:].tolist()
        return (math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)),
                math.asin(max(-1.0, min(1.0, 2.0 * (w * y - z * x)))))

    def ramp(self, targets, slope):
        """Let the wheels go to ``targets``, rad/s, by ``slope``, rad/s^2, from where they are."""
        for wheel, (now, target) in enumerate(zip(self._data.act.tolist(), targets)):
            up = target >= now
            self._data.ctrl[wheel] = slope if up else -slope
            self._ramp_ends[wheel, 0] = -UNLIMITED if up else target
            self._ramp_ends[wheel, 1] = target if up else UNLIMITED

    def grip(self, carpets):
        """Give each tyre the grip of what of the :class:`Carpets` is under it."""
        x, y, yaw = self.state().pose.tolist()
        for geom, side in zip(self._wheels, _SIDES):
            out = side * self._half_track
            self._friction[geom, 0] = carpets.friction(
                x - out * math.sin(yaw), y + out * math.cos(yaw))

    def put(self, x, y, yaw, rest):
        """Stand at a place, at ``rest``: what :func:`resting` returns."""
        height, tilt = rest
        self._data.qvel[:] = 0.0
        self._data.qacc_warmstart[:] = 0.0
        self._data.act[:] = 0.0
        self.qpos[:3] = x, y, height
        mujoco.mju_mulQuat(self.qpos[3:], np.array(yaw_quaternion(yaw)), tilt)

    # -- contacts ---------------------------------------------------------------------------

    def touching(self):
        """Return the pairs of geoms (N, 2) that touch, None while the shell is in none."""
        contacts = self._contacts.geom
        pairs = contacts.tobytes()
        if pairs in self._untouched:
            return None
        if (contacts == self.shell).any():
            return contacts
        self._untouched.add(pairs)
        return None

    def pressed_at(self, contacts):
        """Return at which azimuths [rad] the shell is pressed, of what :meth:`touching` gave."""
        ours = (contacts == self.shell).any(axis=1) & (contacts != self._floor).all(axis=1)
        # What is under the belly moves no bumper.
        ours &= np.abs(self._contacts.frame[:, 2]) < _UNDERNEATH
        if not ours.any():
            return []
        in_base = (self._data.contact.pos[ours] - self.position) @ self.rotation
        return np.arctan2(in_base[:, 1], in_base[:, 0]).tolist()

    # -- physics ----------------------------------------------------------------------------

    def physics(self):
        """Return MuJoCo's whole state, for :meth:`set_physics` here or in another model."""
        physics = np.empty(mujoco.mj_stateSize(self._model, _STATE))
        mujoco.mj_getState(self._model, self._data, physics, _STATE)
        return physics

    def set_physics(self, physics, targets, slope):
        """Set MuJoCo's state, what the model holds of it, and the forces and poses that follow."""
        mujoco.mj_setState(self._model, self._data, physics, _STATE)
        self.ramp(targets, slope)
        mujoco.mj_forward(self._model, self._data)
        # The warm start, which mj_forward changed.
        mujoco.mj_setState(self._model, self._data, physics, _STATE)


def resting(robot, settings):
    """Return (height, tilt as a quaternion) at which the robot rests on a bare floor."""
    empty = build_model([], {}, robot, settings)
    data = mujoco.MjData(empty)
    mujoco.mj_step(empty, data, round(_SETTLE_S / settings.timestep_s))
    return float(data.qpos[2]), data.qpos[3:7].copy()
