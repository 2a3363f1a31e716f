"""
``scan_filtered``: the scan without the returns that are not on the map.

Scores need a pose, and whoever matches the filtered scan is to provide it: scans pass whole until
there are scores.
"""

from copy import copy
import math
import sys

from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import OK, SENSOR_QOS, SuiteNode, WARN
from oomwoo_localization.scan_filter import filtered_ranges, FilterSettings
from sensor_msgs.msg import LaserScan


class ScanFilterNode(SuiteNode):
    """Takes the scored scan, gives one that a matcher can take for ``scan``."""

    def __init__(self):
        """Declare parameters and topics."""
        super().__init__('scan_filter', FilterSettings)
        self._out = self.create_publisher(LaserScan, 'scan_filtered', SENSOR_QOS)
        self.create_subscription(
            LaserScan, 'localization_health/scan_scored', self._on_scored, SENSOR_QOS
        )
        self.create_subscription(LaserScan, 'scan', self._on_scan, SENSOR_QOS)
        self._scored_s = self._heard_s = -math.inf
        self.create_timer(0.5, self._watch)

    def _on_scan(self, msg):
        """Pass a scan on whole while nobody scores them."""
        self._heard_s = now_s = self.now_s()
        if now_s - self._scored_s > self.settings.patience_s:
            self._out.publish(msg)

    def _on_scored(self, msg):
        try:
            ranges, taken = filtered_ranges(msg.ranges, msg.intensities, self.settings)
        except ValueError as error:
            self.get_logger().warning(
                f'topic localization_health/scan_scored: {error}; ignored',
                throttle_duration_sec=5.0,
            )
            return
        self._scored_s = self.now_s()
        out = copy(msg)
        out.ranges = ranges
        self._out.publish(out)
        self.set_status(
            OK,
            'takes returns off the map out of the scan'
            if taken
            else 'all of the scan is on the map',
            'FILTERING' if taken else 'CLEAN',
        )

    def _watch(self):
        """Say what is missing."""
        now_s, patience_s = self.now_s(), self.settings.patience_s
        if now_s - self._scored_s <= patience_s:
            return
        scored = self.resolve_topic_name('localization_health/scan_scored')
        if now_s - self._heard_s <= patience_s:
            self.set_status(
                WARN, f'topic {scored} is silent: scans pass whole', 'PASSING', 'no_scores')
        else:
            scan = self.resolve_topic_name('scan')
            self.set_status(WARN, f'topics {scored} and {scan} are silent', 'WAITING', 'no_scan')

    def time_went_back(self):
        """Know of no scan and no scores."""
        self._scored_s = self._heard_s = -math.inf


def main(args=None):
    """Run the node."""
    return run_node(ScanFilterNode, args)


if __name__ == '__main__':
    sys.exit(main())
