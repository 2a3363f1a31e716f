"""The seen floor: ways keep their margin, lead over seen floor only, or are not there."""
import math

from dock_world import DockWorld, ROBOT
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.dock_path import PathSettings, SeenFloor
from oomwoo_localization.scans import scan_points
import pytest

CELL_M = PathSettings.cell_m


def seen_from(world, poses, floor=None):
    """Return a floor seen three times from each pose; odometry is the truth."""
    floor = floor or SeenFloor(ROBOT.body.radius, PathSettings())
    for pose in poses:
        world.pose = np.array(pose, dtype=float)
        for _ in range(3):
            seen = world.observe()
            points, _ = scan_points(seen.scan, seen.base_from_scan)
            floor.see(world.pose, seen.base_from_scan[:2, 3], points[:, :2])
    return floor


def gaps_along(way, start, posts):
    """Return the least gap between the shell and the posts on the way."""
    corners = np.vstack([start, way.points])
    line = np.concatenate([
        a + np.linspace(0.0, 1.0, 40)[:, None] * (b - a)
        for a, b in zip(corners[:-1], corners[1:])])
    return min(np.hypot(*(line - (x, y)).T).min() - radius - ROBOT.body.radius
               for x, y, radius in posts)


def test_an_empty_room_is_crossed_straight():
    world = DockWorld((0.5, 0.0, 0.0), dock=None, noise_m=0.0)
    floor = seen_from(world, [(0.5, 0.0, 0.0)])
    way = floor.plan((0.5, 0.0), (2.4, 1.2))
    assert way.points == pytest.approx(np.array([[2.4, 1.2]]))
    assert way.length_m == pytest.approx(math.hypot(1.9, 1.2))


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.floats(0.9, 2.0), st.floats(-1.2, 1.2)), min_size=1, max_size=5),
       st.integers(0, 9))
def test_no_way_leads_through_a_post(places, seed):
    posts = [(x, y, 0.04) for x, y in places]
    world = DockWorld((0.3, 0.0, 0.0), dock=None, posts=posts, seed=seed, noise_m=0.005)
    floor = seen_from(world, [(0.3, 0.0, 0.0)])
    way = floor.plan((0.3, 0.0), (2.5, 0.0))
    if way is None:
        return
    assert gaps_along(way, (0.3, 0.0), posts) > way.margin_m - 1.5 * CELL_M - 0.005
    assert way.points[-1] == pytest.approx((2.5, 0.0))


def test_a_gap_that_is_too_narrow_is_no_way():
    fence = [(1.2, y, 0.03) for y in np.arange(-2.0, 2.01, 0.38)]
    floor = seen_from(
        DockWorld((0.3, 0.0, 0.0), dock=None, posts=fence), [(0.3, 0.0, 0.0)])
    assert floor.plan((0.3, 0.0), (2.4, 0.0)) is None
    del fence[5]
    floor = seen_from(
        DockWorld((0.3, 0.0, 0.0), dock=None, posts=fence), [(0.3, 0.0, 0.0)])
    way = floor.plan((0.3, 0.0), (2.4, 0.0))
    assert gaps_along(way, (0.3, 0.0), fence) > 0.03


def test_no_way_leads_over_floor_that_was_not_seen_unless_that_is_asked_for():
    screen = [(1.0, y, 0.06) for y in np.arange(-0.6, 0.61, 0.1)]
    world = DockWorld((0.3, 0.0, 0.0), dock=None, posts=screen)
    floor = seen_from(world, [(0.3, 0.0, 0.0)])
    assert floor.plan((0.3, 0.0), (1.6, 0.0)) is None
    assert floor.plan((0.3, 0.0), (1.6, 0.0), seen_only=False) is not None


def test_what_the_bumper_felt_is_in_the_way_though_no_scan_shows_it():
    world = DockWorld((0.5, 0.0, 0.0), dock=None)
    floor = seen_from(world, [(0.5, 0.0, 0.0)])
    floor.bumped((1.2, 0.0))
    way = floor.plan((0.5, 0.0), (2.0, 0.0))
    assert gaps_along(way, (0.5, 0.0), [(1.2, 0.0, 0.0)]) > 0.0
    assert len(way.points) > 1


def test_a_robot_that_stands_close_to_a_post_may_leave_it():
    post = (0.5 + ROBOT.body.radius + 0.03 + 0.002, 0.0, 0.03)
    world = DockWorld((0.5, 0.0, 0.0), dock=None, posts=[post], noise_m=0.0)
    floor = seen_from(world, [(0.5, 0.0, 0.0)])
    assert floor.plan((0.5, 0.0), (1.8, 0.9)) is not None


def test_what_went_away_is_no_longer_in_the_way():
    cage = [(1.0, y, 0.06) for y in np.arange(-2.0, 2.01, 0.1)]
    world = DockWorld((0.5, 0.0, 0.0), dock=None, posts=cage)
    floor = seen_from(world, [(0.5, 0.0, 0.0)])
    assert floor.plan((0.5, 0.0), (1.8, 0.0)) is None
    world.posts = []
    seen_from(world, [(0.5, 0.0, 0.0)] * 4, floor)
    assert floor.plan((0.5, 0.0), (1.8, 0.0)) is not None
