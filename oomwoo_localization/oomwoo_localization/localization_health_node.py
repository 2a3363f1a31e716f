"""Is the pose still to be believed? Every scan is scored against the saved map."""
from copy import copy
from dataclasses import dataclass
import math
import sys

from nav_msgs.msg import OccupancyGrid
import numpy as np
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.grids import GridError, load_map
from oomwoo_localization.health import HealthSettings, LostDetector, ScanScorer
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import (
    ERROR,
    grid_from_msg,
    LATCHED_QOS,
    OK,
    SENSOR_QOS,
    SuiteNode,
    WARN,
)
from oomwoo_localization.scan_ros_support import ScanIntake
from oomwoo_localization.settings import setting
from oomwoo_localization_msgs.msg import LocalizationHealth
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Bool, Float32


@dataclass(frozen=True)
class HealthNodeSettings(HealthSettings):
    """The score's settings and what the node adds."""

    yaml_filename: str = setting(
        '', 'saved map file to score against; empty: that on topic map', live=False)
    map_frame: str = setting('map', 'frame of the map', live=False)
    robot_frame: str = setting(
        'base_footprint', "frame of the body's middle on the floor", live=False)


class LocalizationHealthNode(SuiteNode):
    """Measures only: what to do about a lost robot is somebody else's business."""

    def __init__(self):
        """Load the map or wait for one; raises GridError naming file and field for a bad one."""
        super().__init__('localization_health', HealthNodeSettings)
        settings = self.settings
        self._scorer = None
        if settings.yaml_filename:
            self._scorer = ScanScorer(load_map(settings.yaml_filename), settings)
        self._detector = LostDetector(settings)
        self._problem = ('', '') if self._scorer else ('no_map', 'no map on topic map yet')
        self._few = False
        self._frames = FrameTree(self)
        self._score = self.create_publisher(Float32, '~/score', 10)
        self._lost = self.create_publisher(Bool, '~/lost', LATCHED_QOS)
        self._health = self.create_publisher(LocalizationHealth, '~/health', 10)
        self._scored = self.create_publisher(LaserScan, '~/scan_scored', SENSOR_QOS)
        if not settings.yaml_filename:
            self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        self._intake = ScanIntake(
            self, self._frames, settings.robot_frame, settings.map_frame, self._on_scan)
        self.create_timer(0.5, self._say)
        self._lost.publish(Bool(data=False))
        self._say()

    # -- inputs -----------------------------------------------------------------------------

    def _on_map(self, msg):
        """
        Take the map from the topic.

        A new one replaces it: who edits the saved map serves it anew. A localizer's own evolving
        map belongs on another topic, or the saved one is named by the parameter yaml_filename.
        """
        try:
            self._scorer = ScanScorer(grid_from_msg(msg), self.settings)
            self._problem = ('', '')
        except GridError as error:
            kept = '' if self._scorer is None else '; the one before stays'
            self._problem = ('bad_map', f'topic map: {error}{kept}')
        self._say()

    def settings_changed(self):
        """Score and judge with the new settings from now on."""
        self._detector.settings = self.settings
        if self._scorer is not None:
            self._scorer = ScanScorer(self._scorer.grid, self.settings)

    # -- work -------------------------------------------------------------------------------

    def _on_scan(self, placed):
        if self._scorer is None:
            return
        found = self._scorer.score(placed.scan, placed.mount, placed.start, placed.end)
        was = self._detector.lost
        lost = self._detector.update(found.score, placed.scan.stamp_s)
        self._publish(placed.msg, found, lost)
        few = math.isnan(found.score)
        if lost != was or few != self._few:
            self._few = few
            self._say()

    def _publish(self, msg, found, lost):
        scored = copy(msg)
        scored.intensities = found.staticness.astype(np.float32)
        self._scored.publish(scored)
        health = LocalizationHealth(
            header=msg.header, score=0.0 if math.isnan(found.score) else found.score, lost=lost,
            low_for_s=self._detector.low_for_s, beams=found.beams)
        self._health.publish(health)
        if not math.isnan(found.score):
            self._score.publish(Float32(data=found.score))
        self._lost.publish(Bool(data=lost))

    def _say(self):
        """Set the status to what is missing first, else to how it is."""
        self._intake.check_age()
        if self._problem[0]:
            level = ERROR if self._problem[0] == 'bad_map' else WARN
            state = 'WAITING' if self._scorer is None else 'WATCHING'
            self.set_status(level, self._problem[1], state, self._problem[0])
        elif self._intake.problem[0]:
            self.set_status(WARN, self._intake.problem[1], 'WAITING', self._intake.problem[0])
        elif self._detector.lost:
            self.set_status(
                WARN, 'lost: what the scanner sees is not what the map has at this pose', 'LOST',
                'lost')
        elif self._few:
            self.set_status(
                WARN, 'too few returns in the scan to say anything', 'WATCHING', 'few_beams')
        else:
            self.set_status(OK, 'the scan fits the map', 'WATCHING')

    def time_went_back(self):
        """Forget transforms, scans and how long the score was low."""
        self._frames.clear()
        self._intake.clear()
        self._detector.reset()
        self._lost.publish(Bool(data=False))


def main(args=None):
    """Run the node."""
    return run_node(LocalizationHealthNode, args)


if __name__ == '__main__':
    sys.exit(main())
