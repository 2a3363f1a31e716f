"""The dock's pose in odom over several sightings: two must agree, then they are averaged."""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import compose, inverse, wrap_angle
from oomwoo_localization.settings import setting


@dataclass(frozen=True)
class TrackerSettings:
    """Settings of :class:`DockTracker`."""

    agree_m: float = setting(0.03, 'two fixes this close agree', 'm', 0.001, 0.5)
    agree_deg: float = setting(5.0, 'two fixes turned by less agree', 'deg', 0.1, 45.0)
    drift_share: float = setting(
        0.02, 'error of odometry as a share of the way and the turn', '', 0.0, 0.5)


class DockTracker:
    """
    Two scans must agree: keeps the dock's pose in odom over fixes, averaged (Kalman, 1960).

    ``pose`` (3,) in odom is None until two fixes in a row agree; ``covariance`` (3, 3) goes with
    it.
    """

    _LEAST = np.diag([1e-4, 1e-4, math.radians(0.02)]) ** 2    # what averaging does not beat

    def __init__(self, settings=None):
        """Take :class:`TrackerSettings`."""
        self.settings = settings or TrackerSettings()
        self.reset()

    def reset(self):
        """Forget the dock."""
        self.pose = self.covariance = None
        self._pending = self._odom = None

    def update(self, fix, odom_pose):
        """
        Take in a fix (None for a scan without) at the robot's ``odom_pose`` (3,).

        Returns the agreed pose (3,) of the dock in odom, or None when this fix stands alone.
        """
        odom_pose = np.asarray(odom_pose, dtype=float)
        self._drift(odom_pose)
        if fix is None:
            return None
        seen, covariance = _into_odom(fix, odom_pose)
        if self.pose is not None and self._agree(self.pose, seen):
            self._fuse(seen, covariance)
            self._pending = None
            return self.pose
        before, self._pending = self._pending, (seen, covariance)
        if before is None or not self._agree(before[0], seen):
            return None
        self.pose, self.covariance = before
        self._fuse(seen, covariance)
        self._pending = None
        return self.pose

    def in_base(self, odom_pose):
        """Return the agreed pose (3,) in base_footprint, None without one."""
        return None if self.pose is None else compose(inverse(odom_pose), self.pose)

    def _agree(self, one, other):
        off = compose(inverse(one), other)
        return (math.hypot(off[0], off[1]) <= self.settings.agree_m
                and abs(off[2]) <= math.radians(self.settings.agree_deg))

    def _drift(self, odom_pose):
        """Let the uncertainty grow with the way driven since the last update."""
        if self._odom is not None and self.covariance is not None:
            x, y, turn = compose(inverse(self._odom), odom_pose)
            away = np.hypot(*(self.pose - odom_pose)[:2])
            share = self.settings.drift_share
            move = share * (math.hypot(x, y) + abs(turn) * away)
            self.covariance = self.covariance + np.diag([move, move, share * abs(turn)]) ** 2
        self._odom = odom_pose

    def _fuse(self, seen, covariance):
        off = seen - self.pose
        off[2] = wrap_angle(off[2])
        gain = self.covariance @ np.linalg.inv(self.covariance + covariance)
        self.pose = self.pose + gain @ off
        self.pose[2] = wrap_angle(self.pose[2])
        self.covariance = (np.eye(3) - gain) @ self.covariance + self._LEAST


def _into_odom(fix, odom_pose):
    """Return a fix's pose and covariance in odom."""
    c, s = math.cos(odom_pose[2]), math.sin(odom_pose[2])
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return compose(odom_pose, fix.pose), turn @ fix.covariance @ turn.T
