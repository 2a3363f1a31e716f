"""Commanded travel against what the scan shows of it."""
import math

import numpy as np
from oomwoo_clean.scan_motion import judge, MOVED, STOOD
from oomwoo_localization.frames import compose, inverse

_COMMAND_COUNTS_S = 0.5       # the base stops by itself after this
_STALE_S = 0.5                # an older scan is not compared
_HOPELESS = 4.0               # so many windows of path without ever being a window away


class TravelWatch:
    """
    Adds up commanded travel during which the scan did not change.

    Call :meth:`command` with what the base gets and :meth:`scan` with each scan. Travel counts
    in windows: two scans are compared when the commands between them come to ``window_m`` or
    ``window_rad``. A window that could not tell (see :mod:`scan_motion`) counts for nothing.
    """

    def __init__(self, window_m, window_rad):
        """Take the least motion between two scans that are compared."""
        self.window_m, self.window_rad = window_m, window_rad
        self.reset()

    def reset(self):
        """Forget everything."""
        self._command, self._command_s, self._until_s = (0.0, 0.0), -math.inf, None
        self.heard = False                  # any command at all
        self.restart()

    def restart(self):
        """Begin to count anew from the next scan, and at the origin."""
        self.pose = np.zeros(3)             # dead reckoning of the commands
        self._path_m = 0.0
        self._before = None                 # (scan, pose, path) that later ones are compared with
        self.stood_m = self.moved_m = 0.0
        self.windows = 0
        self.last = None                    # MotionEvidence of the last window

    def command(self, linear, angular, now_s):
        """Take a command that went to the base; one that is not finite says nothing."""
        if not (math.isfinite(linear) and math.isfinite(angular)):
            return
        self._advance(now_s)
        self.heard = True
        self._command, self._command_s = (linear, angular), now_s

    def _advance(self, now_s):
        """Carry the dead reckoning on to now, but not beyond what the last command counts."""
        since_s, self._until_s = self._until_s, now_s
        if since_s is None or self._command == (0.0, 0.0):
            return
        for_s = min(now_s, self._command_s + _COMMAND_COUNTS_S) - since_s
        if for_s <= 0.0:
            return
        linear, angular = self._command
        turn = angular * for_s
        along = linear * for_s
        self.pose = compose(self.pose, (
            along * math.cos(turn / 2), along * math.sin(turn / 2), turn))
        # What an outer wheel goes in a turn is travel, too.
        self._path_m += max(abs(along), 0.1 * abs(turn))

    def wants_scan(self, now_s):
        """Tell whether the next scan would begin or end a window; others need not be read."""
        self._advance(now_s)
        return self._before is None or self._far() or self._hopeless()

    def _since(self):
        return compose(inverse(self._before[1]), self.pose)

    def _far(self):
        travel = self._since()
        return math.hypot(*travel[:2]) >= self.window_m or abs(travel[2]) >= self.window_rad

    def _hopeless(self):
        return self._path_m - self._before[2] > _HOPELESS * self.window_m

    def scan(self, scan, now_s, mount_yaw=0.0):
        """
        Take a scan of now; return the :class:`MotionEvidence` if a window has ended.

        ``mount_yaw`` is the scanner's direction in the base frame, radians.
        """
        self._advance(now_s)
        if self._before is None:
            self._before = (scan, self.pose, self._path_m)
            return None
        if not self._far():
            if self._hopeless():
                self._before = (scan, self.pose, self._path_m)
            return None
        (before, _, path_m), travel = self._before, self._since()
        gone_m = self._path_m - path_m
        self._before = (scan, self.pose, self._path_m)
        c, s = math.cos(mount_yaw), math.sin(mount_yaw)
        in_scan = (c * travel[0] + s * travel[1], c * travel[1] - s * travel[0], travel[2])
        self.last = found = judge(before, scan, in_scan)
        if found.verdict == STOOD:
            self.stood_m += gone_m
            self.moved_m = 0.0
            self.windows += 1
        elif found.verdict == MOVED:
            self.stood_m, self.windows = 0.0, 0
            self.moved_m += gone_m
        return found
