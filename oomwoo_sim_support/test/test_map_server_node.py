"""The map server over DDS: the latched map, the services, and what it says to a bad file."""
import os
import subprocess
import sys

from nav2_msgs.srv import LoadMap
from nav_msgs.msg import OccupancyGrid
from nav_msgs.srv import GetMap
from nav_worlds import block, room
import numpy as np
from oomwoo_localization.grids import save_map
from oomwoo_localization.ros_support import grid_from_msg, LATCHED_QOS
import pytest
import rclpy
from rclpy.node import Node

DOMAIN = 47


def command(*parameters):
    """Return the command line and environment of the node."""
    line = [sys.executable, '-m', 'oomwoo_sim_support.map_server_node', '--ros-args']
    for parameter in parameters:
        line += ['-p', parameter]
    return line, dict(os.environ, ROS_DOMAIN_ID=str(DOMAIN))


@pytest.fixture(scope='module')
def served(tmp_path_factory):
    """Start the server on a map; return (node, maps received, grid, folder)."""
    folder = tmp_path_factory.mktemp('maps')
    grid = block(room(3.0, 2.0, origin=(1.0, -2.0, 0.3)), 1.2, -1.2, 1.4, -1.1)
    path, _ = save_map(grid, folder / 'first.yaml')
    save_map(room(1.0, 1.0), folder / 'second.yaml')
    line, env = command(f'yaml_filename:={path}')
    process = subprocess.Popen(line, env=env)
    rclpy.init(domain_id=DOMAIN)
    node = Node('map_server_test')
    received = []
    node.create_subscription(OccupancyGrid, 'map', received.append, LATCHED_QOS)
    yield node, received, grid, folder
    rclpy.shutdown()
    process.terminate()
    try:
        assert process.wait(20) == 0
    finally:
        process.kill()


def call(node, type_, name, request):
    """Return the answer of a service."""
    client = node.create_client(type_, name)
    assert client.wait_for_service(60.0)
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=30.0)
    return future.result()


def test_a_latecomer_gets_the_map_as_it_is_in_the_file(served):
    node, received, grid, _ = served
    for _ in range(600):
        rclpy.spin_once(node, timeout_sec=0.1)
        if received:
            break
    msg = received[0]
    assert msg.header.frame_id == 'map'
    found = grid_from_msg(msg)
    np.testing.assert_array_equal(found.cells, grid.cells)
    np.testing.assert_allclose(
        [found.resolution, *found.origin], [grid.resolution, *grid.origin], atol=1e-6)
    assert call(node, GetMap, 'map_server/map', GetMap.Request()).map == msg


def test_another_map_can_be_loaded_and_a_bad_one_leaves_the_one_before(served):
    node, received, _, folder = served
    answer = call(
        node, LoadMap, 'map_server/load_map',
        LoadMap.Request(map_url=f'file://{folder}/second.yaml'))
    assert answer.result == LoadMap.Response.RESULT_SUCCESS and answer.map.info.width == 40
    (folder / 'broken.yaml').write_text('image: first.pgm\nresolution: 0\norigin: [0, 0, 0]\n')
    for name, result in (('none.yaml', LoadMap.Response.RESULT_MAP_DOES_NOT_EXIST),
                         ('broken.yaml', LoadMap.Response.RESULT_INVALID_MAP_METADATA)):
        answer = call(
            node, LoadMap, 'map_server/load_map', LoadMap.Request(map_url=str(folder / name)))
        assert answer.result == result
    assert call(node, GetMap, 'map_server/map', GetMap.Request()).map.info.width == 40


@pytest.mark.parametrize('parameters, says', [
    ((), 'parameter yaml_filename'),
    (('yaml_filename:=/nowhere/house.yaml',), '/nowhere/house.yaml: cannot be read')])
def test_without_a_map_it_says_which_and_ends(parameters, says):
    line, env = command(*parameters)
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert says in done.stderr and 'Traceback' not in done.stderr
