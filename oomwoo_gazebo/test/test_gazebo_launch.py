"""world.launch.py sim:=gazebo under the real launch system, with stubs in Gazebo's place."""
from pathlib import Path
import re
from xml.etree import ElementTree

from oomwoo_gazebo.scan_watch import has_card
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support import launch_choices
import pytest
from stub_prefix import StubPrefix
import yaml

PACKAGE = Path(__file__).resolve().parents[1]
NODES = ('bumper_adapter', 'command_expiry', 'scan_watch')
REFLEX = ('escape_reflex', 'velocity_mux')
ROBOT = load_robot()
pytestmark = pytest.mark.skipif(
    not launch_choices.installed('oomwoo_bringup'), reason='the workspace is not built')


def stubs(folder, **create):
    """Return a prefix with Gazebo's packages, and stubs for the nodes beside it."""
    prefix = StubPrefix(folder, environment=('LIBGL_ALWAYS_SOFTWARE', 'EGL_PLATFORM'))
    prefix.add_gazebo(**create)
    prefix.add('oomwoo_gazebo', *NODES, share=PACKAGE)
    prefix.add('oomwoo_sim_support', 'battery_sim', 'ir_beacon_sim')
    prefix.add('oomwoo_clean', *REFLEX, share=PACKAGE.parent / 'oomwoo_clean')
    return prefix


def started(records):
    """Return {executable, or node's name: record}."""
    found = {}
    for record in records:
        names = [word.split(':=')[1] for word in record['argv'] if word.startswith('__node:=')]
        found[names[0] if names else record['executable']] = record
    return found


def parameters(record):
    """Return all parameters of a record, whatever node they are for."""
    found = {}
    for text in record['parameters']:
        for section in yaml.safe_load(text).values():
            found |= section['ros__parameters']
    return found


def flags(record):
    """Return {flag: value} of ``-flag value`` pairs in front of ROS's own arguments."""
    own = record['argv'][:record['argv'].index('--ros-args')]
    return dict(zip(own[::2], own[1::2]))


@pytest.fixture(scope='module')
def kitchen(tmp_path_factory):
    """Start the kitchen with all there is to say."""
    prefix = stubs(tmp_path_factory.mktemp('kitchen'))
    records, output, status = prefix.launch(
        'oomwoo_gazebo', 'world.launch.py', 'sim:=gazebo', 'world:=kitchen_dining.world',
        'x_pose:=-1.6', 'y_pose:=-0.9', 'yaw:=0.5', 'headless:=true', 'seed:=7',
        'real_time_factor:=2.5', 'namespace:=upstairs', 'odom_source:=ground_truth', count=12)
    found = started(records)
    assert set(found) == {
        'gz', 'create', 'robot_state_publisher', 'gazebo_bridge', 'gazebo_services', *NODES,
        *REFLEX, 'battery_sim', 'ir_beacon_sim'}, output
    return found, output, status


def test_it_says_what_it_took_and_ends_orderly(kitchen):
    """On an interrupt."""
    _, output, status = kitchen
    assert 'sim: gazebo' in output and 'Traceback' not in output and status == 0, output


def test_gazebo_gets_the_world_at_the_speed_and_no_window(kitchen):
    """The file is there, is that world and says that speed."""
    argv = kitchen[0]['gz']['argv']
    assert argv[:1] == ['sim'] and argv[argv.index('--seed') + 1] == '7'
    assert {'-r', '-s', '--headless-rendering'} <= set(argv)
    assert argv[-2:] == ['--on-exit-shutdown', 'true']
    world = ElementTree.parse(next(w for w in argv if w.endswith('.world'))).find('world')
    assert world.get('name') == 'kitchen_dining'
    assert world.findtext('physics/real_time_factor') == '2.5'


def test_the_robot_is_put_where_it_was_asked_to_be(kitchen):
    """From the description's topic, under robot.yaml's name, just over the floor."""
    put = flags(kitchen[0]['create'])
    assert put['-world'] == 'kitchen_dining' and put['-name'] == ROBOT.name
    assert put['-topic'] == 'robot_description'
    assert [float(put[k]) for k in ('-x', '-y', '-Y')] == [-1.6, -0.9, 0.5]
    assert 0.0 < float(put['-z']) <= 0.005


def test_the_description_is_that_of_the_robot_with_the_odometry_asked_for(kitchen):
    """Complete, with the simulated time, its frames in the namespace."""
    record = kitchen[0]['robot_state_publisher']
    described = parameters(record)
    assert described['use_sim_time'] is True
    assert ElementTree.fromstring(described['robot_description']).get('name') == ROBOT.name
    assert 'odometry_wheels' in described['robot_description']
    assert '/tf:=tf' in record['argv'] and '__ns:=/upstairs' in record['argv']


def test_the_bridge_reads_a_file_with_the_names_of_this_world(kitchen):
    """No placeholder is left; the contact sensors' scoped names are complete."""
    record = kitchen[0]['gazebo_bridge']
    assert record['argv'][0] == '--ros-args'        # a topic by argument would hide the file
    entries = yaml.safe_load(
        Path(parameters(record)['config_file']).read_text(encoding='utf-8'))
    by_name = {entry['ros_topic_name']: entry['gz_topic_name'] for entry in entries}
    assert by_name['bumper/left/contacts'] == (
        '/world/kitchen_dining/model/oomwoo_one/link/base_footprint/sensor/bumper_left/contact')
    assert not any('$' in topic for topic in by_name.values())


def test_services_are_those_that_spawn_and_kidnap(kitchen):
    """Below the world's name, as ros_gz_interfaces has them."""
    argv = kitchen[0]['gazebo_services']['argv']
    assert argv[:argv.index('--ros-args')] == [
        '/world/kitchen_dining/create@ros_gz_interfaces/srv/SpawnEntity',
        '/world/kitchen_dining/remove@ros_gz_interfaces/srv/DeleteEntity',
        '/world/kitchen_dining/set_pose@ros_gz_interfaces/srv/SetEntityPose']


def test_nodes_beside_gazebo_run_in_its_time_and_namespace(kitchen):
    """Beacon and battery know the world."""
    found = kitchen[0]
    for name in (*NODES, 'battery_sim', 'ir_beacon_sim'):
        assert parameters(found[name])['use_sim_time'] is True
        assert '__ns:=/upstairs' in found[name]['argv']
    for name in ('battery_sim', 'ir_beacon_sim'):
        assert Path(parameters(found[name])['world']).stem == 'kitchen_dining'


def test_commands_come_through_the_mux(kitchen):
    """What stands before the base listens to what the mux lets through; the bridge, to that."""
    assert 'cmd_vel:=cmd_vel_mux' in kitchen[0]['command_expiry']['argv']
    entries = yaml.safe_load(Path(
        parameters(kitchen[0]['gazebo_bridge'])['config_file']).read_text(encoding='utf-8'))
    assert [entry['ros_topic_name'] for entry in entries
            if entry['direction'] == 'ROS_TO_GZ'] == ['cmd_vel_base']
    assert 'cmd_vel_out:=cmd_vel_mux' in kitchen[0]['velocity_mux']['argv']
    assert parameters(kitchen[0]['velocity_mux'])['use_stamped'] is False


def test_software_rendering_where_there_is_no_card(kitchen):
    """Chosen by what is in /dev, and said."""
    found, output, _ = kitchen
    card = has_card()
    assert found['gz']['environment']['LIBGL_ALWAYS_SOFTWARE'] == (None if card else '1')
    assert ('rendered in software' in output) != card


def test_defaults_a_window_where_there_is_a_display_and_a_layout_of_ones_own(tmp_path):
    """No dock, no beacon; it starts where the layout says, at a speed that needs no waiting."""
    layout = tmp_path / 'own room.yaml'
    layout.write_text(
        'name: own\nstart: [0.5, -1, 90]\nfloor: [[-2, -2], [2, -2], [2, 2], [-2, 2]]\n'
        'cylinders:\n- {name: leg, center: [0, 0], radius: 0.1}\n', encoding='utf-8')
    records, output, _ = stubs(tmp_path).launch(
        'oomwoo_gazebo', 'world.launch.py', f'world:={layout}', 'reflex:=false',
        'real_time_factor:=5.0', 'command_wait_s:=0.1', count=9, DISPLAY=':7')
    found = started(records)
    assert set(found) == {
        'gz', 'create', 'robot_state_publisher', 'gazebo_bridge', 'gazebo_services',
        'battery_sim', *NODES}, output
    assert 'sim: gazebo (auto)' in output
    argv = found['gz']['argv']
    assert '-s' not in argv and '--headless-rendering' not in argv
    world = ElementTree.parse(next(w for w in argv if w.endswith('own.world'))).find('world')
    assert world.find("model[@name='leg']") is not None
    assert float(world.findtext('physics/real_time_factor')) == 1.0
    assert 'so it runs in real time' in output
    put = flags(found['create'])
    assert [float(put[k]) for k in ('-x', '-y')] == [0.5, -1.0]
    assert float(put['-Y']) == pytest.approx(1.5708, abs=1e-4)
    assert '<tf_topic>/model/oomwoo_one/tf</tf_topic>' in parameters(
        found['robot_state_publisher'])['robot_description']


def test_a_robot_that_gazebo_does_not_take_ends_the_launch(tmp_path):
    """Instead of a world without a robot that waits for ever."""
    records, output, status = stubs(tmp_path, status=1).launch(
        'oomwoo_gazebo', 'world.launch.py', 'sim:=gazebo', 'world:=test_room', 'headless:=true',
        count=99)
    assert 'create' in started(records)
    assert 'Gazebo did not take the robot into test_room' in output and status == 1


def test_a_base_that_nothing_would_stop_ends_the_launch(tmp_path):
    """What stands before it has died: it would go on with the last command."""
    prefix = stubs(tmp_path)
    prefix.script(prefix.folder / 'lib' / 'oomwoo_gazebo' / 'command_expiry', 'oomwoo_gazebo',
                  waits=False)
    _, output, _ = prefix.launch(
        'oomwoo_gazebo', 'world.launch.py', 'sim:=gazebo', 'world:=test_room', 'headless:=true',
        count=99)
    assert re.search(r'process\[command_expiry-\d+\] was required', output), output
