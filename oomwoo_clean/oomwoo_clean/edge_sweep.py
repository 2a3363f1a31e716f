"""
Every edge once: which edges there are, which are swept, and where to go next.

The bookkeeping of the edge manager, without ROS and without driving: poses go in, targets and
verdicts come out. Method: oomwoo edge cleaning (2025): rings at the follower's standoff, a track
stamped with the distance driven, the nearest dirty stretch along the floor from its beginning.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_clean.edge_list import EdgeList
from oomwoo_clean.edge_map import felt_points, floor_of, map_hash
from oomwoo_clean.edge_rings import NONE
from oomwoo_localization.floor import between, disc_cells, JUMP_M
from oomwoo_localization.robot import load_robot
from oomwoo_localization.settings import check_settings, setting
from scipy.spatial import cKDTree

__all__ = ['EdgeSettings', 'EdgeSweep', 'felt_points', 'Figures', 'map_hash', 'Observation']

# Poses closer than this to the last one say more about the localizer's noise than about driving.
DRIVEN_STEP_M = 0.01
TRACK_STEP_M = 0.02
STATE_VERSION = 2
SAME_SPOT_M = 0.03            # two spots this near are the same, on the map with and without touch


@dataclass(frozen=True)
class EdgeSettings:
    """What counts as an edge, as swept, and as all the way round."""

    side: str = setting(
        'right', 'side on which the obstacle is followed', choices=('right', 'left'), live=False)
    tolerance_m: float = setting(
        0.08, 'an edge spot is swept when the centre passes this close to it', 'm', 0.01, 0.3,
        live=False)
    felt_tolerance_m: float = setting(
        0.15, 'the same for a spot beside what only touch knows, less exactly', 'm', 0.01, 0.4,
        live=False)
    floor_margin_m: float = setting(
        0.01, 'room beside the body without which a gap is no way to a target', 'm', 0.0, 0.3,
        live=False)
    spot_spacing_m: float = setting(
        0.02, 'distance between two edge spots', 'm', 0.005, 0.1, live=False)
    upstream_m: float = setting(
        0.10, 'start this far before the beginning of a dirty stretch', 'm', 0.0, 0.5)
    lap_min_m: float = setting(
        1.0, 'own track counts as an earlier pass after this much driving', 'm', 0.3, 10.0)
    lap_confirm_m: float = setting(
        0.30, 'full circle after driving this far on the own track', 'm', 0.05, 2.0)
    write_off_m: float = setting(
        0.15, 'length of edge given up at the beginning of a stretch that failed', 'm', 0.02, 1.0)
    choice_m: float = setting(
        1.0, 'targets at most this much farther than the nearest are weighed by the way on from '
        'them; 0: always the nearest', 'm', 0.0, 10.0, live=False)
    detour_m: float = setting(
        0.5, 'a shorter stretch at most this far off the way is cleaned on the way; 0: never',
        'm', 0.0, 2.0, live=False)
    detour_min_m: float = setting(
        0.3, '... if it is at least this long', 'm', 0.0, 5.0, live=False)
    max_cell_m: float = setting(
        0.10, 'a map with larger cells is too coarse to find edges in', 'm', 0.01, 1.0, live=False)


@dataclass(frozen=True)
class Figures:
    """Lengths in metres, areas in square metres."""

    edges_m: float
    swept_m: float
    written_off_m: float
    driven_m: float
    floor_m2: float
    passed_m2: float

    @property
    def swept_pct(self):
        """Return the swept share of all edges, percent; 100 when there are none."""
        return min(100.0, 100.0 * self.swept_m / self.edges_m) if self.edges_m > 0 else 100.0

    @property
    def progress(self):
        """Return 0..1: what is swept or written off, of all edges."""
        if self.edges_m <= 0:
            return 1.0
        return min(1.0, (self.swept_m + self.written_off_m) / self.edges_m)


@dataclass(frozen=True)
class Observation:
    """What one pose changed: m driven, m newly swept, and m on the own old track so far."""

    driven_m: float
    new_m: float
    on_track_m: float


class EdgeSweep:
    """
    The job list of one map and what is done of it.

    ``grid`` is an OccupancyGrid, ``pose`` (x, y, yaw) where the robot stands in it. Raises
    GridError naming what is wrong with the map.
    """

    def __init__(self, grid, pose, settings=None, robot=None):
        """Find the rings on the floor that the robot reaches from ``pose``."""
        self.settings = check_settings(settings or EdgeSettings())
        self.robot = robot or load_robot()
        self._edges = EdgeList(grid, pose, self.settings, self.robot)
        self.grid = grid
        self.map_hash = map_hash(grid)
        count = len(self.rings.points)
        self.swept = np.zeros(count, dtype=bool)
        self.written_off = np.zeros(count, dtype=bool)
        self.stamp_m = np.full(count, np.nan)
        self.driven_m = 0.0
        self.passed = np.zeros(grid.shape, dtype=bool)
        self._floor = floor_of(grid, self._edges.floor)
        self._disc = disc_cells(self.robot.body.radius, grid.resolution)
        self.track = []               # (x, y, following) about every TRACK_STEP_M
        self._on_track_m = 0.0
        self._last = None

    @property
    def rings(self):
        """Return the :class:`~oomwoo_clean.edge_rings.Rings`, those of touch among them."""
        return self._edges.rings

    @property
    def reachable(self):
        """Return the mask of the floor that the robot reaches."""
        return self._edges.reachable

    @property
    def touched(self):
        """Return (K, 2) the map points of what is not on the map."""
        return self._edges.touched

    @property
    def felt(self):
        """Return the (N,) mask of the spots that touch has a say in."""
        return self._edges.felt

    # -- edges found by touch -----------------------------------------------------------------

    def learn(self, points):
        """
        Take in the map points (N, 2) at which the bumper has found something solid by now.

        What is not on the map becomes edge, and is ticked off where the robot has traced it; spots
        of the map that it makes unreachable are no edge any more. Returns the metres newly ticked
        off, None when nothing is new. Raises GridError, once for the same points, when they leave
        no edge where there was some; they are not taken in.
        """
        old, spots = self.rings.points, (self.swept, self.written_off, self.stamp_m)
        if not self._edges.take_in(points):
            return None
        count = len(self.rings.points)
        self.swept, self.written_off = np.zeros((2, count), dtype=bool)
        self.stamp_m = np.full(count, np.nan)
        kept = np.zeros(count, dtype=bool)
        if count and len(old):
            gap, twin = cKDTree(old).query(self.rings.points)
            kept = gap < SAME_SPOT_M
            for now, before in zip((self.swept, self.written_off, self.stamp_m), spots):
                now[kept] = before[twin[kept]]
        return self._tick_off_track(np.flatnonzero(~kept)) + self.tick_off_crumbs()

    def _tick_off_track(self, new):
        """Tick off those of the ``new`` spots that the robot has followed along already."""
        track = np.array([row[:2] for row in self.track if row[2]]).reshape(-1, 2)
        if len(new) == 0 or len(track) == 0:
            return 0.0
        gap, row = cKDTree(track).query(self.rings.points[new])
        near = gap <= self._edges.tolerance_m[new]
        done = new[near]
        since_m = np.hypot(*np.diff(track, axis=0).T)[::-1].cumsum()[::-1]      # to its end
        self.swept[done] = True
        self.stamp_m[done] = self.driven_m - np.append(since_m, 0.0)[row[near]]
        return float(self.rings.length[done].sum())

    def tick_off_crumbs(self):
        """
        Tick off what touches have left dirty in what was swept, if shorter than a cell of the map.

        A touched outline moves by a cell with every touch, and its edge with it. Returns metres.
        """
        crumbs = np.zeros(len(self.swept), dtype=bool)
        for spots in self.stretches():
            ends = [self.rings.before[spots[0]], self.rings.after[spots[-1]]]
            if (NONE not in ends and self.swept[ends].all() and self.felt[spots].all()
                    and self.rings.length[spots].sum() < self.grid.resolution):
                crumbs[spots], self.stamp_m[spots] = True, self.stamp_m[ends].min()
        self.swept |= crumbs
        return float(self.rings.length[crumbs].sum())

    # -- ticking edges off --------------------------------------------------------------------

    def begin_segment(self):
        """Forget how far the robot has been on its own track: a new stretch begins."""
        self._on_track_m = 0.0

    def observe(self, pose, following, driven_m=None):
        """
        Take the robot's pose (x, y, yaw) in; edges are ticked off only while ``following``.

        ``driven_m`` is the reading of an odometer that goes on from ``self.driven_m``; without
        one, the poses are what was driven, the localizer's jitter included. Returns an
        :class:`Observation`. Deterministic: the same calls give the same state.
        """
        x, y = float(pose[0]), float(pose[1])
        moved = 0.0 if self._last is None else math.hypot(x - self._last[0], y - self._last[1])
        if self._last is not None and moved < DRIVEN_STEP_M:
            return Observation(0.0, 0.0, self._on_track_m)
        if self._last is None or moved > JUMP_M:
            path, step = [(x, y)], 0.0
        else:
            path, step = between(self._last, (x, y), self.settings.spot_spacing_m), moved
        if driven_m is not None:
            step = driven_m - self.driven_m
        self._last = (x, y)
        self.driven_m += step
        for point in path:
            self._pass_over(point)
        if not self.track or math.dist(self.track[-1][:2], (x, y)) >= TRACK_STEP_M:
            self.track.append((x, y, float(following)))
        if not following:
            return Observation(step, 0.0, self._on_track_m)
        new_m = sum(self._tick_off(point) for point in path)
        gap, spot = self._edges.nearest((x, y))
        if gap > self.settings.tolerance_m or not self.rings.narrow[spot]:
            on_track = new_m == 0.0 and self._was_here(gap, spot)
            self._on_track_m = self._on_track_m + step if on_track else 0.0
        return Observation(step, new_m, self._on_track_m)

    def _tick_off(self, point):
        near = self._edges.passed(point)
        new = near[~self.swept[near]]
        if len(new) == 0:
            return 0.0
        self.swept[new] = True
        self.written_off[new] = False
        self.stamp_m[new] = self.driven_m
        return float(self.rings.length[new].sum())

    def _was_here(self, gap, spot):
        """
        Tell whether the nearest spot, ``gap`` metres off, was swept an earlier time round.

        That is more than ``lap_min_m`` of driving ago. In the middle of a narrow gap nothing can
        be told: the robot comes out on the way that it went in, or goes through for either side.
        """
        return bool(spot is not None and gap <= self._edges.tolerance_m[spot]
                    and self.driven_m - self.stamp_m[spot] > self.settings.lap_min_m)

    def _pass_over(self, point):
        centre = np.rint(self.grid.points_to_cells(np.array([point]))[0]).astype(int)
        cells = self._disc + centre
        inside = ((cells >= 0) & (cells < self.grid.shape)).all(axis=1)
        self.passed[cells[inside, 0], cells[inside, 1]] = True

    def full_circle(self):
        """Tell whether the robot has been on its own track long enough to be all the way round."""
        return self._on_track_m >= self.settings.lap_confirm_m

    def nothing_ahead(self, pose, distance_m):
        """
        Tell whether the ring that the robot is on is not dirty over ``distance_m`` from here.

        False while it is on no ring, or in a narrow gap, where nobody should be left standing.
        """
        here = self._edges.on_ring(pose)
        return (here is not None and not self.rings.in_gap(here)
                and not self.dirty[self.rings.ahead(here, distance_m)].any())

    def dirt_ahead(self, pose, distance_m):
        """Tell whether the ring that the robot is on is dirty somewhere over ``distance_m``."""
        here = self._edges.on_ring(pose)
        return here is not None and bool(self.dirty[self.rings.ahead(here, distance_m)].any())

    # -- what is next -------------------------------------------------------------------------

    @property
    def dirty(self):
        """Return the (N,) mask of spots neither swept nor written off."""
        return ~(self.swept | self.written_off)

    def stretches(self):
        """Return the dirty stretches, each an array of spots in driving order."""
        return self.rings.runs(self.dirty)

    def next_target(self, pose, avoid=(), avoid_m=0.5, upstream_m=None):
        """
        Return the :class:`Target` nearest along the floor, or None when no dirty edge is left.

        Spots within ``avoid_m`` of a point in ``avoid`` (K, 2) do not begin a target, as long as
        there are others. ``upstream_m`` (spot -> metres) replaces the setting.
        """
        upstream_m = upstream_m or (lambda spot: self.settings.upstream_m)
        return self._edges.chooser.next_target(
            self.dirty, pose, upstream_m, avoid, avoid_m, self.written_off)

    def on_the_way(self, pose, target, avoid=(), avoid_m=0.5):
        """Return a :class:`Target` better cleaned now, while ``target`` is followed, or None."""
        return self._edges.chooser.on_the_way(
            self.dirty, pose, target, lambda spot: self.settings.upstream_m, avoid, avoid_m,
            self.written_off)

    def write_off(self, spot, length_m):
        """Give up the dirty edge over ``length_m`` from ``spot`` on; return the metres."""
        given_up = self.rings.ahead(spot, length_m)
        given_up = given_up[~self.swept[given_up] & ~self.written_off[given_up]]
        self.written_off[given_up] = True
        return float(self.rings.length[given_up].sum())

    # -- figures and state --------------------------------------------------------------------

    @property
    def swept_m(self):
        """Return the metres of edge that are swept."""
        return float(self.rings.length[self.swept].sum())

    def figures(self):
        """Return the :class:`Figures` so far."""
        cell = self.grid.resolution ** 2
        return Figures(
            edges_m=float(self.rings.length.sum()),
            swept_m=self.swept_m,
            written_off_m=float(self.rings.length[self.written_off].sum()),
            driven_m=self.driven_m,
            floor_m2=float(self._floor.sum() * cell),
            passed_m2=float((self.passed & self._floor).sum() * cell))

    def state(self):
        """Return the state as a dict of arrays, for :meth:`restore`."""
        return {
            'version': np.array(STATE_VERSION), 'map_hash': np.array(self.map_hash),
            'rings_hash': np.array(self._edges.name()),
            'touched': self.touched.copy(),
            'swept': self.swept.copy(), 'written_off': self.written_off.copy(),
            'stamp_m': self.stamp_m.copy(),
            'driven_m': np.array(self.driven_m), 'passed': np.packbits(self.passed),
            'track': np.array(self.track, dtype=float).reshape(-1, 3),
            'on_track_m': np.array(self._on_track_m),
            'last': np.array(self._last if self._last else (np.nan, np.nan))}

    def restore(self, state):
        """Take a state over; raises ValueError when it belongs to another map or other rings."""
        if int(state['version']) != STATE_VERSION:
            raise ValueError(
                f'saved job has version {int(state["version"])}, '
                f'this program writes {STATE_VERSION}')
        if str(state['map_hash']) != self.map_hash:
            raise ValueError('saved job belongs to another map')
        self._edges.find(state['touched'].astype(float).reshape(-1, 2))
        if str(state['rings_hash']) != self._edges.name():
            raise ValueError(
                'saved job has other edges: the robot stands in another room, or standoff, '
                'spacing or side changed')
        self.swept = state['swept'].astype(bool)
        self.written_off = state['written_off'].astype(bool)
        self.stamp_m = state['stamp_m'].astype(float)
        self.driven_m = float(state['driven_m'])
        passed = np.unpackbits(state['passed'], count=self.passed.size)
        self.passed = passed.reshape(self.passed.shape).astype(bool)
        self.track = [tuple(row) for row in state['track'].tolist()]
        self._on_track_m = float(state['on_track_m'])
        last = tuple(float(v) for v in state['last'])
        self._last = last if math.isfinite(last[0]) else None
