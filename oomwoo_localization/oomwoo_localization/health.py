"""
Does the live scan still look like the map? A score for each scan, and when a low one means lost.

The score is the share of returns that land on mapped walls, seen from the pose that is believed.
What is new in the room takes away the beams that it blocks; being elsewhere takes away nearly all.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import transform_points
from oomwoo_localization.motion_compensation import compensated_points
from oomwoo_localization.settings import check_settings, setting

ABOVE_FLOOR_M = 0.01          # a return lower than this, in a tilted scanner's beam, is the floor


@dataclass(frozen=True)
class HealthSettings:
    """What counts as landing on a wall, and how long a low score is borne."""

    hit_m: float = setting(
        0.08, 'a return this close to a mapped wall lands on it', 'm', 0.01, 1.0)
    fade_m: float = setting(
        0.25, 'staticness is 1 up to hit_m and has faded to 0 at this distance', 'm', 0.02, 2.0)
    lost_below: float = setting(0.5, 'a score below this is low', '', 0.0, 1.0)
    found_above: float = setting(0.6, 'a score above this ends being lost', '', 0.0, 1.0)
    lost_after_s: float = setting(
        0.6, 'a score that is low for this long means lost', 's', 0.0, 60.0)
    found_after_s: float = setting(
        0.3, 'a score that is high for this long means found', 's', 0.0, 60.0)
    least_beams: int = setting(20, 'a scan with fewer returns says nothing', '', 1, 1000)


@dataclass(frozen=True)
class ScanScore:
    """
    How a scan fits the map.

    ``score`` 0..1 is the share of ``beams`` returns on mapped walls, NaN when they are too few to
    say; ``staticness`` (N,) of every beam of the scan, 1 on a mapped wall, 0 away from all and for
    no return.
    """

    score: float
    beams: int
    staticness: np.ndarray


class ScanScorer:
    """Scores scans against one map that does not change."""

    def __init__(self, grid, settings=None):
        """Prepare a map; raises :class:`.grids.GridError` for one that is of no use."""
        self.grid = grid.check()
        self.settings = check_settings(settings or HealthSettings())
        self._distance = grid.obstacle_distance

    def score(self, scan, base_from_scan, pose, pose_end=None):
        """
        Return the :class:`ScanScore` of a scan.

        ``base_from_scan`` is the scanner's 4 x 4 mount, ``pose`` (3,) the base's in the map at the
        first beam, ``pose_end`` the same at the last, for a scan whose beams are taken one after
        the other.
        """
        points, beams = compensated_points(scan.check(), base_from_scan, pose, pose_end)
        above = points[:, 2] > ABOVE_FLOOR_M
        points, beams = points[above, :2], beams[above]
        distance = self.grid.lookup(self._distance, transform_points(pose, points), outside=np.inf)
        settings = self.settings
        fade = max(settings.fade_m - settings.hit_m, 1e-6)
        staticness = np.zeros(len(scan.ranges))
        staticness[beams] = np.clip(1.0 - (distance - settings.hit_m) / fade, 0.0, 1.0)
        few = len(beams) < settings.least_beams
        share = math.nan if few else float((distance <= settings.hit_m).mean())
        return ScanScore(share, len(beams), staticness)


class LostDetector:
    """A score that stays low means lost; one that stays high again, found."""

    def __init__(self, settings=None):
        """Begin as not lost."""
        self.settings = check_settings(settings or HealthSettings())
        self.reset()

    def reset(self):
        """Forget what was."""
        self.lost = False
        self._low_since = self._high_since = None
        self._time_s = None

    @property
    def low_for_s(self):
        """Return how long the score has been low, seconds."""
        return 0.0 if self._low_since is None else self._time_s - self._low_since

    def update(self, score, time_s):
        """Take in a score at a time; returns whether the robot is lost. NaN says nothing."""
        if math.isnan(score):
            return self.lost
        settings, self._time_s = self.settings, time_s
        low = score < settings.lost_below
        high = score >= max(settings.found_above, settings.lost_below)
        if not low:
            self._low_since = None
        elif self._low_since is None:
            self._low_since = time_s
        if not high:
            self._high_since = None
        elif self._high_since is None:
            self._high_since = time_s
        if low and time_s - self._low_since >= settings.lost_after_s - 1e-6:
            self.lost = True
        elif high and time_s - self._high_since >= settings.found_after_s - 1e-6:
            self.lost = False
        return self.lost
