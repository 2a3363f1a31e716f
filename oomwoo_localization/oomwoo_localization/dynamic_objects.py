"""
Things that are not on the map: returns off every wall, clustered, persistent.

A foothold for perception: what a blob is, how it moves and what it wants are for others to say.
"""

from dataclasses import dataclass, field
import math

import numpy as np
from oomwoo_localization.settings import check_settings, setting


@dataclass(frozen=True)
class DynamicSettings:
    """What is a blob, and when it is believed."""

    static_below: float = setting(
        0.5, 'a return with less staticness than this is off the map', '', 0.0, 1.0
    )
    gap_m: float = setting(
        0.15, 'returns closer together than this are of one thing', 'm', 0.02, 1.0
    )
    least_returns: int = setting(3, 'a thing has at least as many returns', '', 1, 100)
    range_max_m: float = setting(6.0, 'returns farther away are left out', 'm', 0.5, 50.0)
    follow_m: float = setting(
        0.35, 'a blob is the one before when it is this close to it', 'm', 0.05, 2.0
    )
    appear_s: float = setting(
        0.5, 'a blob is believed once it was seen for this long', 's', 0.0, 10.0
    )
    vanish_s: float = setting(0.5, 'a blob that is not seen for this long is gone', 's', 0.0, 10.0)


@dataclass(frozen=True)
class Blob:
    """Centre (2,) and radius in metres of a cluster, and how many returns it has."""

    center: np.ndarray
    radius: float
    returns: int


@dataclass
class Track:
    """A blob over time: its number, and when it was seen first and last."""

    number: int
    blob: Blob
    first_s: float
    last_s: float
    believed: bool = field(default=False)


def clusters(points, gap_m):
    """
    Return the (N,) cluster number of points (N, 2) in beam order.

    Neighbouring beams belong together when their ends are closer than ``gap_m``; the last beam's
    neighbour is the first.
    """
    points = np.asarray(points, dtype=float).reshape(-1, 2)
    if not len(points):
        return np.zeros(0, dtype=int)
    apart = np.hypot(*np.diff(points, axis=0).T) > gap_m
    numbers = np.concatenate([[0], np.cumsum(apart)])
    if len(points) > 1 and math.dist(points[0], points[-1]) <= gap_m:
        numbers[numbers == numbers[-1]] = 0
    return numbers


def blobs(points, settings):
    """Return the :class:`Blob` of every cluster of points (N, 2) that has enough returns."""
    found = []
    numbers = clusters(points, settings.gap_m)
    for number in np.unique(numbers):
        part = points[numbers == number]
        if len(part) >= settings.least_returns:
            center = (part.min(axis=0) + part.max(axis=0)) / 2.0
            found.append(Blob(center, float(np.hypot(*(part - center).T).max()), len(part)))
    return found


class DynamicObjects:
    """Keeps tracks of blobs; :meth:`update` once a scan."""

    def __init__(self, settings=None):
        """Begin with nothing seen."""
        self.settings = check_settings(settings or DynamicSettings())
        self.reset()

    def reset(self):
        """Forget everything."""
        self._tracks = []
        self._next = 0

    def update(self, points, time_s):
        """
        Take in the off-map returns (N, 2) of a scan; return the believed tracks.

        The returns are in a frame that does not move. Each blob goes to the nearest track that is
        still free, nearest pairs first.
        """
        settings = self.settings
        found = blobs(np.asarray(points, dtype=float).reshape(-1, 2), settings)
        pairs = sorted(
            (math.dist(track.blob.center, blob.center), i, j)
            for i, track in enumerate(self._tracks)
            for j, blob in enumerate(found)
        )
        taken, used = set(), set()
        for distance, i, j in pairs:
            if distance > settings.follow_m:
                break
            if i not in taken and j not in used:
                taken.add(i)
                used.add(j)
                self._tracks[i].blob, self._tracks[i].last_s = found[j], time_s
        for j, blob in enumerate(found):
            if j not in used:
                self._tracks.append(Track(self._next, blob, time_s, time_s))
                self._next += 1
        self._tracks = [t for t in self._tracks if time_s - t.last_s <= settings.vanish_s]
        for track in self._tracks:
            track.believed |= track.last_s - track.first_s >= settings.appear_s - 1e-6
        return [track for track in self._tracks if track.believed]
