"""
A spinning LiDAR on a serial port: bytes to turns, turns to evenly spaced beams.

The protocols of two dozen models are those of the package ``lds2d`` (Apache-2.0); what is added
here is grouping into turns for either direction of rotation, the beams of a LaserScan, and a port
that may be unplugged. No ROS.
"""
from contextlib import suppress
from dataclasses import dataclass
import math
import threading

import numpy as np
from oomwoo_localization.settings import setting, SettingError

COUNTERCLOCKWISE, TIME = 'counterclockwise', 'time'
_READ_TIMEOUT_S = 0.2
_RETRY_S = 1.0
_FULL_TURN_DEG = 300.0        # what comes to less, between two wraps, lacks packets
_SLOWEST_S, _FASTEST_S = 1.0, 0.04
_MOST_POINTS = 20000          # of one turn; more are noise that passes for data
_MM_PER_M = 1000.0
_NO_RANGE_M = 0.001           # lds2d's word for no return is 0


@dataclass(frozen=True)
class LidarSettings:
    """Which LiDAR, where, and what its turns become."""

    model: str = setting(
        'LDROBOT-LD14P', 'model, as lds2d names it (lds2d.available_models())', live=False)
    port: str = setting('/dev/oomwoo_lidar', 'serial device', live=False)
    baud: int = setting(0, 'baud rate; 0: as the model has it', 'Bd', 0, 4000000, live=False)
    scan_hz: float = setting(
        0.0, 'turns per second to ask for; 0: as the LiDAR comes', 'Hz', 0.0, 20.0, live=False)
    pwm_pin: int = setting(
        18, 'GPIO that drives the motor of a model that cannot do so itself', '', 0, 27,
        live=False)
    clockwise: bool = setting(
        True, "the model's angles grow clockwise, seen from above", live=False)
    order: str = setting(
        COUNTERCLOCKWISE,
        'order of the beams: counterclockwise (slam_toolbox takes no other), with the stamp in '
        'the middle of a clockwise turn; or time, from the first to the last',
        choices=(COUNTERCLOCKWISE, TIME), live=False)


@dataclass(frozen=True)
class Turn:
    """
    One turn of the LiDAR as it came.

    ``angles_deg`` (N,) in the sensor's own sense, ``ranges_m`` (N,) with 0 for no return,
    ``qualities`` (N,), and the times of its first point and of the next turn's first, seconds.
    """

    angles_deg: np.ndarray
    ranges_m: np.ndarray
    qualities: np.ndarray
    start_s: float
    end_s: float

    @property
    def duration_s(self):
        """Seconds of the turn."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Beams:
    """
    A turn as a LaserScan has it.

    ``ranges`` (N,) metres: infinite where nothing came back, NaN where nothing was measured.
    ``stamp_s`` is the time of beam 0, or the middle of the turn where beams are not in order of
    time and ``time_increment_s`` is 0.
    """

    ranges: np.ndarray
    intensities: np.ndarray
    angle_min: float
    angle_increment: float
    stamp_s: float
    time_increment_s: float
    scan_time_s: float


class TurnAssembler:
    """
    Groups points into turns, at the wrap of their angle in either direction.

    What cannot be a whole turn is dropped and counted: the first, which began anywhere, and turns
    that lack packets or took a time that no LiDAR takes.
    """

    def __init__(self):
        """Wait for the first wrap."""
        self.dropped = 0
        self.forget()

    def forget(self):
        """Forget the turn that has begun."""
        self._points, self._previous_deg, self._start_s = [], None, None

    def add(self, angle_deg, range_mm, quality, now_s):
        """Take one point; return the :class:`Turn` that it ends, or None."""
        ended = None
        previous, self._previous_deg = self._previous_deg, angle_deg
        if previous is not None and abs(angle_deg - previous) > 180.0:
            ended = self._end(now_s)
            self._points, self._start_s = [], now_s
        if len(self._points) < _MOST_POINTS:
            self._points.append((angle_deg, range_mm, quality))
        return ended

    def _end(self, now_s):
        if self._start_s is None:
            return None
        angles, ranges, qualities = np.array(self._points, dtype=float).T
        turn = Turn(angles, ranges / _MM_PER_M, qualities, self._start_s, now_s)
        whole = (
            len(np.unique(np.floor(angles / 5.0))) * 5.0 >= _FULL_TURN_DEG
            and _FASTEST_S <= turn.duration_s <= _SLOWEST_S and len(angles) < _MOST_POINTS)
        if not whole:
            self.dropped += 1
        return turn if whole else None


def beams_of(turn, count, range_min, range_max, clockwise=True, order=COUNTERCLOCKWISE):
    """
    Return the :class:`Beams` of a turn: ``count`` of them, evenly spaced.

    A beam takes the nearest of the points that fall to it, since a thing that is in the way
    matters more than the wall behind it. Ranges outside ``[range_min, range_max)`` metres are no
    returns.
    """
    step = 2.0 * math.pi / count
    sense = -1.0 if clockwise else 1.0
    in_time = order == TIME or not clockwise
    # In order of time, beam 0 is where the sensor's own angle begins.
    first, increment = (0.0, sense * step) if in_time else (-math.pi, step)
    angles = sense * np.radians(turn.angles_deg)
    beams = np.round((angles - first) / increment).astype(int) % count
    seen = (turn.ranges_m >= max(range_min, _NO_RANGE_M)) & (turn.ranges_m < range_max)
    ranges = np.full(count, np.nan)
    ranges[beams] = np.inf
    np.fmin.at(ranges, beams[seen], turn.ranges_m[seen])
    intensities = np.zeros(count)
    np.maximum.at(intensities, beams[seen], turn.qualities[seen])
    start, apart = (turn.start_s, turn.duration_s / count) if in_time else (
        (turn.start_s + turn.end_s) / 2.0, 0.0)
    return Beams(ranges, intensities, first, increment, start, apart, turn.duration_s)


class _Ended(Exception):
    """The reader was told to end."""


class _Port:
    """What lds2d reads from: a serial port that gives what is there, and can be told to end."""

    def __init__(self, device, baud, clock):
        import serial
        self._serial = serial.Serial(device, baud, timeout=_READ_TIMEOUT_S, exclusive=True)
        self._clock = clock
        self.received = 0
        self.time_s = clock()           # when bytes came last
        self.ended = threading.Event()

    def read(self, size):
        if self.ended.is_set():
            raise _Ended
        data = self._serial.read(min(size, max(1, self._serial.in_waiting)))
        if data:
            self.received += len(data)
            self.time_s = self._clock()
        return data

    def write(self, data):
        return self._serial.write(data)

    def close(self):
        self._serial.close()


def driver_options(settings):
    """
    Return (baud, further arguments) for a model.

    Raises :class:`~oomwoo_localization.settings.SettingError` for a model that there is none of,
    and for a missing ``lds2d``.
    """
    try:
        from lds2d.core import available_models, driver_for
        import lds2d.drivers  # noqa: F401
    except ImportError as error:
        raise SettingError(
            f'lidar_driver: the Python package lds2d is not installed ({error}): make setup, or '
            'pip install lds2d') from error
    kind = driver_for(settings.model)
    if kind is None:
        raise SettingError(
            f'model: {settings.model!r} is none of {", ".join(available_models())}')
    motor = {'pwm': 'software', 'pwm_pin': settings.pwm_pin} if kind.NEEDS_MOTOR else {}
    return settings.baud or kind.DEFAULT_BAUD, motor


class LidarReader:
    """
    Reads turns in a thread of its own, and opens the port again when it was gone.

    ``on_turn(turn)`` is called in that thread; ``clock()`` returns the time in seconds.
    """

    def __init__(self, settings, on_turn, clock):
        """Start to read; raises SettingError for a model that cannot be had."""
        self._settings, self._on_turn, self._clock = settings, on_turn, clock
        self._baud, self._motor = driver_options(settings)
        self._ended = threading.Event()
        self._port = None
        self._assembler = TurnAssembler()
        self.turns = 0
        self.error = ''                 # why the port cannot be read, while it cannot
        self._thread = threading.Thread(target=self._run, name='lidar', daemon=True)
        self._thread.start()

    @property
    def received(self):
        """Bytes that came from the port as it is open now."""
        return self._port.received if self._port is not None else 0

    @property
    def dropped(self):
        """Turns that were no whole ones."""
        return self._assembler.dropped

    def close(self):
        """End the thread; the motor is stopped and the port is free afterwards."""
        self._ended.set()
        if self._port is not None:
            self._port.ended.set()
        self._thread.join(timeout=5.0 * _READ_TIMEOUT_S + _RETRY_S)

    def _run(self):
        while not self._ended.is_set():
            try:
                self._read()
            except _Ended:
                return
            except (OSError, ValueError, ImportError) as error:
                self.error = f'{self._settings.port}: {error or type(error).__name__}'
            self._ended.wait(_RETRY_S)

    def _read(self):
        """Open the port and take in points for as long as it gives any."""
        import lds2d
        self._port = port = _Port(self._settings.port, self._baud, self._clock)
        lidar = None
        try:
            lidar = lds2d.Lidar.open(self._settings.model, transport=port, **self._motor)
            with suppress(lds2d.NotSupportedError):     # of a model that turns by itself
                lidar.start()
            if self._settings.scan_hz:
                try:
                    lidar.set_scan_freq(self._settings.scan_hz)
                except lds2d.NotSupportedError as error:
                    raise ValueError(f'scan_hz: {error}') from error
            self._assembler.forget()
            self.error = ''
            for point in lidar.points():
                turn = self._assembler.add(
                    point.angle_deg, point.dist_mm, point.quality, port.time_s)
                if turn is not None:
                    self.turns += 1
                    self._on_turn(turn)
        finally:
            if lidar is not None:
                with suppress(lds2d.NotSupportedError, OSError, _Ended):
                    lidar.stop()
            with suppress(OSError):
                (lidar or port).close()
