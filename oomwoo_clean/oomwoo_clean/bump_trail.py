"""Where the body has been of late, pressed or not, until it is judged what that says."""
from typing import NamedTuple

import numpy as np
from oomwoo_clean.bump_contact import progress

_ROLLING_M_S = 0.04           # by the wheels; slower than that the robot is about to stop


class Step(NamedTuple):
    """A pose of odometry (3,), the side of the bumper held there, and the last press so far."""

    stamp_s: float
    odom_pose: np.ndarray
    side: str
    press: int


class Trail:
    """The steps that a localized pose is still to come for, and the last that was held."""

    def __init__(self):
        """Begin with none."""
        self._steps, self._held, self._press = [], None, None

    def add(self, stamp_s, odom_pose, side, press):
        """Add where the body is now; ``side`` is None while nothing is pressed."""
        self._steps.append(Step(stamp_s, odom_pose, side, press))

    def take(self, until_s):
        """Return the list of steps up to a stamp, which are then forgotten."""
        count = sum(1 for step in self._steps if step.stamp_s <= until_s)
        taken, self._steps = self._steps[:count], self._steps[count:]
        return taken

    def let_go(self, step, debounce_s):
        """
        Return the number of the press that let go before a step, while the robot rolled on; or 0.

        Steps have to come in order. A press that begins anew within ``debounce_s`` goes on.
        """
        # A press can be over before the next step.
        pressed = step.side is not None or self._press not in (None, step.press)
        self._press = step.press
        if pressed:
            self._held = step
        held = self._held
        if pressed or held is None:
            return 0
        passed_s = step.stamp_s - held.stamp_s
        if passed_s <= debounce_s:
            return 0
        self._held = None
        rolled_m = progress(held.odom_pose, step.odom_pose)
        return held.press if rolled_m > _ROLLING_M_S * passed_s else 0
