"""The bump map's node over real DDS: bumper, odometry, tf and map in; grid, walls, status out."""
import math
import time

from bump_graph import end, MAP, ODOM_IN_MAP, played_world, started_nodes
from bump_worlds import R
import numpy as np
from oomwoo_clean.bump_map_node import bump_map_path, BumpMapNode, driven_on
from oomwoo_localization.frames import compose
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.ros_support import grid_from_msg, grid_to_msg, LATCHED_QOS
import pytest
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.parameter import Parameter
from std_msgs.msg import Bool
from std_srvs.srv import Trigger


@pytest.fixture
def world():
    """Return a world; its graph ends with the test."""
    with played_world() as world:
        yield world


@pytest.fixture
def start(world):
    """Return a function that starts the node; every one ends with the test."""
    with started_nodes() as start:
        yield start


def test_from_a_bump_to_the_grid_the_walls_and_the_file_and_back(world, start, tmp_path):
    file = tmp_path / 'home.yaml'
    node = start(file=file, segment_gap_m=0.5)
    world.map.publish(grid_to_msg(MAP))
    assert world.until(lambda: world.says(state='MAPPING', reason_code=''))

    # A curtain: lets go while the robot drives on, which backs off only then.
    world.pose = np.array([-0.3, -0.6, 0.0])
    world.run(0.2)
    for halves in (('left',), ()):
        world.press(*halves)
        for _ in range(12):
            world.pose[0] += 0.003
            world.tick()
    world.drive(-0.1)
    assert world.until(lambda: world.says(touches=0, placed=1, erased=1)), world.values()

    # Three touches of a wall straight ahead of where the robot stands in odom.
    for y in (0.0, 0.2, 0.4):
        world.pose = np.array([-0.2, y, 0.0])
        world.run(0.2)
        world.drive(0.2)
        world.press('left', 'right')
        world.run(0.3)
        world.drive(-0.05)
        world.press()
        world.drive(-0.15)
    assert world.until(lambda: world.says(touches=3, walls=1) and world.walls and any(
        len(marker.points) == 2 for marker in world.walls[-1].markers))
    lines, spheres = world.walls[-1].markers
    assert lines.header.frame_id == 'map' and len(spheres.points) == 3
    expected = [compose(ODOM_IN_MAP, (R, y, 0.0))[:2] for y in (0.0, 0.4)]
    found = sorted([(p.x, p.y) for p in lines.points], key=lambda p: p[1])
    np.testing.assert_allclose(found, sorted(expected, key=lambda p: p[1]), atol=0.03)

    world.run(3.0)
    grid = grid_from_msg(world.grids[-1])
    assert grid.shape == MAP.shape and world.grids[-1].header.frame_id == 'map'
    np.testing.assert_allclose(grid.origin, MAP.origin, atol=1e-6)
    been = compose(ODOM_IN_MAP, (-0.1, 0.2, 0.0))[:2]
    assert grid.lookup(grid.cells, np.array([*expected, been]), 7).tolist() == [100, 100, 0]
    assert (grid.cells == -1).any()

    # A wider wall, at once and without a restart; a value out of range is refused.
    solid = (grid.cells == 100).sum()
    answers = [world.call(SetParameters, 'set_parameters', SetParameters.Request(parameters=[
        Parameter('contact_radius_m', value=value).to_parameter_msg()])).results[0]
        for value in (0.12, 5.0)]
    assert [a.successful for a in answers] == [True, False]
    assert world.until(
        lambda: (np.array(world.grids[-1].data) == 100).sum() > 2 * solid)

    # Saved beside the map. Another node refuses it on another map, and goes on with it on its own.
    answer = world.call(Trigger, 'save', Trigger.Request())
    assert answer.success and '3 touches' in answer.message
    assert (tmp_path / 'home.bump.npz').is_file()
    assert end(node) == 0
    world.grids.clear()
    world.status.clear()
    world.map.publish(grid_to_msg(
        OccupancyGrid(np.zeros((60, 81), dtype=np.int8), 0.05, MAP.origin)))
    start(file=file, segment_gap_m=0.5)
    assert world.until(lambda: world.says(reason_code='FILE_REFUSED', touches=0))
    assert 'another map: 80 x 60 cells' in world.values()[0]
    answer = world.call(Trigger, 'save', Trigger.Request())
    assert not answer.success and 'another map' in answer.message
    world.map.publish(grid_to_msg(MAP))
    assert world.until(lambda: world.says(reason_code='', touches=3, walls=1))
    answer = world.call(Trigger, 'clear', Trigger.Request())
    assert answer.success and answer.message == 'forgot 3 touches'
    assert world.until(
        lambda: world.grids and not (np.array(world.grids[-1].data) == 100).any())


def test_it_says_what_is_missing_holds_back_while_lost_and_goes_on(world, start):
    node = start()
    world.send_odom = world.send_tf = world.send_bumpers = False
    assert world.until(lambda: world.says(reason_code='NO_ODOMETRY')), world.values()
    world.send_odom = True
    assert world.until(lambda: world.says(reason_code='NO_TRANSFORM'))
    world.send_tf = True
    assert world.until(lambda: world.says(reason_code='NO_BUMPER'))
    assert '/bumper/left and /bumper/right' in world.values()[0]
    world.press('left')
    world.send_bumpers = True
    assert world.until(lambda: world.says(reason_code='BUMPER_STUCK'))
    assert 'left half pressed from the start' in world.values()[0]
    world.press()
    assert world.until(lambda: world.says(reason_code='NO_MAP', touches=0)), world.values()
    world.map.publish(grid_to_msg(MAP))
    assert world.until(lambda: world.says(state='MAPPING', reason_code='', touches=0))

    # Chatter is one touch.
    for number in range(40):
        world.press(*(('right',) if number % 2 else ()))
        world.tick()
    world.press()
    assert world.until(lambda: world.says(touches=1))

    # Lost in the middle of it: held back, and placed where the robot turns out to be.
    world.run(3.0)
    world.is_lost.publish(Bool(data=True))
    assert world.until(lambda: world.says(state='LOST', reason_code='LOST'))
    world.pose = np.array([0.4, 0.2, 1.0])
    world.run(0.5)
    world.press('left', 'right')
    assert world.until(lambda: world.says(waiting=1, touches=1))
    world.press()
    world.run(1.0)
    world.odom_in_map = (-0.6, 0.2, 2.0)
    world.run(1.0)
    world.is_lost.publish(Bool(data=False))
    assert world.until(lambda: world.says(waiting=0, touches=2, placed_late=1))
    assert world.until(lambda: len(world.walls[-1].markers[1].points) == 2)
    at = world.walls[-1].markers[1].points[-1]
    x, y, yaw = compose(world.odom_in_map, world.pose)
    np.testing.assert_allclose(
        (at.x, at.y), (x + R * math.cos(yaw), y + R * math.sin(yaw)), atol=0.03)

    # A localizer that ceases counts as lost, too; the clock may jump back.
    world.send_tf = False
    assert world.until(lambda: world.says(state='LOST', reason_code='NO_TRANSFORM'))
    world.send_tf = True
    world.run(0.5)
    world.time_s -= 50.0
    assert world.until(lambda: world.says(state='MAPPING', reason_code='', touches=2))
    assert node.poll() is None and end(node) == 0


def test_a_file_that_is_no_place_for_it_is_refused_at_the_start(world, start):
    node = start(file='/tmp/bumps.txt')
    assert node.wait(60) == 2
    assert "file: expected a .npz or a map file (.yaml), got '/tmp/bumps.txt'" in (
        node.stderr.read())


def test_where_it_is_kept_and_where_a_moving_robot_is_by_now():
    assert bump_map_path('') is None
    assert bump_map_path('maps/home.yaml').name == 'home.bump.npz'
    assert bump_map_path('a/b.npz').parts == ('a', 'b.npz')
    np.testing.assert_allclose(
        driven_on((1.0, 2.0, math.pi / 2), 0.3, 0.0, 0.1), (1.0, 2.03, math.pi / 2))
    turned = driven_on((0.0, 0.0, 0.0), 0.1, 1.0, 0.2)
    assert turned[2] == pytest.approx(0.2) and turned[1] == pytest.approx(0.002, abs=1e-4)
    np.testing.assert_allclose(driven_on((0, 0, 0), 0.3, 0.0, 9.0), (0.06, 0, 0))
    np.testing.assert_allclose(driven_on((0, 0, 0), 0.3, 0.0, -1.0), (0, 0, 0))


OTHER = OccupancyGrid(np.where(np.eye(60, 80) > 0, 100, 0).astype(np.int8), 0.05, MAP.origin)


@pytest.fixture
def make():
    """Return a function that makes a node in this process, which nobody runs."""
    rclpy.init()
    nodes = []

    def build(**parameters):
        nodes.append(BumpMapNode(parameter_overrides=[
            Parameter(name, value=value) for name, value in parameters.items()]))
        return nodes[-1]

    yield build
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown()


def feel(node, *places):
    """Let the node's map feel something at poses, each a while after the one before."""
    for pose in places:
        feel.time_s += 10.0
        node._map.localized((0.0, 0.0, 0.0), feel.time_s)
        node._map.moved(pose, feel.time_s)
        node._map.press('left', pose, feel.time_s)
        node._map.release('left', feel.time_s + 0.2)


feel.time_s = 1000.0


def test_touches_stay_with_the_map_that_they_were_made_on(make, tmp_path):
    file = tmp_path / 'a.npz'
    node = make(file=str(file))
    node._on_map(grid_to_msg(MAP))
    feel(node, (0.0, 0.0, 0.0), (0.0, 1.0, 1.0))
    node._on_map(grid_to_msg(MAP))                     # said again
    grown = OccupancyGrid(np.zeros((70, 90), dtype=np.int8), 0.05, MAP.origin)
    node._on_map(grid_to_msg(grown))
    assert node._map.placed == 2 and not file.exists()

    node._on_map(grid_to_msg(OTHER))                   # smaller, with walls in it
    assert node._map.placed == 0 and 'another map' in node._refused
    first = file.read_bytes()
    feel(node, (0.5, 0.0, 0.0))
    node.stop()
    assert file.read_bytes() == first
    node._on_map(grid_to_msg(grown))                   # home again
    assert node._map.placed == 2 and not node._refused
    assert file.read_bytes() == first


def test_what_was_cleared_does_not_come_back_with_the_next_map(make, tmp_path):
    file = str(tmp_path / 'a.npz')
    first = make(file=file)
    first._on_map(grid_to_msg(MAP))
    feel(first, (0.0, 0.0, 0.0))
    first.stop()
    node = make(file=file)
    node._on_clear(None, Trigger.Response())
    node._on_map(grid_to_msg(MAP))
    assert node._map.placed == 0 and not node._refused


def test_a_file_that_cannot_be_asked_for_is_refused_and_the_end_says_so(make, tmp_path):
    node = make(file=str(tmp_path / ('n' * 300 + '.npz')))
    node._on_map(grid_to_msg(MAP))
    assert 'cannot be read (File name too long)' in node._refused
    feel(node, (0.0, 0.0, 0.0))

    said = {'info': [], 'error': []}

    class Ears:
        info, error = said['info'].append, said['error'].append

    node.get_logger = Ears
    node.stop()
    assert not said['info'] and 'not saved' in said['error'][0]


def test_lost_said_by_one_who_is_gone_is_no_reason_to_wait(make):
    node, judge = make(), rclpy.create_node('judge')
    lost = judge.create_publisher(Bool, 'localization_health/lost', LATCHED_QOS)
    node._localized = (node.now_s(), 0.0)
    node._on_lost(Bool(data=True))

    def comes_to(state):
        end = time.monotonic() + 20.0
        while time.monotonic() < end:
            node._localized = (node.now_s(), 0.0)
            if node._watch_localization() == state:
                return True
            time.sleep(0.1)
        return False

    assert comes_to('lost')
    judge.destroy_publisher(lost)
    judge.destroy_node()
    assert comes_to('')
