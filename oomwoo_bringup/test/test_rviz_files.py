"""RViz files: classes that exist, topics that are in docs/interfaces.md, QoS that matches."""
from pathlib import Path

import pytest
import yaml

PACKAGE = Path(__file__).resolve().parents[1]
CLASSES = yaml.safe_load(
    (PACKAGE / 'test' / 'data' / 'rviz_classes_14.1.5.yaml').read_text(encoding='utf-8'))
FILES = sorted(path.name for path in (PACKAGE / 'rviz').glob('*.rviz'))
HEADINGS = (
    'Topics', 'Meters', 'Beside Gazebo', 'Beside Nav2 and slam_toolbox',
    'On the robot')
# Nav2's planner does not latch its plan, and a latched subscription would not match it.
NOT_LATCHED_EVERYWHERE = {'plan'}
TOOL_TYPES = {
    'rviz_default_plugins/SetInitialPose': 'geometry_msgs/msg/PoseWithCovarianceStamped',
    'rviz_default_plugins/SetGoal': 'geometry_msgs/msg/PoseStamped'}


def load(name):
    """Return the contents of an RViz file."""
    return yaml.safe_load((PACKAGE / 'rviz' / name).read_text(encoding='utf-8'))


def documented():
    """Return ``{topic: (type, what it is)}`` of the tables of docs/interfaces.md."""
    page = (PACKAGE.parent / 'docs' / 'interfaces.md').read_text(encoding='utf-8')
    found = {}
    for heading in HEADINGS:
        section = page.split(f'\n## {heading}\n')[1].split('\n## ')[0]
        for row in section.splitlines():
            if row.startswith('| `'):
                cells = [cell.strip() for cell in row.strip('|').split('|')]
                found[cells[0].strip('`')] = (cells[1], cells[-1])
    return found


def subscriptions(config):
    """Return (display, topic entry) of every display that has one."""
    return [(display, display[key]) for display in config['Visualization Manager']['Displays']
            for key in ('Topic', 'Description Topic') if key in display]


def test_there_is_a_file_for_each_job():
    assert FILES == [
        'bump_map.rviz', 'edge_clean.rviz', 'localization.rviz', 'monitor_robot.rviz',
        'navigation.rviz']


@pytest.mark.parametrize('file', FILES)
def test_every_class_is_one_that_rviz_has(file):
    manager = load(file)['Visualization Manager']
    for kind, entries in (
            ('panels', load(file)['Panels']), ('displays', manager['Displays']),
            ('tools', manager['Tools']), ('views', [manager['Views']['Current']]),
            ('transformers', [manager['Transformation']['Current']])):
        assert {entry['Class'] for entry in entries} <= set(CLASSES[kind]), kind
    names = [display['Name'] for display in manager['Displays']]
    assert len(set(names)) == len(names)
    source = next(p['SyncSource'] for p in load(file)['Panels'] if 'SyncSource' in p)
    assert source in names


@pytest.mark.parametrize('file', FILES)
def test_every_topic_is_documented_with_the_type_that_the_display_takes(file):
    topics = documented()
    config = load(file)
    for display, entry in subscriptions(config):
        type_, _ = topics[entry['Value'].removeprefix('/')]
        taken = CLASSES['displays'][display['Class']]
        assert type_ in (taken or ['std_msgs/msg/String']), display['Name']
    for tool in config['Visualization Manager']['Tools']:
        if 'Topic' in tool:
            type_, _ = topics[tool['Topic']['Value'].removeprefix('/')]
            assert type_ == TOOL_TYPES[tool['Class']]


@pytest.mark.parametrize('file', FILES)
def test_subscriptions_match_what_is_published(file):
    topics = documented()
    for display, entry in subscriptions(load(file)):
        topic = entry['Value'].removeprefix('/')
        what = topics[topic][1]
        latched = 'latched' in what and topic not in NOT_LATCHED_EVERYWHERE
        # Latched to volatile shows nothing to who comes late; volatile to latched never matches.
        wanted = 'Transient Local' if latched else 'Volatile'
        assert entry['Durability Policy'] == wanted, display['Name']
        # A reliable subscription gets nothing from a best-effort publisher.
        assert ('sensor data' not in what and 'LaserScan' not in topics[topic][0]) or (
            entry['Reliability Policy'] == 'Best Effort'), display['Name']


@pytest.mark.parametrize('file, frame', [
    (name, 'odom' if name == 'monitor_robot.rviz' else 'map') for name in FILES])
def test_the_fixed_frame_is_there_without_more_than_the_job_needs(file, frame):
    assert load(file)['Visualization Manager']['Global Options']['Fixed Frame'] == frame


def test_each_shows_what_it_is_for():
    shown = {file: {entry['Value'] for display, entry in subscriptions(load(file))
                    if display['Enabled']} for file in FILES}
    assert {'/map', '/clean_manager/edges', '/scan', '/plan'} <= shown['edge_clean.rviz']
    assert {'/map', '/plan', '/scan'} <= shown['navigation.rviz']
    assert {'/map', '/localization_health/scan_scored', '/pose', '/odom_truth'} <= shown[
        'localization.rviz']
    assert {'/scan', '/odom'} <= shown['monitor_robot.rviz']
    assert {'/map', '/bump_map/walls', '/odom'} <= shown['bump_map.rviz']


def test_the_keep_out_overlay_of_the_bump_map_is_there_and_off():
    """Ticked on by hand; an update topic of its own, or it would take the map's updates."""
    overlay, = (display for display, entry in subscriptions(load('bump_map.rviz'))
                if entry['Value'] == '/bump_map')
    assert overlay['Enabled'] is False and 0.2 < overlay['Alpha'] < 0.8
    assert overlay['Update Topic']['Value'] == '/bump_map_updates'
