"""Soft things that press a bumper for a moment, and never hold the robot."""
import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.layout import layout_from_dict, LayoutError
from oomwoo_sim_support.layout_primitives import Primitive
from oomwoo_sim_support.sim_soft import SoftThings
import pytest

ROBOT = load_robot()
R = ROBOT.body.radius


def room(press=0.03, **curtain):
    """Return a room with a curtain across it, one metre ahead of the start."""
    return layout_from_dict({
        'name': 'room', 'start': [0, 0, 0],
        'floor': [[-2, -2], [4, -2], [4, 2], [-2, 2]],
        'walls': [{'name': 'walls', 'points': [[-2, -2], [4, -2], [4, 2], [-2, 2]],
                   'closed': True}],
        'soft': [{'name': 'curtain', 'points': [[1, -1.5], [1, 1.5]], 'z': [0.02, 2.0],
                  **({'press': press} if press else {}), **curtain}]})


def pressed_along(sim, seconds, linear=0.25):
    """Drive; return (x, left, right) every hundredth of a second."""
    seen = []
    for tick in range(round(seconds * 100)):
        if tick % 20 == 0:
            sim.set_command(linear, 0.0)
        sim.step(0.01)
        seen.append((sim.truth().pose[0], *sim.bumpers()))
    return np.array(seen)


def test_a_curtain_presses_while_the_shell_goes_into_it_and_does_not_stop_the_robot():
    sim = EmbeddedSim(room())
    seen = pressed_along(sim, 6.0)
    felt = seen[seen[:, 1] > 0]
    face = 1.0 - 0.01                                  # of a cloth 2 cm thick
    assert felt[0, 0] == pytest.approx(face - R, abs=0.004)
    # Three centimetres of pushing, and the time that any contact is reported longer.
    longer = 0.25 * ROBOT.bumper.release_s
    assert felt[-1, 0] == pytest.approx(face - R + 0.03 + longer, abs=0.006)
    assert (felt[:, 2] > 0).all(), 'straight ahead is both halves'
    assert seen[-1, 0] > 1.3 and sim.contacts == 1 and sim.rear_contacts == 0


def test_it_leaves_the_bumper_alone_on_the_way_back_and_when_it_is_light():
    sim = EmbeddedSim(room(), start=(1.0 - R, 0.0, 0.0))
    assert not pressed_along(sim, 3.0, linear=-0.2)[:, 1:].any()
    assert not pressed_along(EmbeddedSim(room(press=0)), 6.0)[:, 1:].any()
    overhead = room(z=[0.2, 2.0])
    assert not pressed_along(EmbeddedSim(overhead), 6.0)[:, 1:].any()


def test_only_the_half_that_meets_it_is_pressed():
    sim = EmbeddedSim(room(), start=(0.0, 0.0, math.radians(40.0)))
    seen = pressed_along(sim, 5.5)
    assert seen[:, 2].any() and not seen[:, 1].any(), 'the cloth is to the right of the nose'


def test_a_restored_state_feels_the_same_again():
    sim = EmbeddedSim(room(), start=(1.0 - R - 0.02, 0.0, 0.0))
    pressed_along(sim, 0.3)
    state = sim.save()
    once = pressed_along(sim, 1.0)
    sim.restore(state)
    np.testing.assert_array_equal(pressed_along(sim, 1.0), once)
    sim.reset()
    assert not any(sim.bumpers())


def test_a_layout_refuses_a_press_that_is_none():
    for wrong in (-0.01, 'hard', math.nan):
        with pytest.raises(LayoutError, match="soft.*'curtain': press"):
            room(press=wrong)


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-4, 4), st.floats(0.05, 1.5),
       st.floats(0.05, 1.5), st.sampled_from(['box', 'cylinder']))
def test_the_nearest_point_is_as_far_as_the_distance_says(x, y, yaw, half_x, half_y, kind):
    half_y = half_x if kind == 'cylinder' else half_y
    part = Primitive('p', kind, 0.3, -0.2, yaw, half_x, half_y, 0, 1)
    px, py = part.nearest_point(x, y)
    expected = max(part.signed_distance([(x, y)])[0], 0.0)
    assert math.hypot(px - x, py - y) == pytest.approx(expected, abs=1e-9)
    assert part.signed_distance([(px, py)])[0] <= 1e-9


def test_what_is_solid_or_does_not_press_is_not_among_them():
    parts = [Primitive('a', 'box', 0, 0, 0, 1, 1, 0, 1, soft, '', press)
             for soft, press in ((True, 0.02), (True, 0.0), (False, 0.02))]
    assert len(SoftThings(parts, ROBOT)) == 1
