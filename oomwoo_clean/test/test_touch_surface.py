"""Which way a surface runs, by touches of a round body alone."""
import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.bump_out_settings import BumpOutSettings
from oomwoo_clean.touch_surface import NOSE, OPEN, TouchSurface, WALL
import pytest

directions = st.floats(-math.pi, math.pi)


def along(direction, metres, off=0.0):
    """Return a point that far along a line through the origin, and to its left."""
    c, s = math.cos(direction), math.sin(direction)
    return metres * c - off * s, metres * s + off * c


@settings(max_examples=60, deadline=None)
@given(direction=directions, approach=st.floats(0.05, 1.4), length=st.floats(0.1, 0.5))
def test_two_touches_tell_the_direction(direction, approach, length):
    surface = TouchSurface(BumpOutSettings())
    heading = direction - approach                   # into the surface on the right
    assert surface.touch((0.0, 0.0), heading, WALL) == 'new' and not surface.known
    assert surface.touch(along(direction, length), heading, WALL) == 'probe'
    assert surface.known
    assert math.remainder(surface.direction - direction, math.tau) == pytest.approx(0.0, abs=1e-9)
    assert surface.direction == pytest.approx(heading + approach)     # not wrapped away from it
    assert surface.offset(along(direction, 1.0, 0.07)) == pytest.approx(0.07)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10 ** 6), direction=directions)
def test_more_touches_on_a_line_are_weighed(seed, direction):
    rng = np.random.default_rng(seed)
    surface = TouchSurface(BumpOutSettings())
    words = [surface.touch(along(direction, 0.35 * k, rng.normal(0.0, 0.002)), direction - 0.2,
                           WALL) for k in range(8)]
    assert words == ['new', 'probe', *6 * ['same']]
    assert abs(math.degrees(math.remainder(surface.direction - direction, math.tau))) < 1.5
    assert math.degrees(surface.std_rad) < 1.5


def test_both_halves_at_once_tell_a_surface_ahead():
    surface = TouchSurface(BumpOutSettings())
    surface.touch((0.0, 0.0), 0.3, NOSE)
    assert surface.known and surface.direction == pytest.approx(0.3 + math.pi / 2)


def test_what_is_met_ahead_on_the_far_side_stands_across():
    surface = TouchSurface(BumpOutSettings())
    surface.touch((0.0, 0.0), -0.2, WALL)
    surface.touch((0.4, 0.0), -0.2, WALL)
    assert surface.touch((0.6, 0.01), -0.3, OPEN) == 'new'
    assert surface.direction == pytest.approx(math.pi / 2, abs=0.02)
    fresh = TouchSurface(BumpOutSettings())          # nothing known: only that it is far over
    fresh.touch((0.0, 0.0), 0.0, OPEN)
    assert math.radians(90.0) < fresh.direction < math.radians(150.0) and not fresh.known


def test_something_that_stands_out_is_new_and_what_recedes_is_a_bend():
    def after_a_line():
        surface = TouchSurface(BumpOutSettings())
        surface.touch((0.0, 0.0), -0.2, WALL)
        surface.touch((0.4, 0.0), -0.2, WALL)
        return surface

    out = after_a_line()
    assert out.touch((0.6, 0.08), 0.1, WALL) == 'new' and not out.known
    assert out.direction == pytest.approx(0.1 + math.radians(45.0))
    away = after_a_line()
    assert away.touch((0.6, -0.15), -1.2, WALL) == 'bend'
    assert -1.2 <= away.direction < math.atan2(-0.15, 0.2)


@settings(max_examples=30, deadline=None)
@given(radius=st.floats(0.3, 1.5))
def test_a_round_thing_is_gone_round(radius):
    """Along an arc a chord lags behind; the direction must do so by less than a touch."""
    surface, step = TouchSurface(BumpOutSettings()), 0.3 / radius
    for k in range(6):
        angle = k * step                                        # clockwise, thing on the right
        place = (radius * math.sin(angle), radius * math.cos(angle))
        surface.touch(place, -angle - 0.2, WALL)
    assert abs(surface.direction - -angle) < step


def test_letting_go_moves_the_line_past_what_the_wheels_slipped():
    surface = TouchSurface(BumpOutSettings())
    surface.touch((0.0, 0.0), 0.0, NOSE)
    surface.let_go((0.03, 0.0))
    assert surface.offset((0.03, 0.5)) == pytest.approx(0.0, abs=1e-9)


def test_touches_in_one_place_tell_no_direction():
    surface = TouchSurface(BumpOutSettings())
    surface.touch((0.0, 0.0), 0.0, WALL)
    assert surface.touch((0.005, 0.001), 0.4, WALL) == 'new'
    assert surface.direction == pytest.approx(0.4 + math.radians(45.0))
