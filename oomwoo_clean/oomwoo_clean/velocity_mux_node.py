"""
Arbitration of ``cmd_vel`` where twist_mux is not installed, with the same configuration file.

The algorithm is :mod:`oomwoo_clean.velocity_mux`; this node is its adapter.
"""
import math
import sys

from geometry_msgs.msg import Twist
from oomwoo_clean.velocity_mux import sources, VelocityMux
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import LATCHED_QOS, OK, SuiteNode, WARN
from std_msgs.msg import Bool


class VelocityMuxNode(SuiteNode):
    """Passes on the commands of the first in rank, each as it comes."""

    def __init__(self, **kwargs):
        """Read topics and locks from the parameters; raises MuxError naming a bad one."""
        super().__init__(
            'velocity_mux', automatically_declare_parameters_from_overrides=True, **kwargs)
        topics, locks = sources({
            name: parameter.value
            for name, parameter in self.get_parameters_by_prefix('').items()})
        self._mux = VelocityMux(topics, locks)
        self._driver = None
        self._out = self.create_publisher(Twist, 'cmd_vel_out', 10)
        for source in topics:
            self.create_subscription(
                Twist, source.topic,
                lambda msg, name=source.name: self._on_command(name, msg), 10)
        for lock in locks:
            # A latched word is heard after a restart, too; one that is not latched does not match
            # a latched subscription. What comes by both is said twice, which changes nothing.
            for qos in (LATCHED_QOS, 10):
                self.create_subscription(
                    Bool, lock.topic,
                    lambda msg, name=lock.name: self._on_lock(name, msg.data), qos)
        ranked = sorted(topics, key=lambda source: source.priority)
        order = ' < '.join(f'{source.name} ({source.topic})' for source in ranked)
        self.set_status(OK, f'nobody drives yet; order: {order}', 'WAITING')

    def _on_command(self, name, msg):
        speeds = [getattr(part, axis) for part in (msg.linear, msg.angular) for axis in 'xyz']
        if not all(map(math.isfinite, speeds)):
            topic = self.resolve_topic_name(self._mux.topics[name].topic)
            self.get_logger().warning(
                f'topic {topic}: a speed is not a number or not finite; dropped',
                throttle_duration_sec=5.0)
            return
        now_s = self.now_s()
        if self._mux.command(name, now_s):
            self._out.publish(msg)
            if name != self._driver:
                self._driver = name
                self.set_status(
                    OK, f'driving: {name} ({self._mux.topics[name].topic})', name.upper())

    def _on_lock(self, name, closed):
        if self._mux.lock(name, closed, self.now_s()):
            self._out.publish(Twist())           # at once, not when the base has waited
            self._driver = None
            self.set_status(
                WARN, f'nobody may drive: {self._mux.locks[name].topic} is true', 'LOCKED', name)
        elif self._mux.locked_rank(self.now_s()) < 0 and self._driver is None:
            self.set_status(OK, 'no lock is closed; nobody drives yet', 'WAITING')

    def time_went_back(self):
        """Forget who spoke; the next command counts from now."""
        self._mux.forget()

    def stop(self):
        """Leave the robot standing."""
        self._out.publish(Twist())


def main(args=None):
    """Run the node."""
    return run_node(VelocityMuxNode, args)


if __name__ == '__main__':
    sys.exit(main())
