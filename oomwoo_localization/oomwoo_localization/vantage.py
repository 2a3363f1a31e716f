"""
Where to look from next, when what is seen fits several places of the map; and the way there.

What each candidate pose would see from each spot within reach is read off the map; the spot from
which they would see the most different things is the one to go to (active localization: Fox,
Burgard and Thrun, 1998). Without candidates or a map, the way goes to where it is open and the
robot has not looked yet.
"""

from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import compose, inverse, transform_points, wrap_angle
from oomwoo_localization.grids import floor_distances, OccupancyGrid
from oomwoo_localization.settings import check_settings, setting

LEAST_POINTS = 30  # with fewer returns one does not drive
SEEN_WITHIN_RAD = math.radians(15.0)
LEAST_SEEN = 3  # returns that have to lie about a direction, else it is not known to be open
PLAN_CELL_M = 0.1
PLAN_SPARE_M = 0.03
MOST_SPOTS = 200
SPENT_SHARE = 0.2  # what should have told there, and did not
ENOUGH_SHARE = 0.3  # more than this decides no better
MOST_COMPARED = 4  # candidates whose views are compared
LONGEST_WEIGHED_M = 0.3  # neighbouring ends farther apart are not of one wall
BEARINGS = np.linspace(-math.pi, math.pi, 48, endpoint=False)


@dataclass(frozen=True)
class VantageSettings:
    """How far to go for another view, and how carefully."""

    step_m: float = setting(1.0, 'length of one drive at most', 'm', 0.1, 3.0)
    least_step_m: float = setting(0.25, 'a shorter drive is not worth it', 'm', 0.05, 1.0)
    reach_m: float = setting(
        10.0, 'spots farther than this along the floor are not thought of', 'm', 0.5, 30.0
    )
    drive_speed: float = setting(0.2, 'speed while driving to another view', 'm/s', 0.02, 0.5)
    turn_speed: float = setting(1.2, 'turn rate while doing so', 'rad/s', 0.1, 2.5)
    body_margin_m: float = setting(
        0.05, 'room that is left beside and before the body', 'm', 0.0, 0.5
    )
    drive_s: float = setting(20.0, 'a drive is ended after this time', 's', 1.0, 120.0)
    back_off_m: float = setting(0.08, 'way back after touching something', 'm', 0.0, 0.3)
    telling_share: float = setting(
        0.15,
        'share of what is seen that must tell candidates apart for a spot to be worth driving to',
        '',
        0.01,
        1.0,
    )
    differ_m: float = setting(
        0.15, 'what lies farther than this from every wall, or behind one, tells', 'm', 0.02, 2.0
    )


@dataclass(frozen=True)
class Way:
    """
    A straight drive.

    ``heading`` rad in odom, ``length_m``; ``gain`` is the share of what is seen that tells the
    candidates apart where it leads to in the end, NaN when that is not known, and ``target_m`` how
    far that is.
    """

    heading: float
    length_m: float
    gain: float = math.nan
    target_m: float = math.nan


def open_ways(points, headings, half_width_m):
    """
    Return (H,) metres that a disk at the origin can go in each heading until it touches a point.

    ``points`` (N, 2) in the robot's frame, ``headings`` (H,) rad, ``half_width_m`` the disk's
    radius. Infinite where nothing is in the way, zero where too few returns lie about the heading
    to know.
    """
    points = np.asarray(points, dtype=float).reshape(-1, 2)
    headings = np.asarray(headings, dtype=float)
    along = np.cos(headings)[:, None] * points[:, 0] + np.sin(headings)[:, None] * points[:, 1]
    across = np.cos(headings)[:, None] * points[:, 1] - np.sin(headings)[:, None] * points[:, 0]
    inside = np.sqrt(np.maximum(half_width_m**2 - across**2, 0.0))
    blocked = (np.abs(across) < half_width_m) & (along > 0.0)
    free = np.where(blocked, np.maximum(along - inside, 0.0), np.inf).min(axis=1, initial=np.inf)
    bearings = np.arctan2(points[:, 1], points[:, 0])
    near = np.abs(wrap_angle(bearings[None, :] - headings[:, None])) < SEEN_WITHIN_RAD
    return np.where(near.sum(axis=1) < LEAST_SEEN, 0.0, free)


def predicted_ranges(grid, poses, bearings=BEARINGS, range_max=12.0):
    """
    Return (P, B) ranges that a scanner at ``poses`` (P, 3) would see in the map.

    By sphere tracing (Hart, 1996): each step goes as far as the nearest obstacle is away.
    ``range_max`` where nothing is met.
    """
    poses = np.asarray(poses, dtype=float).reshape(-1, 3)
    angles = poses[:, 2, None] + bearings[None, :]
    away = np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(-1, 2)
    begin = np.repeat(poses[:, :2], len(bearings), axis=0)
    ranges = np.zeros(len(away))
    going = np.ones(len(away), dtype=bool)
    for _ in range(200):
        at = begin[going] + ranges[going, None] * away[going]
        step = grid.lookup(grid.obstacle_distance, at, outside=np.inf)
        ranges[going] += np.maximum(step, grid.resolution / 2)
        still = (step > grid.resolution / 2) & (ranges[going] < range_max)
        going[np.flatnonzero(going)[~still]] = False
        if not going.any():
            break
    return np.minimum(ranges, range_max).reshape(len(poses), len(bearings))


def telling(grid, candidates, spots, differ_m):
    """
    Return (K, K, S) shares 0..1: of what candidate i would see, how much cannot be where j is.

    ``candidates`` (K, 3) poses in the map, ``spots`` (S, 3) poses relative to each of them. What
    ends away from every wall there cannot be; what only passes through one can, since furniture
    is moved. Walls count by their length, as in the search.
    """
    candidates = np.asarray(candidates, dtype=float).reshape(-1, 3)
    spots = np.asarray(spots, dtype=float).reshape(-1, 3)
    shares = np.zeros((len(candidates), len(candidates), len(spots)))
    poses = [np.array([compose(candidate, spot) for spot in spots]) for candidate in candidates]
    for i, mine in enumerate(poses):
        ranges = predicted_ranges(grid, mine)
        ends = ranges[..., None] * np.stack([np.cos(BEARINGS), np.sin(BEARINGS)], axis=-1)
        lengths = np.linalg.norm(np.roll(ends, -1, axis=1) - ends, axis=-1)
        lengths = np.minimum(lengths, LONGEST_WEIGHED_M)
        total = np.maximum(lengths.sum(axis=1), 1e-6)
        for j, at in enumerate(poses):
            if i == j:
                continue
            c, s = np.cos(at[:, 2, None]), np.sin(at[:, 2, None])
            x = at[:, 0, None] + c * ends[..., 0] - s * ends[..., 1]
            y = at[:, 1, None] + s * ends[..., 0] + c * ends[..., 1]
            placed = np.stack([x.ravel(), y.ravel()], axis=1)
            away = grid.lookup(grid.obstacle_distance, placed, outside=np.inf)
            off = away.reshape(ranges.shape) > differ_m
            shares[i, j] = (off * lengths).sum(axis=1) / total
    return shares


class VantagePlanner:
    """Chooses the next drive; keeps the target while the candidates stay."""

    def __init__(self, settings=None, robot=None, grid=None):
        """``robot`` gives the radius; without a map, ``grid``, ways are chosen by openness."""
        self.settings = check_settings(settings or VantageSettings())
        self._radius = robot.body.radius if robot else 0.175
        self._grid = grid
        self._coarse = None if grid is None else coarser(grid, PLAN_CELL_M)

    def plan(self, points, odom, candidates=(), visited=()):
        """
        Return the :class:`Way` to go next, or None when there is none.

        ``points`` (N, 2) of the scan in the robot's frame, ``odom`` its pose (3,) there,
        ``candidates`` poses (3,) in the map where it may be now, ``visited`` (V, 2) places in odom
        from which it has looked. Raises :class:`NothingToTell` when the map shows that the
        candidates look alike from everywhere within reach.
        """
        headings = np.radians(np.arange(-180.0, 180.0, 5.0))
        if len(points) < LEAST_POINTS:
            return None
        settings = self.settings
        # More room than is driven with, so that noise in a point does not end the drive.
        free = open_ways(points, headings, self._radius + settings.body_margin_m + PLAN_SPARE_M)
        lengths = np.minimum(free - settings.body_margin_m, settings.step_m)
        able = lengths >= settings.least_step_m
        headings, lengths, free = headings[able], lengths[able], free[able]
        target = self._target(odom, candidates, visited)
        if not len(headings):
            return None
        if target is None:
            return self._open_way(headings, lengths, free, odom, visited)
        field, gain, target_m = target
        base = candidates[0]
        left = np.full(len(headings), np.inf)
        reach = lengths.copy()
        for share in (1.0, 0.6):
            ends = (
                np.stack([np.cos(headings), np.sin(headings)], axis=1) * (share * lengths)[:, None]
            )
            here = self._coarse.lookup(field, transform_points(base, ends), outside=np.inf)
            better = (here < left - 1e-9) & (share * lengths >= settings.least_step_m)
            left[better], reach[better] = here[better], share * lengths[better]
        if not np.isfinite(left).any():
            return self._open_way(headings, lengths, free, odom, visited)
        best = int(np.argmin(left + 0.05 * np.abs(headings)))
        return Way(float(wrap_angle(odom[2] + headings[best])), float(reach[best]), gain, target_m)

    def _gains(self, candidates, spots, odom, visited):
        """
        Return (S,) what each spot tells at most.

        A candidate that would have been told from another at a place that was visited, and was
        not, has nothing more to show against that one.
        """
        planar = np.column_stack([spots, np.zeros(len(spots))])
        shares = telling(self._grid, candidates, planar, self.settings.differ_m)
        if len(visited):
            there = transform_points(inverse(odom), np.reshape(visited, (-1, 2)))
            planar = np.column_stack([there, np.zeros(len(there))])
            seen = telling(self._grid, candidates, planar, self.settings.differ_m)
            shares[seen.max(axis=2) >= SPENT_SHARE] = 0.0
        return shares.max(axis=(0, 1))

    def _open_way(self, headings, lengths, free, odom, visited):
        """Return the way that leads away from where the robot has looked, and into the open."""
        ends = np.stack([np.cos(headings), np.sin(headings)], axis=1) * lengths[:, None]
        places = np.array([odom[:2], *visited]).reshape(-1, 2)
        apart = np.hypot(
            *(transform_points(odom, ends)[:, None] - places[None]).transpose(2, 0, 1)
        ).min(axis=1)
        best = int(np.argmax(apart + 0.1 * np.minimum(free, 5.0) - 0.05 * np.abs(headings)))
        return Way(float(wrap_angle(odom[2] + headings[best])), float(lengths[best]))

    def _target(self, odom, candidates, visited):
        """Return floor distances to the most telling spot, what it tells, how far it is."""
        if self._grid is None or len(candidates) < 2:
            return None
        coarse, base = self._coarse, np.asarray(candidates[0], dtype=float)
        room = coarse.obstacle_distance + coarse.resolution / 2
        passable = coarse.free & (room > self._radius)
        start = np.rint(coarse.points_to_cells([base[:2]])).astype(int)
        if not inside(start[0], coarse.shape):
            return None
        row, column = start[0]
        passable[max(0, row - 1):row + 2, max(0, column - 1):column + 2] = True
        away = floor_distances(passable, coarse.resolution, start)
        cells = np.argwhere(np.isfinite(away) & (away <= self.settings.reach_m) & (away > 0.0))
        if not len(cells):
            return None
        cells = cells[np.unique(np.linspace(0, len(cells) - 1, MOST_SPOTS).astype(int))]
        spots = transform_points(inverse(base), coarse.cells_to_points(cells))
        for other in candidates[
            1:
        ]:  # where one of them could not stand, the drive would not get there
            stands = (
                coarse.lookup(passable.astype(float), transform_points(other, spots), outside=0.0)
                > 0.5
            )
            if stands.any():
                cells, spots = cells[stands], spots[stands]
        gains = self._gains(candidates[:MOST_COMPARED], spots, odom, visited)
        if gains.max() < self.settings.telling_share:
            raise NothingToTell(
                'the candidates look alike in the map from everywhere within '
                f'{self.settings.reach_m:.0f} m that was not looked at, so driving cannot decide'
            )
        lengths = away[tuple(cells.T)]
        # A telling spot nearby beats one that tells a little more far off.
        best = int(np.argmax(np.minimum(gains, ENOUGH_SHARE) / (1.0 + 0.3 * lengths)))
        if gains[best] < self.settings.telling_share:
            best = int(np.argmax(gains))
        field = floor_distances(passable, coarse.resolution, cells[best:best + 1])
        return field, float(gains[best]), float(lengths[best])


class NothingToTell(ValueError):
    """The candidates look alike from everywhere: no drive decides between them."""


def inside(cell, shape):
    """Tell whether a (row, column) is one of an array of a shape."""
    return 0 <= cell[0] < shape[0] and 0 <= cell[1] < shape[1]


def coarser(grid, cell_m):
    """Return the map in larger cells: occupied where any part is, free where all is."""
    factor = max(1, round(cell_m / grid.resolution))
    if factor == 1:
        return grid
    rows, columns = (math.ceil(n / factor) * factor for n in grid.shape)
    cells = np.full((rows, columns), -1, dtype=np.int8)
    cells[: grid.shape[0], : grid.shape[1]] = grid.cells
    blocks = cells.reshape(rows // factor, factor, columns // factor, factor)
    highest, lowest = blocks.max(axis=(1, 3)), blocks.min(axis=(1, 3))
    merged = np.where((lowest < 0) & (highest < 65), -1, highest).astype(np.int8)
    return OccupancyGrid(merged, grid.resolution * factor, grid.origin)


@dataclass(frozen=True)
class DriveStep:
    """A command; ``done`` with a ``reason``: arrived, blocked, bumped, late, blind."""

    linear: float
    angular: float
    done: bool = False
    reason: str = ''


STAND = DriveStep(0.0, 0.0)


class VantageDrive:
    """Turns to a heading and drives a length, guarded by scan and bumper."""

    def __init__(self, way, odom, time_s, settings, body_radius_m):
        """Begin the drive of ``way`` at ``odom`` (3,)."""
        self._way, self._settings = way, settings
        self._from, self._began_s = np.array(odom, dtype=float), time_s
        self._half_width = body_radius_m + settings.body_margin_m
        self._turning = True
        self._bumped_at = None

    def step(self, time_s, odom, points, bumped):
        """
        Return the :class:`DriveStep`.

        ``odom`` (3,) now, ``points`` (N, 2) of the latest scan in the robot's frame or None when
        that is stale.
        """
        settings, odom = self._settings, np.asarray(odom, dtype=float)
        if time_s - self._began_s > settings.drive_s:
            return DriveStep(0.0, 0.0, True, 'late')
        if points is None or len(points) < LEAST_POINTS:
            return DriveStep(0.0, 0.0, True, 'blind')
        if bumped or self._bumped_at is not None:
            return self._back_off(odom, points)
        error = wrap_angle(self._way.heading - odom[2])
        if self._turning and abs(error) > math.radians(2.0):
            return DriveStep(
                0.0, float(np.clip(3.0 * error, -settings.turn_speed, settings.turn_speed))
            )
        self._turning = False
        gone = math.hypot(*(odom - self._from)[:2])
        left = self._way.length_m - gone
        if left <= 0.0:
            return DriveStep(0.0, 0.0, True, 'arrived')
        ahead = float(open_ways(points, [0.0], self._half_width)[0]) - settings.body_margin_m / 2
        if ahead <= 0.0:
            return DriveStep(0.0, 0.0, True, 'blocked')
        speed = min(settings.drive_speed, max(0.03, left), max(0.03, ahead))
        return DriveStep(speed, float(np.clip(1.5 * error, -0.5, 0.5)))

    def _back_off(self, odom, points):
        if self._bumped_at is None:
            self._bumped_at = odom.copy()
        gone = math.hypot(*(odom - self._bumped_at)[:2])
        behind = float(
            open_ways(points, [math.pi], self._half_width - self._settings.body_margin_m)[0]
        )
        if gone >= self._settings.back_off_m or behind < 0.03:
            return DriveStep(0.0, 0.0, True, 'bumped')
        return DriveStep(-0.08, 0.0)
