"""
Fit of the dock's known outline to returns of a LiDAR: total least squares with ray casting.

Which face a beam ends on follows from the pose, by casting the beam at the outline, and not from
what it measured, so that noise does not choose the face. The residual is the distance at right
angles to the face (total least squares); its weight is that of a range error seen at the beam's
angle of incidence. Several hypotheses are refined side by side, Gauss and Newton's way with a gate
that narrows (iteratively trimmed, after Chetverikov et al., "Robust Euclidean alignment of 3D
point sets", 2005).

Poses ``(x, y, yaw)`` are of the dock frame (origin in the middle of the mouth, x out of the bay)
in base_footprint.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import wrap_angle

RIGHT, BACK, LEFT = 0, 1, 2               # parts of the dock
# Natural logarithms: a range known to a cm against anywhere in 5 m; what goes through a dock as a
# rule does not; something in the way happens.
_AGREE_NATS, _BEYOND_NATS, _HELD_UP_NATS = 5.3, 4.6, 1.0
_SHIFTS_M = np.linspace(-0.12, 0.12, 49)
_SLIDE_SLACK_M = 0.03
_IN_LINE_M, _AHEAD_M, _LEG_M = 0.02, (0.04, 0.40), 0.08
_FRONTAL = 0.5                            # sine of the least angle at which a front is looked for
_PARALLEL = 1e-9
_GATES_M = (0.10, 0.07, 0.05, 0.035)      # trimming of the first iterations, nearest face
_GATE_SIGMAS = 3.5
_FRONT_REACH_M = 0.02                     # a point this near to the front of a panel is on it
_SAME_M, _SAME_RAD = 0.015, 0.05
_MOST_CAST = 4
_PRIOR = np.diag([1.0, 1.0, 1.0]) * 1e-3  # of information: keeps what nothing was seen of


class Outline:
    """The faces of a dock that a beam may end on, each along one axis of the dock frame."""

    def __init__(self, shape):
        """Take a :class:`~oomwoo_localization.dock.DockShape`."""
        inner, outer, depth = shape.width / 2, shape.width / 2 + shape.panel, shape.depth
        end = -depth - shape.back
        # fixed axis (0: x, 1: y), its value, from, to, sign of the normal, part, front face
        faces = (
            (0, 0.0, inner, outer, 1, LEFT, True), (0, 0.0, -outer, -inner, 1, RIGHT, True),
            (0, -depth, -inner, inner, 1, BACK, False),
            (1, inner, -depth, 0.0, -1, LEFT, False), (1, -inner, -depth, 0.0, 1, RIGHT, False),
            (1, outer, end, 0.0, 1, LEFT, False), (1, -outer, end, 0.0, -1, RIGHT, False))
        axis, value, low, high, normal, part, front = (np.array(row) for row in zip(*faces))
        self.value, self.low, self.high, self.normal = value, low, high, normal
        self.part, self.front, self.upright = part, front, axis == 0
        count = int(self.upright.sum())
        self._of_axis = ((slice(0, count), 0), (slice(count, None), 1))
        self.inside = np.isin(np.arange(len(axis)), (2, 3, 4))
        self.panel = shape.panel
        self.size = float(np.hypot(outer, depth))

    def cast(self, origin, rays):
        """
        Cast rays from ``origin`` (x, y) each (K, 1) along the unit ``rays`` (x, y) each (K, N).

        Returns ``(ranges, faces)``, both (K, N): metres to the first face, infinite without one,
        and its number.
        """
        away = np.empty((len(self.value), *rays[0].shape))
        for faces, axis in self._of_axis:
            value, low, high, normal = (
                row[faces, None, None]
                for row in (self.value, self.low, self.high, self.normal))
            with np.errstate(divide='ignore', invalid='ignore'):
                reach = (value - origin[axis]) / rays[axis]
                where = origin[1 - axis] + reach * rays[1 - axis]
            hit = ((rays[axis] * normal < -_PARALLEL) & (reach > 0.0)
                   & (where >= low) & (where <= high))
            away[faces] = np.where(hit, reach, np.inf)
        return away.min(axis=0), away.argmin(axis=0)

    def nearest(self, points, rays):
        """
        Return which face each point is nearest to that its ray could see, and how far from it.

        ``points`` and ``rays`` are (x, y), each (K, N); so is what is returned.
        """
        off = np.empty((len(self.value), *rays[0].shape))
        for faces, axis in self._of_axis:
            value, low, high, normal = (
                row[faces, None, None]
                for row in (self.value, self.low, self.high, self.normal))
            along = points[1 - axis]
            beside = np.maximum(np.maximum(low - along, along - high), 0.0)
            off[faces] = (np.abs(points[axis] - value) + beside
                          + (rays[axis] * normal >= 0.0))
        return off.argmin(axis=0), off.min(axis=0)

    def on_front(self, points, rays):
        """Return a mask (K, N) of points at the front of a panel, and the number of that face."""
        x, y = points
        low, high = self.low[0] - _FRONT_REACH_M, self.high[0] + _FRONT_REACH_M
        beside = np.abs(y)
        at = (np.abs(x) < _FRONT_REACH_M) & (beside > low) & (beside < high)
        at &= rays[0] < -_FRONTAL
        return at, (y < 0.0).astype(int)

    def distance(self, x, y):
        """Return (K, N) metres from points of the dock frame to the outline."""
        y = np.abs(y)
        outer, inner, depth = self.value[5], self.value[3], -self.value[2]
        out = np.maximum(x, 0.0)
        deep = np.maximum(-depth - x, out)           # beyond the ends of the inner side
        square = (y - inner) ** 2 + deep ** 2
        wide = np.maximum(np.maximum(inner - y, y - outer), 0.0)
        np.minimum(square, x ** 2 + wide ** 2, out=square)
        np.minimum(square, (x + depth) ** 2 + np.maximum(y - inner, 0.0) ** 2, out=square)
        end = np.maximum(self.low[5] - x, out)
        np.minimum(square, (y - outer) ** 2 + end ** 2, out=square)
        return np.sqrt(square)


@dataclass(frozen=True)
class Beams:
    """
    Returns in base_footprint.

    ``points`` (N, 2) seen from ``origin`` (2,) along unit ``rays`` (N, 2) at ``ranges`` (N,).
    """

    points: np.ndarray
    origin: np.ndarray
    rays: np.ndarray
    ranges: np.ndarray

    def some(self, keep):
        """Return those that a mask or index picks."""
        return Beams(self.points[keep], self.origin, self.rays[keep], self.ranges[keep])


@dataclass(frozen=True)
class Noise:
    """One sigma of a range and of where a face is against the outline, metres."""

    range_m: float
    face_m: float


@dataclass(frozen=True)
class Fits:
    """
    K refined hypotheses.

    ``poses`` (K, 3); ``information`` (K, 3, 3) of x, y, yaw in the *dock* frame; for each beam
    (K, N): ``hit`` tells that it ought to end on the dock, ``face`` on which face, ``agrees`` that
    it does so, ``beyond`` that it went on through where the dock should be; ``square`` (K,) sum of
    the squared residuals over their sigmas of those that agree.
    """

    poses: np.ndarray
    information: np.ndarray
    hit: np.ndarray
    face: np.ndarray
    agrees: np.ndarray
    beyond: np.ndarray
    square: np.ndarray

    def sigma_along(self):
        """Return the sigma of the first hypothesis along the dock's axis, metres."""
        return float(np.sqrt(np.linalg.inv(self.information[0] + _PRIOR)[0, 0]))

    def evidence(self):
        """
        Return the log-likelihoods (K,) over those of beams that end anywhere.

        A beam that agrees is likelier by what its range being known to its noise is worth; one
        that passes through the dock, or is held up before it, is less likely.
        """
        agree, beyond = self.agrees.sum(axis=1), self.beyond.sum(axis=1)
        held_up = self.hit.sum(axis=1) - agree - beyond
        return (_AGREE_NATS * agree - self.square / 2.0 - _BEYOND_NATS * beyond
                - _HELD_UP_NATS * held_up)


def into_dock(poses, points):
    """Return points (N, 2) of base_footprint in each of K dock frames: x and y, each (K, N)."""
    return turned(poses, points[None] - poses[:, None, :2])


def turned(poses, rays):
    """Return directions (N, 2) or (K, N, 2) in each of K dock frames: x and y, each (K, N)."""
    c, s = np.cos(poses[:, 2])[:, None], np.sin(poses[:, 2])[:, None]
    return c * rays[..., 0] + s * rays[..., 1], c * rays[..., 1] - s * rays[..., 0]


def score(outline, poses, beams, slack_m):
    """
    Return how well K rough poses explain the beams: those that end where they ought to, (K,).

    Counted against them is twice what passes through the dock; the slack is for rough poses.
    """
    view = _View(outline, poses, beams, Noise(slack_m, slack_m))
    expected, faces, hit, _ = view.cast()
    off, _ = view.residual(faces)
    agrees = hit & (np.abs(off) < slack_m)
    beyond = hit & ~agrees & (beams.ranges > expected + 2.0 * slack_m)
    return agrees.sum(axis=1) - 2.0 * beyond.sum(axis=1)


def align(outline, poses, beams, noise):
    """
    Move K rough dock poses (K, 3) onto the :class:`Beams` next to them, each to its nearest face.

    Returns the few distinct poses that they end in, the best supported first.
    """
    poses = np.array(poses, dtype=float)
    for gate in _GATES_M:
        view = _View(outline, poses, beams, noise)
        faces, off = outline.nearest(view.points, view.rays)
        poses = moved(poses, view.step(faces, off < gate, gate)[0])
    return _distinct(poses, (off < gate).sum(axis=1))


def settle(outline, poses, beams, noise, steps=3):
    """Fit K aligned dock poses (K, 3) with the faces that each beam ought to end on: Fits."""
    poses = np.array(poses, dtype=float)
    for _ in range(steps):
        view = _View(outline, poses, beams, noise)
        _, faces, hit, _ = view.cast()
        step, information = view.step(faces, hit, 0.0)
        poses = moved(poses, step)
    view = _View(outline, poses, beams, noise)
    expected, faces, hit, residual = view.cast()
    agrees = hit & (np.abs(residual) < _GATE_SIGMAS)
    beyond = hit & ~agrees & (
        beams.ranges > expected + _GATE_SIGMAS * noise.range_m + 2.0 * noise.face_m)
    square = np.where(agrees, residual ** 2, 0.0).sum(axis=1)
    return Fits(poses, information, hit, faces, agrees, beyond, square)


def goes_on(outline, pose, beams, faces):
    """
    Tell whether one of the side ``faces`` goes on past the mouth, as a wall does and no panel.

    A leg near the mouth does not count: what lies ahead in line with the face must be longer.
    """
    x, y = into_dock(pose[None], beams.points)
    for face in faces:
        ahead = x[(np.abs(y - outline.value[face]) < _IN_LINE_M) & (x > _AHEAD_M[0])
                  & (x < _AHEAD_M[1])]
        if len(ahead) >= 3 and np.ptp(ahead) > _LEG_M:
            return True
    return False


def slide(outline, pose, beams):
    """
    Find where a dock is along its own axis by which beams end on it and which pass it by.

    From the side no face is seen that looks along the axis; the ends of the side tell. Returns
    the shift along x of the dock frame and its sigma, metres.
    """
    poses = np.column_stack([
        pose[0] + math.cos(pose[2]) * _SHIFTS_M, pose[1] + math.sin(pose[2]) * _SHIFTS_M,
        np.full(len(_SHIFTS_M), pose[2])])
    scores = score(outline, poses, beams, _SLIDE_SLACK_M)
    best = np.flatnonzero(scores >= scores.max() - 1.0)       # one beam more or less is chance
    low, high = _SHIFTS_M[best[[0, -1]]]
    step = _SHIFTS_M[1] - _SHIFTS_M[0]
    return (low + high) / 2, (high - low + 2.0 * step) / math.sqrt(12.0)


class _View:
    """The beams as seen from K dock frames."""

    def __init__(self, outline, poses, beams, noise):
        self.outline, self.noise = outline, noise
        self.points, self.rays = into_dock(poses, beams.points), turned(poses, beams.rays)
        self.origin = into_dock(poses, beams.origin[None])

    def cast(self):
        """
        Return what each beam ought to do, each (K, N).

        ``(expected range, face, whether it ought to hit one, residual over its sigma)``. What
        lands on the narrow front of a panel is taken for that also where the ray just misses it:
        between two beams there is room for a panel.
        """
        expected, faces = self.outline.cast(self.origin, self.rays)
        hit = np.isfinite(expected)
        residual = self._scaled(faces)
        front, panel = self.outline.on_front(self.points, self.rays)
        front &= ~(hit & (np.abs(residual) < _GATE_SIGMAS))
        if front.any():
            faces, hit = np.where(front, panel, faces), hit | front
            residual = self._scaled(faces)
        return expected, faces, hit, residual

    def residual(self, faces):
        """Return the distances (K, N) of the points from their faces, and the sigmas of these."""
        upright = self.outline.upright[faces]
        off = np.where(upright, *self.points) - self.outline.value[faces]
        incidence = np.where(upright, *self.rays)
        return off, np.sqrt((self.noise.range_m * incidence) ** 2 + self.noise.face_m ** 2)

    def _scaled(self, faces):
        off, sigma = self.residual(faces)
        return off / sigma

    def step(self, faces, hit, gate):
        """
        Return Gauss and Newton's increment (K, 3) in the dock frame, its information (K, 3, 3).

        A point on a face is at its distance from it; one on the front of a panel besides
        somewhere across it, evenly spread.
        """
        outline, (x, y) = self.outline, self.points
        residual, sigma = self.residual(faces)
        used = hit & (np.abs(residual) < np.maximum(gate, _GATE_SIGMAS * sigma))
        weight = np.where(used, 1.0 / sigma ** 2, 0.0)
        upright = outline.upright[faces]
        frontal, sideways = np.where(upright, weight, 0.0), np.where(upright, 0.0, weight)
        front = used & outline.front[faces]
        spread = np.hypot(outline.panel, _FRONT_REACH_M) / np.sqrt(12.0)
        across = np.where(front, 1.0 / spread ** 2, 0.0)
        middle = (outline.low[faces] + outline.high[faces]) / 2
        sideways = sideways + across
        off_y = np.where(front, y - middle, residual)
        information = np.zeros((len(x), 3, 3))
        information[:, 0, 0] = frontal.sum(axis=1)
        information[:, 1, 1] = sideways.sum(axis=1)
        information[:, 0, 2] = information[:, 2, 0] = -(frontal * y).sum(axis=1)
        information[:, 1, 2] = information[:, 2, 1] = (sideways * x).sum(axis=1)
        information[:, 2, 2] = (frontal * y ** 2 + sideways * x ** 2).sum(axis=1)
        pull_x, pull_y = frontal * residual, sideways * off_y
        gradient = np.stack([
            -pull_x.sum(axis=1), -pull_y.sum(axis=1), (pull_x * y - pull_y * x).sum(axis=1)], -1)
        step = np.linalg.solve(information + _PRIOR, -gradient[..., None])[..., 0]
        return np.clip(step, -0.1, 0.1), information


def _distinct(poses, support):
    """Return those poses that are not much the same as a better supported one, the best few."""
    kept = []
    for number in np.argsort(-support, kind='stable'):
        off = np.abs(poses[kept] - poses[number])
        if not ((off[:, :2].max(axis=1) < _SAME_M)
                & (np.abs(wrap_angle(off[:, 2])) < _SAME_RAD)).any():
            kept.append(number)
    return poses[kept[:_MOST_CAST]]


def moved(poses, step):
    """Return poses (K, 3) moved by steps (K, 3) along and about their own axes."""
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    return np.stack([
        poses[:, 0] + c * step[:, 0] - s * step[:, 1],
        poses[:, 1] + s * step[:, 0] + c * step[:, 1],
        wrap_angle(poses[:, 2] + step[:, 2])], axis=1)
