"""
What the two rear infrared receivers read of the dock's beacon, from true positions.

A point source at the back of the bay, shaded to a cone by the bay's sides, and two receivers with
a baffle between them, which shades each from the other's side (a planar model; no reflections but
those that are asked for as glints).
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import inverse, transform_points, wrap_angle
from oomwoo_localization.settings import check_settings, setting


@dataclass(frozen=True)
class BeaconSettings:
    """Settings of :class:`IrBeacon`."""

    half_beam_deg: float = setting(
        40.0, 'light leaves the bay within this angle of straight out', 'deg', 5.0, 90.0)
    beam_edge_deg: float = setting(
        4.0, 'the light fades away over this angle beyond half_beam_deg', 'deg', 0.0, 30.0)
    emitter_recess_m: float = setting(
        0.33, 'from the mouth of the bay back to the emitter', 'm', 0.0, 1.0)
    half_range_m: float = setting(
        1.5, 'distance at which a receiver reads half of the most', 'm', 0.1, 20.0)
    lobe_exponent: float = setting(
        1.5, 'a receiver reads the cosine of the angle to its axis to this power', '', 0.5, 10.0)
    noise_std: float = setting(0.004, 'noise of a reading', '', 0.0, 0.5)
    relative_noise_std: float = setting(0.03, 'noise as a share of the reading', '', 0.0, 0.5)
    gain_error_std: float = setting(
        0.05, 'lasting relative error of a receiver', '', 0.0, 0.5)
    ambient: float = setting(0.005, 'what a receiver reads in daylight without beacon', '', 0.0,
                             1.0)


class IrBeacon:
    """A beacon in a dock and the receivers of one robot."""

    def __init__(self, robot, settings=None, seed=0, on=True, dead_receiver='none'):
        """
        Draw the receivers' gains.

        ``seed`` is an integer or a numpy Generator; ``dead_receiver`` is 'none', 'left', 'right'.
        """
        self.settings = check_settings(settings or BeaconSettings())
        self._receivers = robot.dock_receivers
        self.rng = np.random.default_rng(seed)
        self.on, self.dead_receiver = on, dead_receiver
        errors = np.clip(self.rng.standard_normal(2), -2.0, 2.0) * self.settings.gain_error_std
        self._gains = 1.0 + errors

    def emitter(self, dock_pose):
        """Return the emitter's (2,) position, metres, in the frame of ``dock_pose``."""
        return transform_points(dock_pose, [[-self.settings.emitter_recess_m, 0.0]])[0]

    def receivers(self, base_pose):
        """Return where the receivers are, (2,) metres, in the frame of ``base_pose``."""
        return transform_points(base_pose, [[self._receivers.x, 0.0]])[0]

    def read(self, base_pose, dock_pose, blocked=False, glints=()):
        """
        Return what (left, right) read, 0..1.

        ``base_pose`` and ``dock_pose`` are true plane poses in one frame. ``blocked`` tells
        whether something stands between emitter and receivers: a bool, or a callable that takes
        the two points. ``glints`` are further sources ``(x, y, brightness)``, a second robot or a
        reflection, that shine all around, with 1 as bright as the beacon.
        """
        at = self.receivers(base_pose)
        light = np.zeros(2)
        if self.on and dock_pose is not None:
            emitter = self.emitter(dock_pose)
            leaving = self._leaving(emitter, dock_pose[2], at)
            if leaving > 0.0 and not (blocked(emitter, at) if callable(blocked) else blocked):
                light += leaving * self._received(base_pose, at, emitter)
        for x, y, brightness in glints:
            light += brightness * self._received(base_pose, at, np.array([x, y]))
        noise = self.rng.standard_normal((2, 2))
        settings = self.settings
        reading = settings.ambient + self._gains * light
        reading = reading + reading * settings.relative_noise_std * noise[0]
        reading = np.clip(reading + settings.noise_std * noise[1], 0.0, 1.0)
        left, right = reading.tolist()
        return (0.0 if self.dead_receiver == 'left' else left,
                0.0 if self.dead_receiver == 'right' else right)

    def _leaving(self, emitter, facing, at):
        """Return the share of the emitter's light that leaves the bay towards a point."""
        settings = self.settings
        towards = math.atan2(at[1] - emitter[1], at[0] - emitter[0])
        beyond = math.degrees(abs(wrap_angle(towards - facing))) - settings.half_beam_deg
        if settings.beam_edge_deg == 0.0:
            return float(beyond <= 0.0)
        return min(1.0, max(0.0, 1.0 - beyond / settings.beam_edge_deg))

    def _received(self, base_pose, at, source):
        """Return what (left, right) read of a source as bright as the beacon."""
        receivers, settings = self._receivers, self.settings
        away = source - at
        # Angle from straight back, positive to the robot's left.
        off = -wrap_angle(math.atan2(away[1], away[0]) - base_pose[2] - math.pi)
        near = 1.0 / (1.0 + (away @ away) / settings.half_range_m ** 2)
        sides = np.array([1.0, -1.0])
        axis = sides * math.radians(receivers.yaw_offset_deg)
        lobe = np.maximum(np.cos(off - axis), 0.0) ** settings.lobe_exponent
        baffle = math.radians(receivers.baffle_deg)
        lit = np.clip(0.5 + sides * off / (2.0 * baffle), 0.0, 1.0)
        return near * lobe * lit


def line_is_blocked(solids, one, other):
    """Tell whether any of the primitives stands between two points (2,) in the plane."""
    one, other = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    return any(_crosses(part, one, other) for part in solids)


def _crosses(part, one, other):
    """Tell whether the line between two points meets a primitive's outline."""
    (ax, ay), (bx, by) = transform_points(
        inverse((part.x, part.y, part.yaw)), [one, other]).tolist()
    along = bx - ax, by - ay
    if part.kind == 'cylinder':
        square = along[0] ** 2 + along[1] ** 2
        share = 0.0 if square == 0.0 else -(ax * along[0] + ay * along[1]) / square
        share = min(1.0, max(0.0, share))
        return math.hypot(ax + share * along[0], ay + share * along[1]) < part.radius
    # Slabs (Kay and Kajiya, 1986).
    first, last = 0.0, 1.0
    for start, step, half in ((ax, along[0], part.half_x), (ay, along[1], part.half_y)):
        if abs(step) < 1e-12:
            if abs(start) >= half:
                return False
            continue
        enter, leave = sorted(((-half - start) / step, (half - start) / step))
        first, last = max(first, enter), min(last, leave)
    return first < last
