"""A pose on the lattice made exact: robust least squares on the map's signed distance field."""

from dataclasses import dataclass
import math

import numpy as np


@dataclass(frozen=True)
class Refined:
    """
    A pose (x, y, yaw) in grid coordinates and its (3, 3) covariance, metres and radians.

    ``residuals`` (beams,) metres from each end to the nearest drawn surface, NaN off the map.
    """

    pose: np.ndarray
    covariance: np.ndarray
    residuals: np.ndarray

    @property
    def std_m(self):
        """Return the standard deviation along the least certain direction, metres."""
        if not np.isfinite(self.covariance).all():
            return math.inf
        return math.sqrt(np.linalg.eigvalsh(self.covariance[:2, :2])[-1])

    @property
    def std_rad(self):
        """Return the standard deviation of the heading, radians."""
        return math.sqrt(self.covariance[2, 2])


def interpolate(field, resolution, points):
    """
    Return values and gradients of a field between its cell centres, bilinear.

    ``field`` (rows, columns); ``points`` (N, 2) in grid coordinates. Returns (N,) and (N, 2) per
    metre; NaN outside the outermost centres.
    """
    rows, columns = field.shape
    u = points[:, 0] / resolution - 0.5
    v = points[:, 1] / resolution - 0.5
    column, row = np.floor(u).astype(int), np.floor(v).astype(int)
    outside = (column < 0) | (row < 0) | (column > columns - 2) | (row > rows - 2)
    column[outside] = row[outside] = 0
    a, b = u - column, v - row
    flat = field.ravel()
    corner = row * columns + column
    right, up = (1 if columns > 1 else 0), (columns if rows > 1 else 0)
    f00, f01 = flat[corner], flat[corner + right]
    f10, f11 = flat[corner + up], flat[corner + up + right]
    low, high = f00 + a * (f01 - f00), f10 + a * (f11 - f10)
    values = low + b * (high - low)
    gradients = (
        np.stack([(f01 - f00) * (1 - b) + (f11 - f10) * b, high - low], axis=1) / resolution
    )
    values[outside] = np.nan
    return values, gradients


def refine(fields, points, pose, scales_m=(0.15, 0.07), steps=8):
    """
    Move a pose to where the ends of the beams lie on drawn surfaces.

    ``points`` (beams, 2) in the scanner's frame, ``pose`` of the scanner in grid coordinates.
    Gauss-Newton with Geman-McClure weights, first wide and then narrow, so that ends on what is
    not in the map lose their say; damped where a direction is free (Levenberg, 1944), so that the
    pose stays there. Returns a :class:`Refined`.
    """
    pose = np.array(pose, dtype=float)
    field, resolution = fields.signed_distance, fields.grid.resolution
    if not np.isfinite(field).all():
        return Refined(pose, np.diag([np.inf] * 3), np.full(len(points), np.nan))
    for scale in scales_m:
        scale = max(scale, resolution)
        for _ in range(steps):
            residual, jacobian, weight = _linearise(field, resolution, points, pose, scale)
            weighted = jacobian * weight[:, None]
            hessian = weighted.T @ jacobian
            damping = 1e-3 * len(points) * np.diag([1.0, 1.0, 1.0])
            move = -np.linalg.solve(hessian + damping, weighted.T @ residual)
            move *= min(1.0, 2 * resolution / max(1e-12, math.hypot(move[0], move[1])))
            pose += move
            if np.abs(move).max() < 1e-4:
                break
    residual, jacobian, weight = _linearise(
        field, resolution, points, pose, max(scales_m[-1], resolution)
    )
    covariance = _covariance(residual, jacobian, weight, resolution)
    ends, _ = interpolate(field, resolution, _placed(points, pose))
    return Refined(pose, covariance, ends)


def _placed(points, pose):
    c, s = math.cos(pose[2]), math.sin(pose[2])
    return points @ np.array([[c, s], [-s, c]]) + pose[:2]


def _linearise(field, resolution, points, pose, scale):
    """Return residuals (beams,), their Jacobian (beams, 3) and robust weights (beams,)."""
    ends = _placed(points, pose)
    residual, gradient = interpolate(field, resolution, ends)
    lost = np.isnan(residual)
    residual[lost] = 0.0
    gradient[lost] = 0.0
    arm = ends - pose[:2]
    turn = gradient[:, 1] * arm[:, 0] - gradient[:, 0] * arm[:, 1]
    weight = (1.0 / (1.0 + (residual / scale) ** 2)) ** 2
    weight[lost | (np.abs(residual) > 4 * scale)] = 0.0
    return residual, np.column_stack([gradient, turn]), weight


def _covariance(residual, jacobian, weight, resolution):
    """
    Return the (3, 3) covariance: the inverse Hessian times the residuals' variance.

    The errors of neighbouring ends on one wall are the map's own and not independent: a tenth of
    the beams is taken for independent, and none for better than half a cell.
    """
    total = weight.sum()
    if total < 3:
        return np.diag([np.inf] * 3)
    variance = max((weight * residual**2).sum() / total, (resolution / 2) ** 2 / 3)
    hessian = (jacobian * weight[:, None]).T @ jacobian
    values, vectors = np.linalg.eigh(hessian)
    values = np.maximum(values, 1e-9)
    return 10.0 * variance * (vectors / values) @ vectors.T
