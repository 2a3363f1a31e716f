"""Nav2's docking actions, as the docking node serves them."""
from action_msgs.msg import GoalStatus
from nav2_msgs.action import DockRobot, UndockRobot
import numpy as np
from oomwoo_localization.ros_support import pose_from_msg
from oomwoo_localization.start_grace import StartGrace
from rclpy.action import ActionServer, CancelResponse
from rclpy.duration import Duration
from rclpy.task import Future

SUCCEEDED, ABORTED, CANCELED = (
    GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_ABORTED, GoalStatus.STATUS_CANCELED)
PREPARE, NAVIGATE, DRIVE = 'PREPARE', 'NAVIGATE', 'DRIVE'
_BASE_GRACE_S = 10.0          # without a base the goal fails
FEEDBACK = {
    'SEARCH': DockRobot.Feedback.INITIAL_PERCEPTION,
    'GOTO': DockRobot.Feedback.NAV_TO_STAGING_POSE, 'TURN': DockRobot.Feedback.CONTROLLING,
    'BACK': DockRobot.Feedback.CONTROLLING, 'REGROUP': DockRobot.Feedback.RETRY}


class Job:
    """One goal from acceptance to its end; ``ended`` resolves to (status, code, message)."""

    def __init__(self, kind, handle, now_s):
        """Take 'dock' or 'undock', and the action's goal handle, None for the node's own goal."""
        self.kind, self.handle = kind, handle
        self.began_s = self.fed_back_s = self.navigating_since_s = now_s
        self.phase, self.cancelling, self.navigated = PREPARE, False, False
        self.navigator_grace, self.base_grace = StartGrace(), StartGrace(_BASE_GRACE_S)
        self.retries = self.reflexes = 0
        self.ended = Future()

    @property
    def _request(self):
        return None if self.handle is None else self.handle.request

    @property
    def may_navigate(self):
        """Tell whether the goal allows to be brought to the dock first."""
        return self.handle is not None and self._request.navigate_to_staging_pose

    @property
    def staging_time_s(self):
        """Return the time that being brought there may take, seconds."""
        return float(self._request.max_staging_time)

    @property
    def undocking_time_s(self):
        """Return the time that undocking may take, seconds, None when the goal does not say."""
        limit_s = float(self._request.max_undocking_time)
        return limit_s if limit_s > 0.0 else None

    def clock_is_there(self, now_s):
        """Begin to count when a clock that was not there at first has come."""
        if self.began_s == 0.0:
            self.fed_back_s = now_s
            self.prepare(now_s)

    def prepare(self, now_s):
        """Begin to look for what the goal needs from where the robot is now."""
        self.phase, self.began_s = PREPARE, now_s
        self.navigator_grace.begin()
        self.base_grace.begin()

    def problem(self, settings):
        """Return (reason code, message) of a goal that cannot be served, None of one that can."""
        request = self._request
        if request is None:
            return None
        if request.dock_type not in ('', settings.dock_type):
            return 'NOT_VALID', (
                f'dock_type {request.dock_type!r} is not known; there is {settings.dock_type!r}')
        if self.kind == 'undock':
            return None
        if request.use_dock_id:
            if request.dock_id not in ('', settings.dock_id):
                return 'NOT_IN_DB', (
                    f'dock_id {request.dock_id!r} is not known; there is {settings.dock_id!r}')
            return None
        p, q = request.dock_pose.pose.position, request.dock_pose.pose.orientation
        numbers = np.array([p.x, p.y, q.x, q.y, q.z, q.w])
        if not np.isfinite(numbers).all() or np.linalg.norm(numbers[2:]) < 1e-3:
            return 'NOT_VALID', f'dock_pose is no pose: {numbers.tolist()}'
        return None

    def dock_pose(self, settings):
        """Return (frame, pose (3,)) of where the dock should be, None when nobody knows."""
        request = self._request
        if request is not None and not request.use_dock_id:
            return request.dock_pose.header.frame_id, pose_from_msg(request.dock_pose.pose)
        if settings.dock_known:
            return settings.dock_frame, np.array(
                [settings.dock_x, settings.dock_y, settings.dock_yaw])
        return None


class DockGoals:
    """The action servers; ``job`` is the goal being served, None without."""

    def __init__(self, node, on_cancel):
        """Serve ``dock_robot`` and ``undock_robot``; ``on_cancel(job)`` is asked to stop."""
        self._node, self._on_cancel_job = node, on_cancel
        self.job, self.begun = None, False
        self._jobs = {}
        self._servers = [
            ActionServer(
                node, kind, name, execute_callback=self._execute,
                handle_accepted_callback=lambda handle, name=name: self._accepted(handle, name),
                cancel_callback=self._cancelled)
            for kind, name in ((DockRobot, 'dock_robot'), (UndockRobot, 'undock_robot'))]

    def begin_own(self, kind):
        """Begin a goal that no client asked for."""
        self.begun = True
        if self.job is None:
            self.job = Job(kind, None, self._node.now_s())

    def _accepted(self, handle, name):
        job = Job(name.removesuffix('_robot'), handle, self._node.now_s())
        self._jobs[bytes(handle.goal_id.uuid)] = job
        if self.job is None:
            self.job = job
        else:
            # Taken and ended at once: a goal that is rejected could not be told why.
            message = f'busy with another goal to {self.job.kind}: cancel it first'
            self._node.get_logger().error(f'{name} refused: {message}')
            job.ended.set_result((ABORTED, DockRobot.Result.UNKNOWN, message))
        handle.execute()

    def _cancelled(self, handle):
        job = self.job
        if job is None or job.handle != handle:
            return CancelResponse.REJECT
        self._on_cancel_job(job)
        return CancelResponse.ACCEPT

    async def _execute(self, handle):
        """Wait for the end of the goal, which the node brings about, and send its result."""
        key = bytes(handle.goal_id.uuid)
        job = self._jobs[key]
        status, code, message = await job.ended
        del self._jobs[key]
        {SUCCEEDED: handle.succeed, CANCELED: handle.canceled}.get(status, handle.abort)()
        kind = DockRobot if job.kind == 'dock' else UndockRobot
        result = kind.Result(success=status == SUCCEEDED, error_code=code)
        if hasattr(result, 'num_retries'):
            result.num_retries = job.retries
        if hasattr(result, 'error_msg'):
            result.error_msg = '' if status == SUCCEEDED else message
        return result

    def end(self, job, status, code, message):
        """Resolve a goal, once; a goal of the node's own has nobody to tell."""
        if job is self.job:
            self.job = None
        if not job.ended.done():
            job.ended.set_result((status, code, message))

    def feed_back(self, job, state, retries):
        """Tell the client how it goes, four times a second."""
        now_s = self._node.now_s()
        if job.handle is None or job.kind != 'dock' or now_s - job.fed_back_s < 0.25:
            return
        job.fed_back_s = now_s
        feedback = DockRobot.Feedback(state=state, num_retries=retries)
        feedback.docking_time = Duration(seconds=max(0.0, now_s - job.began_s)).to_msg()
        job.handle.publish_feedback(feedback)
