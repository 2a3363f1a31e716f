"""
Trace by touch what the LiDAR does not see: contacts become an outline, and that a scan.

A bump on something unseen leaves a contact: the body centre, the heading and the half of the
bumper that fired. Contacts in a row tell where the surface is, since a line that touches the body
in two places lies along the way between them. What they outline, and a little more of it ahead, is
drawn into the scan. So the follower keeps its standoff from it as from anything seen, wraps the
end of what is known as it would wrap the end of a wall, and thereby curves in and touches again
where the surface goes on.

Everything here works in the *follow frame* (the followed side on the right, see
:mod:`~oomwoo_clean.contour_estimator`) and in odometry mirrored likewise; metres and radians.
"""
from collections import deque
from dataclasses import dataclass, replace
import math

import numpy as np
from oomwoo_clean.contour_estimator import LEFT
from oomwoo_localization.frames import inverse, transform_points, wrap_angle
from oomwoo_localization.scans import beam_directions

# Near the nose a hit moves both halves of the bumper, for certain and perhaps; far back neither.
_BOTH_RAD, _ONE_RAD, _SIDE_RAD = math.radians(10.0), math.radians(6.0), math.radians(95.0)
_SEEN_M = 0.015               # a bump is on what the LiDAR sees this near to the shell
_SEEN_MARGIN_RAD = math.radians(10.0)
_FLAT_RAD = math.radians(4.0)      # a surface is flat when two contacts agree this well
_SMOOTH_RAD = math.radians(40.0)    # ... and bends smoothly when three do
_FIRST_RAD = math.radians(30.0)     # taken as the bearing of a lone contact of one half
_APART_M, _JOINED_M = 0.05, 0.50    # centres of contacts that tell a direction
_AGAIN_M = 0.008              # ... or give a hint of it, where the same spot is touched again
_PIECE_M = 0.02
_TRACED_M = 0.30              # about its own contacts, earlier ones count for nothing
_BEHIND_M = 0.10              # the surface goes on this far before the first contact
_SWEPT_M = 0.015              # the body may have come this far into what it was drawn as
_FRESH_M = 0.04               # ... except about the last contact, which outweighs the way there
_SAME_WALK_M = 1.5            # contacts farther apart along the way are not of one surface
_WAY_STEP_M = 0.02
_JUMP_M = 0.5                 # odometry does not go this far between two scans
_FAR_M = 0.6                  # what is farther away is not drawn
_NOTHING = np.zeros((0, 2, 2))
_HERE_M = 0.05                # as near as this to what is drawn, a surface is taken for that


@dataclass(frozen=True)
class Contact:
    """
    One touch: body centre (2,) and ``heading``, and from where to where the contact may be.

    ``low`` and ``high`` bound the direction (absolute, radians) from the centre to the contact,
    ``normal`` is the direction that it is taken to have, ``at_m`` the way driven. ``sure`` tells
    that a second contact confirms it, ``corner`` that it is where the surface turns away.
    """

    centre: np.ndarray
    heading: float
    low: float
    high: float
    normal: float
    at_m: float = 0.0
    sure: bool = False
    corner: bool = False

    def allows(self, normal, margin_rad=0.0):
        """Tell whether the contact may lie in the direction ``normal``."""
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        return abs(wrap_angle(normal - middle)) <= half + margin_rad

    def clamped(self, normal):
        """Return the nearest direction that is allowed."""
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        return middle + min(max(wrap_angle(normal - middle), -half), half)

    def point(self, radius_m):
        """Return (2,) where the surface was touched."""
        return self.centre + radius_m * _direction(self.normal)


class TouchTrace:
    """Remembers contacts and draws what they outline into scans; one for each follower."""

    def __init__(self, settings, robot):
        """Take the follower's settings (``side``, ``touch_*``) and the robot."""
        self.settings, self._radius = settings, robot.body.radius
        self.forget()

    def forget(self):
        """Know of no contact."""
        self.contacts = []
        self.pose = None              # (x, y, yaw) in mirrored odometry
        self._pieces = np.zeros((0, 4))
        self._seen_from = None, None, _NOTHING        # pose, pieces, and those near, of last time
        self._known = np.zeros((0, 2))
        self._way = deque(maxlen=75)            # body centres
        self._driven_m = self._bumped_at_m = 0.0
        self._in_vain = 0             # bumps since the robot last got ahead

    def moved(self, odom):
        """Take the odometry pose (x, y, yaw) or None; forget what is far or was passed over."""
        if odom is None:
            self.pose = None
            return
        mirror = -1.0 if self.settings.side == LEFT else 1.0
        pose = np.array([odom[0], mirror * odom[1], mirror * odom[2]], dtype=float)
        if not np.isfinite(pose).all():
            self.pose = None
            return
        before, self.pose = self.pose, pose
        if before is None:
            before = self._way[-1] if self._way else pose
        step_m = math.dist(before[:2], pose[:2])
        if step_m > _JUMP_M:
            self.forget()
            self.pose = pose
        self._driven_m += step_m
        if not self._way or math.dist(self._way[-1], pose[:2]) >= _WAY_STEP_M:
            self._way.append(pose[:2].copy())
            near = [c for c in self.contacts
                    if math.dist(c.centre, pose[:2]) < self.settings.touch_memory_m]
            if len(near) < len(self.contacts):
                self.contacts = near
                self._outline()
            self._pieces = self._unswept(self._pieces, pose[None, :2])

    def know(self, points):
        """Take over points (N, 2) in odometry that earlier touches have left; others go."""
        mirror = [1.0, -1.0 if self.settings.side == LEFT else 1.0]
        self._known = np.asarray(points, dtype=float).reshape(-1, 2) * mirror
        self._outline()

    # -- a bump -------------------------------------------------------------------------------

    def bump(self, around, left, right):
        """
        Enter a bump; return why it cannot be traced, an empty string when it can.

        ``around`` is what the LiDAR alone sees (None: nothing is known), ``left`` and ``right``
        the halves of the robot's bumper that fired.
        """
        if self.pose is None:
            return 'bumped into something, and there is no odometry to trace it by'
        if self.settings.side == LEFT:
            left, right = right, left
        low, high = -_BOTH_RAD, _BOTH_RAD
        if not (left and right):
            low, high = (_ONE_RAD, _SIDE_RAD) if left else (-_SIDE_RAD, -_ONE_RAD)
        seen_m = _nearest_between(around, low - _SEEN_MARGIN_RAD, high + _SEEN_MARGIN_RAD)
        if seen_m < self._radius + _SEEN_M:
            return ('bumped into something that the LiDAR sees, '
                    f'{(seen_m - self._radius) * 100.0:.0f} cm off the shell')
        ahead_m = self._driven_m - self._bumped_at_m
        self._in_vain = 0 if ahead_m > self.settings.touch_progress_m else self._in_vain + 1
        self._bumped_at_m = self._driven_m
        if self._in_vain >= self.settings.touch_attempts:
            return f'bumped {self._in_vain + 1} times without getting ahead'
        self._enter(low, high)
        return ''

    def backed_off(self):
        """Count the way ahead from here: what was driven back is no progress."""
        self._bumped_at_m = self._driven_m

    def _enter(self, low, high):
        x, y, heading = self.pose
        contact = Contact(
            np.array([x, y]), heading, heading + low, heading + high, heading, self._driven_m)
        latest = self.contacts[-1] if self.contacts else None
        self.contacts = [                           # of one spot, the latest knows best
            other for other in self.contacts
            if math.dist(other.centre, contact.centre) >= _APART_M]
        before = self.contacts[-1] if self.contacts else None
        if before is None or not _of_one_surface(before, contact):
            contact = _guess(contact, low, high)
        else:
            self.contacts[-1], contact = _joined(before, contact, self._radius)
        if latest is not None and latest is not before:
            contact = _touched_again(latest, contact)
        self.contacts.append(contact)
        self._outline()

    # -- the outline --------------------------------------------------------------------------

    def _outline(self):
        """Lay pieces of ``_PIECE_M`` along the contacts, without what the body has been over."""
        lines, radius = [], self._radius
        points = [contact.point(radius) for contact in self.contacts]
        for number, (contact, point) in enumerate(zip(self.contacts, points)):
            along = _direction(contact.normal + math.pi / 2)
            joined = number > 0 and _of_one_surface(self.contacts[number - 1], contact)
            back_m = _PIECE_M if joined else _BEHIND_M
            if joined:
                lines.append((points[number - 1], point))
            last = number + 1 == len(points)
            ahead_m = _PIECE_M
            if contact.corner:
                back_m = ahead_m = 0.5 * _PIECE_M
            elif last:
                straight = joined and contact.sure and self.contacts[number - 1].sure
                ahead_m = self.settings.touch_ahead_m * (1.0 if straight else 0.5)
            lines.append((point - back_m * along, point + ahead_m * along))
        pieces = [_cut(start, end) for start, end in lines]
        pieces += _crosses(self._known, points)
        pieces = np.concatenate(pieces) if pieces else np.zeros((0, 4))
        self._pieces = self._unswept(pieces, np.array(self._way).reshape(-1, 2))

    def _unswept(self, pieces, centres):
        """Return the pieces that a body at none of the centres (K, 2) would lie upon."""
        if len(pieces) == 0 or len(centres) == 0:
            return pieces
        middles = 0.5 * (pieces[:, :2] + pieces[:, 2:])
        away = np.hypot(*(middles[:, None] - centres[None]).transpose(2, 0, 1)).min(axis=1)
        kept = away > self._radius - _SWEPT_M
        if self.contacts:
            kept |= np.hypot(*(middles - self.contacts[-1].point(self._radius)).T) < _FRESH_M
        return pieces[kept]

    def _near(self):
        """Return (M, 2, 2) the pieces near the body, in the follow frame."""
        if self.pose is None or len(self._pieces) == 0:
            return _NOTHING
        pose, pieces, ends = self._seen_from
        if pose is not self.pose or pieces is not self._pieces:
            ends = transform_points(inverse(self.pose), self._pieces.reshape(-1, 2))
            ends = ends.reshape(-1, 2, 2)
            ends = ends[(ends ** 2).sum(axis=2).min(axis=1) < _FAR_M ** 2]
            self._seen_from = self.pose, self._pieces, ends
        return ends

    def near(self, within_m):
        """Tell whether something known by touch is near the body's centre."""
        ends = self._near()
        return len(ends) > 0 and bool(((ends ** 2).sum(axis=2) < within_m ** 2).any())

    def touched_at(self, point):
        """Tell whether a surface point (2,) of the follow frame is one known by touch."""
        ends = self._near()
        return len(ends) > 0 and bool(
            np.hypot(*(ends.mean(axis=1) - point).T).min() < _HERE_M)

    def drawn_into(self, scan, base_from_scan):
        """Return the scan as if the LiDAR saw what was touched; the scan itself without any."""
        ends = self._near()
        if len(ends) == 0:
            return scan
        if self.settings.side == LEFT:
            ends = ends * [1.0, -1.0]
        rays = beam_directions(scan) @ base_from_scan[:2, :2].T
        start = ends[:, 0] - base_from_scan[:2, 3]
        along = ends[:, 1] - ends[:, 0]
        turn = rays[:, :1] * along[:, 1] - rays[:, 1:] * along[:, 0]        # (beams, pieces)
        with np.errstate(divide='ignore', invalid='ignore'):
            away = (start[:, 0] * along[:, 1] - start[:, 1] * along[:, 0]) / turn
            share = (start[:, 0] * rays[:, 1:] - start[:, 1] * rays[:, :1]) / turn
        hit = (share >= 0.0) & (share <= 1.0) & (away > scan.range_min)
        drawn = np.where(hit, away, np.inf).min(axis=1)
        seen = np.where(scan.valid(), scan.ranges, np.inf)
        return replace(scan, ranges=np.where(drawn < seen, drawn, scan.ranges))


def _guess(contact, low, high):
    """Return a first contact: what is hit head-on is likelier than what is grazed."""
    bearing = 0.0
    if low > 0.0 or high < 0.0:
        bearing = math.copysign(_FIRST_RAD, low + high)
    return replace(contact, normal=contact.heading + bearing)


def _touched_again(latest, contact):
    """
    Return a contact of the spot that was touched before, where that was not where it was drawn.

    The way between the two lies along the surface, however short it is.
    """
    way = contact.centre - latest.centre
    flat = math.atan2(way[1], way[0]) - math.pi / 2
    if contact.sure or contact.corner or math.hypot(*way) < _AGAIN_M or not (
            latest.allows(flat, _FLAT_RAD) and contact.allows(flat, _FLAT_RAD)):
        return contact
    return replace(contact, normal=contact.clamped(flat))


def _of_one_surface(before, contact):
    """Tell whether two contacts in a row are near, as the crow flies and along the way."""
    return (math.dist(before.centre, contact.centre) <= _JOINED_M
            and contact.at_m - before.at_m <= _SAME_WALK_M)


def _joined(before, contact, radius_m):
    """Return two contacts in a row with the directions that both of them allow."""
    chord = contact.centre - before.centre
    flat = math.atan2(chord[1], chord[0]) - math.pi / 2
    if before.corner:
        normal = _beside(before.point(radius_m) - contact.centre, radius_m)
        if contact.allows(normal, _FLAT_RAD):
            return before, replace(contact, normal=contact.clamped(normal), sure=True)
    elif before.allows(flat, _FLAT_RAD) and contact.allows(flat, _FLAT_RAD):
        bend = wrap_angle(flat - before.normal)
        if not before.sure:
            before = replace(before, normal=before.clamped(flat), sure=True)
        elif abs(bend) < _SMOOTH_RAD:
            before = replace(before, normal=before.normal + 0.5 * bend)
        return before, replace(contact, normal=contact.clamped(flat), sure=True)
    if wrap_angle(flat - before.normal) < 0.0 or not before.allows(flat, _FLAT_RAD):
        return before, _past_a_corner(before, contact, radius_m)
    # Something stands out of the surface.
    low = contact.clamped(flat)
    return before, replace(contact, normal=0.5 * (low + contact.high))


def _past_a_corner(before, contact, radius_m):
    """
    Return a contact past an outside corner.

    It is the corner if the surface, going on straight, meets the body where that was touched.
    Otherwise the surface has turned on the way: halfway between the nearest to where it was
    touched, as if all of it lay there, and beside a straight surface from there.
    """
    chord = contact.centre - before.centre
    normal, along = _direction(before.normal), _direction(before.normal + math.pi / 2)
    beside, ahead = radius_m - chord @ normal, chord @ along       # the line, seen from the body
    if abs(beside) < radius_m and ahead > 0.0:
        x, y = beside * normal - math.sqrt(radius_m ** 2 - beside ** 2) * along
        corner = math.atan2(y, x)
        if contact.allows(corner, _FLAT_RAD):
            return replace(contact, normal=contact.clamped(corner), corner=True)
    touched = before.point(radius_m) - contact.centre
    nearest = math.atan2(touched[1], touched[0])
    turn = wrap_angle(_beside(touched, radius_m) - nearest)
    return replace(contact, normal=contact.clamped(nearest + 0.5 * turn))


def _beside(point, radius_m):
    """Return the direction to a straight surface that begins at ``point``, behind the body."""
    return math.atan2(point[1], point[0]) + math.acos(
        min(1.0, radius_m / max(math.hypot(*point), 1e-9)))


def _nearest_between(around, low, high):
    if around is None or len(around.bearing) == 0:
        return math.inf
    inside = (around.bearing >= low) & (around.bearing <= high)
    return float(around.distance[inside].min()) if inside.any() else math.inf


def _direction(angle):
    return np.array([math.cos(angle), math.sin(angle)])


def _crosses(points, traced):
    """Return a list with (M, 4) a small cross at each point that is not near what was traced."""
    if len(traced):
        away = np.hypot(*(points[:, None] - np.array(traced)[None]).transpose(2, 0, 1))
        points = points[away.min(axis=1) > _TRACED_M]
    if len(points) == 0:
        return []
    return [np.concatenate([points - arm, points + arm], axis=1)
            for arm in ([_PIECE_M / 2, 0.0], [0.0, _PIECE_M / 2])]


def _cut(start, end):
    """Return (M, 4) a line in pieces."""
    count = max(1, math.ceil(math.dist(start, end) / _PIECE_M))
    share = np.linspace(0.0, 1.0, count + 1)[:, None]
    corners = start + share * (end - start)
    return np.concatenate([corners[:-1], corners[1:]], axis=1)
