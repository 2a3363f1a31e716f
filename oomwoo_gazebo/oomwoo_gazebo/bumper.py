"""Which half of the bumper is pressed, from the contacts that a simulator's physics reports."""
from dataclasses import dataclass
import math

SIDES = ('left', 'right')
SCOPE = '::'                  # Gazebo joins the names of model, link and collision with it


@dataclass(frozen=True)
class Bumper:
    """
    How contacts become a pressed bumper.

    ``robot`` is the name of the robot's model, ``ignored`` the models that do not press, as the
    floor; a contact lasts ``release_s`` seconds longer than it is reported.
    """

    robot: str
    ignored: frozenset
    release_s: float

    def presses(self, one, other):
        """Tell whether a contact between two scoped collision names presses the bumper."""
        models = {one.split(SCOPE)[0], other.split(SCOPE)[0]}
        return self.robot in models and len(models) == 2 and not models & self.ignored


class BumperState:
    """Remembers when each half was touched last; times are in seconds of one clock."""

    def __init__(self, bumper):
        """Begin with nothing touched."""
        self.bumper = bumper
        self.forget()

    def forget(self):
        """Forget every touch, after a jump back in time."""
        self._touched_s = dict.fromkeys(SIDES, -math.inf)

    def touch(self, side, pairs, now_s):
        """Take contacts that the sensor of ``side`` reports: pairs of scoped collision names."""
        if any(self.bumper.presses(one, other) for one, other in pairs):
            self._touched_s[side] = now_s

    def pressed(self, now_s):
        """Return {side: whether it is pressed at ``now_s``}."""
        return {side: now_s - at <= self.bumper.release_s for side, at in self._touched_s.items()}
