"""What clients of ``navigate_to_pose`` have alike: goals one at a time, kept alive."""
import math
from uuid import uuid4

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import NavigateToPose
from oomwoo_clean.job_run import NavReport
from oomwoo_localization.ros_support import pose_to_msg
from rclpy.action import ActionClient
from unique_identifier_msgs.msg import UUID

_ENDINGS = {
    GoalStatus.STATUS_SUCCEEDED: 'SUCCEEDED', GoalStatus.STATUS_ABORTED: 'FAILED',
    GoalStatus.STATUS_CANCELED: 'FAILED'}
_ALIVE_PERIOD_S = 0.5
_LOOK_PERIOD_S = 1.0


class GoalKeepAlive:
    """
    Tells the navigator that whoever sent a goal is still there and wants it.

    An action's server does not see its client die: DDS takes 20 s to miss a process. A goal of
    which this has been said ends when it is said no more, where the navigator is the embedded one;
    Nav2 drives it to its end.
    """

    def __init__(self, node):
        """Speak for ``node``."""
        self._publisher = node.create_publisher(UUID, 'navigate_to_pose/keep_alive', 1)
        self._goal, self._said_s = None, -math.inf

    def new_goal(self):
        """Return the id of the goal that is about to be sent."""
        self._goal, self._said_s = UUID(uuid=list(uuid4().bytes)), -math.inf
        return self._goal

    def say(self, now_s):
        """Say it for that goal, if it is time to; call it at least twice a second."""
        if not 0.0 <= now_s - self._said_s < _ALIVE_PERIOD_S:
            self._said_s = now_s
            self._publisher.publish(self._goal)


class NavigatorLine:
    """One goal at a time for ``navigate_to_pose``; ``report`` says how it goes."""

    def __init__(self, node, frame_id, others=None):
        """
        Talk for ``node``; goals are in ``frame_id`` unless it is said with them.

        A job gives its ``others`` (OtherCleaners): while none of them cleans, a goal that is under
        way at first is what an earlier process left, and is stopped.
        """
        self._node, self._frame_id, self._others = node, frame_id, others
        self._client = ActionClient(node, NavigateToPose, 'navigate_to_pose')
        self._cancel_all = node.create_client(CancelGoal, 'navigate_to_pose/_action/cancel_goal')
        self._keep_alive = GoalKeepAlive(node)
        self._swept_up = others is None
        self._there, self._looked_s = False, 0.0
        self._handle = None
        self._cancelled_s = None
        self._heard_s = 0.0
        self.report = NavReport()

    def ready(self, now_s):
        """
        Tell whether there is a navigator; at first, stop for a job what an earlier one left.

        One that was there is looked for once a second, and when a goal is to be sent.
        """
        if not (self._there and 0.0 <= now_s - self._looked_s < _LOOK_PERIOD_S):
            self._there, self._looked_s = self._client.server_is_ready(), now_s
        if not self._there:
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

    def keep_alive(self, now_s):
        """Say that the running goal is still wanted; call it at least twice a second."""
        if self.active:
            self._keep_alive.say(now_s)

    def go(self, goal_id, pose, now_s, frame_id=''):
        """
        Send a goal (x, y, yaw), once for each ``goal_id``; after that, keep it alive.

        Returns False while there is no navigator to send it to.
        """
        if goal_id == self.report.goal_id:
            self.keep_alive(now_s)
            return True
        self._looked_s = -math.inf
        if not self.ready(now_s):
            return False
        goal = NavigateToPose.Goal(pose=PoseStamped(pose=pose_to_msg(pose)))
        goal.pose.header.frame_id = frame_id or self._frame_id      # and no stamp: as it is by now
        self.report, self._handle, self._cancelled_s = NavReport(goal_id, 'ACTIVE'), None, None
        self._heard_s = now_s
        sent = self._client.send_goal_async(
            goal, lambda msg: self._on_feedback(goal_id), self._keep_alive.new_goal())
        sent.add_done_callback(lambda future: self._on_answer(goal_id, future.result()))
        return True

    def cancel(self, now_s, again_s=1.0):
        """Ask the running goal to end, which it then does; ask again after ``again_s``."""
        asked = self._cancelled_s is not None and 0.0 <= now_s - self._cancelled_s < again_s
        if asked or not self.active:
            return
        self._cancelled_s = now_s
        if self._handle is not None:
            self._handle.cancel_goal_async()

    def give_up(self, why, now_s):
        """Count the running goal as failed without waiting for an answer that does not come."""
        if self.active:
            self.cancel(now_s, again_s=0.0)
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
