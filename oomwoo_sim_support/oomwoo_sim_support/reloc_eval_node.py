"""
The relocalizer on a grid over the whole map, in the ROS graph, against the truth.

The truth is where the simulator has the robot at the stamp of the scan, not where it was put:
beside something that the map does not show it may be pushed aside. Ends by itself, with a summary;
exit status 1 when a wrong pose was accepted or one was not recovered.
"""

import csv
from dataclasses import dataclass
import math
from pathlib import Path
import sys

from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import OccupancyGrid, Odometry
import numpy as np
from oomwoo_localization.grids import GridError
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import (
    ERROR,
    grid_from_msg,
    LATCHED_QOS,
    OK,
    pose_from_msg,
    seconds,
    SENSOR_QOS,
    SuiteNode,
)
from oomwoo_localization.settings import setting
from oomwoo_localization_msgs.srv import Relocalize
from oomwoo_sim_support.kidnap import KidnapDraw
from oomwoo_sim_support.localization_error import pose_error, PoseHistory
from oomwoo_sim_support.robot_mover import RobotMover
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import LaserScan

WRONG_M, WRONG_DEG = 0.3, 10.0
PERIOD_S = 0.02
KEEP_S = 10.0  # of the truth, for answers that take long
COLUMNS = (
    'x',
    'y',
    'yaw_deg',
    'found_x',
    'found_y',
    'found_yaw_deg',
    'accepted',
    'err_m',
    'err_deg',
    'score',
    'confidence',
    'ms',
    'reason',
)


@dataclass(frozen=True)
class EvalSettings:
    """Which grid, and what is done with the answers."""

    spacing_m: float = setting(1.0, 'distance between two places', 'm', 0.05, 10.0, live=False)
    headings: int = setting(4, 'headings at each place', '', 1, 64, live=False)
    margin_m: float = setting(
        0.05, 'room left around the body, by the map', 'm', 0.0, 1.0, live=False
    )
    publish_initialpose: bool = setting(
        False, 'tell the localizer each pose that was accepted', live=False
    )
    hold_s: float = setting(0.0, 'pause after each answer, to look at', 's', 0.0, 60.0, live=False)
    csv_path: str = setting('', 'file for one line a pose; empty: none', live=False)
    entity: str = setting(
        '', 'name of the robot in the simulator; empty: as robot.yaml calls it', live=False
    )
    gazebo_world: str = setting('', 'name of the world in Gazebo, for its own service', live=False)
    patience_s: float = setting(
        60.0, 'wall time without any progress, after which it gives up', 's', 1.0, 600.0
    )


class RelocEvalNode(SuiteNode):
    """One pose after the other: PUT, wait for a SCAN from there, ASK, HOLD."""

    def __init__(self):
        """Wait for map, simulator and relocalizer."""
        super().__init__('reloc_eval', EvalSettings)
        self._robot = load_robot()
        self._mover = RobotMover(
            self, self.settings.entity or self._robot.name, self.settings.gazebo_world
        )
        self._client = self.create_client(Relocalize, 'global_relocalizer/relocalize')
        self._seed = self.create_publisher(PoseWithCovarianceStamped, 'initialpose', 10)
        self._poses, self._skipped, self.rows = None, 0, []
        self._phase, self._pose, self._since_s, self._scan = 'WAIT', None, 0.0, None
        self._truth, self._scan_s = PoseHistory(KEEP_S), 0.0
        self._open_csv()
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._progress_s = self._wall_s()
        self.done, self.exit_status = False, 1
        self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        self.create_subscription(LaserScan, 'scan', self._on_scan, SENSOR_QOS)
        self.create_subscription(Odometry, 'odom_truth', self._on_truth, 50)
        self.create_timer(PERIOD_S, self._tick, clock=self._wall)

    def _wall_s(self):
        return self._wall.now().nanoseconds * 1e-9

    def _on_map(self, msg):
        if self._poses is not None:
            return
        try:
            draw = KidnapDraw(
                grid_from_msg(msg), self._robot.body.radius, 0, self.settings.margin_m
            )
        except GridError as error:
            self._fail(f'topic map: {error}')
            return
        self._poses = list(draw.grid_poses(self.settings.spacing_m, self.settings.headings))
        self._count = len(self._poses)
        self.set_status(OK, f'{self._count} poses to try', 'RUNNING')

    def _on_scan(self, msg):
        self._scan = msg

    def _on_truth(self, msg):
        self._truth.add(seconds(msg.header.stamp), pose_from_msg(msg.pose.pose))

    def _tick(self):
        if self.done:
            return
        if self._wall_s() - self._progress_s > self.settings.patience_s:
            missing = (
                'a map on topic map'
                if self._poses is None
                else 'a simulator'
                if not self._mover.kind
                else (
                    'the relocalizer'
                    if not self._client.service_is_ready()
                    else 'a scan or an answer'
                )
            )
            self._fail(f'gave up after {self.settings.patience_s:.0f} s without {missing}')
        elif self._phase == 'WAIT':
            if self._poses is not None and self._mover.kind and self._client.service_is_ready():
                self._next()
        elif self._phase == 'SCAN':
            if self._scan is not None and seconds(self._scan.header.stamp) > self._since_s:
                self._phase, self._scan_s = 'ASK', seconds(self._scan.header.stamp)
                self._client.call_async(Relocalize.Request(scan=self._scan)).add_done_callback(
                    self._on_answer
                )
        elif self._phase == 'HOLD' and self.now_s() - self._since_s >= self.settings.hold_s:
            self._next()

    def _next(self):
        self._progress_s = self._wall_s()
        if not self._poses:
            self._finish()
            return
        self._pose, self._phase = self._poses.pop(0), 'PUT'
        self._mover.put(self._pose, self._on_put)

    def _on_put(self, moved, why):
        if not moved:
            # What the map does not show stands there: no place for the robot.
            self._skipped += 1
            self.get_logger().info(f'({self._pose[0]:.2f}, {self._pose[1]:.2f}) left out: {why}')
            self._next()
            return
        self._scan, self._since_s, self._phase = None, self.now_s(), 'SCAN'

    def _on_answer(self, future):
        if future.exception() is not None:
            self._fail(f'the relocalizer failed: {future.exception()}')
            return
        answer = future.result()
        if answer.reason_code == 'no_map':
            # It has only just started: that is no answer about the pose.
            self._scan, self._phase = None, 'SCAN'
            return
        found = pose_from_msg(answer.pose.pose.pose)
        truth = self._truth.at(self._scan_s)
        truth = self._pose if truth is None else truth
        err_m, err_deg = pose_error(found, truth)
        values = (
            *truth[:2],
            math.degrees(truth[2]),
            *found[:2],
            math.degrees(found[2]),
            answer.success,
            err_m,
            err_deg,
            answer.score,
            answer.confidence,
            answer.runtime_s * 1e3,
            answer.reason_code,
        )
        self.rows.append(dict(zip(COLUMNS, values)))
        self._write(self.rows[-1])
        said = 'accepted' if answer.success else f'refused ({answer.reason_code})'
        self.get_logger().info(
            f'{len(self.rows)} of {self._count}: {said}, off by {err_m * 100:.1f} cm and '
            f'{err_deg:.2f} deg'
        )
        if answer.success and self.settings.publish_initialpose:
            self._seed.publish(answer.pose)
        self._since_s, self._phase, self._progress_s = self.now_s(), 'HOLD', self._wall_s()

    def _open_csv(self):
        """Begin the file, so that one that cannot be written is refused before the work."""
        self._path = None
        if not self.settings.csv_path:
            return
        self._path = Path(self.settings.csv_path).expanduser()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, 'w', newline='', encoding='utf-8') as file:
                csv.DictWriter(file, COLUMNS).writeheader()
        except OSError as error:
            raise OSError(f'parameter csv_path: {self._path}: {error.strerror}') from error

    def _write(self, row):
        """Append a line, so that the file has all poses so far whatever ends it."""
        if self._path is not None:
            with open(self._path, 'a', newline='', encoding='utf-8') as file:
                csv.DictWriter(file, COLUMNS).writerow(row)

    def _finish(self):
        line, good = summary(self.rows, self._skipped)
        self.exit_status = 0 if good else 1
        self.set_status(OK if good else ERROR, line, 'DONE')
        self.done = True

    def _fail(self, why):
        self.set_status(ERROR, why, 'FAILED')
        self.done = True


def summary(rows, skipped=0):
    """Return ``(sentence, good)``: good when every pose was accepted and none is wrong."""
    accepted = [row for row in rows if row['accepted']]
    wrong = [row for row in accepted if row['err_m'] > WRONG_M or row['err_deg'] > WRONG_DEG]
    right = [row for row in accepted if row not in wrong]
    good = bool(rows) and len(right) == len(rows)
    worst = (
        ''
        if not right
        else (
            f', worst {max(r["err_m"] for r in right) * 100:.1f} cm and '
            f'{max(r["err_deg"] for r in right):.2f} deg, '
            f'median {np.median([r["ms"] for r in rows]):.0f} ms'
        )
    )
    return (
        f'{"PASS" if good else "FAIL"}: {len(right)} of {len(rows)} poses recovered{worst}; '
        f'{len(wrong)} wrong ones '
        f'accepted, {len(rows) - len(accepted)} refused, {skipped} places left out'
    ), good


def main(args=None):
    """Run the node."""
    return run_node(RelocEvalNode, args)


if __name__ == '__main__':
    sys.exit(main())
