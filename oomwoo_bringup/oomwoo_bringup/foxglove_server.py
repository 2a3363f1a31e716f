"""
Serves serialised ROS 2 messages over the Foxglove WebSocket protocol, with the official SDK.

No ROS in here: messages come as CDR bytes, each topic with the text of its message definition in
the ``ros2msg`` form, and go to whoever has subscribed. The protocol and the app are Foxglove's.
"""
import json
from pathlib import Path
import re

import foxglove
from foxglove.websocket import Capability

# Shown by a panel without being named in it: the frames of the 3D panel.
ALWAYS = ('/tf', '/tf_static')
_TOPIC = re.compile(r'/[A-Za-z_]\w*(?:/[A-Za-z_]\w*)*')
# Where a panel's configuration names a topic: keys whose value is a path, or a dict by topic.
_PATH_KEYS = ('topicPath', 'topic', 'topicToRender', 'value', 'path')


class ServerError(RuntimeError):
    """The server cannot be had: its port is taken, or an address that is none."""


class LayoutError(ValueError):
    """A file that is no Foxglove layout; the message names it."""


def layout_topics(path):
    """
    Return the topics that a layout file shows, sorted.

    ``path`` is a layout exported from, or to be imported into, the app. Raises
    :class:`LayoutError`.
    """
    try:
        layout = json.loads(Path(path).read_text(encoding='utf-8'))
        panels = layout['configById']
        found = set()
        for panel in panels.values():
            found.update(_topics_of(panel))
    except OSError as error:
        raise LayoutError(f'{path}: {error.strerror}') from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LayoutError(f'{path}: is no Foxglove layout ({error!r})') from error
    return sorted(found)


def _topics_of(config):
    """Yield every topic in the configuration of one panel."""
    for key, value in config.items():
        if key == 'topics':
            yield from value
        elif isinstance(value, dict):
            yield from _topics_of(value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield from _topics_of(item)
        elif key in _PATH_KEYS and isinstance(value, str):
            # What follows a dot, or a slice or filter, is a field of the message.
            match = _TOPIC.match(value)
            if match:
                yield match[0]


class FoxgloveServer:
    """
    One WebSocket server and its topics.

    ``wanted(topic, is_wanted)`` is called, in a thread of the server, when a topic gets its first
    subscriber and when it loses its last: what nobody looks at need not be received.
    """

    def __init__(self, name, host, port, wanted):
        """Listen at ``host`` and ``port`` (0: any free one); raises :class:`ServerError`."""
        self._context = foxglove.Context()
        self._wanted = wanted
        self._channels = {}
        self._kept = {}                 # topic: last (data, time) of a latched one
        self._viewers = {}              # topic: clients that look at it
        try:
            self._server = foxglove.start_server(
                name=name, host=host, port=port, context=self._context, server_listener=self,
                capabilities=[Capability.Time])
        except (RuntimeError, OverflowError) as error:
            raise ServerError(f'no Foxglove server at {host}:{port}: {error}') from error

    @property
    def port(self):
        """The port that it listens at."""
        return self._server.port

    @property
    def topics(self):
        """The topics on offer."""
        return set(self._channels)

    def offer(self, topic, type_name, definition, latched=False):
        """
        Make a topic known to every client.

        ``definition`` is the text of ``type_name`` (``pkg/msg/Name``) and of all that it holds;
        the last message of a ``latched`` topic is kept for clients that come later.
        """
        if latched:
            self._kept[topic] = None
        schema = foxglove.Schema(
            name=type_name, encoding='ros2msg', data=definition.encode('utf-8'))
        self._channels[topic] = foxglove.Channel(
            topic, schema=schema, message_encoding='cdr', context=self._context)

    def withdraw(self, topic):
        """Take a topic back, if it is on offer."""
        channel = self._channels.pop(topic, None)
        self._kept.pop(topic, None)
        if channel is not None:
            channel.close()

    def send(self, topic, data, time_ns):
        """Send one CDR message, received at ``time_ns``, to the clients that look at ``topic``."""
        channel = self._channels.get(topic)
        if channel is None:
            return
        if topic in self._kept:
            self._kept[topic] = (data, time_ns)
        channel.log(data, log_time=time_ns)

    def tell_time(self, time_ns):
        """Tell every client the time of the graph."""
        self._server.broadcast_time(time_ns)

    def close(self):
        """End; clients are disconnected."""
        self._server.stop()

    # -- called by the SDK, in its threads ----------------------------------------------------

    def on_subscribe(self, client, channel):
        """Take in a client that looks at a topic from now on."""
        viewers = self._viewers.setdefault(channel.topic, set())
        viewers.add(client.id)
        kept = self._kept.get(channel.topic)
        if kept is not None:
            # The others get it again, which for a latched message makes no difference.
            self.send(channel.topic, *kept)
        if len(viewers) == 1:
            self._wanted(channel.topic, True)

    def on_unsubscribe(self, client, channel):
        """Let go a client that looks elsewhere or has left."""
        viewers = self._viewers.get(channel.topic, set())
        viewers.discard(client.id)
        if not viewers:
            self._wanted(channel.topic, False)
