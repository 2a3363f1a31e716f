"""
Which dirty stretch is next and where it is begun.

The nearest along the floor is next, from its beginning; among those hardly farther than it, the
one from which the rest, nearest first, is shortest (rollout: Bertsekas, Tsitsiklis and Wu, 1997).
A ring that is dirty all round has no beginning, and it is left where it was entered: it is entered
where the way there and on is shortest. So is one that is dirty but for a little, which is driven
twice then. A shorter stretch that a longer one passes closely is cleaned on the way, which saves
coming back for it.
"""
from dataclasses import dataclass

import numpy as np

LOOK_AHEAD_M = 1.0
HANDOVER_M = 0.3              # what leaving a stretch and coming back costs beside the way
AROUND_M, AROUND_SHARE = 1.0, 0.25    # of clean ring at most are driven again to enter it anywhere


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
    """
    Dirty ``spots`` in driving order, and the indices ``starts`` of those that may be a target.

    ``entries`` are the spots at which to begin; a ``whole`` ring is left where it was entered, of
    which ``extra_m`` are clean.
    """

    spots: np.ndarray
    starts: np.ndarray
    entries: np.ndarray
    whole: bool
    extra_m: float = 0.0

    @property
    def exits(self):
        """Return the spots at which it may be left."""
        return self.entries if self.whole else self.spots[-1:]


class TargetChooser:
    """Chooses targets on the rings of one map; remembers distances along the floor."""

    def __init__(self, ways, rings, detour_m=0.0, detour_min_m=0.0, choice_m=0.0):
        """
        Take the :class:`~oomwoo_clean.edge_ways.FloorWays` between the spots of the Rings.

        Stretches of at least ``detour_min_m`` and at most ``detour_m`` off the way are cleaned on
        the way. Among targets at most ``choice_m`` farther than the nearest, the way on decides.
        """
        self._ways, self._rings = ways, rings
        self._detour_m, self._detour_min_m = detour_m, detour_min_m
        self._choice_m = choice_m

    def next_target(self, dirty, pose, upstream_m, avoid=(), avoid_m=0.5, given_up=None):
        """
        Return the :class:`Target` for the ``dirty`` (N,) mask from ``pose``, or None without any.

        ``upstream_m`` (spot -> metres) tells how far before a dirty spot to start. Spots within
        ``avoid_m`` of a point in ``avoid`` (K, 2) begin no target, as long as there are others.
        ``given_up`` (N,) are spots past which nobody need try to get.
        """
        stretches = self._stretches(dirty, upstream_m, avoid, avoid_m, given_up)
        if stretches and not any(len(stretch.starts) for stretch in stretches):
            stretches = self._stretches(dirty, upstream_m, (), avoid_m, given_up)
        usable = [i for i, stretch in enumerate(stretches) if len(stretch.starts)]
        if not usable:
            return None
        distance = self._ways.from_pose(pose)
        there = {i: self._way_into(stretches[i], distance) for i in usable}
        nearest = min(there.values())
        begun = [self._begin(stretches[i], stretches, distance) for i in usable
                 if there[i] <= nearest + self._choice_m]
        return min(begun, key=lambda one: one[0])[1]

    def _begin(self, stretch, stretches, distance):
        """Return the metres there and on, and the :class:`Target`, from where that is shortest."""
        others = [other for other in stretches if other is not stretch]
        others = [other for other in others if not self._saves(
            other, self._to(other)[stretch.spots].min(), [stretch], others)]
        target = self._target(stretch, distance, others)
        on_m = 0.0
        if others:
            leave = target.spot if stretch.whole else stretch.spots[-1]
            on_m = self._onward(np.array([leave]), others)[0]
        return target.distance_m + target.lead_m + stretch.extra_m + on_m, target

    def on_the_way(
            self, dirty, pose, target, upstream_m, avoid=(), avoid_m=0.5, given_up=None):
        """
        Return a :class:`Target` better cleaned now, while ``target`` is being followed, or None.

        That is a stretch of another ring, shorter than what is left of this one, which is nowhere
        nearer in the next metre than it is here, and farther from everything that comes later than
        the way there and back.
        """
        rings = self._rings
        own = np.flatnonzero(rings.ring == rings.ring[target.spot])
        here = own[np.argmin(np.hypot(*(rings.points[own] - pose[:2]).T))]
        ring = rings.ring[here]
        near = [spots for spots in rings.runs(dirty) if rings.ring[spots[0]] != ring
                and self._is_near(spots, pose)]
        if not near or rings.in_gap(here):
            return None
        stretches = self._stretches(dirty, upstream_m, avoid, avoid_m, given_up)
        others = [stretch for stretch in stretches if rings.ring[stretch.spots[0]] != ring]
        ahead = rings.ahead(here, LOOK_AHEAD_M)
        current = [stretch for stretch in stretches if rings.ring[stretch.spots[0]] == ring]
        for stretch in others:
            if self._offered(stretch, here, ahead) and self._saves(
                    stretch, self._to(stretch)[here], current, others):
                return self._target(stretch, self._ways.from_pose(pose))
        return None

    def _saves(self, stretch, off_m, current, others):
        """Tell whether ``stretch``, ``off_m`` off the ``current``, costs less now than in turn."""
        length_m = self._length(stretch)
        left_m = sum(self._length(other) for other in current)
        if off_m > self._detour_m or not self._detour_min_m <= length_m < left_m:
            return False
        leave = [other.exits for other in others if other is not stretch]
        leave += [other.spots[-1:] for other in current]
        later_m = min(self._to(stretch)[spots].min() for spots in leave) if leave else 0.0
        return bool(2.0 * off_m + HANDOVER_M < later_m)

    def _length(self, stretch):
        return self._rings.length[stretch.spots].sum()

    def _onward(self, spots, others):
        """Return the metres from each spot through the other stretches, always to the nearest."""
        to = np.array([self._to(other) for other in others])
        between = np.array([to[:, other.exits].min(axis=1) for other in others])
        after = np.array([_nearest_first(between, i) for i in range(len(others))])
        first = np.argmin(to[:, spots], axis=0)
        return to[first, spots] + after[first]

    def _is_near(self, spots, pose):
        """Tell whether a spot lies within ``detour_m`` as the crow flies: quick to say."""
        return np.hypot(*(self._rings.points[spots] - pose[:2]).T).min() <= self._detour_m

    def _offered(self, stretch, here, ahead):
        """Tell whether all of a stretch may be had, and from nowhere ahead nearer than here."""
        avoided = len(stretch.starts) < np.count_nonzero(
            ~(stretch.whole & self._rings.narrow[stretch.spots]))
        to = self._to(stretch)
        return not avoided and to[here] <= to[ahead].min() + self._rings.length[here]

    # -- stretches ----------------------------------------------------------------------------

    def _stretches(self, dirty, upstream_m, avoid, avoid_m, given_up):
        rings = self._rings
        allowed = np.ones(len(dirty), dtype=bool)
        for point in avoid:
            allowed &= np.hypot(*(rings.points - np.asarray(point)[:2]).T) > avoid_m
        clean_m = np.bincount(rings.ring, rings.length * ~dirty, len(rings.closed))
        ring_m = np.bincount(rings.ring, rings.length, len(rings.closed))
        whole = rings.closed & (clean_m <= np.minimum(AROUND_M, AROUND_SHARE * ring_m))
        if given_up is not None:
            whole &= np.bincount(rings.ring, given_up, len(rings.closed)) == 0
        found = [
            self._open(spots, allowed, upstream_m) for spots in rings.runs(dirty)
            if not whole[rings.ring[spots[0]]]]
        for ring in np.flatnonzero(whole):
            spots = np.flatnonzero((rings.ring == ring) & dirty)
            if len(spots):
                found.append(self._whole(spots, allowed, float(clean_m[ring])))
        return found

    def _whole(self, spots, allowed, extra_m):
        """Return a ring as a stretch; it is begun in a narrow gap only if all of it is one."""
        starts = allowed[spots]
        if (starts & ~self._rings.narrow[spots]).any():
            starts &= ~self._rings.narrow[spots]
        wide = spots[~self._rings.narrow[spots]]
        return _Stretch(
            spots, np.flatnonzero(starts), wide if len(wide) else spots, True, extra_m)

    def _open(self, spots, allowed, upstream_m):
        """
        Return a stretch with a beginning.

        That is before the gap where it begins in a narrow one: the follower goes in by itself.
        Where the gap ends just before it, it is begun behind the gap, too.
        """
        rings, starts = self._rings, np.flatnonzero(allowed[spots])
        spot = int(spots[starts[0]] if len(starts) else spots[0])
        up = rings.walk(spot, -upstream_m(spot))
        entries = [rings.out_of_gap(up)]
        if rings.narrow[up] and not rings.narrow[spot]:
            entries.append(spot)
        return _Stretch(spots, starts, np.array(entries), False)

    # -- ways ---------------------------------------------------------------------------------

    def _to(self, stretch):
        """Return (N,) metres from every spot to where a stretch is entered."""
        return self._ways.of(stretch.entries)

    def _way_into(self, stretch, distance):
        """Return the metres to the first spot that is wanted of a stretch."""
        if stretch.whole:
            return float(distance[stretch.spots[stretch.starts]].min())
        spot = stretch.spots[stretch.starts[0]]
        return min(distance[entry] + self._rings.between_m(entry, spot)
                   for entry in stretch.entries)

    def _target(self, stretch, distance, others=()):
        """Return where to begin a stretch, from where all is ``distance`` (N,) away."""
        rings = self._rings
        starts = stretch.spots[stretch.starts]
        if stretch.whole:
            way = distance[starts] + (self._onward(starts, others) if others else 0.0)
            spot = park = int(starts[np.argmin(way)])
            ahead = stretch.spots
        else:
            spot = int(starts[0])
            park = int(min(stretch.entries, key=lambda entry: (
                distance[entry] + rings.between_m(entry, spot))))
            ahead = stretch.spots[stretch.starts[0]:]
        pose = (*rings.points[park], rings.yaw[park])
        return Target(
            tuple(map(float, pose)), spot, float(rings.length[ahead].sum()),
            float(distance[park]), rings.between_m(park, spot))


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
