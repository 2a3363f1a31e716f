"""The edge manager's lines to the navigator and to the follower, and its markers."""
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Pose, PoseArray, PoseStamped
from nav2_msgs.action import NavigateToPose
from oomwoo_clean.job_run import ENDED, IDLE, NavReport, PAUSED, WAITING
from oomwoo_localization.ros_support import LATCHED_QOS, pose_to_msg, WARN
from rclpy.action import ActionClient
from std_msgs.msg import Bool, ColorRGBA, Empty, String
from std_srvs.srv import SetBool
from visualization_msgs.msg import Marker, MarkerArray

_ENDINGS = {
    GoalStatus.STATUS_SUCCEEDED: 'SUCCEEDED', GoalStatus.STATUS_ABORTED: 'FAILED',
    GoalStatus.STATUS_CANCELED: 'FAILED'}


# Jobs that clean: the first named goes on when two have begun at once.
CLEANERS = ('clean_manager', 'coverage_planner', 'wall_clean_bump_out')
_RESTING = ('', IDLE, PAUSED, *ENDED, 'HALT')


class OtherCleaners:
    """
    Whether another job cleans: two would take the navigator and the wheels from each other.

    By what each says its state to be. One that is gone cleans no more, whatever it said last.
    """

    def __init__(self, node, own_cleans):
        """Listen to all jobs but that of ``node``; ``own_cleans()`` tells whether that cleans."""
        self._node, self._own_cleans = node, own_cleans
        self._states, self._at_work, self._active = {}, {}, False
        self._topics = {
            name: node.resolve_topic_name(f'{name}/state')
            for name in CLEANERS if name != node.get_name()}
        for name, topic in self._topics.items():
            node.create_subscription(
                String, topic, lambda msg, name=name: self._on_state(name, msg.data), LATCHED_QOS)
        node.create_subscription(Bool, 'cleaning_active', self._on_active, LATCHED_QOS)

    def _on_state(self, name, state):
        self._states[name] = state
        if state != WAITING:                  # which is before it begins, or while it is at work
            self._at_work[name] = state not in _RESTING

    def _on_active(self, msg):
        if not self._own_cleans():            # else it may be of this node
            self._active = msg.data

    def problem(self):
        """Return a sentence that names the job that cleans, '' when none does."""
        name = self._cleaner()
        return f'{name} is cleaning ({self._states[name]}): stop that first' if name else ''

    def start(self, run):
        """Start the job ``run`` of the node, or say in its status which other one cleans."""
        why = self.problem()
        if why:
            self._node.set_status(WARN, f'not started: {why}', IDLE, 'OTHER_JOB')
        else:
            run.start()

    def give_way(self, run):
        """Pause the job ``run`` of the node while one that is named before it cleans."""
        if run.running and self.goes_first():
            run.hold(f'paused: {self.problem()}')

    def goes_first(self):
        """Tell whether a job cleans that is named before this one."""
        own = self._node.get_name()
        before = CLEANERS[:CLEANERS.index(own)] if own in CLEANERS else CLEANERS
        return self._cleaner() in before

    def _cleaner(self):
        for name, state in self._states.items():
            cleans = self._at_work.get(name, state == WAITING and self._active)
            if cleans and self._node.count_publishers(self._topics[name]):
                return name
        return None


class NavigatorLine:
    """One goal at a time for ``navigate_to_pose``; ``report`` says how it goes."""

    def __init__(self, node, frame_id, others):
        """Talk for ``node``; goals are in ``frame_id``; ``others`` (OtherCleaners) keep theirs."""
        self._node, self._frame_id, self._others = node, frame_id, others
        self._client = ActionClient(node, NavigateToPose, 'navigate_to_pose')
        self._cancel_all = node.create_client(CancelGoal, 'navigate_to_pose/_action/cancel_goal')
        self._swept_up = False
        self._handle = None
        self._cancelled_s = None
        self._heard_s = 0.0
        self.report = NavReport()

    def ready(self):
        """Tell whether there is a navigator; at first, stop what an earlier manager left."""
        if not self._client.server_is_ready():
            return False
        if not self._swept_up and not self._others.problem():
            self._swept_up = True
            self._cancel_all.call_async(CancelGoal.Request())
        return True

    @property
    def active(self):
        """Tell whether a goal is on its way, accepted or about to be."""
        return self.report.status == 'ACTIVE'

    def silent_for(self, now_s):
        """Return the seconds since the navigator last said anything about the running goal."""
        return now_s - self._heard_s if self.active else 0.0

    def hear(self, now_s):
        """Take ``now_s`` as the last sign of life, after a jump of the clock."""
        self._heard_s = now_s

    def go(self, goal_id, pose):
        """Send a goal (x, y, yaw), once for each ``goal_id``."""
        if goal_id == self.report.goal_id:
            return
        goal = NavigateToPose.Goal(pose=PoseStamped(pose=pose_to_msg(pose)))
        goal.pose.header.frame_id = self._frame_id
        goal.pose.header.stamp = self._node.get_clock().now().to_msg()
        self.report, self._handle, self._cancelled_s = NavReport(goal_id, 'ACTIVE'), None, None
        self._heard_s = self._node.now_s()
        sent = self._client.send_goal_async(goal, lambda msg: self._on_feedback(goal_id))
        sent.add_done_callback(lambda future: self._on_answer(goal_id, future.result()))

    def cancel(self, again_s=1.0):
        """Ask the running goal to end, which it then does; ask again after ``again_s``."""
        now_s = self._node.now_s()
        asked = self._cancelled_s is not None and 0.0 <= now_s - self._cancelled_s < again_s
        if asked or not self.active:
            return
        self._cancelled_s = now_s
        if self._handle is not None:
            self._handle.cancel_goal_async()

    def give_up(self, why):
        """Count the running goal as failed without waiting for an answer that does not come."""
        if self.active:
            self.cancel(again_s=0.0)
            self.report = NavReport(self.report.goal_id, 'FAILED', why)

    def _on_feedback(self, goal_id):
        if goal_id == self.report.goal_id:
            self._heard_s = self._node.now_s()

    def _on_answer(self, goal_id, handle):
        self._on_feedback(goal_id)
        current = goal_id == self.report.goal_id and self.active
        if not handle.accepted:
            if current:
                self.report = NavReport(goal_id, 'FAILED', 'goal rejected')
            return
        handle.get_result_async().add_done_callback(
            lambda future: self._on_result(goal_id, future.result()))
        if not current or self._cancelled_s is not None:
            handle.cancel_goal_async()
        if current:
            self._handle = handle

    def _on_result(self, goal_id, answer):
        if goal_id != self.report.goal_id or not self.active:
            return
        result = answer.result
        cancelled = answer.status == GoalStatus.STATUS_CANCELED
        message = getattr(result, 'error_msg', '') or (
            'canceled' if cancelled else f'error code {result.error_code}')
        self.report = NavReport(goal_id, _ENDINGS.get(answer.status, 'FAILED'), message)


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

    def want(self, on, again_s=1.0):
        """Ask for on or off until that is acknowledged; a follower that is on is kept alive."""
        if on and self.enabled:
            self._keep_alive.publish(Empty())
        now_s = self._node.now_s()
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
