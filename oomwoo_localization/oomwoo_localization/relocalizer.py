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
from oomwoo_localization.branch_and_bound import Lattice, Pyramid, search
from oomwoo_localization.frames import transform_points, wrap_angle
from oomwoo_localization.grids import GridError
from oomwoo_localization.likelihood import FULL_SCORE, MapFields, Rays
from oomwoo_localization.match_evidence import beams_at, weigh
from oomwoo_localization.refinement import refine
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
# What speaks against a pose because it could be had elsewhere, too: the rival is told first.
SAME_ELSEWHERE = 'free_direction', 'two_walls'
MOST_CELLS = 2_500_000  # of the search lattice with its margins; a level takes 8 bytes each
SLACK = 0.02  # of the lead, so that a little doubt does not ask for another search
ROUNDING = 1e-9  # a lead is bounded by the very one that was asked for
SHOWN_GONE = 0.1  # share of beams through walls from which on things are gone for certain
MOST_TWINS = 5  # that are looked at one by one
FLOOR = 0.75  # of the least score: what is below is not looked for


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
        found = self._search(evidence, 2)
        if not found.leaves:
            return refusal(
                'no_match',
                'no pose in the map explains any of the scan',
                time.perf_counter() - began,
            )
        best = self._winner(evidence, found.leaves[0])
        answer = self._judge(evidence, found, best)
        if answer.reason_code == 'ambiguous' and answer.runner_up_score < (
            best.explained * (1.0 - best.needed)
        ):
            # What speaks against the pose asks for more lead than the search has shown so far.
            found = self._search(evidence, 2, best.needed)
            answer = self._judge(evidence, found, best)
        if answer.accepted:
            answer = self._doubt_twins(evidence, found, best, answer)
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
        first = self._search(evidence, 1)
        if not first.leaves:
            return []
        needed = self._winner(evidence, first.leaves[0]).needed
        margin = FULL_MARGIN * (needed + self.settings.twin_margin)
        found = self._search(evidence, count, margin)
        rivals = [
            leaf
            for leaf in found.leaves
            if leaf.score >= self._rival_score(found.leaves[0].score, evidence, margin)
        ]
        return [
            (
                self._base_pose(evidence, self._refined(evidence, leaf)[0].pose),
                self._share(evidence, leaf.score),
            )
            for leaf in rivals
        ]

    # -- steps ------------------------------------------------------------------------------

    def _evidence(self, scan, base_from_scan):
        return evidence_of(scan.check(), base_from_scan, self.longest_m, self.settings.most_points)

    def _search(self, evidence, count, margin=None):
        """
        Return the :class:`Search` for the best distinct poses of the scanner on the lattice.

        It looks for poses that come within ``margin`` of the best, by default within as much as
        lowers the confidence.
        """
        settings = self.settings
        lattice = self._lattice(evidence)
        apart = (settings.apart_m, math.radians(settings.apart_deg))
        return search(
            lattice,
            count,
            apart,
            lambda best: self._rival_score(best, evidence, margin),
            most_effort=settings.most_nodes,
        )

    def _lattice(self, evidence, with_walls=True):
        """
        Return the :class:`Lattice` of a scan.

        ``with_walls``, beams through walls cost something on it.
        """
        settings, resolution = self.settings, self.fields.search_resolution
        full = FULL_SCORE * len(evidence.ends)
        rays = Rays(self.fields, evidence.checked)

        def penalty(heading, row, column):
            crossed = rays.crossed((column + 0.5) * resolution, (row + 0.5) * resolution, heading)
            beyond = np.maximum(crossed.mean(axis=1) - settings.crossing_allowed, 0.0)
            # Who stands where something is drawn knows that it is gone.
            return settings.crossing_weight * full * beyond * self.fields.floor[row, column]

        with_walls = with_walls and settings.crossing_weight > 0
        return Lattice(self.pyramid, evidence.ends, resolution, penalty if with_walls else None)

    def _rival_score(self, best, evidence, margin=None):
        """Return the lattice score from which on a distinct pose lowers the confidence."""
        share = self._share(evidence, best)
        if margin is None:
            needed = self.settings.margin(share)
            margin = max(FULL_MARGIN * needed, needed + SLACK + self.settings.twin_margin)
        rival = share * (1.0 - margin)
        return FULL_SCORE * len(evidence.ends) * max(FLOOR * self.settings.least_score, rival)

    def _share(self, evidence, score):
        return score / (FULL_SCORE * len(evidence.ends))

    def _refined(self, evidence, leaf):
        """
        Return the :class:`Refined` pose of a leaf and whether it stayed near.

        Else it stands where it was.
        """
        resolution, settings = self.fields.search_resolution, self.settings
        start = np.array(
            [(leaf.column + 0.5) * resolution, (leaf.row + 0.5) * resolution, leaf.angle]
        )
        refined = refine(self.fields, evidence.ends, start)
        moved = refined.pose - start
        if (
            math.hypot(*moved[:2]) <= settings.apart_m
            and abs(math.degrees(moved[2])) <= settings.apart_deg
        ):
            return refined, True
        return refine(self.fields, evidence.ends, start, steps=0), False

    def _winner(self, evidence, leaf):
        """Return the best leaf as a :class:`Winner`, with what there is against it alone."""
        refined, near = self._refined(evidence, leaf)
        explained = self._share(evidence, leaf.score)
        return weigh(self.fields, self.settings, evidence.ends, explained, refined, near)

    def _judge(self, evidence, found, best):
        """
        Return the answer with its reasons.

        The pose is believed only when there is none against it.
        """
        others = found.leaves[1:2]
        runner_up_score = self._share(evidence, others[0].score) if others else 0.0
        # Poses that were not looked for may explain as much as the bound of the search.
        bound = max(runner_up_score, self._share(evidence, found.complete_above))
        margin = 1.0 - bound / best.explained if best.explained > 0 else 0.0
        needed = best.needed
        if math.isinf(found.complete_above):
            reason, message = (
                'undecided',
                (
                    'too many poses are about as good: '
                    f'gave up after {self.settings.most_nodes} nodes'
                ),
            )
        elif margin < needed - ROUNDING and (
            best.against is None or best.against[0] in SAME_ELSEWHERE
        ):
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
                self._base_pose(evidence, self._refined(evidence, others[0])[0].pose)
                if others
                else NOWHERE
            ),
            runner_up_score=runner_up_score,
            runtime_s=0.0,
            reason_code=reason,
            message=message,
        )

    def _doubt_twins(self, evidence, found, best, answer):
        """
        Return the answer, refused if a pose somewhere else comes too close to it.

        A thing that is gone can make a twin look better than the truth, by what it has blocked; it
        cannot move a pose by a little. So elsewhere more lead is asked for than nearby, unless the
        pose explains all and leads even if all that was lost at the other is forgiven it. Where
        beams pass through walls at the best pose, things are gone, and elsewhere it costs nothing
        either.
        """
        settings = self.settings
        gone = best.through > SHOWN_GONE
        needed = best.needed + settings.twin_margin
        least = best.explained * (1.0 - needed) * FULL_SCORE * len(evidence.ends)
        bound = max([found.complete_above] + [one.score for one in found.leaves[1:2]])
        if bound <= least and not gone:
            return answer
        apart = (settings.twin_m, math.radians(settings.twin_deg))
        elsewhere = search(
            self._lattice(evidence, with_walls=not gone),
            MOST_TWINS,
            apart,
            lambda best: least,
            width=math.inf,  # Nothing is gained by a dive: all that score more are wanted.
            most_effort=settings.most_nodes,
            outside=found.leaves[0],
        )
        if math.isinf(elsewhere.complete_above):
            return replace(
                answer,
                accepted=False,
                reason_code='undecided',
                message=f'too many poses to look at: gave up after {settings.most_nodes} nodes',
            )
        twins = [twin for twin in elsewhere.leaves if twin.score > least]
        sure = best.score >= settings.sure_score and len(twins) < MOST_TWINS
        most = best.explained * (1.0 - best.needed - FORGIVEN_LEAD)
        if not twins or sure and all(self._forgiven(evidence, twin) <= most for twin in twins):
            return answer
        share = self._share(evidence, twins[0].score)
        lead = 1.0 - share / best.explained
        return replace(
            answer,
            accepted=False,
            confidence=min(answer.confidence, max(0.0, lead / (FULL_MARGIN * needed))),
            runner_up=self._base_pose(evidence, self._refined(evidence, twins[0])[0].pose),
            runner_up_score=share,
            reason_code='ambiguous',
            message=(
                f'a pose elsewhere explains {share:.0%}, the best {best.explained:.0%}, '
                f'and a lead of {needed:.0%} is needed'
            ),
        )

    def _forgiven(self, evidence, leaf):
        """Return the share that a pose would explain without the walls its beams lie behind."""
        refined = self._refined(evidence, leaf)[0]
        lost = beams_at(self.fields, evidence.ends, refined).lost | np.isnan(refined.residuals)
        return self._share(evidence, leaf.score) + float(lost.mean())

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
