"""Draws the progress of an edge-cleaning job in a terminal, from what the graph publishes."""
import shutil
import sys
import time

from oomwoo_clean.edge_report import duration
from oomwoo_localization.ros_support import LATCHED_QOS, seconds, SuiteNode
from rclpy.clock import Clock, ClockType
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock as ClockMessage
from std_msgs.msg import Bool, Float32, String

_REDRAW_PERIOD_S = 0.25
_PLAIN_STEP = 0.1             # without a terminal: a line for each tenth of the job
_PLAIN_PERIOD_S = 15.0
_SPEED_WINDOW_S = 5.0


def progress_line(progress, state, activity, robot_s, factor, width=100):
    """Return one line: a bar, how far the job is, what the robot does, its time and speed."""
    done = min(max(progress, 0.0), 1.0)
    text = (
        f' {100 * done:5.1f} %  {state:<9.9} {activity:<7.7} {duration(robot_s):>7}')
    if factor:
        text += f'  {factor:4.1f} x real time'
    room = max(10, min(40, width - len(text) - 3))
    filled = int(round(done * room))
    return f'[{"#" * filled}{"." * (room - filled)}]{text}'


class DemoProgressNode(SuiteNode):
    """Listens to clock, manager and follower; ends when ``ended()`` or after ``timeout_s``."""

    def __init__(self, ended, timeout_s, reported=lambda: None):
        """
        Take a function asked four times a second, and the wall time after which to give up.

        ``reported()`` returns the robot time that the job's report says it took, None without one.
        """
        super().__init__('demo_progress')
        self._ended, self._deadline = ended, time.perf_counter() + timeout_s
        self._reported = reported
        self._progress, self._state, self._activity = 0.0, 'starting', ''
        # The job's robot time, as its report counts it: while it cleans.
        self._job_s, self._cleaning = 0.0, False
        self._clock_s, self._speed = 0.0, []
        self._plain = not sys.stdout.isatty()
        self._said, self._said_at = -1.0, 0.0
        self.create_subscription(ClockMessage, 'clock', self._on_clock, qos_profile_sensor_data)
        self.create_subscription(Bool, 'cleaning_active', self._on_cleaning, LATCHED_QOS)
        self.create_subscription(Float32, 'clean_manager/progress', self._on_progress, LATCHED_QOS)
        self.create_subscription(String, 'clean_manager/state', self._on_state, LATCHED_QOS)
        self.create_subscription(String, 'contour_follower/state', self._on_activity, LATCHED_QOS)
        self.create_timer(
            _REDRAW_PERIOD_S, self._redraw, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_clock(self, msg):
        now = seconds(msg.clock)
        if self._cleaning:
            self._job_s += max(0.0, now - self._clock_s)
        self._clock_s = now

    def _on_cleaning(self, msg):
        self._cleaning = msg.data

    def _on_progress(self, msg):
        self._progress = msg.data

    def _on_state(self, msg):
        self._state = msg.data

    def _on_activity(self, msg):
        self._activity = msg.data

    def _redraw(self):
        now = time.perf_counter()
        recent = [s for s in self._speed if now - s[0] < _SPEED_WINDOW_S]
        if self._clock_s > 0.0:
            self._speed = recent + [(now, self._clock_s)]
        spent = now - self._speed[0][0] if self._speed else 0.0
        factor = (self._clock_s - self._speed[0][1]) / spent if spent > 1.0 else 0.0
        over = self._ended() or now > self._deadline
        reported_s = self._reported() if over else None
        line = progress_line(
            self._progress, self._state, self._activity,
            self._job_s if reported_s is None else reported_s, factor,
            shutil.get_terminal_size().columns)
        if not self._plain:
            print(f'\r\033[K{line}', end='', flush=True)
        elif (over or self._progress - self._said >= _PLAIN_STEP
                or now - self._said_at > _PLAIN_PERIOD_S):
            self._said, self._said_at = self._progress, now
            print(line, flush=True)
        self.done = over

    def stop(self):
        """Leave the terminal on a fresh line."""
        if not self._plain:
            print(flush=True)
