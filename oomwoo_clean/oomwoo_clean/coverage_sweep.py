"""
All the floor once: lanes over what the robot reaches, what of them is done, and where to go next.

The bookkeeping of the coverage planner, without ROS and without driving: poses go in, legs come
out. Boustrophedon lanes (Choset and Pignon, 1997) parallel to the axis of the map that gives the
fewer of them; instead of being decomposed beforehand, the floor is looked at anew before each leg,
so that what was passed over on the way is skipped and what was missed is a lane again. What no
lane is worth is covered spot by spot in the end.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.floor import disc_cells, FloorCoverage, nearest_cell
from oomwoo_localization.grids import floor_distances
from oomwoo_localization.robot import load_robot
from oomwoo_localization.settings import check_settings, setting
from scipy import ndimage
from scipy.signal import fftconvolve

LANE, PATCH = 'LANE', 'PATCH'
# Of the strip beside a spot of a lane, so much must be uncovered to drive there.
WORTH_SHARE = 0.25
SEARCH_M = 0.5                # a robot beside the floor starts from the nearest within this
PATCH_BIAS_M = 1.0            # way to a patch and this: what its area is divided by


@dataclass(frozen=True)
class CoverageSettings:
    """How the lanes lie and what is worth going to."""

    lane_spacing_m: float = setting(
        0.30, 'distance between two lanes; below the width of the body they overlap',
        'm', 0.05, 1.0, live=False)
    robot_radius: float = setting(
        0.0, 'radius of the body that plans are made for; 0: that of the robot. A smaller one '
        'sends it closer to things than it fits', 'm', 0.0, 1.0, live=False)
    margin_m: float = setting(
        0.03, 'room beside that body on a lane', 'm', 0.0, 0.3, live=False)
    lane_min_m: float = setting(
        0.20, 'what is left of a lane and shorter than this is no lane any more',
        'm', 0.02, 5.0, live=False)
    bridge_m: float = setting(
        0.40, 'a lane goes on across covered floor of this length', 'm', 0.0, 5.0, live=False)
    missed_m2: float = setting(
        0.03, 'where less than this would be newly covered is not gone to',
        'm^2', 0.001, 1.0, live=False)


@dataclass(frozen=True)
class Leg:
    """
    One piece of work: to ``begin``, and cleaning from there to ``end``, both (x, y, yaw).

    A patch has no ``end``. ``length_m`` is that of the lane, ``distance_m`` that along the floor
    to its beginning.
    """

    kind: str
    begin: tuple
    end: tuple
    length_m: float
    distance_m: float


class CoverageSweep:
    """
    The floor of one map and what is done of it.

    ``grid`` is an OccupancyGrid, ``pose`` (x, y, yaw) where the robot stands in it. Raises
    GridError when there is no floor for the robot.
    """

    def __init__(self, grid, pose, settings=None, robot=None):
        """Lay lanes over the floor that the robot reaches from ``pose``."""
        self.settings = settings = check_settings(settings or CoverageSettings())
        self.grid = grid.check()
        body_m = (robot or load_robot()).body.radius
        self.coverage = FloorCoverage(
            grid, pose, body_m, (settings.robot_radius or body_m) + settings.margin_m)
        self.reachable = self.coverage.reachable
        self._disc = disc_cells(body_m, grid.resolution)
        self._half = max(1, round(settings.lane_spacing_m / grid.resolution / 2.0))
        across = [_lane_rows(mask, 2 * self._half) for mask in (self.reachable, self.reachable.T)]
        fewest = int(np.argmin([_count_runs(mask[rows]) for mask, rows in zip(
            (self.reachable, self.reachable.T), across)]))
        self._turned = fewest == 1        # lanes along columns of the grid, not along its rows
        self._rows = across[fewest]
        self.pockets = np.zeros(grid.shape, dtype=bool)
        self.given_up = np.zeros(grid.shape, dtype=bool)
        self._no_lane = np.zeros(grid.shape, dtype=bool)

    # -- what is done ---------------------------------------------------------------------------

    def observe(self, pose, cleaning=True):
        """Take in the robot's pose (x, y, yaw); return the m^2 newly covered."""
        return self.coverage.observe(pose, cleaning)

    @property
    def left(self):
        """Return the mask of floor that is neither covered nor given up."""
        return self.coverage.floor & ~self.coverage.covered & ~self.given_up

    @property
    def progress(self):
        """Return 0..1: what is covered or given up, of all the floor."""
        return 1.0 - float(self.left.sum()) / max(1, int(self.coverage.floor.sum()))

    def keep_out(self, pockets):
        """Keep the body's middle out of the circles ``pockets``, an iterable of (x, y, radius)."""
        self.pockets[:] = False
        cells = np.argwhere(self.reachable)
        points = self.grid.cells_to_points(cells)
        for x, y, radius_m in pockets:
            inside = cells[np.hypot(*(points - (x, y)).T) <= radius_m]
            self.pockets[inside[:, 0], inside[:, 1]] = True

    # -- what is next ---------------------------------------------------------------------------

    def is_on_floor(self, pose):
        """Tell whether a robot at ``pose`` (x, y, yaw) can be on the floor that it is to cover."""
        return self._start_cell(pose) is not None

    def _start_cell(self, pose):
        return nearest_cell(self.grid, self.reachable, pose[:2], SEARCH_M)

    def next_leg(self, pose, avoid=(), avoid_m=0.3):
        """
        Return the :class:`Leg` to do from ``pose`` (x, y, yaw), or None when no work is left.

        None, too, from where there is no floor: see :meth:`is_on_floor`.
        Legs that begin within ``avoid_m`` of a point in ``avoid`` (K, 2) come last.
        """
        start = self._start_cell(pose)
        if start is None:
            return None
        distance = floor_distances(self.reachable, self.grid.resolution, start[None])
        allowed = self.reachable & ~self.pockets & np.isfinite(distance)
        return (self._next_lane(distance, allowed, avoid, avoid_m)
                or self._next_patch(distance, allowed, avoid, avoid_m))

    def lanes(self, allowed=None):
        """Return what is left of lanes as cells (N, 2, 2): begin and end, (row, column) each."""
        allowed = self.reachable & ~self.pockets if allowed is None else allowed
        left = self.left & ~self._no_lane
        if self._turned:
            left, allowed = left.T, allowed.T
        size = 2 * self._half + 1
        share = ndimage.uniform_filter1d(left.astype(float), size, axis=0, mode='constant')
        wanted = share[self._rows] * size >= max(1.0, WORTH_SHARE * size)
        drivable = allowed[self._rows]
        bridge = max(1, round(self.settings.bridge_m / self.grid.resolution))
        padded = np.pad(wanted & drivable, ((0, 0), (bridge, bridge)))
        whole = ndimage.binary_closing(padded, np.ones((1, bridge)))[:, bridge:-bridge]
        rows, begins, ends = _runs(whole & drivable)
        long = (ends - begins) * self.grid.resolution >= self.settings.lane_min_m
        rows = self._rows[rows[long]]
        cells = np.stack([
            np.stack([rows, begins[long]], axis=1), np.stack([rows, ends[long]], axis=1)], axis=1)
        return cells[..., ::-1] if self._turned else cells

    def _next_lane(self, distance, allowed, avoid, avoid_m):
        lanes = self.lanes(allowed)
        if len(lanes) == 0:
            return None
        # Either end may be the beginning.
        legs = np.concatenate([lanes, lanes[:, ::-1]])
        way_m = distance[legs[:, 0, 0], legs[:, 0, 1]]
        ends = [self.grid.cells_to_points(legs[:, k]) for k in (0, 1)]
        best = int(np.argmin(way_m + 1e3 * _near(ends[0], avoid, avoid_m)))
        begin, end = ends[0][best], ends[1][best]
        yaw = math.atan2(end[1] - begin[1], end[0] - begin[0])
        return Leg(
            LANE, (*begin.tolist(), yaw), (*end.tolist(), yaw), math.dist(begin, end),
            float(way_m[best]))

    def _next_patch(self, distance, allowed, avoid, avoid_m):
        """Return the leg to where most missed floor is covered for the way there."""
        reach = int(np.abs(self._disc).max())
        kernel = np.zeros((2 * reach + 1,) * 2)
        kernel[tuple((self._disc + reach).T)] = self.grid.resolution ** 2
        gain_m2 = np.where(allowed, fftconvolve(self.left.astype(float), kernel, mode='same'), 0.0)
        cells = np.argwhere(gain_m2 >= self.settings.missed_m2)
        if len(cells) == 0:
            return None
        points = self.grid.cells_to_points(cells)
        way_m = distance[tuple(cells.T)]
        value = gain_m2[tuple(cells.T)] / (way_m + PATCH_BIAS_M)
        best = int(np.argmax(value * np.where(_near(points, avoid, avoid_m), 1e-3, 1.0)))
        x, y = points[best].tolist()
        return Leg(PATCH, (x, y, 0.0), None, 0.0, float(way_m[best]))

    def give_up(self, leg):
        """Count what a leg was for as done: a lane may still be covered in patches."""
        if leg.kind == LANE:
            self._no_lane |= self._strip(leg)
        else:
            spot = np.rint(self.grid.points_to_cells(np.array([leg.begin[:2]]))[0]).astype(int)
            cells = self._disc + spot
            cells = cells[((cells >= 0) & (cells < self.grid.shape)).all(axis=1)]
            mask = np.zeros_like(self.given_up)
            mask[cells[:, 0], cells[:, 1]] = True
            self.given_up |= mask & self.left

    def _strip(self, leg):
        ends = np.rint(self.grid.points_to_cells(np.array(
            [leg.begin[:2], leg.end[:2]]))).astype(int)
        low, high = ends.min(axis=0) - self._half, ends.max(axis=0) + self._half + 1
        mask = np.zeros(self.grid.shape, dtype=bool)
        mask[max(0, low[0]):high[0], max(0, low[1]):high[1]] = True
        return mask


def _lane_rows(mask, spacing):
    """Return the rows of lanes, evenly from the first to the last with floor, <= spacing apart."""
    rows = np.flatnonzero(mask.any(axis=1))
    count = max(1, math.ceil((rows[-1] - rows[0]) / spacing))
    return np.unique(np.rint(np.linspace(rows[0], rows[-1], count + 1)).astype(int))


def _runs(mask):
    """Return (row, first, last), each (N,), of the runs of True along the rows of a mask."""
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, begins = np.nonzero(edges == 1)
    return rows, begins, np.nonzero(edges == -1)[1] - 1


def _count_runs(mask):
    return len(_runs(mask)[0])


def _near(points, others, within_m):
    """Return the (N,) mask of points within a distance of any of the others (K, 2)."""
    if len(others) == 0:
        return np.zeros(len(points), dtype=bool)
    gaps = np.hypot(*(points[:, None] - np.asarray(others)[None]).transpose(2, 0, 1))
    return (gaps <= within_m).any(axis=1)
