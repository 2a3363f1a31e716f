"""Scans as the localization nodes want them: checked, in order, placed by the tf of their time."""
from collections import deque
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.motion_compensation import turn_duration_s
from oomwoo_localization.ros_support import scan_from_msg, SENSOR_QOS
from oomwoo_localization.scans import Scan, ScanError
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.time import Time
from sensor_msgs.msg import LaserScan

RETRY_S = 0.005               # wall time between two looks for a transform that is on its way
WAITING_SCANS = 10
STALE_S = 0.5                 # nothing for this long is worth a word
OLD_S = 3.0                   # a scan older than this, or as far ahead, says nothing of now


@dataclass(frozen=True)
class PlacedScan:
    """
    A scan and where the robot was.

    ``mount`` 4 x 4 of the scanner in the robot's frame; ``start`` and ``end`` (3,) of the robot in
    the fixed frame at the first beam and at the last (None for a scan taken at once); ``msg`` as
    it came.
    """

    scan: Scan
    mount: np.ndarray
    start: np.ndarray
    end: np.ndarray
    stamp: Time
    msg: LaserScan


class ScanIntake:
    """
    Hands each scan on, once its transforms are there; what is late gives way to what is newer.

    ``problem`` is ``(reason_code, message)`` of what keeps scans back, empty while they flow.
    """

    def __init__(self, node, frames, robot_frame, fixed_frame, on_scan, topic='scan'):
        """Subscribe to ``topic`` and call ``on_scan(placed)``; ``frames`` is a FrameTree."""
        self._node, self._frames, self._on_scan, self._topic = node, frames, on_scan, topic
        self._robot_frame, self._fixed_frame = robot_frame, fixed_frame
        self._waiting = deque(maxlen=WAITING_SCANS)
        self._mounts = {}
        self._newest_s = -math.inf
        self.done_s = -math.inf
        self.problem = ('no_scan', f'no scan on topic {topic} yet')
        self._retry = node.create_timer(
            RETRY_S, self._work, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._retry.cancel()
        node.create_subscription(LaserScan, topic, self._take, SENSOR_QOS)

    def clear(self):
        """Forget everything that has a time, after a jump back."""
        self._waiting.clear()
        self._mounts.clear()
        self._newest_s = self.done_s = -math.inf
        self.problem = ('no_scan', f'no scan on topic {self._topic} since the clock jumped back')

    def check_age(self):
        """Make it a problem that nothing came through for a while; call it now and then."""
        if not self.problem[0] and self._node.now_s() - self.done_s > STALE_S:
            self.problem = ('no_scan', f'no scan on topic {self._topic} for more than {STALE_S} s')

    def _take(self, msg):
        try:
            scan = scan_from_msg(msg)
        except ScanError as error:
            self._refuse('bad_scan', f'topic {self._topic}: {error}')
            return
        if not msg.header.frame_id:
            self._refuse('bad_scan', f'topic {self._topic}: header.frame_id is empty')
            return
        age_s = self._node.now_s() - scan.stamp_s
        if age_s < -OLD_S:              # taken for the newest, it would keep all others out
            self._refuse(
                'bad_scan', f'topic {self._topic}: header.stamp is more than {OLD_S:g} s ahead '
                'of the clock')
            return
        if scan.stamp_s <= self._newest_s:
            self._refuse(
                'old_scan', f'topic {self._topic}: header.stamp is not newer than the last')
            return
        if age_s > OLD_S:
            self._refuse(
                'old_scan', f'topic {self._topic}: header.stamp is more than {OLD_S:g} s old')
            return
        self._newest_s = scan.stamp_s
        self._waiting.append((scan, msg))
        self._work()

    def _refuse(self, reason, message):
        if self._node.now_s() - self.done_s > STALE_S:
            self.problem = (reason, message)
        self._node.get_logger().warning(f'{message}; ignored', throttle_duration_sec=5.0)

    def _work(self):
        """Hand on the newest scan whose transforms are there; those before it are too late."""
        for number in range(len(self._waiting) - 1, -1, -1):
            placed = self._place(*self._waiting[number])
            if placed is not None:
                for _ in range(number + 1):
                    self._waiting.popleft()
                self.done_s, self.problem = placed.scan.stamp_s, ('', '')
                self._on_scan(placed)
                break
        if not self._waiting:
            self._retry.cancel()
        elif self._retry.is_canceled():
            self._retry.reset()

    def _place(self, scan, msg):
        frame, stamp = msg.header.frame_id, Time.from_msg(msg.header.stamp)
        mount = self._mounts.get(frame)
        if mount is None:
            mount = self._frames.matrix(self._robot_frame, frame)
            if mount is None:
                self._lack(f'where the scanner is: no transform {self._robot_frame} <- {frame}')
                return None
            self._mounts[frame] = mount
        start, end = self._frames.pose(self._fixed_frame, self._robot_frame, stamp), None
        lasting_s = turn_duration_s(scan)
        if lasting_s and start is not None:
            end = self._frames.pose(
                self._fixed_frame, self._robot_frame, stamp + Duration(seconds=lasting_s))
        if start is None or (lasting_s and end is None):
            self._lack('where the robot was: no transform '
                       f'{self._fixed_frame} <- {self._robot_frame} at the stamp of the scan')
            return None
        return PlacedScan(scan, mount, start, end, stamp, msg)

    def _lack(self, message):
        if self._node.now_s() - self.done_s > STALE_S:
            self.problem = ('no_transform', message)
