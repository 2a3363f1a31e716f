"""Which world Gazebo is started with, and that the bridge's ends are there on both sides."""
from pathlib import Path
import shutil
import subprocess
import sys
from xml.etree import ElementTree

from oomwoo_gazebo import gazebo_files
from oomwoo_gazebo.gazebo_files import bridge_config, GazeboWorld, service_bridges, WorldError
from oomwoo_localization.robot import default_robot_file, load_robot
from oomwoo_sim_support.layout import LayoutError
from oomwoo_sim_support.layout_sdf import PLUGINS
import pytest
import xacro
import yaml

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent
TEMPLATE = (PACKAGE / 'config' / 'bridge.yaml').read_text(encoding='utf-8')
# What ros_gz_bridge 1.0 (Jazzy) converts, by its documentation.
CONVERSIONS = {
    'rosgraph_msgs/msg/Clock': {'gz.msgs.Clock'},
    'sensor_msgs/msg/LaserScan': {'gz.msgs.LaserScan'},
    'sensor_msgs/msg/Imu': {'gz.msgs.IMU'},
    'sensor_msgs/msg/JointState': {'gz.msgs.Model'},
    'nav_msgs/msg/Odometry': {'gz.msgs.Odometry', 'gz.msgs.OdometryWithCovariance'},
    'tf2_msgs/msg/TFMessage': {'gz.msgs.Pose_V'},
    'ros_gz_interfaces/msg/Contacts': {'gz.msgs.Contacts'},
    'geometry_msgs/msg/Twist': {'gz.msgs.Twist'},
}


@pytest.fixture(autouse=True)
def share(monkeypatch):
    """Take this source folder for the installed one."""
    monkeypatch.setattr(gazebo_files, 'get_package_share_directory', lambda package: str(PACKAGE))


def entries(world='kitchen_dining'):
    """Return the bridge's entries."""
    return yaml.safe_load(bridge_config(TEMPLATE, world, load_robot().name))


def gazebo_topics(source, world):
    """Return the topics that the description makes Gazebo publish and listen to."""
    root = ElementTree.fromstring(xacro.process_file(
        str(ROOT / 'oomwoo_bringup' / 'urdf' / 'oomwoo_one.urdf.xacro'),
        mappings={'robot_file': str(default_robot_file()), 'odom_source': source}).toxml())
    said = {e.text for plugin in root.iter('plugin') for e in plugin
            if e.tag in ('odom_topic', 'tf_topic', 'topic')}
    heard = {plugin.findtext('topic') for plugin in root.iter('plugin')
             if 'diff-drive' in plugin.get('filename')}
    for sensor in root.iter('sensor'):
        scoped = (f'/world/{world}/model/{root.get("name")}/link/base_footprint/sensor/'
                  f'{sensor.get("name")}/contact')
        said.add(scoped if sensor.get('type') == 'contact' else sensor.findtext('topic'))
    return said - heard, heard


@pytest.mark.parametrize('source', ['robot_wheels', 'ground_truth'])
def test_every_topic_of_gazebo_that_is_bridged_is_one_that_the_robot_has(source):
    """A name that nobody publishes would be bridged in silence."""
    said, heard = gazebo_topics(source, 'kitchen_dining')
    for entry in entries():
        topics = heard if entry['direction'] == 'ROS_TO_GZ' else said | {
            '/world/kitchen_dining/clock'}
        assert entry['gz_topic_name'] in topics, entry


def test_types_are_pairs_that_the_bridge_converts_and_no_entry_goes_both_ways():
    """Keys as the bridge reads them, too."""
    for entry in entries():
        assert set(entry) == {'ros_topic_name', 'gz_topic_name', 'ros_type_name', 'gz_type_name',
                              'direction'}
        assert entry['gz_type_name'] in CONVERSIONS[entry['ros_type_name']]
        assert entry['direction'] in ('GZ_TO_ROS', 'ROS_TO_GZ')


def test_no_topic_of_gazebo_is_bridged_twice():
    """A second one from ROS is dead: gz-transport lets a node advertise a topic once."""
    topics = [entry['gz_topic_name'] for entry in entries()]
    assert len(set(topics)) == len(topics)


def test_ros_topics_are_those_of_the_interfaces():
    """Same names and types as the embedded simulator's, and three of the bridge's own."""
    page = (ROOT / 'docs' / 'interfaces.md').read_text(encoding='utf-8')
    assert len({entry['ros_topic_name'] for entry in entries()}) == len(entries())
    for entry in entries():
        name = entry['ros_topic_name'].lstrip('/')
        assert f'| `{name}` | {entry["ros_type_name"]} |' in page, name


def test_a_packaged_world_is_the_generated_file(tmp_path):
    """By name with or without suffix, or by the path that a user writes."""
    for name in ('kitchen_dining', 'kitchen_dining.world',
                 str(PACKAGE / 'worlds' / 'kitchen_dining.world')):
        world = GazeboWorld(name, tmp_path)
        assert world.file == PACKAGE / 'worlds' / 'kitchen_dining.world'
        assert world.name == 'kitchen_dining' and world.trouble == []
        assert world.layout.dock is not None
    assert not list(tmp_path.iterdir())


def test_another_speed_is_a_copy_and_nothing_else_differs(tmp_path):
    """The packaged file stays as it is."""
    original = (PACKAGE / 'worlds' / 'test_room.world').read_text(encoding='utf-8')
    world = GazeboWorld('test_room', tmp_path, 0.0)
    text = world.file.read_text(encoding='utf-8')
    assert world.file.parent == tmp_path
    assert text.replace('<real_time_factor>0<', '<real_time_factor>1.0<') == original
    assert (PACKAGE / 'worlds' / 'test_room.world').read_text(encoding='utf-8') == original


def test_a_foreign_world_is_taken_as_it_is_and_what_it_lacks_is_named(tmp_path):
    """It has no layout, so no start and no dock."""
    file = tmp_path / 'mine.sdf'
    file.write_text(
        '<sdf version="1.10"><world name="somewhere">'
        '<plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>'
        '</world></sdf>', encoding='utf-8')
    world = GazeboWorld(str(file), tmp_path)
    assert (world.name, world.layout, world.file) == ('somewhere', None, file)
    missing, = world.trouble
    assert missing.startswith('does not load gz-sim-user-commands-system, ')
    assert 'gz-sim-contact-system' in missing and 'gz-sim-sensors-system' in missing
    assert 'gz-sim-physics-system' not in missing
    with pytest.raises(WorldError, match='no <real_time_factor>'):
        GazeboWorld(str(file), tmp_path, 2.0)


def test_systems_that_see_no_spawned_robot_are_named(tmp_path):
    """Contacts and IMU before user commands; the worlds of the suite have them after."""
    def world(*names):
        file = tmp_path / 'mine.sdf'
        file.write_text('<sdf version="1.10"><world name="somewhere">' + ''.join(
            f'<plugin filename="{name}" name="x"/>' for name in names) + '</world></sdf>',
            encoding='utf-8')
        return GazeboWorld(str(file), tmp_path)

    names = [name for name, _, _ in PLUGINS]
    assert world(*names).trouble == []
    early, = world(*reversed(names)).trouble
    assert early.startswith('loads gz-sim-contact-system, gz-sim-imu-system before gz-sim-user')
    for file in (PACKAGE / 'worlds').glob('*.world'):
        assert GazeboWorld(str(file), tmp_path).trouble == [], file


def test_what_is_no_world_is_refused_by_name(tmp_path):
    """Broken XML, no world in it, no file at all."""
    for text, words in (('<sdf>', 'mine.world'), ('<sdf><model/></sdf>', 'no <world>')):
        file = tmp_path / 'mine.world'
        file.write_text(text, encoding='utf-8')
        with pytest.raises(WorldError, match=words):
            GazeboWorld(str(file), tmp_path)
    with pytest.raises(LayoutError, match='atlantis'):
        GazeboWorld('atlantis.world', tmp_path)


def test_services_have_the_worlds_name():
    """One argument each."""
    assert service_bridges('kitchen')[2] == (
        '/world/kitchen/set_pose@ros_gz_interfaces/srv/SetEntityPose')


def test_sensors_and_odometry_keep_step_with_the_physics():
    """Their periods are whole numbers of steps; Gazebo rounds up what is not."""
    root = ElementTree.fromstring(xacro.process_file(
        str(ROOT / 'oomwoo_bringup' / 'urdf' / 'oomwoo_one.urdf.xacro'),
        mappings={'robot_file': str(default_robot_file())}).toxml())
    rates = {float(e.text) for key in ('odom_publish_frequency', 'update_rate')
             for e in root.iter(key)}
    assert {10.0, 20.0, 50.0} <= rates
    for file in (PACKAGE / 'worlds').glob('*.world'):
        step_s = float(ElementTree.parse(file).findtext('world/physics/max_step_size'))
        for rate in rates:
            assert 1.0 / rate / step_s == pytest.approx(round(1.0 / rate / step_s))


@pytest.mark.parametrize('source', ['robot_wheels', 'ground_truth'])
def test_systems_and_their_parameters_are_those_of_gazebo(source):
    """Robot and worlds; an unknown library stays out, an unknown parameter is ignored."""
    systems = yaml.safe_load(
        (PACKAGE / 'test' / 'data' / 'gz_sim_8.14_systems.yaml').read_text(encoding='utf-8'))
    roots = [ElementTree.fromstring(xacro.process_file(
        str(ROOT / 'oomwoo_bringup' / 'urdf' / 'oomwoo_one.urdf.xacro'),
        mappings={'robot_file': str(default_robot_file()), 'odom_source': source}).toxml())]
    roots += [ElementTree.parse(file).getroot() for file in (PACKAGE / 'worlds').glob('*.world')]
    found = [plugin for root in roots for plugin in root.iter('plugin')]
    assert {plugin.get('filename') for plugin in found} == set(systems)
    for plugin in found:
        system = systems[plugin.get('filename')]
        assert plugin.get('name') == system['name']
        assert {element.tag for element in plugin} <= set(system['parameters']), system['name']


def test_every_world_of_a_layout_is_shipped():
    """Five of them are named by the documents."""
    names = {path.stem for path in (PACKAGE / 'worlds').glob('*.world')}
    assert {'living_room', 'kitchen_dining', 'contour_torture', 'contour_torture_lip'} <= names
    assert names == {p.stem for p in (ROOT / 'oomwoo_sim_support' / 'layouts').glob('*.yaml')}


@pytest.mark.skipif(not shutil.which('ros2'), reason='ros2 is not there')
def test_the_adapter_says_what_is_missing_without_gazebos_messages():
    """And ends with status 2, as for a wrong parameter."""
    try:
        import ros_gz_interfaces  # noqa: F401
    except ImportError:
        ended = subprocess.run(
            [sys.executable, '-m', 'oomwoo_gazebo.bumper_adapter_node'], capture_output=True,
            text=True, timeout=60)
        assert ended.returncode == 2
        assert 'error: bumper_adapter: ros_gz_interfaces is not installed' in ended.stderr
        assert 'Traceback' not in ended.stderr
