"""
A scan that is spoilt on purpose, the map that it is asked on, and the truth.

What was spoilt is known exactly, so that one can say which trials could be solved at all.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import compose, inverse, matrix_from_xyzrpy, wrap_angle
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.scans import Scan
from oomwoo_sim_support.reloc_worlds import (
    box,
    disc,
    draw_map,
    holds,
    make_scan,
    ranges_to,
    wall_distance,
)

MOUNT = (0.0745, 0.0, 0.088)  # of the scanner, as on the robot
MAPPED_FROM = 30  # places: what can be seen from none stays unknown
AGREES_M = 0.05  # between the mapped and the present world


@dataclass(frozen=True)
class RelocTrial:
    """
    One question to the relocalizer and its right answer.

    ``truth`` is the base's pose in the map frame, None where the robot is not in the map at all.
    ``seen`` (beams,) are the exact ranges of the present world, NaN where the scan has no return;
    ``intact`` (beams,) the same where the mapped world looks like that, too, else NaN. ``mapped``
    are the segments of the mapped world.
    """

    kind: str
    seed: int
    grid: OccupancyGrid
    scan: Scan
    base_from_scan: np.ndarray
    truth: np.ndarray
    seen: np.ndarray
    intact: np.ndarray
    mapped: np.ndarray


@dataclass
class Spoiling:
    """What is done to a scan; a kind of trial sets some of it."""

    noise_m: float = 0.01
    blocked: float = 0.0  # share of the beams that should end on what is not in the map
    dropouts: float = 0.0
    glass: float = 0.0  # share of the turn without any return
    field_of_view: float = 2 * math.pi
    beams: int = 360
    range_max: float = 8.0
    resolution: float = 0.05
    ragged_m: float = 0.0
    origin_yaw: float = 0.0


def spoilt_trial(kind, seed, rng, spoiling, mapped, present, inside):
    """
    Return the :class:`RelocTrial` of a place in ``present`` on a map of ``mapped``, both rooms.

    ``inside`` tells whether that place is in the map at all. None where there is none to stand, or
    too little of the scan is left to ask with.
    """
    place = present.place(rng)
    if place is None:
        return None
    heading = rng.uniform(-math.pi, math.pi)
    scanner = np.array([*place, heading])
    segments = _block(rng, spoiling, present, mapped, scanner)
    scan, seen = make_scan(
        segments,
        scanner,
        spoiling.beams,
        spoiling.field_of_view,
        spoiling.range_max,
        rng,
        spoiling.noise_m,
    )
    angles = scanner[2] + scan.angle_min + scan.angle_increment * np.arange(len(seen))
    _drop(rng, spoiling, scan.ranges)
    seen[~scan.valid()] = np.nan
    intact = seen.copy()
    with np.errstate(invalid='ignore'):
        intact[~(np.abs(ranges_to(mapped.segments, scanner[:2], angles) - seen) <= AGREES_M)] = (
            np.nan
        )
    if scan.valid().sum() < 20:
        return None
    known = [mapped.place(rng) for _ in range(MAPPED_FROM)]
    if inside and not any(holds(piece, place) for piece in mapped.furniture):
        known.append(place)
    known = [one for one in known if one is not None]
    if not known:
        return None
    grid = draw_map(
        mapped.segments,
        spoiling.resolution,
        spoiling.origin_yaw,
        np.stack(known),
        rng,
        spoiling.ragged_m,
    )
    turned = math.pi if rng.random() < 0.2 else 0.0
    mount = matrix_from_xyzrpy(*MOUNT, yaw=turned)
    truth = compose(scanner, inverse((*MOUNT[:2], turned)))
    truth[2] = wrap_angle(truth[2])
    if not inside:
        intact[:] = np.nan
    return RelocTrial(
        kind, seed, grid, scan, mount, truth if inside else None, seen, intact, mapped.segments
    )


def _block(rng, spoiling, present, mapped, scanner):
    """Return the present segments with things set up that block about the wanted share."""
    segments = present.segments
    angles = np.arange(180) * (2 * math.pi / 180)
    free = ranges_to(segments, scanner[:2], angles)
    missing = spoiling.blocked
    for _ in range(40):
        if missing < 0.02:
            break
        distance, bearing = rng.uniform(0.25, 2.5), rng.uniform(0, 2 * math.pi)
        x, y = scanner[0] + distance * math.cos(bearing), scanner[1] + distance * math.sin(bearing)
        thing = (
            disc(x, y, rng.uniform(0.05, 0.35))
            if rng.random() < 0.4
            else box(x, y, *rng.uniform(0.05, 1.5, 2), rng.uniform(0, math.pi))
        )
        if holds(thing, scanner[:2]) or wall_distance(thing, scanner[None, :2])[0] < 0.18:
            continue
        more = np.concatenate([segments, thing])
        blocked = (ranges_to(more, scanner[:2], angles) < free - AGREES_M).mean()
        if blocked <= spoiling.blocked + 0.02:
            segments, missing = more, spoiling.blocked - blocked
    return segments


def _drop(rng, spoiling, ranges):
    """Take returns out of a scan, in place: single ones, and sectors of glass."""
    beams = len(ranges)
    nothing = rng.choice([np.inf, np.nan, 0.0])
    ranges[rng.random(beams) < spoiling.dropouts] = nothing
    left = spoiling.glass
    while left > 0.01:
        width = min(left, rng.uniform(0.05, 0.2))
        first = rng.integers(beams)
        ranges[np.arange(first, first + int(width * beams)) % beams] = nothing
        left -= width
