"""Out of a ring of posts by what is seen and felt, and what is kept of earlier looks and ways."""
import math

import numpy as np
from oomwoo_clean.escape_moves import follow_out, Senses
from oomwoo_clean.escape_ways import find_out, Touches, Views
from oomwoo_clean.reflex_confined import Confinement, Confinements, Places
from oomwoo_clean.reflex_settings import ReflexSettings
from oomwoo_localization.frames import compose
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scans import Scan
import pytest

ROBOT = load_robot()
RADIUS = ROBOT.body.radius
BEAMS, POST_M = 360, 0.02
PERIOD_S = 0.05


def ring(gap_m, bearing=0.0, radius=0.45):
    """Return posts on a circle about the origin, closed but for a gap."""
    half = math.asin((gap_m / 2 + POST_M) / radius)
    angles = bearing + np.linspace(half, math.tau - half, 24)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


class World:
    """A round body among posts, seen ones and low ones; it stops at what it touches."""

    def __init__(self, seen, low=(), seed=0):
        """Stand at the origin."""
        self.seen, self.low = np.reshape(seen, (-1, 2)), np.reshape(low, (-1, 2))
        self.solid = np.concatenate([self.seen, self.low])
        self.rng, self.senses = np.random.default_rng(seed), Senses()
        self.senses.mount = np.eye(4)
        self.senses.mount[2, 3] = 0.09
        self.track = [np.zeros(3)]

    def scan(self):
        """Return ranges with a centimetre of noise in a room of 3 m radius."""
        pose = self.senses.pose
        angles = math.tau / BEAMS * np.arange(BEAMS) - math.pi
        ranges = np.full(BEAMS, 3.0)
        beams = np.stack([np.cos(angles + pose[2]), np.sin(angles + pose[2])], axis=1)
        posts = self.seen - pose[:2]
        along = beams @ posts.T
        inside = POST_M ** 2 - (posts ** 2).sum(axis=1) + along ** 2
        with np.errstate(invalid='ignore'):
            hit = np.where((along > 0.0) & (inside > 0.0), along - np.sqrt(inside), np.inf)
        ranges = np.minimum(ranges, hit.min(axis=1, initial=np.inf))
        ranges = ranges + 0.01 * self.rng.standard_normal(BEAMS)
        return Scan(ranges, -math.pi, math.tau / BEAMS, 0.05, 8.0)

    def run(self, move, seconds=120.0):
        """Step a manoeuvre; return its value."""
        senses = self.senses
        for tick in range(round(seconds / PERIOD_S)):
            senses.now_s = tick * PERIOD_S
            if tick % 2 == 0:
                senses.scan, senses.scan_s = self.scan(), senses.now_s
            try:
                linear, angular = next(move)
            except StopIteration as ended:
                return ended.value
            self.drive(linear, angular)
        return 'the time is over'

    def drive(self, linear, angular):
        """Move as commanded, unless a post is in the way; press the half that meets it."""
        senses, before = self.senses, self.senses.pressed
        there = compose(senses.pose, (linear * PERIOD_S, 0.0, angular * PERIOD_S))
        gaps = np.hypot(*(self.solid - there[:2]).T) - RADIUS - POST_M
        nearest = self.solid[np.argmin(gaps)] - there[:2]
        senses.pressed = set()
        if gaps.min() < 0.0:
            bearing = math.remainder(
                math.atan2(nearest[1], nearest[0]) - senses.pose[2], math.tau)
            there = np.array([*senses.pose[:2], there[2]])
            if abs(bearing) < math.radians(90.0):
                senses.pressed = {'left', 'right'} if abs(bearing) < math.radians(8.0) else {
                    'left' if bearing > 0.0 else 'right'}
        senses.felt = senses.pressed - before
        senses.pose = there
        self.track.append(there)


def out_of(world, out_m=0.9, **kwargs):
    """Let it find a way out; return (what it says, how far it got)."""
    here = Confinement(0.0, np.zeros(2), out_m, 2.0 * out_m, **kwargs)
    said = world.run(find_out(
        world.senses, ROBOT, here, lambda: here.away_m(world.senses.pose[:2]) >= out_m))
    return said, here.away_m(world.senses.pose[:2])


@pytest.mark.parametrize('bearing', [0.3, 2.0, -2.5])
def test_leaves_by_a_gap_two_centimetres_wider_than_the_body_whatever_the_noise(bearing):
    world = World(ring(2 * RADIUS + 0.02, bearing))
    said, away = out_of(world)
    assert said == '' and away >= 0.9
    crossing = next(pose for pose in world.track if math.hypot(*pose[:2]) > 0.45)
    assert abs(math.remainder(math.atan2(crossing[1], crossing[0]) - bearing, math.tau)) < 0.2
    assert world.senses.now_s < 40.0


def test_says_that_there_is_no_gap_when_there_is_none_and_does_not_get_out():
    said, away = out_of(World(ring(2 * RADIUS - 0.06)))
    assert said == 'no gap is as wide as the body' and away < 0.5


def test_what_no_scan_shows_is_learnt_by_touch():
    """A low ring with one gap: the scan sees none of it."""
    world = World(np.zeros((0, 2)), ring(0.6, 2.2))
    said, away = out_of(world)
    assert said == '' and away >= 0.9


def test_ways_that_led_back_come_last_and_the_wanted_one_first():
    posts = ring(0.5, 0.0)
    posts = np.concatenate([posts[np.abs(posts[:, 1]) > 0.27], [[-0.35, 0.28], [-0.35, -0.28]]])
    for bearing in (0.0, math.pi):
        for kwargs, towards in (({'tried': [bearing]}, -1), ({'wanted': bearing}, 1)):
            world = World(posts)
            assert out_of(world, **kwargs)[0] == ''
            assert world.senses.pose[0] * math.cos(bearing) * towards > 0.0


def test_without_a_scan_it_says_so():
    world = World(ring(0.5))
    world.scan = lambda: None
    assert out_of(world)[0] == 'there is no scan'


def test_out_at_once_needs_no_move():
    world = World(ring(0.5))
    here = Confinement(0.0, np.zeros(2), 0.5, 1.0)
    assert world.run(follow_out(world.senses, ReflexSettings(), ROBOT, here, lambda: True)) == ''
    assert len(world.track) <= 2


# -- what is kept ------------------------------------------------------------------------------

def look(views, world, pose):
    """Look from a pose."""
    world.senses.pose = np.array(pose, dtype=float)
    world.senses.scan_s = -math.inf
    return world.run(views.look(world.senses))


def test_what_is_hidden_now_stays_and_what_would_be_seen_goes():
    behind, gone = (1.0, 0.0), (0.0, 1.0)
    views = Views()
    assert look(views, World([behind, gone]), (0.0, 0.0, 0.0))
    # Now a wide thing stands before the one, and the other has been taken away.
    before = [(0.6, y) for y in np.arange(-0.3, 0.31, 0.03)]
    assert look(views, World(before), (0.0, 0.0, 1.0))

    def near(place):
        return (np.hypot(*(views.points - place).T) < 0.06).sum()

    assert near(behind) >= 2 and near(gone) == 0 and near((0.6, 0.0)) >= 2


def test_a_touch_of_what_is_seen_is_a_way_that_failed_and_another_one_is_a_thing():
    touches = Touches(ROBOT)
    seen = np.array([[RADIUS + 0.01, 0.02], [2.0, 0.0]])
    touches.add({'left', 'right'}, np.zeros(3), seen)
    assert len(touches.points) == 0 and touches.failed.tolist() == [[0.0, 0.0]]
    touches.add({'left'}, np.array([1.0, 0.0, math.pi / 2]), seen)
    (x, y), = touches.points
    assert math.hypot(x - 1.0, y) == pytest.approx(RADIUS) and x < 1.0 and y > 0.0
    # What the body has been over later is not there.
    for y in np.arange(0.0, 0.4, 0.02):
        touches.passed(np.array([0.9, y, 0.0]))
    assert len(touches.points) == 0


# -- by place ----------------------------------------------------------------------------------

def test_near_an_earlier_one_it_is_the_same_trap_twice_as_far_out_after_fewer_bumps():
    known = Confinements()
    one = known.begin(np.array([1.0, 0.0]), 10.0, 0.5, 1.6, [0.0])
    one.left = 2.0
    assert (one.out_m, one.count, one.tried, one.wanted) == (0.5, 1, [], None)
    assert known.bumps(5, np.array([1.5, 0.0]), 20.0) == 4
    two = known.begin(np.array([1.8, 0.0]), 30.0, 0.5, 1.6, [3.1, -3.1])
    assert two.out_m == 1.0 and two.count == 2 and two.tried == [2.0]
    assert two.middle == pytest.approx((1.4, 0.0)) and abs(two.wanted) == pytest.approx(math.pi)
    three = known.begin(np.array([1.2, 0.1]), 50.0, 0.5, 1.6)
    assert three.out_m == 1.6 and known.bumps(5, np.array([1.2, 0.0]), 60.0) == 3
    assert known.bumps(2, np.array([1.2, 0.0]), 60.0) == 2, 'never more than asked for'


def test_who_was_wholly_outside_begins_to_count_anew():
    known = Confinements()
    for number in range(3):
        last = known.begin(np.zeros(2), 10.0 * number, 0.5, 1.6)
    assert (last.count, last.rounds, last.first_s) == (3, 3, 0.0)
    last.outside_s = 25.0
    again = known.begin(np.zeros(2), 40.0, 0.5, 1.6)
    assert (again.count, again.rounds, again.first_s) == (4, 1, 40.0)
    again = known.begin(np.zeros(2), 50.0, 0.5, 1.6)
    assert (again.count, again.rounds, again.first_s) == (5, 2, 40.0)


def test_far_away_or_long_after_it_is_another_one():
    known = Confinements()
    known.begin(np.zeros(2), 10.0, 0.5, 1.6)
    assert known.bumps(5, np.array([1.05, 0.0]), 20.0) == 5
    assert known.begin(np.array([1.05, 0.0]), 20.0, 0.5, 1.6).count == 1
    assert known.begin(np.zeros(2), 500.0, 0.5, 1.6).out_m == 0.5


def test_places_count_what_is_near_and_lately():
    places = Places()
    assert places.note((0.0, 0.0), 0.0, 0.4, 30.0) == 0
    assert places.note((0.3, 0.0), 10.0, 0.4, 30.0) == 1
    assert places.note((0.9, 0.0), 20.0, 0.4, 30.0) == 0
    assert places.note((0.1, 0.0), 35.0, 0.4, 30.0) == 1
