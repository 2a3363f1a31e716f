"""``scan_filtered``: the scan without the returns that are not on the map."""

from copy import copy
import sys

from oomwoo_localization.ros_support import OK, run_node, SENSOR_QOS, SuiteNode, WARN
from oomwoo_localization.scan_filter import filtered_ranges, FilterSettings
from sensor_msgs.msg import LaserScan

STALE_S = 2.0


class ScanFilterNode(SuiteNode):
    """Takes the scored scan, gives one that a matcher can take for ``scan``."""

    def __init__(self):
        """Declare parameters and topics."""
        super().__init__('scan_filter', FilterSettings)
        self._out = self.create_publisher(LaserScan, 'scan_filtered', SENSOR_QOS)
        self.create_subscription(
            LaserScan, 'localization_health/scan_scored', self._on_scan, SENSOR_QOS
        )
        self._heard_s = self.now_s()
        self.create_timer(0.5, self._watch)

    def _on_scan(self, msg):
        try:
            ranges, taken = filtered_ranges(msg.ranges, msg.intensities, self.settings)
        except ValueError as error:
            self.get_logger().warning(
                f'topic localization_health/scan_scored: {error}; ignored',
                throttle_duration_sec=5.0,
            )
            return
        self._heard_s = self.now_s()
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
        if self.now_s() - self._heard_s > STALE_S:
            self.set_status(
                WARN,
                f'topic {self.resolve_topic_name("localization_health/scan_scored")} is silent',
                'WAITING',
                'no_scan',
            )

    def time_went_back(self):
        """Wait from now on."""
        self._heard_s = self.now_s()


def main(args=None):
    """Run the node."""
    return run_node(ScanFilterNode, args)


if __name__ == '__main__':
    sys.exit(main())
