"""The way to where it can be told: goals that are kept, reached, and left."""

import math

import numpy as np
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.vantage import (
    KnownCandidates,
    NothingToTell,
    VantagePlanner,
    VantageSettings,
)
from oomwoo_localization.views import telling
import pytest
from reloc_world import room, scan_ranges
from vantage_world import ring, twin_map

RADIUS = 0.175
TOLD = 0.12  # the relocalizer decides from here on
BEARINGS = np.linspace(-math.pi, math.pi, 180, endpoint=False)
HALF_TURN = np.array([0.0, 0.0, math.pi])


class Walk:
    """A robot with perfect wheels, of which two candidates are kept: where it is, and its twin."""

    def __init__(self, start):
        self.grid, self.odom = twin_map(), np.array([7.0, 7.0, 1.0])
        self.correction = compose(start, inverse(self.odom))
        self.visited, self.planner = [], VantagePlanner(VantageSettings(), None, twin_map())

    @property
    def here(self):
        """Return the true pose in the map."""
        return compose(self.correction, self.odom)

    def plan(self, swapped=False):
        """Return the next way; ``swapped`` gives the twin as the first candidate."""
        ranges = scan_ranges(self.grid, self.here, BEARINGS, 12.0)
        points = ranges[:, None] * np.stack([np.cos(BEARINGS), np.sin(BEARINGS)], axis=1)
        candidates = [self.here, compose(HALF_TURN, self.here)]
        if swapped:
            candidates.reverse()
        self.visited.append(self.odom[:2])
        return self.planner.plan(points, self.odom, candidates, self.visited)

    def go(self, way):
        """Drive it."""
        self.odom = np.array([
            self.odom[0] + way.length_m * math.cos(way.heading),
            self.odom[1] + way.length_m * math.sin(way.heading),
            way.heading,
        ])
        assert self.grid.lookup(self.grid.obstacle_distance, [self.here[:2]])[0] > RADIUS

    def tells(self):
        """Return the share that tells the true pose from its twin, here."""
        pair = [self.here, compose(HALF_TURN, self.here)]
        return telling(self.grid, pair, [np.zeros(3)], 0.15)[0, 1, 0]


@pytest.mark.parametrize('start', [(0.3, -1.2, 0.0), (-0.5, 0.8, 2.0), (2.2, -0.8, -1.0)])
def test_the_way_leads_to_where_it_can_be_told_whatever_order_they_come_in(start):
    """Also when it stands in the bay that its twin would tell from: then it goes to the other."""
    walk, total_m = Walk(np.array(start)), 0.0
    for drive in range(14):
        if walk.tells() > TOLD:
            break
        way = walk.plan(swapped=drive % 2 == 1)
        assert 0.25 <= way.length_m <= 1.5 and way.gain >= 0.15
        walk.go(way)
        total_m += way.length_m
    else:
        pytest.fail(f'never got there, ends at {walk.here}')
    assert total_m < 14.0


def test_the_goal_is_kept_while_the_way_to_it_gets_shorter():
    walk, left = Walk(np.array([0.3, -1.2, 0.0])), []
    for drive in range(3):
        way = walk.plan(swapped=drive % 2 == 1)
        left.append(way.target_m)
        walk.go(way)
    assert left[0] > left[1] > left[2]


def test_a_goal_that_gets_no_nearer_is_left_for_another():
    """Something that no map has keeps it where it is: it does not push against that forever."""
    walk, goals = Walk(np.array([0.3, -1.2, 0.0])), []
    with pytest.raises(NothingToTell):
        for _ in range(60):
            walk.plan()
            goals.append(tuple(walk.planner._goal.spot))
    assert len(set(goals[:4])) == 1 and 2 <= len(set(goals)) <= 12
    assert all(goals.count(goal) <= 5 for goal in goals)


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


def test_nothing_is_told_where_it_was_looked_from_in_vain():
    """In front of the place of the crate, the twin's crate is not seen: no second look at it."""
    walk = Walk(np.array([2.05, -1.65, -1.0]))
    first = walk.planner
    numbers = first._known.numbers([walk.here, compose(HALF_TURN, walk.here)], walk.odom)
    assert numbers == [0, 1]
    walk.plan()
    assert first._seen[1, 0] >= 0.15, 'the twin would have been told here'
    assert first._goal.teller == 0


def test_candidates_keep_their_numbers_in_any_order_and_while_odometry_drifts():
    known = KnownCandidates()
    a, b, odom = np.array([1.0, 2.0, 0.5]), np.array([-3.0, 0.0, 2.0]), np.zeros(3)
    assert known.numbers([a, b], odom) == [0, 1]
    for _ in range(10):
        moved = np.array([0.5, 0.0, 0.1])
        drift = np.array([0.1, 0.05, 0.05])
        odom = compose(odom, moved)
        a, b = compose(compose(a, moved), drift), compose(compose(b, moved), drift)
        assert known.numbers([b, a], odom) == [1, 0]
    assert known.numbers([compose(a, (2.0, 0.0, 0.0)), b], odom) == [2, 1]


def test_without_a_map_it_goes_where_it_has_not_been():
    planner = VantagePlanner()
    first = planner.plan(ring(2.0), np.zeros(3), [], [])
    assert first.length_m == pytest.approx(1.5) and math.isnan(first.gain)
    back = planner.plan(ring(2.0), np.zeros(3), [], [(1.5, 0.0), (1.0, 1.0), (1.0, -1.0)])
    assert abs(back.heading) > math.radians(100.0)


def test_no_way_out_and_too_little_to_go_by():
    planner = VantagePlanner()
    assert planner.plan(ring(0.35), np.zeros(3)) is None
    assert planner.plan(ring(2.0, 20), np.zeros(3)) is None
