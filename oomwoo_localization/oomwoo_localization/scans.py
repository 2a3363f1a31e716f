"""LiDAR scans: which beams are returns, and where they are in the robot's frame."""
from dataclasses import dataclass
from functools import lru_cache
import math

import numpy as np


class ScanError(ValueError):
    """A scan whose header makes no sense; the message names the field."""


@dataclass(frozen=True)
class Scan:
    """
    One turn of the LiDAR.

    ``ranges`` is (N,) in metres, beam ``i`` at ``angle_min + i * angle_increment`` radians in the
    scanner's frame; ``angle_increment`` is negative for a scanner that turns clockwise.
    ``stamp_s`` is the time of the first beam and ``time_increment_s`` that between two beams, both
    in seconds.
    """

    ranges: np.ndarray
    angle_min: float
    angle_increment: float
    range_min: float
    range_max: float
    stamp_s: float = 0.0
    time_increment_s: float = 0.0

    def check(self):
        """Raise :class:`ScanError` when a header field is not usable; return the scan itself."""
        numbers = {
            'angle_min': self.angle_min, 'angle_increment': self.angle_increment,
            'range_min': self.range_min, 'range_max': self.range_max, 'stamp': self.stamp_s}
        for name, value in numbers.items():
            if not math.isfinite(value):
                raise ScanError(f'{name} is {value}')
        if self.angle_increment == 0.0 and len(self.ranges) > 1:
            raise ScanError('angle_increment is 0')
        if self.range_max <= self.range_min:
            raise ScanError(f'range_max {self.range_max} is not above range_min {self.range_min}')
        return self

    def valid(self):
        """
        Return a (N,) mask of the beams that are returns.

        NaN, +-inf, 0.0 and anything outside ``[range_min, range_max)`` are no returns (REP-117).
        """
        with np.errstate(invalid='ignore'):
            return (self.ranges >= max(self.range_min, 1e-6)) & (self.ranges < self.range_max)


@lru_cache(maxsize=16)
def _directions(count, angle_min, angle_increment):
    angles = angle_min + angle_increment * np.arange(count)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    directions.setflags(write=False)
    return directions


def beam_directions(scan):
    """Return the (N, 2) unit vectors of all beams in the scanner's frame (cached, read-only)."""
    return _directions(len(scan.ranges), float(scan.angle_min), float(scan.angle_increment))


def scan_points(scan, base_from_scan):
    """
    Return the returns of a scan in the base frame.

    ``base_from_scan`` is the scanner's full 4 x 4 transform, so that a turned, tilted or overhead
    scanner needs no special case. Returns ``(points, indices)``: (M, 3) metres and the (M,) beam
    numbers, in beam order.
    """
    indices = np.flatnonzero(scan.valid())
    flat = beam_directions(scan)[indices] * scan.ranges[indices, None]
    return flat @ base_from_scan[:3, :2].T + base_from_scan[:3, 3], indices
