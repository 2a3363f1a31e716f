"""A bump map on disk (NAME.npz): touches, where the body has been, and which map they lie on."""
import math
import os
from pathlib import Path
import zipfile
import zlib

import numpy as np
from numpy.lib import format as npy
from oomwoo_clean.bump_contact import Contact, DIRECTIONS, HALVES
from oomwoo_localization.frames import compose, inverse, wrap_angle
from scipy import ndimage

_FORMAT = 1
_MOST_ROWS = 1_000_000        # of any field: a home has some thousands
_MOST_BYTES = 1 << 28
_PLACE_TOLERANCE = 1e-6       # metres, radians: a grid's place that came through a message
_SAME_SHARE, _WALL_SHARE = 0.9, 0.8          # of a map that has grown, the cells that still agree


class BumpMapFileError(ValueError):
    """A saved bump map that cannot be used; the message names the file and why."""


def save_bump_map(path, contacts, centres, reference):
    """
    Write touches, the body's ``centres`` (M, 2) and the map's grid they lie on (or None).

    Whole or not at all; raises OSError.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + '.part')
    shape, placing, checksum = _identity(reference)
    with draft.open('wb') as stream:
        np.savez(
            stream, format=np.array(_FORMAT), map_shape=shape, map_placing=placing,
            map_checksum=checksum,
            poses=np.array([c.pose for c in contacts]).reshape(-1, 3),
            sides=np.array([list(HALVES).index(c.side) for c in contacts], dtype=int),
            azimuths=np.array([c.azimuths for c in contacts]).reshape(-1, DIRECTIONS),
            alive=np.array([c.alive for c in contacts], dtype=bool).reshape(-1, DIRECTIONS),
            counts=np.array([c.count for c in contacts], dtype=int),
            centres=centres)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(draft, path)


def load_bump_map(path, reference):
    """
    Return (contacts, centres (M, 2)) of a file.

    Raises :class:`BumpMapFileError` when it is unreadable, or of another map than ``reference``
    (None takes any).
    """
    try:
        state = _read(path)
    except Exception as error:       # zip, its compressors, npy headers, memory, the file system
        raise BumpMapFileError(f'{path}: is no saved bump map ({_said(error)})') from error
    try:
        if int(state['format']) != _FORMAT:
            raise BumpMapFileError(
                f'{path}: is of format {int(state["format"])}, this program reads {_FORMAT}')
        _check_map(path, state, reference)
        return _contacts(path, state), _numbers(path, state, 'centres', 2)
    except KeyError as error:
        raise BumpMapFileError(f'{path}: field {error} is missing') from error
    except (TypeError, IndexError, ValueError, OverflowError, MemoryError) as error:
        if isinstance(error, BumpMapFileError):
            raise
        raise BumpMapFileError(f'{path}: is no saved bump map ({_said(error)})') from error


def same_home(old, new):
    """
    Tell whether the :class:`OccupancyGrid` ``new`` shows the home of ``old``.

    It does when it is the same map, or one that SLAM has grown from it: same resolution and
    orientation, cells on the same raster, all of the old ones among them and nearly all as they
    were. Walls may move by one cell.
    """
    if not math.isclose(old.resolution, new.resolution, rel_tol=0.0, abs_tol=_PLACE_TOLERANCE):
        return False
    if abs(wrap_angle(old.origin[2] - new.origin[2])) > _PLACE_TOLERANCE:
        return False
    shift = compose(inverse(new.origin), old.origin)[:2] / new.resolution
    column, row = np.rint(shift).astype(int)
    rows, columns = old.shape
    if np.abs(shift - [column, row]).max() > 0.01 or min(row, column) < 0:
        return False
    if row + rows > new.shape[0] or column + columns > new.shape[1]:
        return False
    window = slice(row, row + rows), slice(column, column + columns)
    known, walls = old.cells >= 0, old.obstacles
    agree = (new.cells[window] >= 0) & (new.obstacles[window] == walls)
    near_walls = ndimage.binary_dilation(new.obstacles, np.ones((3, 3)))[window]
    return _share(agree, known) >= _SAME_SHARE and _share(near_walls, walls) >= _WALL_SHARE


def _share(mask, of):
    """Return the share of ``of`` where ``mask`` holds; 1 of nothing."""
    return float(mask[of].mean()) if of.any() else 1.0


def _said(error):
    """Return an exception in words; some of them have none."""
    return str(error) or type(error).__name__


def _read(path):
    """Return {field: array} of an .npz, none larger than a bump map can be; raises anything."""
    state = {}
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            name = entry.removesuffix('.npy')
            with archive.open(entry) as stream:
                version = npy.read_magic(stream)
                header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
                shape, _, kind = header[version](stream)
            rows, size = shape[0] if shape else 1, math.prod(shape) * kind.itemsize
            if not 0 <= rows <= _MOST_ROWS or not 0 <= size <= _MOST_BYTES:
                raise ValueError(f'field {name!r} claims the shape {shape}')
            with archive.open(entry) as stream:
                state[name] = npy.read_array(stream, allow_pickle=False)
    return state


def _contacts(path, state):
    poses = _numbers(path, state, 'poses', 3)
    azimuths = _numbers(path, state, 'azimuths', DIRECTIONS)
    alive = state['alive'].astype(bool)
    sides, counts = state['sides'].astype(int), state['counts'].astype(int)
    if not len(poses) == len(azimuths) == len(alive) == len(sides) == len(counts):
        raise BumpMapFileError(f'{path}: its touches are of different numbers')
    if len(alive) and (alive.shape[1] != DIRECTIONS or not alive.any(axis=1).all()):
        raise BumpMapFileError(f'{path}: a touch has no direction left')
    names = list(HALVES)
    return [
        Contact(
            names[sides[i]], poses[i], -math.inf, 0, azimuths[i], pose=poses[i], alive=alive[i],
            count=int(counts[i]), first_pose=poses[i], running=False, settled=True)
        for i in range(len(poses))]


def _numbers(path, state, name, columns):
    array = state[name].astype(float)
    if array.ndim != 2 or array.shape[1] != columns or not np.isfinite(array).all():
        raise BumpMapFileError(f'{path}: field {name!r} holds no numbers in {columns} columns')
    return array


def _identity(grid):
    """Return shape (2,), resolution and origin (4,), and a checksum of a map's cells."""
    if grid is None:
        return np.zeros(2, dtype=int), np.zeros(4), np.array(0)
    cells = np.ascontiguousarray(grid.cells, dtype=np.int8)
    return (np.array(grid.shape), np.array([grid.resolution, *grid.origin]),
            np.array(zlib.crc32(cells.tobytes())))


def _check_map(path, state, reference):
    shape, placing, checksum = _identity(reference)
    saved = state['map_shape'].astype(int)
    if reference is None or not saved.any():
        return
    if tuple(saved) != tuple(shape):
        raise BumpMapFileError(
            f'{path}: belongs to another map: {saved[1]} x {saved[0]} cells, and not '
            f'{shape[1]} x {shape[0]}')
    for name, old, new in zip(
            ('resolution', 'origin x', 'origin y', 'origin yaw'), state['map_placing'], placing):
        if not math.isclose(float(old), float(new), rel_tol=0.0, abs_tol=_PLACE_TOLERANCE):
            raise BumpMapFileError(
                f'{path}: belongs to another map: its {name} is {float(old):g}, and not {new:g}')
    if int(state['map_checksum']) != int(checksum):
        raise BumpMapFileError(f'{path}: belongs to another map of the same size and place')
