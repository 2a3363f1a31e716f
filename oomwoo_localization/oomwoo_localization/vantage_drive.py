"""One straight drive to another view, guarded by scan and bumper."""

from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import wrap_angle

LEAST_POINTS = 30  # with fewer returns one does not drive
SEEN_WITHIN_RAD = math.radians(15.0)
LEAST_SEEN = 3  # returns that have to lie about a direction, else it is not known to be open


@dataclass(frozen=True)
class Way:
    """
    A straight drive.

    ``heading`` rad in odom, ``length_m``; ``gain`` is the share of what is seen that tells the
    candidates apart where it leads to in the end, NaN when that is not known, and ``target_m`` how
    far that is.
    """

    heading: float
    length_m: float
    gain: float = math.nan
    target_m: float = math.nan


def open_ways(points, headings, half_width_m):
    """
    Return (H,) metres that a disk at the origin can go in each heading until it touches a point.

    ``points`` (N, 2) in the robot's frame, ``headings`` (H,) rad, ``half_width_m`` the disk's
    radius. Infinite where nothing is in the way, zero where too few returns lie about the heading
    to know.
    """
    points = np.asarray(points, dtype=float).reshape(-1, 2)
    headings = np.asarray(headings, dtype=float)
    along = np.cos(headings)[:, None] * points[:, 0] + np.sin(headings)[:, None] * points[:, 1]
    across = np.cos(headings)[:, None] * points[:, 1] - np.sin(headings)[:, None] * points[:, 0]
    inside = np.sqrt(np.maximum(half_width_m**2 - across**2, 0.0))
    blocked = (np.abs(across) < half_width_m) & (along > 0.0)
    free = np.where(blocked, np.maximum(along - inside, 0.0), np.inf).min(axis=1, initial=np.inf)
    bearings = np.arctan2(points[:, 1], points[:, 0])
    near = np.abs(wrap_angle(bearings[None, :] - headings[:, None])) < SEEN_WITHIN_RAD
    return np.where(near.sum(axis=1) < LEAST_SEEN, 0.0, free)


@dataclass(frozen=True)
class DriveStep:
    """A command; ``done`` with a ``reason``: arrived, blocked, bumped, late, blind."""

    linear: float
    angular: float
    done: bool = False
    reason: str = ''


STAND = DriveStep(0.0, 0.0)


class VantageDrive:
    """Turns to a heading and drives a length, guarded by scan and bumper."""

    def __init__(self, way, odom, time_s, settings, body_radius_m):
        """Begin the drive of ``way`` at ``odom`` (3,)."""
        self._way, self._settings = way, settings
        self._from, self._began_s = np.array(odom, dtype=float), time_s
        self._half_width = body_radius_m + settings.body_margin_m
        self._turning = True
        self._bumped_at = None

    def step(self, time_s, odom, points, bumped):
        """
        Return the :class:`DriveStep`.

        ``odom`` (3,) now, ``points`` (N, 2) of the latest scan in the robot's frame or None when
        that is stale.
        """
        settings, odom = self._settings, np.asarray(odom, dtype=float)
        if time_s - self._began_s > settings.drive_s:
            return DriveStep(0.0, 0.0, True, 'late')
        if points is None or len(points) < LEAST_POINTS:
            return DriveStep(0.0, 0.0, True, 'blind')
        if bumped or self._bumped_at is not None:
            return self._back_off(odom, points)
        error = wrap_angle(self._way.heading - odom[2])
        if self._turning and abs(error) > math.radians(2.0):
            return DriveStep(
                0.0, float(np.clip(3.0 * error, -settings.turn_speed, settings.turn_speed))
            )
        self._turning = False
        gone = math.hypot(*(odom - self._from)[:2])
        left = self._way.length_m - gone
        if left <= 0.0:
            return DriveStep(0.0, 0.0, True, 'arrived')
        ahead = float(open_ways(points, [0.0], self._half_width)[0]) - settings.body_margin_m / 2
        if ahead <= 0.0:
            return DriveStep(0.0, 0.0, True, 'blocked')
        speed = min(settings.drive_speed, max(0.03, left), max(0.03, ahead))
        return DriveStep(speed, float(np.clip(1.5 * error, -0.5, 0.5)))

    def _back_off(self, odom, points):
        if self._bumped_at is None:
            self._bumped_at = odom.copy()
        gone = math.hypot(*(odom - self._bumped_at)[:2])
        behind = float(
            open_ways(points, [math.pi], self._half_width - self._settings.body_margin_m)[0]
        )
        if gone >= self._settings.back_off_m or behind < 0.03:
            return DriveStep(0.0, 0.0, True, 'bumped')
        return DriveStep(-0.08, 0.0)
