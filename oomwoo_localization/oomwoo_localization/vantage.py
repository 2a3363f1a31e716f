"""
Where to look from next, when what is seen fits several places of the map.

What each candidate pose would see from each spot within reach is read off the map; a spot from
which one of them would see what another cannot is worth going to (active localization: Fox,
Burgard and Thrun, 1998). Such a goal is kept until it is reached, since the better of two goals
far off changes with every step. Without candidates or a map, the way goes to where it is open and
the robot has not looked yet.
"""

from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import compose, inverse, transform_points, wrap_angle
from oomwoo_localization.grids import floor_distances
from oomwoo_localization.settings import check_settings, setting
from oomwoo_localization.vantage_drive import LEAST_POINTS, open_ways, Way
from oomwoo_localization.views import coarser, telling

PLAN_CELL_M = 0.1
PLAN_SPARE_M = 0.03
MOST_SPOTS = 400  # for all candidates together
MOST_REFINED = 8  # spots about which it looks closer
MORE_SHARE = 0.05  # so much more a spot has to tell than one from which it did not
ENOUGH_SHARE = 0.3  # more than this decides no better
MOST_COMPARED = 4  # candidates whose views are compared
SAME_M, SAME_RAD = 0.5, math.radians(20.0)  # a candidate of the last drive, found again
REACHED_M = 0.3  # a goal is where one looked from as near as this
NEARER_M, MOST_IN_VAIN = 0.1, 3  # drives that lead no nearer, after which a goal is left


@dataclass(frozen=True)
class VantageSettings:
    """How far to go for another view, and how carefully."""

    step_m: float = setting(1.5, 'length of one drive at most', 'm', 0.1, 3.0)
    least_step_m: float = setting(0.25, 'a shorter drive is not worth it', 'm', 0.05, 1.0)
    reach_m: float = setting(
        20.0, 'spots farther than this along the floor are not thought of', 'm', 0.5, 100.0
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


class NothingToTell(ValueError):
    """The candidates look alike from everywhere: no drive decides between them."""


@dataclass
class Goal:
    """
    A spot of the map (2,) from which candidate ``teller`` would be told from ``other``.

    Both are numbers of :class:`KnownCandidates`. ``gain`` is the share that tells, ``nearest_m``
    the least way there so far, ``in_vain`` how many drives in a row did not shorten it.
    """

    spot: np.ndarray
    teller: int
    other: int
    gain: float
    nearest_m: float = math.inf
    in_vain: int = 0


class KnownCandidates:
    """Numbers candidates so that each keeps its own, whatever order they come in."""

    def __init__(self):
        """Know none."""
        self._corrections = []

    def numbers(self, candidates, odom):
        """Return the number of each of ``candidates`` (K poses in the map), robot at ``odom``."""
        taken, back = [], inverse(odom)
        for candidate in candidates:
            number = self._number(candidate, odom, taken)
            if number is None:
                number = len(self._corrections)
                self._corrections.append(None)
            # Odometry drifts: what is known of it is what was found last.
            self._corrections[number] = compose(candidate, back)
            taken.append(number)
        return taken

    def _number(self, candidate, odom, taken):
        best, nearest = None, SAME_M
        for number, correction in enumerate(self._corrections):
            pose = compose(correction, odom)
            apart = math.dist(pose[:2], candidate[:2])
            turned = abs(wrap_angle(pose[2] - candidate[2]))
            if number not in taken and apart <= nearest and turned <= SAME_RAD:
                best, nearest = number, apart
        return best


class VantagePlanner:
    """Chooses the next drive; keeps its goal until it is reached or led to nothing."""

    def __init__(self, settings=None, robot=None, grid=None):
        """``robot`` gives the radius; without a map, ``grid``, ways are chosen by openness."""
        self.settings = check_settings(settings or VantageSettings())
        self._radius = robot.body.radius if robot else 0.175
        self._grid = grid
        self._coarse = None
        if grid is not None:
            self._coarse = coarser(grid, PLAN_CELL_M)
            room = self._coarse.obstacle_distance + self._coarse.resolution / 2
            self._passable = self._coarse.free & (room > self._radius)
        self.forget()

    def forget(self):
        """Begin anew: nothing was tried yet."""
        self._known, self._goal = KnownCandidates(), None
        self._seen, self._left = {}, []  # shares by (teller, other); spots left

    def plan(self, points, odom, candidates=(), visited=()):
        """
        Return the :class:`Way` to go next, or None when there is none.

        ``points`` (N, 2) of the scan in the robot's frame, ``odom`` its pose (3,) there,
        ``candidates`` poses (3,) in the map where it may be now, ``visited`` (V, 2) places in odom
        from which it has looked. Raises :class:`NothingToTell` when the map shows that the
        candidates look alike from everywhere within reach.
        """
        if len(points) < LEAST_POINTS:
            return None
        headings, lengths, free = self._ways(points)
        towards = None
        if self._grid is not None and len(candidates) >= 2:
            candidates = [np.asarray(pose, dtype=float) for pose in candidates[:MOST_COMPARED]]
            towards = self._towards_goal(odom, candidates, visited)
        if not len(headings):
            return None
        if towards is not None:
            base, field, left_m = towards
            way = self._way_down(headings, lengths, base, field)
            if way is not None:
                heading, length_m = way
                return Way(
                    float(wrap_angle(odom[2] + heading)), length_m, self._goal.gain, left_m)
        return self._open_way(headings, lengths, free, odom, visited)

    # -- straight ways from here ------------------------------------------------------------

    def _ways(self, points):
        """Return headings in the robot's frame, lengths to drive and free lengths, (H,) each."""
        settings = self.settings
        headings = np.radians(np.arange(-180.0, 180.0, 5.0))
        # More room than is driven with, so that noise in a point does not end the drive.
        free = open_ways(points, headings, self._radius + settings.body_margin_m + PLAN_SPARE_M)
        lengths = np.minimum(free - settings.body_margin_m, settings.step_m)
        able = lengths >= settings.least_step_m
        return headings[able], lengths[able], free[able]

    def _way_down(self, headings, lengths, base, field):
        """Return the (heading, length) that ends nearest to the goal, None if all lead away."""
        left = np.full(len(headings), np.inf)
        reach = lengths.copy()
        for share in (1.0, 0.7, 0.4):
            ends = (
                np.stack([np.cos(headings), np.sin(headings)], axis=1) * (share * lengths)[:, None]
            )
            here = self._coarse.lookup(field, transform_points(base, ends), outside=np.inf)
            better = (here < left - 1e-9) & (share * lengths >= self.settings.least_step_m)
            left[better], reach[better] = here[better], share * lengths[better]
        if not np.isfinite(left).any():
            return None
        best = int(np.argmin(left + 0.05 * np.abs(headings)))
        return float(headings[best]), float(reach[best])

    def _open_way(self, headings, lengths, free, odom, visited):
        """Return the way that leads away from where the robot has looked, and into the open."""
        ends = np.stack([np.cos(headings), np.sin(headings)], axis=1) * lengths[:, None]
        places = np.array([odom[:2], *visited]).reshape(-1, 2)
        apart = np.hypot(
            *(transform_points(odom, ends)[:, None] - places[None]).transpose(2, 0, 1)
        ).min(axis=1)
        best = int(np.argmax(apart + 0.1 * np.minimum(free, 5.0) - 0.05 * np.abs(headings)))
        return Way(float(wrap_angle(odom[2] + headings[best])), float(lengths[best]))

    # -- the goal ---------------------------------------------------------------------------

    def _towards_goal(self, odom, candidates, visited):
        """Return (pose of the goal's teller, (rows, columns) metres to the goal, metres left)."""
        numbers = self._known.numbers(candidates, odom)
        self._note_seen(odom, candidates, numbers, visited)
        found = self._kept_goal(candidates, numbers)
        if found is None:
            self._goal = self._new_goal(candidates, numbers)
            found = self._kept_goal(candidates, numbers)
        return found

    def _kept_goal(self, candidates, numbers):
        """Return what :meth:`_towards_goal` does, None when the goal is no longer one."""
        goal = self._goal
        if goal is None or not {goal.teller, goal.other} <= set(numbers):
            return None
        if goal.gain < self._seen.get((goal.teller, goal.other), -1.0) + MORE_SHARE:
            return None
        base = candidates[numbers.index(goal.teller)]
        passable, start = self._floor(base)
        if start is None:
            return None
        cell = np.rint(self._coarse.points_to_cells([goal.spot])).astype(int)
        field = floor_distances(passable, self._coarse.resolution, cell)
        left_m = float(field[tuple(start)])
        if left_m <= REACHED_M:
            # Looked from there, and it told nothing.
            self._saw(goal.teller, goal.other, goal.gain)
            return None
        goal.in_vain = 0 if left_m < goal.nearest_m - NEARER_M else goal.in_vain + 1
        goal.nearest_m = min(goal.nearest_m, left_m)
        if goal.in_vain > MOST_IN_VAIN:
            self._left.append(goal.spot)
            return None
        return base, field, left_m

    def _new_goal(self, candidates, numbers):
        """Return the :class:`Goal` that is worth its way; raises NothingToTell without one."""
        best, most = None, -math.inf
        for i, teller in enumerate(numbers):
            away = self._away(candidates[i])
            cells = np.argwhere(away <= self.settings.reach_m)
            cells, step = spread(cells, MOST_SPOTS // len(candidates))
            shares, cells = self._shares(cells, candidates, numbers, i)
            # What tells may be seen through a narrow gap only: finer where most of it is seen.
            top = cells[np.argsort(shares.max(axis=0))[-MOST_REFINED:]]
            fine = around(top, step, away <= self.settings.reach_m)
            finer, fine = self._shares(fine, candidates, numbers, i)
            cells, shares = np.vstack([cells, fine]), np.hstack([shares, finer])
            if not len(cells):
                continue
            gains = shares.max(axis=0)
            # A telling spot nearby beats one that tells a little more far off.
            worth = np.minimum(gains, ENOUGH_SHARE) / (1.0 + 0.3 * away[tuple(cells.T)])
            worth[gains < self.settings.telling_share] = -math.inf
            k = int(np.argmax(worth))
            if worth[k] > most:
                most, other = worth[k], numbers[int(np.argmax(shares[:, k]))]
                spot = self._coarse.cells_to_points(cells[k:k + 1])[0]
                best = Goal(spot, teller, other, float(gains[k]))
        if best is None:
            raise NothingToTell(
                'the candidates look alike in the map from everywhere within '
                f'{self.settings.reach_m:.0f} m that was not looked at, so driving cannot decide'
            )
        return best

    def _shares(self, cells, candidates, numbers, i):
        """
        Return (K, S) by how much candidate ``i`` is told from each at ``cells``, and those cells.

        Of the cells (N, 2), those are kept where the others could stand, too. Zero where it is no
        more than what it was not told by before.
        """
        places = self._coarse.cells_to_points(cells)
        spots = transform_points(inverse(candidates[i]), places)
        keep = np.ones(len(cells), dtype=bool)
        for other in candidates:
            # Where one of them could not stand, the drive would not get there.
            placed = transform_points(other, spots)
            stands = self._coarse.lookup(self._passable.astype(float), placed, outside=0.0) > 0.5
            if (keep & stands).any():
                keep &= stands
        for left in self._left:
            keep &= np.hypot(*(places - left).T) > 2 * REACHED_M
        poses = planar(spots[keep])
        shares = telling(self._grid, candidates, poses, self.settings.differ_m)[i]
        for j, other in enumerate(numbers):
            seen = self._seen.get((numbers[i], other))
            if seen is not None:
                shares[j, shares[j] < seen + MORE_SHARE] = 0.0
        return shares, cells[keep]

    def _note_seen(self, odom, candidates, numbers, visited):
        """Note by how much one should have been told from another where it looked, in vain."""
        if not len(visited):
            return
        there = transform_points(inverse(odom), np.reshape(visited, (-1, 2)))
        seen = telling(self._grid, candidates, planar(there), self.settings.differ_m).max(axis=2)
        for i, j in np.argwhere(seen >= self.settings.telling_share):
            self._saw(numbers[i], numbers[j], float(seen[i, j]))

    def _saw(self, teller, other, share):
        self._seen[teller, other] = max(share, self._seen.get((teller, other), 0.0))

    def _away(self, base):
        """Return (rows, columns) metres on the floor from ``base``, infinite where no goal is."""
        passable, start = self._floor(base)
        if start is None:
            return np.full(self._coarse.shape, np.inf)
        away = floor_distances(passable, self._coarse.resolution, start[None])
        away[away <= REACHED_M] = np.inf  # to look from here again is no use
        return away

    def _floor(self, base):
        """Return where the map lets one drive from ``base`` (3,), and its cell; None outside."""
        row, column = np.rint(self._coarse.points_to_cells([base[:2]])[0]).astype(int)
        rows, columns = self._coarse.shape
        if not (0 <= row < rows and 0 <= column < columns):
            return self._passable, None
        passable = self._passable.copy()
        passable[max(0, row - 1):row + 2, max(0, column - 1):column + 2] = True
        return passable, np.array([row, column])


def spread(cells, most):
    """Return ``cells`` (N, 2) on the finest lattice that has ``most`` at most, and its step."""
    step = 1
    while True:
        kept = cells[(cells % step == 0).all(axis=1)]
        if len(kept) <= most:
            return kept, step
        step += 1


def around(cells, step, allowed):
    """Return the cells (N, 2) nearer than ``step`` to one of ``cells``, where ``allowed`` is."""
    reach = np.arange(1 - step, step)
    offsets = np.stack(np.meshgrid(reach, reach), axis=-1).reshape(-1, 2)
    found = np.unique((cells[:, None] + offsets).reshape(-1, 2), axis=0)
    found = found[((found >= 0) & (found < allowed.shape)).all(axis=1)]
    return found[allowed[tuple(found.T)]]


def planar(spots):
    """Return poses (S, 3) with heading zero at spots (S, 2)."""
    return np.column_stack([spots, np.zeros(len(spots))])
