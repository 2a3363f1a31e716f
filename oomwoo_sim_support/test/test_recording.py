"""Recordings: complete definitions, and readable by an independent reader."""
from pathlib import Path

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from oomwoo_sim_support.recording import DefinitionError, message_definition, Recording
import pytest

POINT = 'float64 x\nfloat64 y\n'
POSE = (
    '# where\nPoint position\nstd_msgs/Header header   # when\nPoint[<=3] corners\n'
    'string<=5 name\nint8 MAX=3\n')
HEADER = 'builtin_interfaces/Time stamp\nstring frame_id\n'
TIME = 'int32 sec\nuint32 nanosec\n'


@pytest.fixture
def share(tmp_path):
    """Return a share_of() over two small packages."""
    for name, text in {
            'shapes/msg/Point': POINT, 'shapes/msg/Pose': POSE,
            'shapes/msg/Broken': 'nowhere/Thing thing\n',
            'std_msgs/msg/Header': HEADER, 'builtin_interfaces/msg/Time': TIME}.items():
        path = tmp_path / f'{name}.msg'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return lambda package: tmp_path / package


def test_a_definition_holds_every_nested_type_once(share):
    text = message_definition('shapes/msg/Pose', share)
    assert text.startswith(POSE.rstrip('\n'))
    assert [line for line in text.splitlines() if line.startswith('MSG: ')] == [
        'MSG: shapes/Point', 'MSG: std_msgs/Header', 'MSG: builtin_interfaces/Time']


@pytest.mark.parametrize('name', ['shapes/msg/Broken', 'shapes/msg/None', 'rubbish'])
def test_a_type_without_definition_is_named(share, name):
    with pytest.raises(DefinitionError, match='no definition of message type'):
        message_definition(name, share)


def test_a_recording_reads_back(share, tmp_path):
    path = tmp_path / 'new' / 'folder' / 'a.mcap'
    recording = Recording(path, share)
    recording.add_topic('/point', 'shapes/msg/Point')
    recording.add_topic('/point', 'shapes/msg/Point')
    cdr = (
        b'\x00\x01\x00\x00'
        + b'\x00\x00\x00\x00\x00\x00\xf8\x3f' + b'\x00\x00\x00\x00\x00\x00\x00\xc0')
    recording.write('/point', cdr, 5_000_000_000)
    recording.close()
    recording.close()
    with Path(path).open('rb') as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        found = list(reader.iter_decoded_messages())
    (_, channel, message, point), = found
    assert (channel.topic, message.log_time) == ('/point', 5_000_000_000)
    assert (point.x, point.y) == (1.5, -2.0)
