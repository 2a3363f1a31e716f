"""A coverage job rehearsed: planner, navigator, reflex, simulator and meter in lock-step."""
from dataclasses import dataclass, field
import time

import numpy as np
from oomwoo_clean.coverage_run import CoverageInputs, CoverageRun, CoverageRunSettings
from oomwoo_clean.coverage_sweep import CoverageSettings, CoverageSweep
from oomwoo_clean.edge_rehearsal import PoseSource
from oomwoo_clean.escape_reflex import EscapeReflex
from oomwoo_clean.job_run import NavReport
from oomwoo_localization.frames import compose, inverse, transform_points
from oomwoo_localization.scans import scan_points
from oomwoo_sim_support.coverage_meter import CoverageMeter
from oomwoo_sim_support.embedded_navigator import Navigator, NavigatorSettings, PlanError
from oomwoo_sim_support.rehearsal import Rehearsal


@dataclass(frozen=True)
class Setup:
    """One way to drive: settings of planner and navigator, and whether a reflex stands behind."""

    navigator: NavigatorSettings = NavigatorSettings()
    planner: CoverageSettings = CoverageSettings()
    run: CoverageRunSettings = CoverageRunSettings()
    reflex: bool = True


class CoverageController:
    """The job as a rehearsal controller: ``controller(observation)`` returns (m/s, rad/s)."""

    def __init__(self, run, navigator, localizer, reflex=None):
        """Wire a CoverageRun to a navigator, a source of poses and a reflex, if there is one."""
        self.run, self.navigator, self.localizer = run, navigator, localizer
        self.reflex = reflex
        self.events = []
        self.aborts = 0
        self._nav = NavReport()
        self._goal_id = 0
        self._aborts_of_goal = 0
        self._pockets = []

    def __call__(self, seen):
        """Return the command for one observation."""
        pose = self.localizer.pose()
        escape = None if self.reflex is None else self._escape(seen, pose)
        escaping = escape is not None and escape.active
        orders = self.run.step(CoverageInputs(seen.time_s, pose, self._nav, escaping))
        self.events += [(seen.time_s, orders.state, event) for event in orders.events]
        command = self._navigate(orders, seen, pose)
        if escaping:
            command = escape.linear, escape.angular
        if self.reflex is not None:
            self.reflex.commanded(*command, seen.time_s)
        return command

    def _escape(self, seen, pose):
        """Show the reflexes what the robot feels; return what they do, and keep their pockets."""
        now_s = seen.time_s
        for side, pressed in (('left', seen.bumper_left), ('right', seen.bumper_right)):
            self.reflex.bumper(side, pressed, now_s)
        self.reflex.odometry(seen.odom, now_s)
        self.reflex.scanned(seen.scan, seen.base_from_scan, now_s)
        out = self.reflex.step(now_s)
        if out.changed:
            self.events.append((now_s, out.state, out.evidence))
        if out.pocket is not None:
            map_from_odom = compose(pose, inverse(seen.odom))
            x, y = transform_points(map_from_odom, [out.pocket.center])[0]
            self._pockets.append((x, y, out.pocket.radius_m))
            self.run.sweep.keep_out(self._pockets)
            self.navigator.keep_out(self._pockets)
        return out

    def _navigate(self, orders, seen, pose):
        if orders.goal is None:
            if self.navigator.active:
                self.navigator.cancel()
                self._nav = NavReport(self._goal_id, 'FAILED', 'canceled')
            return 0.0, 0.0
        if orders.goal_id != self._goal_id:
            self._goal_id, self._aborts_of_goal = orders.goal_id, 0
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
        self.aborts += step.aborts - self._aborts_of_goal
        self._aborts_of_goal = step.aborts
        if step.done:
            self._nav = NavReport(
                orders.goal_id, 'FAILED' if step.error_code else 'SUCCEEDED', step.message)
        return step.linear, step.angular


@dataclass(frozen=True)
class CoverageResult:
    """What came of it: the run, the meter's figures, contacts, aborts, and the way."""

    run: CoverageRun
    meter: CoverageMeter
    contacts: int
    rear_contacts: int
    aborts: int
    peel_offs: int
    pressed_s: float
    sim_s: float
    wall_s: float
    events: list = field(default_factory=list)
    truth: np.ndarray = None


def rehearse_coverage(
        layout, grid, setup=None, start=None, seed=0, window_s=135.0, mean_error_m=0.0,
        sim_settings=None):
    """
    Cover the floor of a layout offline for ``window_s``; returns a :class:`CoverageResult`.

    ``start`` (x, y, yaw); ``mean_error_m`` of the localizer. The meter goes by the truth, nothing
    else does.
    """
    setup = setup or Setup()
    began = time.perf_counter()
    rehearsal = Rehearsal(layout, sim_settings=sim_settings, seed=seed, start=start)
    sim = rehearsal.sim
    localizer = PoseSource(sim, mean_error_m, seed)
    run = CoverageRun(CoverageSweep(grid, localizer.pose(), setup.planner), setup.run)
    controller = CoverageController(
        run, Navigator(grid, settings=setup.navigator), localizer,
        EscapeReflex() if setup.reflex else None)
    meter = CoverageMeter(grid, sim.truth().pose)
    pressed = [0]
    run.start()

    def look(sim, seen, command):
        meter.observe(sim.truth().pose, run.running)
        pressed[0] += seen.bumper_left or seen.bumper_right
        return run.ended

    track = rehearsal.run(controller, window_s, look)
    return CoverageResult(
        run, meter, track.contacts, track.rear_contacts, controller.aborts, run.escapes,
        pressed[0] / sim.robot.lidar.rate, float(sim.time_s), time.perf_counter() - began,
        controller.events, track.truth)
