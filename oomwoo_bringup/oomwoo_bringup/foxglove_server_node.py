"""
The graph for Foxglove on a machine without ``foxglove_bridge``: topics out, nothing in.

The server is :mod:`oomwoo_bringup.foxglove_server`; this node finds the topics that the layouts
show and passes on those that somebody looks at.
"""
from collections import deque
from dataclasses import dataclass
from pathlib import Path
import sys

from ament_index_python.packages import get_package_share_directory
from oomwoo_bringup.foxglove_server import (
    ALWAYS,
    FoxgloveServer,
    layout_topics,
    LayoutError,
    ServerError,
)
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import OK, publishers_qos, SuiteNode, WARN
from oomwoo_localization.settings import setting
from oomwoo_sim_support.recording import DefinitionError, message_definition
from rclpy.clock import Clock, ClockType
from rclpy.qos import DurabilityPolicy
from rosidl_runtime_py.utilities import get_message

_DISCOVERY_PERIOD_S = 0.5
_REQUESTS_PERIOD_S = 0.05
_DEPTH = 10
_GONE_AFTER_LOOKS = 4         # a publisher that is not seen once may be a node that starts again
EVERYTHING = '*'


@dataclass(frozen=True)
class FoxgloveServerSettings:
    """Where it listens and what it offers."""

    host: str = setting(
        '127.0.0.1', 'address to listen at; 0.0.0.0 lets in the whole network', live=False)
    port: int = setting(8765, 'port to listen at; 0: any free one', '', 0, 65535, live=False)
    topics: str = setting(
        '', 'topics on offer, separated by spaces; *: all; empty: those of the layouts',
        live=False)
    layouts: str = setting(
        '', 'folder of layouts; empty: that of oomwoo_bringup', live=False)


class FoxgloveServerNode(SuiteNode):
    """Offers topics once they have a publisher, receives them while they have a viewer."""

    def __init__(self):
        """Start the server and look for topics."""
        super().__init__('foxglove_server', FoxgloveServerSettings)
        self._names = self._wanted_topics()
        self._offered = {}              # topic as offered: (in the graph, message class, QoS)
        self._missed = {}               # topic as offered: looks that found no publisher
        self._subscriptions_by_topic = {}
        self._refused = set()
        self._requests = deque()        # (topic, is it wanted), from the server's threads
        try:
            self._server = FoxgloveServer(
                'oomwoo', self.settings.host, self.settings.port,
                lambda topic, wanted: self._requests.append((topic, wanted)))
        except ServerError as error:
            raise OSError(f'foxglove_server: {error}') from error
        # Viewers come and go while /clock stands still, hence the steady clock.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_DISCOVERY_PERIOD_S, self._discover, clock=steady)
        self.create_timer(_REQUESTS_PERIOD_S, self._serve, clock=steady)
        self.set_status(
            OK, f'Foxglove: connect to ws://{self.settings.host}:{self._server.port}',
            state='SERVING')

    def _wanted_topics(self):
        """Return the topics to offer, as the layouts name them, or None for all."""
        asked = self.settings.topics.split()
        if asked == [EVERYTHING]:
            return None
        if asked:
            return {'/' + name.lstrip('/') for name in asked}
        folder = self.settings.layouts or (
            Path(get_package_share_directory('oomwoo_bringup')) / 'foxglove')
        files = sorted(Path(folder).glob('*.json'))
        if not files:
            raise LayoutError(f'foxglove_server: layouts: no layout in {folder}')
        return {topic for file in files for topic in layout_topics(file)} | set(ALWAYS)

    def _discover(self):
        """Offer what has a publisher now; take back what has none any more."""
        there = dict(self.get_topic_names_and_types())
        for name in there if self._names is None else self._names:
            # Under a namespace, the layouts' names stay those of the robot by itself.
            topic = name if self._names is None else self.resolve_topic_name(name.lstrip('/'))
            publishers = self.get_publishers_info_by_topic(topic) if topic in there else []
            if publishers and name not in self._offered and name not in self._refused:
                self._offer(name, topic, there[topic][0], publishers)
        for name, (topic, *_) in list(self._offered.items()):
            there = bool(self.get_publishers_info_by_topic(topic))
            self._missed[name] = 0 if there else self._missed.get(name, 0) + 1
            if self._missed[name] >= _GONE_AFTER_LOOKS:
                self._server.withdraw(name)
                self._receive(name, False)
                del self._offered[name]

    def _offer(self, name, topic, type_name, publishers):
        qos = publishers_qos(publishers, _DEPTH)
        try:
            kind = get_message(type_name)
            definition = message_definition(type_name, get_package_share_directory)
        except (DefinitionError, ImportError, AttributeError, ValueError) as error:
            self._refused.add(name)
            self.set_status(
                WARN, f'{topic} is not on offer: {error}', state='SERVING', reason_code='TYPE')
            return
        self._offered[name] = topic, kind, qos
        self._server.offer(
            name, type_name, definition,
            latched=qos.durability == DurabilityPolicy.TRANSIENT_LOCAL)

    def _serve(self):
        """Do what viewers have asked for, and tell them the time of a simulation."""
        while self._requests:
            self._receive(*self._requests.popleft())
        if self.get_parameter('use_sim_time').value:
            self._server.tell_time(self.get_clock().now().nanoseconds)

    def _receive(self, name, wanted):
        """Subscribe to a topic that is wanted, or end that."""
        if wanted and name in self._offered and name not in self._subscriptions_by_topic:
            topic, kind, qos = self._offered[name]
            self._subscriptions_by_topic[name] = self.create_subscription(
                kind, topic, lambda data: self._server.send(
                    name, data, self.get_clock().now().nanoseconds), qos, raw=True)
        elif not wanted and name in self._subscriptions_by_topic:
            self.destroy_subscription(self._subscriptions_by_topic.pop(name))

    def stop(self):
        """Disconnect the viewers."""
        self._server.close()


def main(args=None):
    """Run the node."""
    return run_node(FoxgloveServerNode, args)


if __name__ == '__main__':
    sys.exit(main())
