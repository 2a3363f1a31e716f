"""The Foxglove server with a real client: what is on offer, sent, and wanted."""
import socket

from foxglove_client import FoxgloveClient
from oomwoo_bringup.foxglove_server import FoxgloveServer, ServerError
import pytest

HOST = '127.0.0.1'


@pytest.fixture
def serving():
    """Return (server, list that collects what is wanted)."""
    asked = []
    server = FoxgloveServer('test', HOST, 0, lambda *asked_for: asked.append(asked_for))
    yield server, asked
    server.close()


def test_a_message_arrives_as_it_was_sent_with_its_definition(serving):
    server, asked = serving
    server.offer('/score', 'std_msgs/msg/Float32', 'float32 data\n')
    with FoxgloveClient(server.port) as client:
        client.wait(lambda: '/score' in client.channels)
        offered = client.channels['/score']
        assert offered['encoding'] == 'cdr' and offered['schemaEncoding'] == 'ros2msg'
        assert (offered['schemaName'], offered['schema']) == (
            'std_msgs/msg/Float32', 'float32 data\n')
        assert 'time' in client.info['capabilities']
        assert 'clientPublish' not in client.info['capabilities']
        server.send('/score', b'nobody looks', 1)
        client.subscribe('/score')
        client.wait(lambda: asked == [('/score', True)])
        server.send('/score', b'\x00\x01\x00\x00\x00\x00\x00\x3f', 1_500_000_000)
        assert client.message('/score') == (1_500_000_000, b'\x00\x01\x00\x00\x00\x00\x00\x3f')
        server.tell_time(77)
        client.wait(lambda: client.times == [77])
        client.unsubscribe('/score')
        client.wait(lambda: asked == [('/score', True), ('/score', False)])


def test_a_topic_is_wanted_from_its_first_viewer_to_its_last(serving):
    server, asked = serving
    server.offer('/map', 'std_msgs/msg/Empty', '', latched=True)
    with FoxgloveClient(server.port) as first:
        first.wait(lambda: first.channels)
        first.subscribe('/map')
        first.wait(lambda: asked)
        server.send('/map', b'the map', 5)
        assert first.message('/map') == (5, b'the map')
        with FoxgloveClient(server.port) as second:
            second.wait(lambda: second.channels)
            second.subscribe('/map')
            # Latched: it comes to whoever is late, too.
            assert second.message('/map') == (5, b'the map')
        first.wait(lambda: server._viewers['/map'] and len(server._viewers['/map']) == 1)
        assert asked == [('/map', True)]
    first_gone = FoxgloveClient(server.port)
    first_gone.wait(lambda: asked == [('/map', True), ('/map', False)])
    first_gone.close()


def test_a_topic_that_is_taken_back_is_gone(serving):
    server, _ = serving
    server.offer('/a', 'std_msgs/msg/Empty', '')
    server.offer('/b', 'std_msgs/msg/Empty', '')
    with FoxgloveClient(server.port) as client:
        client.wait(lambda: set(client.channels) == {'/a', '/b'})
        server.withdraw('/a')
        client.wait(lambda: set(client.channels) == {'/b'})
        assert server.topics == {'/b'}
        server.withdraw('/a')
        server.send('/a', b'', 0)


def test_it_listens_to_this_machine_only(serving):
    server, _ = serving
    other = [a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    for address in {a for a in other if not a.startswith('127.')}:
        with pytest.raises(OSError):
            socket.create_connection((address, server.port), timeout=1.0)


def test_a_port_that_is_taken_is_named(serving):
    server, _ = serving
    with pytest.raises(ServerError, match=rf'127\.0\.0\.1:{server.port}: .*in use'):
        FoxgloveServer('second', HOST, server.port, lambda *_: None)
    with pytest.raises(ServerError, match='nowhere'):
        FoxgloveServer('third', 'nowhere.invalid', 0, lambda *_: None)
