"""
Edge manager in the ROS graph: which edge is next, by navigator there, by follower along it.

The job is :mod:`oomwoo_clean.edge_run`; this is its adapter.
"""
from dataclasses import dataclass
from pathlib import Path
import sys

from nav_msgs.msg import OccupancyGrid
from oomwoo_clean.edge_report import draw_picture, report_dict, write_report
from oomwoo_clean.edge_run import EdgeRun, Inputs, RUNNING, RunSettings
from oomwoo_clean.edge_store import JobStore, StoreError
from oomwoo_clean.edge_sweep import EdgeSettings, EdgeSweep, felt_points
from oomwoo_clean.job_node import JobNode, JobNodeSettings
from oomwoo_clean.job_run import CANCELLED, DONE, IDLE, PAUSED
from oomwoo_clean.manager_ros_support import EdgeMarkers, FollowerLine
from oomwoo_localization.grids import GridError
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import ERROR, grid_from_msg, LATCHED_QOS, ReflexWatch
from oomwoo_localization.settings import setting
from oomwoo_localization_msgs.action import CleanEdges
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.clock import Clock, ClockType
from rclpy.task import Future

_SHOW_PERIOD_S = 1.0
_FAREWELL_S = 1.0             # of wall time


@dataclass(frozen=True)
class ManagerSettings(EdgeSettings, RunSettings, JobNodeSettings):
    """Settings of the job and of its node."""

    autostart: bool = setting(
        True, 'begin, or go on with a saved job, as soon as map and pose are there', live=False)
    exit_when_done: bool = setting(True, 'end the node when the job has ended')
    output_dir: str = setting(
        'out', 'folder for edge_clean.png, edge_clean.json and the saved job', live=False)
    other_map: str = setting(
        'fresh', 'what to do with a saved job of another map', choices=('fresh', 'refuse'),
        live=False)
    odom_frame: str = setting(
        'odom', 'frame of the odometry, which measures what is driven', live=False)
    follower_patience_s: float = setting(
        2.0, 'a follower silent for longer than this is gone', 's', 0.6, 60.0)


class CleanManagerNode(JobNode):
    """Steps an :class:`EdgeRun` and carries out its orders."""

    def __init__(self, **kwargs):
        """Declare parameters, topics, services and the action; wait for map and pose."""
        super().__init__('clean_manager', ManagerSettings, **kwargs)
        output = Path(self.settings.output_dir).expanduser()
        self._store = JobStore(output / 'edge_clean_state.npz')
        self._store.claim()
        self._report_path = output / 'edge_clean.json'
        self._picture_path = output / 'edge_clean.png'
        self._goal = None
        self._fresh = self._finished = False
        self._follower = FollowerLine(self)
        self._reflex = ReflexWatch(self)
        self._markers = EdgeMarkers(self, self.settings.global_frame)
        self._touched = None          # (N, 2) map points that the bumper found solid
        self.create_subscription(OccupancyGrid, 'bump_map', self._on_bump_map, LATCHED_QOS)
        self._server = ActionServer(
            self, CleanEdges, '~/clean_edges', execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel)
        self.create_timer(_SHOW_PERIOD_S, self._show)

    # -- map and job --------------------------------------------------------------------------

    def _keeps_its_map(self):
        return self.settings.other_map == 'refuse'

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

    def _make_run(self, pose):
        """Find the edges of the map from where the robot is, and take over a saved job."""
        try:
            run = EdgeRun(EdgeSweep(self._grid, pose, self.settings), self.settings)
        except GridError:
            self._grid = None                   # another one has to come
            raise
        if self._store.exists() and not self._fresh:
            run = self._take_over(run, pose)
        self._fresh = self._finished = False
        return run

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

    def _command(self, name):
        if name == 'pause':
            for_reflex, self._paused_for_reflex = self._paused_for_reflex, False
            if for_reflex and self._run is not None and self._run.phase == PAUSED:
                # A person has said so: it does not go on by itself.
                return True, 'paused, and stays so when the escape reflex is over'
        return super()._command(name)

    def _early(self, name):
        if name == 'cancel' and (self._wanted or self._held):
            return self._never_begin()
        return super()._early(name)

    def _start_anew(self):
        self._fresh = True
        return super()._start_anew()

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
            why = self._early('start')[1]
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

    def _before(self, run):
        """Pause a running job while an escape reflex drives, and go on with it after."""
        if self._reflex.active:
            if run.running:
                self._paused_for_reflex = run.pause()[0]
        elif self._reflex.over() and self._paused_for_reflex:
            self._paused_for_reflex = False
            run.resume()

    def _work(self, run, now_s, pose):
        # Nothing is driven for a job that rests.
        odom = self._pose(now_s, self.settings.odom_frame) if run.running else None
        orders = run.step(Inputs(
            now_s, pose, odom, self._follower.state, not self._follower.stands,
            self._follower.take_bump(), self._navigator.report, self._touched,
            self._missing(now_s)))
        self._follower.tell_touched(run.sweep.touched, self.settings.global_frame)
        self._carry_out(orders, now_s)
        self._keep(orders, pose)
        return orders

    def _missing_beside(self, now_s):
        if self._follower.heard_within(now_s, self.settings.follower_patience_s):
            return ''
        self._follower.forget()
        return 'the contour follower'

    def _carry_out(self, orders, now_s):
        """Let one drive at a time: the other has said that it stands before one starts."""
        if not orders.follow:
            self._follower.want(False, now_s)
        if orders.goal is None:
            self._navigator.cancel(now_s)
        if orders.goal is not None and self._follower.stands:
            self._navigator.go(orders.goal_id, orders.goal, now_s)
        if orders.follow and not self._navigator.active:
            self._follower.want(True, now_s)

    def _stand(self, now_s):
        self._follower.want(False, now_s)
        super()._stand(now_s)

    def _all_stand(self, now_s):
        gone = not self._follower.heard_within(now_s, self.settings.follower_patience_s)
        return (self._follower.stands or gone) and super()._all_stand(now_s)

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

    def _share_done(self):
        # Not known before the job is there: a saved one may be far on.
        return None if self._run is None else self._run.sweep.figures().progress

    def _show(self):
        if self._run is None:
            return
        self._markers.publish(self._run.sweep)
        if self._goal is not None:
            self._goal[0].publish_feedback(
                CleanEdges.Feedback(**self._action_fields(CleanEdges.Feedback)))

    def _over(self, run, now_s):
        if not self._finished and self._all_stand(now_s):
            self._finish()

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
        super().time_went_back()
        self._follower.hear(self.now_s())

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
        super().stop()


def main():
    """Run the node."""
    return run_node(CleanManagerNode)


if __name__ == '__main__':
    sys.exit(main())
