"""
The search finds what looking at every pose finds.

On random maps, with random scans, penalties included.
"""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.bound_pyramid import bundle_size, Pyramid
from oomwoo_localization.branch_and_bound import search, Wanted
from oomwoo_localization.pose_lattice import Lattice
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


def lead(keep, raised):
    """
    Return a threshold: a share of the best score known so far.

    ``raised``, it is the runner-up's score when that is more.
    """

    def threshold(leaves):
        rivals = [leaf.score for leaf in leaves[1:2] if raised]
        return max([keep * leaf.score for leaf in leaves[:1]] + rivals + [0.0])

    return threshold


def best_left(everything, open_):
    """Return the best score of the poses that are open, -inf without any."""
    return everything[open_].max(initial=-np.inf)


@settings(max_examples=80)
@given(
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.6, 0.9]),
    st.booleans(),
    st.sampled_from([1, 3, 8, np.inf]),
)
def test_as_good_as_exhaustive(seed, levels, keep, raised, width):
    """Winner, runner-up and third score exactly what the best of all poses score."""
    lattice, scores, standable = random_case(seed, levels)
    everything = every_pose(lattice, scores, standable)
    found = search(lattice, Wanted(lead(keep, raised), APART, 2, width))
    assert found.above <= max(0.0, everything.max())
    leaves = found.distinct(3, APART)
    open_ = np.ones(everything.shape, dtype=bool)
    for leaf in leaves:
        assert leaf.score == pytest.approx(everything[leaf.heading, leaf.row, leaf.column])
        assert best_left(everything, open_) == pytest.approx(leaf.score)
        open_ &= distinct(lattice, everything.shape, leaf)
    if len(leaves) < 3:
        assert best_left(everything, open_) <= found.above + 1e-9
    known = found.distinct(1, APART, above=-1.0)
    assert not known and everything.max() <= 0 or known[0].score == everything.max()


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 4), st.booleans())
def test_twins_come_from_the_same_leaves(seed, levels, penalised):
    """Apart from the best pose, what is best is told, with penalties and without."""
    lattice, scores, standable = random_case(seed, levels)
    everything = every_pose(lattice, scores, standable)
    found = search(lattice, Wanted(lead(0.5, False), APART))
    best = found.distinct(1, APART)
    if not best:
        return
    if not penalised:
        lattice.penalty = lambda heading, row, column: np.zeros(len(row))
        everything = every_pose(lattice, scores, standable)
    above = max(found.above, 0.7 * best[0].score)
    open_ = distinct(lattice, everything.shape, best[0])
    twins = found.distinct(3, APART, above, outside=best[0], penalised=penalised)
    for twin in twins:
        assert best_left(everything, open_) == pytest.approx(twin.score)
        open_ &= distinct(lattice, everything.shape, twin)
    if len(twins) < 3:
        assert best_left(everything, open_) <= above + 1e-9


def test_a_search_that_takes_too_long_gives_up():
    """It says so, and never that there is no other pose."""
    lattice, _, _ = random_case(3, 3)
    found = search(lattice, Wanted(lead(0.5, False), APART, most_effort=10))
    assert math.isinf(found.above) and found.distinct(3, APART) == []


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
