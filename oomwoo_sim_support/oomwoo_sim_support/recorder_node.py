"""Records every topic into one MCAP file, as ``ros2 bag record -a`` does where installed."""
from dataclasses import dataclass
import sys

from ament_index_python.packages import get_package_share_directory
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import ERROR, OK, publishers_qos, SuiteNode, WARN
from oomwoo_localization.settings import setting
from oomwoo_sim_support.recording import DefinitionError, Recording
from rosidl_runtime_py.utilities import get_message

_DISCOVERY_PERIOD_S = 0.5
_DEPTH = 100


@dataclass(frozen=True)
class RecorderSettings:
    """Where to and what not."""

    path: str = setting('out/recording.mcap', 'file to write', live=False)
    exclude: str = setting(
        '/clock /rosout /parameter_events', 'topics to leave out, separated by spaces', live=False)


class RecorderNode(SuiteNode):
    """Subscribes to whatever is published, with the publisher's own QoS, and writes it unread."""

    def __init__(self):
        """Open the file and start to look for topics."""
        super().__init__('recorder', RecorderSettings)
        self._recording = Recording(self.settings.path, get_package_share_directory)
        self._left_out = set(self.settings.exclude.split())
        self._latest_ns = 0
        # Discovery has to go on while /clock stands still, hence the steady clock.
        self._topics = {}
        self.create_timer(_DISCOVERY_PERIOD_S, self._discover, clock=_steady_clock())
        self.set_status(OK, f'recording to {self.settings.path}', state='RECORDING')

    def _discover(self):
        for topic, types in self.get_topic_names_and_types():
            if topic in self._topics or topic in self._left_out or '/_action/' in topic:
                continue
            publishers = self.get_publishers_info_by_topic(topic)
            if not publishers:
                continue
            try:
                self._recording.add_topic(topic, types[0])
                kind = get_message(types[0])
            except (DefinitionError, ImportError, AttributeError, ValueError) as error:
                self._left_out.add(topic)
                self.set_status(
                    WARN, f'{topic} is not recorded: {error}', state='RECORDING',
                    reason_code='TYPE')
                continue
            self._topics[topic] = self.create_subscription(
                kind, topic, lambda data, topic=topic: self._write(topic, data),
                publishers_qos(publishers, _DEPTH), raw=True)

    def _write(self, topic, data):
        # Recordings must not step back in time, even when a simulation is reset.
        self._latest_ns = max(self._latest_ns, self.get_clock().now().nanoseconds)
        try:
            self._recording.write(topic, data, self._latest_ns)
        except OSError as error:
            self.set_status(
                ERROR, f'recording stopped: {self.settings.path}: {error.strerror}',
                state='FAILED', reason_code='DISK', recoverable=False)
            self.done, self.exit_status = True, 1

    def stop(self):
        """Finish the file."""
        self._recording.close()
        print(f'recorded {self._recording.messages} messages of {len(self._topics)} topics '
              f'to {self.settings.path}', flush=True)


def _steady_clock():
    from rclpy.clock import Clock, ClockType
    return Clock(clock_type=ClockType.STEADY_TIME)


def main():
    """Entry point of ``ros2 run oomwoo_sim_support recorder``."""
    sys.exit(run_node(RecorderNode))


if __name__ == '__main__':
    main()
