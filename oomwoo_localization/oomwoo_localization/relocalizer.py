"""
Find the robot in the map, from one scan and no prior, and say whether that can be believed.

A pose's score is the share of beams that end on walls of the map, less those that would have had
to pass through one. The whole map is searched (branch and bound), for the best pose and for the
best that is distinct from it in position or heading; the winner is refined below a cell. It is
believed only when enough of the scan speaks for it, little against it, nothing distinct comes
close, and no direction is free.
"""

from dataclasses import replace
import math
import time

import numpy as np
from oomwoo_localization.bound_pyramid import Pyramid
from oomwoo_localization.branch_and_bound import TooWide
from oomwoo_localization.frames import transform_points, wrap_angle
from oomwoo_localization.grids import GridError
from oomwoo_localization.likelihood import MapFields
from oomwoo_localization.match_question import Question
from oomwoo_localization.relocalization import (
    NOWHERE,
    refusal,
    Relocalization,
    RelocalizerSettings,
    UNKNOWN_COVARIANCE,
)
from oomwoo_localization.scan_evidence import evidence_of
from oomwoo_localization.settings import check_settings

FORGIVEN_LEAD = 0.03  # more than the lead that is needed, over a twin that is forgiven its lost
FULL_MARGIN = 1.5  # times the margin that is needed: confidence 1
MOST_CELLS = 2_500_000  # of the search lattice with its margins; a level takes 8 bytes each
FARTHEST = 0.3  # behind the best, no pose is a candidate
ROUNDING = 1e-9  # a lead is bounded by the very one that was asked for
SHOWN_GONE = 0.1  # share of beams through walls from which on things are gone for certain
MOST_TWINS = 5  # that are looked at one by one


class Relocalizer:
    """Searches one map; what depends on the map alone is computed once, at construction."""

    def __init__(self, grid, settings=None, robot=None):
        """
        Prepare a map.

        ``robot`` is kept for callers that pass it; the search needs none of its dimensions. Raises
        :class:`~oomwoo_localization.grids.GridError` for a map without free floor or without any
        obstacle.
        """
        self.grid = grid.check()
        self.settings = check_settings(settings or RelocalizerSettings())
        self.robot = robot
        if not grid.free.any():
            raise GridError('map: no cell is free, so the robot cannot be anywhere')
        if not grid.obstacles.any():
            raise GridError('map: no cell is occupied, so there is nothing to match a scan with')
        self.fields, reach = self._lattice_size()
        rows, columns = self.fields.scores.shape
        levels = int(np.clip(round(math.log2(max(rows, columns) / 4)), 2, 6))
        self.pyramid = Pyramid(self.fields.scores, self.fields.standable, reach, levels)
        self.longest_m = (reach - 1) * self.fields.search_resolution
        self.fields.prepare()

    def _lattice_size(self):
        """
        Return the fields, coarse enough for the pyramid to be kept.

        And how far a beam may reach in cells.
        """
        settings, resolution = self.settings, self.settings.search_resolution_m
        while True:
            fields = MapFields(self.grid, settings.hit_sigma_m, resolution)
            size = np.array(self.grid.shape) / fields.block
            reach = (
                math.ceil(
                    min(math.hypot(*size) + 2, settings.range_max_m / fields.search_resolution)
                )
                + 1
            )
            if (size + reach).prod() <= MOST_CELLS:
                return fields, reach
            resolution = (fields.block + 1) * self.grid.resolution

    # -- the answer -------------------------------------------------------------------------

    def relocalize(self, scan, base_from_scan):
        """
        Return the :class:`Relocalization` of a scan.

        ``base_from_scan`` is the scanner's 4 x 4 mount. Raises
        :class:`~oomwoo_localization.scans.ScanError` for a scan whose header makes no sense.
        """
        began = time.perf_counter()
        evidence = self._evidence(scan, base_from_scan)
        if len(evidence.ends) < self.settings.least_points:
            return refusal(
                'too_few_beams',
                (
                    f'{len(evidence.ends)} ends of {len(scan.ranges)} beams are of use; '
                    f'{self.settings.least_points} are needed'
                ),
                time.perf_counter() - began,
            )
        question = Question(self.fields, self.pyramid, self.settings, evidence)
        found = question.search()
        leaves = found.distinct(2, question.apart, above=-1.0)
        if not leaves:
            return refusal(
                'no_match',
                'no pose in the map explains any of the scan',
                time.perf_counter() - began,
            )
        answer = self._judge(question, found, leaves)
        if answer.accepted:
            answer = self._doubt_twins(question, found, leaves[0], answer)
        return replace(answer, runtime_s=time.perf_counter() - began)

    def candidates(self, scan, base_from_scan, count):
        """
        Return up to ``count`` ``(pose, score)``, distinct from each other, best first.

        Poses of the base in the map frame, refined. Only those are looked for that come so close
        to the best that one could not be told from the other; empty when the scan is no use.
        """
        evidence = self._evidence(scan, base_from_scan)
        if len(evidence.ends) < self.settings.least_points:
            return []
        question = Question(self.fields, self.pyramid, self.settings, evidence)

        def threshold(leaves):
            if not leaves:
                return question.floor
            needed = question.winner(leaves[0]).needed + self.settings.twin_margin
            lead = min(FULL_MARGIN * needed, FARTHEST)
            rival = leaves[0].score * (1.0 - lead)
            return max([rival, question.floor] + [one.score for one in leaves[count - 1:count]])

        found = question.search(threshold, count)
        leaves = found.distinct(count, question.apart, above=-1.0)
        rivals = [leaf for leaf in leaves if leaf.score >= threshold(leaves)]
        return [
            (self._base_pose(evidence, question.refined(leaf)[0].pose), question.share(leaf.score))
            for leaf in rivals
        ]

    # -- steps ------------------------------------------------------------------------------

    def _evidence(self, scan, base_from_scan):
        return evidence_of(scan.check(), base_from_scan, self.longest_m, self.settings.most_points)

    def _judge(self, question, found, leaves):
        """
        Return the answer with its reasons.

        The pose is believed only when there is none against it.
        """
        evidence, best = question.evidence, question.winner(leaves[0])
        runner_up = leaves[1:2]
        runner_up_score = question.share(runner_up[0].score) if runner_up else 0.0
        # Poses that were not looked for may explain as much as the bound of the search.
        bound = max(runner_up_score, question.share(found.above))
        margin = 1.0 - bound / best.explained if best.explained > 0 else 0.0
        needed = best.needed
        if math.isinf(found.above):
            reason, message = (
                'undecided',
                (
                    'too many poses are about as good: '
                    f'gave up after {self.settings.most_nodes} nodes'
                ),
            )
        elif margin < needed - ROUNDING and not best.hopeless:
            reason, message = (
                'ambiguous',
                (
                    f'a distinct pose may be nearly as good: it explains {bound:.0%}, '
                    f'the best {best.explained:.0%}, and a lead of {needed:.0%} is needed'
                ),
            )
        else:
            reason, message = best.against or ('', 'found')
        return Relocalization(
            accepted=not reason,
            pose=self._base_pose(evidence, best.refined.pose),
            covariance=self._base_covariance(evidence, best.refined),
            score=best.score,
            score_normalized=min(1.0, max(0.0, best.score)),
            confidence=float(np.clip(margin / (FULL_MARGIN * needed), 0.0, 1.0)),
            runner_up=(
                self._base_pose(evidence, question.refined(runner_up[0])[0].pose)
                if runner_up
                else NOWHERE
            ),
            runner_up_score=runner_up_score,
            runtime_s=0.0,
            reason_code=reason,
            message=message,
        )

    def _doubt_twins(self, question, found, leaf, answer):
        """
        Return the answer, refused if a pose somewhere else comes too close to it.

        A thing that is gone can make a twin look better than the truth, by what it has blocked; it
        cannot move a pose by a little. So elsewhere more lead is asked for than nearby, unless the
        pose explains all and leads even if all that was lost at the other is forgiven it. Where
        beams pass through walls at the best pose, things are gone, and elsewhere it costs nothing
        either.
        """
        settings, best = self.settings, question.winner(leaf)
        needed = best.needed + settings.twin_margin
        least = best.explained * (1.0 - needed) * question.full
        apart = (settings.twin_m, math.radians(settings.twin_deg))
        try:
            twins = found.distinct(
                MOST_TWINS, apart, least, outside=leaf, penalised=best.through <= SHOWN_GONE
            )
        except TooWide:
            return replace(
                answer,
                accepted=False,
                reason_code='undecided',
                message=f'too many poses to look at: gave up after {settings.most_nodes} nodes',
            )
        sure = best.score >= settings.sure_score and len(twins) < MOST_TWINS
        most = best.explained * (1.0 - best.needed - FORGIVEN_LEAD)
        if not twins or sure and all(question.forgiven(twin) <= most for twin in twins):
            return answer
        share = question.share(twins[0].score)
        lead = 1.0 - share / best.explained
        return replace(
            answer,
            accepted=False,
            confidence=min(answer.confidence, max(0.0, lead / (FULL_MARGIN * needed))),
            runner_up=self._base_pose(question.evidence, question.refined(twins[0])[0].pose),
            runner_up_score=share,
            reason_code='ambiguous',
            message=(
                f'a pose elsewhere explains {share:.0%}, the best {best.explained:.0%}, '
                f'and a lead of {needed:.0%} is needed'
            ),
        )

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
