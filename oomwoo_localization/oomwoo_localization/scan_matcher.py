"""
One scan put onto a map, near a guess: a window searched whole, then least squares below a cell.

Both steps maximise one posterior: Welsch's robust likelihood (Dennis and Welsch, 1978) of the distances from the ends
of the beams to the map's surfaces, times a Gaussian around the guess. The window (Olson, 2009) cannot be trapped, least
squares is exact; and what the scan leaves free, as along a corridor, stays with the guess.
"""
from dataclasses import dataclass
import math

import numpy as np

from oomwoo_localization.frames import compose, inverse, wrap_angle
from oomwoo_localization.likelihood import MapFields
from oomwoo_localization.refinement import interpolate
from oomwoo_localization.settings import setting

LOOKUPS = 200_000             # of the field at once: more would not stay in the processor's cache
STEPS = 8                     # of Gauss-Newton at most, for each width of the kernel
STILL_M, STILL_RAD = 1e-5, 1e-6


@dataclass(frozen=True)
class MatcherSettings:
    """How beams are weighed against each other and against the guess."""

    range_noise_m: float = setting(
        0.015, 'one sigma of the distance from a beam\'s end to the map\'s surface', 'm', 0.001, 0.2)
    independent_share: float = setting(
        0.1, 'share of the beams that err independently: a wall drawn askew errs alike for all on it',
        '', 0.001, 1.0)
    kernel_m: float = setting(
        0.05, 'a beam\'s end this far from every surface has lost most of its say', 'm', 0.01, 0.5)
    search_kernel_m: float = setting(0.12, 'the same while the window is searched', 'm', 0.02, 1.0)
    search_beams: int = setting(150, 'ends of beams that the window is searched with', '', 20, 2000)
    most_beams: int = setting(500, 'ends of beams that least squares looks at', '', 20, 4000)
    spacing_m: float = setting(
        0.03, 'ends closer together than this share one say, so that a wall counts by its length', 'm', 0.0, 1.0)


@dataclass(frozen=True)
class Match:
    """
    Where the scan fits best.

    ``pose`` of the base in the map (3,); ``covariance`` (3, 3) of the posterior, the inverse of its Hessian;
    ``share`` of the ends that lie within the kernel of a surface; ``score`` 0..1 the mean of their likelihoods.
    """

    pose: np.ndarray
    covariance: np.ndarray
    share: float
    score: float


class ScanMatcher:
    """Matches scans with one map; what depends on the map alone is computed once, at construction."""

    def __init__(self, grid, settings=None):
        """Prepare a map; raises :class:`~oomwoo_localization.grids.GridError` for one that is of no use."""
        self.grid = grid.check()
        self.settings = settings or MatcherSettings()
        self.distance = MapFields(grid).signed_distance
        finite = np.where(np.isfinite(self.distance), self.distance, 1e3)
        self._likelihood = np.exp(-(finite / self.settings.search_kernel_m) ** 2).astype(np.float32)
        self._turn = grid.origin[2]

    def match(self, points, guess, covariance, reach):
        """
        Return the :class:`Match` of a scan near a guess.

        ``points`` (N, 2) ends of beams in the base frame; ``guess`` the base's pose in the map and its ``covariance``
        (3, 3), which is the prior; ``reach`` = (metres, radians) of the window to search.
        """
        points, weights = self._prepare(points)
        local = compose(inverse(self.grid.origin), guess)
        information = np.linalg.inv(self._turned(covariance, -self._turn))
        found = self._search(points, weights, local, information, reach)
        pose, hessian = self._descend(points, weights, local, information, found)
        residual, _ = self._residuals(points, pose)
        near = np.abs(residual) < 1.5 * self._kernel
        score = np.exp(-(residual[np.isfinite(residual)] / self._kernel) ** 2).sum() / max(1, len(points))
        return Match(
            compose(self.grid.origin, pose), self._turned(np.linalg.inv(hessian), self._turn),
            float(near.mean()) if len(points) else 0.0, float(score))

    @property
    def _kernel(self):
        return max(self.settings.kernel_m, self.grid.resolution)

    @staticmethod
    def _turned(covariance, angle):
        c, s = math.cos(angle), math.sin(angle)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return turn @ covariance @ turn.T

    # -- steps ------------------------------------------------------------------------------

    def _prepare(self, points):
        """Return the ends that are looked at and the say (N,) of each, the information of independent ones."""
        settings = self.settings
        points = np.asarray(points, dtype=float)[:, :2]
        if len(points) > settings.most_beams:
            points = points[np.linspace(0, len(points) - 1, settings.most_beams).round().astype(int)]
        weights = np.ones(len(points))
        if settings.spacing_m > 0.0 and len(points) > 2:
            step = np.hypot(*np.diff(points, axis=0, append=points[:1]).T)
            weights = np.clip(np.minimum(step, np.roll(step, 1)) / settings.spacing_m, 0.1, 1.0)
        return points, weights * settings.independent_share / settings.range_noise_m ** 2

    def _search(self, points, weights, guess, information, reach):
        """Return the pose of the window's lattice with the highest posterior; grid coordinates."""
        every = max(1, math.ceil(len(points) / self.settings.search_beams))
        points, weights = points[::every], weights[::every] * every
        if len(points) == 0:
            return guess
        resolution = self.grid.resolution
        far = np.percentile(np.hypot(*points.T), 75)
        cells = max(1, math.ceil(reach[0] / resolution))
        stride = max(1, cells // 4)
        turns = max(1, math.ceil(reach[1] * max(far, resolution) / (stride * resolution)))
        shift = np.arange(-(cells // stride), cells // stride + 1) * stride
        turn = np.arange(-turns, turns + 1) * (reach[1] / turns)
        gain = weights * self.settings.search_kernel_m ** 2 / 2.0
        posterior = self._lattice(points, gain, guess, shift, turn)
        offset = np.stack(np.meshgrid(turn, shift * resolution, shift * resolution, indexing='ij'), axis=-1)[..., ::-1]
        # Coordinates of an offset are (x, y, yaw): the last axis of the lattice is x.
        posterior -= 0.5 * np.einsum('...i,ij,...j->...', offset, information, offset)
        best = np.unravel_index(np.argmax(posterior), posterior.shape)
        found = guess + offset[best]
        if stride == 1:
            return found
        inner = (stride * resolution, reach[1] / turns)
        return self._search_around(points, gain, guess, information, found, inner)

    def _search_around(self, points, gain, guess, information, middle, reach):
        """Return the best pose cell by cell around ``middle``, the prior still that of ``guess``."""
        resolution = self.grid.resolution
        cells = math.ceil(reach[0] / resolution)
        shift, turn = np.arange(-cells, cells + 1), np.linspace(-reach[1], reach[1], 2 * cells + 1)
        posterior = self._lattice(points, gain, middle, shift, turn)
        offset = np.stack(np.meshgrid(turn, shift * resolution, shift * resolution, indexing='ij'), axis=-1)[..., ::-1]
        away = offset + (middle - guess)
        posterior -= 0.5 * np.einsum('...i,ij,...j->...', away, information, away)
        return middle + offset[np.unravel_index(np.argmax(posterior), posterior.shape)]

    def _lattice(self, points, gain, middle, shift, turn):
        """Return (turns, rows, columns) log likelihoods of poses around ``middle``, shifts in cells."""
        rows, columns = self.grid.shape
        yaw = middle[2] + turn
        c, s = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
        scale = 1.0 / self.grid.resolution
        column = ((c * points[:, 0] - s * points[:, 1] + middle[0]) * scale).astype(np.int32)
        row = ((s * points[:, 0] + c * points[:, 1] + middle[1]) * scale).astype(np.int32)
        margin = int(np.abs(shift).max())
        inside = (column >= margin) & (column < columns - margin) & (row >= margin) & (row < rows - margin)
        flat = np.where(inside, row * columns + column, margin * columns + margin)
        gain = np.where(inside, gain, 0.0).astype(np.float32)
        offsets = (shift[:, None] * columns + shift).ravel()
        result = np.empty((len(turn), len(offsets)), dtype=np.float64)
        size = max(1, LOOKUPS // (len(offsets) * len(points)))
        for first in range(0, len(turn), size):
            part = slice(first, first + size)
            seen = self._likelihood.ravel().take(flat[part, None, :] + offsets[:, None])
            result[part] = np.einsum('tob,tb->to', seen, gain[part])
        return result.reshape(len(turn), len(shift), len(shift))

    def _descend(self, points, weights, guess, information, pose):
        """Return pose and Hessian (3, 3) at the posterior's top, from a pose nearby; grid coordinates."""
        pose = np.array(pose, dtype=float)
        for kernel in (self.settings.search_kernel_m, self._kernel):
            for _ in range(STEPS):
                residual, jacobian = self._residuals(points, pose)
                say = weights * np.exp(-(residual / kernel) ** 2)
                weighted = jacobian * say[:, None]
                hessian = weighted.T @ jacobian + information
                away = pose - guess
                away[2] = wrap_angle(away[2])
                move = np.linalg.solve(hessian, -(weighted.T @ residual) - information @ away)
                pose += move
                if np.abs(move[:2]).max() < STILL_M and abs(move[2]) < STILL_RAD:
                    break
        return pose, hessian

    def _residuals(self, points, pose):
        """Return distances (N,) of the ends to the map's surface and their derivatives (N, 3); 1e3 off the map."""
        c, s = math.cos(pose[2]), math.sin(pose[2])
        arm = points @ np.array([[c, s], [-s, c]])
        residual, gradient = interpolate(self.distance, self.grid.resolution, arm + pose[:2])
        lost = ~np.isfinite(residual)
        residual[lost] = 1e3
        gradient[lost] = 0.0
        turn = gradient[:, 1] * arm[:, 0] - gradient[:, 0] * arm[:, 1]
        return residual, np.column_stack([gradient, turn])
