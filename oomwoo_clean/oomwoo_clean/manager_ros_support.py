"""The edge manager's line to the follower, and its markers."""
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Pose, PoseArray
from oomwoo_localization.ros_support import LATCHED_QOS
from std_msgs.msg import ColorRGBA, Empty, String
from std_srvs.srv import SetBool
from visualization_msgs.msg import Marker, MarkerArray


class FollowerLine:
    """Switches the contour follower on and off, and hears how it is."""

    def __init__(self, node, name='contour_follower'):
        """Talk for ``node`` to the follower called ``name``."""
        self._node = node
        self._enable = node.create_client(SetBool, f'{name}/enable')
        self._keep_alive = node.create_publisher(Empty, f'{name}/keep_alive', 1)
        self._touched = node.create_publisher(PoseArray, f'{name}/touched', LATCHED_QOS)
        self._told = None
        node.create_subscription(String, f'{name}/state', self._on_state, LATCHED_QOS)
        node.create_subscription(String, f'{name}/event', self._on_event, 10)
        self._asked = None            # (wanted, when, future) of the call that is under way
        self._acknowledged_s = 0.0
        self._heard_s = None
        self._bumped = False
        self.state = ''
        self.enabled = None           # as acknowledged; None: not known

    def tell_touched(self, points, frame_id):
        """Tell the follower what (N, 2) touch has found and it does not see."""
        if self._told is points:
            return
        self._told = points
        msg = PoseArray()
        msg.header.frame_id = frame_id
        msg.header.stamp = self._node.get_clock().now().to_msg()
        msg.poses = [Pose(position=Point(x=x, y=y)) for x, y in points.tolist()]
        self._touched.publish(msg)

    def heard_within(self, now_s, seconds):
        """Tell whether the follower has given a sign of life lately."""
        return self._heard_s is not None and now_s - self._heard_s <= seconds

    def hear(self, now_s):
        """Take ``now_s`` as the last sign of life, after a jump of the clock."""
        if self._heard_s is not None:
            self._heard_s = now_s
        if self._asked is not None:
            self.enabled = None                         # its answer may come or not
        self._acknowledged_s, self._asked = now_s, None

    def forget(self):
        """Count on nothing: the follower has fallen silent."""
        self.enabled, self.state = None, ''

    @property
    def stands(self):
        """Tell whether the follower is known not to drive, nor asked to."""
        return self.enabled is False and self._asked is None

    def take_bump(self):
        """Return whether it touched something since the last call."""
        bumped, self._bumped = self._bumped, False
        return bumped

    def want(self, on, now_s, again_s=1.0):
        """Ask for on or off until that is acknowledged; a follower that is on is kept alive."""
        if on and self.enabled:
            self._keep_alive.publish(Empty())
        if self.enabled and self.state == 'IDLE' and now_s - self._acknowledged_s > again_s:
            self.enabled = False              # restarted, or switched off by somebody else
        if (self.enabled is on and self._asked is None) or not self._enable.service_is_ready():
            return
        if self._asked is not None:
            wanted, asked_s, future = self._asked
            if wanted == on and now_s - asked_s < again_s:
                return
            self._enable.remove_pending_request(future)
        future = self._enable.call_async(SetBool.Request(data=on))
        self._asked = (on, now_s, future)
        future.add_done_callback(lambda done: self._on_answer(on, done))

    def _on_answer(self, on, future):
        if self._asked is None or self._asked[2] is not future or future.cancelled():
            return
        self._asked = None
        answer = future.result()
        if answer is not None and answer.success:
            self.enabled = on
            self._acknowledged_s = self._heard_s = self._node.now_s()
        elif answer is not None:
            self._node.get_logger().warning(
                f'the contour follower refused to be switched {"on" if on else "off"}: '
                f'{answer.message}',
                throttle_duration_sec=5.0)

    def _on_state(self, msg):
        self.state, self._heard_s = msg.data, self._node.now_s()

    def _on_event(self, msg):
        self._bumped |= msg.data.startswith('bump')


_COLOURS = {
    'swept': (0.10, 0.59, 0.25), 'dirty': (0.84, 0.10, 0.11), 'written_off': (0.0, 0.72, 0.83)}


class EdgeMarkers:
    """Draws the edges (swept green, dirty red, written off cyan) and the track."""

    def __init__(self, node, frame_id):
        """Publish ``~/edges`` for ``node``, latched."""
        self._node, self._frame_id = node, frame_id
        self._publisher = node.create_publisher(MarkerArray, '~/edges', LATCHED_QOS)
        self._sweep, self._spots, self._track = None, [], []
        self._drawn = None

    def publish(self, sweep):
        """Draw the edges of ``sweep`` if somebody looks and something has changed."""
        viewers = self._publisher.get_subscription_count()
        now = (id(sweep), viewers, int(sweep.swept.sum()), int(sweep.written_off.sum()),
               len(sweep.track))
        if not viewers or now == self._drawn:
            return
        self._drawn = now
        if sweep is not self._sweep:
            self._sweep, self._track = sweep, []
            self._spots = [Point(x=x, y=y, z=0.01) for x, y in sweep.rings.points.tolist()]
        self._track += [Point(x=x, y=y, z=0.005) for x, y, _ in sweep.track[len(self._track):]]
        masks = {'swept': sweep.swept, 'dirty': sweep.dirty, 'written_off': sweep.written_off}
        markers = [self._marker(name, Marker.POINTS, 0.03, _COLOURS[name]) for name in masks]
        for marker, mask in zip(markers, masks.values()):
            marker.points = [self._spots[i] for i in mask.nonzero()[0]]
        track = self._marker('track', Marker.LINE_STRIP, 0.01, (0.36, 0.44, 0.71))
        track.points = list(self._track) if len(self._track) > 1 else []
        self._publisher.publish(MarkerArray(markers=[
            marker if marker.points else self._none(marker) for marker in (*markers, track)]))

    def _marker(self, name, kind, width, colour):
        marker = Marker(ns=name, type=kind, action=Marker.ADD, lifetime=Duration())
        marker.header.frame_id = self._frame_id
        marker.header.stamp = self._node.get_clock().now().to_msg()
        marker.pose.orientation.w = 1.0
        marker.scale.x = marker.scale.y = width
        red, green, blue = colour
        marker.color = ColorRGBA(r=red, g=green, b=blue, a=1.0)
        return marker

    def _none(self, marker):
        marker.action = Marker.DELETE
        return marker
