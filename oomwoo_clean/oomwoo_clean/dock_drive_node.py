"""
Docking in the ROS graph: ``dock_robot`` and ``undock_robot`` as Nav2's docking server has them.

The algorithm is :mod:`oomwoo_clean.dock_drive`; this is its adapter.
"""
from dataclasses import dataclass
from itertools import count
import math
import sys

from geometry_msgs.msg import Twist
from nav2_msgs.action import DockRobot, UndockRobot
import numpy as np
from oomwoo_clean.dock_beacon import beacon_sight, SightSettings
from oomwoo_clean.dock_detector import DetectorSettings, DockDetector, DockTracker
from oomwoo_clean.dock_drive import (
    BACK,
    CANCELLED,
    DockDrive,
    DONE,
    DriveSettings,
    FAILED,
    MODES,
)
from oomwoo_clean.dock_ros_support import (
    ABORTED,
    CANCELED,
    DockGoals,
    DRIVE,
    FEEDBACK,
    NAVIGATE,
    PREPARE,
    SUCCEEDED,
)
from oomwoo_clean.dock_senses_ros_support import DockSenses
from oomwoo_clean.dock_settings import DockShapeSettings
from oomwoo_clean.drivers_ros_support import OtherDrivers
from oomwoo_clean.navigator_ros_support import NavigatorLine
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import (
    ERROR,
    LATCHED_QOS,
    OK,
    ReflexWatch,
    SuiteNode,
    twist_msg,
    WARN,
)
from oomwoo_localization.scan_ros_support import ScanIntake
from oomwoo_localization.settings import setting
from rclpy.clock import Clock, ClockType
from std_msgs.msg import String

_TICK_S = 0.1
_MOST_REFLEXES = 2            # after so many escapes in one goal it gives up
_CODES = {
    'NOT_FOUND': DockRobot.Result.FAILED_TO_DETECT_DOCK,
    'NO_SCAN': DockRobot.Result.FAILED_TO_DETECT_DOCK,
    'DOCK_LOST': DockRobot.Result.FAILED_TO_DETECT_DOCK,
    'WEDGED': DockRobot.Result.FAILED_TO_STAGE, 'BLOCKED': DockRobot.Result.FAILED_TO_STAGE,
    'STAGING': DockRobot.Result.FAILED_TO_STAGE,
    'STUCK': DockRobot.Result.FAILED_TO_CONTROL,
    'NO_BASE': DockRobot.Result.FAILED_TO_CONTROL,
    'BAY_BLOCKED': DockRobot.Result.FAILED_TO_CONTROL,
    'NOT_LINED_UP': DockRobot.Result.FAILED_TO_CONTROL,
    'NO_CONTACT': DockRobot.Result.FAILED_TO_CHARGE,
    'NO_BATTERY': DockRobot.Result.FAILED_TO_CHARGE,
    'NOT_IN_DB': DockRobot.Result.DOCK_NOT_IN_DB,
    'NOT_VALID': DockRobot.Result.DOCK_NOT_VALID, 'NOT_DOCKED': DockRobot.Result.DOCK_NOT_VALID}


@dataclass(frozen=True)
class NodeSettings(DriveSettings, DetectorSettings, SightSettings, DockShapeSettings):
    """Settings of the drive, the detector, the beacon's bearing, the dock and the node."""

    mode: str = setting(
        'beacon', 'with the beacon, or by LiDAR alone', '', choices=MODES)
    dock_on_start: bool = setting(False, 'dock as soon as there is a scan', live=False)
    start_patience_s: float = setting(
        20.0, 'give that up when no scan, or no /clock, comes for this long', 's', 0.1, 600.0,
        live=False)
    exit_when_done: bool = setting(
        False, 'end the node with the first goal: 0 when it was reached, else 1', live=False)
    dock_id: str = setting('home_dock', 'name of the one dock there is', live=False)
    dock_type: str = setting('oomwoo_dock', 'its type', live=False)
    dock_known: bool = setting(False, 'dock_x, dock_y and dock_yaw say where it is', live=False)
    dock_frame: str = setting('map', 'frame of these', live=False)
    dock_x: float = setting(0.0, 'middle of the mouth', 'm', live=False)
    dock_y: float = setting(0.0, 'middle of the mouth', 'm', live=False)
    dock_yaw: float = setting(0.0, 'direction out of the bay', 'rad', live=False)
    navigate_beyond_m: float = setting(
        2.5, 'a known dock farther than this is driven to with navigate_to_pose', 'm', 0.5, 100.0)
    frame_patience_s: float = setting(
        2.0, 'a goal waits this long for the transform of its dock pose', 's', 0.0, 60.0)
    stale_s: float = setting(0.5, 'a scan older than this is not driven by', 's', 0.05, 5.0)
    beacon_stale_s: float = setting(
        0.5, 'readings of the receivers older than this say nothing', 's', 0.05, 5.0)
    battery_stale_s: float = setting(
        3.0, 'nor does what the battery said longer ago than this', 's', 0.1, 60.0)
    base_frame: str = setting('base_footprint', 'frame of the body centre', live=False)
    odom_frame: str = setting('odom', 'frame of the odometry', live=False)
    robot_file: str = setting('', 'robot file; empty: the packaged one', live=False)


class DockDriveNode(SuiteNode):
    """Serves one goal at a time; writes ``cmd_vel`` only while it drives for it."""

    def __init__(self, **kwargs):
        """Declare parameters, topics and the two actions."""
        super().__init__('dock_drive', NodeSettings, **kwargs)
        settings = self.settings
        self.done, self.exit_status = False, 0
        self._robot = load_robot(settings.robot_file or None)
        self._shape = settings.dock_shape
        self._build_drive()
        self._frames = FrameTree(self)
        self._stepped_s = -math.inf
        self._state = None
        self._command = self.create_publisher(Twist, 'cmd_vel', 10)
        self._states = self.create_publisher(String, '~/state', LATCHED_QOS)
        self._intake = ScanIntake(
            self, self._frames, settings.base_frame, settings.odom_frame, self._on_scan)
        self._senses = DockSenses(self, self._on_bump, self._on_charging)
        self._others, self._reflex = OtherDrivers(self), ReflexWatch(self)
        self._navigator, self._trips = NavigatorLine(self, settings.dock_frame), count(1)
        self._goals = DockGoals(self, self._cancel)
        # Of wall time, so that a clock that never comes is noticed.
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._started_s = self._steady_s()
        self.create_timer(_TICK_S, self._tick, clock=self._steady)
        self._say('IDLE', OK, 'waiting for a goal')

    def _build_drive(self):
        robot, settings = self._robot, self.settings
        self._drive = DockDrive(
            robot, settings, self._shape, DockDetector(robot, self._shape, settings),
            DockTracker(settings), lambda left, right: beacon_sight(left, right, robot, settings))

    def settings_changed(self):
        """Take over new parameters with the next goal."""
        if self._drive.active:
            raise ValueError('busy: parameters can change between two goals')
        self._build_drive()

    def time_went_back(self):
        """Give up: nothing known is from this time."""
        self._frames.clear()
        self._intake.clear()
        self._senses.forget()
        self._stepped_s = -math.inf
        if self._goals.job is not None:
            self._end(FAILED, 'CLOCK', 'the clock jumped back')

    def stop(self):
        """Leave the robot standing."""
        job = self._goals.job
        if job is not None:
            self._navigator.cancel(self.now_s())
            self._command.publish(twist_msg(0.0, 0.0))
            if job.handle is not None:
                job.handle.abort()

    # -- the work ---------------------------------------------------------------------------

    def _on_bump(self):
        if self._drive.active:
            self._command.publish(twist_msg(0.0, 0.0))           # now, and not with the next scan

    def _on_charging(self):
        if self._drive.active and self._state == BACK:
            self._command.publish(twist_msg(0.0, 0.0))

    def _on_scan(self, placed):
        job = self._goals.job
        if job is None or job.phase != DRIVE:
            return
        if self._reflex.active:
            self._say(self._state, WARN, 'standing: an escape reflex drives', 'REFLEX')
            return
        if self._reflex.over():             # before a step of what was planned elsewhere
            self._after_reflex(job)
            return
        if abs(self.now_s() - placed.scan.stamp_s) > self.settings.stale_s:
            return
        self._step(job, placed)

    def _tick(self):
        """Get a goal going, and stand when scans stay away."""
        waited_s = self._steady_s() - self._started_s
        if self.settings.dock_on_start and not self._goals.begun and (
                self._intake.done_s > 0.0 or waited_s > self.settings.start_patience_s):
            self._goals.begin_own('dock')
        job = self._goals.job
        if job is None:
            return
        if self.now_s() == 0.0:             # it waits for the first message on /clock
            if waited_s > self.settings.start_patience_s:
                self._end(FAILED, 'NO_CLOCK', 'nothing on /clock: is the simulator running?')
            return
        job.clock_is_there(self.now_s())
        if job.phase == PREPARE:
            self._prepare(job)
        elif job.phase == NAVIGATE:
            self._navigate(job)
        elif self._reflex.over():
            self._after_reflex(job)
        elif self.now_s() - self._stepped_s > self.settings.stale_s and not self._reflex.active:
            self._step(job, None)

    def _after_reflex(self, job):
        """Look for the dock anew from where a reflex has left the robot, or give up."""
        job.reflexes += 1
        if job.kind == 'undock' or job.cancelling or job.reflexes > _MOST_REFLEXES:
            self._end(CANCELLED if job.cancelling else FAILED, 'REFLEX', (
                'an escape reflex drove the robot, which is not where docking had brought it'))
            return
        self._command.publish(twist_msg(0.0, 0.0))     # the last one is from before the reflex
        self._build_drive()
        job.navigated = True
        job.prepare(self.now_s())

    def _prepare(self, job):
        """Check a goal, find its dock's place, and begin to drive or to navigate."""
        problem = job.problem(self.settings) or self._others.problem()
        if problem is not None:
            self._end(FAILED, *problem)
            return
        if self._intake.done_s > 0.0 and not self._heard(job):  # without scans, that is said first
            return
        if job.kind == 'undock':
            self._drive.undock(job.undocking_time_s)
            self._begin_driving(job)
            return
        hint, known = None, job.dock_pose(self.settings)
        if known is not None:
            frame, pose = known
            odom_from_frame = self._frames.pose(self.settings.odom_frame, frame) if frame else None
            if odom_from_frame is None:
                if self.now_s() - job.began_s > self.settings.frame_patience_s:
                    why = self._frames.error if frame else 'header.frame_id is empty'
                    self._end(FAILED, 'NOT_VALID', f'dock pose in frame {frame!r}: {why}')
                return
            hint = compose(odom_from_frame, pose)
            if job.may_navigate and not job.navigated and self._is_far(hint):
                now_s, out_m = self.now_s(), self.settings.staging_m + self.settings.line_up_m
                before = compose(pose, (out_m, 0.0, 0.0))       # its back to the dock
                if self._navigator.go(next(self._trips), before, now_s, frame):
                    job.phase, job.navigating_since_s = NAVIGATE, now_s
                    self._say('GOTO', OK, 'navigating to the dock')
                    return
                if not job.navigator_grace.over:
                    return
                self.get_logger().warning('no navigate_to_pose server: searching from here')
        self._drive.start(self.settings.mode, hint)
        self._begin_driving(job)

    def _heard(self, job):
        """Tell whether somebody listens to commands: unheard, the robot would seem to be stuck."""
        if self._command.get_subscription_count():
            return True
        if job.base_grace.over:
            topic = self.resolve_topic_name('cmd_vel')
            self._end(FAILED, 'NO_BASE', f'nobody listens to {topic}: is the base running?')
        return False

    def _is_far(self, hint):
        here = self._frames.pose(self.settings.odom_frame, self.settings.base_frame)
        return here is not None and np.hypot(
            *compose(inverse(here), hint)[:2]) > self.settings.navigate_beyond_m

    def _begin_driving(self, job):
        job.phase, self._stepped_s = DRIVE, self.now_s()

    def _navigate(self, job):
        """Wait for the navigator; then look for the dock from where it brought the robot."""
        self._goals.feed_back(job, FEEDBACK['GOTO'], 0)
        now_s, navigator = self.now_s(), self._navigator
        navigator.keep_alive(now_s)
        if navigator.active and not navigator.ready(now_s):
            navigator.give_up('the navigator is gone', now_s)
        if job.cancelling and not navigator.active:
            self._end(CANCELLED, 'CANCELLED', 'cancelled on the way to the dock')
        elif job.cancelling:
            navigator.cancel(now_s)
        elif navigator.report.status == 'FAILED':
            self._end(FAILED, 'STAGING', 'not brought to the dock: the navigator gave up: '
                      f'{navigator.report.message}')
        elif not navigator.active:
            job.navigated = True
            job.prepare(now_s)
        elif now_s - job.navigating_since_s > job.staging_time_s:
            self._end(FAILED, 'STAGING',
                      f'not brought to the dock within {job.staging_time_s:g} s')

    def _step(self, job, placed):
        """One step of the drive; without a scan it stands."""
        if placed is not None:
            self._stepped_s = self.now_s()
        out = self._drive.step(self._senses.observe(placed))
        self._command.publish(twist_msg(out.linear, out.angular))
        if not self._drive.active:
            job.retries = out.regroups
            self._end(out.state, out.reason_code, out.message)
            return
        message = out.message
        if placed is None:
            code, why = self._intake.problem
            message = f'standing: {why or "no fresh scan"}'
            self._say(out.state, WARN, message, (code or 'no_scan').upper())
        else:
            self._say(out.state, OK, message, out.reason_code)
        self._goals.feed_back(job, FEEDBACK.get(out.state, 0), out.regroups)

    def _cancel(self, job):
        """Stop where that is safe; the goal ends as soon as the robot stands there."""
        job.cancelling = True
        if job.phase == DRIVE:
            self._drive.cancel()
        elif job.phase == NAVIGATE:
            self._navigator.cancel(self.now_s())
        else:
            self.executor.create_task(
                lambda: self._end(CANCELLED, 'CANCELLED', 'cancelled', job))

    def _end(self, state, code, message, job=None):
        """Leave the robot standing and end the goal."""
        job = job or self._goals.job
        if job is None or job is not self._goals.job:
            return
        if job.phase == DRIVE:
            self._command.publish(twist_msg(0.0, 0.0))
            if self._drive.active:
                self._build_drive()
        elif job.phase == NAVIGATE:
            self._navigator.give_up(message, self.now_s())
        kind = 'docking' if job.kind == 'dock' else 'undocking'
        if state == DONE:
            self._say(state, OK, message)
        elif state == CANCELLED:
            self._say(state, WARN, message, code)
        else:
            self._say(state, ERROR, f'{kind} failed: {code}: {message}', code)
        status = {DONE: SUCCEEDED, CANCELLED: CANCELED}.get(state, ABORTED)
        error = 0 if state == DONE else _CODES.get(code, DockRobot.Result.UNKNOWN)
        if job.kind == 'undock' and error not in (
                0, UndockRobot.Result.DOCK_NOT_VALID, UndockRobot.Result.UNKNOWN):
            error = UndockRobot.Result.FAILED_TO_CONTROL
        self._goals.end(job, status, error, message)
        if self.settings.exit_when_done:
            self.exit_status = 0 if state == DONE else 1
            self.get_logger().info(
                f'{kind} {"complete" if state == DONE else "given up"}; exiting')
            self.create_timer(_TICK_S, self._leave, clock=self._steady)

    def _steady_s(self):
        return self._steady.now().nanoseconds * 1e-9

    def _leave(self):
        """End the node, a moment after the last messages went out."""
        self.done = True

    def _say(self, state, level, message, code=''):
        if state != self._state:
            self._state = state
            self._states.publish(String(data=state))
        self.set_status(level, message, state, code)


def main():
    """Run the node."""
    return run_node(DockDriveNode)


if __name__ == '__main__':
    sys.exit(main())
