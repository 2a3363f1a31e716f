"""
Coverage planner in the ROS graph: all the floor in lanes, by navigator.

The job is :mod:`oomwoo_clean.coverage_run`; this is its adapter. It writes no ``cmd_vel``: the
navigator drives, and an escape reflex when one has to.
"""
from dataclasses import dataclass
import sys
import time

from nav_msgs.msg import OccupancyGrid
from oomwoo_clean.coverage_run import (
    CoverageInputs,
    CoverageRun,
    CoverageRunSettings,
    ESCAPE,
)
from oomwoo_clean.coverage_sweep import CoverageSettings, CoverageSweep
from oomwoo_clean.edge_sweep import map_hash
from oomwoo_clean.job_run import HELD, IDLE, PAUSED, STUCK, WAITING
from oomwoo_clean.manager_ros_support import OtherCleaners
from oomwoo_clean.navigator_ros_support import NavigatorLine
from oomwoo_localization.grids import GridError
from oomwoo_localization.pockets_ros_support import PocketWatch
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
from std_msgs.msg import Bool, Float32, String
from std_srvs.srv import Trigger

_PERIOD_S = 0.1
_STOP_PATIENCE_S = 1.0        # of wall time


@dataclass(frozen=True)
class PlannerSettings(CoverageSettings, CoverageRunSettings):
    """Settings of the job and of its node."""

    autostart: bool = setting(True, 'begin as soon as map and pose are there', live=False)
    exit_when_done: bool = setting(False, 'end the node when the job has ended')
    contact_aware: bool = setting(
        True, 'stand aside while an escape reflex drives, and keep out of its pockets', live=False)
    global_frame: str = setting('map', 'frame of the map', live=False)
    robot_frame: str = setting(
        'base_footprint', 'frame of the body centre on the floor', live=False)
    pose_patience_s: float = setting(1.0, 'a pose older than this stops the robot', 's', 0.1, 30.0)
    navigator_patience_s: float = setting(
        5.0, 'a navigator that says nothing about its goal for longer than this is gone', 's',
        0.5, 60.0)


class CoveragePlannerNode(SuiteNode):
    """Steps a :class:`CoverageRun` ten times a second and hands its goals to the navigator."""

    def __init__(self, **kwargs):
        """Declare parameters, topics and services; wait for map and pose."""
        super().__init__('coverage_planner', PlannerSettings, **kwargs)
        self._grid = self._run = None
        self._trouble = f'no map on topic {self.resolve_topic_name("map")} yet'
        self._wanted = self.settings.autostart
        self._held = False            # what is prepared next is paused
        self._jumped = self._lost = self._stopping = False
        self._last = {}
        self._frames = FrameTree(self)
        self._others = OtherCleaners(
            self, lambda: self._run is not None and self._run.running)
        self._navigator = NavigatorLine(self, self.settings.global_frame, self._others)
        self._states = self.create_publisher(String, '~/state', LATCHED_QOS)
        self._progress = self.create_publisher(Float32, '~/progress', LATCHED_QOS)
        self._active = self.create_publisher(Bool, 'cleaning_active', LATCHED_QOS)
        self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        self.create_subscription(
            Bool, 'localization_health/lost', self._on_lost, LATCHED_QOS)
        aware = self.settings.contact_aware
        self._reflex = ReflexWatch(self) if aware else None
        self._pockets = PocketWatch(self, self._keep_out) if aware else None
        for name in ('start', 'pause', 'resume', 'cancel'):
            self.create_service(
                Trigger, f'~/{name}',
                lambda request, response, name=name: self._on_command(name, response))
        self.create_timer(_PERIOD_S, self._tick)
        self.set_status(OK, self._trouble, WAITING, 'NO_MAP')
        self._announce()

    # -- what comes in --------------------------------------------------------------------------

    def _on_map(self, msg):
        try:
            grid = grid_from_msg(msg)
        except GridError as error:
            self._refuse_map(str(error))
            return
        if self._grid is not None and map_hash(grid) == map_hash(self._grid):
            return
        if self._run is not None and self._run.running:
            self.get_logger().warning(
                'topic map: another map while the job runs; it begins anew on that')
            self._wanted = True
        elif self._run is not None and self._run.phase == PAUSED:
            self.set_status(WARN, HELD, PAUSED, 'OTHER_MAP')
            self._held = True
        self._grid, self._run = grid, None

    def _refuse_map(self, why):
        self._trouble = f'topic {self.resolve_topic_name("map")}: {why}'
        self.set_status(ERROR, self._trouble, WAITING, 'BAD_MAP')

    def _on_lost(self, msg):
        self._lost = msg.data

    def _keep_out(self):
        if self._run is not None and self._pockets is not None:
            self._run.sweep.keep_out(self._pockets.circles)

    def _on_command(self, name, response):
        response.success, response.message = self._command(name)
        self.get_logger().info(f'{name}: {response.message}')
        return response

    def _command(self, name):
        why = self._others.problem() if name in ('start', 'resume') else ''
        if why:
            return False, why
        if self._run is None and name in ('start', 'cancel'):
            self._wanted, self._held = name == 'start', False
            return True, (
                f'begins as soon as it can: {self._trouble}' if self._wanted
                else 'cancelled before the job began')
        if self._run is None:
            return False, f'too early: {self._trouble}'
        if name == 'start' and self._run.ended:
            self._run, self._wanted = None, True
            return True, 'a new job begins'
        return getattr(self._run, name)()

    # -- one tick -------------------------------------------------------------------------------

    def _tick(self):
        if self._stopping:
            return
        pose = self._pose()
        if self._run is None:
            self._navigator.cancel()
            self._navigator.ready()
            if self._grid is not None:
                self._prepare(pose)
            return
        run = self._run
        if self._wanted and run.phase == IDLE:
            self._others.start(run)
        self._wanted = False
        self._others.give_way(run)
        orders = run.step(CoverageInputs(
            self.now_s(), pose, self._navigator.report,
            self._reflex is not None and self._reflex.active, self._missing()))
        if orders.goal is None:
            self._navigator.cancel()
        else:
            self._navigator.go(orders.goal_id, orders.goal)
        for event in orders.events:
            level = WARN if event.warning else {
                WAITING: WARN, ESCAPE: WARN, STUCK: ERROR}.get(event.state, OK)
            self.set_status(level, event, event.state, event.state, event.state != STUCK, pose)
        self._announce()
        if run.ended and self.settings.exit_when_done and not self._navigator.active:
            self.exit_status, self.done = run.exit_status, True

    def _pose(self):
        """Return the robot's pose in the map, None when it is missing or old."""
        stamped = self._frames.stamped_pose(self.settings.global_frame, self.settings.robot_frame)
        if stamped is None:
            return None
        return stamped[0] if self.now_s() - stamped[1] <= self.settings.pose_patience_s else None

    def _prepare(self, pose):
        """Lay out the lanes from where the robot is."""
        if pose is None:
            self._trouble = (
                f'no pose of {self.settings.robot_frame} in {self.settings.global_frame} on tf')
            self.set_status(WARN, self._trouble, WAITING, 'NO_POSE')
            return
        try:
            sweep = CoverageSweep(self._grid, pose, self.settings)
        except GridError as error:
            self._refuse_map(str(error))
            return
        self._run, self._trouble = CoverageRun(sweep, self.settings), ''
        self._keep_out()
        if self._held:
            self._run.hold(HELD)
        self._held = False

    def _missing(self):
        """Return what the job needs and does not have, in words."""
        if self._jumped:
            self._jumped = False
            return 'the clock, which jumped back'
        if self._lost and self.count_publishers('localization_health/lost') > 0:
            return 'the localization, which is lost'
        if not self._navigator.ready():
            self._navigator.give_up('the navigator is gone')
            return 'the navigator (action navigate_to_pose)'
        if self._navigator.silent_for(self.now_s()) > self.settings.navigator_patience_s:
            self._navigator.give_up('the navigator fell silent')
            return 'an answer of the navigator'
        return ''

    def _announce(self):
        """Publish state, progress and whether it is cleaning, each when it changes."""
        run = self._run
        for publisher, msg in (
                (self._states, String(data=run.phase if run else WAITING)),
                (self._progress, Float32(data=run.sweep.progress if run else 0.0)),
                (self._active, Bool(data=run is not None and run.running))):
            if self._last.get(publisher) != msg.data:
                self._last[publisher] = msg.data
                publisher.publish(msg)

    # -- life -----------------------------------------------------------------------------------

    def time_went_back(self):
        """Stop, forget what is newer than the clock, and go on from there."""
        self._frames.clear()
        self._jumped = True
        self._navigator.hear(self.now_s())
        self.get_logger().warning('the clock jumped back: forgot what was seen before')

    def settings_changed(self):
        """Take over parameters that were set while the job runs."""
        if self._run is not None:
            self._run.settings = self.settings

    def stop(self):
        """Leave the robot standing."""
        self._stopping = True
        self._active.publish(Bool(data=False))
        until = time.monotonic() + _STOP_PATIENCE_S
        while time.monotonic() < until and self._navigator.active:
            self._navigator.cancel()
            self.executor.spin_once(timeout_sec=0.05)


def main(args=None):
    """Run the node."""
    return run_node(CoveragePlannerNode, args)


if __name__ == '__main__':
    sys.exit(main())
