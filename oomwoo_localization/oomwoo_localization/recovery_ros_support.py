"""Whoever else drives or trusts the pose: stopped by the manager first, let go after."""

from collections import deque

from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import Twist
from oomwoo_localization.ros_support import LATCHED_QOS
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

AGAIN_S = 0.5  # a request without the wished effect is repeated after this
QUIET_S = 0.5  # a base that was last commanded longer ago stands
REMEMBERED = 64  # own commands that may come back from the topic
_UNDER_WAY = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
_CLEANING = ('PLAN', 'GOTO', 'FOLLOW', 'WAITING')


class OtherDrivers:
    """
    The cleaning job, the navigator and the contour follower, each only if it is there.

    :meth:`want` once a step says what is asked of them: ``hold`` pauses the job and cancels goals,
    since both go by the pose; ``wheels`` switches the follower off, too. What was paused or
    switched off here is let go again, nothing else.
    """

    def __init__(self, node):
        """Listen for ``node`` to all of them."""
        self._node = node
        self._job = self._follower = None  # their state words
        self._paused = self._disabled = False
        self._goals = 0
        self._asked_s = {}
        self._pause = node.create_client(Trigger, 'clean_manager/pause')
        self._resume = node.create_client(Trigger, 'clean_manager/resume')
        self._enable = node.create_client(SetBool, 'contour_follower/enable')
        self._cancel = node.create_client(CancelGoal, 'navigate_to_pose/_action/cancel_goal')
        node.create_subscription(String, 'clean_manager/state', self._on_job, LATCHED_QOS)
        node.create_subscription(String, 'contour_follower/state', self._on_follower, LATCHED_QOS)
        node.create_subscription(
            GoalStatusArray, 'navigate_to_pose/_action/status', self._on_goals, LATCHED_QOS
        )

    def _on_job(self, msg):
        self._job = msg.data

    def _on_follower(self, msg):
        self._follower = msg.data

    def _on_goals(self, msg):
        self._goals = sum(status.status in _UNDER_WAY for status in msg.status_list)

    def forget_time(self):
        """Forget when something was asked, after a jump of the clock."""
        self._asked_s.clear()

    @property
    def stand(self):
        """Tell whether nobody is known to drive any more."""
        job = self._job in _CLEANING and self._pause.service_is_ready()
        follower = self._follower not in (None, 'IDLE') and self._enable.service_is_ready()
        return not job and not follower and not (self._goals and self._cancel.service_is_ready())

    def want(self, hold, wheels):
        """Ask for what is not so yet; call it once a step."""
        if hold:
            if self._job in _CLEANING:
                self._ask('pause', self._pause, Trigger.Request(), self._on_paused)
            if self._goals:
                self._ask('cancel', self._cancel, CancelGoal.Request())
        elif self._paused:
            self._ask('resume', self._resume, Trigger.Request(), self._on_resumed)
        if wheels:
            if self._follower not in (None, 'IDLE'):
                self._ask('disable', self._enable, SetBool.Request(data=False), self._on_disabled)
        elif self._disabled and not hold:
            self._ask('enable', self._enable, SetBool.Request(data=True), self._on_enabled)

    def _ask(self, what, client, request, on_answer=None):
        now_s = self._node.now_s()
        if now_s - self._asked_s.get(what, -1e9) < AGAIN_S or not client.service_is_ready():
            return
        self._asked_s[what] = now_s
        future = client.call_async(request)
        if on_answer is not None:
            future.add_done_callback(lambda done: done.exception() or on_answer(done.result()))

    def _on_paused(self, answer):
        self._paused = self._paused or answer.success

    def _on_resumed(self, answer):
        self._paused = False

    def _on_disabled(self, answer):
        # The job switches its follower on again by itself.
        self._disabled = self._disabled or (answer.success and not self._paused)

    def _on_enabled(self, answer):
        self._disabled = False


class CommandLine:
    """Writes ``cmd_vel``, and hears whether anybody else does."""

    def __init__(self, node):
        """Publish for ``node``, and listen to the same topic."""
        self._node = node
        self._own = deque(maxlen=REMEMBERED)
        self._foreign_s = None
        self._driving = False
        self._publisher = node.create_publisher(Twist, 'cmd_vel', 10)
        node.create_subscription(Twist, 'cmd_vel', self._on_command, 10)

    @property
    def foreign(self):
        """Tell whether somebody else has commanded a motion lately."""
        return (
            self._foreign_s is not None and 0.0 <= self._node.now_s() - self._foreign_s < QUIET_S
        )

    def drive(self, command, message):
        """Publish a command (m/s, rad/s), None for none; the last one is always zero."""
        if command is None and not self._driving:
            return
        linear, angular = command or (0.0, 0.0)
        self._driving = command is not None
        self._own.append((float(linear), float(angular)))
        self._publisher.publish(message(linear, angular))

    def _on_command(self, msg):
        command = (msg.linear.x, msg.angular.z)
        if command != (0.0, 0.0) and command not in self._own:
            self._foreign_s = self._node.now_s()
