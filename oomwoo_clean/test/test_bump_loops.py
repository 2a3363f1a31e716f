"""Loops told by touches alone, on contours whose corners are known."""
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from oomwoo_clean.bump_loops import BumpLoops, ISLAND, ROOM
from oomwoo_clean.bump_out_settings import BumpOutSettings
import pytest

STEP_M = 0.3


def follow(loops, corners, start_m=0.0, way_m=40.0, drift=0.0, origin=(0.0, 0.0),
           from_m=0.0):
    """
    Follow a closed polygon of the body's middle for some way; return (what, driven_m).

    The way begins at ``origin``, with ``from_m`` driven before it. ``drift`` turns what odometry
    believes by so many rad a metre.
    """
    sides = list(zip(corners, corners[1:] + corners[:1]))
    (x, y), driven, bent, turned = origin, from_m, 0.0, 0.0
    side, at, before = 0, start_m, None
    while at > math.dist(*sides[side]):
        at -= math.dist(*sides[side])
        side += 1
    while driven < from_m + way_m:
        (ax, ay), (bx, by) = sides[side]
        along = math.atan2(by - ay, bx - ax)
        turned += math.remainder(along - before, math.tau) if before is not None else 0.0
        before = along
        what = loops.touch((x, y), turned + bent, driven)
        if what:
            return what, driven
        step = min(STEP_M, math.dist((ax, ay), (bx, by)) - at)
        x += step * math.cos(along + bent)
        y += step * math.sin(along + bent)
        driven, at, bent = driven + step, at + step, bent + drift * step
        if at >= math.dist((ax, ay), (bx, by)) - 1e-9:
            side, at = (side + 1) % len(sides), 0.0
    return '', driven


# With the surface on the right a room is gone round anticlockwise.
ROOM_CORNERS = [(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (2.5, 3.0), (2.5, 2.4), (1.0, 2.4),
                (1.0, 3.0), (0.0, 3.0)]
ROOM_M = 15.2
TABLE_CORNERS = [(0.0, 0.0), (0.0, 1.2), (1.4, 1.2), (1.4, 0.0)]


@settings(max_examples=25, deadline=None)
@given(st.floats(0.0, ROOM_M - 0.1), st.floats(-0.006, 0.006))
def test_a_room_is_left_when_it_closes_wherever_it_was_begun(start_m, drift):
    what, driven = follow(BumpLoops(BumpOutSettings()), ROOM_CORNERS, start_m, drift=drift)
    assert what == ROOM
    assert ROOM_M - 0.4 < driven < ROOM_M + 3.0        # and neither at a niche, nor twice round


@settings(max_examples=25, deadline=None)
@given(st.floats(0.0, 5.1), st.floats(-0.006, 0.006))
def test_an_island_is_left_when_it_closes(start_m, drift):
    what, driven = follow(BumpLoops(BumpOutSettings()), TABLE_CORNERS, start_m, drift=drift)
    assert what == ISLAND
    assert 5.2 - 0.4 < driven < 5.2 + 1.5


LEG = [(0.2 * math.cos(a), -0.2 * math.sin(a)) for a in (k * math.tau / 12 for k in range(12))]


def test_a_leg_by_itself_is_left_after_not_even_half_a_turn():
    # 0.4 m across for the body's middle: 90 degrees * (1 + 0.4 / 0.5).
    what, driven = follow(BumpLoops(BumpOutSettings()), LEG)
    assert what == ISLAND
    assert math.radians(162.0) * 0.2 - 0.1 < driven < math.radians(200.0) * 0.2


def test_the_larger_a_thing_by_itself_the_more_turn_it_takes():
    # A pouf is left after three quarters of a turn or so, what is wider once it has closed.
    shares = []
    for radius in (0.2, 0.35, 0.48, 0.8):
        round_it = [(radius / 0.2 * x, radius / 0.2 * y) for x, y in LEG]
        what, driven = follow(BumpLoops(BumpOutSettings()), round_it)
        assert what == ISLAND
        shares.append(driven / (math.tau * radius))
    assert shares == sorted(shares)
    assert shares[0] < 0.56 < 0.6 < shares[1] < 0.8 and shares[2] < 0.95 < 1.0 <= shares[3]


def test_a_leg_that_was_come_to_along_a_wall_takes_more_turn_to_leave():
    loops = BumpLoops(BumpOutSettings())
    for k in range(5):
        assert not loops.touch((0.2, -3.0 + 0.5 * k), math.radians(-90.0), 0.5 * k)
    what, driven = follow(loops, LEG, from_m=2.5)
    assert what == ISLAND
    assert math.radians(240.0) * 0.2 - 0.15 < driven - 2.5 < math.tau * 0.2


@settings(max_examples=50, deadline=None)
@given(st.floats(0.0, 0.4), st.floats(0.02, 0.3))
def test_a_square_corner_is_no_thing_by_itself(before_m, step_m):
    # The body's middle goes round it on a quarter of a circle.
    loops, at = BumpLoops(BumpOutSettings()), -before_m
    quarter = 0.175 * math.pi / 2
    while at < quarter + 0.5:
        turned = min(max(at / 0.175, 0.0), math.pi / 2)
        x = 0.175 * math.sin(turned) + min(at, 0.0)
        y = 0.175 * math.cos(turned) - max(at - quarter, 0.0)
        assert not loops.touch((x, y), -turned, at + before_m)
        at += step_m


def test_what_was_lost_is_known_again():
    loops = BumpLoops(BumpOutSettings())
    loops.lost()                                         # nothing was touched: nothing to know
    assert not loops.known((0.0, 0.0), 0.0)
    loops.begin()
    loops.touch((1.0, 0.0), 0.0, 1.0)
    loops.lost()
    assert loops.known((1.0, 0.1), 2.0)
    assert not loops.known((2.0, 0.0), 3.0)


def test_the_end_of_a_wall_is_no_leg():
    # Along a wall, round its end, back along its other side: half a turn.
    corners = [(0.4, 0.0), (0.4, 2.0), (0.0, 2.0), (0.0, 0.0), (-5.0, 0.0), (-5.0, -3.0),
               (5.0, -3.0), (5.0, 0.0)]
    what, driven = follow(BumpLoops(BumpOutSettings()), corners, 0.8)
    assert (what, driven > 20.0) == (ROOM, True)


def test_a_touch_of_which_only_the_half_is_known_closes_nothing_but_turns():
    # To and fro between two legs, never twice alike: the turning ends it, and no closed loop.
    loops, words = BumpLoops(BumpOutSettings()), []
    for step in range(20):
        words.append(loops.touch(
            (1.1 * (step % 2), 0.0), math.radians(-60.0 * step), 1.2 * step, sure=False))
        if words[-1]:
            break
    assert words == [''] * 8 + [ISLAND]                 # 480 degrees, and not 240 or 360


def test_what_was_gone_round_is_known_again_but_not_for_ever():
    limits = BumpOutSettings(returns_most=2)
    loops = BumpLoops(limits)
    what, driven = follow(loops, ROOM_CORNERS)
    assert what == ROOM
    assert not loops.known((2.0, 1.2), driven)          # in its middle: something else
    assert loops.known((0.1, 0.5), driven)
    assert loops.known((2.0, 0.1), driven)
    assert not loops.known((2.0, 0.1), driven)          # enough: followed once more
    assert not loops.known((0.1, 0.5), driven)


def test_only_the_first_touch_of_a_contour_is_asked_for():
    loops = BumpLoops(BumpOutSettings())
    _, driven = follow(loops, ROOM_CORNERS)
    loops.touch((2.0, 1.2), 0.0, driven)
    assert not loops.known((0.1, 0.5), driven)


def test_islands_are_due_once_the_room_has_been_gone_round():
    loops = BumpLoops(BumpOutSettings())
    _, driven = follow(loops, TABLE_CORNERS)
    assert loops.known((0.0, 0.1), driven)
    what, driven = follow(loops, ROOM_CORNERS, origin=(20.0, 0.0), from_m=driven)
    assert what == ROOM
    assert not loops.known((0.0, 0.1), driven)
    assert loops.known((20.2, 0.1), driven)


@pytest.mark.parametrize('corners', [ROOM_CORNERS, TABLE_CORNERS])
def test_a_loop_that_odometry_never_sees_close_is_left_all_the_same(corners):
    limits = BumpOutSettings(loop_m=0.02, drift=0.0)
    what, _ = follow(BumpLoops(limits), corners, way_m=200.0, drift=0.05)
    assert what
