"""
Did the robot move as it was told? Two scans compared, without matching or map.

A robot that stood sees the same ranges again, perhaps turned by a few beams. That says something
only where motion would have shown: a scan of a long corridor's parallel walls looks the same after
a metre, and counts for nothing.
"""
from dataclasses import dataclass
import math

import numpy as np

MOVED, STOOD, UNKNOWN = 'MOVED', 'STOOD', 'UNKNOWN'

TOLERANCE_M = 0.05            # of a range that is still the same: five times the range noise
_TELLS_M = 0.12               # a beam tells something if motion would have changed it by this
FEWEST_TELLING = 20          # beams
_SAME_SHARE = 0.7             # of the telling beams, to call it the same view
_APART = 4                    # beams to either side that give a surface's direction
_SURFACE_M = 0.3              # as near as that to each other they are of one surface
_ALONE_M = 0.2                # what is this much nearer than all around stands alone
_TURN_SEARCH_RAD = math.radians(50.0)


@dataclass(frozen=True)
class MotionEvidence:
    """
    What two scans say: ``verdict`` MOVED, STOOD or UNKNOWN.

    ``telling`` is the number of beams that the motion would have changed, ``same`` the share of
    them that did not change, ``turned_rad`` how far the view had to be turned to see that.
    """

    verdict: str
    telling: int
    same: float
    turned_rad: float


def usable(scan):
    """Tell whether a scan has as many beams as it takes; infinite ones have heard nothing."""
    return int((~np.isnan(scan.ranges)).sum()) >= FEWEST_TELLING


def judge(before, after, travel):
    """
    Return the :class:`MotionEvidence` of two scans for a motion that was asked for in between.

    ``before`` and ``after`` are :class:`~oomwoo_localization.scans.Scan` of the same scanner,
    ``travel`` the (x, y, yaw) of the asked motion in the frame of ``before``, in metres and
    radians, x ahead as the scanner looks. Scans of another shape, or that are not
    :func:`usable`, say nothing.
    """
    if not (usable(before) and usable(after)) or len(before.ranges) != len(after.ranges) or (
            before.angle_increment != after.angle_increment):
        return MotionEvidence(UNKNOWN, 0, 0.0, 0.0)
    old, new = _ranges(before), _ranges(after)
    telling = _telling(before, old, travel)
    shift, same = _best_shift(old, new, telling, before.angle_increment)
    heard = telling & np.isfinite(old) & np.isfinite(np.roll(new, -shift))
    turned = -shift * before.angle_increment
    count = int(heard.sum())
    if count < FEWEST_TELLING:
        return MotionEvidence(UNKNOWN, count, 0.0, turned)
    if same >= _SAME_SHARE:
        asked = travel[2]
        # A view that turned as it was told to, without having been driven along, was turned.
        if math.hypot(*travel[:2]) < _TELLS_M and abs(turned) > 0.5 * abs(asked):
            return MotionEvidence(MOVED, count, same, turned)
        return MotionEvidence(STOOD, count, same, turned)
    return MotionEvidence(MOVED, count, same, turned)


def changed_share(before, after):
    """Return the share of beams that changed, 0..1, whatever the turn; NaN when nothing tells."""
    if not (usable(before) and usable(after)) or len(before.ranges) != len(after.ranges):
        return math.nan
    old, new = _ranges(before), _ranges(after)
    everything = np.isfinite(old)
    if everything.sum() < FEWEST_TELLING:
        return math.nan
    return 1.0 - _best_shift(old, new, everything, before.angle_increment)[1]


def _ranges(scan):
    return np.where(scan.valid(), scan.ranges, np.nan)


def _telling(scan, ranges, travel):
    """
    Return which beams of a scan would have another range after ``travel``.

    Those on surfaces that face the motion, on things that stand alone in its direction, and those
    that would look at another range after the turn. A beam that grazes a wall is neither, however
    far its neighbours are.
    """
    angles = scan.angle_min + scan.angle_increment * np.arange(len(ranges))
    beam = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = beam * ranges[:, None]
    one, other = np.roll(points, _APART, axis=0), np.roll(points, -_APART, axis=0)
    along = other - one
    length = np.hypot(along[:, 0], along[:, 1])
    motion = np.asarray(travel[:2], dtype=float)
    near = np.where(np.isfinite(ranges), ranges, np.inf)
    around = np.minimum(np.roll(near, _APART), np.roll(near, -_APART))
    turned = np.roll(ranges, -round(travel[2] / scan.angle_increment))
    with np.errstate(invalid='ignore', divide='ignore'):
        glide = np.abs(along[:, 1] * motion[0] - along[:, 0] * motion[1]) / length
        plane = (length > 1e-3) & (length < _SURFACE_M + 0.1 * ranges)
        alone = ranges < around - _ALONE_M
        return np.isfinite(ranges) & (
            plane & (glide > _TELLS_M) | alone & (np.abs(beam @ motion) > _TELLS_M)
            | (np.abs(turned - ranges) > _TELLS_M))


def _best_shift(old, new, telling, increment):
    """Return (beams to turn the new view by, share of telling beams that then are the same)."""
    most = min(round(_TURN_SEARCH_RAD / abs(increment)), len(old) // 2 - 1)
    shifts = np.arange(-most, most + 1)
    index = (np.flatnonzero(telling)[None, :] + shifts[:, None]) % len(old)
    seen = new[index]
    with np.errstate(invalid='ignore'):
        same = np.abs(seen - old[telling][None, :]) < TOLERANCE_M
    heard = np.isfinite(seen).sum(axis=1)
    share = np.where(heard >= FEWEST_TELLING, same.sum(axis=1) / np.maximum(heard, 1), 0.0)
    # Of equal ones, the least turn: a view without features is not turned.
    best = np.lexsort((np.abs(shifts), -np.round(share, 2)))[0]
    return int(shifts[best]), float(share[best])
