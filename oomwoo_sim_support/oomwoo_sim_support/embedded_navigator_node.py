"""``navigate_to_pose`` where Nav2 is not installed: the embedded navigator as an action server."""
from dataclasses import dataclass
import sys

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped, Twist
from nav2_msgs.action import NavigateToPose
from nav_msgs.msg import OccupancyGrid, Path
import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.grids import GridError
from oomwoo_localization.pockets_ros_support import PocketWatch
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import (
    ERROR,
    grid_from_msg,
    LATCHED_QOS,
    OK,
    pose_from_msg,
    pose_to_msg,
    ReflexWatch,
    scan_from_msg,
    SENSOR_QOS,
    SuiteNode,
    twist_msg,
    WARN,
)
from oomwoo_localization.scans import scan_points, ScanError
from oomwoo_localization.settings import setting
from oomwoo_localization.start_grace import StartGrace
from oomwoo_sim_support.embedded_navigator import Code, Navigator, NavigatorSettings, PlanError
from oomwoo_sim_support.navigator_ros_support import Job
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.duration import Duration
from rclpy.time import Time
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Bool
from unique_identifier_msgs.msg import UUID

SUCCEEDED = GoalStatus.STATUS_SUCCEEDED
ABORTED = GoalStatus.STATUS_ABORTED
CANCELED = GoalStatus.STATUS_CANCELED


@dataclass(frozen=True)
class NavigatorNodeSettings(NavigatorSettings):
    """The navigator's settings and what the node adds."""

    global_frame: str = setting('map', 'frame of the map and of the plan', live=False)
    robot_frame: str = setting(
        'base_footprint', "frame of the body's middle on the floor", live=False)
    control_rate: float = setting(20.0, 'commands a second', 'Hz', 1.0, 100.0, live=False)
    feedback_period_s: float = setting(0.25, 'time between two feedback messages', 's', 0.01, 10.0)
    stale_s: float = setting(0.5, 'a pose older than this stops the robot', 's', 0.05, 10.0)
    patience_s: float = setting(
        5.0, 'a goal waits this long for a map or a fresh pose, then fails', 's', 0.1, 600.0)
    lease_s: float = setting(
        3.0, 'a goal that its client has kept alive ends this long after its last sign', 's',
        1.0, 600.0)


class EmbeddedNavigatorNode(SuiteNode):
    """Serves one goal at a time, the newest; writes ``cmd_vel`` only while it has one."""

    def __init__(self):
        """Declare parameters and wait for goals."""
        super().__init__('embedded_navigator', NavigatorNodeSettings)
        self._navigator = None
        self._map_error = 'no map on topic map yet'
        self._grace = StartGrace()
        self._job = None
        self._jobs = {}
        self._scan = None
        self._mounts = {}
        self._bumpers = [False, False]
        self._bumped = [False, False]
        self._frames = FrameTree(self)
        self._cmd_vel = self.create_publisher(Twist, 'cmd_vel', 10)
        self._reflex = ReflexWatch(self)
        self._pockets = PocketWatch(self, self._keep_out)
        self._plan = self.create_publisher(Path, 'plan', LATCHED_QOS)
        self._aborts = 0
        self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        self.create_subscription(LaserScan, 'scan', self._on_scan, SENSOR_QOS)
        self.create_subscription(Bool, 'bumper/left', lambda msg: self._on_bumper(0, msg.data), 10)
        self.create_subscription(
            Bool, 'bumper/right', lambda msg: self._on_bumper(1, msg.data), 10)
        self._server = ActionServer(
            self, NavigateToPose, 'navigate_to_pose', execute_callback=self._execute,
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted, cancel_callback=self._on_cancel)
        self.create_subscription(UUID, 'navigate_to_pose/keep_alive', self._on_keep_alive, 10)
        self._client = ActionClient(self, NavigateToPose, 'navigate_to_pose')
        self.create_subscription(PoseStamped, 'goal_pose', self._on_goal_pose, 10)
        self.create_timer(1.0 / self.settings.control_rate, self._tick)
        self.set_status(OK, 'waiting for a goal', state='IDLE')

    # -- inputs -----------------------------------------------------------------------------

    def _on_map(self, msg):
        try:
            grid = grid_from_msg(msg)
        except GridError as error:
            self._map_error = str(error)
            self.set_status(
                ERROR, f'topic map: {error}', 'IDLE' if self._job is None else 'WAITING',
                'bad_map')
            return
        self._build(grid)

    def _build(self, grid):
        self._navigator = Navigator(grid, settings=self.settings)
        if self._pockets.circles:
            self._keep_out()
        if self._job is not None:
            self._job.under_way = False

    def _keep_out(self):
        if self._navigator is not None:
            self._navigator.keep_out(self._pockets.circles)

    def _on_scan(self, msg):
        if self._job is None or not self.settings.use_scan:
            return
        try:
            self._scan = (scan_from_msg(msg), msg.header.frame_id, Time.from_msg(msg.header.stamp))
        except ScanError as error:
            self._scan = None
            self.get_logger().warning(
                f'topic scan: {error}; going without', throttle_duration_sec=5.0)

    def _on_bumper(self, side, pressed):
        self._bumpers[side] = pressed
        self._bumped[side] |= pressed

    def _on_goal_pose(self, msg):
        """Take a goal from RViz's goal tool, as Nav2 does."""
        self._client.send_goal_async(NavigateToPose.Goal(pose=msg))

    def settings_changed(self):
        """Drive on with the new settings."""
        if self._navigator is not None:
            self._build(self._navigator.grid)

    # -- the action -------------------------------------------------------------------------

    def _on_goal(self, request):
        p, q = request.pose.pose.position, request.pose.pose.orientation
        numbers = np.array([p.x, p.y, q.x, q.y, q.z, q.w])
        if not np.isfinite(numbers).all() or np.linalg.norm(numbers[2:]) < 1e-3:
            self.get_logger().error(
                f'goal refused: position {p.x, p.y}, orientation {q.x, q.y, q.z, q.w} is no pose')
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle):
        """Start on a goal; one still running is preempted, which Nav2 reports as aborted."""
        if self._job is not None:
            self._end(ABORTED, Code.NONE, 'preempted by a new goal')
        self._job = self._jobs[bytes(handle.goal_id.uuid)] = Job(handle, self.now_s())
        handle.execute()

    def _on_keep_alive(self, msg):
        job = self._jobs.get(bytes(msg.uuid))
        if job is not None:
            job.keep_alive(self.now_s())

    def _on_cancel(self, handle):
        job = self._job
        if job is None or job.handle != handle:
            return CancelResponse.REJECT
        self._halt()
        # The handle may only be told after this answer made it 'canceling'.
        self.executor.create_task(lambda: self._end(CANCELED, Code.NONE, 'canceled', job))
        return CancelResponse.ACCEPT

    async def _execute(self, handle):
        """Wait for the end of the goal, which the timer drives, and send its result."""
        status, code, message = await self._jobs[bytes(handle.goal_id.uuid)].ended
        del self._jobs[bytes(handle.goal_id.uuid)]
        finish = {SUCCEEDED: handle.succeed, CANCELED: handle.canceled}.get(status, handle.abort)
        finish()
        result = NavigateToPose.Result(error_code=code)
        if hasattr(result, 'error_msg'):
            result.error_msg = message
        return result

    def _end(self, status, code, message, job=None):
        """Leave the robot standing and resolve the goal, once."""
        job = job or self._job
        if job is None or job.ended.done():
            return
        if job is self._job:
            self._job = None
            self._halt()
        job.ended.set_result((status, code, message))
        level, state = {
            SUCCEEDED: (OK, 'SUCCEEDED'), CANCELED: (OK, 'CANCELED'),
            ABORTED: (WARN, 'ABORTED')}[status]
        self.set_status(level, message, state, str(code) if code else '', True)

    def _halt(self):
        if self._navigator is not None:
            self._navigator.cancel()
        self._cmd_vel.publish(twist_msg(0.0, 0.0))

    # -- driving ----------------------------------------------------------------------------

    def _tick(self):
        job = self._job
        bumpers = [now or since for now, since in zip(self._bumpers, self._bumped)]
        self._bumped = [False, False]
        if job is None or job.handle.is_cancel_requested:
            return
        now_s = self.now_s()
        if job.is_deserted(now_s, self.settings.lease_s):
            self._end(
                ABORTED, Code.UNKNOWN, 'who sent the goal is gone: no sign of life for '
                f'{self.settings.lease_s} s')
            return
        if self._reflex.active:
            job.waiting_since_s = now_s
            self.set_status(
                WARN, 'standing: an escape reflex drives or holds the robot', 'WAITING', 'reflex')
            return
        if self._reflex.over():
            job.under_way = False       # it is somewhere else now: a new path, and new patience
        pose = self._fresh_pose(now_s)
        missing = self._map_error if self._navigator is None else pose if isinstance(
            pose, str) else ''
        if missing:
            self._wait(job, now_s, missing)
            return
        job.waiting_since_s = now_s
        try:
            if not job.under_way:
                self._start(job, pose, now_s)
        except PlanError as error:
            self._end(ABORTED, error.code, error.message)
            return
        self._look()
        path = self._navigator.path
        step = self._navigator.step(pose, now_s, bumpers)
        self._count_aborts(step)
        if step.done:
            self._end(ABORTED if step.error_code else SUCCEEDED, step.error_code, step.message)
            return
        self._cmd_vel.publish(twist_msg(step.linear, step.angular))
        if self._navigator.path is not path:
            self._publish_plan()
        self._feed_back(job, pose, step, now_s)

    def _count_aborts(self, step):
        """Log each collision that was foreseen, in the words by which Nav2's can be counted."""
        if step.aborts > self._aborts:
            self.get_logger().warning(
                f'detected collision ahead: abort {step.aborts} on this goal')
        self._aborts = 0 if step.done else step.aborts

    def _wait(self, job, now_s, missing):
        """Stand while something is missing, and give the goal up when that takes too long."""
        self._cmd_vel.publish(twist_msg(0.0, 0.0))
        # Without tf's details, which differ every time; the goal's result has them.
        self.set_status(
            WARN if self._grace.over else OK, f'standing: {missing.split(":")[0]}', 'WAITING',
            'no_input')
        if job.waiting_since_s == 0.0:       # accepted before the first message on /clock
            job.waiting_since_s = now_s
        if now_s - job.waiting_since_s > self.settings.patience_s:
            self._end(
                ABORTED, Code.TF_ERROR if self._navigator is not None else Code.NO_PLANNER,
                missing)

    def _fresh_pose(self, now_s):
        """Return the pose (3,) in the map, or the reason why there is none."""
        found = self._frames.stamped_pose(self.settings.global_frame, self.settings.robot_frame)
        if found is None:
            return self._frames.error
        pose, stamp_s = found
        # A stamp of zero is that of a tree with nothing moving in it.
        if stamp_s > 0.0 and now_s - stamp_s > self.settings.stale_s:
            return (
                f'the transform {self.settings.global_frame} <- {self.settings.robot_frame} is '
                f'older than {self.settings.stale_s} s')
        return pose

    def _start(self, job, pose, now_s):
        if job.goal is None:
            job.goal = self._goal_in_map(job.handle.request.pose)
        self._navigator.go(job.goal, pose, now_s)
        self._aborts = 0
        job.under_way = True
        self._publish_plan()
        x, y, yaw = job.goal
        self.set_status(
            OK, f'driving to ({x:.2f}, {y:.2f}, {np.degrees(yaw):.0f} deg)', 'ACTIVE', pose=pose)

    def _goal_in_map(self, stamped):
        frame, goal = stamped.header.frame_id, pose_from_msg(stamped.pose)
        if frame == self.settings.global_frame:
            return goal
        map_from_goal = self._frames.pose(self.settings.global_frame, frame) if frame else None
        if map_from_goal is None:
            reason = self._frames.error if frame else 'header.frame_id is empty'
            raise PlanError(Code.TF_ERROR, f'goal in frame {frame!r}: {reason}')
        return compose(map_from_goal, goal)

    def _look(self):
        """Show the navigator the latest scan, once, as soon as the pose at its time is known."""
        if self._scan is None:
            return
        scan, frame, stamp = self._scan
        mount = self._mounts.get(frame)
        if mount is None:
            mount = self._frames.matrix(self.settings.robot_frame, frame)
            if mount is None:
                self.get_logger().warning(
                    f'topic scan: {self._frames.error}; going without', throttle_duration_sec=5.0)
                self._scan = None
                return
            self._mounts[frame] = mount
        pose = self._frames.pose(self.settings.global_frame, self.settings.robot_frame, stamp)
        if pose is not None:
            points, _ = scan_points(scan, mount)
            self._navigator.see(points, pose)
            self._scan = None

    def _publish_plan(self):
        msg = Path()
        msg.header.frame_id = self.settings.global_frame
        msg.header.stamp = self.get_clock().now().to_msg()
        path = self._navigator.path
        ahead = np.diff(path, axis=0, append=path[-1:])
        for (x, y), (dx, dy) in zip(path, ahead):
            msg.poses.append(
                PoseStamped(header=msg.header, pose=pose_to_msg((x, y, np.arctan2(dy, dx)))))
        self._plan.publish(msg)

    def _feed_back(self, job, pose, step, now_s):
        if now_s - job.fed_back_s < self.settings.feedback_period_s:
            return
        job.fed_back_s = now_s
        feedback = NavigateToPose.Feedback()
        feedback.current_pose.header.frame_id = self.settings.global_frame
        feedback.current_pose.header.stamp = self.get_clock().now().to_msg()
        feedback.current_pose.pose = pose_to_msg(pose)
        feedback.navigation_time = Duration(seconds=max(0.0, now_s - job.began_s)).to_msg()
        seconds_left = step.distance_remaining / self.settings.linear_speed
        feedback.estimated_time_remaining = Duration(seconds=seconds_left).to_msg()
        feedback.number_of_recoveries = step.recoveries
        feedback.distance_remaining = float(step.distance_remaining)
        job.handle.publish_feedback(feedback)

    # -- life -------------------------------------------------------------------------------

    def time_went_back(self):
        """Give up the goal: nothing known is from this time."""
        self._frames.clear()
        self._scan = None
        self._end(ABORTED, Code.UNKNOWN, 'the clock jumped back')

    def stop(self):
        """Leave the robot standing."""
        if self._job is not None:
            self._halt()
            self._job.handle.abort()


def main(args=None):
    """Run the node."""
    return run_node(EmbeddedNavigatorNode, args)


if __name__ == '__main__':
    sys.exit(main())
