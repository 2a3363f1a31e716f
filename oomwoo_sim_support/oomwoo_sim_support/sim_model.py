"""
The MuJoCo model of a world and the robot in it.

Static solids are geoms of the world body, spawned obstacles mocap bodies (moving a world geom
would move it for rays only). Who touches whom is settled by bits, which spares pair tests: the
shell meets solids and floor; wheels and caster meet the floor, and solids too low for the shell to
meet first.
"""
import math

import mujoco

SOLID_GROUP, SOFT_GROUP, ROBOT_GROUP = 0, 1, 3
RAYS_SEE = (1, 1, 0, 0, 0, 0)              # by geom group: solids, soft things; never the robot

_SHELL, _TYRE = 1, 2                       # contype of the robot, conaffinity of the world
_LOW_M = 0.008                             # over the ground clearance; above, the shell is first
_WHEEL_SOLREF, _WHEEL_SOLIMP = (0.02, 1.0), (0.95, 0.99, 0.001, 0.5, 2.0)
_WHEEL_ARMATURE = 2e-3                     # kg m^2, motor through gears; 0 makes the servo chatter
# Velocity servo, stiffer swings at 5 ms; stalls before it slips.
_WHEEL_GAIN, _WHEEL_TORQUE_NM = 1.0, 0.22
_SHELL_FRICTION = 0.1
UNLIMITED = 1e6                            # rad/s, the open end of a ramp


def build_model(parts, entities, robot, settings, extend=None):
    """
    Return the compiled ``mujoco.MjModel``.

    ``parts`` are the layout's primitives, ``entities`` primitives by name that can be moved;
    ``extend(spec)`` adds what stands behind the robot in the state.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    option = spec.option
    option.timestep = settings.timestep_s
    option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    option.impratio = settings.tyre_stiffness
    option.tolerance = 1e-8
    # One island only: nothing to find. With several points a contact, an upright edge would push
    # a round shell along one of its faces and let it 3 cm into the corner.
    option.disableflags = int(
        mujoco.mjtDisableBit.mjDSBL_ISLAND | mujoco.mjtDisableBit.mjDSBL_MULTICCD)
    world = spec.worldbody
    world.add_geom(
        name='floor', type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=0,
        conaffinity=_SHELL | _TYRE, group=SOLID_GROUP, rgba=[0.75, 0.72, 0.68, 1])
    for part in parts:
        add_part(world, f'world/{part.name}', part, robot, part.x, part.y, part.yaw)
    for name, part in entities.items():
        body = world.add_body(
            name=f'entity/{name}', mocap=True, pos=[part.x, part.y, 0.0],
            quat=yaw_quaternion(part.yaw))
        add_part(body, f'entity/{name}', part, robot, 0.0, 0.0, 0.0)
    _add_robot(spec, robot, settings)
    if extend is not None:
        extend(spec)
    return spec.compile()


def yaw_quaternion(yaw):
    """Return MuJoCo's ``[w, x, y, z]`` of a rotation about z."""
    return [math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)]


def add_part(body, name, part, robot, x, y, yaw):
    """Add a primitive to a body of an MjSpec as a geom, at a place in that body's frame."""
    half_z = (part.z_max - part.z_min) / 2
    box = part.kind == 'box'
    affinity = 0
    if not part.soft:
        low = part.z_max < robot.body.ground_clearance + _LOW_M
        affinity = _SHELL | _TYRE if low else _SHELL
    body.add_geom(
        name=name, type=mujoco.mjtGeom.mjGEOM_BOX if box else mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=[part.half_x, part.half_y, half_z] if box else [part.half_x, half_z, 0.0],
        pos=[x, y, (part.z_min + part.z_max) / 2], quat=yaw_quaternion(yaw),
        friction=[_SHELL_FRICTION, 0.005, 0.0001], contype=0, conaffinity=affinity,
        group=SOFT_GROUP if part.soft else SOLID_GROUP,
        rgba=[0.5, 0.5, 0.7, 0.6] if part.soft else [0.55, 0.6, 0.65, 1])


def _add_robot(spec, robot, settings):
    """Add the robot with base_footprint, the floor under the axle's middle, as its body frame."""
    body, wheels = robot.body, robot.wheels
    base = spec.worldbody.add_body(name='base', pos=[0, 0, 0])
    base.add_freejoint(name='base')
    _set_inertia(base, robot)
    half_height = (body.height - body.ground_clearance) / 2
    base.add_geom(
        name='shell', type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[body.radius, half_height, 0],
        pos=[0, 0, body.ground_clearance + half_height], friction=[_SHELL_FRICTION, 0.005, 0.0001],
        contype=_SHELL, conaffinity=0, group=ROBOT_GROUP, mass=0, rgba=[0.2, 0.2, 0.22, 1])
    # Any friction would lift the caster off the floor at speed (convex friction cone).
    base.add_geom(
        name='caster', type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[robot.caster.radius, 0, 0],
        pos=[robot.caster.x, 0, robot.caster.radius], condim=1, priority=2,
        contype=_TYRE, conaffinity=0, group=ROBOT_GROUP, mass=0)
    for name, side in (('left', 1), ('right', -1)):
        # A crowned tyre touches in one point. The two edges of a cylinder chatter when it spins on
        # the spot.
        wheel = base.add_body(
            name=f'{name}_wheel', pos=[0, side * wheels.track / 2, wheels.radius])
        wheel.add_joint(name=f'{name}_wheel', axis=[0, 1, 0], armature=_WHEEL_ARMATURE)
        wheel.add_geom(
            name=f'{name}_wheel', type=mujoco.mjtGeom.mjGEOM_ELLIPSOID,
            size=[wheels.radius, wheels.width / 2, wheels.radius], mass=wheels.mass,
            condim=4, priority=1,
            friction=[settings.tyre_friction, settings.tyre_scrub, 0.0001],
            solref=list(_WHEEL_SOLREF), solimp=list(_WHEEL_SOLIMP),
            contype=_TYRE, conaffinity=0, group=ROBOT_GROUP, rgba=[0.1, 0.1, 0.1, 1])
        # The servo's set point is the actuator's state: the control is its slope and the range its
        # end, so that MuJoCo ramps the wheel inside a run of steps.
        spec.add_actuator(
            name=f'{name}_wheel', target=f'{name}_wheel', trntype=mujoco.mjtTrn.mjTRN_JOINT,
            dyntype=mujoco.mjtDyn.mjDYN_INTEGRATOR, gaintype=mujoco.mjtGain.mjGAIN_FIXED,
            biastype=mujoco.mjtBias.mjBIAS_AFFINE, gainprm=[_WHEEL_GAIN] + [0] * 9,
            biasprm=[0, 0, -_WHEEL_GAIN] + [0] * 7, forcelimited=True,
            forcerange=[-_WHEEL_TORQUE_NM, _WHEEL_TORQUE_NM],
            actlimited=True, actrange=[-UNLIMITED, UNLIMITED])


def _set_inertia(base, robot):
    """
    Give the shell a full disc's inertia, and the centre of mass that puts the whole robot's right.

    The wheels sit on the axle, at wheel-radius height.
    """
    body, wheels, com = robot.body, robot.wheels, robot.center_of_mass
    both = 2 * wheels.mass
    total = body.mass + both
    height = body.height - body.ground_clearance
    across = body.mass * (3 * body.radius ** 2 + height ** 2) / 12
    base.mass = body.mass
    base.ipos = [total * com.x / body.mass, total * com.y / body.mass,
                 (total * com.z - both * wheels.radius) / body.mass]
    base.inertia = [across, across, body.mass * body.radius ** 2 / 2]
    base.explicitinertial = True
