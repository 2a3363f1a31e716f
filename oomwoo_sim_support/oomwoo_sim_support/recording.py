"""
MCAP recordings of ROS 2 messages, as Foxglove and ``ros2 bag`` read them.

The messages arrive serialised (CDR) and are written as they are; their definitions are gathered
from the ``.msg`` files of the installed packages into the ``ros2msg`` form of the MCAP registry.
"""
from functools import lru_cache
from pathlib import Path
import re

from mcap.writer import CompressionType, Writer

_PRIMITIVES = frozenset((
    'bool', 'byte', 'char', 'float32', 'float64', 'int8', 'uint8', 'int16', 'uint16', 'int32',
    'uint32', 'int64', 'uint64', 'string', 'wstring'))
_SEPARATOR = '=' * 80


class DefinitionError(ValueError):
    """A message type without a definition to be found."""


def message_definition(type_name, share_of):
    """
    Return the full text definition of ``pkg/msg/Name``: its own, then that of each type it holds.

    ``share_of(package)`` returns a package's share folder. Raises :class:`DefinitionError`, naming
    the type.
    """
    own = _definition_file(type_name, share_of)
    parts, known, queue = [own], {type_name}, _field_types(own, type_name)
    while queue:
        wanted = queue.pop(0)
        if wanted in known:
            continue
        known.add(wanted)
        text = _definition_file(wanted, share_of)
        package, _, name = wanted.split('/')
        parts.append(f'{_SEPARATOR}\nMSG: {package}/{name}\n{text}')
        queue.extend(_field_types(text, wanted))
    return '\n'.join(part.rstrip('\n') for part in parts) + '\n'


def _definition_file(type_name, share_of):
    try:
        package, kind, name = type_name.split('/')
        return (Path(share_of(package)) / kind / f'{name}.msg').read_text(encoding='utf-8')
    except (ValueError, OSError, LookupError) as error:
        raise DefinitionError(f'no definition of message type {type_name!r}: {error}') from error


def _field_types(text, type_name):
    package = type_name.split('/')[0]
    found = []
    for line in text.splitlines():
        words = line.split('#', 1)[0].split()
        if len(words) < 2:
            continue
        base = re.sub(r'(\[.*\]|<=\d+)$', '', re.sub(r'\[.*\]$', '', words[0]))
        if base in _PRIMITIVES:
            continue
        parts = base.split('/')
        if len(parts) == 1:
            parts = ['std_msgs', 'Header'] if base == 'Header' else [package, base]
        found.append(f'{parts[0]}/msg/{parts[-1]}')
    return found


class Recording:
    """One MCAP file, readable up to the last full chunk even when the writer is killed."""

    def __init__(self, path, share_of):
        """Open ``path`` for writing; ``share_of(package)`` returns a package's share folder."""
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.messages = 0
        self._file = self.path.open('wb')
        self._writer = Writer(self._file, chunk_size=256 * 1024, compression=CompressionType.ZSTD)
        self._writer.start(profile='ros2', library='oomwoo')
        self._definition = lru_cache(maxsize=None)(lambda name: message_definition(name, share_of))
        self._schemas, self._channels = {}, {}

    def add_topic(self, topic, type_name):
        """Make ``topic`` known; :class:`DefinitionError` when its type has no definition."""
        if topic in self._channels:
            return
        if type_name not in self._schemas:
            self._schemas[type_name] = self._writer.register_schema(
                name=type_name, encoding='ros2msg',
                data=self._definition(type_name).encode('utf-8'))
        self._channels[topic] = self._writer.register_channel(
            topic=topic, message_encoding='cdr', schema_id=self._schemas[type_name])

    def write(self, topic, data, time_ns):
        """Append the serialised ``data`` of a known topic, at ``time_ns`` of the recording."""
        self._writer.add_message(
            channel_id=self._channels[topic], log_time=time_ns, publish_time=time_ns, data=data)
        self.messages += 1

    def close(self):
        """Write the index and close the file; safe to repeat."""
        if not self._file.closed:
            self._writer.finish()
            self._file.close()
