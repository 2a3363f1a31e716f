"""
CARMEN log files of 2D LiDARs: read them, and map them at their corrected poses.

Montemerlo, Roy and Thrun (2003). Reads ``FLASER``, as in the Radish data set (Howard and Roy,
2003), and ``ROBOTLASER1``; gzip or plain.
"""

from dataclasses import dataclass
import gzip
import math
from pathlib import Path

import numpy as np
from oomwoo_localization.frames import transform_points, wrap_angle
from oomwoo_localization.grids import FREE, OccupancyGrid, OCCUPIED, UNKNOWN
from oomwoo_localization.scans import beam_directions, Scan

NO_RETURN_M = 50.0  # from here on nothing is believed: SICK scanners list 81.83 for no return
GZIP_MAGIC = b'\x1f\x8b'


class LogError(ValueError):
    """A log with nothing to be used in it; the message names the file and why."""


@dataclass(frozen=True)
class LogScan:
    """A scan and the corrected plane pose (x, y, yaw) of the scanner it was taken from."""

    scan: Scan
    pose: np.ndarray


def read_carmen(path):
    """
    Return ``(scans, skipped)`` of a log file.

    All its :class:`LogScan`, and how many laser lines could not be used. Raises :class:`LogError`
    when there is not one scan with a pose.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == GZIP_MAGIC else raw).decode('utf-8', 'replace')
    except (OSError, EOFError) as error:
        raise LogError(f'{path}: cannot be read ({error})') from error
    scans, skipped = [], 0
    for line in text.splitlines():
        word, _, rest = line.partition(' ')
        parse = _PARSERS.get(word)
        if parse is None:
            continue
        try:
            scans.append(parse(rest.split()))
        except (ValueError, IndexError):
            skipped += 1
    if not scans:
        raise LogError(
            f'{path}: no FLASER or ROBOTLASER1 line with ranges and a pose ({skipped} broken)'
        )
    return scans, skipped


def _flaser(fields):
    """
    ``n r0 .. r(n-1) x y theta odom_x odom_y odom_theta timestamp ...``.

    The first beam at -90 degrees.
    """
    count = int(fields[0])
    ranges = _floats(fields[1:1 + count], count)
    pose = _floats(fields[1 + count:4 + count], 3)
    stamp = float(fields[7 + count]) if len(fields) > 7 + count else 0.0
    return _log_scan(ranges, -math.pi / 2, math.pi / count, pose, stamp)


def _robotlaser(fields):
    """``type start fov resolution max accuracy mode n ranges m remissions x y theta ..``."""
    start, resolution = float(fields[1]), float(fields[3])
    count = int(fields[7])
    ranges = _floats(fields[8:8 + count], count)
    remissions = int(fields[8 + count])
    at = 9 + count + remissions
    pose = _floats(fields[at:at + 3], 3)
    # Behind it: the robot's pose, two speeds, two safety distances, the turn axis, the time stamp.
    stamp = float(fields[at + 11]) if len(fields) > at + 11 else 0.0
    return _log_scan(ranges, start, resolution, pose, stamp, float(fields[4]))


_PARSERS = {'FLASER': _flaser, 'ROBOTLASER1': _robotlaser}


def _floats(words, count):
    values = np.array([float(word) for word in words])
    if len(values) != count or count < 1:
        raise ValueError(f'{len(values)} numbers instead of {count}')
    return values


def _log_scan(ranges, first, increment, pose, stamp, range_max=NO_RETURN_M):
    if not np.isfinite(pose).all() or increment == 0.0:
        raise ValueError('pose or angle is none')
    pose[2] = wrap_angle(pose[2])
    limit = min(range_max * 0.99, NO_RETURN_M)
    return LogScan(Scan(ranges, first, increment, 0.02, limit, stamp), pose)


def spaced(scans, metres=0.2, radians=0.2):
    """Return those scans that were taken at least that far from the one before."""
    kept = []
    for one in scans:
        if (
            not kept
            or math.hypot(*(one.pose - kept[-1].pose)[:2]) >= metres
            or abs(wrap_angle(one.pose[2] - kept[-1].pose[2])) >= radians
        ):
            kept.append(one)
    return kept


def map_of(scans, resolution=0.05, range_max=20.0, occupied_share=0.25):
    """
    Return the :class:`OccupancyGrid` of scans at their poses, by counting (Hähnel, 2004).

    A cell is occupied when at least ``occupied_share`` of the beams that came to it ended in it,
    free when beams only passed. Beams longer than ``range_max`` are left out.
    """
    ends, starts = [], []
    for one in scans:
        good = one.scan.valid() & (one.scan.ranges < range_max)
        local = beam_directions(one.scan)[good] * one.scan.ranges[good, None]
        ends.append(transform_points(one.pose, local))
        starts.append(np.broadcast_to(one.pose[:2], ends[-1].shape))
    if not ends or sum(map(len, ends)) == 0:
        raise LogError('no beam to map with')
    everything = np.concatenate(ends + [start[:1] for start in starts])
    low = np.floor(everything.min(axis=0) / resolution - 10) * resolution
    columns, rows = np.ceil((everything.max(axis=0) - low) / resolution + 10).astype(int)
    grid = OccupancyGrid(
        np.full((rows, columns), UNKNOWN, np.int8), resolution, (*low.tolist(), 0.0)
    )
    hits, passes = np.zeros(rows * columns, np.int32), np.zeros(rows * columns, np.int32)
    for start, end in zip(starts, ends):
        _count(grid, start, end, hits, passes)
    cells = grid.cells.ravel()
    cells[passes > 0] = FREE
    cells[(hits > 0) & (hits >= occupied_share * (hits + passes))] = OCCUPIED
    return OccupancyGrid(cells.reshape(rows, columns), resolution, grid.origin)


def _count(grid, starts, ends, hits, passes):
    """Add one scan's beams: each cell counts once as an end, or else once as passed."""
    columns = grid.shape[1]
    lengths = np.hypot(*(ends - starts).T)
    counts = np.maximum((lengths / grid.resolution).astype(int), 1)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    number = np.arange(counts.sum()) - np.repeat(first, counts)
    share = (number / np.repeat(counts, counts))[:, None]
    along = np.repeat(starts, counts, axis=0) + share * np.repeat(ends - starts, counts, axis=0)

    def cells_of(points):
        row, column = np.rint(grid.points_to_cells(points)).astype(int).T
        return np.unique(row * columns + column)

    ended = cells_of(ends)
    hits[ended] += 1
    passes[np.setdiff1d(cells_of(along), ended, assume_unique=True)] += 1
