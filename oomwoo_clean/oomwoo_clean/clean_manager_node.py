"""
Edge manager in the ROS graph: which edge is next, by navigator there, by follower along it.

The job is :mod:`oomwoo_clean.edge_run`; this is its adapter.
"""
from dataclasses import dataclass
from pathlib import Path
import sys
import time

from nav_msgs.msg import OccupancyGrid
from oomwoo_clean.edge_report import draw_picture, report_dict, write_report
from oomwoo_clean.edge_run import EdgeRun, Inputs, RUNNING, RunSettings
from oomwoo_clean.edge_store import JobStore, StoreError
from oomwoo_clean.edge_sweep import EdgeSettings, EdgeSweep, felt_points, map_hash
from oomwoo_clean.job_run import (
    CANCELLED,
    DONE,
    HELD,
    IDLE,
    PAUSED,
    WAITING,
)
from oomwoo_clean.manager_ros_support import (
    EdgeMarkers,
    FollowerLine,
    OtherCleaners,
)
from oomwoo_clean.navigator_ros_support import NavigatorLine
from oomwoo_localization.grids import GridError
from oomwoo_localization.ros_support import (
    ERROR,
    FrameTree,
    grid_from_msg,
    LATCHED_QOS,
    OK,
    ReflexWatch,
    run_node,
    SuiteNode,
    WARN,
)
from oomwoo_localization.settings import setting
from oomwoo_localization_msgs.action import CleanEdges
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.clock import Clock, ClockType
from rclpy.task import Future
from std_msgs.msg import Bool, Float32, String
from std_srvs.srv import Trigger

_PERIOD_S = 0.1
_SHOW_PERIOD_S = 1.0
_STOP_PATIENCE_S = 1.0        # of wall time
_FAREWELL_S = 1.0             # of wall time


@dataclass(frozen=True)
class ManagerSettings(EdgeSettings, RunSettings):
    """Settings of the job and of its node."""

    autostart: bool = setting(
        True, 'begin, or go on with a saved job, as soon as map and pose are there', live=False)
    exit_when_done: bool = setting(True, 'end the node when the job has ended')
    output_dir: str = setting(
        'out', 'folder for edge_clean.png, edge_clean.json and the saved job', live=False)
    other_map: str = setting(
        'fresh', 'what to do with a saved job of another map', choices=('fresh', 'refuse'),
        live=False)
    global_frame: str = setting('map', 'frame of the map', live=False)
    odom_frame: str = setting(
        'odom', 'frame of the odometry, which measures what is driven', live=False)
    robot_frame: str = setting(
        'base_footprint', 'frame of the body centre on the floor', live=False)
    pose_patience_s: float = setting(1.0, 'a pose older than this stops the robot', 's', 0.1, 30.0)
    follower_patience_s: float = setting(
        2.0, 'a follower silent for longer than this is gone', 's', 0.6, 60.0)
    navigator_patience_s: float = setting(
        5.0, 'a navigator that says nothing about its goal for longer than this is gone', 's',
        0.5, 60.0)


class CleanManagerNode(SuiteNode):
    """Steps an :class:`EdgeRun` ten times a second and carries out its orders."""

    def __init__(self, **kwargs):
        """Declare parameters, topics, services and the action; wait for map and pose."""
        super().__init__('clean_manager', ManagerSettings, **kwargs)
        output = Path(self.settings.output_dir).expanduser()
        self._store = JobStore(output / 'edge_clean_state.npz')
        self._store.claim()
        self._report_path = output / 'edge_clean.json'
        self._picture_path = output / 'edge_clean.png'
        self._grid, self._run, self._goal = None, None, None
        self._trouble = 'no map on topic map yet'
        self._wanted = self.settings.autostart
        self._fresh = False
        self._held = False            # what is prepared next is paused
        self._jumped = False
        self._finished = self._stopping = False
        self._last = {}
        self._frames = FrameTree(self)
        self._others = OtherCleaners(
            self, lambda: self._run is not None and self._run.running)
        self._navigator = NavigatorLine(self, self.settings.global_frame, self._others)
        self._follower = FollowerLine(self)
        self._reflex, self._paused_for_reflex = ReflexWatch(self), False
        self._markers = EdgeMarkers(self, self.settings.global_frame)
        self._states = self.create_publisher(String, '~/state', LATCHED_QOS)
        self._progress = self.create_publisher(Float32, '~/progress', LATCHED_QOS)
        self._active = self.create_publisher(Bool, 'cleaning_active', LATCHED_QOS)
        self._touched = None          # (N, 2) map points that the bumper found solid
        self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        self.create_subscription(OccupancyGrid, 'bump_map', self._on_bump_map, LATCHED_QOS)
        for name in ('start', 'pause', 'resume', 'cancel'):
            self.create_service(
                Trigger, f'~/{name}',
                lambda request, response, name=name: self._on_command(name, response))
        self._server = ActionServer(
            self, CleanEdges, '~/clean_edges', execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel)
        self.create_timer(_PERIOD_S, self._tick)
        self.create_timer(_SHOW_PERIOD_S, self._show)
        self.set_status(OK, self._trouble, WAITING, 'NO_MAP')
        self._announce()

    # -- map and job --------------------------------------------------------------------------

    def _on_map(self, msg):
        try:
            grid = grid_from_msg(msg)
        except GridError as error:
            self._refuse_map(str(error))
            return
        if self._grid is not None and map_hash(grid) == map_hash(self._grid):
            return
        running = self._run is not None and self._run.phase in (*RUNNING, PAUSED)
        if running and self.settings.other_map == 'refuse':
            self.get_logger().error(
                'topic map: another map while the job runs; it goes on with the old one')
            return
        if running and self._run.phase == PAUSED and not self._paused_for_reflex:
            self.set_status(WARN, HELD, PAUSED, 'OTHER_MAP')
            self._held = True
        elif running:
            self.get_logger().warning(
                'topic map: another map while the job runs; it begins anew on that')
            self._wanted = True
        self._grid, self._run = grid, None

    def _on_bump_map(self, msg):
        try:
            if msg.header.frame_id != self.settings.global_frame:
                raise GridError(
                    f'header.frame_id is {msg.header.frame_id!r}, not '
                    f'{self.settings.global_frame!r}')
            self._touched = felt_points(grid_from_msg(msg))
        except GridError as error:
            self.get_logger().warning(
                f'topic {self.resolve_topic_name("bump_map")}: {error}; edges found by touch are '
                'not counted', throttle_duration_sec=10.0)

    def _refuse_map(self, why):
        self._trouble = f'topic {self.resolve_topic_name("map")}: {why}'
        self.set_status(ERROR, self._trouble, WAITING, 'BAD_MAP')

    def _prepare(self, pose):
        """Find the edges of the map from where the robot is, and take over a saved job."""
        try:
            run = EdgeRun(EdgeSweep(self._grid, pose, self.settings), self.settings)
        except GridError as error:
            self._refuse_map(str(error))
            self._grid = None
            return
        if self._store.exists() and not self._fresh:
            run = self._take_over(run, pose)
        if self._held and run.phase == IDLE:
            run.hold(HELD)
        self._held = False
        self._fresh, self._finished, self._trouble = False, False, ''
        self._run = run

    def _take_over(self, run, pose):
        """Return the run with the saved job in it, a new one when that is over or not for here."""
        try:
            self._store.load(run)
        except StoreError as error:
            self.get_logger().warning(f'{error}; begins anew')
            return EdgeRun(EdgeSweep(self._grid, pose, self.settings), self.settings)
        except ValueError as error:
            if self.settings.other_map == 'refuse':
                self._wanted = False
                self.set_status(
                    ERROR, f'{self._store.path}: {error}; parameter other_map is refuse, '
                    'so nothing is started', IDLE, 'OTHER_MAP')
            else:
                self.get_logger().warning(f'{self._store.path}: {error}; begins anew')
            return EdgeRun(EdgeSweep(self._grid, pose, self.settings), self.settings)
        if run.ended:
            return EdgeRun(EdgeSweep(self._grid, pose, self.settings), self.settings)
        self.get_logger().info(f'goes on with the saved job: {run.sweep.swept_m:.1f} m are swept')
        return run

    # -- commands -----------------------------------------------------------------------------

    def _on_command(self, name, response):
        response.success, response.message = self._command(name)
        self.get_logger().info(f'{name}: {response.message}')
        if name == 'pause':
            self._paused_for_reflex = False     # a person has said so: it does not go on by itself
        return response

    def _command(self, name):
        why = self._others.problem() if name in ('start', 'resume') else ''
        if why:
            return False, why
        if self._run is None and name == 'cancel' and (self._wanted or self._held):
            return self._never_begin()
        if self._run is None:
            return False, f'too early: {self._trouble or "the job is being prepared"}'
        if name == 'start' and self._run.ended:
            return self._start_anew()
        if name == 'pause' and self._run.phase == PAUSED and self._paused_for_reflex:
            return True, 'paused, and stays so when the escape reflex is over'
        return getattr(self._run, name)()

    def _start_anew(self):
        self._run, self._fresh, self._wanted = None, True, True
        self._trouble = ''
        return True, 'a new job begins'

    def _never_begin(self):
        """Take back a start before the job was prepared; a saved one stays as it is."""
        self._wanted = self._fresh = self._held = False
        if self._goal is not None:
            self._goal[1].set_result(
                CleanEdges.Result(outcome=CANCELLED, reason='cancelled before it began'))
        return True, 'cancelled before the job began'

    def _on_goal(self, goal):
        why = ''
        if self._run is None:
            why = f'too early: {self._trouble or "the job is being prepared"}'
        elif self._run.phase in (*RUNNING, PAUSED):
            why = f'the job is already running ({self._run.phase})'
        else:
            why = self._others.problem()
        if why:
            self.get_logger().error(f'goal rejected: {why}')
            return GoalResponse.REJECT
        if goal.fresh or self._run.ended:
            self._start_anew()
        else:
            self._run.start()
        return GoalResponse.ACCEPT

    def _on_cancel(self, handle):
        if self._run is not None:
            self._run.cancel()
        else:
            self._never_begin()
        return CancelResponse.ACCEPT

    async def _execute(self, handle):
        """Wait for the end of the job, which the timer drives."""
        self._goal = (handle, Future())
        result = await self._goal[1]
        self._goal = None
        if handle.is_cancel_requested:
            handle.canceled()
        elif result.outcome == DONE:
            handle.succeed()
        else:
            handle.abort()
        return result

    def _action_fields(self, kind):
        report = report_dict(self._run)
        known = report | {'state': self._run.phase, 'robot_s': report['sim_s'],
                          'progress': self._run.sweep.figures().progress}
        return {name: known[name] for name in kind.get_fields_and_field_types()}

    # -- one tick -----------------------------------------------------------------------------

    def _tick(self):
        if self._stopping:
            return
        pose, odom = self._poses()
        if self._run is None:
            self._follower.want(False)
            self._navigator.cancel()
            self._navigator.ready()
            if self._grid is not None and pose is not None:
                self._prepare(pose)
            elif self._grid is not None:
                # The reason changes with every tick; the status must not.
                self._trouble = (
                    f'no pose of {self.settings.robot_frame} in '
                    f'{self.settings.global_frame} on tf')
                self.set_status(WARN, self._trouble, WAITING, 'NO_POSE')
                self.get_logger().info(self._frames.error, throttle_duration_sec=10.0)
            return
        run = self._run
        self._stand_for_reflex(run)
        if self._wanted and run.phase == IDLE:
            self._others.start(run)
        self._wanted = False
        self._others.give_way(run)
        orders = run.step(Inputs(
            self.now_s(), pose, odom, self._follower.state, not self._follower.stands,
            self._follower.take_bump(), self._navigator.report, self._touched,
            self._missing()))
        self._follower.tell_touched(run.sweep.touched, self.settings.global_frame)
        self._carry_out(orders)
        self._keep(orders, pose)
        for event in orders.events:
            self._tell(event, pose)
        self._announce()
        if run.ended and not self._finished and self._all_stand():
            self._finish()

    def _stand_for_reflex(self, run):
        """Pause a running job while an escape reflex drives, and go on with it after."""
        if self._reflex.active:
            if run.running:
                self._paused_for_reflex = run.pause()[0]
        elif self._reflex.over() and self._paused_for_reflex:
            self._paused_for_reflex = False
            run.resume()

    def _poses(self):
        """Return the robot's poses in map and odometry frame, None for what is missing or old."""
        found = []
        for frame in (self.settings.global_frame, self.settings.odom_frame):
            stamped = self._frames.stamped_pose(frame, self.settings.robot_frame)
            age_s = 0.0 if stamped is None else self.now_s() - stamped[1]
            if age_s > self.settings.pose_patience_s:
                self._frames.error = (
                    f'{frame} <- {self.settings.robot_frame} is older than '
                    f'{self.settings.pose_patience_s} s')
                stamped = None
            found.append(None if stamped is None else stamped[0])
        return found

    def _missing(self):
        """Return what the job needs and does not have, in words."""
        now_s = self.now_s()
        if self._jumped:
            self._jumped = False
            return 'the clock, which jumped back'
        if not self._follower.heard_within(now_s, self.settings.follower_patience_s):
            self._follower.forget()
            return 'the contour follower'
        if not self._navigator.ready():
            self._navigator.give_up('the navigator is gone')
            return 'the navigator (action navigate_to_pose)'
        if self._navigator.silent_for(now_s) > self.settings.navigator_patience_s:
            self._navigator.give_up('the navigator fell silent')
            return 'an answer of the navigator'
        return ''

    def _carry_out(self, orders):
        """Let one drive at a time: the other has said that it stands before one starts."""
        if not orders.follow:
            self._follower.want(False)
        if orders.goal is None:
            self._navigator.cancel()
        if orders.goal is not None and self._follower.stands:
            self._navigator.go(orders.goal_id, orders.goal)
        if orders.follow and not self._navigator.active:
            self._follower.want(True)

    def _all_stand(self):
        gone = not self._follower.heard_within(self.now_s(), self.settings.follower_patience_s)
        return (self._follower.stands or gone) and not self._navigator.active

    def _keep(self, orders, pose):
        try:
            if orders.save:
                self._store.snapshot(self._run)
            elif pose is not None and self._run.phase in RUNNING:
                self._store.note(self._run, pose)
        except OSError as error:
            self.get_logger().error(
                f'{self._store.path}: the job cannot be saved ({error.strerror})',
                throttle_duration_sec=10.0)

    # -- what the world is told ---------------------------------------------------------------

    def _tell(self, event, pose):
        level = WARN if event.warning else {WAITING: WARN, 'STUCK': ERROR}.get(event.state, OK)
        self.set_status(level, event, event.state, event.state, event.state != 'STUCK', pose)

    def _announce(self):
        """Publish state, progress and whether it is cleaning, each when it changes."""
        phase = self._run.phase if self._run else WAITING
        progress = self._run.sweep.figures().progress if self._run else 0.0
        cleaning = self._run is not None and phase in RUNNING
        for publisher, msg in (
                (self._states, String(data=phase)), (self._progress, Float32(data=progress)),
                (self._active, Bool(data=cleaning))):
            if publisher is self._progress and self._run is None:
                continue        # not known yet: a saved job may be far on
            if self._last.get(publisher) != msg.data:
                self._last[publisher] = msg.data
                publisher.publish(msg)

    def _show(self):
        if self._run is None:
            return
        self._markers.publish(self._run.sweep)
        if self._goal is not None:
            self._goal[0].publish_feedback(
                CleanEdges.Feedback(**self._action_fields(CleanEdges.Feedback)))

    def _finish(self):
        """Report once everything stands."""
        self._finished = True
        report = report_dict(self._run)
        try:
            write_report(self._report_path, report)
            draw_picture(self._run, self._picture_path)
        except OSError as error:
            self.get_logger().error(
                f'{error.filename}: the report cannot be written ({error.strerror})')
        self._show()
        self.get_logger().info(f'{report["report"]} ({report["reason"]})')
        self.exit_status = self._run.exit_status
        if self._goal is not None:
            self._goal[1].set_result(CleanEdges.Result(**self._action_fields(CleanEdges.Result)))
        if self.settings.exit_when_done:
            # Not at once: state, markers and the action's result are still on their way.
            self.create_timer(
                _FAREWELL_S, self._leave, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _leave(self):
        self.done = self._finished

    # -- life ---------------------------------------------------------------------------------

    def time_went_back(self):
        """Stop, forget what is newer than the clock, and go on from there."""
        self._frames.clear()
        self._jumped = True
        self._follower.hear(self.now_s())
        self._navigator.hear(self.now_s())
        self.get_logger().warning('the clock jumped back: forgot what was seen before')

    def settings_changed(self):
        """Take over parameters that were set while the job runs."""
        if self._run is not None:
            self._run.settings = self._run.sweep.settings = self.settings

    def stop(self):
        """Leave the robot standing and the job saved."""
        try:
            if self._run is not None and not self._run.ended:
                self._store.snapshot(self._run)
            self._store.close()
        except OSError as error:                        # a full disk must not keep it driving
            self.get_logger().error(
                f'{self._store.path}: the job cannot be saved ({error.strerror})')
        # The requests must be out, and had better be answered, before the node is gone.
        self._stopping = True
        until = time.monotonic() + _STOP_PATIENCE_S
        while time.monotonic() < until and not self._all_stand():
            self._navigator.cancel()
            self._follower.want(False)
            self.executor.spin_once(timeout_sec=0.05)


def main():
    """Run the node."""
    return run_node(CleanManagerNode)


if __name__ == '__main__':
    sys.exit(main())
