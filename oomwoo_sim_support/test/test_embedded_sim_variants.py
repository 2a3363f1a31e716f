"""The simulator with true odometry, in a namespace."""
import signal

import numpy as np
from oomwoo_localization.frames import compose
import pytest
import rclpy
from sim_graph import Graph, ROBOT, ROOM, START, start_node
from simulation_interfaces.msg import Result


@pytest.fixture
def upstairs(tmp_path):
    """Start a simulator with true odometry in a namespace."""
    layout = tmp_path / 'bare_room.yaml'
    layout.write_text(ROOM)
    process = start_node(
        'embedded_sim_node', f'world:={layout}', 'odom_source:=ground_truth',
        'real_time_factor:=4.0', remap=('__ns:=/upstairs',))
    rclpy.init()
    node = Graph('upstairs')
    try:
        node.until(lambda: all(node.count.values()), 20.0)
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=45)
    assert process.returncode == 0, output


def test_true_odometry_in_a_namespace(upstairs):
    """Every name is below the namespace; odom is the truth seen from the start, jumps included."""
    upstairs.command = (0.3, 1.0)
    upstairs.run(3.0)
    upstairs.command = None
    upstairs.run(1.5)
    np.testing.assert_allclose(compose(START, upstairs.odom), upstairs.truth, atol=1e-6)
    assert abs(upstairs.odom[2]) > 0.5
    assert upstairs.put(ROBOT.name, (1.0, -1.0, 2.0))[0] == Result.RESULT_OK
    upstairs.run(0.2)
    np.testing.assert_allclose(compose(START, upstairs.odom), (1.0, -1.0, 2.0), atol=1e-3)
