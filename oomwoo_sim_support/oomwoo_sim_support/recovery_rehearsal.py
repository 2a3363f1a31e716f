"""
Simulator, everyday localizer, health, relocalizer and manager offline, a step a scan.

What the nodes do over DDS happens here in one process and many times faster; answers come a scan
later, as from a service.
"""

from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import wrap_angle
from oomwoo_localization.health import LostDetector, ScanScorer
from oomwoo_localization.localization_manager import LocalizationManager
from oomwoo_localization.recovery_types import Answer, Inputs
from oomwoo_localization.relocalizer import Relocalizer
from oomwoo_localization.scan_localizer import ScanLocalizer
from oomwoo_localization.scans import scan_points
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.rehearsal import Rehearsal

MOST_CANDIDATES = 12
RIGHT_M, RIGHT_DEG = 0.3, 10.0  # farther off is wrong


def is_right(pose, truth):
    """Tell whether a pose is the true one, within what a localizer makes good."""
    return (
        math.dist(pose[:2], truth[:2]) <= RIGHT_M
        and abs(math.degrees(wrap_angle(pose[2] - truth[2]))) <= RIGHT_DEG
    )


@dataclass(frozen=True)
class Event:
    """A word of the manager with its sentence, when, and where the robot truly was."""

    time_s: float
    word: str
    sentence: str
    truth: np.ndarray
    seed: object = None


class RecoveryRehearsal:
    """A robot that may be kidnapped; ``events`` is what the manager did."""

    def __init__(
        self, layout, robot=None, sim_settings=None, seed=0, manager_settings=None, grid=None
    ):
        """Start localized in ``layout``; ``grid`` is its map, by default the layout's."""
        self.rehearsal = Rehearsal(layout, robot, sim_settings, seed)
        self.sim = self.rehearsal.sim
        robot = self.sim.robot
        self.grid = layout_grid(layout, 0.05) if grid is None else grid
        self.relocalizer = Relocalizer(self.grid)
        self.localizer = ScanLocalizer(self.grid, robot=robot)
        self.localizer.set_pose(self.sim.truth().pose)
        self.scorer, self.detector = ScanScorer(self.grid), LostDetector()
        self.manager = LocalizationManager(manager_settings, robot, self.grid)
        self.events = []
        self.pose = self.sim.truth().pose
        self.ignore_seeds = False
        self.map_number = 0
        self._answer = None

    def kidnap(self, pose):
        """Put the robot elsewhere; raises SimError when something stands there."""
        self.sim.teleport(pose)

    def relocate(self):
        """Begin anew where the robot is, localized; the map stays."""
        self.localizer.set_pose(self.sim.truth().pose)
        self.manager = LocalizationManager(self.manager.settings, self.sim.robot, self.grid)
        self.detector.reset()
        self._answer = None

    def step(self, seen):
        """Take one observation; return the command (m/s, rad/s)."""
        scan, mount, now_s = seen.scan, seen.base_from_scan, seen.time_s
        self.pose = self.localizer.step(scan, mount, seen.odom, now_s).pose
        score = self.scorer.score(scan, mount, self.pose).score
        lost = self.detector.update(score, now_s)
        points = scan_points(scan, mount)[0][:, :2]
        answer, self._answer = self._answer, None
        orders = self.manager.step(
            Inputs(
                now_s,
                lost,
                now_s,
                self.pose,
                seen.odom,
                points,
                seen.bumper_left or seen.bumper_right,
                answer=answer,
                map_number=self.map_number,
            )
        )
        if orders.ask:
            self._answer = self._relocalize(seen)
        if orders.seed is not None and not self.ignore_seeds:
            at = seen.odom if orders.seed.stamp is None else orders.seed.stamp
            self.localizer.set_pose(orders.seed.pose, orders.seed.covariance, at)
        truth = self.sim.truth().pose
        self.events += [
            Event(now_s, word, sentence, truth, orders.seed) for word, sentence in orders.actions
        ]
        return orders.command or (0.0, 0.0)

    def _relocalize(self, seen):
        """Return the answer to a scan; its stamp is the odometry there."""
        found = self.relocalizer.relocalize(seen.scan, seen.base_from_scan)
        near, complete = (), True
        if found.reason_code == 'ambiguous':
            poses = [
                pose
                for pose, _ in self.relocalizer.candidates(
                    seen.scan, seen.base_from_scan, MOST_CANDIDATES + 1
                )
            ]
            near, complete = tuple(poses[:MOST_CANDIDATES]), len(poses) <= MOST_CANDIDATES
        return Answer(
            found.accepted,
            found.pose,
            found.covariance,
            near,
            complete,
            found.reason_code,
            found.message,
            seen.odom,
            seen.odom,
            self.map_number,
        )

    def run(self, seconds, until=()):
        """Go on until the manager says one of some words; return that :class:`Event`."""
        said = len(self.events)

        def ended(*_):
            return any(event.word in until for event in self.events[said:])

        self.rehearsal.run(self.step, seconds, ended)
        return next((event for event in self.events[said:] if event.word in until), None)
