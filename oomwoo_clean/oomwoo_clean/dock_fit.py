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

import numpy as np
from oomwoo_localization.frames import wrap_angle

RIGHT, BACK, LEFT = 0, 1, 2               # parts of the dock
_PARALLEL = 1e-9
_GATES_M = (0.10, 0.07, 0.05, 0.035)      # trimming of the first iterations, nearest face
_CAST_GATES_M = (0.035, 0.0, 0.0, 0.0)    # then with ray casting; 0: by the noise alone
_GATE_SIGMAS = 3.5
_PRIOR = np.diag([1.0, 1.0, 1.0]) * 1e-3  # of information: keeps what nothing was seen of


class Outline:
    """The faces of a dock that a beam may end on, each along one axis of the dock frame."""

    def __init__(self, shape):
        """Take a :class:`~oomwoo_localization.dock.DockShape`."""
        inner, outer, depth = shape.width / 2, shape.width / 2 + shape.panel, shape.depth
        end = -depth - shape.back
        # axis that is fixed (0: x, 1: y), its value, from, to, sign of the normal, part
        faces = (
            (0, 0.0, inner, outer, 1, LEFT), (0, 0.0, -outer, -inner, 1, RIGHT),
            (1, inner, -depth, 0.0, -1, LEFT), (1, -inner, -depth, 0.0, 1, RIGHT),
            (0, -depth, -inner, inner, 1, BACK),
            (1, outer, end, 0.0, 1, LEFT), (1, -outer, end, 0.0, -1, RIGHT))
        axis, value, low, high, normal, part = (np.array(column) for column in zip(*faces))
        self.axis, self.part, self.normal = axis, part, normal
        self.value, self.low, self.high = value, low, high
        self.size = float(np.hypot(outer, depth))

    def cast(self, origin, rays):
        """
        Cast rays from ``origin`` (K, 2) along unit ``rays`` (K, N, 2), in the dock frame.

        Returns ``(ranges, faces)``, both (K, N): metres to the first face, infinite without one,
        and its number.
        """
        along, across = self.axis, 1 - self.axis
        towards = rays[:, :, along]                                   # (K, N, faces)
        with np.errstate(divide='ignore', invalid='ignore'):
            away = (self.value - origin[:, None, along]) / towards
            where = origin[:, None, across] + away * rays[:, :, across]
        hit = ((away > 0.0) & (towards * self.normal < -_PARALLEL)
               & (where >= self.low) & (where <= self.high))
        away = np.where(hit, away, np.inf)
        faces = away.argmin(axis=2)
        return np.take_along_axis(away, faces[:, :, None], axis=2)[:, :, 0], faces

    def nearest(self, points, rays):
        """Return the number (K, N) of the face nearest to each point that the ray could see."""
        along, across = self.axis, 1 - self.axis
        off = np.abs(points[:, :, along] - self.value)
        where = points[:, :, across]
        beside = np.maximum(np.maximum(self.low - where, where - self.high), 0.0)
        hidden = rays[:, :, along] * self.normal >= 0.0
        return (np.hypot(off, beside) + hidden).argmin(axis=2)

    def distance(self, points):
        """Return (...,) metres from points (..., 2) of the dock frame to the outline."""
        x, y = points[..., 0], np.abs(points[..., 1])
        inner, outer, depth = self.value[2], self.value[5], -self.value[4]
        deep = np.maximum(np.maximum(-depth - x, x), 0.0)     # beyond the ends of the inner side
        side = np.hypot(y - inner, deep)
        front = np.hypot(x, np.maximum(np.maximum(inner - y, y - outer), 0.0))
        back = np.hypot(x + depth, np.maximum(y - inner, 0.0))
        outside = np.hypot(y - outer, np.maximum(np.maximum(self.low[5] - x, x), 0.0))
        return np.minimum(np.minimum(side, front), np.minimum(back, outside))


@dataclass(frozen=True)
class Beams:
    """Returns in base_footprint: ``points`` (N, 2), from ``origin`` (2,), ``rays`` (N, 2) unit."""

    points: np.ndarray
    origin: np.ndarray
    rays: np.ndarray
    ranges: np.ndarray

    def some(self, keep):
        """Return those that a mask or index picks."""
        return Beams(self.points[keep], self.origin, self.rays[keep], self.ranges[keep])


@dataclass(frozen=True)
class Fits:
    """
    K refined hypotheses.

    ``poses`` (K, 3); ``information`` (K, 3, 3) of x, y, yaw in the *dock* frame; for each beam
    (K, N): ``hit`` tells that it ought to end on the dock, ``part`` on which part, ``agrees`` that
    it does so, ``beyond`` that it went on through where the dock should be; ``rms`` (K,) of the
    residuals over their sigma.
    """

    poses: np.ndarray
    information: np.ndarray
    hit: np.ndarray
    part: np.ndarray
    agrees: np.ndarray
    beyond: np.ndarray
    rms: np.ndarray


def into_dock(poses, points):
    """Return points (N, 2) of base_footprint in each of K dock frames, (K, N, 2)."""
    c, s = np.cos(poses[:, 2])[:, None], np.sin(poses[:, 2])[:, None]
    x = points[None, :, 0] - poses[:, 0, None]
    y = points[None, :, 1] - poses[:, 1, None]
    return np.stack([c * x + s * y, c * y - s * x], axis=-1)


def turned(poses, rays):
    """Return directions (N, 2) of base_footprint in each of K dock frames, (K, N, 2)."""
    c, s = np.cos(poses[:, 2])[:, None], np.sin(poses[:, 2])[:, None]
    return np.stack([c * rays[:, 0] + s * rays[:, 1], c * rays[:, 1] - s * rays[:, 0]], axis=-1)


def refine(outline, poses, beams, range_sigma, face_sigma):
    """
    Refine K dock poses (K, 3) on the beams; returns :class:`Fits`.

    ``range_sigma`` is the noise of a range and ``face_sigma`` how far a face may be from where
    the outline has it, metres.
    """
    poses = np.array(poses, dtype=float)
    for gate in _GATES_M:
        points, rays = into_dock(poses, beams.points), turned(poses, beams.rays)
        faces = outline.nearest(points, rays)
        near = outline.distance(points) < gate
        step, _, _ = _step(outline, points, rays, faces, near, gate, range_sigma, face_sigma)
        poses = _moved(poses, step)
    for gate in _CAST_GATES_M:
        points, rays = into_dock(poses, beams.points), turned(poses, beams.rays)
        origin = into_dock(poses, beams.origin[None])[:, 0]
        expected, faces = outline.cast(origin, rays)
        step, information, used = _step(
            outline, points, rays, faces, np.isfinite(expected), gate, range_sigma, face_sigma)
        poses = _moved(poses, step)
    return _judge(outline, poses, information, beams, range_sigma, face_sigma)


def _step(outline, points, rays, faces, hit, gate, range_sigma, face_sigma):
    """Return the Gauss-Newton step (K, 3) in the dock frame, its information, which were used."""
    residual, sigma = _residuals(outline, points, rays, faces, range_sigma, face_sigma)
    used = hit & (np.abs(residual) < np.maximum(gate, _GATE_SIGMAS * sigma))
    upright = outline.axis[faces] == 0
    slopes = np.stack([
        np.where(upright, -1.0, 0.0), np.where(upright, 0.0, -1.0),
        np.where(upright, points[..., 1], -points[..., 0])], axis=-1)
    weight = np.where(used, 1.0 / sigma ** 2, 0.0)
    information = np.einsum('kni,kn,knj->kij', slopes, weight, slopes)
    gradient = np.einsum('kni,kn->ki', slopes, weight * residual)
    step = np.linalg.solve(information + _PRIOR, -gradient[..., None])[..., 0]
    return np.clip(step, -0.1, 0.1), information, used


def _residuals(outline, points, rays, faces, range_sigma, face_sigma):
    """Return the distances (K, N) of points from their faces, and the sigmas of these."""
    axis = outline.axis[faces]
    upright = axis == 0
    residual = np.where(upright, points[..., 0], points[..., 1]) - outline.value[faces]
    incidence = np.where(upright, rays[..., 0], rays[..., 1])
    return residual, np.sqrt((range_sigma * incidence) ** 2 + face_sigma ** 2)


def _moved(poses, step):
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    return np.stack([
        poses[:, 0] + c * step[:, 0] - s * step[:, 1],
        poses[:, 1] + s * step[:, 0] + c * step[:, 1],
        wrap_angle(poses[:, 2] + step[:, 2])], axis=1)


def _judge(outline, poses, information, beams, range_sigma, face_sigma):
    points, rays = into_dock(poses, beams.points), turned(poses, beams.rays)
    origin = into_dock(poses, beams.origin[None])[:, 0]
    expected, faces = outline.cast(origin, rays)
    hit = np.isfinite(expected)
    residual, sigma = _residuals(outline, points, rays, faces, range_sigma, face_sigma)
    agrees = hit & (np.abs(residual) < _GATE_SIGMAS * sigma)
    too_far = _GATE_SIGMAS * range_sigma + 2.0 * face_sigma
    beyond = hit & ~agrees & (beams.ranges > expected + too_far)
    count = np.maximum(agrees.sum(axis=1), 1)
    rms = np.sqrt(np.where(agrees, (residual / sigma) ** 2, 0.0).sum(axis=1) / count)
    return Fits(poses, information, hit, outline.part[faces], agrees, beyond, rms)
