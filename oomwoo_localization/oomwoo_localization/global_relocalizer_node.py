"""
``~/relocalize``: where on the map is the robot? Answers, and never moves or commits anything.

Searches and map preparation run in a worker thread, one after the other, so that the node goes on
listening.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
import math
import sys

from nav_msgs.msg import OccupancyGrid
import numpy as np
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.grids import GridError
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.relocalizer import (
    refusal,
    Relocalization,
    Relocalizer,
    RelocalizerSettings,
)
from oomwoo_localization.ros_support import (
    ERROR,
    grid_from_msg,
    LATCHED_QOS,
    OK,
    pose_to_msg,
    scan_from_msg,
    seconds,
    SENSOR_QOS,
    SuiteNode,
    WARN,
)
from oomwoo_localization.scans import ScanError
from oomwoo_localization.settings import setting
from oomwoo_localization_msgs.srv import Relocalize
from rclpy.clock import Clock, ClockType
from rclpy.task import Future
from sensor_msgs.msg import LaserScan

POLL_S = 0.005
UNKNOWN_VARIANCE = 1e6
MOST_CANDIDATES = 12


@dataclass(frozen=True)
class GlobalRelocalizerSettings(RelocalizerSettings):
    """The relocalizer's settings and the node's own."""

    base_frame: str = setting('base_footprint', 'frame whose pose is wanted', live=False)
    scan_age_s: float = setting(1.0, 'a latest scan older than this is not used', 's', 0.05, 60.0)


@dataclass(frozen=True)
class PreparedMap:
    """A received map: its number, its frame, and the future of its :class:`Relocalizer`."""

    number: int
    frame_id: str
    relocalizer: object


class GlobalRelocalizerNode(SuiteNode):
    """Holds the latest map and scan, and asks the relocalizer."""

    def __init__(self):
        """Wait for a map."""
        super().__init__('global_relocalizer', GlobalRelocalizerSettings)
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._map = None
        self._maps = 0
        self._map_error = ''
        self._scan = None
        self._waiting = []
        self._frames = FrameTree(self)
        self.create_subscription(OccupancyGrid, 'map', self._take_map, LATCHED_QOS)
        self.create_subscription(LaserScan, 'scan', self._take_scan, SENSOR_QOS)
        self.create_service(Relocalize, '~/relocalize', self._relocalize)
        # Steady, since answers are due when the simulated clock stands still, too.
        self._poll = self.create_timer(
            POLL_S, self._deliver, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._poll.cancel()
        self.set_status(WARN, 'waiting for a map', 'WAITING', 'no_map')

    # -- input ------------------------------------------------------------------------------

    def _take_map(self, msg):
        self._maps += 1
        try:
            grid = grid_from_msg(msg)
        except GridError as error:
            self._refuse_map(str(error))
            return
        frame_id = msg.header.frame_id or 'map'
        self._map_error = ''
        self._map = PreparedMap(
            self._maps, frame_id, self._worker.submit(Relocalizer, grid, self.settings)
        )
        self._await(self._map.relocalizer, self._map_prepared)

    def _map_prepared(self, done):
        if done.exception() is not None:
            self._refuse_map(str(done.exception()))
            return
        rows, columns = done.result().grid.shape
        self.set_status(OK, f'ready: map of {columns} x {rows} cells', 'READY')

    def _refuse_map(self, why):
        self._map, self._map_error = None, why
        self.set_status(ERROR, f'cannot use the map: {why}', 'WAITING', 'bad_map')

    def _take_scan(self, msg):
        self._scan = msg

    # -- the service ------------------------------------------------------------------------

    async def _relocalize(self, request, response):
        own = len(request.scan.ranges) > 0
        msg = request.scan if own else self._scan
        prepared = self._map
        question, refused = self._question(msg, own, prepared)
        if refused is None:
            job = self._worker.submit(_search, prepared.relocalizer, self.settings, *question)
            done = Future()
            self._await(job, done.set_result)
            answer = await_result(await done)
            message = answer.result.message
            if self._maps != prepared.number:
                message += ' (a new map came while searching; this is the one before)'
        else:
            answer, message = Answer(refused), refused.message
        return self._fill(response, answer, message, msg, prepared)

    def _question(self, msg, own, prepared):
        """
        Return ``((scan, base_from_scan), None)``, or ``(None.

        Refusal)`` saying what is missing.
        """
        if prepared is None:
            if self._map_error:
                return None, refusal('bad_map', f'the map cannot be used: {self._map_error}')
            return None, refusal('no_map', f'no map on {self.resolve_topic_name("map")} yet')
        if msg is None:
            return None, refusal('no_scan', f'no scan on {self.resolve_topic_name("scan")} yet')
        age = self.now_s() - seconds(msg.header.stamp)
        if not own and abs(age) > self.settings.scan_age_s:
            return None, refusal(
                'stale_scan',
                (f'the latest scan is {age:.1f} s old; {self.settings.scan_age_s} s is allowed'),
            )
        try:
            scan = scan_from_msg(msg)
        except ScanError as error:
            return None, refusal('bad_scan', f'scan: {error}')
        if not msg.header.frame_id:
            return None, refusal('bad_scan', 'scan: header.frame_id is empty')
        base_from_scan = self._frames.matrix(self.settings.base_frame, msg.header.frame_id)
        if base_from_scan is None:
            return None, refusal('no_transform', self._frames.error)
        return (scan, base_from_scan), None

    def _fill(self, response, answer, message, msg, prepared):
        result = answer.result
        response.candidates = [pose_to_msg(pose) for pose, _ in answer.candidates]
        response.candidate_scores = [float(score) for _, score in answer.candidates]
        response.candidates_complete = answer.complete
        response.success = bool(result.accepted)
        response.score = float(result.score)
        response.score_normalized = float(result.score_normalized)
        response.confidence = float(result.confidence)
        response.runner_up_score = float(result.runner_up_score)
        response.runtime_s = float(result.runtime_s)
        response.reason_code, response.message = result.reason_code, message
        response.pose.header.frame_id = prepared.frame_id if prepared else 'map'
        if msg is not None:
            response.pose.header.stamp = msg.header.stamp
        covariance = np.where(np.isfinite(result.covariance), result.covariance, 0.0)
        if np.isfinite(result.pose).all():
            response.pose.pose.pose = pose_to_msg(result.pose)
        if not np.isfinite(result.covariance).all():
            covariance = np.diag([UNKNOWN_VARIANCE] * 3)
        full = np.zeros((6, 6))
        full[np.ix_([0, 1, 5], [0, 1, 5])] = covariance
        response.pose.pose.covariance = full.ravel().tolist()
        if np.isfinite(result.runner_up).all():
            response.runner_up = pose_to_msg(result.runner_up)
        self._tell(result, message)
        return response

    def _tell(self, result, message):
        if result.accepted:
            x, y, yaw = result.pose
            self.set_status(
                OK,
                (
                    f'found at ({x:.2f}, {y:.2f}), {math.degrees(yaw):.1f} degrees, confidence '
                    f'{result.confidence:.2f}'
                ),
                'FOUND',
                pose=result.pose,
            )
        else:
            self.set_status(WARN, f'not found: {message}', 'REFUSED', result.reason_code)

    # -- the worker's results come back into the executor's thread ----------------------------

    def _await(self, job, then):
        self._waiting.append((job, then))
        self._poll.reset()

    def _deliver(self):
        finished = [pair for pair in self._waiting if pair[0].done()]
        self._waiting = [pair for pair in self._waiting if not pair[0].done()]
        if not self._waiting:
            self._poll.cancel()
        for job, then in finished:
            then(job)

    # -- life -------------------------------------------------------------------------------

    def settings_changed(self):
        """Use new settings from the next search on."""

    def time_went_back(self):
        """Forget the scan: it is dated in what is now the future."""
        self._scan = None

    def stop(self):
        """End the worker after what it is at."""
        self._worker.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class Answer:
    """
    A :class:`Relocalization` and, when that is ambiguous, between which poses.

    ``candidates`` are ``(pose, score)``, best first; ``complete`` tells whether these are all.
    """

    result: Relocalization
    candidates: tuple = ()
    complete: bool = True


def _search(prepared, settings, scan, base_from_scan):
    """
    Return the :class:`Answer` to a scan.

    In the worker's thread, where the map's preparation came first.
    """
    try:
        relocalizer = prepared.result()
    except GridError as error:
        return Answer(refusal('bad_map', f'the map cannot be used: {error}'))
    relocalizer.settings = settings
    answer = relocalizer.relocalize(scan, base_from_scan)
    if answer.reason_code != 'ambiguous':
        return Answer(answer)
    found = tuple(relocalizer.candidates(scan, base_from_scan, MOST_CANDIDATES + 1))
    return Answer(answer, found[:MOST_CANDIDATES], len(found) <= MOST_CANDIDATES)


def await_result(job):
    """
    Return the :class:`Answer` of a finished search.

    What went wrong inside is an answer, too.
    """
    error = job.exception()
    if error is not None:
        return Answer(refusal('failed', f'the search failed: {type(error).__name__}: {error}'))
    return job.result()


def main(args=None):
    """Run the node."""
    return run_node(GlobalRelocalizerNode, args)


if __name__ == '__main__':
    sys.exit(main())
