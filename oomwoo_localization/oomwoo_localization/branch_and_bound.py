"""
Branch and bound over a whole map and all headings: one descent finds all that is as good.

After Olson (2009) and Hess, Kohler, Rapp and Andor (2016), but level by level over all nodes at
once. The best pose, its runner-up and the twins of it elsewhere are all taken from the leaves of
the same descent, which holds every pose that scores more than a stated threshold.
"""

from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.bound_pyramid import bundle_size
from oomwoo_localization.pose_lattice import Leaf, Nodes

# A dive looks at so many nodes a level; from so many times that on, a better score to begin with
# pays, and a greater share of the nodes ahead may go into it.
DIVE_WIDTH, WORTH_A_DIVE, DIVE_SHARE = 48, 8, 60


class TooWide(Exception):
    """So many poses are about as good that looking at all of them costs more than is allowed."""


class Search:
    """
    What a search found: every pose that scores more than ``above``, and the best ones known.

    ``above`` is infinite when the search gave up; then nothing but the best known is in it.
    """

    def __init__(self, lattice, nodes, above, known, most_effort=math.inf):
        """Keep leaf ``nodes`` (see :class:`Nodes`) and leaves ``known`` from elsewhere."""
        self.lattice = lattice
        self.above = above
        self.known = known
        self._nodes = nodes.pick(np.argsort(-nodes.bound.astype(np.int32), kind='stable'))
        self._scores = np.full(len(nodes), np.nan)
        self._most_effort = most_effort

    def distinct(self, count, apart, above=None, outside=None, penalised=True):
        """
        Return up to ``count`` leaves, best first, that are distinct from each other.

        The first is the best pose of all; the next the best of those that differ from it by more
        than ``apart`` (metres, radians) in position or heading, and so on. Only poses that score
        more than ``above`` count, by default the search's own. With ``outside``, a :class:`Leaf`,
        they must be distinct from it, too. Not ``penalised``, a pose scores what its ends alone
        do. Penalties are computed only for leaves that could still win without one. Raises
        :class:`TooWide` when even that costs more than is allowed.
        """
        above = self.above if above is None else above
        open_ = np.ones(len(self._nodes), dtype=bool)
        known = list(self.known) if penalised else []
        if outside is not None:
            open_ &= ~self.lattice.near(self._nodes, 0, outside, apart)
            known = [leaf for leaf in known if not self._same(leaf, outside, apart)]
        chosen = []
        while len(chosen) < count:
            best = max(known, key=lambda leaf: leaf.score, default=None)
            best = self._best(open_, best, above, penalised)
            if best is None:
                break
            chosen.append(best)
            open_ &= ~self.lattice.near(self._nodes, 0, best, apart)
            known = [leaf for leaf in known if not self._same(leaf, best, apart)]
        return chosen

    def _same(self, leaf, other, apart):
        one = Nodes(*(np.array([v]) for v in (leaf.heading, leaf.row, leaf.column, 0)))
        return bool(self.lattice.near(one, 0, other, apart)[0])

    def _best(self, open_, best, above, penalised):
        """Return the better of ``best`` and the best open leaf, None when neither is above."""
        if best is not None and best.score <= above:
            best = None
        least = above if best is None else best.score
        numbers = np.flatnonzero(open_)
        first, size = 0, 8
        while first < len(numbers):
            part = numbers[first:first + size]
            first, size = first + size, min(2 * size, 128)
            part = part[self._nodes.bound[part] > least]
            if len(part) == 0:
                break
            scores = self._score(part) if penalised else self._nodes.bound[part].astype(float)
            top = np.argmax(scores)
            if scores[top] > least:
                least = float(scores[top])
                best = self._leaf(part[top], least)
        return best

    def _score(self, part):
        """Return the scores of leaves by their numbers, each computed once."""
        new = part[np.isnan(self._scores[part])]
        if len(new):
            if self.lattice.effort > self._most_effort:
                raise TooWide
            self._scores[new] = self._nodes.bound[new] - self.lattice.penalties(
                self._nodes.pick(new)
            )
        return self._scores[part]

    def _leaf(self, number, score):
        heading, row, column = (
            int(values[number])
            for values in (self._nodes.bundle, self._nodes.row, self._nodes.column)
        )
        return Leaf(heading, row, column, heading * self.lattice.step, score)


@dataclass
class Wanted:
    """
    What a search is asked for.

    ``count`` leaves are told apart by ``apart`` (metres, radians). ``threshold(leaves)`` returns
    for the best distinct leaves known so far, best first, none to begin with, the score above
    which all poses are wanted; it must lie below the best leaf's score. ``width`` is the least
    number of nodes that a dive for a good score to begin with takes along; an infinite one dives
    never. ``most_effort`` is the number of nodes after which the search gives up.
    """

    threshold: object
    apart: tuple
    count: int = 2
    width: float = DIVE_WIDTH
    most_effort: float = math.inf


def search(lattice, wanted):
    """
    Find every pose of a lattice that scores more than what is :class:`Wanted`.

    What it returns, a :class:`Search`, is what an exhaustive search would give.
    """
    known, width = [], wanted.width
    while True:
        try:
            found, known = _descend(lattice, wanted, known, width)
            leaves = found.distinct(wanted.count, wanted.apart, above=-1.0)
        except TooWide:
            return Search(lattice, _nothing(), math.inf, known)
        # A better pose may have been found than was known on the way down, and more be wanted.
        if found.above <= wanted.threshold(leaves):
            return found
        known, width = leaves, math.inf


def _nothing():
    return Nodes(*(np.zeros(0, dtype=int) for _ in range(4)))


def _descend(lattice, wanted, known, width):
    """
    Go down all levels once.

    ``known`` are the best leaves so far; where there are many nodes, better ones are dived for,
    with at least ``width`` nodes. Returns a :class:`Search` and the best leaves known in the end.
    """
    level = lattice.pyramid.levels
    nodes, top = lattice.roots(), level
    above = wanted.threshold(known)
    while level > 0:
        cost = len(nodes) * bundle_size(level) // bundle_size(level - 1)
        if level < top and cost > WORTH_A_DIVE * width * level:
            wide = max(width, cost // (DIVE_SHARE * level))
            known = _dive(lattice, wanted, nodes, level, wide, known)
            above = wanted.threshold(known)
            nodes = nodes.pick(nodes.bound > above)
            cost = len(nodes) * bundle_size(level) // bundle_size(level - 1)
        if lattice.effort + cost > wanted.most_effort:
            raise TooWide
        level -= 1
        nodes = lattice.children(nodes, level, above)
    return Search(lattice, nodes, above, known, wanted.most_effort), known


def _dive(lattice, wanted, nodes, level, width, known):
    """
    Return good distinct leaves below some nodes, best first, without any proof.

    Each dive keeps away from what is best so far.
    """
    far = 4 * wanted.apart[0], 4 * wanted.apart[1]
    for number in range(wanted.count):
        away = np.ones(len(nodes), dtype=bool)
        for leaf in known[:number]:
            away &= ~lattice.near(nodes, level, leaf, far)
        if away.any():
            leaves = lattice.dive(nodes.pick(away), level, width)
            known = Search(lattice, leaves, -1.0, known).distinct(wanted.count, wanted.apart)
    return known
