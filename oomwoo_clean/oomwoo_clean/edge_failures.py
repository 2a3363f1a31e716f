"""Targets of the edge job that failed: where, how often near a spot, how many in a row."""
import math

import numpy as np


class Failures:
    """
    Remembers every failed target, and the different ones since the last success.

    Points are (x, y) in the map frame; targets ``different_m`` apart are different ones.
    """

    def __init__(self):
        """Know of none."""
        self._all = []                # (x, y, spot)
        self._in_row = []             # (x, y)

    @property
    def points(self):
        """Return all points at which a target failed."""
        return [(x, y) for x, y, _ in self._all]

    @property
    def in_row(self):
        """Return how many different targets have failed since the last success."""
        return len(self._in_row)

    def near(self, point, different_m):
        """Return how many targets have failed near a point."""
        return sum(math.dist(other, point) <= different_m for other in self.points)

    def note(self, point, spot, different_m):
        """
        Note that the target at a spot has failed; return how many had failed near it before.

        Only first attempts count for those in a row: a spot that has failed before says nothing
        new about the robot.
        """
        before = self.near(point, different_m)
        self._all.append((*point, spot))
        if before == 0 and all(math.dist(point, other) > different_m for other in self._in_row):
            self._in_row.append(point)
        return before

    def succeeded(self):
        """Begin the row anew."""
        self._in_row = []

    def state(self):
        """Return two arrays by name, for :meth:`restore`."""
        return {'failures': np.array(self._all, dtype=float).reshape(-1, 3),
                'failed_in_row': np.array(self._in_row, dtype=float).reshape(-1, 2)}

    def restore(self, state):
        """Take over what :meth:`state` returned."""
        self._all = [(x, y, int(spot)) for x, y, spot in state['failures'].tolist()]
        self._in_row = [tuple(row) for row in state['failed_in_row'].tolist()]
