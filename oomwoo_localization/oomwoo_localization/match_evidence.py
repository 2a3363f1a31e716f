"""What speaks for a refined pose, and what against it, beam by beam."""

from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import transform_points
from oomwoo_localization.likelihood import Rays
from oomwoo_localization.relocalization import Winner
from oomwoo_localization.wall_lines import share_off_two_lines

HIT_M = 0.15  # an end this near a wall ends on it,
HIT_CELLS = 1.75  # and so does one within so many cells
RUN, CELL_M = 5, 0.05  # see stray()
# Near a wall, but not on it, is what is nearer than NEAR_M and off by more than so many times the
# spread of those that end on walls; that spread is at least this, and this part of a cell.
NEAR_M, BLUR_SPREADS, LEAST_SPREAD_M, LEAST_SPREAD_CELLS = 0.3, 2.5, 0.01, 0.3


@dataclass(frozen=True)
class Beams:
    """
    Masks (beams,) of what the map says to the beams of a scan at a pose.

    ``crossed`` pass through a wall; ``on_wall`` end on one; ``lost`` end off every wall and behind
    one, so that it would have had to go away; ``blurred`` end near a wall, but not on it.
    """

    crossed: np.ndarray
    on_wall: np.ndarray
    lost: np.ndarray
    blurred: np.ndarray


def beams_at(fields, ends, refined):
    """
    Return the :class:`Beams` of a :class:`~oomwoo_localization.refinement.Refined` pose.

    ``ends`` (beams, 2) around the scanner; ``fields`` are the map's
    :class:`~oomwoo_localization.likelihood.MapFields`.
    """
    resolution = fields.grid.resolution
    crossed = Rays(fields.fine, ends).crossed(*refined.pose[:, None])[0]
    hit_m = max(HIT_M, HIT_CELLS * resolution)
    on_wall = np.abs(refined.residuals) < hit_m
    lost = crossed & ~on_wall | (refined.residuals < -hit_m)
    return Beams(
        crossed, on_wall, lost, blurred(refined.residuals, on_wall, resolution) & ~crossed
    )


def blurred(residuals, on_wall, resolution):
    """
    Return the (beams,) mask of ends near a wall, but not on it.

    ``residuals`` (beams,) metres to the nearest surface. How near is on it goes by the spread of
    those that are, so that a noisy scanner has no more of them than a good one.
    """
    off = np.abs(residuals)
    spread = max(LEAST_SPREAD_M, LEAST_SPREAD_CELLS * resolution)
    if on_wall.any():
        spread = max(spread, 1.4826 * float(np.median(off[on_wall])))
    return (off > BLUR_SPREADS * spread) & (off < NEAR_M)


def stray(residuals, on_wall, resolution):
    """
    Return by how many cells runs of neighbouring ends stray from the walls they lie on, rms.

    ``residuals`` (beams,) metres, in the order of the sweep. Over a run of RUN ends noise averages
    out, and what is left at the true pose is by how much a wall drawn in cells is off: 0.3 of a
    cell. A cell counts as CELL_M at least. Infinite when nothing lies on walls.
    """
    ones = np.ones(RUN)
    count = np.convolve(on_wall, ones, 'valid')
    total = np.convolve(np.where(on_wall, residuals, 0.0), ones, 'valid')
    filled = count > RUN / 2
    if not filled.any():
        return math.inf
    off = total[filled] / count[filled]
    return float(np.sqrt((off**2).mean())) / max(CELL_M, resolution)


@dataclass(frozen=True)
class Shares:
    """
    What speaks for a pose and against it, in shares of the beams.

    ``score`` end on walls and came through none, ``through`` came through one, ``lost`` end
    nowhere behind one, ``in_way`` before all, ``blur`` a little off one; ``checked`` end on others
    than the two longest. ``strays`` see :func:`stray`.
    """

    score: float
    through: float
    lost: float
    in_way: float
    blur: float
    checked: float
    strays: float


def shares_of(fields, ends, explained, refined):
    """Return the :class:`Shares` of a refined pose, of which ``explained`` lie on walls."""
    beams = beams_at(fields, ends, refined)
    on_wall = beams.on_wall
    placed = transform_points(refined.pose, ends)
    return Shares(
        score=explained - float((beams.crossed & on_wall).mean()),
        through=float(beams.crossed.mean()),
        lost=float(beams.lost.mean()),
        in_way=float((~on_wall & ~beams.lost & ~beams.crossed).mean()),
        blur=float(beams.blurred.mean()),
        checked=share_off_two_lines(fields, placed, on_wall),
        strays=stray(refined.residuals, on_wall & ~beams.crossed, fields.grid.resolution),
    )


def weigh(fields, settings, ends, explained, refined, near):
    """
    Return a refined pose as a :class:`~oomwoo_localization.relocalization.Winner`.

    With the lead that it needs over others, and with the first thing there is against it alone.
    ``explained`` is the share of beams on walls that the search found, ``near`` whether the pose
    stayed near what was found.
    """
    shares = shares_of(fields, ends, explained, refined)
    needed = settings.margin(
        shares.score, shares.blur, shares.in_way, shares.lost, shares.checked
    )
    against = _against(settings, shares, needed) or _free(settings, refined, near)
    if needed > settings.most_margin:
        needed = 2.0 * settings.least_margin  # Who comes closer is the better reason to refuse.
    return Winner(refined, explained, shares.score, shares.through, needed, against)


def _against(settings, shares, needed):
    """Return ``(reason_code, message)``, or None where nothing speaks against a pose."""
    s = shares
    if s.score < settings.least_score:
        return 'low_score', (
            f'the best pose explains {max(0.0, s.score):.0%} of the scan; '
            f'{settings.least_score:.0%} is needed'
        )
    if s.through > settings.most_crossed or s.lost > settings.most_lost:
        return 'through_walls', (
            f'at the best pose {s.through:.0%} of the beams would pass through walls, '
            f'and {s.lost:.0%} would end nowhere behind them'
        )
    if needed > settings.most_margin:
        return 'doubtful', (
            f'{s.score:.0%} explained, {s.blur:.0%} a little off, {s.in_way:.0%} in the way, '
            f'{s.lost:.0%} behind walls and only {s.checked:.0%} on walls other than two: '
            'too much against it, and too little to check it by'
        )
    if s.strays > settings.most_stray:
        return 'doubtful', (
            f'whole runs of what lies on walls lie beside them, by {s.strays:.1f} cells; '
            f'{settings.most_stray:.1f} are allowed'
        )
    if s.checked < max(settings.least_checked, settings.checked_ratio * (1.0 - s.score)):
        return 'two_walls', (
            f'only {s.checked:.0%} of the scan lies on walls other than two, which fit any '
            f'corner, and {1.0 - s.score:.0%} is not explained'
        )
    return None


def _free(settings, refined, near):
    """Return ``(reason_code, message)`` where a direction is free, else None."""
    std_m, std_deg = refined.std_m, math.degrees(refined.std_rad)
    if near and std_m <= settings.most_std_m and std_deg <= settings.most_std_deg:
        return None
    return (
        'free_direction',
        f'the scan leaves the pose free by {std_m:.2f} m and {std_deg:.1f} degrees',
    )
