"""
The robot and a world in DART, the physics engine of Gazebo, set up as gz-physics 7 sets it up.

That is: ODE finds the contacts, friction is the lesser of two, wheels are servos with a limited
torque, what is static does not move. Robot and world are the SDF that Gazebo gets. The drive is
Gazebo's diff drive: a speed that is ramped, then shared between the wheels.
"""
import math
from pathlib import Path
from xml.etree import ElementTree

import dartpy
import numpy as np
from oomwoo_localization.robot import load_robot
from sdf_conversion import pose_of

ROBOT = load_robot()
_SERVO = dartpy.dynamics.ActuatorType.SERVO
_SPAWN_HEIGHT_M = 0.002
_WATCHED = 'bumper_'


class DartRig:
    """A robot that is driven; ``odometry`` (3,) is what its wheels say, from the pose given."""

    def __init__(self, model, world, pose, step_s=0.005):
        """Take the robot's SDF ``model``, a world file, and (x, y, yaw) of the robot."""
        self._step_s = step_s
        self._world = dartpy.simulation.World('world')
        self._world.setTimeStep(step_s)
        self._world.setGravity([0.0, 0.0, -9.81])
        solver = self._world.getConstraintSolver()
        solver.setCollisionDetector(dartpy.collision.OdeCollisionDetector())
        solver.getCollisionOption().maxNumContacts = 10000
        resting = self._world.getDeactivationOptions()
        resting.mEnabled = False
        self._world.setDeactivationOptions(resting)
        self._add_robot(model, pose)
        self._bodies = {}
        for other in ElementTree.parse(world).getroot().iterfind('world/model'):
            if other.find('link/collision') is not None:
                self._add_model(other)
        self.odometry = np.array(pose, dtype=float)
        self._speeds, self._wish = np.zeros(2), np.zeros(2)

    def drive(self, linear, angular, seconds, each_step=lambda: None):
        """Command m/s and rad/s for a while."""
        limits = ROBOT.limits
        most = np.array([limits.linear_speed, limits.angular_speed])
        self._wish = np.clip([linear, angular], -most, most)
        for _ in range(round(seconds / self._step_s)):
            self._step()
            each_step()

    @property
    def pose(self):
        """Return (x, y, z, roll, pitch, yaw) of base_footprint."""
        return _pose(self._base)

    def model_pose(self, name):
        """Return the pose of a model of the world, as :attr:`pose`."""
        return _pose(self._bodies[name])

    def touching(self):
        """Return the set of (of the robot, of the world) names of collisions that touch."""
        found = set()
        for contact in self._world.getLastCollisionResult().getContacts():
            pair = [end.getShapeFrame().asShapeNode()
                    for end in (contact.collisionObject1, contact.collisionObject2)]
            pair.sort(key=lambda node: node.getSkeleton().getName() != ROBOT.name)
            found.add(tuple(node.getName() for node in pair))
        return found

    def pressed(self):
        """Return the set of halves of the bumper that touch anything but the floor."""
        return {side for ours, other in self.touching() for side in ('left', 'right')
                if f'{_WATCHED}{side}' in ours and not other.startswith('ground_plane')}

    def _add_robot(self, model, pose):
        links = {link.get('name'): link for link in model.findall('link')}
        robot = dartpy.dynamics.Skeleton(ROBOT.name)
        _, self._base = robot.createFreeJointAndBodyNodePair()
        self._base.setInertia(_inertia(links['base_footprint']))
        _add_collisions(self._base, links['base_footprint'])
        self._wheels = []
        for side in ('left', 'right'):
            described = next(joint for joint in model.findall('joint')
                             if joint.get('name') == f'wheel_{side}_joint')
            joint, body = robot.createRevoluteJointAndBodyNodePair(self._base)
            link = links[described.findtext('child')]
            body.setInertia(_inertia(link))
            _add_collisions(body, link)
            joint.setTransformFromParentBodyNode(_isometry(_matrix(pose_of(described))))
            joint.setAxis([float(v) for v in described.findtext('axis/xyz').split()])
            effort, speed = (float(described.findtext(f'axis/limit/{key}'))
                             for key in ('effort', 'velocity'))
            joint.setForceLowerLimit(0, -effort)
            joint.setForceUpperLimit(0, effort)
            joint.setVelocityLowerLimit(0, -speed)
            joint.setVelocityUpperLimit(0, speed)
            joint.setLimitEnforcement(True)
            joint.setActuatorType(_SERVO)
            self._wheels.append(joint)
        x, y, yaw = pose
        place = dartpy.dynamics.FreeJoint.convertToPositions(
            _isometry(_matrix([x, y, _SPAWN_HEIGHT_M, 0.0, 0.0, yaw])))
        robot.setPositions([*place, 0.0, 0.0])
        self._world.addSkeleton(robot)

    def _add_model(self, model):
        name, static = model.get('name'), model.findtext('static') == 'true'
        skeleton = dartpy.dynamics.Skeleton(name)
        place = _matrix(pose_of(model))
        if static:
            _, body = skeleton.createWeldJointAndBodyNodePair()
            _add_collisions(body, model.find('link'), f'{name}::', place)
            skeleton.setMobile(False)
        else:
            _, body = skeleton.createFreeJointAndBodyNodePair()
            body.setInertia(_inertia(model.find('link')))
            _add_collisions(body, model.find('link'), f'{name}::')
            skeleton.setPositions(
                dartpy.dynamics.FreeJoint.convertToPositions(_isometry(place)))
        self._bodies[name] = body
        self._world.addSkeleton(skeleton)

    def _step(self):
        limits, half, radius = ROBOT.limits, ROBOT.wheels.track / 2, ROBOT.wheels.radius
        linear, angular = self._speeds
        for joint, rim in zip(self._wheels, (linear - angular * half, linear + angular * half)):
            joint.setCommand(0, rim / radius)
        before = [joint.getPosition(0) for joint in self._wheels]
        self._world.step()
        left, right = (radius * (joint.getPosition(0) - at)
                       for joint, at in zip(self._wheels, before))
        turned = (right - left) / (2 * half)
        heading = self.odometry[2] + turned / 2
        ahead = (left + right) / 2
        self.odometry += [ahead * math.cos(heading), ahead * math.sin(heading), turned]
        change = limits.linear_acceleration * self._step_s * np.array([1.0, 1.0 / half])
        self._speeds += np.clip(self._wish - self._speeds, -change, change)


def packaged_world(name):
    """Return the path of a world of the suite."""
    return Path(__file__).resolve().parents[2] / 'oomwoo_gazebo' / 'worlds' / f'{name}.world'


def _add_collisions(body, link, prefix='', place=None):
    for collision in link.findall('collision'):
        if not collision.get('name'):           # contact sensors name collisions, too
            continue
        node = body.createShapeNode(
            _shape(collision.find('geometry')[0]), prefix + collision.get('name'))
        own = _matrix(pose_of(collision))
        node.setRelativeTransform(_isometry(own if place is None else place @ own))
        node.createCollisionAspect()
        node.createDynamicsAspect().setFrictionCoeff(
            float(collision.findtext('surface/friction/ode/mu') or 1.0))


def _shape(element):
    if element.tag == 'box':
        return dartpy.dynamics.BoxShape([float(v) for v in element.findtext('size').split()])
    if element.tag == 'plane':
        return dartpy.dynamics.PlaneShape([0.0, 0.0, 1.0], 0.0)
    radius = float(element.findtext('radius'))
    if element.tag == 'sphere':
        return dartpy.dynamics.SphereShape(radius)
    return dartpy.dynamics.CylinderShape(radius, float(element.findtext('length')))


def _inertia(link):
    inertial = link.find('inertial')
    xx, yy, zz, xy, xz, yz = (
        float(inertial.findtext(f'inertia/{key}') or 0.0)
        for key in ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz'))
    place = _matrix(pose_of(inertial))
    turn = place[:3, :3]
    moment = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
    return dartpy.dynamics.Inertia(float(inertial.findtext('mass')), place[:3, 3], moment)


def _matrix(pose):
    """Return the 4 x 4 matrix of SDF's six numbers: roll, pitch, yaw about fixed axes."""
    x, y, z, roll, pitch, yaw = pose
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (roll, pitch, yaw))
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr, x],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr, y],
        [-sp, cp * sr, cp * cr, z],
        [0.0, 0.0, 0.0, 1.0]])


def _isometry(matrix):
    found = dartpy.math.Isometry3()
    found.set_rotation(matrix[:3, :3])
    found.set_translation(matrix[:3, 3])
    return found


def _pose(body):
    place = body.getWorldTransform()
    turn = place.rotation()
    return np.array([
        *place.translation(), math.atan2(turn[2, 1], turn[2, 2]), -math.asin(turn[2, 0]),
        math.atan2(turn[1, 0], turn[0, 0])])
