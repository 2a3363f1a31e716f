"""
The places where the robot may be, carried along by odometry until they come down to one.

A place is kept as the correction ``map_from_odom`` (3,) that it implies: then odometry carries it
along for nothing, and places found from two spots agree when their corrections put the robot at
the same pose.
"""

import math

import numpy as np
from oomwoo_localization.frames import compose, inverse, wrap_angle


class PoseHypotheses:
    """What the answers so far leave possible; ``corrections`` of the places, best first."""

    def __init__(self, settings):
        """Know nothing; ``settings`` are those of the manager."""
        self.settings = settings
        self.odom = None  # (3,) of the robot now
        self.forget()

    def forget(self):
        """Know nothing, so that everything is possible."""
        self.corrections, self._complete, self.place = [], True, None

    def __len__(self):
        return len(self.corrections)

    def poses(self):
        """Return where in the map (3,) the robot may be now."""
        if self.odom is None:
            return []
        return [compose(correction, self.odom) for correction in self.corrections]

    def exclude(self, correction):
        """Tell whether a place is none of those that are possible, and all of those are known."""
        return bool(self.corrections) and self._complete and not self._among(correction)

    def only(self, correction):
        """Tell whether a place is all that is possible."""
        return len(self.corrections) == 1 and self._agree(correction, self.corrections[0])

    def restart(self, corrections, place, complete=True):
        """Take these places, seen from ``place`` (3,) in odom, for all that is known."""
        self.corrections, self.place, self._complete = list(corrections), place, complete

    def narrow(self, answer):
        """
        Take in an answer that several places fit; return the correction of the one that is left.

        None while more than one may be right. Two answers decide only when the robot has moved in
        between, and when neither list may lack a place.
        """
        found = [compose(pose, inverse(answer.odom)) for pose in answer.candidates]
        moved = (
            self.place is not None
            and math.dist(self.place[:2], answer.odom[:2]) >= self.settings.least_move_m
        )
        if not (self.corrections and moved):
            self.restart(found, answer.odom, answer.complete)
            return None
        left = [correction for correction in found if self._among(correction)]
        if len(left) == 1 and self._complete and answer.complete:
            return left[0]
        self.restart(
            left or found, answer.odom, answer.complete and (self._complete or not left))
        return None

    def _among(self, correction):
        return any(self._agree(correction, kept) for kept in self.corrections)

    def _agree(self, one, other):
        """Tell whether two corrections put the robot at the same pose."""
        if self.odom is None:
            return False
        a, b = compose(one, self.odom), compose(other, self.odom)
        return (
            math.dist(a[:2], b[:2]) <= self.settings.agree_m
            and abs(math.degrees(wrap_angle(a[2] - b[2]))) <= self.settings.agree_deg
        )


def correction_of(pose, odom):
    """Return the correction (3,) of a pose in the map and one in odom, None without both."""
    if pose is None or odom is None:
        return None
    return compose(np.asarray(pose, dtype=float), inverse(odom))
