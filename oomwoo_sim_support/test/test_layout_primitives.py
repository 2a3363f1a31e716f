"""A layout's normal form: every shape of the file and nothing else is covered by primitives."""
import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from oomwoo_sim_support.layout import layout_from_dict, layout_names, load_layout
from oomwoo_sim_support.layout_primitives import (
    ARC_SAGITTA_M,
    Primitive,
    primitives,
    solid_distance,
)
import pytest

coordinates = st.floats(-2, 2)


def world(**elements):
    """Return a layout of some elements on a wide floor, started in a far corner."""
    return layout_from_dict(
        {
            'name': 'world',
            'start': [-9, -9, 0],
            'floor': [[-10, -10], [10, -10], [10, 10], [-10, 10]],
            **elements,
        }
    )


def to_segments(points, line):
    """Return (N,) distances from points to a polyline."""
    best = np.full(len(points), np.inf)
    for a, b in zip(line[:-1], line[1:], strict=True):
        along = np.clip((points - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
        best = np.minimum(best, np.linalg.norm(points - (a + along[:, None] * (b - a)), axis=1))
    return best


@given(
    coordinates,
    coordinates,
    st.floats(-7, 7),
    st.floats(0.02, 1),
    st.floats(0.02, 1),
    coordinates,
    coordinates,
)
def test_distance_to_a_box_is_that_to_its_outline(x, y, yaw, half_x, half_y, px, py):
    box = Primitive('b', 'box', x, y, yaw, half_x, half_y, 0, 1)
    corners = box.corners()
    to_outline = to_segments(np.array([[px, py]]), np.vstack([corners, corners[:1]]))[0]
    assert abs(box.signed_distance([[px, py]])[0]) == pytest.approx(to_outline, abs=1e-9)
    inside = np.array([px - x, py - y]) @ np.array(
        [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
    )
    if to_outline > 1e-9:
        covered = box.signed_distance([[px, py]])[0] < 0
        assert covered == bool(np.all(np.abs(inside) < [half_x, half_y]))


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=2, max_size=5),
       st.floats(0.02, 0.3), st.booleans())
def test_a_wall_covers_all_within_half_its_thickness_and_little_more(points, thickness, soft):
    line = np.array(points, dtype=float)
    if np.any(np.all(line[1:] == line[:-1], axis=1)):
        return
    element = {'name': 'wall', 'points': line.tolist(), 'thickness': thickness}
    layout = world(**{'soft' if soft else 'walls': [element]})
    parts = primitives(layout)
    assert all(part.soft == soft and part.element == 'wall' for part in parts)
    rng = np.random.default_rng(3)
    middle = line[:-1].repeat(60, axis=0) + rng.random((60 * (len(line) - 1), 1)) * np.diff(
        line, axis=0
    ).repeat(60, axis=0)
    near = middle + rng.uniform(-1, 1, middle.shape) * thickness
    away, covered = to_segments(near, line), solid_distance(parts, near)
    beyond_an_end = np.zeros(len(near), dtype=bool)
    for end, before in ((line[0], line[1]), (line[-1], line[-2])):
        beyond_an_end |= (near - end) @ (end - before) > 0
    assert np.all(covered[(away < thickness / 2 - 1e-9) & ~beyond_an_end] <= 1e-9)
    # a mitred right angle reaches sqrt(2) half thicknesses from the middle line
    assert np.all(covered[away > thickness / 2 * math.sqrt(2) + 1e-9] > 0)


def test_a_room_has_square_outer_corners_and_true_inner_faces():
    parts = primitives(world(walls=[
        {'name': 'room', 'points': [[-2, -1], [2, -1], [2, 1], [-2, 1]], 'closed': True,
         'thickness': 0.1}]))
    assert len(parts) == 4
    assert solid_distance(parts, [[2.049, 1.049], [-2.049, -1.049]]).max() < 0
    assert solid_distance(parts, [[0, 0], [1.9, 0]]) == pytest.approx([0.95, 0.05])


@given(st.floats(0.1, 2), st.floats(-360, 360), st.floats(5, 360), st.floats(0.02, 0.15))
def test_an_arc_stays_within_two_millimetres_of_its_circles(radius, start, sweep, thickness):
    if thickness >= 2 * radius:
        return
    parts = primitives(world(arcs=[{
        'name': 'arc', 'center': [0.3, -0.2], 'radius': radius, 'from': start, 'to': start + sweep,
        'thickness': thickness}]))
    inner, outer = radius - thickness / 2, radius + thickness / 2
    angles = np.radians(start + sweep * np.linspace(0.01, 0.99, 200))
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def at(distance):
        return solid_distance(parts, directions * distance + [0.3, -0.2])

    assert np.all(at(inner + ARC_SAGITTA_M + 1e-6) <= 1e-9) and np.all(at(outer - 1e-6) <= 1e-9)
    if inner > 1e-3:
        assert np.all(at(inner - 1e-6) > 0)
    assert np.all(at(outer + 2 * ARC_SAGITTA_M) > 0)
    if sweep < 300:
        opposite = math.radians(start + sweep / 2 + 180)
        across = [0.3 + radius * math.cos(opposite), -0.2 + radius * math.sin(opposite)]
        assert solid_distance(parts, [across])[0] > 0.01


def test_the_dock_is_a_bay_forty_centimetres_wide_that_opens_forwards():
    parts = [part for part in primitives(world(dock={'pose': [1, 2, 90]})) if not part.soft]
    depth = 0.33
    assert solid_distance(parts, [[1, 2 - depth / 2]])[0] == pytest.approx(depth / 2)
    assert solid_distance(parts, [[1, 1.99 - depth / 2 + 0.1]])[0] > 0.19
    assert solid_distance(parts, [[0.8, 1.9], [1.2, 1.9], [1, 2 - depth]]) == pytest.approx(
        [0, 0, 0], abs=1e-9
    )
    assert solid_distance(parts, [[1, 2.5]])[0] > 0.5


def test_heights_decide_what_is_cut():
    box = Primitive('b', 'box', 0, 0, 0, 1, 1, 0.1, 0.3)
    assert box.crosses(0.1, 0.1) and not box.crosses(0.3, 0.3) and not box.crosses(0.09, 0.09)
    assert box.crosses(0.0, 0.2) and not box.crosses(0.0, 0.1) and not box.crosses(0.3, 0.5)


@pytest.mark.parametrize('name', layout_names())
def test_names_are_unique(name):
    names = [part.name for part in primitives(load_layout(name))]
    assert len(names) == len(set(names))
