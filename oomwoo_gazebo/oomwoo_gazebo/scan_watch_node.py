"""
Says within some seconds that Gazebo's scan does not come, and why.

Everything in the suite waits for a scan, and Gazebo's depends on a renderer that fails silently.
The reasons are in :mod:`oomwoo_gazebo.scan_watch`.
"""
from dataclasses import dataclass
import sys

from oomwoo_gazebo.scan_watch import (
    CLOCK,
    diagnosis,
    has_card,
    JOINTS,
    SCAN,
    software_rendering,
)
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import ERROR, OK, SENSOR_QOS, SuiteNode, WARN
from oomwoo_localization.settings import setting
from rclpy.clock import Clock, ClockType
from rosgraph_msgs.msg import Clock as ClockMsg
from sensor_msgs.msg import JointState, LaserScan

_PERIOD_S = 1.0


@dataclass(frozen=True)
class ScanWatchSettings:
    """How long it waits; wall time, since the simulated one may stand still."""

    first_s: float = setting(15.0, 'patience until the first scan', 's', 1.0, 600.0)
    stale_s: float = setting(5.0, 'patience between two scans', 's', 0.5, 600.0)


class ScanWatchNode(SuiteNode):
    """Listens for clock, joint states and scan."""

    def __init__(self):
        """Begin to wait."""
        super().__init__('scan_watch', ScanWatchSettings)
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._began = self._heard = self._wall.now()
        self.heard = set()
        self.create_subscription(LaserScan, 'scan', self._on_scan, SENSOR_QOS, raw=True)
        # What tells how far it got is not needed once a scan has come, and comes often.
        self._clues = [
            self.create_subscription(
                kind, topic, lambda _, clue=clue: self.heard.add(clue), SENSOR_QOS, raw=True)
            for kind, topic, clue in (
                (ClockMsg, '/clock', CLOCK), (JointState, 'joint_states', JOINTS))]
        self.create_timer(_PERIOD_S, self._watch, clock=self._wall)
        self.set_status(WARN, 'waiting for the first scan', 'WAITING', 'no_scan')

    def _on_scan(self, _):
        self._heard = self._wall.now()
        self.heard.add(SCAN)
        while self._clues:
            self.destroy_subscription(self._clues.pop())

    def _watch(self):
        silent_s = (self._wall.now() - self._heard).nanoseconds * 1e-9
        first = SCAN not in self.heard
        if silent_s > (self.settings.first_s if first else self.settings.stale_s):
            reason, why = diagnosis(self.heard, software_rendering(), has_card())
            topic = self.resolve_topic_name('scan')
            self.set_status(ERROR, f'no scan on {topic}: {why}', 'SILENT', reason)
        elif not first:
            self.set_status(OK, 'scans come in', 'RUNNING')


def main(args=None):
    """Run the node."""
    return run_node(ScanWatchNode, args)


if __name__ == '__main__':
    sys.exit(main())
