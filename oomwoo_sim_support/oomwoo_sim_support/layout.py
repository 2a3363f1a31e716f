"""
A world from one YAML file: walls, boxes, cylinders, arcs, soft things, carpets and a dock.

The package's README has the schema. Lengths are metres and angles degrees in the file; angles are
radians once loaded. What cannot be used is refused, naming the file, the element and the field.
"""
import math
from pathlib import Path

import numpy as np
from oomwoo_localization.dock import DockShape
from oomwoo_sim_support import layout_fields as read
from oomwoo_sim_support.layout_elements import (
    Arc,
    Box,
    Carpet,
    Cylinder,
    Dock,
    Layout,
    NarrowGap,
    Soft,
    Wall,
)
from oomwoo_sim_support.layout_primitives import primitives
import yaml

__all__ = [
    'LayoutError',
    'find_layout',
    'layout_folder',
    'layout_from_dict',
    'layout_names',
    'load_layout',
    'primitives',
]


class LayoutError(ValueError):
    """A layout that cannot be used; the message names file, element and field."""


_REQUIRED = object()
_HEIGHT = (0.0, 0.4)

# list in the file: (dataclass, {field in the file: (attribute, reader, default)})
_ELEMENTS = {
    'walls': (Wall, {
        'name': ('name', read.text, _REQUIRED), 'points': ('points', read.polyline, _REQUIRED),
        'closed': ('closed', read.flag, False), 'thickness': ('thickness', read.positive, 0.05),
        'z': ('z', read.height, _HEIGHT)}),
    'boxes': (Box, {
        'name': ('name', read.text, _REQUIRED), 'center': ('center', read.point, _REQUIRED),
        'size': ('size', read.size, _REQUIRED), 'yaw': ('yaw', read.degrees, 0.0),
        'z': ('z', read.height, _HEIGHT)}),
    'cylinders': (Cylinder, {
        'name': ('name', read.text, _REQUIRED), 'center': ('center', read.point, _REQUIRED),
        'radius': ('radius', read.positive, _REQUIRED), 'z': ('z', read.height, _HEIGHT)}),
    'arcs': (Arc, {
        'name': ('name', read.text, _REQUIRED), 'center': ('center', read.point, _REQUIRED),
        'radius': ('radius', read.positive, _REQUIRED), 'from': ('start', read.degrees, _REQUIRED),
        'to': ('stop', read.degrees, _REQUIRED), 'thickness': ('thickness', read.positive, 0.05),
        'z': ('z', read.height, _HEIGHT)}),
    'soft': (Soft, {
        'name': ('name', read.text, _REQUIRED), 'points': ('points', read.polyline, _REQUIRED),
        'closed': ('closed', read.flag, False), 'thickness': ('thickness', read.positive, 0.02),
        'z': ('z', read.height, _HEIGHT), 'press': ('press', read.not_negative, 0.0)}),
    'carpets': (Carpet, {
        'name': ('name', read.text, _REQUIRED), 'polygon': ('polygon', read.polygon, _REQUIRED),
        'friction': ('friction', read.positive, 1.0)}),
}
_DOCK = {
    'pose': ('pose', read.pose, _REQUIRED),
    'width': ('width', read.positive, DockShape.width),
    'depth': ('depth', read.positive, DockShape.depth),
    'panel': ('panel', read.positive, DockShape.panel),
    'back': ('back', read.positive, DockShape.back), 'tray': ('tray', read.positive, 0.15),
    'height': ('height', read.positive, 0.30)}
_TOP = ('name', 'based_on', 'start', 'floor', *_ELEMENTS, 'dock', 'narrow_gaps')


def layout_folder():
    """Return the folder of the packaged layouts: source tree, else the installed share folder."""
    beside = Path(__file__).resolve().parent.parent / 'layouts'
    if beside.is_dir():
        return beside
    from ament_index_python.packages import get_package_share_directory
    return Path(get_package_share_directory('oomwoo_sim_support')) / 'layouts'


def layout_names():
    """Return the names of the packaged layouts, sorted."""
    return sorted(path.stem for path in layout_folder().glob('*.yaml'))


def find_layout(path_or_name):
    """
    Return the path of a layout's file.

    Takes ``living_room``, ``living_room.world``, the path of a generated world (its layout is
    meant), or the path of any layout file. Raises :class:`LayoutError` when there is none.
    """
    given = Path(path_or_name)
    named_file = given.suffix in ('.yaml', '.yml')
    if named_file and (given.is_file() or given.parent != Path('.')):
        return given
    name = given.stem if named_file or given.suffix == '.world' else given.name
    packaged = layout_folder() / f'{name}.yaml'
    if packaged.is_file():
        return packaged
    if given.is_file():
        return given
    raise LayoutError(f'{path_or_name}: no such layout; packaged: {", ".join(layout_names())}')


def load_layout(path_or_name):
    """
    Read a layout.

    ``path_or_name`` is what :func:`find_layout` takes. Returns a :class:`Layout`; raises
    :class:`LayoutError` naming file, element and field.
    """
    path = find_layout(path_or_name)
    return _build(_read_yaml(path), str(path), path, (path,))


def layout_from_dict(raw, where='layout'):
    """Return the :class:`Layout` of a layout file's mapping; ``where`` stands for its name."""
    return _build(raw, where, None, ())


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice, of which YAML would silently keep the last."""


def _mapping(loader, node, deep=False):
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise LayoutError(f'line {node.start_mark.line + 1}: field {key!r} is given twice')
    return yaml.SafeLoader.construct_mapping(loader, node, deep=deep)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _read_yaml(path):
    try:
        return yaml.load(path.read_text(encoding='utf-8'), _Loader)
    except OSError as error:
        raise LayoutError(f'{path}: cannot be read ({error.strerror})') from error
    except UnicodeDecodeError as error:
        raise LayoutError(f'{path}: is not text ({error})') from error
    except LayoutError as error:
        raise LayoutError(f'{path}: {error}') from None
    except (yaml.YAMLError, TypeError) as error:
        raise LayoutError(f'{path}: is not YAML ({error})') from error
    except RecursionError:
        raise LayoutError(f'{path}: is nested too deeply to be a layout') from None


def _build(raw, where, path, sources):
    raw, sources = _with_base(raw, where, path, sources)
    values = {
        'name': _field(raw, 'name', read.text, where),
        'start': _field(raw, 'start', read.pose, where),
        'floor': _field(raw, 'floor', read.polygon, where)}
    for kind, (cls, schema) in _ELEMENTS.items():
        values[kind] = tuple(
            cls(**_fields(entry, schema, f'{where}: {_label(kind, number, entry)}'))
            for number, entry in enumerate(_list(raw, kind, where)))
    dock = raw.get('dock')
    values['dock'] = None if dock is None else Dock(**_fields(dock, _DOCK, f'{where}: dock'))
    values['narrow_gaps'] = _narrow_gaps(raw, where)
    layout = Layout(path=path, sources=sources, **values)
    _check_whole(layout, where)
    return layout


def _with_base(raw, where, path, sources):
    """Return the mapping merged into what it is based on: lists joined, the rest replaced."""
    if not isinstance(raw, dict):
        raise LayoutError(f'{where}: expected a mapping, got {type(raw).__name__}')
    for key in raw:
        if key not in _TOP:
            raise LayoutError(f'{where}: unknown field {key!r}; known: {", ".join(_TOP)}')
    if 'based_on' not in raw:
        return raw, sources
    name = _field(raw, 'based_on', read.text, where)
    beside = path.parent / f'{name}.yaml' if path else None
    base_path = beside if beside and beside.is_file() else find_layout(name)
    if base_path in sources:
        raise LayoutError(f'{where}: based_on: {name!r} is based on this layout itself')
    base, sources = _with_base(
        _read_yaml(base_path), str(base_path), base_path, (*sources, base_path))
    merged = {key: value for key, value in base.items() if key != 'based_on'}
    for key, value in raw.items():
        if key in _ELEMENTS or key == 'narrow_gaps':
            merged[key] = [*_list(merged, key, where), *_list(raw, key, where)]
        elif key != 'based_on':
            merged[key] = value
    return merged, sources


def _list(raw, key, where):
    value = raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise LayoutError(f'{where}: {key}: expected a list, got {value!r}')
    return value


def _label(kind, number, entry):
    name = entry.get('name') if isinstance(entry, dict) else None
    return f'{kind}[{number}]' + (f' {name!r}' if isinstance(name, str) else '')


def _field(raw, key, reader, where):
    if key not in raw:
        raise LayoutError(f'{where}: field {key!r} is missing')
    try:
        return reader(raw[key])
    except ValueError as error:
        raise LayoutError(f'{where}: {key}: {error}') from None


def _fields(entry, schema, where):
    if not isinstance(entry, dict):
        raise LayoutError(f'{where}: expected a mapping, got {entry!r}')
    for key in entry:
        if key not in schema:
            raise LayoutError(f'{where}: unknown field {key!r}; known: {", ".join(schema)}')
    values = {}
    for key, (attribute, reader, default) in schema.items():
        left_out = key not in entry and default is not _REQUIRED
        values[attribute] = default if left_out else _field(entry, key, reader, where)
    return values


def _narrow_gaps(raw, where):
    schema = {
        'between': ('between', _two_names, _REQUIRED),
        'width': ('width', read.not_negative, _REQUIRED),
    }
    return tuple(
        NarrowGap(**_fields(entry, schema, f'{where}: narrow_gaps[{number}]'))
        for number, entry in enumerate(_list(raw, 'narrow_gaps', where)))


def _two_names(value):
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f'expected [name, name], got {value!r}')
    return tuple(sorted(read.text(name) for name in value))


def _check_whole(layout, where):
    """Check what no single field shows: names, closed polylines, arcs, the start."""
    seen = {'dock': 'dock'} if layout.dock else {}
    for kind in _ELEMENTS:
        for element in getattr(layout, kind):
            here = f'{where}: {kind} {element.name!r}'
            if element.name in seen:
                raise LayoutError(
                    f'{here}: name: is already that of one of the {seen[element.name]}')
            seen[element.name] = kind
            _check_element(element, here)
    for number, gap in enumerate(layout.narrow_gaps):
        for name in gap.between:
            if name not in seen:
                raise LayoutError(
                    f'{where}: narrow_gaps[{number}]: between: there is no element {name!r}')
    start = np.array([layout.start[:2]])
    if not read.polygon_holds(layout.floor, start)[0]:
        raise LayoutError(f'{where}: start: {list(layout.start[:2])} is outside the floor')
    for part in primitives(layout):
        if not part.soft and part.signed_distance(start)[0] <= 0.0:
            raise LayoutError(
                f'{where}: start: {list(layout.start[:2])} is inside {part.element!r}')


def _check_element(element, where):
    if getattr(element, 'closed', False):
        if len(element.points) < 3:
            raise LayoutError(f'{where}: points: a closed line needs at least three')
        if math.dist(element.points[0], element.points[-1]) < 1e-6:
            raise LayoutError(f'{where}: points: the last repeats the first; "closed" joins them')
    if isinstance(element, Arc):
        if not 0.0 < element.stop - element.start <= math.tau + 1e-9:
            raise LayoutError(
                f'{where}: to: must lie above "from" and at most 360 degrees away from it')
        if element.thickness >= 2 * element.radius:
            raise LayoutError(f'{where}: thickness: must be less than twice the radius')
