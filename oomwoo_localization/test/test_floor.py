"""What a round body reaches, what it covers, and what it has passed over."""
import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.floor import between, disc_cells, FloorCoverage, reachable_floor
from oomwoo_localization.frames import transform_points
from oomwoo_localization.grids import GridError, OccupancyGrid
import pytest

RESOLUTION = 0.02
RADIUS_M = 0.17


def room(origin=(0.0, 0.0, 0.0), wall_at=None):
    """Return a map of 4 x 3 m of floor with walls around, and one across it at x if wanted."""
    cells = np.zeros((152, 202), dtype=np.int8)
    cells[[0, -1]] = cells[:, [0, -1]] = 100
    if wall_at is not None:
        cells[:, round(wall_at / RESOLUTION)] = 100
    return OccupancyGrid(cells, RESOLUTION, origin)


def rounded_m2(width_m, height_m, radius_m):
    """Return the area that a disc sweeps in a rectangle: all but the corners' tips."""
    return width_m * height_m - (4.0 - math.pi) * radius_m ** 2


def test_the_floor_is_what_a_disc_sweeps_in_the_room():
    coverage = FloorCoverage(room(), (2.0, 1.5, 0.0), RADIUS_M)
    assert coverage.floor_m2 == pytest.approx(rounded_m2(4.0, 3.0, RADIUS_M), rel=0.015)
    assert coverage.ratio == 0.0


def test_what_is_behind_a_wall_is_no_floor_to_cover():
    coverage = FloorCoverage(room(wall_at=1.0), (2.0, 1.5, 0.0), RADIUS_M)
    assert coverage.floor_m2 == pytest.approx(rounded_m2(3.0, 3.0, RADIUS_M), rel=0.02)


def test_a_straight_drive_covers_a_stadium():
    coverage = FloorCoverage(room(), (1.0, 1.5, 0.0), RADIUS_M)
    for x in np.arange(1.0, 2.001, 0.05):
        coverage.observe((x, 1.5, 0.0))
    assert coverage.covered_m2 == pytest.approx(
        2.0 * RADIUS_M * 1.0 + math.pi * RADIUS_M ** 2, rel=0.03)
    assert coverage.driven_m == pytest.approx(1.0)


def test_a_jump_covers_both_ends_and_nothing_between():
    coverage = FloorCoverage(room(), (1.0, 1.5, 0.0), RADIUS_M)
    coverage.observe((1.0, 1.5, 0.0))
    coverage.observe((3.0, 1.5, 0.0))
    assert coverage.covered_m2 == pytest.approx(2.0 * math.pi * RADIUS_M ** 2, rel=0.03)
    assert coverage.driven_m == 0.0


def test_what_does_not_count_covers_nothing_then_or_later():
    coverage = FloorCoverage(room(), (1.0, 1.5, 0.0), RADIUS_M)
    for x in np.arange(1.0, 2.001, 0.05):
        coverage.observe((x, 1.5, 0.0), counts=False)
    assert coverage.covered_m2 == 0.0
    coverage.observe((2.05, 1.5, 0.0))
    assert coverage.covered_m2 == pytest.approx(math.pi * RADIUS_M ** 2, rel=0.03)
    assert coverage.driven_m == 0.0


def test_a_body_that_stands_covers_where_it_stands_as_soon_as_it_counts():
    coverage = FloorCoverage(room(), (1.0, 1.5, 0.0), RADIUS_M)
    assert coverage.observe((1.0, 1.5, 0.0), counts=False) == 0.0
    new_m2 = coverage.observe((1.0, 1.5, 0.0))
    assert new_m2 == pytest.approx(math.pi * RADIUS_M ** 2, rel=0.03)
    assert coverage.observe((1.0, 1.5, 0.0)) == 0.0 and coverage.covered_m2 == new_m2


@settings(max_examples=20)
@given(
    st.floats(-5.0, 5.0), st.floats(-5.0, 5.0), st.floats(-math.pi, math.pi),
    st.floats(0.3, 3.7), st.floats(0.3, 2.7))
def test_a_turned_and_moved_origin_changes_nothing(x, y, yaw, at_x, at_y):
    origin = (x, y, yaw)
    ends = np.array([[at_x, at_y], [2.0, 1.5]])
    plain = FloorCoverage(room(), (*ends[0], 0.0), RADIUS_M)
    turned = FloorCoverage(
        room(origin), (*transform_points(origin, ends)[0], 0.0), RADIUS_M)
    for share in np.linspace(0.0, 1.0, 40):
        point = ends[:1] + share * (ends[1:] - ends[:1])
        plain.observe(point[0])
        turned.observe(transform_points(origin, point)[0])
    assert turned.floor_m2 == plain.floor_m2
    assert turned.covered_m2 == pytest.approx(plain.covered_m2, abs=0.02)


def test_outside_the_room_there_is_no_floor_to_start_from():
    with pytest.raises(GridError, match=r'no floor .* \(9.00, 9.00\)'):
        reachable_floor(room(), (9.0, 9.0, 0.0), RADIUS_M)


def test_between_ends_at_the_end_and_leaves_no_gap():
    points = between((0.0, 0.0), (1.0, 0.0), 0.3)
    assert points[-1] == (1.0, 0.0)
    assert np.diff([0.0, *(x for x, _ in points)]).max() <= 0.3


def test_a_disc_has_its_area():
    assert len(disc_cells(0.5, 0.02)) * 0.02 ** 2 == pytest.approx(math.pi * 0.25, rel=0.01)


def test_a_pose_that_is_not_finite_is_none_at_all():
    coverage = FloorCoverage(room(), (2.0, 1.5, 0.0), RADIUS_M)
    coverage.observe((1.0, 1.5))
    covered_m2 = coverage.covered_m2
    for bad in ((math.nan, 1.5), (1.0, math.inf)):
        assert coverage.observe(bad) == 0.0 and coverage.covered_m2 == covered_m2
        with pytest.raises(GridError, match='no floor'):
            FloorCoverage(room(), bad, RADIUS_M)
    coverage.observe((1.2, 1.5))
    assert coverage.driven_m == pytest.approx(0.2), 'it goes on from the last pose that was one'
