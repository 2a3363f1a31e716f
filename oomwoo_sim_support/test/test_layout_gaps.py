"""Gaps: every bottleneck is found with its exact width, nothing that only narrows is one."""
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from oomwoo_sim_support.layout import layout_from_dict
from oomwoo_sim_support.layout_gaps import find_gaps, main, undeclared_gaps
import pytest


def world(turned=0.0, **elements):
    """Return a layout of boxes, cylinders and walls, turned about the origin by some degrees."""
    c, s = math.cos(math.radians(turned)), math.sin(math.radians(turned))

    def turn(point):
        return [c * point[0] - s * point[1], s * point[0] + c * point[1]]

    for kind, entries in elements.items():
        for entry in entries if kind != 'narrow_gaps' else ():
            if 'center' in entry:
                entry['center'] = turn(entry['center'])
            if 'points' in entry:
                entry['points'] = [turn(p) for p in entry['points']]
            if kind == 'boxes':
                entry['yaw'] = entry.get('yaw', 0) + turned
            if kind == 'arcs':
                entry['from'], entry['to'] = entry['from'] + turned, entry['to'] + turned
    return layout_from_dict(
        {
            'name': 'world',
            'start': [*turn([0, -5]), 0],
            'floor': [turn(p) for p in ([-9, -9], [9, -9], [9, 9], [-9, 9])],
            **elements,
        }
    )


def gaps(layout, width=0.45):
    """Return {(element, element): width}."""
    return {gap.between: gap.width for gap in find_gaps(layout, width)}


def wall(name, *points):
    """Return a wall of 0.1 m along some points."""
    return {'name': name, 'points': [list(p) for p in points], 'thickness': 0.1}


@settings(deadline=None, max_examples=40)
@given(st.floats(0, 360), st.floats(0.01, 0.44), st.floats(-0.3, 0.3))
def test_a_slot_behind_a_panel_has_its_exact_width_whichever_way_it_is_turned(
        turned, width, along):
    layout = world(turned, walls=[wall('wall', (-2, 0), (2, 0))], boxes=[
        {'name': 'panel', 'center': [along, 0.05 + width + 0.1], 'size': [1.0, 0.2]}])
    assert gaps(layout) == {('panel', 'wall'): pytest.approx(width, abs=1e-9)}


@settings(deadline=None, max_examples=40)
@given(st.floats(0, 360), st.floats(0.02, 0.4), st.floats(0.01, 0.2), st.floats(0.01, 0.2))
def test_two_legs(turned, width, radius, other):
    layout = world(turned, cylinders=[
        {'name': 'a', 'center': [0, 0], 'radius': radius},
        {'name': 'b', 'center': [radius + width + other, 0], 'radius': other}])
    found = find_gaps(layout, 0.45)
    assert [(gap.between, gap.width) for gap in found] == [
        (('a', 'b'), pytest.approx(width, abs=1e-9))]
    middle = radius + width / 2
    assert math.hypot(found[0].x, found[0].y) == pytest.approx(middle, abs=1e-9)


def test_a_leg_by_a_wall_and_by_a_corner_of_a_box():
    layout = world(
        walls=[wall('wall', (-2, 0), (2, 0))],
        boxes=[{'name': 'box', 'center': [1.5, 0.8], 'size': [1, 1]}],
        cylinders=[
            {'name': 'leg', 'center': [0.7, 0.15], 'radius': 0.02},
            {'name': 'stand', 'center': [0.7, 1.6], 'radius': 0.02},
        ],
    )
    assert gaps(layout) == {
        ('leg', 'wall'): pytest.approx(0.08), ('box', 'wall'): pytest.approx(0.25),
        ('box', 'leg'): pytest.approx(math.hypot(0.3, 0.15) - 0.02),
        ('box', 'stand'): pytest.approx(math.hypot(0.3, 0.3) - 0.02)}


def test_the_slot_between_two_teeth_is_a_gap_and_a_shallow_dent_is_none():
    def teeth(depth):
        return world(walls=[wall('wall', (-2, 0), (2, 0))], boxes=[
            {'name': 'left', 'center': [-0.35, 0.05 + depth / 2], 'size': [0.3, depth]},
            {'name': 'right', 'center': [0.35, 0.05 + depth / 2], 'size': [0.3, depth]}])
    assert gaps(teeth(0.4)) == {('left', 'right'): pytest.approx(0.4)}
    assert gaps(teeth(0.1)) == {}


@pytest.mark.parametrize('half_angle', [10, 30, 60])
def test_neither_a_corner_nor_a_v_pocket_is_a_gap(half_angle):
    out = (math.cos(math.radians(half_angle)), math.sin(math.radians(half_angle)))
    layout = world(walls=[wall('pocket', out, (0, 0), (out[0], -out[1]))])
    assert gaps(layout) == {}


def test_a_bay_that_is_wider_inside_has_a_narrow_mouth_and_an_open_one_has_none():
    bay = {'name': 'bay', 'center': [0, 0], 'radius': 0.5, 'from': 20, 'to': 340}
    mouth = 2 * 0.475 * math.sin(math.radians(20))
    assert gaps(world(17, arcs=[dict(bay)])) == {('bay', 'bay'): pytest.approx(mouth, abs=0.02)}
    assert gaps(world(arcs=[dict(bay, **{'from': 90, 'to': 270})])) == {}


def test_what_stands_between_two_things_closes_their_gap():
    layout = world(
        boxes=[
            {'name': 'a', 'center': [-0.2, 0], 'size': [0.2, 0.2]},
            {'name': 'b', 'center': [0.2, 0], 'size': [0.2, 0.2]},
            {'name': 'plug', 'center': [0, 0], 'size': [0.2, 0.2]},
        ]
    )
    assert gaps(layout) == {}


def test_a_lip_counts_and_an_overhead_board_does_not():
    layout = world(walls=[wall('wall', (-2, 0), (2, 0))], boxes=[
        {'name': 'lip', 'center': [0, 0.4], 'size': [0.3, 0.3], 'z': [0, 0.06]},
        {'name': 'board', 'center': [1, 0.4], 'size': [0.3, 0.3], 'z': [0.3, 0.4]}])
    assert gaps(layout) == {('lip', 'wall'): pytest.approx(0.2)}


def test_only_a_gap_that_is_declared_with_its_width_is_on_purpose():
    def declared(width):
        layout = world(
            cylinders=[
                {'name': 'a', 'center': [0, 0], 'radius': 0.1},
                {'name': 'b', 'center': [0.5, 0], 'radius': 0.1}],
            narrow_gaps=[{'between': ['b', 'a'], 'width': width}])
        return undeclared_gaps(layout, find_gaps(layout, 0.45))
    assert declared(0.3) == []
    assert [gap.between for gap in declared(0.32)] == [('a', 'b')]


def test_the_command_prints_each_gap_and_strict_fails_on_an_accidental_one(tmp_path, capsys):
    own = tmp_path / 'own.yaml'
    own.write_text(
        'name: own\nstart: [0, -1, 0]\nfloor: [[-2, -2], [2, -2], [2, 2], [-2, 2]]\n'
        'cylinders:\n- {name: a, center: [0, 0], radius: 0.1}\n'
        '- {name: b, center: [0.5, 0], radius: 0.1}\n')
    assert main([str(own)]) == 0
    assert ('0.3000 m (0.86 robots)  at (+0.25, +0.00)  a - b  NOT DECLARED'
            in capsys.readouterr().out)
    assert main([str(own), '--strict']) == 1
    assert main([str(own), '--strict', '--width', '0.29']) == 0
    with pytest.raises(SystemExit) as ended:
        main(['no_such_world'])
    assert ended.value.code == 2 and 'no_such_world' in capsys.readouterr().err
