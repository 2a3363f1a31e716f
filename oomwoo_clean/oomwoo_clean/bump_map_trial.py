"""
A robot that bumps about in a world, and its bump map held against what is really solid there.

The driver drives straight until the bumper has been held for a while, which skirts and curtains do
not do, backs off and turns away: what a coverage robot with a held-bumper reflex comes down to.
Odometry slips as wheels do, and the everyday localizer corrects it; where that gets lost, the
truth stands in for the relocalizer, after a while.
"""
from dataclasses import dataclass, field
import math
import time

import numpy as np
from oomwoo_clean.bump_contact import arc_of, BumpMapSettings, LEFT, RIGHT
from oomwoo_clean.bump_map import BumpMap
from oomwoo_clean.bump_walls import fit_walls
from oomwoo_clean.wall_meter import segment_errors, solids_of, touchable_outline
from oomwoo_localization.health import LostDetector, ScanScorer
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scan_localizer import ScanLocalizer
from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.layout_primitives import solid_distance
from oomwoo_sim_support.localizer_trial import START_COVARIANCE
from oomwoo_sim_support.sim_settings import SimSettings, TICK_S

ODOM_TICKS, SCAN_TICKS = 5, 10         # odometry and bumper at 20 Hz, scans at 10 Hz
FOUND_AFTER_S = 5.0                    # a stand-in for the relocalizer: it says the truth
SOLID_M, SEGMENT_DEG = 0.03, 3.0       # this near to what is solid is right
CLEAR_M = 0.012                        # a touch this far from what is solid is of cloth
FALSE_M = 0.06                         # and so far off is a touch of nothing
LEFT_M = 0.05                          # a press has left a touch where one has its pose so near


@dataclass(frozen=True)
class Trial:
    """A layout, for how long, which seed; the driver gives way after ``held_s`` of pressing."""

    layout: object
    seconds: float = 300.0
    seed: int = 0
    held_s: float = 0.4
    settings: BumpMapSettings = field(default_factory=BumpMapSettings)


class Bouncer:
    """Straight on; held for a while: back and turn away from the pressed side."""

    def __init__(self, rng, held_s, speed=0.22):
        """Take a random generator, the patience s and the speed m/s."""
        self._rng, self._held_s, self._speed = rng, held_s, speed
        self._since_s = None
        self._plan = []                    # (until_s, linear, angular)

    def step(self, time_s, left, right):
        """Return (linear, angular)."""
        while self._plan:
            until_s, *command = self._plan[0]
            if time_s < until_s:
                return command
            self._plan.pop(0)
        if not (left or right):
            self._since_s = None
        elif self._since_s is None:
            self._since_s = time_s
        elif time_s - self._since_s >= self._held_s:
            self._since_s = None
            turn = -1.0 if left and not right else 1.0 if right and not left else (
                self._rng.choice([-1.0, 1.0]))
            back_s = self._rng.uniform(0.8, 1.6)
            turn_s = self._rng.uniform(0.4, 2.2)
            self._plan = [(time_s + back_s, -0.15, 0.0),
                          (time_s + back_s + turn_s, 0.0, float(turn))]
        return self._speed, 0.0


class Bench:
    """Simulator, driver, localizer and bump map, each fed as the nodes in the graph are."""

    def __init__(self, trial):
        """Put the robot at the layout's start."""
        self.trial, self.robot = trial, load_robot()
        self.sim = EmbeddedSim(trial.layout, self.robot, SimSettings(), trial.seed)
        self.map = BumpMap(trial.settings, self.robot)
        self.map.reference = layout_grid(trial.layout)
        self.localizer = ScanLocalizer(self.map.reference, robot=self.robot)
        self.localizer.set_pose(np.asarray(trial.layout.start), START_COVARIANCE)
        self._scorer, self._detector = ScanScorer(self.map.reference), LostDetector()
        self._lost_since_s = None
        self.driver = Bouncer(np.random.default_rng([trial.seed, 5]), trial.held_s)
        self._solid = solids_of(trial.layout, self.robot)
        self._felt = []                    # (stamp_s, x, y, yaw in truth, whether pressed)
        self.lost_times, self.localizer_worst_m = 0, 0.0

    def run(self):
        """Drive for as long as the trial says."""
        for tick in range(round(self.trial.seconds / TICK_S)):
            if tick % SCAN_TICKS == 0:
                self._localize()
            if tick % ODOM_TICKS == 0:
                self._sense()
            self.sim.step(TICK_S)

    def _localize(self):
        sim, scan = self.sim, self.sim.scan()
        found = self.localizer.step(scan, sim.base_from_scan, sim.odometry().pose, sim.time_s)
        self.map.localized(found.map_from_odom, sim.time_s)
        score = self._scorer.score(scan, sim.base_from_scan, found.pose).score
        lost = self._detector.update(score, sim.time_s)
        self.map.lost(lost, sim.time_s)
        if lost and self._lost_since_s is None:
            self._lost_since_s, self.lost_times = sim.time_s, self.lost_times + 1
        elif not lost:
            self._lost_since_s = None
            off = float(np.hypot(*(found.pose[:2] - sim.truth().pose[:2])))
            self.localizer_worst_m = max(self.localizer_worst_m, off)
        elif sim.time_s - self._lost_since_s > FOUND_AFTER_S:
            self.localizer.set_pose(sim.truth().pose, START_COVARIANCE)

    def _sense(self):
        sim, odom = self.sim, self.sim.odometry().pose
        self.map.moved(odom, sim.time_s)
        pressed = sim.bumpers()
        for half, is_down in zip(('left', 'right'), pressed):
            self.map.bumper(half, is_down, odom, sim.time_s)
        self._felt.append((sim.time_s, *sim.truth().pose, any(pressed)))
        sim.set_command(*self.driver.step(sim.time_s, *pressed))

    def result(self):
        """Return what the bump map is worth, as a dict."""
        touches, walls = self.map.contacts(), self.map.walls()
        off = np.abs(solid_distance(self._solid, touches))
        errors = segment_errors(
            np.array([(w.start, w.end) for w in walls]).reshape(-1, 2, 2), self._solid)
        good = (errors[:, 1] <= SOLID_M) & (errors[:, 2] <= SEGMENT_DEG)
        length = float(errors[:, 0].sum())
        return {
            'layout': self.trial.layout.name, 'seed': self.trial.seed,
            'sim_s': self.trial.seconds, **self._of_presses(), 'touches': len(touches),
            'touches_right': int((off <= SOLID_M).sum()),
            'touches_of_nothing': int((off > FALSE_M).sum()),
            'erased': self.map.counts['erased'], 'walls': len(walls), 'walls_m': length,
            'walls_right': float(errors[good, 0].sum() / length) if length else math.nan,
            'worst_wall_m': float(errors[:, 1].max(initial=0.0)),
            'worst_wall_deg': float(errors[:, 2].max(initial=0.0)),
            'localizer_worst_m': self.localizer_worst_m, 'lost_times': self.lost_times,
            'counts': dict(self.map.counts)}

    def _of_presses(self):
        """
        Return how many presses there were, by cloth with a touch left and by others with none.

        And how far off the poses of touches are, across and along the heading, on average.
        """
        felt = np.array(self._felt)
        clear_m = solid_distance(self._solid, felt[:, 1:3]) - self.robot.body.radius
        down = felt[:, 4] > 0.0
        begins = down & ~np.concatenate([[False], down[:-1]])
        press = np.cumsum(begins)
        by_cloth = press[begins & (clear_m > CLEAR_M)]
        by_solid = felt[begins & (clear_m <= CLEAR_M), 1:3]
        poses, stamps_s = self.map.moments()
        at = np.searchsorted(felt[:, 0], stamps_s - TICK_S / 2)
        of_cloth = press[at[clear_m[at] > CLEAR_M]]
        off, yaw = poses[:, :2] - felt[at, 1:3], felt[at, 3]
        along, across = (
            off[:, 0] * np.cos(yaw + turn) + off[:, 1] * np.sin(yaw + turn)
            for turn in (0.0, math.pi / 2))
        near = np.hypot(*(by_solid[:, None] - poses[:, :2]).transpose(2, 0, 1)) < LEFT_M
        return {
            'presses': int(begins.sum()),
            'solid_forgotten': len(by_solid) - int(near.any(axis=1).sum()),
            'soft_presses': len(by_cloth),
            'kept_on_soft': int(np.isin(by_cloth, of_cloth).sum()),
            'across_m': float(np.abs(across).mean()) if len(at) else math.nan,
            'along_m': float(np.abs(along).mean()) if len(at) else math.nan}


def fit_time_ms(layout, count, seed=0):
    """Return the CPU time, milliseconds, to fit walls to so many touches all over a layout."""
    robot, settings = load_robot(), BumpMapSettings()
    rng, outline = np.random.default_rng(seed), touchable_outline(layout, robot)
    on = rng.integers(len(outline.points), size=count)
    centres = outline.points[on] + robot.body.radius * outline.normals[on]
    towards = np.arctan2(*-outline.normals[on, ::-1].T)
    azimuths = np.arcsin(rng.uniform(-0.9, 0.9, count))
    arcs = np.array([
        arc_of(LEFT if azimuth > 0.0 else RIGHT, math.radians(settings.nose_overlap_deg),
               math.radians(robot.bumper.half_angle_deg)) for azimuth in azimuths])
    angles = (towards - azimuths)[:, None] + arcs
    began = time.process_time()
    fit_walls(centres, angles, np.ones(angles.shape, dtype=bool), robot.body.radius, settings)
    return 1e3 * (time.process_time() - began)


def run_trial(trial):
    """Run a :class:`Trial`; return its result as a dict."""
    began = time.perf_counter()
    bench = Bench(trial)
    bench.run()
    return {**bench.result(), 'wall_s': time.perf_counter() - began}
