"""The simulator in a namespace: with true odometry; by the clock on the wall."""
from contextlib import contextmanager
import signal
import time

from nav_msgs.msg import Odometry
import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_localization.ros_support import seconds
import pytest
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.parameter import Parameter
from sim_graph import Graph, ROBOT, ROOM, START, start_node
from simulation_interfaces.msg import Result


@contextmanager
def simulator(folder, namespace, *parameters):
    """Start a simulator in a namespace; yield the node that hears it."""
    layout = folder / 'bare_room.yaml'
    layout.write_text(ROOM)
    process = start_node(
        'embedded_sim_node', f'world:={layout}', *parameters, remap=(f'__ns:=/{namespace}',))
    rclpy.init()
    node = Graph(namespace)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=45)
    assert process.returncode == 0, output


@pytest.fixture
def upstairs(tmp_path):
    """Start a simulator with true odometry in a namespace."""
    with simulator(
            tmp_path, 'upstairs', 'odom_source:=ground_truth', 'real_time_factor:=4.0') as node:
        node.until(lambda: all(node.count.values()), 20.0)
        yield node


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


def test_the_clock_on_the_wall(tmp_path):
    """Stamps are the time of day in even steps, and there is no /clock."""
    with simulator(tmp_path, 'attic', 'clock:=wall') as node:
        heard = []
        node.create_subscription(Odometry, 'odom', lambda msg: heard.append(
            (seconds(msg.header.stamp), time.time())), 50)
        node.until(lambda: len(heard) >= 60 and node.count['scan'] > 20)
        assert node.count['/clock'] == 0
        assert node.get_publishers_info_by_topic('/clock') == []
        stamps, arrivals = np.array(heard).T
        # Time that a busy machine loses makes one long step, not many odd ones.
        steps = np.diff(stamps)
        assert np.median(np.abs(arrivals - stamps)) < 0.15
        assert (np.abs(steps - 0.05) < 1e-6).mean() > 0.7
        assert steps.min() > 0.0
        refused = node.call(SetParameters, 'embedded_sim/set_parameters', SetParameters.Request(
            parameters=[Parameter('real_time_factor', value=2.0).to_parameter_msg()]))
        assert not refused.results[0].successful
        assert 'clock' in refused.results[0].reason
