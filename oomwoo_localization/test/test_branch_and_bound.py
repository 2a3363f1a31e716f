"""
The search finds what looking at every pose finds.

On random maps, with random scans, penalties included.
"""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.branch_and_bound import bundle_size, Lattice, Pyramid, search
import pytest

RESOLUTION = 0.1
APART = (0.25, 0.3)


def random_case(seed, levels):
    """Return a lattice over a random map with a scan that partly fits somewhere."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(5, 20, 2)
    scores = np.where(
        rng.random((rows, columns)) < rng.uniform(0.05, 0.4),
        rng.integers(1, 101, (rows, columns)),
        0,
    ).astype(np.uint8)
    standable = rng.random((rows, columns)) < rng.uniform(0.2, 1.0)
    standable[rng.integers(rows), rng.integers(columns)] = True
    beams = rng.integers(3, 25)
    length = rng.uniform(0.05, rng.uniform(0.3, 1.2), beams)
    bearing = rng.uniform(-math.pi, math.pi, beams)
    points = np.stack([length * np.cos(bearing), length * np.sin(bearing)], axis=1)
    weight = rng.uniform(0.0, 300.0) * (rng.random() < 0.7)

    def penalty(heading, row, column):
        return weight * np.abs(np.sin(3 * heading + row * 1.7 + column * 0.9))

    reach = int(length.max() / RESOLUTION) + 1 + int(rng.integers(0, 4))
    lattice = Lattice(Pyramid(scores, standable, reach, levels), points, RESOLUTION, penalty)
    return lattice, scores, standable


def every_pose(lattice, scores, standable):
    """
    Return (headings, rows, columns) of all scores, the slow and plain way.

    -inf where none may stand.
    """
    rows, columns = scores.shape
    result = np.full((lattice.headings, rows, columns), -np.inf)
    for heading in range(lattice.headings):
        c, s = math.cos(heading * lattice.step), math.sin(heading * lattice.step)
        x, y = lattice.points.T
        down, right = np.rint(s * x + c * y).astype(int), np.rint(c * x - s * y).astype(int)
        row, column = np.nonzero(standable)
        r, k = row[:, None] + down, column[:, None] + right
        inside = (r >= 0) & (r < rows) & (k >= 0) & (k < columns)
        total = np.where(inside, scores[r % rows, k % columns], 0).sum(axis=1, dtype=int)
        taken = lattice.penalty(np.full(len(row), heading * lattice.step), row, column)
        result[heading, row, column] = total - taken
    return result


def distinct(lattice, shape, leaf):
    """Return the mask of poses that are distinct from a leaf."""
    h, r, c = np.indices(shape)
    turn = np.abs(
        (h - leaf.heading + lattice.headings / 2) % lattice.headings - lattice.headings / 2
    )
    far = np.hypot(r - leaf.row, c - leaf.column) * RESOLUTION
    return (far > APART[0]) | (turn * lattice.step > APART[1])


@settings(max_examples=60)
@given(
    st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([0.0, 0.6, 0.9]), st.integers(1, 8)
)
def test_as_good_as_exhaustive(seed, levels, keep, width):
    """Winner, runner-up and third score exactly what the best of all poses score."""
    lattice, scores, standable = random_case(seed, levels)
    everything = every_pose(lattice, scores, standable)
    found = search(lattice, 3, APART, least=lambda best: keep * best, width=width)
    open_ = np.ones(everything.shape, dtype=bool)
    for leaf in found.leaves:
        assert leaf.score == pytest.approx(everything[leaf.heading, leaf.row, leaf.column])
        best = everything[open_].max()
        assert best == pytest.approx(leaf.score) or max(best, leaf.score) <= found.complete_above
        open_ &= distinct(lattice, everything.shape, leaf)
    if len(found.leaves) < 3 and open_.any():
        assert everything[open_].max() <= found.complete_above + 1e-9
    assert found.leaves[0].score == everything.max() or everything.max() <= 0


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_best_outside_a_neighbourhood(seed, levels):
    """What is found apart from a pose are the best of all that are, with dives and without."""
    lattice, scores, standable = random_case(seed, levels)
    everything = every_pose(lattice, scores, standable)
    (centre,) = search(lattice, 1, APART).leaves or [None]
    if centre is None:
        return
    open_ = distinct(lattice, everything.shape, centre)
    for width in (48, np.inf):
        found = search(lattice, 3, APART, width=width, outside=centre).leaves
        left = open_.copy()
        for number in range(3):
            best = everything[left].max(initial=0.0)
            if number >= len(found):
                assert best <= 0.0
                break
            assert found[number].score == pytest.approx(best)
            left &= distinct(lattice, everything.shape, found[number])


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_bounds_hold(seed, levels):
    """No pose scores more than any node that stands for it: else the search could lose it."""
    lattice, scores, standable = random_case(seed, levels)
    lattice.penalty = lambda heading, row, column: np.zeros(len(row))
    everything = every_pose(lattice, scores, standable)
    nodes = lattice.roots()
    for level in range(levels - 1, -1, -1):
        nodes = lattice.children(nodes, level, -1)
        size, cells = bundle_size(level), 2**level
        covered = np.full(everything.shape, -np.inf)
        for bundle, row, column, bound in zip(nodes.bundle, nodes.row, nodes.column, nodes.bound):
            part = (
                slice(bundle * size, (bundle + 1) * size),
                slice(row * cells, (row + 1) * cells),
                slice(column * cells, (column + 1) * cells),
            )
            assert everything[part].max(initial=-np.inf) <= bound
            covered[part] = bound
        assert (everything <= covered).all()
    assert (covered == everything)[np.isfinite(everything)].all()
