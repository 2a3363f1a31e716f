"""
The dock in the embedded simulator: a body that can be pushed, contacts that charge, a beacon.

It stands on the floor by friction alone (no wall holds it): two slides and a turn with a friction
loss each, so that it rests until something pushes harder than that.
"""
from dataclasses import replace
import math

import mujoco
import numpy as np
from oomwoo_localization.dock import docked_pose
from oomwoo_localization.frames import compose
from oomwoo_localization.robot import GRAVITY_MPS2
from oomwoo_sim_support.battery import Battery, contacts_meet
from oomwoo_sim_support.ir_beacon import IrBeacon
from oomwoo_sim_support.layout_primitives import dock_primitives
from oomwoo_sim_support.sim_model import add_part, RAYS_SEE, yaw_quaternion

_BODY, _JOINTS = 'dock', ('dock_x', 'dock_y', 'dock_yaw')
_RELEASE_S = 0.2              # a touch that comes back within this is the same touch


def dock_of(layout, settings):
    """Return the layout's dock where the settings put it, or None when there is none."""
    if layout.dock is None or not settings.dock_present:
        return None
    offset = (settings.dock_offset_x_m, settings.dock_offset_y_m,
              math.radians(settings.dock_offset_yaw_deg))
    return replace(layout.dock, pose=tuple(compose(layout.dock.pose, offset).tolist()))


def add_dock(spec, dock, robot, settings):
    """Add the dock's body to an MjSpec, behind all others, at its pose."""
    x, y, yaw = dock.pose
    body = spec.worldbody.add_body(name=_BODY, pos=[x, y, 0.0], quat=yaw_quaternion(yaw))
    grip_n = settings.dock_friction * settings.dock_mass_kg * GRAVITY_MPS2
    half_across, half_along = dock.width / 2 + dock.panel, (dock.depth + dock.back) / 2
    # A slab's mean lever, near enough: friction acts all over the footprint.
    lever = 0.55 * math.hypot(half_across, half_along)
    hinge, slide = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
    for name, kind, axis, loss in (
            (_JOINTS[0], slide, [1, 0, 0], grip_n), (_JOINTS[1], slide, [0, 1, 0], grip_n),
            (_JOINTS[2], hinge, [0, 0, 1], grip_n * lever)):
        body.add_joint(name=name, type=kind, axis=axis, frictionloss=loss,
                       solref_friction=[0.01, 1.0], solimp_friction=[0.99, 0.999, 0.001, 0.5, 2.0])
    body.mass = settings.dock_mass_kg
    body.ipos = [-half_along, 0.0, dock.height / 2]
    turn = settings.dock_mass_kg * (half_across ** 2 + half_along ** 2) / 2
    body.inertia = [turn, turn, turn]
    body.explicitinertial = True
    for part in dock_primitives(replace(dock, pose=(0.0, 0.0, 0.0))):
        add_part(body, f'world/{part.name}', part, robot, part.x, part.y, part.yaw)


class SimDock:
    """The dock of one simulator; :meth:`bind` it to each model that is built."""

    def __init__(self, dock, robot, settings, rng):
        """Take the dock where it stands first, None without; ``rng`` is for the receivers."""
        self.dock, self._robot, self._settings = dock, robot, settings
        self.beacon = IrBeacon(
            robot, None, rng, settings.beacon_on, settings.dead_receiver)
        self._home = None if dock is None else docked_pose(dock, robot)
        self.push_m, self.touches, self._touched_s = 0.0, 0, -math.inf
        self.battery = Battery(settings)
        self._moved = np.zeros(3)
        self._geoms = frozenset()

    def bind(self, model, data):
        """Take over a new model."""
        self._model, self._data = model, data
        if self.dock is None:
            return
        self._body = model.body(_BODY).id
        first = model.joint(_JOINTS[0]).qposadr[0]
        self._moved = data.qpos[first:first + 3]
        self._geoms = frozenset(
            geom for geom in range(model.ngeom) if model.geom_bodyid[geom] == self._body)

    def pose(self):
        """Return where the dock truly is, (3,) in the map, None without a dock."""
        return None if self.dock is None else compose(self.dock.pose, self._moved)

    def parts(self):
        """Return the dock's primitives where it is now."""
        if self.dock is None:
            return []
        return dock_primitives(replace(self.dock, pose=tuple(self.pose().tolist())))

    def feel(self, pairs, shell, time_s):
        """Count touches of the robot's ``shell`` among contact pairs of geoms (N, 2)."""
        if any(shell in pair and not self._geoms.isdisjoint(pair) for pair in pairs.tolist()):
            self.touches += time_s - self._touched_s > _RELEASE_S
            self._touched_s = time_s

    def tick(self, base_pose, period_s):
        """Take in how far it was pushed, and what ``period_s`` does to the battery."""
        x, y, _ = self._moved.tolist()
        self.push_m = max(self.push_m, math.hypot(x, y))
        self.battery.tick(period_s, self.charging(base_pose))

    def charging(self, base_pose):
        """Tell whether the sprung contacts of a robot at ``base_pose`` meet those of the dock."""
        return self.dock is not None and contacts_meet(
            self.pose(), self._home, base_pose, self._settings)

    def infrared(self, base_pose):
        """Return what the (left, right) receivers of a robot at ``base_pose`` read, 0..1."""
        return self.beacon.read(base_pose, self.pose(), self._blocked)

    def _blocked(self, emitter, at):
        """Tell whether anything but robot and dock is between two points at receiver height."""
        away = np.append(emitter - at, 0.0)
        distance = float(np.linalg.norm(away))
        found = mujoco.mj_ray(
            self._model, self._data, np.append(at, self._robot.dock_receivers.z),
            away / distance, np.array(RAYS_SEE, dtype=np.uint8), 1, self._body,
            np.zeros(1, dtype=np.int32))
        return 0.0 <= found < distance

    def save(self):
        """Return what :meth:`restore` takes; the physics is saved by the simulator."""
        return self.push_m, self.touches, self._touched_s, self.battery.charge

    def restore(self, state):
        """Go back to a saved state."""
        self.push_m, self.touches, self._touched_s, self.battery.charge = state
