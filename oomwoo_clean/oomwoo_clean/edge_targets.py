"""
Which dirty stretch is next and where it is begun.

The nearest along the floor is next, from its beginning; among those hardly farther than it, the
one from which the rest, nearest first, is shortest (rollout: Bertsekas, Tsitsiklis and Wu, 1997).
A ring that is dirty all round has no beginning, and it is left where it was entered: it is entered
where the way there and on is shortest. A shorter stretch that a longer one passes closely is
cleaned on the way, which saves coming back for it.
"""
from dataclasses import dataclass

import numpy as np
from oomwoo_localization.floor import nearest_cell
from oomwoo_localization.grids import floor_distances

LOOK_AHEAD_M = 1.0
HANDOVER_M = 0.3              # what leaving a stretch and coming back costs beside the way


@dataclass(frozen=True)
class Target:
    """
    Where to start following: ``pose`` (x, y, yaw) on a ring, facing along it, the obstacle beside.

    ``spot`` is the first dirty spot, ``stretch_m`` the dirty edge from there on, ``distance_m``
    the way there, ``lead_m`` the way along the ring from there to the spot.
    """

    pose: tuple
    spot: int
    stretch_m: float
    distance_m: float
    lead_m: float = 0.0


@dataclass(frozen=True)
class _Stretch:
    """Dirty ``spots`` in driving order, ``whole`` if a full ring; ``starts`` that may be used."""

    spots: np.ndarray
    whole: bool
    starts: np.ndarray


class TargetChooser:
    """Chooses targets on the rings of one map; remembers distances along the floor."""

    def __init__(self, grid, reachable, rings, detour_m=0.0, detour_min_m=0.0, choice_m=0.0):
        """
        Take the map, the (rows, columns) mask of drivable floor, and the :class:`Rings` on it.

        Stretches of at least ``detour_min_m`` and at most ``detour_m`` off the way are cleaned on
        the way. Among targets at most ``choice_m`` farther than the nearest, the way on decides.
        """
        self._grid, self._reachable, self._rings = grid, reachable, rings
        self._detour_m, self._detour_min_m = detour_m, detour_min_m
        self._choice_m = choice_m
        self._known = {}

    def next_target(self, dirty, pose, upstream_m, avoid=(), avoid_m=0.5):
        """
        Return the :class:`Target` for the ``dirty`` (N,) mask from ``pose``, or None without any.

        ``upstream_m`` (spot -> metres) tells how far before a dirty spot to start. Spots within
        ``avoid_m`` of a point in ``avoid`` (K, 2) begin no target, as long as there are others.
        """
        stretches = self._stretches(dirty, avoid, avoid_m)
        usable = [stretch for stretch in stretches if len(stretch.starts)]
        if stretches and not usable:
            usable = stretches = self._stretches(dirty, (), avoid_m)
        if not usable:
            return None
        distance = self._from_pose(pose)
        parks = [self._park(stretch, distance, upstream_m) for stretch in usable]
        ways = np.array([distance[park] for _, park in parks])
        near = np.flatnonzero(ways <= ways.min() + self._choice_m)
        begun = [self._begin(usable[i], stretches, distance, *parks[i]) for i in near]
        best = int(np.argmin([total_m for total_m, _, _ in begun]))
        _, start, park = begun[best]
        return self._target(usable[near[best]], start, park, distance)

    def _begin(self, stretch, stretches, distance, start, park):
        """
        Return where to begin a stretch so that the way there and on is shortest.

        Returns that way in metres, the index into its spots, and the spot to park at; the latter
        two are the given ones unless it is a whole ring.
        """
        others = [other for other in stretches if other is not stretch]
        others = [other for other in others if not self._saves(
            other, self._to_stretch(other)[stretch.spots].min(), [stretch], others)]
        if not stretch.whole:
            on_m = self._onward(stretch.spots[-1:], others)[0] if others else 0.0
            return distance[park] + on_m, start, park
        entries = stretch.spots[stretch.starts]
        way = distance[entries] + (self._onward(entries, others) if others else 0.0)
        best = int(np.argmin(way))
        return way[best], int(stretch.starts[best]), int(entries[best])

    def on_the_way(self, dirty, pose, target, upstream_m, avoid=(), avoid_m=0.5):
        """
        Return a :class:`Target` better cleaned now, while ``target`` is being followed, or None.

        That is a stretch of another ring, shorter than what is left of this one, which is nowhere
        nearer in the next metre than it is here, and farther from everything that comes later than
        the way there and back.
        """
        rings = self._rings
        own = np.flatnonzero(rings.ring == rings.ring[target.spot])
        here = own[np.argmin(np.hypot(*(rings.points[own] - pose[:2]).T))]
        ahead = rings.ahead(here, LOOK_AHEAD_M)
        stretches = self._stretches(dirty, avoid, avoid_m)
        ring = rings.ring[here]
        current = [stretch for stretch in stretches if rings.ring[stretch.spots[0]] == ring]
        others = [stretch for stretch in stretches if rings.ring[stretch.spots[0]] != ring]
        for stretch in others:
            if len(stretch.starts) < len(stretch.spots) or not self._is_near(stretch, pose):
                continue
            to = self._to_stretch(stretch)
            nearest_here = to[here] <= to[ahead].min() + rings.length[here]
            if nearest_here and self._saves(stretch, to[here], current, others):
                distance = self._from_pose(pose)
                return self._target(stretch, *self._park(stretch, distance, upstream_m), distance)
        return None

    def _saves(self, stretch, off_m, current, others):
        """Tell whether ``stretch``, ``off_m`` off the ``current``, costs less now than in turn."""
        rings = self._rings
        length_m = rings.length[stretch.spots].sum()
        left_m = sum(rings.length[other.spots].sum() for other in current)
        if off_m > self._detour_m or not self._detour_min_m <= length_m < left_m:
            return False
        leave = [_exits(other) for other in others if other is not stretch]
        leave += [other.spots[-1:] for other in current]
        later_m = min(self._to_stretch(stretch)[spots].min() for spots in leave) if leave else 0.0
        return bool(2.0 * off_m + HANDOVER_M < later_m)

    def _is_near(self, stretch, pose):
        """Tell whether a stretch begins within ``detour_m`` as the crow flies: quick to say."""
        entries = stretch.spots if stretch.whole else stretch.spots[:1]
        return np.hypot(*(self._rings.points[entries] - pose[:2]).T).min() <= self._detour_m

    def _target(self, stretch, start, park, distance):
        ahead = stretch.spots if stretch.whole else stretch.spots[start:]
        length = self._rings.length[ahead].sum()
        pose = (*self._rings.points[park], self._rings.yaw[park])
        return Target(
            tuple(map(float, pose)), int(stretch.spots[start]), float(length),
            float(distance[park]), self._rings.between_m(park, stretch.spots[start]))

    def _stretches(self, dirty, avoid, avoid_m):
        allowed = np.ones(len(dirty), dtype=bool)
        for point in avoid:
            allowed &= np.hypot(*(self._rings.points - np.asarray(point)[:2]).T) > avoid_m
        found = []
        for spots in self._rings.runs(dirty):
            whole = bool(self._rings.closed[self._rings.ring[spots[0]]]
                         and self._rings.after[spots[-1]] == spots[0])
            starts = allowed[spots]
            if whole and (starts & ~self._rings.narrow[spots]).any():
                starts &= ~self._rings.narrow[spots]
            found.append(_Stretch(spots, whole, np.flatnonzero(starts)))
        return found

    def _park(self, stretch, distance, upstream_m):
        """
        Return where a stretch is begun: the index into its spots, and the spot to park at.

        That is before the gap where it begins in a narrow one: the follower goes in by itself.
        """
        if stretch.whole:
            start = stretch.starts[np.argmin(distance[stretch.spots[stretch.starts]])]
            return int(start), int(stretch.spots[start])
        start = int(stretch.starts[0])
        spot = int(stretch.spots[start])
        return start, self._rings.out_of_gap(self._rings.walk(spot, -upstream_m(spot)))

    # -- distances along the floor ------------------------------------------------------------

    def _from_pose(self, pose):
        """Return (N,) metres from ``pose`` to every spot."""
        start = nearest_cell(self._grid, self._reachable, pose[:2], 1.0)
        if start is None:
            return np.full(len(self._rings.points), np.inf)
        return self._to_spots([start])

    def _to_spots(self, start_cells):
        field = floor_distances(self._reachable, self._grid.resolution, start_cells)
        return self._grid.lookup(field, self._rings.points, outside=np.inf)

    def _to_stretch(self, stretch):
        """Return (N,) metres from every spot to where a stretch is entered; anywhere if whole."""
        entries = stretch.spots if stretch.whole else stretch.spots[:1]
        key = (int(entries[0]), len(entries))
        if key not in self._known:
            cells = np.rint(self._grid.points_to_cells(self._rings.points[entries])).astype(int)
            self._known[key] = self._to_spots(cells)
        return self._known[key]

    def _onward(self, spots, others):
        """Return the metres from each spot through the other stretches, always to the nearest."""
        to = np.array([self._to_stretch(other) for other in others])
        leave = [_exits(other) for other in others]
        between = np.array([
            [to[j][leave[i]].min() for j in range(len(others))] for i in range(len(others))])
        after = np.array([_nearest_first(between, i) for i in range(len(others))])
        first = np.argmin(to[:, spots], axis=0)
        return to[first, spots] + after[first]


def _exits(stretch):
    """Return the spots at which a stretch may be left: any of a whole one, left where entered."""
    return stretch.spots if stretch.whole else stretch.spots[-1:]


def _nearest_first(between, first):
    """Return the length of the tour from ``first`` on, always to the nearest not yet visited."""
    left = [i for i in range(len(between)) if i != first]
    here, total = first, 0.0
    while left:
        there = min(left, key=lambda i: between[here, i])
        total += between[here, there]
        left.remove(there)
        here = there
    return total
