"""A whole edge-cleaning job rehearsed: manager, navigator, follower, simulator in lock-step."""
from dataclasses import dataclass
import math
import time

import numpy as np
from oomwoo_clean.bump_map import BumpMap
from oomwoo_clean.contour_follower import ContourFollower, FollowerSettings
from oomwoo_clean.edge_run import EdgeRun, Inputs, RunSettings
from oomwoo_clean.edge_sweep import EdgeSettings, EdgeSweep, felt_points
from oomwoo_clean.job_run import NavReport
from oomwoo_localization.frames import compose, inverse, transform_points, wrap_angle
from oomwoo_localization.scans import scan_points
from oomwoo_sim_support.embedded_navigator import Navigator, PlanError
from oomwoo_sim_support.rehearsal import Rehearsal

# Of the shape of AMCL's error on this robot: 3.4 cm off in the mean, slowly wandering.
AMCL_MEAN_ERROR_M = 0.034
AMCL_YAW_STD_RAD = math.radians(0.5)
AMCL_CORRELATION_S = 8.0


class PoseSource:
    """
    Stands in for a localizer: the true pose, with a seeded error that wanders if wanted.

    The error is an Ornstein-Uhlenbeck process; ``mean_error_m`` is the mean distance between given
    and true position.
    """

    def __init__(self, sim, mean_error_m=0.0, seed=0):
        """Read poses from ``sim``."""
        self._sim = sim
        self._random = np.random.default_rng(seed)
        self._scale = np.array([*(2 * [mean_error_m / math.sqrt(math.pi / 2.0)]),
                                AMCL_YAW_STD_RAD * mean_error_m / AMCL_MEAN_ERROR_M])
        self._error = self._scale * self._random.standard_normal(3)
        self._time_s = sim.time_s

    def pose(self):
        """Return the (x, y, yaw) that is believed in the map frame."""
        keep = math.exp(-(self._sim.time_s - self._time_s) / AMCL_CORRELATION_S)
        self._time_s = self._sim.time_s
        fresh = self._scale * self._random.standard_normal(3)
        self._error = keep * self._error + math.sqrt(1.0 - keep ** 2) * fresh
        pose = self._sim.truth().pose + self._error
        pose[2] = wrap_angle(pose[2])
        return pose


class JobController:
    """The job as a rehearsal controller: ``controller(observation)`` returns (linear, angular)."""

    def __init__(self, run, navigator, follower, localizer, bump_map=None):
        """Wire an EdgeRun to a navigator, a follower, a source of poses and a BumpMap."""
        self.run, self.navigator = run, navigator
        self.follower, self.localizer = follower, localizer
        self.events = []
        self._bump_map, self._version = bump_map or BumpMap(), None
        self._touched = None
        self._nav = NavReport()
        self._goal_id = 0
        self._following = False
        self._follower_state, self._bumped, self._was_bumped = 'IDLE', False, False

    def __call__(self, seen):
        """Return the command for one observation."""
        pose = self.localizer.pose()
        self._feel(seen, pose)
        orders = self.run.step(Inputs(
            seen.time_s, pose, seen.odom, self._follower_state, self._following, self._bumped,
            self._nav, self._touched))
        self.events += [(seen.time_s, orders.state, event) for event in orders.events]
        self._bumped = False
        if orders.follow != self._following:
            self._following = orders.follow
            self.follower.know(transform_points(
                compose(seen.odom, inverse(pose)), self.run.sweep.touched))
            self.follower.enable(orders.follow)
            self._follower_state = 'IDLE'
        if orders.goal is None and self.navigator.active:
            self.navigator.cancel()
        if orders.goal is not None:
            return self._drive_to_goal(orders, seen, pose)
        if orders.follow:
            out = self.follower.step(
                seen.scan, seen.base_from_scan, seen.time_s, seen.bumper_left, seen.bumper_right,
                odom=seen.odom)
            self._bumped = out.bumped and not self._was_bumped
            self._was_bumped = out.bumped
            self._follower_state = out.state
            return out.linear, out.angular
        return 0.0, 0.0

    def _feel(self, seen, pose):
        """Enter what the bumper says in the bump map, as that one's node does."""
        felt = self._bump_map
        felt.localized(compose(pose, inverse(seen.odom)), seen.time_s)
        felt.moved(seen.odom, seen.time_s)
        felt.bumper('left', seen.bumper_left, seen.odom, seen.time_s)
        felt.bumper('right', seen.bumper_right, seen.odom, seen.time_s)
        if felt.touch_version != self._version:
            self._version = felt.touch_version
            self._touched = felt_points(felt.grid(self.run.sweep.grid))

    def _drive_to_goal(self, orders, seen, pose):
        if orders.goal_id != self._goal_id:
            self._goal_id = orders.goal_id
            try:
                self.navigator.go(orders.goal, pose, seen.time_s)
            except PlanError as error:
                self._nav = NavReport(orders.goal_id, 'FAILED', str(error))
                return 0.0, 0.0
            self._nav = NavReport(orders.goal_id, 'ACTIVE')
        if not self.navigator.active:
            return 0.0, 0.0
        self.navigator.see(scan_points(seen.scan, seen.base_from_scan)[0], pose)
        step = self.navigator.step(pose, seen.time_s, (seen.bumper_left, seen.bumper_right))
        if step.done:
            status = 'FAILED' if step.error_code else 'SUCCEEDED'
            self._nav = NavReport(orders.goal_id, status, step.message)
        return step.linear, step.angular


@dataclass(frozen=True)
class JobResult:
    """A finished rehearsal: the run itself, contacts, wall seconds, events, where it touched."""

    run: EdgeRun
    contacts: int
    rear_contacts: int
    min_clearance_m: float
    wall_s: float
    sim_s: float
    events: list
    touches: list
    truth: np.ndarray


def rehearse_job(
        layout, grid, start=None, seed=0, sim_settings=None, mean_error_m=0.0, edge=None, job=None,
        follower=None, limit_s=3600.0, watch=None, bump_map=None):
    """
    Clean every edge of a layout offline; returns a :class:`JobResult`.

    ``start`` (x, y, yaw); ``mean_error_m`` of the localizer; ``edge``, ``job``, ``follower`` are
    EdgeSettings, RunSettings, FollowerSettings; ``watch(run, sim)`` is called after each scan.
    ``bump_map`` is a BumpMap of earlier touches, to be gone on with.
    """
    began = time.perf_counter()
    rehearsal = Rehearsal(layout, sim_settings=sim_settings, seed=seed, start=start)
    localizer = PoseSource(rehearsal.sim, mean_error_m, seed)
    run = EdgeRun(EdgeSweep(grid, localizer.pose(), edge or EdgeSettings()), job or RunSettings())
    controller = JobController(
        run, Navigator(grid), ContourFollower(follower or FollowerSettings()), localizer,
        bump_map)
    run.start()
    touches, contacts = [], [0]

    def look(sim, seen, command):
        if sim.contacts + sim.rear_contacts > contacts[0]:
            contacts[0] = sim.contacts + sim.rear_contacts
            touches.append((round(sim.time_s, 1), run.phase, controller._follower_state,
                            *np.round(sim.truth().pose, 3).tolist()))
        if watch is not None:
            watch(run, sim)
        return run.ended

    track = rehearsal.run(controller, limit_s, look)
    return JobResult(
        run, track.contacts, track.rear_contacts, float(track.clearance_m.min()),
        time.perf_counter() - began, float(rehearsal.sim.time_s), controller.events, touches,
        track.truth)
