"""
Straight walls from touches of a round body.

A round body that touches a wall stands with its centre one radius off it, wherever on the shell
the touch was. So the wall is a line through *centres*, moved by the radius: nothing has to be
known of the point of contact but which half of the bumper it can have been on, and that tells the
two sides of the line and the walls of a corner apart.
"""
from dataclasses import dataclass
import math

import numpy as np
from scipy.spatial import cKDTree

_SECTORS = 72                 # of the compass, for which contacts can lie in a direction
_SLACK_SECTORS = 2            # a contact's arc is taken for that much wider on each side
_NEIGHBOURS = 8               # with which a contact makes a first guess of a line
_APART_M = 0.03               # two centres nearer than this make no direction
_CENTRE_STD_M = 0.007         # how well a touch tells the distance, at best
_ROUNDS = 6
_PROBES = 6                   # points between two touches that are asked for a passage


@dataclass(frozen=True)
class WallSegment:
    """
    A straight piece of wall: ends (2,) in the map, and how many contacts it rests on.

    ``normal`` (2,) points from the floor into the wall; ``std_deg`` is how well its direction is
    known.
    """

    start: np.ndarray
    end: np.ndarray
    count: int
    normal: np.ndarray = None
    std_deg: float = 0.0

    @property
    def length_m(self):
        """Return its length, metres."""
        return float(np.linalg.norm(self.end - self.start))


def fit_walls(centres, angles, alive, radius, settings, passed=None):
    """
    Return the walls that touches lie on, and each touch's direction on its wall.

    ``centres`` (N, 2) are the body's, ``angles`` (N, K) rad the directions in the map in which the
    touched thing can lie, ``alive`` (N, K) those not refuted. ``passed(points)`` tells of (M, 2)
    points which the body has been over, which no wall crosses. Returns a list of
    :class:`WallSegment` and (N,) rad, nan for a touch on no wall. The order of the touches does
    not matter.

    Sequential consensus (Fischler and Bolles, 1981; Vincent and Laganiere, 2001) over every pair
    of neighbours instead of random ones, each line refined by total least squares with Tukey's
    weights.
    """
    towards = np.full(len(centres), np.nan)
    if len(centres) < settings.wall_contacts:
        return [], towards
    order = np.lexsort((angles[:, 0], centres[:, 1], centres[:, 0]))
    fit = _Fit(centres[order], _compass(angles[order], alive[order]), radius, settings, passed)
    walls = []
    for wall, members in fit.run():
        walls.append(wall)
        towards[order[members]] = math.atan2(wall.normal[1], wall.normal[0])
    return walls, towards


def _compass(angles, alive):
    """Return (N, _SECTORS) whether the thing can lie in each direction of the compass."""
    sector = np.floor(angles * _SECTORS / math.tau).astype(int)
    table = np.zeros((len(angles), _SECTORS), dtype=bool)
    rows = np.broadcast_to(np.arange(len(angles))[:, None], angles.shape)
    for slack in range(-_SLACK_SECTORS, _SLACK_SECTORS + 1):
        table[rows[alive], (sector[alive] + slack) % _SECTORS] = True
    return table


class _Fit:
    """Takes one wall after the other out of the touches, the best supported first."""

    def __init__(self, centres, compass, radius, settings, passed):
        self._centres, self._compass = centres, compass
        self._towards = np.ascontiguousarray(compass.T)
        self._radius, self._settings = radius, settings
        self._passed = passed

    def run(self):
        """Yield (wall, members): members are indices (M,) into the touches."""
        normals, offsets, seeds = self._guesses()
        fits = self._members(normals, offsets)
        free = np.ones(len(self._centres), dtype=bool)
        open_ = np.ones(len(normals), dtype=bool)
        support = fits.sum(axis=1)
        while open_.any():
            best = int(np.where(open_, support, 0).argmax())
            if not open_[best] or support[best] < self._settings.wall_contacts:
                return
            open_[best] = False
            found = self._refine(normals[best], offsets[best], seeds[best], free)
            if found is not None:
                yield found
                free[found[1]] = False
                open_ &= free[seeds].all(axis=1)
                support -= fits[:, found[1]].sum(axis=1)

    def _guesses(self):
        """Return normals (H, 2), offsets (H,), pairs (H, 2) of lines through two neighbours."""
        tree = cKDTree(self._centres)
        distance, near = tree.query(
            self._centres, k=min(_NEIGHBOURS + 1, len(self._centres)),
            distance_upper_bound=self._settings.segment_gap_m)
        usable = np.isfinite(distance) & (distance > _APART_M)
        first = np.broadcast_to(np.arange(len(near))[:, None], near.shape)
        pairs = np.stack([first[usable], near[usable]], axis=1)
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        along = self._centres[pairs[:, 1]] - self._centres[pairs[:, 0]]
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        normals = np.stack([-along[:, 1], along[:, 0]], axis=1)
        normals, pairs = np.concatenate([normals, -normals]), np.concatenate([pairs, pairs])
        sector = _sector(normals)
        possible = self._compass[pairs[:, 0], sector] & self._compass[pairs[:, 1], sector]
        normals, pairs = normals[possible], pairs[possible]
        return normals, np.einsum('ij,ij->i', normals, self._centres[pairs[:, 0]]), pairs

    def _members(self, normals, offsets):
        """Return (H, N) which touches each line can explain."""
        off = np.multiply.outer(normals[:, 0], self._centres[:, 0])
        off += np.multiply.outer(normals[:, 1], self._centres[:, 1]) - offsets[:, None]
        near = np.abs(off) <= self._settings.wall_tolerance_m
        return near & self._towards[_sector(normals)]

    def _refine(self, normal, offset, seed, free):
        """Return (wall, members) near a first guess, or None if that is no wall."""
        members = None
        for _ in range(_ROUNDS):
            fits = self._members(normal[None], np.array([offset]))[0] & free
            run = self._run_around(np.flatnonzero(fits), normal, seed)
            if len(run) < self._settings.wall_contacts:
                return None
            if members is not None and np.array_equal(run, members):
                break
            members = run
            normal, offset, std_rad = self._line(members, normal)
        if math.degrees(std_rad) > self._settings.wall_direction_deg:
            return None
        along = np.array([normal[1], -normal[0]])
        at = self._centres[members] @ along
        if not (np.abs(at - (at.min() + at.max()) / 2) <= np.ptp(at) / 4).any():
            return None                    # two spots: as well two sides of something small
        first, last = self._proven(at, self._centres[members] @ normal - offset)
        face = normal * (offset + self._radius)
        wall = WallSegment(
            face + along * first, face + along * last, len(members), normal,
            math.degrees(std_rad))
        return wall, members

    def _proven(self, at, nearer):
        """
        Return from where to where touches along a wall (M,) prove it.

        A body that comes ``nearer`` (M,) to the line than its radius may touch the end of the wall
        beside its middle: a corner, beyond which there is none.
        """
        aside = np.sqrt(2.0 * self._radius * np.maximum(nearer, 0.0))
        middle = (at.min() + at.max()) / 2
        return min((at + aside).min(), middle), max((at - aside).max(), middle)

    def _run_around(self, members, normal, seed):
        """Return those of the touches on a line that hang together with the seed."""
        along = np.array([normal[1], -normal[0]])
        at = self._centres[members] @ along
        order = np.argsort(at, kind='stable')
        members, at = members[order], at[order]
        apart = np.diff(at) > self._settings.segment_gap_m
        if self._passed is not None:
            apart |= self._crossed(members, at, normal, along)
        piece = np.concatenate([[0], np.cumsum(apart)])
        with_seed = np.isin(members, seed)
        if not with_seed.any():
            return members[:0]
        return np.sort(members[piece == piece[with_seed][0]])

    def _crossed(self, members, at, normal, along):
        """Return (M - 1,) whether the body was between neighbours, where the wall would be."""
        face = normal * ((self._centres[members] @ normal).mean() + self._radius)
        share = (np.arange(_PROBES) + 0.5) / _PROBES
        where = at[:-1, None] + np.diff(at)[:, None] * share
        points = face + where[..., None] * along
        return self._passed(points.reshape(-1, 2)).reshape(where.shape).any(axis=1)

    def _line(self, members, like):
        """Return (normal, offset, std_rad) by total least squares, Tukey's weights."""
        points = self._centres[members]
        weights = np.ones(len(points))
        for _ in range(_ROUNDS):
            middle = weights @ points / weights.sum()
            spread = (points - middle) * weights[:, None]
            normal = np.linalg.eigh(spread.T @ (points - middle))[1][:, 0]
            off = (points - middle) @ normal
            scale = 2.0 * self._settings.wall_tolerance_m
            weights = np.maximum(1.0 - (off / scale) ** 2, 0.0) ** 2 + 1e-9
        if normal @ like < 0.0:
            normal = -normal
        along = (points - middle) @ np.array([normal[1], -normal[0]])
        noise = max(_CENTRE_STD_M, math.sqrt(weights @ off ** 2 / weights.sum()))
        std_rad = noise / max(math.sqrt(weights @ along ** 2), 1e-9)
        return normal, float(normal @ middle), std_rad


def _sector(normals):
    """Return the sector of the compass (...,) of unit vectors (..., 2)."""
    angle = np.arctan2(normals[..., 1], normals[..., 0])
    return np.floor(angle * _SECTORS / math.tau).astype(int) % _SECTORS
