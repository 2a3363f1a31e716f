"""Have the navigator bring the robot to where the dock is in sight, if there is a navigator."""

from action_msgs.msg import GoalStatus
from nav2_msgs.action import NavigateToPose
from oomwoo_localization.frames import compose
from oomwoo_localization.ros_support import pose_to_msg
from rclpy.action import ActionClient


class StagingNavigator:
    """
    One goal of ``navigate_to_pose`` at a time.

    ``ended`` tells that no goal is under way any more, ``failed`` why it was not reached, ''
    otherwise.
    """

    def __init__(self, node):
        """Be a client of ``navigate_to_pose``."""
        self._node = node
        self._client = ActionClient(node, NavigateToPose, 'navigate_to_pose')
        self._handle, self._asked = None, 0
        self.ended, self.failed, self._cancelling = True, '', False

    def go(self, frame, dock, out_m):
        """
        Ask to be brought ``out_m`` before the mouth of a dock, with the back to it.

        ``dock`` (3,) is its pose in ``frame``. Returns False when there is no navigator.
        """
        if not self._client.server_is_ready():
            return False
        goal = NavigateToPose.Goal()
        goal.pose.header.frame_id = frame
        goal.pose.pose = pose_to_msg(compose(dock, (out_m, 0.0, 0.0)))
        self.ended, self.failed, self._cancelling, self._handle = False, '', False, None
        self._asked += 1
        number = self._asked
        self._client.send_goal_async(goal).add_done_callback(
            lambda future: self._answered(number, future.result()))
        return True

    def cancel(self):
        """Ask for the end of the goal; ``ended`` tells when it came."""
        if self.ended or self._cancelling:
            return
        self._cancelling = True
        if self._handle is not None:
            self._handle.cancel_goal_async()

    def _answered(self, number, handle):
        if number != self._asked:
            return
        if not handle.accepted:
            self.ended, self.failed = True, 'the navigator refused the goal'
            return
        self._handle = handle
        if self._cancelling:
            handle.cancel_goal_async()
        handle.get_result_async().add_done_callback(
            lambda future: self._over(number, future.result()))

    def _over(self, number, answer):
        if number != self._asked:
            return
        self.ended, self._handle = True, None
        if answer.status != GoalStatus.STATUS_SUCCEEDED:
            code = getattr(answer.result, 'error_code', 0)
            text = getattr(answer.result, 'error_msg', '') or f'error code {code}'
            self.failed = f'the navigator gave up: {text}'
