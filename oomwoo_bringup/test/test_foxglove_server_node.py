"""The Foxglove server's node over real DDS: a message of the graph arrives at a client."""
import os
import socket
import subprocess
import sys
import time

from foxglove_client import FoxgloveClient
from mcap_ros2._dynamic import generate_dynamic
from oomwoo_localization.ros_support import LATCHED_QOS, SENSOR_QOS
import pytest
import rclpy
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Float32, String

DISCOVERY_S = 40.0           # of a loaded machine


def free_port():
    """Return a port that nobody listens at."""
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def started(*parameters, namespace=''):
    """Start the node; return (process, port)."""
    port = free_port()
    command = [sys.executable, '-m', 'oomwoo_bringup.foxglove_server_node', '--ros-args',
               '-p', f'port:={port}']
    for parameter in parameters:
        command += ['-p', parameter]
    if namespace:
        command += ['-r', f'__ns:={namespace}']
    return subprocess.Popen(
        command, env=dict(os.environ), stderr=subprocess.PIPE, text=True), port


@pytest.fixture
def graph():
    """Return a node to publish with."""
    rclpy.init()
    node = rclpy.create_node('foxglove_test')
    yield node
    node.destroy_node()
    rclpy.shutdown()


def end(process):
    """End the node as a launch does; return its exit status."""
    process.terminate()
    return process.wait(20)


def test_what_the_layouts_show_arrives_and_the_rest_is_not_on_offer(graph):
    progress = graph.create_publisher(Float32, '/clean_manager/progress', 10)
    states = graph.create_publisher(String, '/clean_manager/state', LATCHED_QOS)
    states.publish(String(data='FOLLOW'))
    scans = graph.create_publisher(LaserScan, '/scan', SENSOR_QOS)
    graph.create_publisher(String, '/private_matter', 10)
    process, port = started()
    try:
        with FoxgloveClient(port, timeout_s=DISCOVERY_S) as client:
            wanted = {'/clean_manager/progress', '/clean_manager/state', '/scan'}
            client.wait(lambda: wanted <= set(client.channels), DISCOVERY_S)
            assert '/private_matter' not in client.channels
            for topic in wanted:
                client.subscribe(topic)
            _, data = client.message(
                '/clean_manager/progress', DISCOVERY_S,
                lambda: progress.publish(Float32(data=0.25)))
            assert decoded(client, '/clean_manager/progress', data).data == 0.25
            # Published before anybody listened.
            _, data = client.message('/clean_manager/state', DISCOVERY_S)
            assert decoded(client, '/clean_manager/state', data).data == 'FOLLOW'
            scan = LaserScan(ranges=[1.5, 2.5], angle_min=-3.0)
            scan.header.frame_id = 'base_scan'
            time_ns, data = client.message(
                '/scan', DISCOVERY_S, lambda: scans.publish(scan))
            received = decoded(client, '/scan', data)
            # A nested type, from the definition that came over the socket alone.
            assert received.header.frame_id == 'base_scan'
            assert list(received.ranges) == [1.5, 2.5]
            assert abs(time.time() - time_ns * 1e-9) < 60.0
            graph.destroy_publisher(progress)
            client.wait(lambda: '/clean_manager/progress' not in client.channels, DISCOVERY_S)
    finally:
        assert end(process) == 0


def test_under_a_namespace_the_layouts_names_stay(graph):
    publisher = graph.create_publisher(Float32, '/upstairs/clean_manager/progress', 10)
    process, port = started(namespace='/upstairs')
    try:
        with FoxgloveClient(port, timeout_s=DISCOVERY_S) as client:
            client.wait(lambda: '/clean_manager/progress' in client.channels, DISCOVERY_S)
            client.subscribe('/clean_manager/progress')
            _, data = client.message(
                '/clean_manager/progress', DISCOVERY_S,
                lambda: publisher.publish(Float32(data=0.5)))
            assert decoded(client, '/clean_manager/progress', data).data == 0.5
    finally:
        assert end(process) == 0


@pytest.mark.parametrize('parameter, says', [
    ('layouts:=/nowhere', '/nowhere'), ('host:=nowhere.invalid', 'at nowhere.invalid')])
def test_what_cannot_be_had_is_said(parameter, says):
    process, _ = started(parameter)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 2 and says in error


def decoded(client, topic, data):
    """Decode a message with nothing but what the server said about its topic."""
    offered = client.channels[topic]
    decoders = generate_dynamic(offered['schemaName'], offered['schema'])
    return decoders[offered['schemaName']](data)
