"""
A meter: the share of the floor it can reach that the robot has covered.

By the simulator's truth where there is any, else by tf. With ``window_s`` it ends that long after
the cleaning began, with one line of result.
"""
from dataclasses import dataclass
import sys

from action_msgs.msg import GoalStatus, GoalStatusArray
from nav_msgs.msg import OccupancyGrid, Odometry
import numpy as np
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.grids import GridError
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import (
    ERROR,
    grid_from_msg,
    LATCHED_QOS,
    OK,
    pose_from_msg,
    SuiteNode,
    WARN,
)
from oomwoo_localization.settings import setting
from oomwoo_localization.start_grace import StartGrace
from oomwoo_sim_support.coverage_meter import CoverageMeter, EventCounter
from rcl_interfaces.msg import Log
from rclpy.clock import Clock, ClockType
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool, Float32

CONTROLLERS = ('controller_server', 'embedded_navigator')
SHOW_PERIOD_S = 1.0
LOG_QOS = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
STATUS_QOS = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@dataclass(frozen=True)
class MeterSettings:
    """Whose poses count, and for how long."""

    source: str = setting(
        'auto', 'poses: truth, tf, or auto for the truth where somebody publishes it', '',
        choices=('auto', 'truth', 'tf'), live=False)
    map_frame: str = setting('map', 'frame of the map', live=False)
    robot_frame: str = setting('base_footprint', 'the frame whose pose it is', live=False)
    window_s: float = setting(
        0.0, 'the meter ends this long after cleaning began; 0: never', 's', 0.0, 86400.0)
    patience_s: float = setting(
        0.0, 'it ends, as failed, when nothing has begun to clean for this long of wall time; '
        '0: never', 's', 0.0, 3600.0, live=False)


class CoverageMeterNode(SuiteNode):
    """Publishes the covered share of the floor once a second while it grows."""

    def __init__(self, **kwargs):
        """Listen to map, poses, bumpers, navigator and reflexes."""
        super().__init__('coverage_meter', MeterSettings, **kwargs)
        self._grid = self._meter = None
        self._counter = EventCounter()
        self._began_s = None
        self._trouble, self._code = '', ''
        self._grace = StartGrace()
        self._frames = FrameTree(self)
        self._ratio = self.create_publisher(Float32, '~/ratio', LATCHED_QOS)
        self._shown = None
        self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        self.create_subscription(Odometry, 'odom_truth', self._on_truth, 50)
        self.create_subscription(Bool, 'cleaning_active', self._on_cleaning, LATCHED_QOS)
        for side, name in enumerate(('left', 'right')):
            self.create_subscription(
                Bool, f'bumper/{name}',
                lambda msg, side=side: self._counter.bumper(side, msg.data), 10)
        self.create_subscription(
            Bool, 'escape_reflex/active', lambda msg: self._counter.reflex(msg.data), LATCHED_QOS)
        self.create_subscription(
            GoalStatusArray, 'navigate_to_pose/_action/status', self._on_goals, STATUS_QOS)
        self.create_subscription(Log, '/rosout', self._on_log, LOG_QOS)
        self.create_timer(0.1, self._tick)
        self.create_timer(SHOW_PERIOD_S, self._show)
        if self.settings.patience_s > 0.0:
            self.create_timer(
                self.settings.patience_s, self._give_up,
                clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._complain('no_map', 'no map yet')

    # -- what comes in --------------------------------------------------------------------------

    def _on_map(self, msg):
        try:
            grid = grid_from_msg(msg)
        except GridError as error:
            self._complain('bad_map', f'topic map: {error}')
            return
        if self._grid is not None and not _same(grid, self._grid):
            self.get_logger().warning('topic map: another map: measuring begins anew on that')
            self._begin_anew()
        self._grid = grid
        if self._code == 'no_map':
            self._complain('no_pose', 'no pose of the robot yet')

    def _on_cleaning(self, msg):
        self._counter.cleaning = msg.data
        if msg.data and self._began_s is None:
            self._began_s = self.now_s()

    def _on_goals(self, msg):
        for goal in msg.status_list:
            if goal.status == GoalStatus.STATUS_ABORTED:
                self._counter.goal_aborted(bytes(goal.goal_info.goal_id.uuid))

    def _on_log(self, msg):
        if msg.name.split('.')[-1] in CONTROLLERS:
            self._counter.log(msg.msg)

    def _on_truth(self, msg):
        if self.settings.source == 'tf':
            return
        if msg.header.frame_id != self.settings.map_frame:
            self._complain(
                'bad_frame', f'topic odom_truth: header.frame_id is {msg.header.frame_id!r}, not '
                f'{self.settings.map_frame!r}')
            return
        self._take(pose_from_msg(msg.pose.pose))

    def _tick(self):
        if self._trouble:
            self._complain(self._code, self._trouble)       # said as a warning when it stays
        if self._counter.cleaning and not self.count_publishers('cleaning_active'):
            self._counter.cleaning = False          # who said so is gone
            self.get_logger().warning('who cleaned is gone: nobody cleans')
        if self.settings.source == 'tf' or (
                self.settings.source == 'auto' and not self.count_publishers('odom_truth')):
            stamped = self._frames.stamped_pose(
                self.settings.map_frame, self.settings.robot_frame)
            if stamped is None:
                self._complain('no_pose', 'no pose of the robot: neither odom_truth nor tf')
            else:
                self._take(stamped[0])
        window_s = self.settings.window_s
        if window_s > 0.0 and self._began_s is not None and (
                self.now_s() - self._began_s >= window_s):
            self._finish(window_s)

    def _take(self, pose):
        if not np.isfinite(pose).all():
            self.get_logger().warning(
                'a pose of the robot is not finite: ignored', throttle_duration_sec=5.0)
            return
        if self._meter is None and self._grid is not None:
            try:
                self._meter = CoverageMeter(self._grid, pose)
            except GridError as error:
                self._complain('no_floor', str(error))
                return
        if self._meter is None:
            self._complain('no_map', 'no map yet')
            return
        self._meter.observe(pose, self._counter.cleaning)
        self._trouble = self._code = ''
        self.set_status(
            OK, 'measuring' if self._counter.cleaning else 'nobody cleans', 'MEASURING')

    def _complain(self, code, why):
        self._trouble, self._code = why, code
        level = ERROR if code.startswith('bad') else WARN if self._grace.over else OK
        self.set_status(level, why, 'WAITING', code)

    # -- what goes out --------------------------------------------------------------------------

    def _show(self):
        if self._meter is not None and self._meter.ratio != self._shown:
            self._shown = self._meter.ratio
            self._ratio.publish(Float32(data=self._shown))

    def _finish(self, window_s):
        self._show()
        if self._meter is None:
            self.get_logger().error(f'COVERAGE: nothing measured: {self._trouble}')
        else:
            self.get_logger().info(f'COVERAGE in {window_s:.0f} s: {self.report()}')
        self.exit_status = 0 if self._meter is not None else 1
        self._began_s, self.done = None, True

    def _give_up(self):
        if self._began_s is None and not getattr(self, 'done', False):
            self.get_logger().error(
                f'COVERAGE: nothing has begun to clean in {self.settings.patience_s:.0f} s; '
                f'{self._trouble or "no cleaning_active"}')
            self.exit_status, self.done = 1, True

    def report(self):
        """Return the result in one line."""
        return f'{self._meter.line()}, {self._counter.line()}'

    def time_went_back(self):
        """Begin anew: the world did."""
        self._frames.clear()
        self._begin_anew()

    def _begin_anew(self):
        cleaning = self._counter.cleaning
        self._meter, self._counter = None, EventCounter()
        self._counter.cleaning = cleaning
        self._began_s = self.now_s() if cleaning else None

    def stop(self):
        """Say what it came to, unless that was said."""
        if self._meter is not None and not getattr(self, 'done', False):
            self.get_logger().info(f'COVERAGE: {self.report()}')


def _same(grid, other):
    return (
        grid.shape == other.shape and grid.resolution == other.resolution
        and np.array_equal(grid.origin, other.origin) and np.array_equal(grid.cells, other.cells))


def main(args=None):
    """Run the node."""
    return run_node(CoverageMeterNode, args)


if __name__ == '__main__':
    sys.exit(main())
