"""
Bounds of scan matches for branch and bound: maxima of a likelihood field over ever larger windows.

After Olson (2009) and Hess, Kohler, Rapp and Andor (2016).
"""

import math

import numpy as np
from scipy import ndimage

CELLS_A_STEP = 2.0  # that the farthest end moves from one heading to the next


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
