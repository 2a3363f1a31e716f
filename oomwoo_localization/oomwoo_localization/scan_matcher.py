"""
One scan put onto a map, near a guess: a window searched whole, then least squares below a cell.

Both steps maximise one posterior: Welsch's robust likelihood (Dennis and Welsch, 1978) of the
distances from the ends of the beams to the map's surfaces, times a Gaussian around the guess. The
window (Olson, 2009) cannot be trapped, least squares is exact; and what the scan leaves free, as
along a corridor, stays with the guess.

A fourth unknown goes with the pose: how far behind the drawn surfaces the real ones lie. It is
nothing for a map filled in from a plan, and half a cell where beams drew lines of cells; without
it, every wall would be off by that.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import compose, inverse, wrap_angle
from oomwoo_localization.likelihood import MapFields, Rays
from oomwoo_localization.refinement import interpolate
from oomwoo_localization.settings import setting

LOOKUPS = 100_000             # of the field at once: more would not stay in the processor's cache
STEPS = 6                     # of Gauss-Newton at most, for each width of the kernel
STILL = np.array([1e-4, 1e-4, 3e-5, 1e-4])    # a step smaller than this is the last
FINE_CELLS = 3                # half width of a window that is searched cell by cell at once
STRIDE_KERNELS = 0.6
OFF_MAP_M = 1e3
RAYS = 60                     # beams that are looked at all along
NEAR_KERNELS = 2.0            # an end within this many kernels of a surface lies on it


@dataclass(frozen=True)
class MatcherSettings:
    """How beams are weighed against each other and against the guess."""

    range_noise_m: float = setting(
        0.015, "one sigma of the distance from a beam's end to the map's surface", 'm', 0.001,
        0.2)
    independent_share: float = setting(
        0.1, 'share of the beams that err independently: a wall drawn askew errs alike for all',
        '', 0.001, 1.0)
    kernel_m: float = setting(
        0.03, "a beam's end this far from every surface has lost most of its say", 'm', 0.01, 0.5)
    search_kernel_m: float = setting(0.12, 'the same while the window is searched', 'm', 0.02, 1.0)
    search_beams: int = setting(
        120, 'ends of beams that the window is searched with', '', 20, 2000)
    most_beams: int = setting(400, 'ends of beams that least squares looks at', '', 20, 4000)
    spacing_m: float = setting(
        0.03, 'ends closer together than this share one say, so that a wall counts by its length',
        'm', 0.0, 1.0)


@dataclass(frozen=True)
class Match:
    """
    Where the scan fits best.

    ``pose`` (3,) of the base in the map and ``offset_m`` by which real surfaces lie behind drawn
    ones; ``covariance`` (4, 4) of the four, the inverse of the posterior's Hessian. ``share`` 0..1
    of the ends on surfaces, ``score`` 0..1 the mean of their likelihoods.
    """

    pose: np.ndarray
    offset_m: float
    covariance: np.ndarray
    share: float
    score: float


class ScanMatcher:
    """Matches scans with one map; what depends on it alone is computed once, at construction."""

    def __init__(self, grid, settings=None):
        """Prepare a map; raises :class:`.grids.GridError` for one that is of no use."""
        self.grid = grid.check()
        self.settings = settings or MatcherSettings()
        self._fields = MapFields(grid)
        self._distance = np.minimum(self._fields.signed_distance, OFF_MAP_M)
        likelihood = np.exp(-(self._distance / self.settings.search_kernel_m) ** 2)
        self._likelihood = likelihood.astype(np.float32).ravel()
        self._kernel = max(self.settings.kernel_m, grid.resolution)
        # From wide to narrow (graduated non-convexity), each no less than half of the one before.
        wide = max(self.settings.search_kernel_m, self._kernel)
        count = 1 + math.ceil(math.log2(wide / self._kernel) - 1e-6)
        self._kernels = np.geomspace(wide, self._kernel, count)

    @property
    def offset_std_m(self):
        """Return how far the offset may be from zero before a scan was seen, one sigma."""
        return self.grid.resolution / 2.0

    def match(self, points, pose, offset_m, covariance, reach):
        """
        Return the :class:`Match` of a scan near a guess.

        ``points`` (N, 2) ends of beams in the base frame, at least one. The guess is ``pose`` (3,)
        of the base in the map and ``offset_m``, with ``covariance`` (4, 4): the prior. ``reach``
        is the half width of the window, (metres, radians).
        """
        points, weights = self._weigh(np.asarray(points, dtype=float)[:, :2])
        guess = np.append(compose(inverse(self.grid.origin), pose), offset_m)
        prior = np.linalg.inv(_turned(covariance, -self.grid.origin[2]))
        # The window looks at the pose alone: the offset is small against its kernel.
        pose_prior = np.linalg.inv(_turned(covariance[:3, :3], -self.grid.origin[2]))
        found = np.append(self._search(points, weights, guess[:3], pose_prior, reach), offset_m)
        found, hessian = self._descend(points, weights, guess, prior, found)
        ends = np.abs(self._residuals(points, found)[0]) / self._kernel
        return Match(
            compose(self.grid.origin, found[:3]), float(found[3]),
            _turned(np.linalg.inv(hessian), self.grid.origin[2]),
            float((ends < NEAR_KERNELS).mean()), float(np.exp(-ends ** 2).mean()))

    def crossed(self, points, scanner, pose):
        """
        Return the share of beams that would have had to pass through a wall of the map.

        ``points`` (N, 2) ends of beams and ``scanner`` (2,) where they began, both in the base
        frame; ``pose`` (3,) of the base in the map. What stands in the room but not in the map
        crosses nothing: it ends beams before they get to a wall.
        """
        points = np.asarray(points, dtype=float)[::math.ceil(len(points) / RAYS), :2]
        local = compose(inverse(self.grid.origin), pose)
        at = compose(local, (*scanner, 0.0))
        through = Rays(self._fields, points - scanner).crossed(*at[:, None])[0]
        inside = self._residuals(points, np.append(local, 0.0))[0] < -NEAR_KERNELS * self._kernel
        return float((through | inside).mean())

    # -- steps ------------------------------------------------------------------------------

    def _weigh(self, points):
        """Return the ends that are looked at and the information (N,) that each adds, 1/m^2."""
        settings = self.settings
        if len(points) > settings.most_beams:
            kept = np.linspace(0, len(points) - 1, settings.most_beams).round().astype(int)
            points = points[kept]
        weights = np.full(len(points), settings.independent_share / settings.range_noise_m ** 2)
        if settings.spacing_m > 0.0 and len(points) > 2:
            step = np.hypot(*np.diff(points, axis=0, append=points[:1]).T)
            weights *= np.clip(np.minimum(step, np.roll(step, 1)) / settings.spacing_m, 0.1, 1.0)
        return points, weights

    def _search(self, points, weights, guess, prior, reach):
        """Return the pose of the window with the highest posterior, in grid coordinates."""
        every = math.ceil(len(points) / self.settings.search_beams)
        points, weights = points[::every], weights[::every] * every
        resolution = self.grid.resolution
        far = max(np.percentile(np.hypot(*points.T), 75), resolution)
        cells = max(1, math.ceil(reach[0] / resolution))
        # A wide window first in strides that the kernel still bridges, then cell by cell.
        stride = 1
        if cells > FINE_CELLS:
            stride = max(1, int(STRIDE_KERNELS * self.settings.search_kernel_m / resolution))
        turns = max(1, math.ceil(reach[1] * far / (stride * resolution)))
        count = math.ceil(cells / stride)
        shift = np.arange(-count, count + 1) * stride
        turn = np.linspace(-reach[1], reach[1], 2 * turns + 1)
        found = self._best_of(points, weights, guess, prior, guess, shift, turn)
        if stride == 1:
            return found
        shift = np.arange(1 - stride, stride)
        turn = np.linspace(-reach[1], reach[1], len(shift)) / turns
        return self._best_of(points, weights, guess, prior, found, shift, turn)

    def _best_of(self, points, weights, guess, prior, middle, shift, turn):
        """Return the best of the poses ``middle`` plus shifts (cells) and turns (radians)."""
        posterior = self._log_likelihoods(points, weights, middle, shift, turn)
        metres = shift * self.grid.resolution
        offset = np.stack(np.meshgrid(turn, metres, metres, indexing='ij')[::-1], axis=-1)
        away = offset.reshape(-1, 3) + (middle - guess)
        best = np.argmax(posterior.ravel() - 0.5 * ((away @ prior) * away).sum(axis=1))
        return middle + offset.reshape(-1, 3)[best]

    def _log_likelihoods(self, points, weights, middle, shift, turn):
        """Return (turns, rows, columns) log likelihoods of the poses around ``middle``."""
        rows, columns = self.grid.shape
        c, s = np.cos(middle[2] + turn)[:, None], np.sin(middle[2] + turn)[:, None]
        scale = 1.0 / self.grid.resolution
        column = ((c * points[:, 0] - s * points[:, 1] + middle[0]) * scale).astype(np.int32)
        row = ((s * points[:, 0] + c * points[:, 1] + middle[1]) * scale).astype(np.int32)
        margin = int(np.abs(shift).max())
        inside = ((column >= margin) & (column < columns - margin)
                  & (row >= margin) & (row < rows - margin))
        flat = np.where(inside, row * columns + column, margin * columns + margin)
        # Welsch's kernel: what an end on a surface gains over one far from all.
        gain = weights * (self.settings.search_kernel_m ** 2 / 2.0)
        gain = np.where(inside, gain, 0.0).astype(np.float32)
        offsets = (shift[:, None] * columns + shift).ravel()
        result = np.empty((len(turn), len(offsets)))
        size = max(1, LOOKUPS // (len(offsets) * len(points)))
        for first in range(0, len(turn), size):
            part = slice(first, first + size)
            seen = self._likelihood.take(flat[part, None, :] + offsets[:, None])
            result[part] = (seen @ gain[part, :, None])[:, :, 0]
        return result.reshape(len(turn), len(shift), len(shift))

    def _descend(self, points, weights, guess, prior, found):
        """Return the four unknowns and the Hessian (4, 4) at the posterior's top, from nearby."""
        for kernel in self._kernels:
            for _ in range(STEPS):
                residual, jacobian = self._residuals(points, found)
                weighted = jacobian * (weights * np.exp(-(residual / kernel) ** 2))[:, None]
                hessian = weighted.T @ jacobian + prior
                away = found - guess
                away[2] = wrap_angle(away[2])
                move = np.linalg.solve(hessian, -(residual @ weighted) - prior @ away)
                found = found + move
                if (np.abs(move) < STILL).all():
                    break
        return found, hessian

    def _residuals(self, points, found):
        """Return distances (N,) of the ends to the real surfaces and their derivatives (N, 4)."""
        c, s = math.cos(found[2]), math.sin(found[2])
        arm = points @ np.array([[c, s], [-s, c]])
        residual, gradient = interpolate(self._distance, self.grid.resolution, arm + found[:2])
        lost = ~np.isfinite(residual)
        residual[lost] = OFF_MAP_M
        gradient[lost] = 0.0
        jacobian = np.ones((len(points), 4))
        jacobian[:, :2] = gradient
        jacobian[:, 2] = gradient[:, 1] * arm[:, 0] - gradient[:, 0] * arm[:, 1]
        return residual + found[3], jacobian


def _turned(covariance, angle):
    """Return a covariance whose first two axes are turned by an angle."""
    turn = np.eye(len(covariance))
    c, s = math.cos(angle), math.sin(angle)
    turn[:2, :2] = [[c, -s], [s, c]]
    return turn @ covariance @ turn.T
