"""The reflex node's ties to tf, which it asks rarely, and its markers."""
from oomwoo_localization.frames import compose
from oomwoo_localization.ros_support import LATCHED_QOS, matrix_from_msg
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.time import Time
from tf2_msgs.msg import TFMessage
from tf2_ros import Buffer, TransformException
from visualization_msgs.msg import Marker, MarkerArray

_MOST_POCKETS = 200
_TALL_M = 0.05                # of a marker


class RareFrames:
    """
    Transforms for a node that asks once in minutes.

    ``/tf`` is listened to from a question that its fixed frames cannot answer until it is
    answered: taking it in all the time costs a node of this kind more than all else that it does.
    So the first answer is None, and one who needs it asks again.
    """

    def __init__(self, node):
        """Listen to what is fixed, for ``node``."""
        self._node, self._moving = node, None
        self._fixed, self._buffer = {}, Buffer()
        latched = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(TFMessage, '/tf_static', self._on_static, latched)
        self.error = ''

    def _on_static(self, msg):
        for transform in msg.transforms:
            self._fixed[transform.child_frame_id] = transform
            self._buffer.set_transform_static(transform, 'tf_static')

    def _on_tf(self, msg):
        for transform in msg.transforms:
            self._buffer.set_transform(transform, 'tf')

    def clear(self):
        """Forget what moves: after a jump back in time, and once it was asked for."""
        self._buffer = Buffer()
        for transform in self._fixed.values():
            self._buffer.set_transform_static(transform, 'tf_static')

    def matrix(self, target, source):
        """Return the latest 4 x 4 ``target_from_source``; None: see ``error``, or ask again."""
        try:
            found = matrix_from_msg(
                self._buffer.lookup_transform(target, source, Time()).transform)
        except (TransformException, ValueError) as error:
            self.error = f'no transform {target} <- {source}: {error}'
            if self._moving is None:
                self._moving = self._node.create_subscription(TFMessage, '/tf', self._on_tf, 100)
            return None
        if self._moving is not None:
            self._node.destroy_subscription(self._moving)
            self._moving = None
            self.clear()
        return found


class NoGoPockets:
    """Pockets as latched markers in the map; they wait in odom until tf knows the map."""

    def __init__(self, node, topic, map_frame):
        """Publish for ``node``; there are none yet."""
        self._node, self._frame = node, map_frame
        self._publisher = node.create_publisher(MarkerArray, topic, LATCHED_QOS)
        self._placed, self.waiting = [], []
        self._publisher.publish(MarkerArray())

    def add(self, pocket):
        """Take a :class:`~oomwoo_clean.reflex_settings.Pocket`."""
        self.waiting.append(pocket)

    def place(self, map_from_odom):
        """Publish those that waited, at the plane pose (3,) of odom in the map."""
        self._placed += [
            (compose(map_from_odom, (*pocket.center, 0.0)), pocket) for pocket in self.waiting]
        self._placed, self.waiting = self._placed[-_MOST_POCKETS:], []
        stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(MarkerArray(markers=[
            self._marker(number, at, pocket, stamp)
            for number, (at, pocket) in enumerate(self._placed)]))

    def _marker(self, number, at, pocket, stamp):
        marker = Marker(
            ns='pockets', id=number, type=Marker.CYLINDER, action=Marker.ADD,
            text=pocket.reason_code)
        marker.header.frame_id, marker.header.stamp = self._frame, stamp
        marker.pose.position.x, marker.pose.position.y = float(at[0]), float(at[1])
        marker.pose.orientation.w = 1.0
        marker.scale.x = marker.scale.y = 2.0 * pocket.radius_m
        marker.scale.z = _TALL_M
        marker.color.r, marker.color.g, marker.color.b, marker.color.a = 0.9, 0.3, 0.1, 0.4
        return marker
