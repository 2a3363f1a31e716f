"""Who else may be driving: one behaviour at a time writes ``cmd_vel``."""
import math

from oomwoo_localization.ros_support import LATCHED_QOS
from std_msgs.msg import Bool, String

_SILENT_S = 2.0               # a follower that is there says its state twice a second


class OtherDrivers:
    """Listens to the cleaning behaviours; a docking does not begin while one of them drives."""

    def __init__(self, node):
        """Listen beside ``node``."""
        self._node = node
        self._cleaning, self._follower, self._heard_s = False, 'IDLE', -math.inf
        node.create_subscription(Bool, 'cleaning_active', self._on_cleaning, LATCHED_QOS)
        node.create_subscription(String, 'contour_follower/state', self._on_follower, LATCHED_QOS)

    def problem(self):
        """Return (reason code, message) while another behaviour drives, else None."""
        # What a process that is gone said last is no reason to wait for ever.
        if self._cleaning and self._node.count_publishers('cleaning_active'):
            return 'CLEANING', 'the robot is cleaning: call clean_manager/pause or cancel first'
        if self._follower != 'IDLE' and self._node.now_s() - self._heard_s < _SILENT_S:
            return 'CLEANING', (f'the contour follower drives ({self._follower}): switch it off '
                                'with contour_follower/enable first')
        return None

    def _on_cleaning(self, msg):
        self._cleaning = msg.data

    def _on_follower(self, msg):
        self._follower, self._heard_s = msg.data, self._node.now_s()
