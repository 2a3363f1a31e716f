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


def weigh(fields, settings, ends, explained, refined, near):
    """
    Return a refined pose as a :class:`~oomwoo_localization.relocalization.Winner`.

    With the lead that it needs over others, and with the first thing there is against it alone.
    ``explained`` is the share of beams on walls that the search found, ``near`` whether the pose
    stayed near what was found.
    """
    beams = beams_at(fields, ends, refined)
    through, lost = float(beams.crossed.mean()), float(beams.lost.mean())
    in_way = float((~beams.on_wall & ~beams.lost & ~beams.crossed).mean())
    # A beam that came through a wall does not count as one on a wall.
    score = explained - float((beams.crossed & beams.on_wall).mean())
    checked = share_off_two_lines(fields, transform_points(refined.pose, ends), beams.on_wall)
    blur = float(beams.blurred.mean())
    needed = settings.margin(score, blur, in_way, lost, checked)
    std_m, std_deg = refined.std_m, math.degrees(refined.std_rad)
    against = None
    if score < settings.least_score:
        against = (
            'low_score',
            (
                f'the best pose explains {max(0.0, score):.0%} of the scan; '
                f'{settings.least_score:.0%} is needed'
            ),
        )
    elif through > settings.most_crossed or lost > settings.most_lost:
        against = (
            'through_walls',
            (
                f'at the best pose {through:.0%} of the beams would pass through walls, '
                f'and {lost:.0%} would end nowhere behind them'
            ),
        )
    elif checked < settings.least_checked:
        against = (
            'two_walls',
            f'only {checked:.0%} of the scan lies on walls other than two, which fit any corner',
        )
    elif not near or std_m > settings.most_std_m or std_deg > settings.most_std_deg:
        against = (
            'free_direction',
            (f'the scan leaves the pose free by {std_m:.2f} m and {std_deg:.1f} degrees'),
        )
    elif needed > settings.most_margin:
        against = (
            'doubtful',
            (
                f'{score:.0%} explained, {blur:.0%} a little off, {in_way:.0%} in the way, '
                f'{lost:.0%} behind walls and only {checked:.0%} on walls other than two: '
                'too much against it, and too little to check it by'
            ),
        )
    if needed > settings.most_margin:
        needed = 2.0 * settings.least_margin  # Who comes closer is the better reason to refuse.
    return Winner(refined, explained, score, through, needed, against)
