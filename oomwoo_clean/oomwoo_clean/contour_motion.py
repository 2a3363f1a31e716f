"""Where a scan that was under way is seen from by now: what was commanded meanwhile."""
from collections import deque

import numpy as np
from oomwoo_clean.front_guard import polar_point
from oomwoo_localization.frames import compose, inverse, matrix_from_xyzrpy


class SentCommands:
    """The last commands, and how far they have taken the robot."""

    def __init__(self):
        """Know of none."""
        self._sent = deque(maxlen=16)       # (when, m/s, rad/s)

    def note(self, time_s, linear, angular):
        """Take in a command in the robot's own frame, as it was sent at ``time_s``."""
        self._sent.append((time_s, linear, angular))

    def moved_on(self, time_s, age_s):
        """Return the 4 x 4 base_now_from_base_then of a scan that is ``age_s`` old by now."""
        if age_s <= 0.0 or not self._sent:
            return np.eye(4)
        pose, until = (0.0, 0.0, 0.0), time_s + age_s
        moments = [when for when, _, _ in self._sent][1:] + [until]
        for (start, linear, angular), end in zip(self._sent, moments):
            during = min(end, until) - max(start, time_s)
            if during > 0.0:
                x, y = polar_point(linear * during, 0.5 * angular * during).tolist()
                pose = compose(pose, (x, y, angular * during))
        x, y, yaw = inverse(pose)
        return matrix_from_xyzrpy(x, y, 0.0, yaw=yaw)
