"""What the nodes of the cleaning jobs have alike: a map, one job on it, commands, a navigator."""
from dataclasses import dataclass
import time

from nav_msgs.msg import OccupancyGrid
from oomwoo_clean.drivers_ros_support import OtherCleaners
from oomwoo_clean.edge_sweep import map_hash
from oomwoo_clean.job_run import HELD, IDLE, PAUSED, STUCK, WAITING
from oomwoo_clean.navigator_ros_support import NavigatorLine
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.grids import GridError
from oomwoo_localization.ros_support import ERROR, grid_from_msg, LATCHED_QOS, OK, SuiteNode, WARN
from oomwoo_localization.settings import setting
from oomwoo_localization.start_grace import StartGrace
from std_msgs.msg import Bool, Float32, String
from std_srvs.srv import Trigger

_PERIOD_S = 0.1
_STOP_PATIENCE_S = 1.0        # of wall time


@dataclass(frozen=True)
class JobNodeSettings:
    """Settings that the nodes of the jobs share."""

    global_frame: str = setting('map', 'frame of the map', live=False)
    robot_frame: str = setting(
        'base_footprint', 'frame of the body centre on the floor', live=False)
    pose_patience_s: float = setting(1.0, 'a pose older than this stops the robot', 's', 0.1, 30.0)
    navigator_patience_s: float = setting(
        5.0, 'a navigator that says nothing about its goal for longer than this is gone', 's',
        0.5, 60.0)


class JobNode(SuiteNode):
    """
    Steps a JobRun ten times a second, on the map that is there and from where the robot is.

    A subclass makes the job (:meth:`_make_run`), carries out what it orders (:meth:`_work`), ends
    (:meth:`_over`), and adds to the rest what it needs beside a navigator.
    """

    LEVELS = {WAITING: WARN, STUCK: ERROR}      # of what is said in a state; OK in all others

    def __init__(self, name, settings_class, **kwargs):
        """Declare parameters (a JobNodeSettings with ``autostart``), topics and services."""
        super().__init__(name, settings_class, **kwargs)
        self._grid = self._run = None
        self._trouble = f'no map on topic {self.resolve_topic_name("map")} yet'
        self._wanted = self.settings.autostart
        self._held = False            # what is prepared next is paused
        self._paused_for_reflex = False         # and not by a person
        self._jumped = self._stopping = False
        self._grace, self._spared = StartGrace(), False
        self._last = {}
        self._frames = FrameTree(self)
        self._others = OtherCleaners(
            self, lambda: self._run is not None and self._run.running)
        self._navigator = NavigatorLine(self, self.settings.global_frame, self._others)
        self._states = self.create_publisher(String, '~/state', LATCHED_QOS)
        self._progress = self.create_publisher(Float32, '~/progress', LATCHED_QOS)
        self._active = self.create_publisher(Bool, 'cleaning_active', LATCHED_QOS)
        self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        for command in ('start', 'pause', 'resume', 'cancel'):
            self.create_service(
                Trigger, f'~/{command}',
                lambda request, response, command=command: self._on_command(command, response))
        self.create_timer(_PERIOD_S, self._tick)
        self.set_status(OK, self._trouble, WAITING, 'NO_MAP')
        self._announce()

    # -- map ----------------------------------------------------------------------------------

    def _on_map(self, msg):
        try:
            grid = grid_from_msg(msg)
        except GridError as error:
            self._refuse_map(str(error))
            return
        if self._grid is not None and map_hash(grid) == map_hash(self._grid):
            return
        begun = self._run is not None and (self._run.running or self._run.phase == PAUSED)
        if begun and self._keeps_its_map():
            self.get_logger().error(
                'topic map: another map while the job runs; it goes on with the old one')
            return
        if begun and self._run.phase == PAUSED and not self._paused_for_reflex:
            self.set_status(WARN, HELD, PAUSED, 'OTHER_MAP')
            self._held = True
        elif begun:
            self.get_logger().warning(
                'topic map: another map while the job runs; it begins anew on that')
            self._wanted = True
        self._grid, self._run = grid, None
        self._grace.begin()

    def _keeps_its_map(self):
        """Tell whether a job that has begun goes on with its own map when another comes."""
        return False

    def _refuse_map(self, why):
        self._trouble = f'topic {self.resolve_topic_name("map")}: {why}'
        self.set_status(ERROR, self._trouble, WAITING, 'BAD_MAP')

    # -- commands -----------------------------------------------------------------------------

    def _on_command(self, name, response):
        response.success, response.message = self._command(name)
        self.get_logger().info(f'{name}: {response.message}')
        return response

    def _command(self, name):
        why = self._others.problem() if name in ('start', 'resume') else ''
        if why:
            return False, why
        if self._run is None:
            return self._early(name)
        if name == 'start' and self._run.ended:
            return self._start_anew()
        return getattr(self._run, name)()

    def _early(self, name):
        """Answer a command that comes before the job is prepared."""
        return False, f'too early: {self._trouble or "the job is being prepared"}'

    def _start_anew(self):
        self._run, self._wanted, self._trouble = None, True, ''
        return True, 'a new job begins'

    # -- one tick -----------------------------------------------------------------------------

    def _tick(self):
        if self._stopping:
            return
        now_s = self.now_s()
        pose = self._pose(now_s)
        run = self._run
        if run is None:
            self._stand(now_s)
            self._navigator.ready(now_s)
            if self._grid is not None:
                self._prepare(pose)
            return
        self._before(run)
        if self._wanted and run.phase == IDLE:
            self._others.start(run)
        self._wanted = False
        self._others.give_way(run)
        orders = self._work(run, now_s, pose)
        for event in orders.events:
            self._tell(event, pose)
        if self._spared and self._grace.over:
            self._spared = False
            if run.phase == WAITING:
                self._say(self.LEVELS[WAITING], run.reason, WAITING, pose)
        self._announce()
        if run.ended:
            self._over(run, now_s)

    def _pose(self, now_s, frame=None):
        """Return the robot's pose in a frame, by default the map; None: missing, or too old."""
        frame = frame or self.settings.global_frame
        stamped = self._frames.stamped_pose(frame, self.settings.robot_frame)
        if stamped is not None and now_s - stamped[1] > self.settings.pose_patience_s:
            self._frames.error = (
                f'{frame} <- {self.settings.robot_frame} is older than '
                f'{self.settings.pose_patience_s} s')
            return None
        return None if stamped is None else stamped[0]

    def _prepare(self, pose):
        """Make the job of the map from where the robot is."""
        if pose is None:
            # The reason changes with every tick; the status must not.
            self._trouble = (
                f'no pose of {self.settings.robot_frame} in '
                f'{self.settings.global_frame} on tf')
            self.set_status(
                WARN if self._grace.over else OK, self._trouble, WAITING, 'NO_POSE')
            self.get_logger().info(self._frames.error, throttle_duration_sec=10.0)
            return
        try:
            run = self._make_run(pose)
        except GridError as error:
            self._refuse_map(str(error))
            return
        if self._held and run.phase == IDLE:
            run.hold(HELD)
        self._held, self._trouble, self._run = False, '', run

    def _make_run(self, pose):
        """Return the job of ``self._grid`` from a pose; GridError where there is none."""
        raise NotImplementedError

    def _before(self, run):
        """Do what comes before the step of a job."""

    def _work(self, run, now_s, pose):
        """Step the job and carry out its orders, which are returned."""
        raise NotImplementedError

    def _over(self, run, now_s):
        """Do what there is to do in a tick of a job that has ended."""

    def _missing(self, now_s):
        """Return what the job needs and does not have, in words."""
        if self._jumped:
            self._jumped = False
            return 'the clock, which jumped back'
        beside = self._missing_beside(now_s)
        if beside:
            return beside
        if not self._navigator.ready(now_s):
            self._navigator.give_up('the navigator is gone', now_s)
            return 'the navigator (action navigate_to_pose)'
        if self._navigator.silent_for(now_s) > self.settings.navigator_patience_s:
            self._navigator.give_up('the navigator fell silent', now_s)
            return 'an answer of the navigator'
        return ''

    def _missing_beside(self, now_s):
        """Return what it needs beside clock and navigator and does not have, in words."""
        return ''

    # -- what the world is told ---------------------------------------------------------------

    def _tell(self, event, pose):
        level = WARN if event.warning else self.LEVELS.get(event.state, OK)
        if event.state == WAITING and not self._grace.over:
            level, self._spared = OK, True
        self._say(level, event, event.state, pose)

    def _say(self, level, text, state, pose):
        self.set_status(level, text, state, state, state != STUCK, pose)

    def _share_done(self):
        """Return how far the job is, 0 .. 1; None: not known."""
        return None if self._run is None else self._run.sweep.progress

    def _announce(self):
        """Publish state, progress and whether it is cleaning, each when it changes."""
        run = self._run
        for publisher, kind, value in (
                (self._states, String, run.phase if run else WAITING),
                (self._progress, Float32, self._share_done()),
                (self._active, Bool, run is not None and run.running)):
            if value is not None and self._last.get(publisher) != value:
                self._last[publisher] = value
                publisher.publish(kind(data=value))

    # -- life ---------------------------------------------------------------------------------

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

    def _stand(self, now_s):
        """Ask whoever drives for the job to end that."""
        self._navigator.cancel(now_s)

    def _all_stand(self, now_s):
        """Tell whether nobody drives for the job any more."""
        return not self._navigator.active

    def stop(self):
        """Leave the robot standing."""
        self._stopping = True
        self._active.publish(Bool(data=False))
        # The requests must be out, and had better be answered, before the node is gone.
        until = time.monotonic() + _STOP_PATIENCE_S
        while time.monotonic() < until and not self._all_stand(self.now_s()):
            self._stand(self.now_s())
            self.executor.spin_once(timeout_sec=0.05)
