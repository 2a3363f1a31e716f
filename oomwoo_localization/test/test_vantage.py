"""Open ways, predicted ranges, and the way to where it can be told."""

import math

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization import vantage
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.vantage import (
    coarser,
    NothingToTell,
    open_ways,
    predicted_ranges,
    telling,
    VantageDrive,
    VantagePlanner,
    VantageSettings,
    Way,
)
import pytest
from reloc_world import room, scan_ranges

RADIUS = 0.175


def ring(radius, count=180):
    """Return points all around."""
    angles = np.linspace(-math.pi, math.pi, count, endpoint=False)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


@given(st.floats(0.4, 3.0), st.floats(-3.0, 3.0), st.floats(0.1, 0.3))
@hypothesis_settings(max_examples=60)
def test_the_disk_touches_where_it_says(distance, bearing, half_width):
    """Moved that far, the disk touches the nearest point and none is inside."""
    rng = np.random.default_rng(round(distance * 1e6))
    points = np.vstack([ring(3.5), rng.uniform(-3, 3, (20, 2))])
    points = np.vstack(
        [
            points[np.hypot(*points.T) > half_width + 0.01],
            distance * np.array([[math.cos(bearing), math.sin(bearing)]]),
        ]
    )
    free = open_ways(points, [bearing], half_width)[0]
    end = free * np.array([math.cos(bearing), math.sin(bearing)])
    gaps = np.hypot(*(points - end).T)
    assert gaps.min() == pytest.approx(half_width, abs=1e-6)
    assert free <= distance - half_width + 1e-9


def test_where_nothing_is_seen_is_not_open():
    points = ring(2.0)[90:]  # the right half is blind
    free = open_ways(points, [-math.pi / 2, math.pi / 2], RADIUS)
    assert free[0] == 0.0 and free[1] == pytest.approx(2.0 - RADIUS, abs=0.01)


def test_predicted_ranges_are_those_of_small_steps():
    grid = room((1.0, 0.5, 0.6, 0.8), origin=(-3.5, -3.0, 0.3))
    bearings = np.linspace(-math.pi, math.pi, 60, endpoint=False)
    poses = [compose(grid.origin, (3.0, 2.5, 0.4)), compose(grid.origin, (5.5, 1.0, -2.0))]
    found = predicted_ranges(grid, poses, bearings)
    for pose, ranges in zip(poses, found):
        wanted = scan_ranges(grid, pose, bearings, 12.0)
        assert np.percentile(np.abs(ranges - wanted), 90) < 2 * grid.resolution


def twin_map():
    """Return a map, the same after half a turn but for a crate in one corner behind a wall."""
    return room(
        (-1.5, 0.7, 0.1, 2.6),
        (1.5, -0.7, 0.1, 2.6),
        (-2.4, 1.3, 0.8, 1.0),
        width=6.0,
        depth=4.0,
        origin=(-3.0, -2.0, 0.0),
    )


def test_only_what_is_seen_from_there_tells_candidates_apart():
    grid = twin_map()
    here, twin = np.array([0.3, 0.5, 0.0]), np.array([-0.3, -0.5, math.pi])
    behind = compose(inverse(here), (-2.2, 0.4, 0.0))
    shares = telling(grid, [here, twin], [np.zeros(3), behind], 0.15)
    assert shares[:, :, 0].max() < 0.02, 'here they look alike'
    assert shares[0, 1, 1] > 0.1, 'the crate cannot be in the other bay'
    assert shares[1, 0, 1] < 0.05, 'but where none is seen, it may be gone'
    assert telling(grid, [here], [behind], 0.15).max() == 0.0


def test_the_way_leads_to_where_it_can_be_told():
    grid = twin_map()
    here, twin = np.array([0.3, -1.2, 0.0]), np.array([-0.3, 1.2, math.pi])
    planner = VantagePlanner(VantageSettings(), None, grid)
    odom, total = np.array([7.0, 7.0, 1.0]), 0.0
    correction = compose(here, inverse(odom))
    for _ in range(10):
        at = compose(correction, odom)
        other = compose(compose(twin, inverse([7.0, 7.0, 1.0])), odom)
        if telling(grid, [at, other], [np.zeros(3)], 0.15).max() > 0.15:
            break
        bearings = np.linspace(-math.pi, math.pi, 180, endpoint=False)
        ranges = scan_ranges(grid, at, bearings, 12.0)
        points = ranges[:, None] * np.stack([np.cos(bearings), np.sin(bearings)], axis=1)
        way = planner.plan(points, odom, [at, other])
        assert 0.25 <= way.length_m <= 1.0 and way.gain > 0.15
        total += way.length_m
        odom = np.array(
            [
                odom[0] + way.length_m * math.cos(way.heading),
                odom[1] + way.length_m * math.sin(way.heading),
                way.heading,
            ]
        )
        assert grid.lookup(grid.obstacle_distance, [compose(correction, odom)[:2]])[0] > RADIUS
    else:
        pytest.fail('never got there')
    assert total < 6.0


def test_where_a_candidate_should_have_shown_itself_it_has_nothing_more_to_show(monkeypatch):
    monkeypatch.setattr(vantage, 'SPENT_SHARE', 0.12)
    grid = twin_map()
    here, twin = np.array([-2.2, 0.4, 0.0]), np.array([2.2, -0.4, math.pi])
    planner = VantagePlanner(VantageSettings(), None, grid)
    spots = np.zeros((1, 2))
    assert planner._gains([here, twin], spots, np.zeros(3), ())[0] > 0.12
    assert planner._gains([here, twin], spots, np.zeros(3), [(0.0, 0.0)])[0] < 0.05


def test_a_map_that_is_the_same_after_half_a_turn_is_not_driven_in():
    grid = room(
        (1.0, 0.8, 0.4, 0.4),
        (-1.0, -0.8, 0.4, 0.4),
        width=5.0,
        depth=4.0,
        origin=(-2.5, -2.0, 0.0),
    )
    here = np.array([0.4, 0.2, 0.3])
    twin = compose((0.0, 0.0, math.pi), here)
    with pytest.raises(NothingToTell, match='look alike'):
        VantagePlanner(VantageSettings(), None, grid).plan(ring(1.5), np.zeros(3), [here, twin])


def test_without_a_map_it_goes_where_it_has_not_been():
    planner = VantagePlanner()
    first = planner.plan(ring(2.0), np.zeros(3), [], [])
    assert first.length_m == pytest.approx(1.0) and math.isnan(first.gain)
    back = planner.plan(ring(2.0), np.zeros(3), [], [(1.0, 0.0), (0.7, 0.7), (0.7, -0.7)])
    assert abs(back.heading) > math.radians(100.0)


def test_no_way_out_and_too_little_to_go_by():
    planner = VantagePlanner()
    assert planner.plan(ring(0.35), np.zeros(3)) is None
    assert planner.plan(ring(2.0, 20), np.zeros(3)) is None


def drive(way, points_at, odom=(0.0, 0.0, 0.0), bump_at=None, seconds=25.0):
    """Return (path of odometry, last step) of a drive with perfect wheels."""
    odom = np.array(odom)
    driver = VantageDrive(way, odom, 0.0, VantageSettings(), RADIUS)
    path, time_s = [odom], 0.0
    while time_s < seconds:
        bumped = bump_at is not None and math.hypot(*odom[:2]) >= bump_at and len(path) < 400
        step = driver.step(time_s, odom, points_at(odom), bumped)
        if step.done:
            return np.array(path), step
        odom = compose(odom, (step.linear * 0.05, 0.0, step.angular * 0.05))
        path.append(odom)
        time_s += 0.05
    pytest.fail('never ended')


def test_a_drive_turns_first_and_ends_where_it_should():
    path, step = drive(Way(2.0, 0.8), lambda odom: ring(3.0))
    assert step.reason == 'arrived' and (step.linear, step.angular) == (0.0, 0.0)
    turning = np.hypot(*path[:, :2].T) < 1e-9
    assert abs(path[turning][-1, 2] - 2.0) < math.radians(4.0)
    np.testing.assert_allclose(
        path[-1, :2], 0.8 * np.array([math.cos(2.0), math.sin(2.0)]), atol=0.03
    )


def test_a_drive_ends_before_what_was_not_there():
    def points(odom):
        wall = np.stack([np.full(60, 0.6), np.linspace(-1, 1, 60)], axis=1)
        return wall - odom[:2]

    path, step = drive(Way(0.0, 1.0), points)
    assert step.reason == 'blocked'
    assert 0.02 < 0.6 - RADIUS - path[-1, 0] < 0.1


def test_a_drive_without_scan_or_end_is_over():
    settings = VantageSettings()
    driver = VantageDrive(Way(0.0, 1.0), np.zeros(3), 0.0, settings, RADIUS)
    assert driver.step(0.1, np.zeros(3), None, False).reason == 'blind'
    late = driver.step(settings.drive_s + 0.1, np.zeros(3), ring(3.0), False)
    assert late.reason == 'late' and late.linear == 0.0


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
