"""
Branch and bound over a whole map and all headings.

After Olson (2009) and Hess, Kohler, Rapp and Andor (2016). A pose of the lattice is ``(heading,
row, column)``: the scanner stands in the middle of a search cell and each beam's end falls into
the cell at a whole number of rows and columns from it. Its score is the sum of the likelihood
field at all ends. A node of level ``h`` stands for ``2**h`` by ``2**h`` cells and a bundle of
neighbouring headings; its bound is the sum of the field's maxima over all cells that any of its
poses could reach.
"""

from dataclasses import dataclass
import math

import numpy as np
from scipy import ndimage

CELLS_A_STEP = 2.0  # that the farthest end moves from one heading to the next
CHUNK = 60_000  # lookups at once: indices and values then stay in the processor's cache
WORTH_A_DIVE = (
    8  # times the nodes a dive looks at: from here on, a better score to begin with pays
)
DIVE_SHARE = 60  # one part in so many of the nodes ahead goes into a dive
PENALTY_COST = 25  # of one penalty, in nodes


def bundle_size(level):
    """
    Return how many neighbouring headings a node of a level stands for.

    The more, the coarser.
    """
    return max(1, 2 ** (level - 2))


class Pyramid:
    """
    The likelihood field and its maxima over ever larger windows.

    The array of level ``h`` holds the bounds of a node's four children in one 64 bit word, 16 bits
    each, so that one lookup and one sum serve four nodes. Rows run into each other at their ends:
    the margin of zeros right of a row is also the one left of the next.
    """

    def __init__(self, scores, standable, reach, levels):
        """
        Prepare ``levels`` levels for beams of up to ``reach`` cells.

        ``scores`` (rows, columns) uint8; ``standable`` the mask of cells where the scanner may be.
        """
        self.scores = scores
        self.reach = reach
        self.levels = levels
        margin = reach + 2 ** (levels + 1)
        padded = np.pad(scores, ((0, margin), (0, margin)))
        self.stride = padded.shape[1]
        self.words, self.standable = [], [standable]
        window = padded.ravel()
        for level in range(levels):
            wide = self._widened(window, self.spread(level))
            step = 2**level
            children = np.empty((window.size, 4), dtype=np.uint16)
            for number, (down, right) in enumerate(CHILDREN):
                children[:, number] = np.roll(wide, -(down * self.stride + right) * step)
            self.words.append(children.view(np.uint64).ravel())
            window = np.maximum(window, np.roll(window, -step))
            window = np.maximum(window, np.roll(window, -step * self.stride))
            self.standable.append(_coarser(self.standable[-1]))

    def _widened(self, flat, cells):
        """Return the maxima over windows that reach ``cells`` farther to every side."""
        if cells == 0:
            return flat
        wide = ndimage.maximum_filter1d(flat, 2 * cells + 1, mode='wrap')
        wide = ndimage.maximum_filter1d(
            wide.reshape(-1, self.stride), 2 * cells + 1, axis=0, mode='wrap'
        )
        return wide.ravel()

    @staticmethod
    def spread(level):
        """
        Return by how many cells a beam's end may move within a bundle of headings.

        The step between headings moves no end by more than a cell (see :class:`Lattice`).
        """
        return math.ceil((bundle_size(level) - 1) / 2 * CELLS_A_STEP)

    @property
    def nbytes(self):
        """Return the memory held, bytes."""
        return sum(words.nbytes for words in self.words)


CHILDREN = ((0, 0), (0, 1), (1, 0), (1, 1))


def _coarser(mask):
    rows, columns = mask.shape
    padded = np.pad(mask, ((0, rows % 2), (0, columns % 2)))
    return padded.reshape((rows + 1) // 2, 2, (columns + 1) // 2, 2).any(axis=(1, 3))


@dataclass
class Nodes:
    """
    Nodes of one level: their bundle of headings, their row and column in units of the level.

    Their bound.
    """

    bundle: np.ndarray
    row: np.ndarray
    column: np.ndarray
    bound: np.ndarray

    def __len__(self):
        return len(self.bundle)

    def pick(self, which):
        """Return the nodes at an index or mask."""
        return Nodes(self.bundle[which], self.row[which], self.column[which], self.bound[which])

    def best(self, count):
        """Return the ``count`` nodes with the highest bounds."""
        if len(self) <= count:
            return self
        return self.pick(np.argpartition(-self.bound.astype(np.int32), count)[:count])


def join(parts):
    """Return all nodes of a list of :class:`Nodes`."""
    return Nodes(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ('bundle', 'row', 'column', 'bound')
        )
    )


class Lattice:
    """The poses that a scan may have on a pyramid's lattice, and their bounds."""

    def __init__(self, pyramid, points, resolution, penalty=None):
        """
        Lay the lattice for a scan.

        ``points`` (beams, 2) metres in the scanner's frame, each within the pyramid's reach.
        ``penalty(heading rad, row, column)`` returns what is to be taken off the scores of poses,
        never less than zero.
        """
        self.pyramid = pyramid
        self.points = points / resolution
        self.resolution = resolution
        farthest = float(np.hypot(*self.points.T).max())
        if farthest > pyramid.reach:
            raise ValueError(f'a beam of {farthest:.1f} cells is beyond the reach {pyramid.reach}')
        top = bundle_size(pyramid.levels)
        # A whole number of the coarsest bundles; a step then moves the farthest end by at most a
        # cell.
        self.headings = top * max(1, math.ceil(2 * math.pi * farthest / CELLS_A_STEP / top))
        self.step = 2 * math.pi / self.headings
        self.penalty = penalty
        self.effort = 0

    def offsets(self, level, bundles):
        """
        Return (bundles, beams) flat offsets of all ends.

        For the middle heading of each bundle.
        """
        size = bundle_size(level)
        angle = (bundles * size + (size - 1) / 2) * self.step
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        x, y = self.points.T
        row = np.rint(sin * x + cos * y).astype(np.int64)
        row *= self.pyramid.stride
        row += np.rint(cos * x - sin * y).astype(np.int64)
        return row

    def roots(self):
        """Return the nodes of the top level."""
        top = self.pyramid.levels
        row, column = np.nonzero(self.pyramid.standable[top])
        bundles = self.headings // bundle_size(top)
        count = len(row)
        return Nodes(
            np.repeat(np.arange(bundles), count),
            np.tile(row, bundles),
            np.tile(column, bundles),
            np.full(bundles * count, np.iinfo(np.uint16).max, dtype=np.uint16),
        )

    def children(self, nodes, level, above):
        """
        Return the children, of ``level``, of nodes one level up.

        Only those whose bound is more than ``above``. Bounds of level 0 are the scores themselves,
        before the penalty.
        """
        bundle, row, column = nodes.bundle, nodes.row, nodes.column
        split = bundle_size(level + 1) // bundle_size(level)
        if split > 1:
            bundle = (bundle[:, None] * split + np.arange(split)).ravel()
            row, column = np.repeat(row, split), np.repeat(column, split)
        bounds = self._bounds(level, bundle, row * 2 ** (level + 1), column * 2 ** (level + 1))
        self.effort += len(bundle)
        parent, child = np.nonzero(bounds > above)
        found = Nodes(
            bundle[parent],
            2 * row[parent] + (child >> 1),
            2 * column[parent] + (child & 1),
            bounds[parent, child],
        )
        mask = self.pyramid.standable[level]
        rows, columns = mask.shape
        inside = (found.row < rows) & (found.column < columns)
        if not inside.all():
            found = found.pick(inside)
        return found.pick(mask[found.row, found.column])

    def _bounds(self, level, bundle, row, column):
        """
        Return (nodes.

        4) uint16 bounds of the children of nodes whose lower corners are given in cells.
        """
        unique, which = np.unique(bundle, return_inverse=True)
        offsets = self.offsets(level, unique)
        corner = row * self.pyramid.stride + column
        words = self.pyramid.words[level]
        sums = np.empty(len(bundle), dtype=np.uint64)
        size = max(1, CHUNK // offsets.shape[1])
        for first in range(0, len(bundle), size):
            part = slice(first, first + size)
            index = offsets[which[part]]
            index += corner[part, None]
            words.take(index, mode='wrap').sum(axis=1, out=sums[part])
        return sums.view(np.uint16).reshape(-1, 4)

    def penalties(self, leaves):
        """Return (leaves,) what is to be taken off their bounds."""
        if self.penalty is None:
            return np.zeros(len(leaves))
        self.effort += PENALTY_COST * len(leaves)
        return self.penalty(leaves.bundle * self.step, leaves.row, leaves.column)

    def dive(self, nodes, level, width):
        """
        Return leaves below the most promising nodes.

        No proof, but a good score to begin with.
        """
        nodes = nodes.best(width)
        while level > 0:
            level -= 1
            nodes = self.children(nodes, level, -1).best(width)
        return nodes

    def near(self, nodes, level, leaf, apart):
        """
        Return the mask of nodes of a level that hold no pose distinct from a :class:`Leaf`.

        ``apart`` is ``(metres, radians)``: distinct is what is farther off in position or in
        heading.
        """
        size, cells = bundle_size(level), 2**level
        turn = (
            nodes.bundle * size + (size - 1) / 2 - leaf.heading + self.headings / 2
        ) % self.headings
        turn = np.abs(turn - self.headings / 2) + (size - 1) / 2
        row = np.abs(nodes.row * cells + (cells - 1) / 2 - leaf.row) + (cells - 1) / 2
        column = np.abs(nodes.column * cells + (cells - 1) / 2 - leaf.column) + (cells - 1) / 2
        return (np.hypot(row, column) * self.resolution <= apart[0]) & (
            turn * self.step <= apart[1]
        )


@dataclass(frozen=True)
class Leaf:
    """
    A pose of the lattice: heading, row and column, ``angle`` in radians.

    ``score`` with the penalty off.
    """

    heading: int
    row: int
    column: int
    angle: float
    score: float


@dataclass(frozen=True)
class Search:
    """
    What a search found: ``leaves``, distinct from each other, best first.

    Every other distinct pose scores at most ``complete_above``, or less than the last leaf when
    there are as many leaves as were asked for. Infinite when the search gave up.
    """

    leaves: list
    complete_above: float


class TooWide(Exception):
    """So many poses are about as good that looking at all of them costs more than is allowed."""


def search(
    lattice, count, apart, least=lambda best: 0.0, width=48, most_effort=math.inf, outside=None
):
    """
    Find the best ``count`` poses that are distinct from each other.

    The first is the best pose of all; the next the best of those that differ from it by more than
    ``apart`` (metres, radians) in position or heading, and so on. Only poses are looked for that
    score more than ``least(best)``, which must not fall as the best score rises: above that, the
    result is what an exhaustive search would give. ``most_effort`` is the number of nodes after
    which the search gives up. With ``outside``, a :class:`Leaf`, only poses are looked for that
    are distinct from it. ``width`` is the least number of nodes that a dive for a good score to
    begin with takes along; an infinite one dives never. Returns a :class:`Search`; its leaves may
    be fewer than ``count``.
    """
    descent = Descent(lattice, count, apart, least, width, most_effort, outside)
    while True:
        try:
            found, threshold = descent.down()
        except TooWide:
            return Search(descent.known, math.inf)
        wanted = least(found[0].score if found else 0.0)
        # A pose that was thought to be distinct, and kept others out, may turn out to be none.
        if len(found) >= count or threshold <= wanted:
            return Search(found, wanted)
        descent.known = found


@dataclass
class Descent:
    """One search: what is asked for, and the best distinct leaves known so far."""

    lattice: Lattice
    count: int
    apart: tuple
    least: object
    width: int
    most_effort: float
    outside: object = None

    def __post_init__(self):
        """Know nothing yet."""
        self.known = []

    def threshold(self):
        """Return the bound that a node must be above to be worth looking at."""
        least = self.least(self.known[0].score if self.known else 0.0)
        return max([least] + [leaf.score for leaf in self.known[self.count - 1:self.count]])

    def down(self):
        """
        Go down all levels once.

        Return the distinct leaves and the score above which they are complete.
        """
        lattice, level = self.lattice, self.lattice.pyramid.levels
        nodes, top = lattice.roots(), level
        while level > 0:
            cost = len(nodes) * bundle_size(level) // bundle_size(level - 1)
            if level < top and cost > WORTH_A_DIVE * self.width * level:
                self._improve(nodes, level, max(self.width, cost // (DIVE_SHARE * level)))
                nodes = nodes.pick(nodes.bound > self.threshold())
                cost = len(nodes) * bundle_size(level) // bundle_size(level - 1)
            if lattice.effort + cost > self.most_effort:
                raise TooWide
            level -= 1
            nodes = lattice.children(nodes, level, self.threshold() if level < top - 1 else -1)
            nodes = self._outside(nodes, level)
        above = self.threshold()
        return self._select(nodes, above, self.most_effort), above

    def _outside(self, nodes, level):
        """Return the nodes of a level that hold poses which are asked for."""
        if self.outside is None:
            return nodes
        return nodes.pick(~self.lattice.near(nodes, level, self.outside, self.apart))

    def _improve(self, nodes, level, width):
        """Dive for better known poses, each time away from those that are known."""
        for _ in range(self.count):
            away = np.ones(len(nodes), dtype=bool)
            for leaf in self.known[:self.count - 1]:
                away &= ~self.lattice.near(
                    nodes, level, leaf, (4 * self.apart[0], 4 * self.apart[1])
                )
            if away.any():
                leaves = self.lattice.dive(nodes.pick(away), level, width)
                self.known = self._select(leaves, -1.0, math.inf)

    def _select(self, leaves, above, most_effort):
        """
        Return the best distinct :class:`Leaf` of some leaves and of those known, best first.

        Penalties are computed only for leaves that could still win without one.
        """
        leaves = self._outside(leaves, 0)
        leaves = leaves.pick(np.argsort(-leaves.bound.astype(np.int32), kind='stable'))
        scores = np.full(len(leaves), np.nan)
        open_ = np.ones(len(leaves), dtype=bool)
        chosen, known = [], list(self.known)
        while len(chosen) < self.count:
            best = max(known, key=lambda leaf: leaf.score, default=None)
            best = _best_leaf(self.lattice, leaves, scores, open_, best, above, most_effort)
            if best is None:
                break
            chosen.append(best)
            open_ &= ~self.lattice.near(leaves, 0, best, self.apart)
            known = [leaf for leaf in known if not _same(self.lattice, leaf, best, self.apart)]
        return chosen


def _same(lattice, leaf, other, apart):
    one = Nodes(*(np.array([v]) for v in (leaf.heading, leaf.row, leaf.column, 0)))
    return bool(lattice.near(one, 0, other, apart)[0])


def _best_leaf(lattice, leaves, scores, open_, best, above, most_effort):
    """
    Return the better of ``best`` and the best open leaf.

    Fill in ``scores`` as far as they are needed.
    """
    least = max(above, best.score if best else -1.0)
    numbers = np.flatnonzero(open_)
    first, size = 0, 8
    while first < len(numbers):
        part = numbers[first:first + size]
        first, size = first + size, min(2 * size, 128)
        part = part[leaves.bound[part] > least]
        if len(part) == 0:
            break
        new = part[np.isnan(scores[part])]
        if len(new):
            if lattice.effort > most_effort:
                raise TooWide
            scores[new] = leaves.bound[new] - lattice.penalties(leaves.pick(new))
        top = part[np.argmax(scores[part])]
        if scores[top] > least:
            least = scores[top]
            heading = int(leaves.bundle[top])
            best = Leaf(
                heading,
                int(leaves.row[top]),
                int(leaves.column[top]),
                heading * lattice.step,
                float(least),
            )
    return best
