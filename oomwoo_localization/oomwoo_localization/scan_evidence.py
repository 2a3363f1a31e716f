"""What of a scan tells where it was taken: the ends of its beams, thinned."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from oomwoo_localization.scans import scan_points

FLOOR_M = 0.01  # an end below this, and below the scanner, lies on the floor
BELOW_SCANNER_M = 0.02
LEAST_SPAN_M = 0.05
CHECKED_BEAMS = 48  # that the search checks against walls: they settle the share well enough


@dataclass(frozen=True)
class Evidence:
    """
    Ends of beams (beams, 2) around the scanner, their axes parallel to the base's, metres.

    ``mount`` is the scanner's place (x, y) in the base.
    """

    ends: np.ndarray
    mount: np.ndarray

    @cached_property
    def checked(self):
        """Return those ends whose beams the search checks against walls, spread over the turn."""
        count = min(CHECKED_BEAMS, len(self.ends))
        return self.ends[np.linspace(0, len(self.ends) - 1, count).round().astype(int)]


def evidence_of(scan, base_from_scan, longest_m, most):
    """
    Return the :class:`Evidence` of a scan, at most ``most`` ends, from beams up to ``longest_m``.

    ``base_from_scan`` is the scanner's 4 x 4 mount: a turned, tilted or overturned scanner is no
    special case, and what a tilted one sees of the floor is left out.
    """
    points, _ = scan_points(scan, base_from_scan)
    mount = np.asarray(base_from_scan, dtype=float)[:3, 3]
    ends = points[:, :2] - mount[:2]
    length = np.hypot(*ends.T)
    on_floor = points[:, 2] < min(FLOOR_M, mount[2] - BELOW_SCANNER_M)
    return Evidence(
        thin(ends[~on_floor & (length <= longest_m) & (length > 1e-3)], most), mount[:2]
    )


def thin(points, most, span_m=LEAST_SPAN_M):
    """
    Return the first point (M, 2) in each square of a raster.

    ``points`` (N, 2) are in the order of the sweep. So a wall counts by its length and not by how
    near it is: the adaptive voxel filter of Hess et al. (2016). The raster is ``span_m`` wide,
    wider when more than ``most`` points would be left.
    """
    while True:
        squares = np.floor(points / span_m).astype(np.int64)
        _, first = np.unique(squares[:, 0] * 1_000_003 + squares[:, 1], return_index=True)
        if len(first) <= most:
            return points[np.sort(first)]
        span_m *= 1.1
