"""
Where in the map is the robot, from one scan and no prior? And can one tell?

A pose's score is the share of beams that end on walls of the map, less those that would have had to pass through
one. The whole map is searched (branch and bound), for the best pose and for the best that is distinct from
it in position or heading; the winner is refined below a cell. It is believed only when enough of the scan
speaks for it, little against it, nothing distinct comes close, and no direction is free.
"""
from dataclasses import dataclass
from functools import cached_property
import math
import time

import numpy as np

from oomwoo_localization.branch_and_bound import Lattice, Pyramid, search
from oomwoo_localization.frames import transform_points, wrap_angle
from oomwoo_localization.grids import GridError
from oomwoo_localization.likelihood import FULL_SCORE, MapFields, Rays
from oomwoo_localization.refinement import refine
from oomwoo_localization.scans import scan_points, ScanError
from oomwoo_localization.settings import check_settings, setting

LEAST_SPAN_M = 0.05            # ends of beams closer together than this tell one thing once


@dataclass(frozen=True)
class RelocalizerSettings:
    """What counts as a match, and when it is believed."""

    search_resolution_m: float = setting(
        0.05, 'finest cell that is searched; a finer map is searched in blocks', 'm', 0.01, 0.5, live=False)
    hit_sigma_m: float = setting(
        0.07, 'spread of the likelihood field around walls', 'm', 0.01, 0.5, live=False)
    range_max_m: float = setting(
        20.0, 'beams longer than this are left out', 'm', 1.0, 100.0, live=False)
    most_points: int = setting(180, 'ends of beams that the search looks at', '', 20, 600)
    least_points: int = setting(30, 'ends of beams needed to search at all', '', 3, 600)
    crossing_weight: float = setting(
        1.0, 'what a beam through a wall takes away, in beams on a wall', '', 0.0, 5.0)
    apart_m: float = setting(0.25, 'poses farther apart than this are distinct', 'm', 0.05, 2.0)
    apart_deg: float = setting(9.0, 'headings farther apart than this are distinct', 'deg', 1.0, 90.0)
    least_score: float = setting(0.45, 'score below which no pose is believed', '', 0.0, 1.0)
    most_crossed: float = setting(
        0.15, 'share of beams through walls above which no pose is believed', '', 0.0, 1.0)
    full_margin: float = setting(
        0.3, 'lead over every distinct pose, as a share of the score, that is confidence 1', '', 0.05, 1.0)
    least_confidence: float = setting(0.4, 'confidence below which no pose is believed', '', 0.0, 1.0)
    most_std_m: float = setting(0.08, 'standard deviation above which a direction is free', 'm', 0.001, 1.0)
    most_std_deg: float = setting(3.0, 'standard deviation above which the heading is free', 'deg', 0.01, 45.0)


@dataclass(frozen=True)
class Relocalization:
    """
    Answer to one scan, poses of the base in the map frame.

    ``score`` is the share of beams on mapped walls less what speaks against it, ``score_normalized`` the same within
    0..1, ``confidence`` 0..1 the lead over ``runner_up``, the best pose distinct in position or heading.
    ``reason_code`` is empty when ``accepted``. ``pose`` is the best guess even when refused; NaN without any.
    """

    accepted: bool
    pose: np.ndarray
    covariance: np.ndarray
    score: float
    score_normalized: float
    confidence: float
    runner_up: np.ndarray
    runner_up_score: float
    runtime_s: float
    reason_code: str
    message: str


NOWHERE = np.full(3, np.nan)
UNKNOWN_COVARIANCE = np.diag([np.inf] * 3)


def refusal(reason_code, message, runtime_s=0.0):
    """Return a :class:`Relocalization` that knows nothing and says why."""
    return Relocalization(
        False, NOWHERE, UNKNOWN_COVARIANCE, 0.0, 0.0, 0.0, NOWHERE, 0.0, runtime_s, reason_code, message)


class Relocalizer:
    """Searches one map; what depends on the map alone is computed once, at construction."""

    def __init__(self, grid, settings=None, robot=None):
        """
        Prepare a map.

        Raises :class:`~oomwoo_localization.grids.GridError` for a map without free floor or without any obstacle.
        """
        self.grid = grid.check()
        self.settings = check_settings(settings or RelocalizerSettings())
        self.robot = robot
        if not grid.free.any():
            raise GridError('map: no cell is free, so the robot cannot be anywhere')
        if not grid.obstacles.any():
            raise GridError('map: no cell is occupied, so there is nothing to match a scan with')
        self.fields = MapFields(grid, self.settings.hit_sigma_m, self.settings.search_resolution_m)
        self.pyramid
        self.fields.signed_distance

    @cached_property
    def pyramid(self):
        """Return the :class:`Pyramid` of the map."""
        rows, columns = self.fields.scores.shape
        diagonal = math.hypot(rows, columns) + 2
        reach = int(min(diagonal, self.settings.range_max_m / self.fields.search_resolution)) + 1
        levels = int(np.clip(round(math.log2(max(rows, columns) / 4)), 2, 6))
        return Pyramid(self.fields.scores, self.fields.standable, reach, levels)

    # -- the answer -------------------------------------------------------------------------

    def relocalize(self, scan, base_from_scan):
        """
        Return the :class:`Relocalization` of a scan; ``base_from_scan`` is the scanner's 4 x 4 mount.

        Raises :class:`~oomwoo_localization.scans.ScanError` for a scan whose header makes no sense.
        """
        began = time.perf_counter()
        evidence, refused = self._evidence(scan, base_from_scan)
        if refused:
            return refused
        found = self._search(evidence, 2)
        if not found:
            return refusal('no_match', 'no pose in the map explains any of the scan',
                           time.perf_counter() - began)
        answer = self._judge(evidence, found)
        object.__setattr__(answer, 'runtime_s', time.perf_counter() - began)
        return answer

    def candidates(self, scan, base_from_scan, count):
        """
        Return up to ``count`` ``(pose, score)``, distinct from each other, best first.

        Poses of the base in the map frame, refined; empty when the scan is no use.
        """
        evidence, refused = self._evidence(scan, base_from_scan)
        if refused:
            return []
        found = self._search(evidence, count)
        return [(self._base_pose(evidence, one['pose']), one['score']) for one in found]

    # -- steps ------------------------------------------------------------------------------

    def _evidence(self, scan, base_from_scan):
        scan.check()
        points, _ = scan_points(scan, base_from_scan)
        mount = np.asarray(base_from_scan, dtype=float)[:3, 3]
        ends = points[:, :2] - mount[:2]
        length = np.hypot(*ends.T)
        limit = min(self.settings.range_max_m,
                    (self.pyramid.reach - 1) * self.fields.search_resolution)
        ends = ends[(points[:, 2] > 0.01) & (length <= limit) & (length > 1e-3)]
        ends = thin(ends, self.settings.most_points)
        if len(ends) < self.settings.least_points:
            return None, refusal('too_few_beams', (
                f'{len(ends)} of {len(scan.ranges)} beams are of use; '
                f'{self.settings.least_points} are needed'))
        return Evidence(ends, mount[:2]), None

    def _search(self, evidence, count):
        """Return dicts of refined distinct poses of the scanner, best first."""
        settings, resolution = self.settings, self.fields.search_resolution
        points = evidence.ends
        full = FULL_SCORE * len(points)

        def penalty(heading, row, column):
            crossed = rays.crossed((column + 0.5) * resolution, (row + 0.5) * resolution, heading)
            return settings.crossing_weight * full * crossed.mean(axis=1)

        rays = Rays(self.fields, evidence.sample)

        lattice = Lattice(self.pyramid, points, resolution, penalty if settings.crossing_weight else None)
        self.lattice = lattice
        apart = (settings.apart_m, math.radians(settings.apart_deg))
        found = search(lattice, count, apart, 0.2 * full, 1.0 - settings.full_margin)
        self.found = found
        result = []
        for leaf in found.leaves:
            pose = np.array([(leaf.column + 0.5) * resolution, (leaf.row + 0.5) * resolution,
                             leaf.heading * lattice.step])
            result.append({'leaf': pose, 'leaf_score': leaf.score / full, 'pose': pose,
                           'score': leaf.score / full})
        return result

    def _judge(self, evidence, found):
        settings = self.settings
        best = found[0]
        refined = refine(self.fields, evidence.ends, best['leaf'])
        crossed = Rays(self.fields, evidence.ends).crossed(*refined.pose[:, None])[0]
        score = best['score']
        runner = found[1]['score'] if len(found) > 1 else 0.0
        bound = max(runner, self.found.complete_above / (FULL_SCORE * len(evidence.ends)))
        margin = 1.0 - bound / score if score > 0 else 0.0
        confidence = float(np.clip(margin / settings.full_margin, 0.0, 1.0))
        pose = self._base_pose(evidence, refined.pose)
        covariance = refined.covariance
        std_m = math.sqrt(np.linalg.eigvalsh(covariance[:2, :2])[-1]) if np.isfinite(
            covariance).all() else math.inf
        std_deg = math.degrees(math.sqrt(covariance[2, 2]))
        reason, message = '', 'found'
        if score < settings.least_score:
            reason, message = 'low_score', (
                f'the best pose explains {score:.0%} of the scan; {settings.least_score:.0%} is needed')
        elif crossed.mean() > settings.most_crossed:
            reason, message = 'through_walls', (
                f'at the best pose {crossed.mean():.0%} of the beams would pass through walls of the map')
        elif confidence < settings.least_confidence:
            reason, message = 'ambiguous', (
                f'a distinct pose is nearly as good: {runner:.2f} against {score:.2f}')
        elif std_m > settings.most_std_m or std_deg > settings.most_std_deg:
            reason, message = 'free_direction', (
                f'the scan leaves the pose free by {std_m:.2f} m and {std_deg:.1f} degrees')
        second = self._base_pose(evidence, found[1]['pose']) if len(found) > 1 else NOWHERE
        return Relocalization(
            not reason, pose, self._base_covariance(evidence, refined), score, min(1.0, max(0.0, score)),
            confidence, second, runner, 0.0, reason, message)

    # -- frames -----------------------------------------------------------------------------

    def _base_pose(self, evidence, scanner):
        """Return the base's pose in the map of a scanner's pose in grid coordinates."""
        at = transform_points(scanner, [-evidence.mount])[0]
        x, y = transform_points(self.grid.origin, [at])[0]
        return np.array([x, y, wrap_angle(scanner[2] + self.grid.origin[2])])

    def _base_covariance(self, evidence, refined):
        """Return the base's covariance in the map's axes."""
        yaw = refined.pose[2]
        c, s = math.cos(yaw), math.sin(yaw)
        mx, my = evidence.mount
        lever = np.eye(3)
        lever[0, 2], lever[1, 2] = s * mx + c * my, -c * mx + s * my
        c, s = math.cos(self.grid.origin[2]), math.sin(self.grid.origin[2])
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ lever
        if not np.isfinite(refined.covariance).all():
            return UNKNOWN_COVARIANCE
        return turn @ refined.covariance @ turn.T


@dataclass(frozen=True)
class Evidence:
    """Ends of beams (beams, 2) around the scanner, axes as the base's; the scanner's place in the base."""

    ends: np.ndarray
    mount: np.ndarray
    samples: int = 48

    @cached_property
    def sample(self):
        """Return those ends whose beams the search checks against walls."""
        return self.ends[np.unique(np.linspace(0, len(self.ends) - 1, self.samples).round().astype(int))]


def thin(points, most, least_m=LEAST_SPAN_M):
    """
    Return points (M, 2) of a sweep (N, 2), each at least ``least_m`` from the one before, ``most`` of them at most.

    So that a wall counts by its length and not by how near it is.
    """
    while True:
        kept = _spaced(points, least_m)
        if len(kept) <= most:
            return kept
        least_m *= 1.15


def _spaced(points, least_m):
    kept, last = [], None
    for index, (x, y) in enumerate(points.tolist()):
        if last is None or math.hypot(x - last[0], y - last[1]) >= least_m:
            kept.append(index)
            last = (x, y)
    return points[kept]


__all__ = ['GridError', 'Relocalization', 'Relocalizer', 'RelocalizerSettings', 'ScanError', 'refusal', 'thin']
