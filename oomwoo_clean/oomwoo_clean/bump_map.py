"""
The tactile map: what the bumper has proved solid.

A LiDAR takes a skirt or a curtain for a wall and sees no glass door and no lip. Touches tell: each
is placed at the localized pose of its moment, taken back when the body later goes where the thing
would be, and joined with its neighbours to walls. No ROS in here.
"""
import math

import numpy as np
from oomwoo_clean.bump_contact import (
    arc_of,
    BOTH,
    BumpMapSettings,
    Contact,
    HALVES,
    LEFT,
    points_of,
    progress,
    RIGHT,
)
from oomwoo_clean.bump_map_store import load_bump_map, save_bump_map
from oomwoo_clean.bump_walls import fit_walls, WallSegment
from oomwoo_localization.frames import compose, wrap_angle
from oomwoo_localization.grids import FREE, OccupancyGrid, OCCUPIED, UNKNOWN
from oomwoo_localization.robot import load_robot
from scipy import ndimage
from scipy.spatial import cKDTree

__all__ = ['BumpMap', 'BumpMapSettings', 'WallSegment']

_VISIT_M = 0.025              # where the body has been is kept at this spacing
_SETTLE_S = 0.5               # without a correction for so long, odometry is taken as it is
_BACK_M = 0.015               # a robot that backs up this far takes the bump for solid
_SOFT_BELOW = 0.1             # a bump the robot went on through: this little of its arc is left
_SAME_M, _SAME_RAD = 0.02, math.radians(20.0)     # a touch this near an old one is the same
_PRESSED_LAST = 8             # touches that the press of now can have made since it moved on
_LATE_S = 0.5                 # a stamp this much older than the last is a jump back in time
COUNTED = ('placed', 'erased', 'held_back', 'placed_late', 'dropped', 'bounced', 'stuck')


class BumpMap:
    """Touches, walls and the floor that the body has been over, all in the map."""

    def __init__(self, settings=None, robot=None):
        """Begin with nothing touched; the robot by default is the packaged one."""
        self.settings = settings or BumpMapSettings()
        self.robot = robot or load_robot()
        self.reference = None              # the OccupancyGrid of the map it belongs to, if known
        self.version = 0                   # another one each time that something changed
        self.counts = dict.fromkeys(COUNTED, 0)
        self._press = 0
        self._down = {LEFT: None, RIGHT: None}     # odometry's pose at the press, while pressed
        self._stuck = {LEFT: False, RIGHT: False}
        self._forget_times()
        self.clear()

    def configure(self, settings):
        """Take over settings that changed while it runs."""
        self.settings = settings
        self._changed()

    def clear(self):
        """Forget every touch and where the body has been."""
        self._contacts = []
        self._waiting = []                 # touches without a place: felt while lost
        self._visited = {}                 # lattice: centre (2,) of the body in the map
        self._tree = None                  # of the same
        self._trail = []
        self._changed()

    def time_went_back(self):
        """Keep the map and forget what is newer than a clock that jumped back."""
        self.counts['dropped'] += len(self._waiting)
        self._waiting = []
        for contact in self._contacts:
            contact.stamp_s, contact.running = -math.inf, False
        self._forget_times()

    def _forget_times(self):
        self._map_from_odom, self._localized_s = None, -math.inf
        self._lost = False
        self._trail = []                   # (stamp_s, odom_pose, side held) not yet judged
        self._pressed_s = {LEFT: -math.inf, RIGHT: -math.inf}
        self._released_s = {LEFT: -math.inf, RIGHT: -math.inf}
        self._newest_s = -math.inf

    # -- what is sensed ---------------------------------------------------------------------

    def press(self, side, odom_pose, stamp_s):
        """
        Take in that a half of the bumper was pressed, or 'both', at a pose (x, y, yaw) of odom.

        Raises ValueError for a side, pose or stamp that is none.
        """
        pose, stamp_s = self._sensed(side, odom_pose, stamp_s)
        fresh = [half for half in HALVES[side] if self._begins(half, pose, stamp_s)]
        if not fresh:
            return
        other = RIGHT if fresh == [LEFT] else LEFT
        if len(fresh) == 2:
            self._record(BOTH, pose, stamp_s)
        elif self._down[other] is None or self._stuck[other]:
            self._press += 1
            self._record(fresh[0], pose, stamp_s)
        elif stamp_s - self._pressed_s[other] <= self.settings.both_s:
            self._widen(pose, stamp_s)
        else:
            self._record(fresh[0], pose, stamp_s, other_held=True)

    def _begins(self, half, pose, stamp_s):
        """Tell whether this press of a half is a new one; remember it in any case."""
        bounced = stamp_s - self._released_s[half] < self.settings.debounce_s
        if self._down[half] is not None or bounced:
            self.counts['bounced'] += self._down[half] is None
            self._down[half] = self._down[half] if self._down[half] is not None else pose
            return False
        self._down[half], self._pressed_s[half] = pose, stamp_s
        self._stuck[half] = False
        return True

    def release(self, side, stamp_s):
        """Take in that a half of the bumper, or 'both', was released."""
        _, stamp_s = self._sensed(side, (0.0, 0.0, 0.0), stamp_s)
        for half in HALVES[side]:
            if self._down[half] is not None:
                self._down[half], self._released_s[half] = None, stamp_s

    def localized(self, map_from_odom, stamp_s):
        """Take in where odom lies in the map at a stamp: recent touches move with it."""
        correction, stamp_s = self._sensed(LEFT, map_from_odom, stamp_s)
        self._map_from_odom, self._localized_s = correction, stamp_s
        if self._lost:
            return
        self._place_waiting(stamp_s)
        young = [c for c in self._contacts
                 if stamp_s - c.stamp_s <= self.settings.correction_window_s]
        for contact in young:
            self._place(contact)
        if young:
            self._changed()
        self._judge(stamp_s)

    def lost(self, lost, stamp_s):
        """Take in whether localization is lost: touches then wait for :meth:`localized`."""
        if lost and not self._lost:
            doubtful = [c for c in self._contacts
                        if stamp_s - c.stamp_s <= self.settings.correction_window_s]
            self._contacts = [c for c in self._contacts if c not in doubtful]
            self._waiting += doubtful
            self.counts['held_back'] += len(doubtful)
            self._trail = []
            self._changed()
        if lost != self._lost:
            self._map_from_odom = None
        self._lost = lost

    def moved(self, odom_pose, stamp_s):
        """Take in where the body is: what it is over was soft, or is gone."""
        pose, stamp_s = self._sensed(LEFT, odom_pose, stamp_s)
        self._watch_stuck(pose)
        if self._lost or self._map_from_odom is None:
            self._drop_waiting(stamp_s)
            return
        side = self._side_held()
        for contact in self._contacts[-_PRESSED_LAST:]:
            if side and contact.press == self._press:
                contact.pushed_m = max(contact.pushed_m, progress(contact.odom_pose, pose))
        self._trail.append((stamp_s, pose, side))
        self._judge(max(self._localized_s, stamp_s - _SETTLE_S))

    def _sensed(self, side, pose, stamp_s):
        if side not in HALVES:
            raise ValueError(f'side must be left, right or both, got {side!r}')
        pose = np.asarray(pose, dtype=float)
        if pose.shape != (3,) or not np.isfinite(pose).all():
            raise ValueError(f'expected a finite pose (x, y, yaw), got {pose}')
        if not math.isfinite(stamp_s):
            raise ValueError(f'stamp is {stamp_s}')
        if stamp_s < self._newest_s - _LATE_S:
            self.time_went_back()
        self._newest_s = max(self._newest_s, stamp_s)
        return pose, stamp_s

    # -- touches ----------------------------------------------------------------------------

    def _record(self, side, pose, stamp_s, other_held=False, held=False):
        """Make a touch; it gets its place now, or once localized."""
        arc = arc_of(
            side, math.radians(self.settings.nose_overlap_deg),
            math.radians(self.robot.bumper.half_angle_deg), other_held)
        contact = Contact(side, pose, stamp_s, self._press, arc, held)
        if self._lost or self._map_from_odom is None:
            self._waiting.append(contact)
            self.counts['held_back'] += 1
            return
        self._place(contact)
        self._contacts.append(contact)
        self.counts['placed'] += 1
        self._changed()

    def _widen(self, pose, stamp_s):
        """Make of the touch that was just recorded one ahead: the other half came with it."""
        for group in (self._contacts, self._waiting):
            if group and group[-1].press == self._press and not group[-1].held:
                first = group.pop()
                again = 'placed' if group is self._contacts else 'held_back'
                self.counts[again] -= 1
                self._record(BOTH, first.odom_pose, first.stamp_s)
                return
        self._record(BOTH, pose, stamp_s)

    def _place(self, contact):
        """
        Put a touch where the robot was by the newest correction.

        Wheels that turn against the thing slip, and the correction takes that back: it is no
        error of the place where the touch began.
        """
        pose = compose(self._map_from_odom, contact.odom_pose)
        if contact.first_pose is None:
            contact.first_pose = pose
        slipped = min(max(-progress(contact.first_pose, pose), 0.0), contact.pushed_m)
        heading = contact.first_pose[2]
        pose[:2] += slipped * np.array([math.cos(heading), math.sin(heading)])
        contact.pose = pose

    def _place_waiting(self, stamp_s):
        self._drop_waiting(stamp_s)
        for contact in self._waiting:
            contact.first_pose, contact.running = None, False
            self._place(contact)
        self.counts['placed_late'] += len(self._waiting)
        if self._waiting:
            self._contacts += self._waiting
            self._waiting = []
            self._changed()

    def _drop_waiting(self, stamp_s):
        kept = [c for c in self._waiting if stamp_s - c.stamp_s <= self.settings.hold_s]
        self.counts['dropped'] += len(self._waiting) - len(kept)
        self._waiting = kept

    def _side_held(self):
        """Return which side is pressed and not stuck, or None."""
        held = [half for half in (LEFT, RIGHT)
                if self._down[half] is not None and not self._stuck[half]]
        return BOTH if len(held) == 2 else held[0] if held else None

    def _watch_stuck(self, pose):
        """Notice a bumper that stays pressed while the robot has backed off."""
        for half, since in self._down.items():
            if (since is not None and not self._stuck[half]
                    and progress(since, pose) < -self.settings.stuck_m):
                self._call_stuck(half)

    def _call_stuck(self, half):
        self._stuck[half] = True
        self.counts['stuck'] += 1
        self._erase([c for c in self._contacts if c.press == self._press and c.held])

    # -- what later poses say ---------------------------------------------------------------

    def _judge(self, until_s):
        """Hold the touches against where the body has been up to a stamp."""
        count = sum(1 for stamp_s, _, _ in self._trail if stamp_s <= until_s)
        for stamp_s, odom_pose, side in self._trail[:count]:
            pose = compose(self._map_from_odom, odom_pose)
            self._judge_pose(stamp_s, pose)
            if side is not None:
                self._slide(side, odom_pose, pose, stamp_s)
        del self._trail[:count]
        self._settle(until_s)

    def _judge_pose(self, stamp_s, pose):
        self._visit(pose[:2])
        radius, margin = self.robot.body.radius, self.settings.cover_margin_m
        near = self._near(pose[:2], 2.0 * radius)
        gone = []
        for contact in near:
            if contact.stamp_s > stamp_s:
                continue
            if contact.running:
                self._follow(contact, pose)
            points = points_of(contact.pose[None], contact.azimuths[None], radius)[0]
            covered = np.hypot(*(points - pose[:2]).T) < radius - margin
            if (covered & contact.alive).any():
                contact.alive &= ~covered
                self._changed()
            if not contact.alive.any():
                gone.append(contact)
        for contact in self._contacts:
            if contact.running and contact not in near and contact.stamp_s <= stamp_s:
                contact.running = False
                if contact.left_over() < _SOFT_BELOW:
                    gone.append(contact)
        self._erase(gone)

    def _near(self, xy, reach):
        if not self._contacts:
            return []
        centres = self._poses()[:, :2]
        return [self._contacts[i]
                for i in np.flatnonzero(np.hypot(*(centres - xy).T) < reach)]

    def _follow(self, contact, pose):
        """Take from a touch what the robot went through without backing off."""
        ahead = progress(contact.pose, pose)
        if ahead < contact.ahead_m - _BACK_M:
            contact.running = False
            return
        contact.ahead_m = max(contact.ahead_m, ahead)
        angles = contact.pose[2] + contact.azimuths
        moved = pose[:2] - contact.pose[:2]
        through = moved[0] * np.cos(angles) + moved[1] * np.sin(angles) > self.settings.through_m
        if (through & contact.alive).any():
            contact.alive &= ~through
            self._changed()

    def _slide(self, side, odom_pose, pose, stamp_s):
        """Record the touches of a robot that goes along a surface with the bumper held."""
        mine = [c for c in self._contacts[-_PRESSED_LAST:] if c.press == self._press]
        if not mine or stamp_s <= mine[-1].stamp_s:
            return
        apart = math.dist(mine[-1].pose[:2], pose[:2])
        if apart < self.settings.held_spacing_m or progress(mine[-1].pose, pose) < 0.0:
            return
        held = sum(c.press == self._press and c.held for c in self._contacts)
        if held * self.settings.held_spacing_m >= self.settings.held_most_m:
            for half in HALVES[side]:
                self._call_stuck(half)
            return
        self._record(side, odom_pose, stamp_s, held=True)

    def _visit(self, xy):
        key = _visit_key(xy)
        if key not in self._visited:
            self._visited[key] = xy
            self._tree = None
            self.version += 1

    def _settle(self, now_s):
        """Make one of touches in the same place, once no correction moves them any more."""
        old_s = now_s - self.settings.correction_window_s
        new = [c for c in self._contacts if c.stamp_s <= old_s and not c.settled]
        for contact in new:
            contact.settled = True
            twin = self._twin(contact)
            if twin is None:
                continue
            total = twin.count + contact.count
            twin.pose = twin.pose.copy()
            twin.pose[:2] += (contact.pose[:2] - twin.pose[:2]) * (contact.count / total)
            twin.count = total
            self._contacts.remove(contact)
            self._changed()

    def _twin(self, contact):
        for other in self._near(contact.pose[:2], _SAME_M):
            if (other is not contact and other.settled and other.side == contact.side
                    and abs(wrap_angle(other.pose[2] - contact.pose[2])) < _SAME_RAD):
                return other
        return None

    def _erase(self, gone):
        gone = {id(contact) for contact in gone}
        if gone:
            self._contacts = [c for c in self._contacts if id(c) not in gone]
            self.counts['erased'] += len(gone)
            self._changed()

    # -- what is known ----------------------------------------------------------------------

    def contacts(self):
        """
        Return (N, 2) map points that were touched.

        On the wall that a touch belongs to; else in the likeliest direction on the shell.
        """
        if not self._contacts:
            return np.zeros((0, 2))
        _, towards = self._fitted()
        poses = self._poses()
        alone = np.isnan(towards)
        angles = np.where(alone, 0.0, towards)
        for index in np.flatnonzero(alone):
            angles[index] = poses[index, 2] + self._contacts[index].likely_azimuth()
        ray = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return poses[:, :2] + self.robot.body.radius * ray

    def walls(self):
        """Return the list of :class:`WallSegment`; computed when something changed since."""
        return self._fitted()[0]

    def grid(self, reference=None):
        """
        Return the :class:`OccupancyGrid` of touch on the cells of ``reference``, a map's grid.

        100 solid, 0 passed over by the body, -1 neither. Without a reference ``self.reference``
        is taken; raises ValueError when there is none, either.
        """
        reference = reference or self.reference
        if reference is None:
            raise ValueError('no map to lay the bump map on')
        cells = np.full(reference.shape, UNKNOWN, dtype=np.int8)
        cells[self._passed_cells(reference)] = FREE
        points = [self.contacts()]
        for wall in self.walls():
            steps = 2 + int(2.0 * wall.length_m / reference.resolution)
            share = np.linspace(0.0, 1.0, steps)[:, None]
            points.append(wall.start + share * (wall.end - wall.start))
        rows, columns = _around(
            reference, np.concatenate(points), self.settings.contact_radius_m)
        cells[rows, columns] = OCCUPIED
        return OccupancyGrid(cells, reference.resolution, reference.origin)

    def _passed_cells(self, reference):
        """Return the mask of the reference's cells that the body has been over."""
        if not self._visited:
            return np.zeros(reference.shape, dtype=bool)
        on = np.rint(reference.points_to_cells(np.array(list(self._visited.values())))).astype(int)
        on = on[((on >= 0) & (on < reference.shape)).all(axis=1)]
        away = np.ones(reference.shape, dtype=bool)
        away[on[:, 0], on[:, 1]] = False
        if away.all():
            return ~away
        reach = self.robot.body.radius / reference.resolution
        return ndimage.distance_transform_edt(away) <= reach

    # -- keeping it -------------------------------------------------------------------------

    def save(self, path):
        """Write it to ``path`` (.npz), whole or not at all; raises OSError."""
        save_bump_map(path, self._contacts, self._visited, self.reference)

    def load(self, path):
        """
        Take over what was saved; touches that wait for a place are kept.

        Raises BumpMapFileError (a ValueError) naming the file when it is none or belongs to
        another map, and changes nothing then.
        """
        contacts, visited = load_bump_map(path, self.reference)
        self._contacts = contacts
        self._visited = {_visit_key(xy): xy for xy in visited}
        self._tree = None
        self._changed()

    # -- computed when asked for ------------------------------------------------------------

    def _changed(self):
        self._fit = self._pose_array = None
        self.version += 1

    def _poses(self):
        if self._pose_array is None:
            self._pose_array = np.array([c.pose for c in self._contacts])
        return self._pose_array

    def _fitted(self):
        if self._fit is None:
            if self._contacts:
                poses = self._poses()
                angles = poses[:, 2, None] + np.array([c.azimuths for c in self._contacts])
                alive = np.array([c.alive for c in self._contacts])
                self._fit = fit_walls(
                    poses[:, :2], angles, alive, self.robot.body.radius, self.settings,
                    self._passed)
            else:
                self._fit = [], np.zeros(0)
        return self._fit

    def _passed(self, points):
        """Tell of (M, 2) map points which lie deep in the floor that the body has been over."""
        if not self._visited:
            return np.zeros(len(points), dtype=bool)
        if self._tree is None:
            self._tree = cKDTree(np.array(list(self._visited.values())))
        distance, _ = self._tree.query(points)
        return distance < self.robot.body.radius - self.settings.cover_margin_m


def _visit_key(xy):
    return tuple(np.floor(xy / _VISIT_M).astype(int).tolist())


def _around(grid, points, radius):
    """Return (rows, columns) of the grid's cells that hold a point or lie within the radius."""
    reach = int(np.ceil(radius / grid.resolution)) + 1
    window = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * 2), axis=-1).reshape(-1, 2)
    at = grid.points_to_cells(points)
    cells = np.rint(at).astype(int)[:, None] + window
    near = np.hypot(*np.moveaxis(cells - at[:, None], -1, 0)) * grid.resolution <= radius
    near[:, (window == 0).all(axis=1)] = True
    cells = cells[near & ((cells >= 0) & (cells < grid.shape)).all(axis=-1)]
    return cells[:, 0], cells[:, 1]
