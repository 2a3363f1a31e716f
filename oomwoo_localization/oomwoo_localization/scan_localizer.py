"""
Where the robot is, from scan to scan: odometry predicts, the scan corrects.

Both count by how sure they are.

An iterated filter on the plane pose and on how far behind the map's drawn surfaces the real ones
lie. The prediction's covariance grows with the motion (Thrun, Burgard and Fox, 2005, section 5.4);
the scan is matched with the prediction as its prior (:mod:`.scan_matcher`), so that a direction
that the scan leaves free stays with odometry. A scan that fits badly there, as after a slip, is
searched for in a wider window; one that fits nowhere near is not believed, and the pose rides on
odometry.
"""
from dataclasses import dataclass
import math
import time

import numpy as np
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.motion_compensation import compensated_points
from oomwoo_localization.scan_matcher import MatcherSettings, ScanMatcher
from oomwoo_localization.settings import check_settings, setting

ABOVE_FLOOR_M = 0.01          # a return lower than this, in a tilted scanner's beam, is the floor
CAPTURE_EVERY = 4             # scans between two searches of the wider window that find nothing
JUMP_M = 0.3                  # beyond all driving, this is not motion but a new beginning
TRACKED, RECAPTURED, ODOMETRY, BLIND = 'TRACKED', 'RECAPTURED', 'ODOMETRY', 'BLIND'


@dataclass(frozen=True)
class LocalizerSettings(MatcherSettings):
    """How odometry errs, and what is believed."""

    drift_along: float = setting(
        0.05, "odometry's error of a distance, one sigma", 'm/m', 0.0, 1.0)
    drift_across: float = setting(0.02, 'its error to the side', 'm/m', 0.0, 1.0)
    drift_turn: float = setting(0.10, 'its error of a turn', 'rad/rad', 0.0, 1.0)
    drift_heading: float = setting(
        0.05, 'its error of the heading over a distance', 'rad/m', 0.0, 2.0)
    slip_turn: float = setting(
        0.03, 'its error of the heading when the turn rate changes: wheels slip, the body coasts',
        'rad per rad/s', 0.0, 1.0)
    drift_still_m: float = setting(
        0.002, 'error of the place between two scans in any case', 'm', 1e-4, 0.1)
    offset_drift_m: float = setting(
        0.0002, 'change between two scans of how far real surfaces lie behind drawn ones', 'm',
        0.0, 0.1)
    drift_still_deg: float = setting(
        0.15, 'error of the heading between two scans in any case', 'deg', 0.01, 5.0)
    search_sigmas: float = setting(
        3.0, 'half width of the searched window, in sigmas of the prediction', '', 1.0, 6.0)
    most_search_m: float = setting(0.5, 'half width of the window at most', 'm', 0.05, 2.0)
    most_search_deg: float = setting(25.0, 'the same of the heading', 'deg', 1.0, 180.0)
    capture_m: float = setting(
        0.25, 'half width of the window for a scan that fits badly', 'm', 0.05, 2.0)
    capture_deg: float = setting(15.0, 'the same of the heading', 'deg', 1.0, 180.0)
    good_share: float = setting(
        0.6, 'a scan with fewer of its beams on walls fits badly', '', 0.0, 1.0)
    least_share: float = setting(0.35, 'a scan with fewer is not believed', '', 0.0, 1.0)
    capture_gain: float = setting(
        0.15, 'the wider window must put this much more of the beams on walls', '', 0.0, 1.0)
    capture_crossed: float = setting(
        0.08, 'and may leave no more than this share of the beams passing through walls', '',
        0.0, 1.0)
    least_beams: int = setting(20, 'a scan with fewer returns is not looked at', '', 3, 1000)
    range_limit_m: float = setting(25.0, 'returns farther than this are left out', 'm', 0.5, 200.0)
    start_std_m: float = setting(
        0.1, 'how well a place that is given is known, if it does not say', 'm', 0.001, 5.0)
    start_std_deg: float = setting(6.0, 'the same of the heading', 'deg', 0.1, 180.0)


@dataclass(frozen=True)
class Localization:
    """
    The pose at a scan's stamp.

    ``pose`` (3,) of the base in the map and its ``covariance`` (3, 3); ``predicted`` (3,) by
    odometry alone; ``score`` 0..1 how close the beams' ends lie to walls, ``matched_share`` 0..1
    how many of ``beams`` do. ``state`` is TRACKED, RECAPTURED (found in the wider window),
    ODOMETRY (the scan fits nowhere near) or BLIND (too few returns). ``map_from_odom`` (3,) is the
    correction to publish, ``surface_offset_m`` how far behind drawn surfaces the real ones were
    found, ``runtime_s`` wall seconds.
    """

    pose: np.ndarray
    covariance: np.ndarray
    predicted: np.ndarray
    score: float
    matched_share: float
    beams: int
    state: str
    map_from_odom: np.ndarray
    surface_offset_m: float
    runtime_s: float


class ScanLocalizer:
    """Tracks one robot in one map; tell it where it starts with :meth:`set_pose`."""

    def __init__(self, grid, settings=None, robot=None):
        """Prepare a map; raises :class:`.grids.GridError` for one that is of no use."""
        self.settings = check_settings(settings or LocalizerSettings())
        self.robot = robot
        self.pose = self._covariance = self._odom = self._time_s = None
        self._turn_rate, self._misfits = 0.0, 0
        self.set_map(grid)

    def set_map(self, grid):
        """Take another map, in the same frame; the pose stays."""
        self._matcher = ScanMatcher(grid, self.settings)
        self._offset_m = 0.0
        if self._covariance is not None:
            self._covariance = self._with_offset(self.covariance)

    @property
    def covariance(self):
        """Return (3, 3) of the pose in the map, None without a pose."""
        return None if self._covariance is None else self._covariance[:3, :3]

    def _with_offset(self, covariance):
        """Return (4, 4) of a pose's covariance and an offset that no scan has shown yet."""
        whole = np.zeros((4, 4))
        whole[:3, :3] = covariance
        whole[3, 3] = self._matcher.offset_std_m ** 2
        return whole

    @property
    def grid(self):
        """Return the map."""
        return self._matcher.grid

    def configure(self, settings):
        """Take over new settings."""
        self.settings = check_settings(settings)
        self._matcher = ScanMatcher(self.grid, settings)

    def set_pose(self, pose, covariance=None, odom_pose=None):
        """
        Tell where the robot is.

        ``pose`` of the base in the map, ``covariance`` (3, 3) of it if known. ``odom_pose`` is
        odometry's at the same time; without it, the robot is taken to be there at the next scan.
        Raises ValueError for what is no pose.
        """
        pose = np.asarray(pose, dtype=float)
        if pose.shape != (3,) or not np.isfinite(pose).all():
            raise ValueError(f'not a pose (x, y, yaw): {pose}')
        settings = self.settings
        least = _diagonal(settings.drift_still_m, settings.drift_still_deg)
        if covariance is None:
            covariance = _diagonal(settings.start_std_m, settings.start_std_deg)
        covariance = np.asarray(covariance, dtype=float)
        if covariance.shape != (3, 3) or not np.isfinite(covariance).all() or (
                np.linalg.eigvalsh((covariance + covariance.T) / 2)[0] < -1e-9):
            raise ValueError(f'not a covariance of (x, y, yaw): {covariance}')
        known = None if self._covariance is None else self._covariance[3, 3]
        self.pose = pose
        self._covariance = self._with_offset((covariance + covariance.T) / 2 + least)
        if known is not None:
            self._covariance[3, 3] = known
        self._odom = None if odom_pose is None else np.asarray(odom_pose, dtype=float)
        self._time_s = None

    def forget_motion(self):
        """Take the robot to be where it last was: odometry or the clock began anew."""
        self._odom = self._time_s = None

    def step(self, scan, base_from_scan, odom_pose, time_s, odom_end=None):
        """
        Return the :class:`Localization` at a scan's stamp.

        ``base_from_scan`` is the scanner's 4 x 4 mount, ``odom_pose`` (3,) the base in odom at the
        scan's stamp ``time_s``, ``odom_end`` the same at its last beam, where beams are taken one
        after the other. Raises :class:`~oomwoo_localization.scans.ScanError` for a header that
        makes no sense, ValueError without a pose.
        """
        if self.pose is None:
            raise ValueError('no pose to start from; call set_pose')
        began = time.perf_counter()
        odom_pose = np.asarray(odom_pose, dtype=float)
        points = self._ends(scan.check(), base_from_scan, odom_pose, odom_end)
        predicted, covariance = self._predict(odom_pose, time_s)
        if len(points) < self.settings.least_beams:
            match, state = None, BLIND
        else:
            match, state = self._correct(points, base_from_scan[:2, 3], predicted, covariance)
        if state in (TRACKED, RECAPTURED):
            self.pose, self._covariance = match.pose, match.covariance
            self._offset_m = match.offset_m
        else:
            self.pose, self._covariance = predicted, covariance
        self._odom, self._time_s = odom_pose, time_s
        score, share = (match.score, match.share) if match else (0.0, 0.0)
        return Localization(
            self.pose, self.covariance, predicted, score, share, len(points), state,
            compose(self.pose, inverse(odom_pose)), self._offset_m, time.perf_counter() - began)

    # -- steps ------------------------------------------------------------------------------

    def _ends(self, scan, base_from_scan, odom_pose, odom_end):
        """Return the ends of the beams (N, 2) in the base frame at the scan's stamp."""
        points, _ = compensated_points(scan, base_from_scan, odom_pose, odom_end)
        near = np.hypot(*(points[:, :2] - base_from_scan[:2, 3]).T) < self.settings.range_limit_m
        return points[near & (points[:, 2] > ABOVE_FLOOR_M), :2]

    def _reachable_m(self, passed_s):
        """Return how far the robot can have come at most, wheels slipping and all."""
        top_speed = self.robot.limits.linear_speed if self.robot else 1.0
        return JUMP_M + 3.0 * top_speed * passed_s

    def _predict(self, odom_pose, time_s):
        """Return pose and covariance after the motion that odometry reports."""
        settings = self.settings
        motion = np.zeros(3) if self._odom is None else compose(inverse(self._odom), odom_pose)
        passed_s = 0.0 if self._time_s is None else max(0.0, time_s - self._time_s)
        if self._time_s is not None and math.hypot(*motion[:2]) > self._reachable_m(passed_s):
            motion = np.zeros(3)           # odometry began anew somewhere else
        turn_rate = motion[2] / passed_s if passed_s > 0.0 else 0.0
        jerk, self._turn_rate = abs(turn_rate - self._turn_rate), turn_rate
        length, turned = math.hypot(motion[0], motion[1]), abs(motion[2])
        std = np.array([
            settings.drift_along * length + settings.drift_still_m,
            settings.drift_across * length + settings.drift_still_m,
            settings.drift_turn * turned + settings.drift_heading * length
            + settings.slip_turn * jerk + math.radians(settings.drift_still_deg),
            settings.offset_drift_m])
        predicted = compose(self.pose, motion)
        dx, dy = predicted[:2] - self.pose[:2]
        carried, turn = np.eye(4), np.eye(4)
        carried[:2, 2] = -dy, dx
        c, s = math.cos(self.pose[2]), math.sin(self.pose[2])
        turn[:2, :2] = [[c, -s], [s, c]]
        return predicted, carried @ self._covariance @ carried.T + (turn * std ** 2) @ turn.T

    def _correct(self, points, scanner, predicted, covariance):
        """Return the match and the state that it leaves the localizer in."""
        settings = self.settings
        std = np.sqrt(np.diag(covariance))
        reach = (min(settings.search_sigmas * max(std[:2]), settings.most_search_m),
                 min(settings.search_sigmas * std[2], math.radians(settings.most_search_deg)))
        match = self._matcher.match(points, predicted, self._offset_m, covariance, reach)
        if match.share >= settings.good_share:
            self._misfits = 0
            return match, TRACKED
        self._misfits += 1
        if self._misfits % CAPTURE_EVERY != 1:
            return match, TRACKED if match.share >= settings.least_share else ODOMETRY
        capture = (settings.capture_m, math.radians(settings.capture_deg))
        loose = covariance + np.diag([(capture[0] / 2) ** 2] * 2 + [(capture[1] / 2) ** 2, 0.0])
        wider = self._matcher.match(points, predicted, self._offset_m, loose, capture)
        if wider.share >= max(settings.good_share, match.share + settings.capture_gain) and (
                self._matcher.crossed(points, scanner, wider.pose) <= settings.capture_crossed):
            self._misfits = 0
            return wider, RECAPTURED
        return match, TRACKED if match.share >= settings.least_share else ODOMETRY


def _diagonal(std_m, std_deg):
    """Return the covariance (3, 3) of a pose that is known this well."""
    return np.diag([std_m ** 2, std_m ** 2, math.radians(std_deg) ** 2])
