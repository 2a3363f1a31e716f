"""Predicted ranges, and what of them tells one pose from another."""

import math

import numpy as np
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.views import coarser, predicted_ranges, telling
import pytest
from reloc_world import room, scan_ranges
from vantage_world import twin_map


def test_predicted_ranges_are_those_of_small_steps():
    grid = room((1.0, 0.5, 0.6, 0.8), origin=(-3.5, -3.0, 0.3))
    bearings = np.linspace(-math.pi, math.pi, 60, endpoint=False)
    poses = [compose(grid.origin, (3.0, 2.5, 0.4)), compose(grid.origin, (5.5, 1.0, -2.0))]
    found = predicted_ranges(grid, poses, bearings)
    for pose, ranges in zip(poses, found):
        wanted = scan_ranges(grid, pose, bearings, 12.0)
        assert np.percentile(np.abs(ranges - wanted), 90) < 2 * grid.resolution


def test_only_what_is_seen_from_there_tells_candidates_apart():
    grid = twin_map()
    here, twin = np.array([0.3, 0.5, 0.0]), np.array([-0.3, -0.5, math.pi])
    behind = compose(inverse(here), (-2.2, 0.4, 0.0))
    shares = telling(grid, [here, twin], [np.zeros(3), behind], 0.15)
    assert shares[:, :, 0].max() < 0.02, 'here they look alike'
    assert shares[0, 1, 1] > 0.1, 'the crate cannot be in the other bay'
    assert shares[1, 0, 1] < 0.05, 'but where none is seen, it may be gone'
    assert telling(grid, [here], [behind], 0.15).max() == 0.0


def test_the_coarse_map_keeps_every_wall():
    grid = room((1.0, 0.5, 0.05, 0.8))
    coarse = coarser(grid, 0.1)
    assert coarse.resolution == pytest.approx(0.1)
    walls = grid.cells_to_points(np.argwhere(grid.obstacles))
    assert coarse.lookup(coarse.obstacles.astype(float), walls).all()
    free = coarse.cells_to_points(np.argwhere(coarse.free))
    assert grid.lookup(grid.free.astype(float), free).all()
    cells = np.full((5, 7), 0, dtype=np.int8)
    assert coarser(OccupancyGrid(cells, 0.1), 0.1).shape == (5, 7)
