"""
Gaps that the body fits into and its standoff does not: recognised, measured, driven in the middle.

Two surfaces that face each other make a gap when the disc that just touches both holds nothing
else: a place of the medial axis whose two sides lie apart by more than a corner's (the separation
angle of Foskey, Lin and Manocha, 2003). In a gap the standoff is half its width.

Everything here works in the follow frame, as :mod:`oomwoo_clean.contour_estimator` does: metres
and radians, the body centre at the origin, the followed side on the right.
"""
from dataclasses import dataclass, replace
import math

import numpy as np
from oomwoo_clean.contour_estimator import measure_surface, Surface, von_neumann_ratio
from oomwoo_clean.front_guard import polar_point, travel_to_points

# The other side lies this far round from the followed one. In a corner it is 90 degrees, and more
# than the second number lies behind.
_FACING_RAD, _BEHIND_RAD = math.radians(95.0), math.radians(235.0)
_FACING_SHARE = 0.9           # of half the width, that each side keeps from the middle at least
_EXPLAINED_M = 0.03           # a point this close to a fitted side is a part of that
_FEWEST_OF_WALL = 12
_STRAIGHT = 0.6               # of neighbouring residuals: a line explains the points
_JOINED_M = 0.10
_INTRUDER_M = 0.015           # ... and others reach this far into the disc between, or are noise
_FEWEST_INTRUDERS = 2
_WIDEN_PER_M = 0.25           # standoff regained per metre past a gap: 14 degrees outwards ...
_WIDEN_MOST_PER_M = 0.6
_PAST_M, _GONE_M = 0.02, 0.12  # beyond the middle of the narrowest: on its way out, and out
_ENTERED_M = 0.08             # ... and before it the body is between its sides
_NARROWING_M = 0.06           # wider than two standoffs here, but something is in the way ahead
_BELIEVE = 0.4                # share of a new width in the running one
_STEP_M = 0.02                # ... which differs by no more than this from it
_AHEAD_M = 0.04               # looked ahead where walls close in
_SURE = 3                     # scans that make it
_CLOSING_MPS = 0.03           # that a gap becomes narrower by at most, or its width is old news
_DOUBTFUL_MPS = 0.05          # ... and driven at most where it looks hardly wide enough
_HELD_M = 0.10                # driven since it was seen last: still the same gap
_STAY_M = 0.006               # half this narrower than what it went into does not turn it back
_CORNER_M = 0.02              # what a width that is not between walls may be wrong by
_NOISE_M = 0.01               # of a point: the body is taken this much less straight ahead
_NEAR_END_M = 0.01            # it turns where the end of a gap is nearer than a side by this
_FREE_M = 0.08                # way ahead in which nothing stands: it need not turn any further
_FEWEST_AHEAD = 3
_TURN_LIMIT_RAD = 1.2 * math.tau
_BACK_RAD = math.radians(150.0)     # turned at least, to leave the way it came
_EASE_BACK_M, _BACK_M = 0.015, 0.05      # after a touch: to go on, and to turn
_TOUCHES = 3                  # in a row ...
_DOUBTFUL_M = 0.012           # wider than the least by less than what a corner is read too far
_APART_M = 0.15               # ... each within this of the one before: it turns back


@dataclass(frozen=True)
class Passage:
    """
    The gap around or before the robot.

    ``surface`` is the followed side, ``standoff_m`` what to keep from it. ``off_m`` is how much
    farther from it than from the middle the body is, and ``lead_rad`` the angle towards it at
    which the middle runs; these are 0 and None on the way out, and where there is room yet.
    ``body_m`` is the radius with which the body may be taken for what is not one of its sides;
    ``sides`` (N,) marks the points that are.
    """

    surface: Surface
    standoff_m: float
    off_m: float
    lead_rad: float
    body_m: float
    sides: np.ndarray


class NarrowGap:
    """
    Carries from scan to scan the gap that the robot is in, and the standoff that holds there.

    ``standoff_m`` is what to keep now; ``inside`` whether there is a gap around the robot.
    """

    def __init__(self, robot, settings):
        """Take the robot and the follower's settings."""
        self.body_m, self.full_m = robot.body.radius, settings.standoff_m
        self.widest_m = 2.0 * self.full_m + _NARROWING_M
        self.least_m = 2.0 * (self.body_m + settings.gap_margin_m)
        self.reset()

    def reset(self):
        """Forget the gap."""
        self.standoff_m = self.full_m
        self._width_m = None
        self._since_m = math.inf        # driven since the gap was seen
        self._past_m = 0.0              # the middle of the narrowest
        self.turning = False
        self._turned_rad = 0.0
        self._least_turn_rad = 0.0
        self._too_narrow = self._ended = 0      # scans in a row
        self._narrowing = 0.0           # of its width per metre, between walls
        self._between_walls = self._entered = False
        self._middle_rad = math.inf     # bearing between its sides
        self._touches = 0
        self._touched_m = math.inf      # driven since the last touch

    @property
    def inside(self):
        """Tell whether the robot is in a gap, or was a moment ago."""
        return self._width_m is not None

    @property
    def squeezed(self):
        """Tell whether the sides of a gap are still close: a touch there is no surprise."""
        return self.inside or self.standoff_m < self.full_m

    @property
    def back_m(self):
        """Return the radius of the body for what stands in its way back, which it came."""
        return self.body_m - 2.0 * _NOISE_M if self.squeezed else math.inf

    @property
    def fastest_mps(self):
        """Return the speed at which its width is still known where the sides are close."""
        if not self.inside or self._leaving:
            return math.inf
        fastest = _DOUBTFUL_MPS if self._doubtful and self._between_walls else math.inf
        return min(fastest, _CLOSING_MPS / max(self._narrowing, 1e-6))

    @property
    def _doubtful(self):
        """Tell whether it looks hardly wide enough."""
        return self._width_m < self.least_m + _DOUBTFUL_M

    @property
    def followed_to_rad(self):
        """Return the bearing up to which the followed side lies; beyond it is the other one."""
        going_in = self.inside and not self._leaving and not self.turning
        return self._middle_rad if going_in else math.inf

    @property
    def guard_m(self):
        """Return the radius of the body, for what stands in its way at this standoff."""
        return self.standoff_m - _INTRUDER_M

    def moved(self, linear_m, angular_rad):
        """Note what was driven: past a gap the standoff comes back little by little."""
        self._turned_rad += abs(angular_rad)
        self._middle_rad -= angular_rad
        self._since_m += abs(linear_m)
        self._touched_m += abs(linear_m)
        if self._since_m > _HELD_M:
            if self.inside and not self._entered:
                self.standoff_m = self.full_m
            self._width_m, self._too_narrow = None, 0
        if self._leaving or not self.inside:
            # Outwards by no more than leads away from the other side, which lies behind by now.
            slope = min(max(self._past_m / self.standoff_m, _WIDEN_PER_M), _WIDEN_MOST_PER_M)
            self.standoff_m = min(self.full_m, self.standoff_m + slope * abs(linear_m))

    def look(self, around, surface, window_m):
        """
        Return the :class:`Passage` between the followed surface and one that faces it, or None.

        ``around`` are the :class:`~oomwoo_clean.contour_estimator.Surroundings`, ``surface`` the
        followed :class:`~oomwoo_clean.contour_estimator.Surface`; ``window_m`` as for that.
        """
        if surface is None:
            return None
        surface = as_wall(around, surface)
        turned, shift = cut_at(around, surface.bearing_rad)
        other = facing_surface(turned, surface, self.widest_m, window_m)
        if other is None:
            return None
        width = gap_width(surface, other)
        past_m = way_past(surface, other)
        if width > self.widest_m or past_m > _GONE_M:
            return None
        if self.inside and not self._entered and past_m > _PAST_M:
            self.reset()                # turned away before it: that is its far side from outside
            return None
        if not self.squeezed and width < self.least_m:
            return None
        sides = explained(around, surface) | _turned(explained(turned, other), -shift)
        if not is_gap(around, surface, other, sides):
            return None
        across = (other.bearing_rad - surface.bearing_rad) % math.tau
        self._middle_rad = surface.bearing_rad + 0.5 * across
        if not self.squeezed:
            self._entered = False
        self._entered |= past_m > -_ENTERED_M
        self._since_m, self._past_m = 0.0, past_m
        self._measure(width, 0.5 * (math.pi - across), surface, other)
        half = 0.5 * max(self._width_m, self.least_m)
        if not self._leaving:
            self.standoff_m = min(self.full_m, half)
        if self._leaving or half >= self.full_m:
            return Passage(surface, self.standoff_m, 0.0, None, half - _INTRUDER_M, sides)
        return Passage(
            surface, self.standoff_m, 0.5 * (surface.distance_m - other.distance_m),
            0.5 * (math.pi - across), half - _INTRUDER_M, sides)

    def _measure(self, width, lead_rad, surface, other):
        """Take in a width, and whether it is too narrow by now; not on the way out."""
        self._between_walls = surface.curvature_per_m == other.curvature_per_m == 0.0
        if self._width_m is None:
            self._width_m, self._narrowing = width, 0.0
        elif not self._leaving:
            step = min(max(width - self._width_m, -_STEP_M), _STEP_M)
            self._width_m += _BELIEVE * step
            least, narrowing = self.least_m - _STAY_M, 0.0
            if self._between_walls:
                narrowing = self._narrowing = 2.0 * math.sin(lead_rad)
            else:
                least -= _CORNER_M
            widest = max(width, self._width_m)      # corners before may have read too narrow
            if narrowing >= 0.0 and widest - _AHEAD_M * narrowing < least:
                self._too_narrow += 1
            elif self._between_walls:       # a corner does not tell that it is wide enough
                self._too_narrow = 0

    @property
    def _leaving(self):
        return self._past_m > _PAST_M

    # -- its end, and touches ---------------------------------------------------------------------

    def must_turn(self, around, blocked):
        """
        Tell whether the way ahead ends here, so that the robot turns on the spot.

        It does until nothing stands before it any more: back to where it came from in a dead end,
        along the gap where that bends. ``blocked`` tells that something is in the way along the
        surface.
        """
        if not self.turning and self.inside:
            end_m = self.standoff_m - self.body_m + _NOISE_M + _NEAR_END_M
            ended = blocked and self._way_ahead(around, end_m) <= end_m
            self._ended = self._ended + 1 if ended else 0
            touchy = self._touches == _TOUCHES or self._too_narrow >= _SURE
            if touchy or self._ended >= _SURE:
                self.turning, self._turned_rad, self._ended = True, 0.0, 0
                self._least_turn_rad = _BACK_RAD if touchy else 0.0
        elif (self.turning and self._turned_rad >= self._least_turn_rad
                and self._way_ahead(around, _FREE_M, 2.0 * _NOISE_M) > _FREE_M):
            self.turning, self._width_m, self._too_narrow = False, None, 0
            self._touches += self._touches == _TOUCHES
        return self.turning

    def _way_ahead(self, around, horizon_m, noise_m=_NOISE_M):
        """Return how far the body gets straight ahead, by more than what noise puts before it."""
        near = around.smooth[around.distance < self.body_m + horizon_m]
        travel = travel_to_points(near, self.body_m - noise_m)
        if len(travel) < _FEWEST_AHEAD:
            return math.inf
        return float(np.partition(travel, _FEWEST_AHEAD - 1)[_FEWEST_AHEAD - 1])

    @property
    def wedged(self):
        """Tell whether it found no way out, all the way round or touch after touch."""
        return (self.turning and self._turned_rad > _TURN_LIMIT_RAD
                or self._touches > 2 * _TOUCHES)

    def touched(self):
        """
        Note a touch in the gap; return how far to ease back before going on in the middle.

        Where the gap looks hardly wide enough, the touch tells that it is not: the robot turns.
        """
        again = self._touched_m < _APART_M
        self._touches = self._touches + 1 if again else 1
        if self.inside and self._doubtful and not self._leaving:
            self._touches = max(self._touches, _TOUCHES)
        self._touched_m = 0.0
        return _EASE_BACK_M if self._touches < _TOUCHES else _BACK_M


def facing_surface(around, surface, widest_m, window_m):
    """Return the nearest surface that lies across from the followed one, or None."""
    across = (around.bearing - surface.bearing_rad) % math.tau
    found = np.flatnonzero((across > _FACING_RAD) & (across < _BEHIND_RAD)
                           & (around.distance < widest_m))
    if len(found) == 0:
        return None
    return as_wall(around, measure_surface(
        around, int(found[np.argmin(around.distance[found])]), window_m))


def cut_at(around, bearing_rad):
    """
    Return ``(turned, shift)``: the surroundings, beginning at a bearing, and the roll back.

    A full turn is cut open on the side that is not followed, right through what faces the robot
    there. Cut here, that is one piece. ``np.roll(array, shift)`` brings an array of the returned
    order back into that of ``around``.
    """
    if len(around.bearing) == 0:
        return around, 0
    away = np.abs((around.bearing - bearing_rad + math.pi) % math.tau - math.pi)
    first = int(np.argmin(away))
    run = around.run.copy()
    if math.dist(around.points[0], around.points[-1]) < _JOINED_M:
        run[run == run[-1]] = run[0]
    others = {name: _turned(getattr(around, name), first)
              for name in ('points', 'smooth', 'distance', 'bearing', 'ranges')}
    return replace(around, run=_turned(run, first), **others), first


def _turned(array, first):
    """Return an array that begins at ``first`` and ends with what was before: a quick np.roll."""
    return np.concatenate([array[first:], array[:first]])


def as_wall(around, surface):
    """
    Return the surface as a straight wall where that explains its points, else as it is.

    A line says more exactly where a wall is than a circle through the same noise; which of the two
    it is, the residuals tell (von Neumann, 1941). The foot of the wall must lie on what is seen.
    """
    if surface.last - surface.first + 1 < _FEWEST_OF_WALL:
        return surface
    points = around.points[surface.first:surface.last + 1]
    middle = points.mean(axis=0)
    away = points - middle
    (xx, xy), (_, yy) = away.T @ away
    along = polar_point(1.0, 0.5 * math.atan2(2.0 * xy, xx - yy))
    normal = np.array([-along[1], along[0]])
    distance = float(middle @ normal)
    if distance < 0.0:
        distance, normal = -distance, -normal
    reach = points @ along
    if not reach.min() < 0.0 < reach.max() or von_neumann_ratio(away @ normal) < _STRAIGHT:
        return surface
    return Surface(distance, math.atan2(normal[1], normal[0]), 0.0, surface.first, surface.last)


def gap_width(one, other):
    """
    Return the width between two surfaces, as far as their nearest points tell.

    That is the least of the ways from one to the other by those points. From before a post beside
    a wall, the nearest point of the wall is not the one that the post faces.
    """
    ends = [polar_point(surface.distance_m, surface.bearing_rad) for surface in (one, other)]
    from_walls = [float(heights(end[None], surface)[0])
                  for end, surface in ((ends[0], other), (ends[1], one))
                  if surface.curvature_per_m == 0.0]
    return min(math.dist(*ends), one.distance_m + other.distance_m, *from_walls)


def way_past(surface, other):
    """Return how far the body is past the middle between two surfaces, along the followed one."""
    middle = 0.5 * (polar_point(surface.distance_m, surface.bearing_rad)
                    + polar_point(other.distance_m, other.bearing_rad))
    return -float(middle @ polar_point(1.0, surface.bearing_rad + math.pi / 2))


def is_gap(around, one, other, sides):
    """Tell whether the disc between the nearest points of two surfaces holds nothing else."""
    ends = np.array([polar_point(s.distance_m, s.bearing_rad) for s in (one, other)])
    middle, half = ends.mean(axis=0), 0.5 * math.dist(*ends)
    if min(heights(middle[None], s)[0] for s in (one, other)) < _FACING_SHARE * half:
        return False
    away = np.hypot(*(around.smooth - middle).T)
    return int(((away < half - _INTRUDER_M) & ~sides).sum()) < _FEWEST_INTRUDERS


def explained(around, surface):
    """Return the (N,) mask of the points that lie on a surface as it was measured."""
    mask = np.zeros(len(around.smooth), dtype=bool)
    part = slice(max(surface.first, 0), surface.last + 1)
    mask[part] = np.abs(heights(around.smooth[part], surface)) < _EXPLAINED_M
    return mask


def heights(points, surface):
    """Return (N,) heights of points (N, 2) over a surface, positive on the body's side."""
    towards = polar_point(1.0, surface.bearing_rad)
    along = points @ towards
    square = points[:, 0] ** 2 + points[:, 1] ** 2
    # The circle a |p|^2 + b.p + d with its near point at the distance, as Circle has it.
    a = 0.5 * surface.curvature_per_m
    slope = 1.0 + 2.0 * a * surface.distance_m
    value = a * square - slope * along + surface.distance_m * (1.0 + a * surface.distance_m)
    return 2.0 * value / (1.0 + np.sqrt(np.maximum(1.0 + 4.0 * a * value, 0.0)))
