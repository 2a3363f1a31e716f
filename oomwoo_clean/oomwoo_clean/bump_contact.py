"""
One touch of the bumper: where on the shell it can have been, and what speaks against that.

A switch tells a half of the bumper and not a point, so that a contact is kept as the arc of
directions from which it can have come. Every later pose of the body takes away those directions
that it proves wrong.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import compose, wrap_angle
from oomwoo_localization.settings import setting

LEFT, RIGHT, BOTH = 'left', 'right', 'both'
HALVES = {LEFT: (LEFT,), RIGHT: (RIGHT,), BOTH: (LEFT, RIGHT)}
DIRECTIONS = 19               # that an arc is divided into: less than 5 degrees apart
_BACK_M = 0.015               # a robot that backs up this far takes the bump for solid ...
_TURN_RAD = math.radians(40.0)              # ... and so does one that turns away this far
_SAME_M, _SAME_RAD = 0.02, math.radians(20.0)     # a touch this near an old one is the same
_ALONG = math.sin(math.radians(20.0))       # a surface slid along lies across the way, this well
_GRAZED = math.sin(math.radians(10.0))      # a switch that lets go on the way grazed that at most
# Gone on straight: no more than this of the arc is left. A press that is held all along is a
# surface that the robot leans on at a small angle, or a heavy curtain, of which a side is left.
_SOFT_BELOW, _SLID_SOFT_BELOW = 0.1, 0.04


@dataclass(frozen=True)
class BumpMapSettings:
    """Settings of the bump map."""

    contact_radius_m: float = setting(
        0.03, 'half the width of what a contact makes solid', 'm', 0.005, 0.3)
    segment_gap_m: float = setting(
        0.3, 'neighbouring contacts at most this far apart belong to one wall', 'm', 0.05, 2.0)
    correction_window_s: float = setting(
        2.0, "a contact younger than this moves with the localizer's corrections", 's', 0.0, 60.0)
    hold_s: float = setting(
        30.0, 'how long a contact felt while lost waits for a place', 's', 0.0, 600.0)
    debounce_s: float = setting(
        0.06, 'a press this soon after the release is the same one', 's', 0.0, 2.0)
    both_s: float = setting(
        0.06, 'halves pressed within this time were pressed by one thing ahead', 's', 0.0, 0.5)
    nose_overlap_deg: float = setting(
        8.0, 'what touches this near to straight ahead presses both halves', 'deg', 0.0, 45.0)
    cover_margin_m: float = setting(
        0.03, 'this deep under the body nothing solid can be', 'm', 0.005, 0.15)
    through_m: float = setting(
        0.05, 'a bump that does not stop the robot for this long a way was none', 'm', 0.01, 0.5)
    held_spacing_m: float = setting(
        0.05, 'sliding along a surface with the bumper held makes a contact every', 'm',
        0.01, 1.0)
    stuck_m: float = setting(
        0.08, 'a bumper still pressed this far back from the contact is stuck', 'm', 0.02, 1.0)
    held_most_m: float = setting(
        1.0, 'a bumper held for longer than this of driving is stuck', 'm', 0.1, 10.0)
    wall_contacts: int = setting(3, 'a wall has at least so many contacts', '', 2, 20)
    wall_tolerance_m: float = setting(
        0.02, 'how far a contact may lie off its wall', 'm', 0.005, 0.1)
    wall_direction_deg: float = setting(
        2.5, 'the direction of a wall has to be known this well, one sigma', 'deg', 0.5, 20.0)


@dataclass(eq=False)
class Contact:
    """
    A touch: ``odom_pose`` (3,) at its moment, and the same in the map once that is known.

    ``azimuths`` (DIRECTIONS,) are the directions in the body (rad, left positive) in which the
    thing can lie, ``alive`` (DIRECTIONS,) those not refuted; ``press`` numbers the press of the
    bumper, ``held`` tells that it was recorded later than the press, and ``slid`` that the robot
    went on along the thing with the bumper pressed.
    """

    side: str
    odom_pose: np.ndarray
    stamp_s: float
    press: int
    azimuths: np.ndarray
    held: bool = False
    slid: bool = False
    pose: np.ndarray = None
    alive: np.ndarray = None
    count: int = 1
    first_pose: np.ndarray = None      # as it was placed before any correction
    pushed_m: float = 0.0              # driven on against the pressed bumper, by the wheels
    ahead_m: float = 0.0               # how far the robot got on along its heading
    running: bool = True               # the robot has neither backed off nor gone away yet
    settled: bool = False              # no correction moves it any more

    def __post_init__(self):
        """Begin with every direction of the arc."""
        if self.alive is None:
            self.alive = np.ones(DIRECTIONS, dtype=bool)

    @property
    def weights(self):
        """
        Return (DIRECTIONS,) how likely each direction was before anything spoke against it.

        A surface of any direction meets the shell of a robot that drives ahead at an angle with a
        probability as its cosine: what the shell sweeps there.
        """
        return np.cos(self.azimuths) / np.cos(self.azimuths).sum()

    def likely_azimuth(self):
        """Return the median of what is left of the arc, rad."""
        weights = np.where(self.alive, self.weights, 0.0)
        passed = np.cumsum(weights) - weights / 2
        return float(np.interp(weights.sum() / 2, passed[self.alive], self.azimuths[self.alive]))

    def likely_point(self, radius):
        """Return the (2,) map point of that direction on a shell of the radius."""
        angle = self.pose[2] + self.likely_azimuth()
        return self.pose[:2] + radius * np.array([math.cos(angle), math.sin(angle)])

    def place(self, map_from_odom):
        """
        Put it where the robot was by the newest correction.

        Wheels that turn against the thing slip, forward or with the body sliding aside, and the
        correction takes that back: it is no error of the place where the touch began. So of a
        correction, only what is more than the wheels have pushed moves the touch.
        """
        pose = compose(map_from_odom, self.odom_pose)
        if self.first_pose is None:
            self.first_pose = pose
        moved = pose - self.first_pose
        moved[2] = wrap_angle(moved[2])
        distance = math.hypot(moved[0], moved[1])
        if self.pushed_m > 0.0:
            moved *= max(distance - self.pushed_m, 0.0) / max(distance, 1e-9)
        self.pose = self.first_pose + moved

    def lose_covered(self, xy, deep_m, radius):
        """
        Take away what the body covers now: a point nearer to its centre ``xy`` than ``deep_m``.

        Returns whether that changed anything; nothing may be left of the arc.
        """
        angles = self.pose[2] + self.azimuths
        x = self.pose[0] + radius * np.cos(angles) - xy[0]
        y = self.pose[1] + radius * np.sin(angles) - xy[1]
        return self._lose(np.hypot(x, y) < deep_m)

    def went_on(self, pose, through_m):
        """
        Take away what cannot have stopped a robot that is at ``pose`` (3,) now.

        While it has neither backed off nor turned away, it has come straight; what it got further
        than ``through_m`` towards is not solid. Returns whether that changed anything.
        """
        ahead = progress(self.pose, pose)
        turned = abs(wrap_angle(pose[2] - self.pose[2]))
        if ahead < self.ahead_m - _BACK_M or turned > _TURN_RAD:
            self.running = False
            return False
        self.ahead_m = max(self.ahead_m, ahead)
        angles = self.pose[2] + self.azimuths
        x, y = pose[:2] - self.pose[:2]
        return self._lose(x * np.cos(angles) + y * np.sin(angles) > through_m)

    def slide(self, way):
        """Take in that the robot slid on by ``way`` (2,) with the bumper held: along the thing."""
        self.slid = True
        angles = self.pose[2] + self.azimuths
        towards = (way[0] * np.cos(angles) + way[1] * np.sin(angles)) / math.hypot(*way)
        across = np.abs(towards) < _ALONG
        if (across & self.alive).any():
            self.alive &= across

    def let_go(self, way):
        """
        Take in that the switch let go while the body went on by ``way`` (2,).

        What is solid keeps the switch pressed until the robot goes back; only what it passes by
        lets go. Returns whether it was soft, then: too little of the arc lies beside the way.
        """
        angles = self.pose[2] + self.azimuths
        into = (way[0] * np.cos(angles) + way[1] * np.sin(angles)) / math.hypot(*way)
        self._lose(into > _GRAZED)
        return self.is_soft()

    def like(self, other):
        """Tell whether another settled touch is of the same thing in the same place."""
        return (other is not self and other.settled and other.side == self.side
                and math.dist(other.pose[:2], self.pose[:2]) < _SAME_M
                and abs(wrap_angle(other.pose[2] - self.pose[2])) < _SAME_RAD)

    def merge(self, other):
        """Take in a touch in the same place: the mean of the two."""
        share = other.count / (self.count + other.count)
        self.pose = self.pose + share * (other.pose - self.pose) * [1.0, 1.0, 0.0]
        self.count += other.count

    def left_behind(self):
        """Take in that the robot has gone away; return whether it went on through the thing."""
        running, self.running = self.running, False
        return running and self.is_soft()

    def is_soft(self):
        """Tell whether so little is left of the arc that what gave way was all of it."""
        least = _SLID_SOFT_BELOW if self.slid else _SOFT_BELOW
        return self.weights[self.alive].sum() < least

    def _lose(self, refuted):
        if not (refuted & self.alive).any():
            return False
        self.alive &= ~refuted
        return True


def arc_of(side, overlap_rad, half_angle_rad, other_held=False):
    """
    Return the (DIRECTIONS,) azimuths at which a touch presses just that side.

    ``other_held``: the other half was pressed before, so that ahead cannot be told apart.
    """
    if side == BOTH:
        nearest, furthest = -overlap_rad, overlap_rad
    else:
        nearest, furthest = -overlap_rad if other_held else overlap_rad, half_angle_rad
    middles = (np.arange(DIRECTIONS) + 0.5) / DIRECTIONS
    azimuths = nearest + middles * (furthest - nearest)
    return -azimuths if side == RIGHT else azimuths


def progress(pose, xy):
    """Return how far ``xy`` lies ahead of a pose (x, y, yaw), metres."""
    return ((xy[0] - pose[0]) * math.cos(pose[2]) + (xy[1] - pose[1]) * math.sin(pose[2]))


def checked_pose(pose, stamp_s, side=LEFT):
    """Return the pose as an array (3,); ValueError for what is no side, pose or stamp."""
    if side not in HALVES:
        raise ValueError(f'side must be left, right or both, got {side!r}')
    pose = np.asarray(pose, dtype=float)
    if pose.shape != (3,) or not np.isfinite(pose).all():
        raise ValueError(f'expected a finite pose (x, y, yaw), got {pose}')
    if not math.isfinite(stamp_s):
        raise ValueError(f'stamp is {stamp_s}')
    return pose
