"""Ways of a round body between posts, against geometry that is known and a flooded grid."""
import math

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.free_ways import clearance_along, FreeWays
import pytest
from scipy.ndimage import label
from scipy.spatial import cKDTree

RADIUS = 0.1745
LIKED = RADIUS + 0.06


def ring(gap_m, radius=0.6, spacing=0.1):
    """Return posts on a circle about the origin with one gap, centred on +x, between two posts."""
    half = math.asin(gap_m / 2 / radius)
    count = int((math.tau - 2 * half) * radius / spacing) + 1
    angles = np.linspace(half, math.tau - half, count)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


@pytest.mark.parametrize('spare_m', [-0.02, -0.004, 0.004, 0.02])
@pytest.mark.parametrize('place', [(0.0, 0.0), (-0.3, 0.2), (0.38, 0.05)])
def test_a_ring_is_left_by_its_gap_when_the_body_fits_and_not_when_it_does_not(spare_m, place):
    ways = FreeWays(ring(2.0 * (RADIUS + spare_m)), place)
    route = ways.route(RADIUS, LIKED, np.zeros(2), 1.0)
    if spare_m < 0.0:
        assert route is None or not route.complete
        return
    assert route.complete and math.hypot(*route.corners[-1]) >= 1.0
    crossing = route.corners[np.hypot(*route.corners.T) > 0.6][0]
    assert abs(math.atan2(crossing[1], crossing[0])) < 0.5
    assert route.clearance_m == pytest.approx(RADIUS + spare_m, abs=1e-3)
    assert (route.corners[0] == place).all()


def test_a_body_that_touches_gets_away():
    """At a post, and wedged between two that are nearer than it is wide."""
    ways = FreeWays(np.array([[RADIUS - 0.003, 0.0]]), (0.0, 0.0))
    route = ways.route(RADIUS, LIKED, np.zeros(2), 0.5)
    assert route.complete
    ways = FreeWays(np.array([[0.0, 0.17], [0.0, -0.17]]), (0.0, 0.0))
    route = ways.route(RADIUS, LIKED, np.zeros(2), 0.5)
    assert route.complete and abs(route.corners[-1][0]) > 0.3


def test_nothing_in_the_way_is_left_straight():
    ways = FreeWays(np.zeros((0, 2)), (1.0, 2.0))
    route = ways.route(RADIUS, LIKED, np.array([1.0, 2.0]), 0.55)
    assert route.complete
    assert math.dist(route.corners[-1], (1.0, 2.0)) == pytest.approx(0.6)


def two_gaps():
    """Return a ring with a gap of 40 cm at +x and one of 45 cm at -x."""
    posts = ring(0.40)
    half = math.asin(0.225 / 0.6)
    bearing = np.abs(np.arctan2(posts[:, 1], -posts[:, 0]))
    edges = 0.6 * np.array([[-math.cos(half), sign * math.sin(half)] for sign in (1, -1)])
    return np.concatenate([posts[bearing > half], edges])


def test_a_way_that_failed_is_worse_and_then_closed_and_what_is_worth_less_comes_last():
    ways = FreeWays(two_gaps(), (0.1, 0.0))

    def side(**kwargs):
        route = ways.route(RADIUS, LIKED, np.zeros(2), 0.9, **kwargs)
        if route is None or not route.complete:
            return None
        return np.sign(route.corners[np.hypot(*route.corners.T) > 0.45][0, 0])

    assert side(worse=lambda ends: 9.0 * (ends[:, 0] < 0.0)) == 1
    assert side(worse=lambda ends: 9.0 * (ends[:, 0] > 0.0)) == -1
    right, left = (0.56, 0.0), (-0.55, 0.0)
    assert side(failed=[right] * 2, worse=lambda ends: 9.0 * (ends[:, 0] < 0.0)) == -1
    assert side(failed=[left] * 2, worse=lambda ends: 9.0 * (ends[:, 0] > 0.0)) == 1
    assert side(failed=[left] * 2 + [right] * 2) is None


@given(st.integers(0, 10 ** 6), st.integers(10, 40))
@hypothesis_settings(max_examples=25, deadline=None)
def test_a_way_is_found_where_a_flood_gets_out_and_it_is_free(seed, count):
    """Random posts: flooded with a little more and a little less than the body."""
    rng = np.random.default_rng(seed)
    posts = rng.uniform(-1.0, 1.0, (count, 2))
    posts = posts[np.hypot(*posts.T) > RADIUS + 0.02]
    route = FreeWays(posts, (0.0, 0.0)).route(RADIUS, LIKED, np.zeros(2), 1.3)
    found = route is not None and route.complete
    if flooded(posts, RADIUS + 0.012):
        assert found
    if not flooded(posts, RADIUS - 0.012):
        assert not found
    if found:
        for a, b in zip(route.corners[:-1], route.corners[1:]):
            assert clearance_along(a, b[None], posts)[0] >= RADIUS - 0.003


def flooded(posts, radius, cell=0.01):
    """Tell whether a body gets from the origin 1.3 m out, on a grid."""
    axis = np.arange(-1.4, 1.4 + cell, cell)
    x, y = np.meshgrid(axis, axis, indexing='ij')
    free = cKDTree(posts).query(np.stack([x, y], axis=-1))[0] > radius
    areas, _ = label(free, structure=np.ones((3, 3)))
    middle = len(axis) // 2
    here = areas[middle, middle]
    return here != 0 and bool((areas[np.hypot(x, y) > 1.32] == here).any())
