"""The map saver over DDS: what it writes, and what it says when there is nothing to write."""
import subprocess
import sys

from nav_msgs.msg import OccupancyGrid
from nav_worlds import block, room
import numpy as np
from oomwoo_localization.grids import load_map
from oomwoo_localization.ros_support import grid_to_msg, LATCHED_QOS
import pytest
import rclpy
from rclpy.node import Node


def save(path, **parameters):
    """Run the saver; return the completed process, its log in stderr."""
    line = [sys.executable, '-m', 'oomwoo_sim_support.map_saver_node', '--ros-args']
    for name, value in {'path': path, **parameters}.items():
        line += ['-p', f'{name}:={value}']
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def publisher():
    """Return a latched publisher of ``map``."""
    rclpy.init()
    node = Node('map_saver_test')
    yield node.create_publisher(OccupancyGrid, 'map', LATCHED_QOS)
    rclpy.shutdown()


def test_what_is_published_is_what_a_map_server_reads_again(publisher, tmp_path):
    grid = block(room(3.0, 2.0, origin=(1.0, -2.0, 0.0)), 1.2, -1.2, 1.4, -1.1)
    publisher.publish(grid_to_msg(grid))
    done = save(tmp_path / 'home.v2', patience_s=60.0)
    assert done.returncode == 0, done.stderr
    assert f'saved {tmp_path}/home.v2.yaml: 3.' in done.stderr
    read = load_map(tmp_path / 'home.v2.yaml')
    np.testing.assert_array_equal(read.cells, grid.cells)
    assert read.origin == grid.origin and read.resolution == grid.resolution


def test_without_a_map_it_gives_up_and_says_so(tmp_path):
    done = save(tmp_path / 'home', patience_s=0.5, use_sim_time=True)
    assert done.returncode == 1
    assert 'no map on /map within' in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('path, says', [
    ('/nowhere/at/all/home', 'parameter path: no folder /nowhere/at/all'),
    ("''", 'parameter path: give it a file to write')])
def test_a_place_that_cannot_be_written_to_is_named(path, says):
    done = save(path)
    assert done.returncode == 2
    assert says in done.stderr
