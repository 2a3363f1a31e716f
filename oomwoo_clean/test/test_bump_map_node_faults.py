"""What goes wrong about a bump map's node, over real DDS: its file, its map, its bumper."""
from bump_graph import end, MAP, played_world, started_nodes
import numpy as np
from oomwoo_clean.bump_map import BumpMap
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.ros_support import grid_to_msg
import pytest
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


def saved_map(path, reference):
    """Save a bump map of one touch on a map's grid."""
    bumps = BumpMap()
    bumps.reference = reference
    bumps.localized((0.0, 0.0, 0.0), 1.0)
    bumps.press('both', (0.0, 0.0, 0.0), 1.0)
    bumps.save(path)


def touch(world):
    """Drive to something, touch it and go back."""
    world.drive(0.2)
    world.press('left', 'right')
    world.run(0.3)
    world.drive(-0.05)
    world.press()
    world.drive(-0.15)


@pytest.mark.parametrize('how, says', [
    ('truncated', 'is no saved bump map'), ('turned', 'its origin yaw is 0.4, and not 0.3')])
def test_a_damaged_or_another_maps_file_is_left_alone_until_it_is_given_up(
        world, start, tmp_path, how, says):
    file = tmp_path / 'home.npz'
    x, y, yaw = MAP.origin
    turned = OccupancyGrid(MAP.cells, MAP.resolution, (x, y, yaw + 0.1))
    saved_map(file, turned if how == 'turned' else MAP)
    if how == 'truncated':
        file.write_bytes(file.read_bytes()[:-300])
    before = file.read_bytes()
    node = start(file=file)
    world.map.publish(grid_to_msg(MAP))
    assert world.until(lambda: world.says(reason_code='FILE_REFUSED', touches=0)), world.values()
    assert says in world.values()[0] and str(file) in world.values()[0]
    touch(world)
    assert world.until(lambda: world.says(touches=1)), 'it goes on with a map of its own'
    answer = world.call(Trigger, 'save', Trigger.Request())
    assert not answer.success and says in answer.message and '~/clear' in answer.message
    assert file.read_bytes() == before

    assert world.call(Trigger, 'clear', Trigger.Request()).message == 'forgot 1 touches'
    assert world.until(lambda: world.says(reason_code='', touches=0))
    touch(world)
    assert world.until(lambda: world.says(touches=1))
    assert end(node) == 0
    again = BumpMap()
    again.reference = MAP
    again.load(file)
    assert again.placed == 1


def test_services_before_anything_is_known_say_what_is_missing(world, start, tmp_path):
    world.send_odom = world.send_tf = world.send_bumpers = False
    file = tmp_path / 'home.npz'
    node = start(file=file)
    save = world.call(Trigger, 'save', Trigger.Request())
    assert not save.success and save.message == 'not saved: no map on /map yet'
    clear = world.call(Trigger, 'clear', Trigger.Request())
    assert clear.success and clear.message == 'forgot 0 touches'
    world.map.publish(grid_to_msg(MAP))
    assert world.until(lambda: world.says(reason_code='NO_ODOMETRY'))
    assert world.until(lambda: world.grids and (np.array(world.grids[-1].data) == -1).all())
    assert world.call(Trigger, 'save', Trigger.Request()).message.startswith('0 touches saved to')
    assert end(node) == 0 and file.exists()


def test_a_bumper_that_ceases_while_pressed_has_to_let_go_before_it_counts_again(world, start):
    start()
    world.map.publish(grid_to_msg(MAP))
    assert world.until(lambda: world.says(state='MAPPING', reason_code=''))
    world.drive(0.2)
    world.press('left')
    assert world.until(lambda: world.says(touches=1))
    world.send_bumpers = False
    assert world.until(lambda: world.says(reason_code='NO_BUMPER'))
    assert '/bumper/left and /bumper/right' in world.values()[0]
    world.send_bumpers = True
    assert world.until(lambda: world.says(reason_code='BUMPER_STUCK'))
    world.drive(-0.2)
    assert world.says(touches=1, stuck=0), world.values()
    world.press()
    assert world.until(lambda: world.says(reason_code=''))
    world.pose[1] += 0.5
    touch(world)
    assert world.until(lambda: world.says(touches=2)), world.values()
