"""What stands in the world: the layout's solids, and obstacles that come, move and go."""
from dataclasses import replace
import math

from oomwoo_sim_support.sim_clearance import SolidField


class SimError(ValueError):
    """Something that cannot be where it was asked to be, or a name that is taken or unknown."""


class Obstacles:
    """The primitives of a layout, which stay, and those spawned by name."""

    def __init__(self, parts, robot, entities=None):
        """Take the layout's primitives; ``robot`` tells what its shell can touch at all."""
        self.parts = parts
        self._robot = robot
        self.entities = dict(entities or {})
        self._measure()

    def add(self, part, robot_xy):
        """Put in a primitive; raises :class:`SimError` for its name, numbers or the robot."""
        if not part.name or part.name in self.entities or part.name == self._robot.name:
            raise SimError(
                f'the name {part.name!r} is taken' if part.name else 'the name is empty')
        sizes = (part.half_x, part.half_y, part.z_max - part.z_min)
        numbers = (part.x, part.y, part.yaw, part.z_min, *sizes)
        if not all(map(math.isfinite, numbers)) or min(sizes) <= 0:
            raise SimError(f'{part.name}: position must be finite and sizes greater than zero')
        self._refuse_on_robot(part, robot_xy)
        self.entities[part.name] = part
        self._measure()

    def move(self, name, pose, robot_xy):
        """Move a spawned one to (x, y, yaw); raises :class:`SimError`."""
        x, y, yaw = finite_pose(pose)
        moved = replace(self._known(name), x=x, y=y, yaw=yaw)
        self._refuse_on_robot(moved, robot_xy)
        self.entities[name] = moved
        self._measure()

    def remove(self, name):
        """Take a spawned one away; raises :class:`SimError` when there is none."""
        self._known(name)
        del self.entities[name]
        self._measure()

    def set_parts(self, parts):
        """Put these in the place of the layout's primitives."""
        self.parts = parts
        self._measure()

    def set_entities(self, entities):
        """Put these in the place of all spawned ones."""
        self.entities = dict(entities)
        self._measure()

    def gap(self, x, y):
        """Return metres from the shell of a robot there to the nearest solid, and its name."""
        distance, name = self._solids.nearest(x, y)
        return distance - self._robot.body.radius, name

    def entity_over(self, robot_xy):
        """Return the name of a spawned obstacle in which a robot there would stand, or ''."""
        return next(
            (part.name for part in self.entities.values() if self._meets(part, robot_xy)), '')

    def _known(self, name):
        if name not in self.entities:
            raise SimError(f'there is nothing spawned called {name!r}')
        return self.entities[name]

    def _refuse_on_robot(self, part, robot_xy):
        if self._meets(part, robot_xy):
            raise SimError(
                f'{part.name!r} at ({part.x:.3f}, {part.y:.3f}) would stand in the robot')

    def _meets(self, part, robot_xy):
        return (
            self._touchable(part)
            and SolidField([part]).nearest(*robot_xy)[0] < self._robot.body.radius)

    def _touchable(self, part):
        body = self._robot.body
        return not part.soft and part.crosses(body.ground_clearance, body.height)

    def _measure(self):
        everything = [*self.parts, *self.entities.values()]
        self._solids = SolidField([part for part in everything if self._touchable(part)])


def finite_pose(pose):
    """Return (x, y, yaw) as floats; raises :class:`SimError` when one is not finite."""
    x, y, yaw = (float(v) for v in pose)
    if not all(map(math.isfinite, (x, y, yaw))):
        raise SimError(f'pose is not finite: {x, y, yaw}')
    return x, y, yaw
