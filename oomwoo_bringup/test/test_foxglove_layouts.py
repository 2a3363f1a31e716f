"""The Foxglove layouts: their topics and fields are those of docs/interfaces.md."""
import json
from pathlib import Path
import re

import foxglove.layouts
from oomwoo_bringup.foxglove_server import layout_topics, LayoutError
import pytest
from rosidl_runtime_py.utilities import get_message

PACKAGE = Path(__file__).resolve().parents[1]
FILES = sorted((PACKAGE / 'foxglove').glob('*.json'))
# A panel's name in a layout file, and the classes of the SDK that describe its configuration.
PANELS = {
    '3D': 'ThreeDee', 'Plot': 'Plot', 'StateTransitions': 'StateTransitions', 'Gauge': 'Gauge',
    'Indicator': 'Indicator', 'RawMessages': 'RawMessages',
    'DiagnosticSummary': 'DiagnosticsSummary'}
TITLE = 'foxglovePanelTitle'
OF_EVERY_NODE = {'status': 'diagnostic_msgs/msg/DiagnosticStatus'}
# What the 3D panel can draw.
DRAWN = {
    'nav_msgs/msg/OccupancyGrid', 'sensor_msgs/msg/LaserScan', 'nav_msgs/msg/Path',
    'nav_msgs/msg/Odometry', 'visualization_msgs/msg/MarkerArray', 'geometry_msgs/msg/PoseStamped',
    'geometry_msgs/msg/PoseWithCovarianceStamped', 'geometry_msgs/msg/PoseArray'}


def documented_types():
    """Return the type of each topic that is in a table of docs/interfaces.md."""
    page = (PACKAGE.parent / 'docs' / 'interfaces.md').read_text(encoding='utf-8')
    types = dict(re.findall(r'^\| `([\w/]+)` \| (\w+/msg/\w+) \|', page, re.MULTILINE))
    assert types['scan'] == 'sensor_msgs/msg/LaserScan'
    return types | {'diagnostics': 'diagnostic_msgs/msg/DiagnosticArray'}


def type_of(topic, types):
    """Return a topic's documented type; every node has a status."""
    name = topic.lstrip('/')
    node, _, last = name.rpartition('/')
    if last in OF_EVERY_NODE and any(known.startswith(f'{node}/') for known in types):
        return OF_EVERY_NODE[last]
    return types[name]


def panels(path):
    """Return the configurations of a layout by panel."""
    return json.loads(path.read_text(encoding='utf-8'))['configById']


def expressions(config):
    """Yield what a panel reads: a topic and the fields in it."""
    for key in ('path', 'topicPath', 'topicToRender'):
        if key in config:
            yield config[key]
    yield from (series['value'] for series in config.get('paths', []))


def keys(name):
    """Return the keys that the SDK writes for a class of its layouts."""
    kind = getattr(foxglove.layouts, name)
    return set(kind()._to_dict())


def test_there_is_one_for_each_thing_to_watch():
    assert [file.stem for file in FILES] == ['cleaning', 'docking', 'localization_errors']


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_every_topic_is_documented_and_every_field_is_in_its_type(file):
    types = documented_types()
    shown = set()
    for config in panels(file).values():
        for expression in expressions(config):
            topic, *fields = expression.split('.')
            shown.add(topic)
            kind = get_message(type_of(topic, types))
            for index, field in enumerate(fields):
                inner = kind.get_fields_and_field_types()[field]
                if index < len(fields) - 1:
                    kind = get_message(inner.replace('/', '/msg/'))
        for topic in config.get('topics', {}):
            shown.add(topic)
            assert type_of(topic, types) in DRAWN
    assert layout_topics(file) == sorted(shown)


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_panels_are_configured_in_words_that_the_app_knows(file):
    for name, config in panels(file).items():
        prefix = PANELS[name.split('!')[0]]
        assert config.pop(TITLE)
        assert set(config) <= keys(f'{prefix}Config'), name
        for series in config.get('paths', []):
            assert set(series) <= keys(f'{prefix}Series'), name
        for rule in config.get('rules', []):
            assert set(rule) <= keys('IndicatorRule'), name
        assert set(config.get('cameraState', {})) <= keys('ThreeDeeCameraState')
        settings = {
            '/map': 'RosOccupancyGrid', '/scan': 'LaserScan', '/dock_detector/pose': 'Pose',
            '/localization_health/scan_scored': 'LaserScan', '/plan': 'Poses'}
        for topic, config_of_topic in config.get('topics', {}).items():
            known = keys(f'BaseRenderer{settings.get(topic, "RosMarker")}TopicSettings')
            assert set(config_of_topic) <= known, topic


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_every_panel_has_its_place_once(file):
    def leaves(node):
        if isinstance(node, str):
            return [node]
        assert set(node) == {'direction', 'first', 'second', 'splitPercentage'}
        assert node['direction'] in ('row', 'column') and 0 < node['splitPercentage'] < 100
        return leaves(node['first']) + leaves(node['second'])

    layout = json.loads(file.read_text(encoding='utf-8'))
    assert sorted(leaves(layout['layout'])) == sorted(layout['configById'])


@pytest.mark.parametrize('text', ['{', '[]', '{"configById": [1]}', '{"other": {}}'])
def test_a_file_that_is_no_layout_is_named(tmp_path, text):
    file = tmp_path / 'broken.json'
    file.write_text(text, encoding='utf-8')
    with pytest.raises(LayoutError, match=r'broken\.json'):
        layout_topics(file)
    with pytest.raises(LayoutError, match=r'gone\.json'):
        layout_topics(tmp_path / 'gone.json')
