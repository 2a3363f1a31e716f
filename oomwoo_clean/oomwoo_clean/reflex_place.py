"""Where a robot is by its wheels; by its commands, from where odometry ceased."""
import math

import numpy as np
from oomwoo_localization.frames import compose, inverse

_COUNTS_S = 0.5               # from older odometry it is not known where a bump was


class Whereabouts:
    """Odometry, carried on by dead reckoning of the commands."""

    def __init__(self, travel):
        """Take the :class:`~oomwoo_clean.travel_watch.TravelWatch`; begin at the origin."""
        self._travel = travel
        # Where odometry was last, when, and the dead reckoning at that moment.
        self._odom, self._came_s, self._reckoned = np.zeros(3), -math.inf, np.zeros(3)

    def odometry(self, pose, now_s):
        """Take a plane pose (3,); returns False for one that is not finite."""
        pose = np.asarray(pose, dtype=float)
        if not np.isfinite(pose).all():
            return False
        self._odom, self._came_s, self._reckoned = pose, now_s, self._travel.pose
        return True

    def known(self, now_s):
        """Tell whether odometry is young enough to say where a bump was."""
        return 0.0 <= now_s - self._came_s <= _COUNTS_S

    def pose(self, now_s):
        """Return where the robot is in odom, (3,)."""
        if self.known(now_s):
            return self._odom
        return compose(self._odom, compose(inverse(self._reckoned), self._travel.pose))

    def restart_travel(self, now_s):
        """Count commanded travel anew; where the robot is stays known."""
        self._odom, self._reckoned = self.pose(now_s), np.zeros(3)
        self._travel.restart()
