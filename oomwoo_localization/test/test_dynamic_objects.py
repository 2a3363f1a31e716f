"""Blobs of what is not on the map, and the scan without it."""

import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.dynamic_objects import blobs, clusters, DynamicObjects, DynamicSettings
from oomwoo_localization.scan_filter import filtered_ranges, FilterSettings
import pytest


def disk(x, y, radius=0.1, count=9):
    """Return points of a thing's near side."""
    angles = np.linspace(0.0, math.pi, count)
    return np.array([x, y]) + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_neighbours_belong_together_also_where_the_scan_begins():
    points = np.array([[1.0, 0.0], [1.0, 0.1], [3.0, 0.2], [3.0, 0.3], [1.0, -0.1]])
    assert clusters(points, 0.15).tolist() == [0, 0, 1, 1, 0]
    assert clusters(np.zeros((0, 2)), 0.15).tolist() == []


@given(st.integers(1, 30), st.floats(0.05, 0.3))
def test_every_point_is_in_one_cluster_and_gaps_part_them(count, gap):
    points = np.random.default_rng(count).uniform(-1, 1, (count, 2))
    numbers = clusters(points, gap)
    assert len(numbers) == count
    for i in range(count - 1):
        near = math.dist(points[i], points[i + 1]) <= gap
        assert not near or numbers[i] == numbers[i + 1]


def test_a_blob_has_the_middle_and_the_size_of_its_returns():
    (found,) = blobs(disk(2.0, 1.0, 0.2), DynamicSettings())
    np.testing.assert_allclose(found.center, (2.0, 1.1), atol=1e-9)
    assert found.radius == pytest.approx(math.hypot(0.2, 0.1), abs=0.01) and found.returns == 9
    assert blobs(disk(2.0, 1.0, count=2), DynamicSettings()) == []


def test_only_what_persists_is_believed_and_it_keeps_its_number_while_it_moves():
    objects = DynamicObjects(DynamicSettings(appear_s=0.5, vanish_s=0.3))
    assert objects.update(disk(1.0, 0.0), 0.0) == []
    assert objects.update(np.zeros((0, 2)), 0.1) == [], 'a single frame is no thing'
    seen = []
    for tick in range(2, 20):
        seen.append(
            objects.update(np.vstack([disk(1.0 + 0.02 * tick, 0.0), disk(-2.0, 1.0)]), tick / 10)
        )
    assert [len(tracks) for tracks in seen[:4]] == [0, 0, 0, 1]
    assert len(seen[-1]) == 2
    assert len({track.number for track in seen[-1]}) == 2
    assert sorted(t.number for t in seen[-1]) == sorted(t.number for t in seen[8])
    assert objects.update(np.zeros((0, 2)), 2.0) != []
    assert objects.update(np.zeros((0, 2)), 2.4) == []


def test_the_filter_takes_out_what_is_off_the_map_and_nothing_else():
    ranges = np.array([1.0, 2.0, np.inf, 0.0, 3.0, np.nan, 1.5], dtype=np.float32)
    static = np.array([1.0, 0.1, 0.0, 0.0, 0.6, 0.0, 1.0])
    found, taken = filtered_ranges(ranges, static, FilterSettings())
    assert taken == 1 and np.isinf(found[1])
    np.testing.assert_array_equal(np.delete(found, 1), np.delete(ranges, 1))


def test_a_lost_robot_keeps_its_scan_whole():
    ranges = np.ones(100, dtype=np.float32)
    found, taken = filtered_ranges(ranges, np.zeros(100), FilterSettings())
    assert taken == 0 and np.isfinite(found).all()
    with pytest.raises(ValueError, match='3 intensities for 100'):
        filtered_ranges(ranges, np.ones(3), FilterSettings())
    assert filtered_ranges([], [], FilterSettings())[1] == 0
