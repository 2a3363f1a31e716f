"""One scan asked on one map: the lattice of its poses, what is worth finding, and refinement."""

from functools import cached_property
import math

import numpy as np
from oomwoo_localization.branch_and_bound import search, Wanted
from oomwoo_localization.likelihood import FULL_SCORE, Rays
from oomwoo_localization.match_evidence import beams_at, weigh
from oomwoo_localization.pose_lattice import Lattice
from oomwoo_localization.refinement import refine

FLOOR = 0.75  # of the least score: what is below is not looked for


class Question:
    """
    A scan on a map.

    ``fields`` and ``pyramid`` are the map's, ``evidence`` the scan's. Each leaf is refined once.
    """

    def __init__(self, fields, pyramid, settings, evidence):
        """Take all by reference."""
        self.fields, self.pyramid, self.settings = fields, pyramid, settings
        self.evidence = evidence
        self.full = FULL_SCORE * len(evidence.ends)
        self.floor = FLOOR * settings.least_score * self.full
        self.apart = settings.apart_m, math.radians(settings.apart_deg)
        self._refined, self._winners = {}, {}

    def share(self, score):
        """Return a lattice score as a share of the beams."""
        return score / self.full

    # -- search -----------------------------------------------------------------------------

    def search(self, threshold=None, count=2):
        """Return the :class:`Search` for all poses above a threshold, by default the own one."""
        lattice = Lattice(
            self.pyramid,
            self.evidence.ends,
            self.fields.search_resolution,
            self._penalty if self.settings.crossing_weight > 0 else None,
        )
        threshold = threshold or self.threshold
        return search(
            lattice, Wanted(threshold, self.apart, count, most_effort=self.settings.most_nodes)
        )

    def threshold(self, leaves):
        """
        Return the lattice score from which on a pose has a say about the best.

        What explains less than the least score is looked for only as a rival. Of a pose that
        cannot be believed, little is asked: whether another is the best.
        """
        least = self.settings.least_score * self.full
        if not leaves or leaves[0].score < least:
            return least
        best, winner = leaves[0].score, self.winner(leaves[0])
        if winner.hopeless:
            return max(self.floor, best * (1.0 - self.settings.least_margin))
        # Nothing below a rival that makes the best ambiguous changes that.
        rivals = [one.score for one in leaves[1:2] if one.score > best * (1.0 - winner.needed)]
        lead = best * (1.0 - winner.needed - self.settings.twin_margin)
        return max([self.floor, lead] + rivals)

    @cached_property
    def _rays(self):
        return Rays(self.fields, self.evidence.checked)

    def _penalty(self, heading, row, column):
        """Return what the walls that their beams pass through take off the scores of poses."""
        settings, resolution = self.settings, self.fields.search_resolution
        crossed = self._rays.crossed(
            (column + 0.5) * resolution, (row + 0.5) * resolution, heading
        )
        beyond = np.maximum(crossed.mean(axis=1) - settings.crossing_allowed, 0.0)
        # Who stands where something is drawn knows that it is gone.
        return settings.crossing_weight * self.full * beyond * self.fields.floor[row, column]

    # -- poses ------------------------------------------------------------------------------

    def refined(self, leaf):
        """Return the :class:`Refined` pose of a leaf, and whether it stayed near."""
        if leaf not in self._refined:
            self._refined[leaf] = self._refine(leaf)
        return self._refined[leaf]

    def _refine(self, leaf):
        """Refine; a pose that strays stands where it was."""
        resolution, settings = self.fields.search_resolution, self.settings
        start = np.array(
            [(leaf.column + 0.5) * resolution, (leaf.row + 0.5) * resolution, leaf.angle]
        )
        refined = refine(self.fields, self.evidence.ends, start)
        moved = refined.pose - start
        if (
            math.hypot(*moved[:2]) <= settings.apart_m
            and abs(math.degrees(moved[2])) <= settings.apart_deg
        ):
            return refined, True
        return refine(self.fields, self.evidence.ends, start, steps=0), False

    def winner(self, leaf):
        """Return a leaf as a :class:`Winner`, with what there is against it alone."""
        if leaf not in self._winners:
            self._winners[leaf] = weigh(
                self.fields,
                self.settings,
                self.evidence.ends,
                self.share(leaf.score),
                *self.refined(leaf),
            )
        return self._winners[leaf]

    def forgiven(self, leaf):
        """Return the share that a pose would explain without the walls its beams lie behind."""
        refined, _ = self.refined(leaf)
        lost = beams_at(self.fields, self.evidence.ends, refined).lost
        return self.share(leaf.score) + float((lost | np.isnan(refined.residuals)).mean())
