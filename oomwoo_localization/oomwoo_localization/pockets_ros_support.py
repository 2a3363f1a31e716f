"""No-go pockets in the ROS graph: where an escape reflex has freed the robot."""
from oomwoo_localization.ros_support import LATCHED_QOS
from visualization_msgs.msg import Marker, MarkerArray


class PocketWatch:
    """Keeps the pockets of ``escape_reflex/pockets`` as circles in the map."""

    def __init__(self, node, changed):
        """Listen for ``node``; ``changed()`` is called when there are others than before."""
        self._circles, self._changed = {}, changed
        node.create_subscription(
            MarkerArray, 'escape_reflex/pockets', self._on_markers, LATCHED_QOS)

    @property
    def circles(self):
        """Return a list of (x, y, radius), metres; the body's middle had better keep out."""
        return list(self._circles.values())

    def _on_markers(self, msg):
        before = self.circles
        for marker in msg.markers:
            key = (marker.ns, marker.id)
            if marker.action == Marker.DELETEALL:
                self._circles.clear()
            elif marker.action == Marker.DELETE:
                self._circles.pop(key, None)
            elif marker.type == Marker.CYLINDER:
                at = marker.pose.position
                self._circles[key] = (at.x, at.y, marker.scale.x / 2.0)
        if self.circles != before:
            self._changed()
