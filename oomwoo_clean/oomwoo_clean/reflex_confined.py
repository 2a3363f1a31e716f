"""Where a robot was confined, how often, and by which ways it got out."""
from collections import deque
from dataclasses import dataclass, field
import math

import numpy as np

_REMEMBERED_S = 180.0
_GROWS = 2.0                  # each time at one place, so much farther out
_FEWEST_BUMPS = 3             # that mean confined at a place where it was before


@dataclass
class Confinement:
    """
    Confined around ``middle`` (2,) in odom since ``began_s``.

    Out is who is ``out_m`` away from it; ``tried`` are the bearings, rad, by which the robot got
    out of the place before, and ``left`` the one by which it got out now. What is within
    ``place_m`` of the middle is the same place, and ``count`` is how many times it has been
    confined there, this one included. It has not been wholly outside since ``first_s``, and
    ``rounds`` times now; ``outside_s`` is when it was. ``wanted`` is the bearing in which it was
    driven when it bumped; None the first time, when any way will do.
    """

    began_s: float
    middle: np.ndarray
    out_m: float
    place_m: float
    tried: list = field(default_factory=list)
    left: float = None
    count: int = 1
    wanted: float = None
    first_s: float = None
    rounds: int = 1
    outside_s: float = -math.inf

    def away_m(self, place):
        """Return how far a place (2,) is from the middle."""
        return math.dist(place, self.middle)


class Places:
    """When and where something happened."""

    def __init__(self):
        """Begin with nothing."""
        self._known = deque(maxlen=32)      # (when, (x, y))

    def note(self, place, now_s, radius_m, within_s):
        """Take a place (2,); return how often it has happened before, near it and lately."""
        times = sum(now_s - when <= within_s and math.dist(place, at) <= radius_m
                    for when, at in self._known)
        self._known.append((now_s, tuple(place)))
        return times


class Bumps:
    """When and where the robot bumped, lately."""

    def __init__(self):
        """Begin with none."""
        self._known = deque(maxlen=64)      # (when, x, y)

    def note(self, place, now_s):
        """Take a bump at a place (2,), metres."""
        self._known.append((now_s, float(place[0]), float(place[1])))

    def forget(self):
        """Begin to count anew."""
        self._known.clear()

    def crowd(self, count, radius_m, within_s, now_s):
        """
        Return the middle (2,) of the last ``count`` bumps if they are near each other, or None.

        Near: within ``radius_m`` of their middle and not older than ``within_s``.
        """
        recent = [(x, y) for when, x, y in self._known if now_s - when <= within_s][-count:]
        if len(recent) < count:
            return None
        middle = np.mean(recent, axis=0)
        far = np.hypot(*(np.array(recent) - middle).T).max()
        return middle if far <= radius_m else None


class Confinements:
    """
    The history of being confined, by place.

    A robot among chairs gets out of one narrow place and into the next. So what is near an earlier
    one in place and time is the same trap: it is called one after fewer bumps, out of it is twice
    as far away (doubling: Baeza-Yates, Culberson and Rawlins, 1993), and other ways come first.
    """

    def __init__(self):
        """Begin with none."""
        self._known = deque(maxlen=32)

    def near(self, place, now_s):
        """Return the earlier ones that a place (2,) belongs to."""
        return [one for one in self._known if now_s - one.began_s <= _REMEMBERED_S
                and one.away_m(place) < one.place_m]

    def bumps(self, most, place, now_s):
        """Return how many bumps near each other mean confined here; ``most`` at a new place."""
        return max(min(most, _FEWEST_BUMPS), most - len(self.near(place, now_s)))

    def begin(self, middle, now_s, out_m, out_most_m, headings=()):
        """
        Return the new :class:`Confinement` around the middle (2,) of the bumps.

        ``headings`` are those of the last bumps, rad.
        """
        near = self.near(middle, now_s)
        out_m = min(out_m * _GROWS ** len(near), max(out_most_m, out_m))
        new = Confinement(
            now_s, np.mean([middle, *(one.middle for one in near)], axis=0), out_m,
            min(_GROWS * out_m, max(out_most_m, out_m)),
            [one.left for one in near if one.left is not None], count=1 + len(near),
            first_s=now_s)
        outside_s = max((one.outside_s for one in near), default=-math.inf)
        inside = [one for one in near if one.began_s >= outside_s]
        new.rounds = 1 + len(inside)
        new.first_s = min((one.first_s for one in inside), default=now_s)
        if near and len(headings):
            new.wanted = math.atan2(np.sin(headings).sum(), np.cos(headings).sum())
        self._known.append(new)
        return new
