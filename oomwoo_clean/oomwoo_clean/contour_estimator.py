"""
Where the followed surface is: nearest beam, contiguous run, circle fit, measured from the body.

Everything here works in the *follow frame*: base_footprint with the followed side on the right
(y is mirrored when the robot follows on its left), metres and radians. A surface straight out to
the side has the bearing -90 degrees.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.scans import scan_points

RIGHT = 'right'
LEFT = 'left'

# A full turn is cut open here: between the front end of the sector that is searched (+20 degrees)
# and its rear end (-170 degrees), where no followed surface can be.
_CUT_RAD = math.radians(105.0)
_GAP_RAD = math.radians(5.0)           # without a return over this angle a run ends
_FEWEST_GAP_BEAMS = 3                  # ... but not for fewer beams than this
_SMOOTH_RAD = math.radians(2.0)
_BEHIND_RAD, _AHEAD_RAD = math.radians(-170.0), math.radians(20.0)
_BEARING_CHECK_RAD = math.radians(45.0)
# The nearest of the averaged points lies below a wall by up to this share of a beam's noise, in 49
# of 50 scans. Nearer than that, and the surface does come so near.
_NEAREST_IS_LOW = 1.2


@dataclass(frozen=True)
class Surroundings:
    """
    The returns of one scan around the robot, in beam order, in the follow frame.

    ``points`` (N, 2) as measured; ``smooth`` (N, 2) averaged over neighbouring beams of the same
    run, ``distance`` and ``bearing`` (N,) of those from the body centre; ``run`` (N,) numbers the
    contiguous surfaces; ``ranges`` (N,) from the scanner, which stands at ``scanner`` (2,);
    ``spacing_rad`` is the angle between two beams.
    """

    points: np.ndarray
    smooth: np.ndarray
    distance: np.ndarray
    bearing: np.ndarray
    run: np.ndarray
    ranges: np.ndarray
    scanner: np.ndarray
    spacing_rad: float


@dataclass(frozen=True)
class Surface:
    """
    The followed surface as the follower needs it, in the follow frame.

    ``distance_m`` from the body centre to the nearest point and ``bearing_rad`` of that point;
    ``curvature_per_m`` is positive for a surface that bends away from the robot (a leg) and
    negative for one that bends around it (a bay); ``first`` and ``last`` are the ends of its
    points in the :class:`Surroundings`, both inclusive.
    """

    distance_m: float
    bearing_rad: float
    curvature_per_m: float
    first: int
    last: int


@dataclass(frozen=True)
class Circle:
    """
    A circle ``a |p|^2 + b . p + d = 0``, a line when ``a`` is 0 (Pratt, 1987).

    Scaled to ``|b|^2 - 4 a d = 1``, with signs such that the origin, which is the body centre,
    has the value ``d >= 0``.
    """

    a: float
    bx: float
    by: float
    d: float

    def from_origin(self):
        """Return distance and bearing of the point nearest to the origin, and the curvature."""
        slope = math.hypot(self.bx, self.by)
        return 2.0 * self.d / (slope + 1.0), math.atan2(-self.by, -self.bx), 2.0 * self.a

    def heights(self, points):
        """Return (N,) signed distances of points (N, 2), positive on the origin's side."""
        square = points[:, 0] ** 2 + points[:, 1] ** 2
        value = self.a * square + points @ (self.bx, self.by) + self.d
        return 2.0 * value / (1.0 + np.sqrt(np.maximum(1.0 + 4.0 * self.a * value, 0.0)))


def look_around(scan, base_from_scan, side=RIGHT, reach_m=1.2, own_body_m=0.1, floor_m=0.02,
                jump_m=0.10):
    """
    Turn a scan into :class:`Surroundings`.

    ``scan`` is a :class:`~oomwoo_localization.scans.Scan`, ``base_from_scan`` its full 4 x 4
    mount. Returns farther than ``reach_m`` from the body centre, nearer than ``own_body_m``, or on
    the floor (below ``floor_m``) are left out. A run ends where the range jumps by more than
    ``jump_m`` or where nothing came back for a while.
    """
    mirror = np.array([1.0, -1.0 if side == LEFT else 1.0])
    points, beams = scan_points(scan, base_from_scan)
    points, beams = _cut_open(points, beams, scan, base_from_scan, mirror)
    square = points[:, 0] ** 2 + points[:, 1] ** 2
    near = np.flatnonzero(
        (square < reach_m ** 2) & (square > own_body_m ** 2) & (points[:, 2] > floor_m))
    points, beams = points[near, :2] * mirror, beams[near]
    ranges = np.asarray(scan.ranges)[beams % len(scan.ranges)]
    spacing = abs(float(scan.angle_increment)) or math.radians(1.0)

    widest_gap = max(_FEWEST_GAP_BEAMS, round(_GAP_RAD / spacing))
    breaks = _jumps(ranges, jump_m) | (beams[1:] - beams[:-1] > widest_gap)
    run = np.zeros(len(points), dtype=int)
    np.cumsum(breaks, out=run[1:])
    ends = np.concatenate([[0], np.flatnonzero(breaks) + 1, [len(points)]])
    smooth = _average(points, ends[run], ends[run + 1] - 1, max(1, round(_SMOOTH_RAD / spacing)))
    return Surroundings(
        points, smooth, np.hypot(smooth[:, 0], smooth[:, 1]),
        np.arctan2(smooth[:, 1], smooth[:, 0]), run, ranges, base_from_scan[:2, 3] * mirror,
        spacing)


def _cut_open(points, beams, scan, base_from_scan, mirror):
    """Reorder the returns of a full turn so that it starts on the side that is not followed."""
    count = len(scan.ranges)
    if count < 2 or abs(scan.angle_increment) * (count + 0.5) < 2.0 * math.pi:
        return points, beams
    towards = np.array([math.cos(_CUT_RAD), math.sin(_CUT_RAD)]) * mirror
    x, y = base_from_scan[:2, :2].T @ towards
    cut = round((math.atan2(y, x) - scan.angle_min) / scan.angle_increment) % count
    first = int(np.searchsorted(beams, cut))
    if first == 0:
        return points, beams
    return (np.concatenate([points[first:], points[:first]]),
            np.concatenate([beams[first:], beams[:first] + count]))


def _jumps(ranges, jump_m):
    """
    Return (N - 1,) where the range jumps from one beam to the next.

    A jump of less than half as much again must show in the means of two beams before and two
    after it, too: it may be two noisy beams that happen to deviate apart.
    """
    step = ranges[1:] - ranges[:-1]
    jumps = np.abs(step) > jump_m
    doubtful = np.flatnonzero(jumps & (np.abs(step) < 1.5 * jump_m))
    for i in doubtful.tolist():
        before = 0.5 * (ranges[max(i - 1, 0)] + ranges[i])
        after = 0.5 * (ranges[i + 1] + ranges[min(i + 2, len(ranges) - 1)])
        jumps[i] = abs(after - before) > 0.7 * jump_m
    return jumps


def _average(points, first, last, half):
    """
    Return (N, 2) means over ``half`` neighbours to either side.

    ``first`` and ``last`` (N,) bound the run that each point belongs to. Near its ends the mean
    takes fewer neighbours, but as many on one side as on the other: the end of a wall stays put.
    """
    index = np.arange(len(points))
    half = np.minimum(np.minimum(index - first, last - index), half)
    sums = np.zeros((2, len(points) + 1))
    np.cumsum(points.T, axis=1, out=sums[:, 1:])
    return ((sums[:, index + half + 1] - sums[:, index - half]) / (2 * half + 1)).T


def nearest_beam(around, behind_rad=_BEHIND_RAD, ahead_rad=_AHEAD_RAD, reach_m=1.0):
    """Return the index of the nearest point on the followed side, or None when there is none."""
    searched = np.flatnonzero((around.bearing >= behind_rad) & (around.bearing <= ahead_rad)
                              & (around.distance <= reach_m))
    if len(searched) == 0:
        return None
    return int(searched[np.argmin(around.distance[searched])])


def grow_surface(around, seed, window_m=0.15):
    """Return the first and last index of the contiguous points within the window of the seed."""
    away = around.smooth - around.smooth[seed]
    outside = (away[:, 0] ** 2 + away[:, 1] ** 2 > window_m ** 2) | (
        around.run != around.run[seed])
    ends = np.flatnonzero(outside)
    after = int(np.searchsorted(ends, seed))
    first = int(ends[after - 1]) + 1 if after > 0 else 0
    last = int(ends[after]) - 1 if after < len(ends) else len(outside) - 1
    return first, last


def fit_circle(points):
    """
    Fit a circle to points (N, 2).

    Taubin's algebraic fit (Taubin, 1991), as the eigenproblem of centred data (Chernov, 2010). A
    straight row of points gives a line. Returns a :class:`Circle`, or None when the points have no
    extent.
    """
    count = len(points)
    mx, my = (points.sum(axis=0) / count).tolist()
    centred = np.empty((3, count))
    centred[1] = points[:, 0] - mx
    centred[2] = points[:, 1] - my
    square = centred[1] ** 2 + centred[2] ** 2
    spread = float(square.sum()) / count
    if not spread > 1e-10:
        return None
    scale = 2.0 * math.sqrt(spread)
    centred[0] = (square - spread) / scale
    _, vectors = np.linalg.eigh(centred @ centred.T)
    a, bx, by = vectors[:, 0].tolist()
    a /= scale
    # From the centroid back to the body centre.
    d = a * (mx * mx + my * my - spread) - bx * mx - by * my
    bx, by = bx - 2.0 * a * mx, by - 2.0 * a * my
    size = bx * bx + by * by - 4.0 * a * d
    if not size > 1e-18:
        return None
    size = math.copysign(math.sqrt(size), d)
    return Circle(a / size, bx / size, by / size, d / size)


def measure_surface(around, seed, window_m=0.15, corner_patch_m=0.025, fewest=8, thinnest_m=0.06,
                    bearing_check_rad=_BEARING_CHECK_RAD, distance_check_m=0.05):
    """
    Measure the surface that the seed point marks, from the body centre.

    The circle is fitted to the contiguous points within ``window_m`` of the seed, and to half of
    that while what it leaves over is a shape and not noise: the window then holds a corner. Fewer
    than ``fewest`` points, or a thing less wide than ``thinnest_m``, tell no circle from noise and
    are taken as a post as wide as it looks. So is a surface whose circle disagrees with its seed
    by more than ``bearing_check_rad`` or ``distance_check_m``. No surface is reported farther away
    than its nearest points say, less what noise alone makes of them. Returns a :class:`Surface`.
    """
    first, last = grow_surface(around, seed, window_m)
    if math.dist(around.smooth[first], around.smooth[last]) < thinnest_m:
        return _as_post(around, first, last)
    low, high = first, last
    while high - low + 1 >= fewest:
        points = around.points[low:high + 1]
        circle = fit_circle(points)
        if circle is None:
            break
        heights = circle.heights(points)
        window_m /= 2.0
        if window_m < 0.03 or von_neumann_ratio(heights) > 0.5:
            distance, bearing, curvature = circle.from_origin()
            nearest = float(around.distance[seed])
            off = abs(math.remainder(bearing - float(around.bearing[seed]), math.tau))
            noise = _noise(heights)
            distance -= _protrusion(points, heights, noise, distance, bearing, corner_patch_m)
            if off > bearing_check_rad or abs(distance - nearest) > distance_check_m:
                break
            distance = min(distance, nearest + _NEAREST_IS_LOW * noise)
            return Surface(distance, bearing, curvature, first, last)
        low, high = grow_surface(around, seed, window_m)
    return _as_post(around, *grow_surface(around, seed, 0.03))


def von_neumann_ratio(values):
    """
    Return half the mean square successive difference over the mean square (von Neumann, 1941).

    About 1 for noise, towards 0 where neighbours deviate alike.
    """
    spread = float(values @ values)
    if spread < 1e-12 * len(values):
        return 1.0
    step = values[1:] - values[:-1]
    return 0.5 * float(step @ step) / spread


def _noise(values):
    """Return the standard deviation of values (N >= 3,) about lines through neighbours."""
    bend = values[2:] - 2.0 * values[1:-1] + values[:-2]
    # A normal value's mean absolute deviation is sqrt(2 / pi); a bend has sqrt(6) of a value's.
    return float(np.abs(bend).sum()) / len(bend) * math.sqrt(math.pi / 12.0)


def _protrusion(points, heights, noise, distance, bearing, patch_m):
    """
    Return how far the points stand out of the circle where it is nearest, at least 0.

    A circle rounds off a corner that is not round. What stands out towards the body is judged by
    the mean over a patch of points, less half its standard error, and not by the one point that
    noise put nearest.
    """
    dx = points[:, 0] - distance * math.cos(bearing)
    dy = points[:, 1] - distance * math.sin(bearing)
    patch = heights[dx * dx + dy * dy <= patch_m * patch_m]
    if len(patch) < 3:
        return 0.0
    return max(0.0, float(patch.sum()) / len(patch) - 0.5 * noise / math.sqrt(len(patch)))


def _as_post(around, first, last):
    """Return the surface of points ``first .. last``, taken as a post as wide as they look."""
    mean_range = float(around.ranges[first:last + 1].mean())
    half_angle = 0.5 * (last - first + 1) * around.spacing_rad
    radius = mean_range * math.sin(min(half_angle, 0.5))
    middle = around.points[first:last + 1].mean(axis=0)
    beam = middle - around.scanner
    # The visible half of a circle is on average pi / 4 of its radius in front of its middle.
    centre = middle + beam / max(math.hypot(*beam), 1e-6) * radius * math.pi / 4.0
    distance = math.hypot(*centre)
    bearing = math.atan2(centre[1], centre[0])
    return Surface(distance - radius, bearing, 1.0 / max(radius, 0.005), first, last)
