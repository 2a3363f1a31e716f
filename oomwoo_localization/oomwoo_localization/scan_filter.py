"""A scan without what is not on the map, for a matcher that should not see it."""

from dataclasses import dataclass

import numpy as np
from oomwoo_localization.settings import setting


@dataclass(frozen=True)
class FilterSettings:
    """What is taken out."""

    static_below: float = setting(
        0.5, 'a return with less staticness than this is taken out', '', 0.0, 1.0
    )
    least_share: float = setting(
        0.3,
        'a scan of which less than this would be left is passed on whole: that is no obstacle, '
        'the robot is lost',
        '',
        0.0,
        1.0,
    )
    patience_s: float = setting(
        1.0, 'scans pass whole when scores have been missing for longer', 's', 0.1, 30.0
    )


def filtered_ranges(ranges, staticness, settings):
    """
    Return ``(ranges, taken)``: (N,) metres without off-map returns, and how many.

    ``staticness`` (N,) is 0..1 as ``scan_scored`` has it. Infinite is no return (REP-117), so no
    wall is made up.
    """
    ranges = np.asarray(ranges, dtype=np.float32)
    staticness = np.asarray(staticness, dtype=float)
    if staticness.shape != ranges.shape:
        raise ValueError(f'{staticness.size} intensities for {ranges.size} ranges')
    returns = np.isfinite(ranges) & (ranges > 0.0)
    off = returns & (staticness < settings.static_below)
    if not returns.any() or 1.0 - off.sum() / returns.sum() < settings.least_share:
        return ranges.copy(), 0
    return np.where(off, np.float32(np.inf), ranges), int(off.sum())
