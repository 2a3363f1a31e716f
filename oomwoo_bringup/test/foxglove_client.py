"""A client of the Foxglove WebSocket protocol, no more than the tests need."""
import json
import struct
import time

from websockets.sync.client import connect

PROTOCOL = 'foxglove.sdk.v1'


class FoxgloveClient:
    """Connected to a server: which ``channels`` it offers by topic, and its messages."""

    def __init__(self, port, host='127.0.0.1', timeout_s=10.0):
        """Connect and read what the server says about itself into ``info``."""
        until = time.monotonic() + timeout_s
        while True:
            try:
                self._socket = connect(f'ws://{host}:{port}', subprotocols=[PROTOCOL])
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        assert self._socket.subprotocol == PROTOCOL
        self.channels, self.info, self.times = {}, None, []
        self._messages = []
        self._topics = {}                # subscription id: topic

    def close(self):
        """Disconnect."""
        self._socket.close()

    def __enter__(self):
        """Return the connected client."""
        return self

    def __exit__(self, *_):
        """Disconnect."""
        self.close()

    def subscribe(self, topic):
        """Ask for the messages of a topic that is on offer."""
        identifier = len(self._topics) + 1
        self._topics[identifier] = topic
        self._ask_for(identifier)

    def _ask_for(self, identifier):
        self._socket.send(json.dumps({'op': 'subscribe', 'subscriptions': [
            {'id': identifier, 'channelId': self.channels[self._topics[identifier]]['id']}]}))

    def unsubscribe(self, topic):
        """Ask for no more of a topic."""
        identifier = next(i for i, t in self._topics.items() if t == topic)
        self._socket.send(json.dumps({'op': 'unsubscribe', 'subscriptionIds': [identifier]}))

    def wait(self, is_done, timeout_s=10.0, meanwhile=None):
        """Take in messages until ``is_done()``; call ``meanwhile()`` now and then."""
        until = time.monotonic() + timeout_s
        while not is_done():
            assert time.monotonic() < until, f'not within {timeout_s} s'
            if meanwhile:
                meanwhile()
            try:
                self._take(self._socket.recv(timeout=0.05))
            except TimeoutError:
                continue

    def message(self, topic, timeout_s=10.0, meanwhile=None):
        """Return the next (time, data) of a topic."""
        self.wait(lambda: any(m[0] == topic for m in self._messages), timeout_s, meanwhile)
        found = next(m for m in self._messages if m[0] == topic)
        self._messages.remove(found)
        return found[1:]

    def _take(self, frame):
        if isinstance(frame, str):
            said = json.loads(frame)
            if said['op'] == 'serverInfo':
                self.info = said
            elif said['op'] == 'advertise':
                self.channels.update({c['topic']: c for c in said['channels']})
            elif said['op'] == 'unadvertise':
                gone = set(said['channelIds'])
                self.channels = {t: c for t, c in self.channels.items() if c['id'] not in gone}
            elif said['op'] == 'status' and 'Unknown channel ID' in said['message']:
                # The SDK tells of a channel a moment before it takes subscriptions to it.
                for identifier, topic in self._topics.items():
                    if said['message'].endswith(f': {self.channels[topic]["id"]}'):
                        self._ask_for(identifier)
        elif frame[0] == 1:
            identifier, time_ns = struct.unpack_from('<IQ', frame, 1)
            self._messages.append((self._topics[identifier], time_ns, frame[13:]))
        elif frame[0] == 2:
            self.times.append(struct.unpack_from('<Q', frame, 1)[0])
