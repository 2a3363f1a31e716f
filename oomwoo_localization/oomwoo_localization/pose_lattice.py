"""
The poses that a scan may have on a lattice over the whole map, and bounds of their scores.

A pose is ``(heading, row, column)``: the scanner stands in the middle of a search cell, and each
beam's end falls into the cell at a whole number of rows and columns from it. Its score is the sum
of the likelihood field at all ends, less a penalty. A node of level ``h`` stands for ``2**h`` by
``2**h`` cells and a bundle of neighbouring headings; its bound is the sum of the field's maxima
over all cells that any of its poses could reach.
"""

from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.bound_pyramid import bundle_size, CELLS_A_STEP

CHUNK = 60_000  # lookups at once: indices and values then stay in the processor's cache
PENALTY_COST = 25  # of one penalty, in nodes


@dataclass
class Nodes:
    """
    Nodes of one level, each an array (nodes,): bundle of headings, row and column, and bound.

    Rows and columns are in units of the level.
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
        Return the uint16 bounds (nodes, 4) of the children of nodes.

        ``row`` and ``column`` (nodes,) of their lower corners are in cells.
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
