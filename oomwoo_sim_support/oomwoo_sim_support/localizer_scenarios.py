"""What the everyday localizer is put through: how the robot drives and what is done to it."""
from dataclasses import dataclass, replace
import math

import numpy as np
from oomwoo_localization.frames import wrap_angle
from oomwoo_localization.scans import beam_directions
from oomwoo_sim_support.embedded_navigator import GridPlanner, PathFollower, PlanError
from oomwoo_sim_support.layout import layout_from_dict
from oomwoo_sim_support.navigator_settings import NavigatorSettings
from oomwoo_sim_support.sim_obstacles import SimError

WALL_GAP_M = 0.27             # of the body's middle while driving along walls
SPACING_M = 0.5               # between places to pass along the walls
TOP_TURN_RADPS = 2.55
SLIPPERY = {'ramp': False, 'tyre_stiffness': 0.03}
SPIN_S, REST_S = 3.0, 2.0
KIDNAP_EVERY_S = 6.0
KIDNAP_AT_LEAST_M = 0.5
BLOCKED_M = 0.7               # how far off the thing stands that blocks a third of the beams


@dataclass(frozen=True)
class Scenario:
    """
    One thing to go through.

    ``drive`` is how the robot moves: 'walls', 'spin' or 'corridor'; ``blocked`` the share of beams
    that end on something in front of the walls; ``moved`` the share of the furniture that does
    not stand where the map has it; ``kidnap`` puts the robot elsewhere every few seconds;
    ``slippery`` lets the base stop its wheels dead, on tyres that slip by a tenth of a turn.
    """

    name: str
    what: str
    drive: str = 'walls'
    blocked: float = 0.0
    moved: float = 0.0
    kidnap: bool = False
    slippery: bool = False


SCENARIOS = {s.name: s for s in (
    Scenario('track', 'along all walls and furniture at up to 0.3 m/s'),
    Scenario('occluded', 'the same with a third of the beams blocked', blocked=1 / 3),
    Scenario('moved', 'the same with a third of the furniture elsewhere', moved=1 / 3),
    Scenario('spin', 'at 2.55 rad/s, wheels stopped dead, slipping', 'spin', slippery=True),
    Scenario('corridor', 'to and fro in a corridor whose ends are out of sight', 'corridor'),
    Scenario('kidnap', 'put somewhere else every few seconds', kidnap=True),
)}


class WallDriver:
    """Drives along everything on the map, piece by piece, there and back for as long as asked."""

    def __init__(self, grid, robot, start, seed=0):
        """Plan the tour from the pose ``start``; half of the seeds go round the other way."""
        settings = NavigatorSettings(inflation_m=0.02)
        self._planner = GridPlanner(grid, robot, settings)
        self._follower = PathFollower(settings, robot)
        self._places = self._tour(grid, np.asarray(start[:2]))
        if seed % 2:
            self._places = self._places[::-1]
        self._next = 0
        self._path = None

    def _tour(self, grid, start):
        """Return places (N, 2) along the walls, each near the one before."""
        ring = self._planner.passable & (
            np.abs(grid.obstacle_distance - WALL_GAP_M) < grid.resolution)
        left = grid.cells_to_points(np.argwhere(ring))
        tour = []
        while len(left):
            away = np.hypot(*(left - start).T)
            start = left[np.argmin(away)]
            tour.append(start)
            left = left[np.hypot(*(left - start).T) > SPACING_M]
        return np.array(tour)

    def __call__(self, pose, time_s):
        """Return (m/s, rad/s) for a pose of the base in the map."""
        for _ in range(len(self._places)):
            if self._path is None:
                self._next = (self._next + 1) % len(self._places)
                if not self._plan(pose, self._places[self._next]):
                    continue
            step = self._follower.step(pose, time_s)
            if not (step.done or step.error_code or step.distance_remaining < 0.12):
                return step.linear, step.angular
            self._path = None
        return 0.0, 0.0

    def _plan(self, pose, place):
        try:
            self._path = self._planner.plan(pose, place)
        except PlanError:
            return False
        ahead = self._path[-1] - self._path[-2] if len(self._path) > 1 else (1.0, 0.0)
        goal = np.array([*self._path[-1], math.atan2(ahead[1], ahead[0])])
        self._follower.set_path(self._path, goal, self._planner.clearance)
        return True


class SpinDriver:
    """Spins at full rate and stops, left and right in turn; ``stopped_s`` is when it last did."""

    def __init__(self):
        """Begin with a rest."""
        self.stopped_s = -math.inf

    def __call__(self, pose, time_s):
        """Return (m/s, rad/s)."""
        number, into = divmod(time_s, SPIN_S + REST_S)
        if into < REST_S:
            if time_s - self.stopped_s > SPIN_S:
                self.stopped_s = time_s
            return 0.0, 0.0
        return 0.0, TOP_TURN_RADPS * (1.0 if number % 2 else -1.0)


class CorridorDriver:
    """Goes to and fro along x, between two ends."""

    def __init__(self, ends):
        """Take the two x, metres."""
        self._ends = ends
        self._back = False

    def __call__(self, pose, time_s):
        """Return (m/s, rad/s) for a pose of the base in the map."""
        self._back = pose[0] > (self._ends[0] if self._back else self._ends[1])
        aim = -pose[1] if not self._back else pose[1]
        wrong = wrap_angle((math.pi if self._back else 0.0) + 0.5 * aim - pose[2])
        if abs(wrong) > 0.5:
            return 0.0, math.copysign(1.5, wrong)
        return 0.3, 2.0 * wrong


def corridor():
    """Return the layout of a corridor, 30 m long and 1.6 m wide: its ends are out of sight."""
    outline = [[-15, -0.8], [15, -0.8], [15, 0.8], [-15, 0.8]]
    return layout_from_dict({
        'name': 'corridor', 'start': [-4.0, 0.0, 0.0], 'floor': outline,
        'walls': [{'name': 'room', 'points': outline, 'closed': True, 'thickness': 0.05,
                   'z': [0, 0.4]}]})


def block(scan, share, seed):
    """
    Return a scan with a share of its beams ended by a flat thing that goes along with the robot.

    What goes along is the worst: every scan says that the robot stands still. Beams that end
    nearer keep their ranges.
    """
    beams = len(scan.ranges)
    rng = np.random.default_rng(seed)
    bearing = rng.uniform(-math.pi, math.pi) + 0.1 * scan.stamp_s
    directions = beam_directions(scan)
    facing = directions @ np.array([math.cos(bearing), math.sin(bearing)])
    hidden = np.argsort(-facing)[:round(share * beams)]
    noise = rng.normal(0.0, 0.01, len(hidden)) if len(hidden) else np.empty(0)
    wall = BLOCKED_M / np.maximum(facing[hidden], 0.1) + noise
    ranges = scan.ranges.copy()
    with np.errstate(invalid='ignore'):
        nearer = ranges[hidden] < wall
    ranges[hidden] = np.where(nearer & (ranges[hidden] > 0.0), ranges[hidden], wall)
    return replace(scan, ranges=ranges)


def rearrange(layout, share, seed):
    """Return a layout in which a share of the furniture on the floor stands 0.2 .. 0.5 m away."""
    rng = np.random.default_rng(seed)

    def moved(part):
        if rng.random() >= share:
            return part
        angle, away = rng.uniform(0, 2 * math.pi), rng.uniform(0.2, 0.5)
        shift = away * np.array([math.cos(angle), math.sin(angle)])
        return replace(part, center=tuple(np.asarray(part.center) + shift))

    return replace(layout, boxes=tuple(moved(b) for b in layout.boxes),
                   cylinders=tuple(moved(c) for c in layout.cylinders))


def kidnap(sim, grid, planner, rng):
    """Put the robot on a random place that it could have reached, at least half a metre away."""
    here = sim.truth().pose
    cells = np.argwhere(planner.passable)
    while True:
        place = grid.cells_to_points(cells[rng.integers(len(cells))][None])[0]
        if math.hypot(*(place - here[:2])) < KIDNAP_AT_LEAST_M:
            continue
        try:
            sim.teleport((*place, rng.uniform(-math.pi, math.pi)))
            return
        except SimError:
            continue
