"""How far a pose is from the truth, and how far odometry's heading has slipped: for meters."""
from bisect import bisect_left
import math

import numpy as np
from oomwoo_localization.frames import compose, inverse, wrap_angle

KEEP_S = 3.0
LEAST_STEP_S = 0.015          # of a rate: a shorter one is mostly rounding


class PoseHistory:
    """Stamped plane poses of the last seconds, and those between them."""

    def __init__(self, keep_s=KEEP_S):
        """Keep what is at most ``keep_s`` older than the newest."""
        self._keep_s = keep_s
        self.clear()

    def clear(self):
        """Forget all."""
        self._times, self._poses = [], []

    def add(self, time_s, pose):
        """Take in a pose (3,); one not newer than the last makes the history begin anew."""
        if self._times and time_s <= self._times[-1]:
            self.clear()
        self._times.append(time_s)
        self._poses.append(np.asarray(pose, dtype=float))
        while self._times[-1] - self._times[0] > self._keep_s:
            del self._times[0], self._poses[0]

    def covers(self, time_s):
        """Return whether a time lies within the history."""
        return bool(self._times) and self._times[0] <= time_s <= self._times[-1]

    def at(self, time_s):
        """Return the pose (3,) at a time, along a straight line between two, None outside."""
        if not self.covers(time_s):
            return None
        k = bisect_left(self._times, time_s)
        if self._times[k] == time_s:
            return self._poses[k]
        before, after = self._poses[k - 1], self._poses[k]
        share = (time_s - self._times[k - 1]) / (self._times[k] - self._times[k - 1])
        step = after - before
        step[2] = wrap_angle(step[2])
        return before + share * step


def pose_error(pose, truth):
    """Return (metres, degrees) between two plane poses, both zero or more."""
    off = compose(inverse(truth), pose)
    return math.hypot(off[0], off[1]), abs(math.degrees(off[2]))


class ErrorMeter:
    """Gathers errors: how many, rms and worst of position (metres) and heading (degrees)."""

    def __init__(self):
        """Begin with none."""
        self.clear()

    def clear(self):
        """Forget all."""
        self.count = 0
        self._squares = np.zeros(2)
        self.worst = np.zeros(2)

    def add(self, position_m, yaw_deg):
        """Take in one error."""
        self.count += 1
        self._squares += np.square((position_m, yaw_deg))
        self.worst = np.maximum(self.worst, (position_m, yaw_deg))

    @property
    def rms(self):
        """Return (2,) metres and degrees; zeros before the first error."""
        return np.sqrt(self._squares / max(1, self.count))


class SlipMeter:
    """
    The heading of odometry less the true one, from where the meter began.

    ``slip_deg`` adds up and never wraps; ``rate_dps`` is its change over the last step.
    """

    def __init__(self):
        """Begin at nothing."""
        self.clear()

    def clear(self):
        """Begin anew, as after a jump back in time."""
        self.slip_deg = self.rate_dps = 0.0
        self._last = None

    def update(self, time_s, odom_yaw, truth_yaw):
        """Take in both headings (radians) at a time; returns ``(rate_dps, slip_deg)``."""
        gap = odom_yaw - truth_yaw
        if self._last is None or time_s < self._last[0]:
            self.clear()
            self._last = (time_s, gap)
            return self.rate_dps, self.slip_deg
        passed_s = time_s - self._last[0]
        if passed_s >= LEAST_STEP_S:
            change = math.degrees(wrap_angle(gap - self._last[1]))
            self.slip_deg += change
            self.rate_dps = change / passed_s
            self._last = (time_s, gap)
        return self.rate_dps, self.slip_deg
