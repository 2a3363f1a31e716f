"""
Where the dock is: the beacon or a hint says which thing, the LiDAR exactly where.

1. Gather hypotheses: returns in the beacon's direction as the back of the bay, poses around the
   hint, or, with neither, pairs of edges a mouth apart.
2. Keep those that most returns lie on, and refine them (:mod:`oomwoo_clean.dock_fit`).
3. Refuse what cannot be the dock: beams that pass through a panel, too few returns, a beacon that
   is not where the receivers see it, one side only when nothing else tells the dock from the
   corner beside it.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_clean.dock_fit import (
    align,
    Beams,
    goes_on,
    into_dock,
    LEFT,
    moved,
    Noise,
    Outline,
    RIGHT,
    score,
    settle,
    slide,
)
from oomwoo_clean.dock_tracker import DockTracker, TrackerSettings
from oomwoo_localization.dock import dock_shape as shape_of
from oomwoo_localization.frames import wrap_angle
from oomwoo_localization.scans import scan_points
from oomwoo_localization.settings import setting

__all__ = ['DetectorSettings', 'DockDetector', 'DockFix', 'DockTracker']

_CAST_KEPT, _KEPT = 30, 4                 # hypotheses that are looked at closely, and refined
_ENOUGH_BEAMS = 100                       # to tell good hypotheses from bad ones
_APART_M, _APART_RAD = 0.08, math.radians(10.0)
_GRID_M, _GRID_RAD = 0.04, math.radians(5.0)
_ON_OUTLINE_M = 0.06
# Seen from how far off its axis the beacon may be, and how far it may be behind the return in its
# direction: from well off the axis a side panel hides the back from the scanner.
_OFF_AXIS = np.radians(np.array([
    -40.0, -30.0, -20.0, -10.0, 0.0, 10.0, 20.0, 30.0, 40.0, -40.0, -30.0, 30.0, 40.0, -40.0,
    40.0]))
_BEHIND_M = np.repeat([0.0, 0.12, 0.25], [9, 4, 2])
_EDGE_JUMP_M = 0.10
_ENOUGH_FRONTAL = 5                       # returns on the back and the fronts of the panels
_LIGHT_SIZE_M = 0.02
_PAIR_SLACK_M = 0.05


@dataclass(frozen=True)
class DetectorSettings(TrackerSettings):
    """Settings of :class:`DockDetector`, and of what tracks its fixes."""

    range_sigma_m: float = setting(0.01, 'noise of a range, one sigma', 'm', 0.0005, 0.1)
    face_sigma_m: float = setting(
        0.002, 'how far a face of the dock may be from where its shape has it', 'm', 1e-4, 0.05)
    farthest_m: float = setting(4.0, 'a dock farther than this is not looked for', 'm', 0.5, 20.0)
    fewest_returns: int = setting(6, 'returns that lie on the dock, at least', '', 3, 1000)
    side_returns: int = setting(2, 'returns on a side panel for it to be seen', '', 1, 100)
    inside_returns: int = setting(
        3, 'returns on the back and the inner sides, at least, while the beacon is seen', '', 0,
        100)
    least_agreement: float = setting(
        0.9, 'of the beams that reach the dock, the share that ends on it; single ones that do '
        'not are left out', '', 0.3, 1.0)
    wild_share: float = setting(
        0.12, 'as many single beams, and one more, may pass through the dock for each that does '
        'not', '', 0.0, 0.5)
    least_visible: float = setting(
        0.5, 'of the beams towards the dock, the share that ends on it, be others held up by '
        'what stands before it', '', 0.05, 1.0)
    worst_sigma_m: float = setting(
        0.03, 'a fit less sure of its position than this is none', 'm', 0.001, 1.0)
    beacon_gate_sigmas: float = setting(
        3.0, 'the beacon is within this many sigmas of where it was seen', '', 1.0, 10.0)
    hint_gate_sigmas: float = setting(
        3.0, 'the dock is within this many sigmas of the hint', '', 1.0, 10.0)
    decisive_hint_m: float = setting(
        0.10, 'a hint no vaguer than this tells the dock from the corner beside it', 'm', 0.0,
        1.0)


@dataclass(frozen=True)
class DockFix:
    """
    One sighting of the dock.

    ``pose`` (3,) of the dock frame in base_footprint, ``covariance`` (3, 3) of it (x, y, yaw);
    ``inliers`` returns lie on it; ``sides_seen`` 0, 1 or 2 side panels; ``beacon_error_rad`` how
    far the beacon is from where it was seen, NaN without; ``rms`` of the residuals over their
    sigma, about 1 for a good fit.
    """

    pose: np.ndarray
    covariance: np.ndarray
    inliers: int
    sides_seen: int
    beacon_error_rad: float
    rms: float


class DockDetector:
    """Finds one dock of a known shape in scans; ``reason`` says why the last found none."""

    def __init__(self, robot, dock_shape, settings=None):
        """Take the robot, a dock's shape or layout entry, and :class:`DetectorSettings`."""
        self.robot, self.shape = robot, shape_of(dock_shape)
        self.settings = settings or DetectorSettings()
        self._outline = Outline(self.shape)
        self._noise = Noise(self.settings.range_sigma_m, self.settings.face_sigma_m)
        self.reason = 'no scan yet'

    def find(self, scan, base_from_scan, beacon=None, hint=None):
        """
        Return the :class:`DockFix` in a scan, or None: see ``reason``.

        ``base_from_scan`` is the 4 x 4 mount; ``beacon`` a
        :class:`~oomwoo_clean.dock_beacon.BeaconSight` or None; ``hint`` ``(pose, sigma_m,
        sigma_rad)``, a rough pose (3,) of the dock in base_footprint, or None.
        """
        beams = self._beams(scan, base_from_scan)
        if len(beams.points) < self.settings.fewest_returns:
            self.reason = 'the scan is empty'
            return None
        hypotheses = self._hypotheses(beams, beacon, hint)
        if not len(hypotheses):
            self.reason = 'nothing like a dock where it should be'
            return None
        if len(hypotheses) > 1:
            hypotheses = self._most_likely(hypotheses, beams)
        beams = self._near(beams, hypotheses)
        aligned = align(self._outline, hypotheses, beams, self._noise)
        fits = settle(self._outline, aligned, beams, self._noise)
        best = self._best(fits, beacon, hint)
        fix, self.reason = self._fix(best, beams, beacon, hint)
        return fix

    def _beams(self, scan, base_from_scan):
        """Return the returns of a scan within reach, as :class:`Beams`."""
        points, _ = scan_points(scan, base_from_scan)
        origin = base_from_scan[:2, 3]
        away = points[:, :2] - origin
        ranges = np.hypot(away[:, 0], away[:, 1])
        keep = (ranges > 1e-3) & (ranges < self.settings.farthest_m + self._outline.size)
        return Beams(points[keep, :2], origin, away[keep] / ranges[keep, None], ranges[keep])

    # -- 1. hypotheses ------------------------------------------------------------------------

    def _hypotheses(self, beams, beacon, hint):
        """Return dock poses (K, 3) worth a look."""
        if hint is not None:
            return self._around(*hint)
        if beacon is not None and beacon.both:
            found = self._towards(beams, beacon)
            if len(found):
                return found
        return self._mouths(beams)

    def _around(self, pose, sigma_m, sigma_rad):
        """Return poses on a grid of two sigmas around a hint."""
        steps = min(5, math.ceil(max(2.0 * sigma_m - _GRID_M / 2, 0.0) / _GRID_M))
        turns = min(4, math.ceil(max(2.0 * sigma_rad - _GRID_RAD / 2, 0.0) / _GRID_RAD))
        move = np.linspace(-1.0, 1.0, 2 * steps + 1) * 2.0 * sigma_m if steps else np.zeros(1)
        turn = np.linspace(-1.0, 1.0, 2 * turns + 1) * 2.0 * sigma_rad if turns else np.zeros(1)
        grid = np.stack(np.meshgrid(move, move, turn, indexing='ij'), axis=-1).reshape(-1, 3)
        return np.asarray(pose, dtype=float) + grid

    def _towards(self, beams, beacon):
        """Return poses whose beacon is at one of the returns in its direction, or behind it."""
        receivers = np.array([self.robot.dock_receivers.x, 0.0])
        away = beams.points - receivers
        bearing = np.arctan2(away[:, 1], away[:, 0])
        window = max(2.5 * beacon.sigma_rad, math.radians(4.0))
        back = np.flatnonzero(np.abs(wrap_angle(bearing - beacon.bearing_rad)) < window)
        back = back[::max(1, len(back) // 14)]
        yaw = (bearing[back, None] + math.pi + _OFF_AXIS).ravel()
        at = (beams.points[back, None] + _BEHIND_M[:, None] * (
            away[back] / np.hypot(*away[back].T)[:, None])[:, None]).reshape(-1, 2)
        out = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
        return np.column_stack([at + self.shape.depth * out, wrap_angle(yaw)])

    def _mouths(self, beams):
        """Return poses whose mouth lies between two edges that are a mouth apart."""
        jump = np.diff(beams.ranges, append=beams.ranges[:1])
        near = np.where(jump > 0.0, np.arange(len(jump)), (np.arange(len(jump)) + 1) % len(jump))
        edges = beams.points[np.unique(near[np.abs(jump) > _EDGE_JUMP_M])]
        between = edges[:, None] - edges[None]
        width = np.hypot(between[..., 0], between[..., 1])
        one, other = np.nonzero(
            (width > self.shape.width - _PAIR_SLACK_M)
            & (width < 2 * self.shape.half_outside + _PAIR_SLACK_M))
        middle = (edges[one] + edges[other]) / 2
        yaw = np.arctan2(between[one, other, 1], between[one, other, 0]) + math.pi / 2
        return np.column_stack([middle, wrap_angle(yaw)])

    # -- 2. the fit ---------------------------------------------------------------------------

    def _near(self, beams, poses):
        """Return the beams that may end on a dock at one of the poses (K, 3), or pass through."""
        reach = self._outline.size + 0.1
        ahead = poses[:, None, :2] - beams.origin
        side = np.abs(ahead[..., 0] * beams.rays[:, 1] - ahead[..., 1] * beams.rays[:, 0])
        along = (ahead * beams.rays).sum(axis=-1)
        near = (side < reach) & (along > -reach) & (beams.ranges > along - reach)
        return beams.some(near.any(axis=0))

    def _most_likely(self, poses, beams):
        """Return the few hypotheses that explain most returns best, no two much alike."""
        middle = poses[:, :2].mean(axis=0)
        reach = np.hypot(*(poses[:, :2] - middle).T).max() + self._outline.size + _ON_OUTLINE_M
        near = np.flatnonzero(np.hypot(*(beams.points - middle).T) < reach)
        near = near[::1 + len(near) // _ENOUGH_BEAMS]
        off = self._outline.distance(*into_dock(poses, beams.points[near])) / _ON_OUTLINE_M
        support = np.maximum(1.0 - off ** 2, 0.0).sum(axis=1)
        poses = _thinned(poses[np.argsort(-support)], _CAST_KEPT, _APART_M / 2, _APART_RAD)
        beams = self._near(beams, poses)
        beams = beams.some(slice(None, None, 1 + len(beams.points) // _ENOUGH_BEAMS))
        scores = score(self._outline, poses, beams, _ON_OUTLINE_M)
        return _thinned(poses[np.argsort(-scores)], _KEPT, _APART_M, _APART_RAD)

    # -- 3. what cannot be it -----------------------------------------------------------------

    def _best(self, fits, beacon, hint):
        """Return the pose (3,) of the most likely fit, given where beacon and hint have it."""
        likely = fits.evidence()
        for number, pose in enumerate(fits.poses):
            if beacon is not None:
                likely[number] -= self._beacon_sigmas(pose, beacon) ** 2 / 2.0
            if hint is not None:
                likely[number] -= sum(off ** 2 for off in _hint_sigmas(pose, hint)) / 2.0
        return fits.poses[np.argmax(likely)]

    def _settled(self, pose, beams):
        """
        Return the single fit that a pose settles in.

        Where hardly a face is seen that looks along the dock's axis, the ends of the sides tell
        where along it the dock is.
        """
        fit = settle(self._outline, pose[None], beams, self._noise)
        frontal = int((fit.agrees[0] & self._outline.upright[fit.face[0]]).sum())
        if frontal >= _ENOUGH_FRONTAL:
            return fit
        shift, sigma = slide(self._outline, fit.poses[0], beams)
        slid = settle(self._outline, moved(fit.poses, np.array([[shift, 0.0, 0.0]])), beams,
                      self._noise)
        fit = max(fit, slid, key=lambda one: one.evidence()[0])
        if fit.sigma_along() > sigma:
            fit.information[0, 0, 0] += 1.0 / sigma ** 2
        return fit

    def _fix(self, pose, beams, beacon, hint):
        """Return the :class:`DockFix` that a pose settles in, or None and why it is no dock."""
        settings = self.settings
        fit = self._settled(pose, beams)
        pose, agrees = fit.poses[0].copy(), fit.agrees[0]
        part = self._outline.part[fit.face[0]]
        inliers, beyond = int(agrees.sum()), fit.beyond[0]
        # One beam alone is a wild reading, or the very edge of a panel.
        row = int((beyond & (np.roll(beyond, 1) | np.roll(beyond, -1))).sum())
        beyond = int(beyond.sum())
        if inliers < settings.fewest_returns:
            return None, f'only {inliers} returns lie on the dock'
        if (inliers < settings.least_agreement * (inliers + row)
                or beyond - row > 1.0 + settings.wild_share * inliers):
            return None, f'{beyond} beams pass through where the dock would be'
        if inliers < settings.least_visible * fit.hit[0].sum():
            return None, 'too much stands before the dock'
        freedom = max(inliers - 3, 1)
        if fit.square[0] > freedom + 4.0 * math.sqrt(2.0 * freedom) + 3.0:
            return None, 'it does not have the shape of the dock'
        on_side = [int((agrees & (part == side)).sum()) for side in (LEFT, RIGHT)]
        sides = sum(count >= settings.side_returns for count in on_side)
        if not (sides or min(on_side)):
            return None, 'a back alone is a wall as well'
        along = np.unique(fit.face[0][agrees])
        if goes_on(self._outline, pose, beams, along[~self._outline.upright[along]]):
            return None, 'its side goes on past the mouth, as a wall does'
        covariance = _covariance(fit.information[0], pose[2])
        if math.sqrt(covariance[0, 0] + covariance[1, 1]) > settings.worst_sigma_m:
            return None, 'too little of the dock is seen'
        off = math.nan
        decided = sides == 2
        if beacon is not None:
            off = self._beacon_error(pose, beacon)
            if abs(self._beacon_sigmas(pose, beacon)) > settings.beacon_gate_sigmas:
                return None, (
                    f'its beacon would be {math.degrees(abs(off)):.0f} degrees from where the '
                    'receivers see it')
            inside = int((agrees & self._outline.inside[fit.face[0]]).sum())
            if beacon.both and inside < settings.inside_returns:
                return None, 'the beacon is seen and nothing of the inside of the bay'
            decided = decided or beacon.both
        if hint is not None:
            if max(_hint_sigmas(pose, hint)) > settings.hint_gate_sigmas:
                return None, 'it is not where the hint says'
            decided = decided or hint[1] <= settings.decisive_hint_m
        if not decided:
            return None, 'only one side of the bay is seen, which a corner looks like as well'
        return DockFix(pose, covariance, inliers, sides, off,
                       math.sqrt(float(fit.square[0]) / inliers)), ''

    def _beacon_from_receivers(self, pose):
        """Return the (x, y) of a dock's beacon from the receivers, along base_footprint's axes."""
        return (pose[0] - self.shape.depth * math.cos(pose[2]) - self.robot.dock_receivers.x,
                pose[1] - self.shape.depth * math.sin(pose[2]))

    def _beacon_error(self, pose, beacon):
        """Return how far the beacon of a dock is from where it was seen, radians."""
        x, y = self._beacon_from_receivers(pose)
        return float(wrap_angle(math.atan2(y, x) - beacon.bearing_rad))

    def _beacon_sigmas(self, pose, beacon):
        """Return the same in sigmas; the nearer, the vaguer: neither light is a point."""
        near = _LIGHT_SIZE_M / max(math.hypot(*self._beacon_from_receivers(pose)), 1e-3)
        return self._beacon_error(pose, beacon) / math.hypot(beacon.sigma_rad, near)


def _hint_sigmas(pose, hint):
    """Return how far a pose is from that of a hint in position and in yaw, in its sigmas."""
    (x, y, yaw), sigma_m, sigma_rad = hint
    return (math.hypot(pose[0] - x, pose[1] - y) / sigma_m,
            abs(wrap_angle(pose[2] - yaw)) / sigma_rad)


def _thinned(poses, count, apart_m, apart_rad):
    """Return the first ``count`` of poses (K, 3) that are not much like one before them."""
    kept = []
    while len(poses) and len(kept) < count:
        first = poses[0]
        kept.append(first)
        off = np.abs(poses - first)
        poses = poses[(np.hypot(off[:, 0], off[:, 1]) > apart_m)
                      | (np.abs(wrap_angle(off[:, 2])) > apart_rad)]
    return np.array(kept)


def _covariance(information, yaw):
    """Return the covariance (3, 3) in base_footprint of a fit's information in the dock frame."""
    turn = np.array([[math.cos(yaw), -math.sin(yaw), 0.0], [math.sin(yaw), math.cos(yaw), 0.0],
                     [0.0, 0.0, 1.0]])
    return turn @ np.linalg.inv(information + 1e-3 * np.eye(3)) @ turn.T
