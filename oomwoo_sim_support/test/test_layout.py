"""Layout files: what is read, and that what is broken is refused by file, element and field."""
import copy
import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from oomwoo_sim_support import layout as layout_module
from oomwoo_sim_support.layout import layout_from_dict, layout_names, LayoutError, load_layout
from oomwoo_sim_support.layout_fields import polygon_crossing, polygon_holds
import pytest
import yaml

ROOM = {
    'name': 'room',
    'start': [0.5, 0.5, 90],
    'floor': [[0, 0], [4, 0], [4, 3], [0, 3]],
    'walls': [{'name': 'outer', 'points': [[0, 0], [4, 0], [4, 3], [0, 3]], 'closed': True}],
    'boxes': [{'name': 'crate', 'center': [2, 2], 'size': [0.5, 0.3], 'yaw': 45, 'z': [0, 0.2]}],
    'cylinders': [{'name': 'leg', 'center': [3, 1], 'radius': 0.02}],
    'arcs': [{'name': 'bay', 'center': [1, 2.5], 'radius': 0.4, 'from': 0, 'to': 180}],
    'soft': [{'name': 'curtain', 'points': [[3.9, 1], [3.9, 2]], 'z': [0.05, 2]}],
    'carpets': [{'name': 'rug', 'polygon': [[1, 1], [2, 1], [2, 2]], 'friction': 1.2}],
    'dock': {'pose': [0.5, 1.5, 0]},
    'narrow_gaps': [{'between': ['leg', 'crate'], 'width': 0.4}],
}


def room(*path, value=None, drop=False):
    """Return a copy of ROOM with one entry changed or dropped."""
    raw = copy.deepcopy(ROOM)
    if path:
        spot = raw
        for key in path[:-1]:
            spot = spot[key]
        if drop:
            del spot[path[-1]]
        else:
            spot[path[-1]] = value
    return raw


def refusal(raw):
    """Return the message with which a mapping is refused."""
    with pytest.raises(LayoutError) as caught:
        layout_from_dict(raw, 'my.yaml')
    return str(caught.value)


def test_a_layout_holds_what_the_file_says():
    layout = layout_from_dict(room())
    assert layout.start == (0.5, 0.5, pytest.approx(math.pi / 2))
    assert (
        layout.walls[0].closed
        and layout.walls[0].thickness == 0.05
        and layout.walls[0].points.shape == (4, 2)
    )
    assert layout.boxes[0].yaw == pytest.approx(math.pi / 4) and layout.boxes[0].z == (0.0, 0.2)
    assert layout.cylinders[0].z == (0.0, 0.4)
    assert (layout.arcs[0].start, layout.arcs[0].stop) == (0.0, pytest.approx(math.pi))
    assert layout.carpets[0].friction == 1.2
    assert layout.dock.pose == (0.5, 1.5, 0.0) and layout.dock.width == 0.40
    assert layout.narrow_gaps[0].between == ('crate', 'leg')


@pytest.mark.parametrize(
    'path',
    [
        ('name',),
        ('start',),
        ('floor',),
        ('walls', 0, 'name'),
        ('walls', 0, 'points'),
        ('boxes', 0, 'name'),
        ('boxes', 0, 'center'),
        ('boxes', 0, 'size'),
        ('cylinders', 0, 'center'),
        ('cylinders', 0, 'radius'),
        ('arcs', 0, 'center'),
        ('arcs', 0, 'radius'),
        ('arcs', 0, 'from'),
        ('arcs', 0, 'to'),
        ('soft', 0, 'points'),
        ('carpets', 0, 'polygon'),
        ('dock', 'pose'),
        ('narrow_gaps', 0, 'between'),
        ('narrow_gaps', 0, 'width'),
    ],
)
def test_a_missing_field_is_named(path):
    message = refusal(room(*path, drop=True))
    assert message.startswith('my.yaml: ') and f'field {path[-1]!r} is missing' in message
    assert len(path) == 1 or path[0] in message


@pytest.mark.parametrize('path', [
    ('wals',), ('walls', 0, 'height'), ('boxes', 0, 'radius'), ('cylinders', 0, 'size'),
    ('arcs', 0, 'start'), ('soft', 0, 'friction'), ('carpets', 0, 'z'), ('dock', 'yaw'),
    ('narrow_gaps', 0, 'why')])
def test_an_unknown_field_is_named(path):
    message = refusal(room(*path, value=1))
    assert message.startswith('my.yaml: ')
    assert f'unknown field {path[-1]!r}' in message and 'known:' in message


@pytest.mark.parametrize(
    ('path', 'value', 'words'),
    [
        (('name',), '', 'name: expected a name'),
        (('name',), 5, 'name: expected a name'),
        (('start',), [0.5, 0.5], 'start: expected [x, y, yaw]'),
        (('start',), 'here', 'start: expected [x, y, yaw]'),
        (('start',), [0.5, math.nan, 0], 'start: must be finite'),
        (('start',), [9, 9, 0], 'start: [9.0, 9.0] is outside the floor'),
        (('start',), [2.0, 2.0, 0], "start: [2.0, 2.0] is inside 'crate'"),
        (('floor',), [[0, 0], [4, 0]], 'floor: expected a list of at least 3 points'),
        (('floor',), [[0, 0], [4, 3], [4, 0], [0, 3]], 'floor: sides 0 and 2 cross'),
        (
            ('floor',),
            [[0, 0], [4, 0], [4, 3], [0, 3], [0, 0]],
            'floor: the last point repeats the first',
        ),
        (('floor',), [[0, 0], [4, 0], [4, 0], [0, 3]], 'floor: points 1 and 2 are the same'),
        (('floor',), [[0, 0], [4, 0], [2, 0]], 'floor: sides 0 and 1 cross or touch'),
        (('floor',), [[0, 0], [1e9, 0], [4, 3]], 'floor: point 1: must lie within 200 m'),
        (
            ('walls', 0, 'points'),
            [[0, 0]],
            "walls[0] 'outer': points: expected a list of at least 2",
        ),
        (
            ('walls', 0, 'points'),
            [[0, 0], [1, 0]],
            "walls 'outer': points: a closed line needs at least three",
        ),
        (
            ('walls', 0, 'points'),
            [[0, 0], [1, 0], [1, 1], [0, 0]],
            "walls 'outer': points: the last repeats the first",
        ),
        (
            ('walls', 0, 'points'),
            [[0, 0], [0, 0], [1, 1]],
            "walls[0] 'outer': points: points 0 and 1 are the same",
        ),
        (
            ('walls', 0, 'points'),
            [[0, 0], [1, '2']],
            "walls[0] 'outer': points: point 1: expected a number, got '2'",
        ),
        (('walls', 0, 'closed'), 'yes', "walls[0] 'outer': closed: expected true or false"),
        (('walls', 0, 'thickness'), 0, "walls[0] 'outer': thickness: must be greater than zero"),
        (('walls', 0, 'name'), '', 'walls[0]'),
        (('boxes', 0, 'size'), [0.5, 0.0], "boxes[0] 'crate': size: must be greater than zero"),
        (('boxes', 0, 'size'), [0.5, -1], "boxes[0] 'crate': size: must be greater than zero"),
        (('boxes', 0, 'size'), 0.5, "boxes[0] 'crate': size: expected [length, width]"),
        (('boxes', 0, 'yaw'), True, "boxes[0] 'crate': yaw: expected a number, got True"),
        (('boxes', 0, 'z'), [0.4, 0.1], "boxes[0] 'crate': z: top 0.1 must be above bottom 0.4"),
        (('boxes', 0, 'z'), [0.1, 0.1], "boxes[0] 'crate': z: top 0.1 must be above"),
        (('boxes', 0, 'z'), [-0.1, 0.1], "boxes[0] 'crate': z: bottom -0.1 is below the floor"),
        (
            ('boxes', 0, 'center'),
            [1, None],
            "boxes[0] 'crate': center: expected a number, got None",
        ),
        (('boxes', 0), 'crate', 'boxes[0]: expected a mapping'),
        (('boxes',), {'name': 'crate'}, 'boxes: expected a list'),
        (
            ('boxes', 0, 'name'),
            'leg',
            "cylinders 'leg': name: is already that of one of the boxes",
        ),
        (('boxes', 0, 'name'), 'dock', "boxes 'dock': name: is already that of one of the dock"),
        (('cylinders', 0, 'radius'), math.inf, "cylinders[0] 'leg': radius: must be finite"),
        (('cylinders', 0, 'radius'), 0, "cylinders[0] 'leg': radius: must be greater than zero"),
        (('arcs', 0, 'to'), 0, "arcs 'bay': to: must lie above"),
        (('arcs', 0, 'to'), 400, "arcs 'bay': to: must lie above"),
        (
            ('arcs', 0, 'thickness'),
            0.8,
            "arcs 'bay': thickness: must be less than twice the radius",
        ),
        (
            ('carpets', 0, 'polygon'),
            [[0, 0], [1, 1], [1, 0], [0, 1]],
            "carpets[0] 'rug': polygon: sides 0 and 2 cross",
        ),
        (('carpets', 0, 'friction'), 0, "carpets[0] 'rug': friction: must be greater than zero"),
        (('dock', 'pose'), [1, 2], 'dock: pose: expected [x, y, yaw]'),
        (('dock', 'width'), 0, 'dock: width: must be greater than zero'),
        (('dock',), [1, 2, 3], 'dock: expected a mapping'),
        (('narrow_gaps', 0, 'between'), ['leg'], 'narrow_gaps[0]: between: expected [name, name]'),
        (
            ('narrow_gaps', 0, 'between'),
            ['leg', 'nobody'],
            "narrow_gaps[0]: between: there is no element 'nobody'",
        ),
        (('based_on',), 'no_such_layout', 'no_such_layout: no such layout'),
    ],
)
def test_a_bad_value_is_refused_with_element_and_field(path, value, words):
    assert words in refusal(room(*path, value=value))


def test_a_file_that_is_nested_without_end_is_refused(tmp_path):
    (tmp_path / 'deep.yaml').write_text('[' * 5000)
    with pytest.raises(LayoutError, match='deep.yaml: is nested too deeply'):
        load_layout(tmp_path / 'deep.yaml')


@pytest.mark.parametrize('raw', [None, [], 'text', 3])
def test_a_file_that_holds_no_mapping_is_refused(raw):
    assert refusal(raw).startswith('my.yaml: expected a mapping')


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=4) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.text(max_size=4), inner, max_size=3)),
        max_leaves=6,
    ),
    st.sampled_from(
        [
            (),
            ('start',),
            ('floor',),
            ('walls',),
            ('walls', 0),
            ('walls', 0, 'points'),
            ('boxes', 0, 'size'),
            ('arcs', 0, 'from'),
            ('soft', 0, 'z'),
            ('carpets', 0, 'polygon'),
            ('dock',),
            ('narrow_gaps',),
        ]
    ),
)
def test_nothing_but_a_layout_error_comes_out(value, path):
    raw = room(*path, value=value) if path else value
    try:
        layout = layout_from_dict(raw)
    except LayoutError:
        return
    assert np.isfinite(layout.floor).all() and all(map(math.isfinite, layout.start))


def test_files_are_found_by_name_world_and_path(tmp_path):
    assert load_layout('contour_torture').name == 'contour_torture'
    assert load_layout('contour_torture.world').name == 'contour_torture'
    assert load_layout('/elsewhere/worlds/living_room.world').name == 'living_room'
    own = tmp_path / 'own.yaml'
    own.write_text(yaml.safe_dump(room()))
    assert load_layout(own).path == own and load_layout(str(own)).sources == (own,)
    with pytest.raises(
            LayoutError, match='moon_base: no such layout; packaged: .*contour_torture'):
        load_layout('moon_base')
    with pytest.raises(LayoutError, match='nowhere.yaml: cannot be read'):
        load_layout(tmp_path / 'nowhere.yaml')


@pytest.mark.parametrize(('text', 'words'), [
    ('name: [', 'is not YAML'),
    ('', 'expected a mapping'),
    ('name: a\nname: b\n', "field 'name' is given twice"),
    ('? {a: 1}\n: 2\n', 'broken.yaml')])
def test_a_file_that_is_not_yaml_is_refused(tmp_path, text, words):
    path = tmp_path / 'broken.yaml'
    path.write_text(text)
    with pytest.raises(LayoutError) as caught:
        load_layout(path)
    assert str(path) in str(caught.value) and words in str(caught.value)


def test_a_file_of_bytes_is_refused(tmp_path):
    path = tmp_path / 'broken.yaml'
    path.write_bytes(b'\xff\xfe\x00name')
    with pytest.raises(LayoutError, match='is not text'):
        load_layout(path)


def test_a_variant_adds_to_the_layout_it_is_based_on(tmp_path):
    (tmp_path / 'base.yaml').write_text(yaml.safe_dump(room()))
    variant = tmp_path / 'variant.yaml'
    variant.write_text(yaml.safe_dump({
        'name': 'variant', 'based_on': 'base', 'start': [1, 1, 0],
        'boxes': [{'name': 'lip', 'center': [3, 2], 'size': [0.4, 0.1], 'z': [0, 0.06]}]}))
    layout = load_layout(variant)
    assert layout.name == 'variant' and layout.start == (1.0, 1.0, 0.0)
    assert [box.name for box in layout.boxes] == ['crate', 'lip']
    assert layout.cylinders[0].name == 'leg'
    assert layout.sources == (variant, tmp_path / 'base.yaml')


def test_a_circle_of_variants_is_refused(tmp_path):
    (tmp_path / 'a.yaml').write_text('name: a\nbased_on: b\n')
    (tmp_path / 'b.yaml').write_text('name: b\nbased_on: a\n')
    with pytest.raises(LayoutError, match="b.yaml: based_on: 'a' is based on this layout itself"):
        load_layout(tmp_path / 'a.yaml')


@given(st.lists(
    st.tuples(st.integers(-6, 6), st.integers(-6, 6)), min_size=3, max_size=7, unique=True))
def test_crossing_sides_are_found_as_a_slow_reference_finds_them(points):
    points = np.array(points, dtype=float)
    assert (polygon_crossing(points) is None) == _is_simple(points)


def _is_simple(points):
    """Sample sides finely with exact fractions and look for another one through the same point."""
    from fractions import Fraction as F
    count = len(points)
    whole = [(F(int(x)), F(int(y))) for x, y in points]

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    def holds(a, b, p):
        return cross(a, b, p) == 0 and min(a[0], b[0]) <= p[0] <= max(a[0], b[0]) and (
            min(a[1], b[1]) <= p[1] <= max(a[1], b[1]))

    for i in range(count):
        a, b = whole[i], whole[(i + 1) % count]
        for k, p in enumerate(whole):
            if k not in (i, (i + 1) % count) and holds(a, b, p):
                return False
        for j in range(i + 1, count):
            c, d = whole[j], whole[(j + 1) % count]
            if {i, (i + 1) % count} & {j, (j + 1) % count}:
                continue
            if cross(a, b, c) * cross(a, b, d) < 0 and cross(c, d, a) * cross(c, d, b) < 0:
                return False
    return True


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_inside_an_l_shape(x, y):
    ell = np.array([[-2.0, -2.0], [2.0, -2.0], [2.0, 0.0], [0.0, 0.0], [0.0, 2.0], [-2.0, 2.0]])
    edge = min(abs(x + 2), abs(x - 2), abs(x), abs(y + 2), abs(y - 2), abs(y)) < 1e-9
    inside = -2 < x < 2 and -2 < y < 2 and not (x > 0 and y > 0)
    assert edge or polygon_holds(ell, [[x, y]])[0] == inside


@pytest.mark.parametrize('name', layout_names())
def test_every_packaged_layout_loads_under_its_own_name(name):
    assert load_layout(name).name == name


def test_the_readme_lists_every_field():
    readme = (Path(__file__).resolve().parent.parent / 'README.md').read_text(encoding='utf-8')
    rows = {
        line.split('|')[1].strip(): line for line in readme.splitlines() if line.startswith('| ')}
    kinds = {**layout_module._ELEMENTS, 'dock': (None, layout_module._DOCK)}
    for kind, (_, schema) in kinds.items():
        for field in schema:
            assert f'`{field}`' in rows[f'`{kind}`'], (kind, field)
    for field in layout_module._TOP:
        assert f'`{field}`' in readme
    for name in layout_names():
        assert f'`{name}`' in readme
