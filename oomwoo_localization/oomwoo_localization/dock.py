"""
The dock's shape, and where a robot stands in it.

The *dock frame* has its origin on the floor in the middle of the mouth, x pointing out of the bay.
"""
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DockShape:
    """
    A hollow bay that the robot backs into, metres.

    ``width`` and ``depth`` are those of the inside; ``panel`` and ``back`` the thickness of its
    side panels and its back.
    """

    width: float = 0.40
    depth: float = 0.33
    panel: float = 0.03
    back: float = 0.06

    @property
    def half_width(self):
        """Return the distance from the centreline to the inner face of a side panel."""
        return self.width / 2

    @property
    def half_outside(self):
        """Return the distance from the centreline to the outer face of a side panel."""
        return self.width / 2 + self.panel


def dock_shape(dock):
    """Return the :class:`DockShape` of anything that has its four sizes, as a layout's dock."""
    return DockShape(dock.width, dock.depth, dock.panel, dock.back)


def docked_pose(dock, robot):
    """
    Return the pose (3,) of base_footprint in the dock frame when the robot is home.

    Its back just touches the back of the bay: centred, square, looking out. ``dock`` is a
    :class:`DockShape` or a layout's dock.
    """
    return np.array([robot.body.radius - dock.depth, 0.0, 0.0])
