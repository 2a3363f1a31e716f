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
    checked_pose,
    Contact,
    HALVES,
    progress,
    RIGHT,
)
from oomwoo_clean.bump_map_store import load_bump_map, save_bump_map
from oomwoo_clean.bump_passage import Passage
from oomwoo_clean.bump_presses import ANOTHER, Presses, WIDER
from oomwoo_clean.bump_touches import Touches
from oomwoo_clean.bump_trail import Trail
from oomwoo_clean.bump_view import BumpView
from oomwoo_clean.bump_walls import WallSegment
from oomwoo_localization.frames import compose, wrap_angle
from oomwoo_localization.robot import load_robot

__all__ = ['BumpMap', 'BumpMapSettings', 'WallSegment']

_SETTLE_S = 0.5               # without a correction for so long, odometry is taken as it is
_ROLLED_RAD = math.radians(5.0)
_LATE_S = 0.5                 # odometry that much older than the last: time jumped back


class BumpMap:
    """Touches, walls and the floor that the body has been over, all in the map."""

    def __init__(self, settings=None, robot=None):
        """Begin with nothing touched; the robot by default is the packaged one."""
        self.settings = settings or BumpMapSettings()
        self.robot = robot or load_robot()
        self._reference = None
        self.version = self.touch_version = 0        # change with anything; with a touch
        self._touches, self._presses = Touches(), Presses(self.settings)
        self._forget_times()
        self.clear()

    def configure(self, settings):
        """Take over settings that changed while it runs."""
        self.settings = self._presses.settings = settings
        self._changed()

    def clear(self):
        """Forget every touch and where the body has been."""
        self._touches.clear()
        self._newest_touch = (0, None, 0.0)          # which press made it, where, when
        self._passage = Passage()
        self._trail = Trail()
        self._changed()

    def time_went_back(self):
        """Keep the map and forget what is newer than a clock that jumped back."""
        self._touches.forget_times()
        self._forget_times()

    def _forget_times(self):
        self._map_from_odom, self._localized_s = None, -math.inf
        self._lost = False
        self._trail = Trail()              # not yet judged
        self._presses.forget_times()
        self._newest_s = -math.inf

    # -- what is sensed ---------------------------------------------------------------------

    def press(self, side, odom_pose, stamp_s):
        """
        Take in that a half of the bumper was pressed, or 'both', at a pose (x, y, yaw) of odom.

        Raises ValueError for a side, pose or stamp that is none.
        """
        pose = checked_pose(odom_pose, stamp_s, side)
        found = self._presses.press(side, pose, stamp_s)
        if found is None:
            return
        what, side = found
        if what == WIDER:
            self._widen(pose, stamp_s)
        elif what == ANOTHER and self._rolled_to_nose(side, pose):
            self._record(BOTH, pose, stamp_s)
        else:
            self._record(side, pose, stamp_s, other_held=what == ANOTHER)

    def release(self, side, stamp_s):
        """Take in that a half of the bumper, or 'both', was released; raises ValueError."""
        checked_pose((0.0, 0.0, 0.0), stamp_s, side)
        self._presses.release(side, stamp_s)

    def bumper(self, half, pressed, odom_pose, stamp_s):
        """
        Take in what a bumper's topic says of a half, over and over: presses and releases of it.

        A half that is pressed from the start counts for nothing until it is released.
        """
        begins = self._presses.level(half, pressed)
        if begins:
            self.press(half, odom_pose, stamp_s)
        elif begins is False:
            self.release(half, stamp_s)

    def bumper_silent(self, half, stamp_s):
        """Take in that nothing is heard of a half any more: it is taken for released."""
        self.release(half, stamp_s)
        self._presses.unheard(half)

    @property
    def bumper_stuck(self):
        """Return {half: why} of those that count for nothing now: 'from the start', 'stuck'."""
        stuck = {half: 'stuck' for half, is_so in self._presses.stuck.items() if is_so}
        return {**stuck, **dict.fromkeys(self._presses.unreleased, 'from the start')}

    def localized(self, map_from_odom, stamp_s):
        """
        Take in where odom lies in the map (x, y, yaw) at a stamp: recent touches move with it.

        Raises ValueError for what is no pose.
        """
        self._map_from_odom = checked_pose(map_from_odom, stamp_s)
        self._localized_s = stamp_s
        if self._lost:
            return
        self._drop_waiting(stamp_s)
        young = self._young(stamp_s)
        for contact in young:
            contact.place(self._map_from_odom)
        if self._touches.place_waiting(self._map_from_odom) or young:
            self._changed()
        self._judge(stamp_s)

    def lost(self, lost, stamp_s):
        """Take in whether localization is lost: touches then wait for :meth:`localized`."""
        if lost and not self._lost:
            self._touches.hold_back(self._young(stamp_s))
            self._trail = Trail()
            self._changed()
        if lost != self._lost:
            self._map_from_odom = None
        self._lost = lost

    def moved(self, odom_pose, stamp_s):
        """
        Take in where the body is: what it is over was soft, or is gone.

        Raises ValueError for what is no pose.
        """
        pose = checked_pose(odom_pose, stamp_s)
        if stamp_s < self._newest_s - _LATE_S:
            self.time_went_back()
        self._newest_s = stamp_s
        for half in self._presses.backed_off(pose):
            self._call_stuck(half)
        if self._lost or self._map_from_odom is None:
            self._drop_waiting(stamp_s)
            return
        side = self._presses.held()
        if side:
            for contact in self._of_this_press():
                contact.pushed_m = max(contact.pushed_m, progress(contact.odom_pose, pose))
        self._trail.add(stamp_s, pose, side, self._presses.number)
        self._judge(max(self._localized_s, stamp_s - _SETTLE_S))

    @property
    def waiting(self):
        """Return how many touches wait for the robot to be localized again."""
        return len(self._touches.waiting)

    # -- touches ----------------------------------------------------------------------------

    def _record(self, side, pose, stamp_s, other_held=False, held_press=None):
        """Make a touch; it gets its place now, or once localized."""
        arc = arc_of(
            side, math.radians(self.settings.nose_overlap_deg),
            math.radians(self.robot.bumper.half_angle_deg), other_held)
        held = held_press is not None
        contact = Contact(
            side, pose, stamp_s, held_press if held else self._presses.number, arc, held)
        if not self._touches.add(contact, None if self._lost else self._map_from_odom):
            return
        self._newest_touch = contact.press, contact.pose, stamp_s
        self._changed()
        self._passage.forget_near(
            contact.likely_point(self.robot.body.radius), self._seen.deep_m)

    def _widen(self, pose, stamp_s):
        """Make of the touch that was just recorded one ahead: the other half came with it."""
        first = self._touches.take_back(self._presses.number)
        if first is not None:
            pose, stamp_s = first.odom_pose, first.stamp_s
        self._record(BOTH, pose, stamp_s)

    def _young(self, now_s):
        """Return the touches that corrections still move."""
        return self._touches.young(now_s - self.settings.correction_window_s)

    def _rolled_to_nose(self, side, odom_pose):
        """Tell whether the body turned towards what the other half touched, until both did."""
        mine = [c for c in self._of_this_press() if c.side != BOTH]
        if not mine or self._map_from_odom is None:
            return False
        turned = wrap_angle(compose(self._map_from_odom, odom_pose)[2] - mine[-1].pose[2])
        return (turned if side == RIGHT else -turned) > _ROLLED_RAD

    def _of_this_press(self):
        return self._touches.of_press(self._presses.number)

    def _drop_waiting(self, stamp_s):
        self._touches.drop_waiting(stamp_s - self.settings.hold_s)

    def _call_stuck(self, half, whole=False):
        """Take back what a stuck half has recorded since its press, or with the press itself."""
        self._presses.stuck[half] = True
        self.counts['stuck'] += 1
        self._erase([c for c in self._touches.placed
                     if c.press == self._presses.number and (whole or c.held)])

    # -- what later poses say ---------------------------------------------------------------

    def _judge(self, until_s):
        """Hold the touches against where the body has been up to a stamp."""
        for step in self._trail.take(until_s):
            pose = compose(self._map_from_odom, step.odom_pose)
            self._judge_pose(step.stamp_s, pose)
            if step.side is not None:
                self._slide(step, pose)
            if press := self._trail.let_go(step, self.settings.debounce_s):
                self._let_go(press, pose)
        self._settle(until_s)

    def _judge_pose(self, stamp_s, pose):
        self.version += self._passage.visit(pose[:2])
        radius, gone, near = self.robot.body.radius, [], self._seen.near(pose[:2])
        for contact in near:
            if contact.stamp_s > stamp_s:
                continue
            changed = contact.running and contact.went_on(pose, self.settings.through_m)
            if contact.lose_covered(pose[:2], self._seen.deep_m, radius) or changed:
                self._changed()
            if not contact.alive.any():
                gone.append(contact)
        running = (c for c in self._touches.placed if c.running and c.stamp_s <= stamp_s)
        gone += [c for c in running if c not in near and c.left_behind()]
        self._erase(gone)

    def _let_go(self, press, pose):
        """Take back what let go of the bumper while the robot rolled on: it has given way."""
        mine = self._touches.of_press(press)
        if not mine or press == self._presses.doubted:
            return
        way = pose[:2] - mine[0].pose[:2]
        if math.hypot(*way) < self.settings.held_spacing_m:      # too short for a direction
            way = np.array([math.cos(pose[2]), math.sin(pose[2])])
        self._erase([c for c in mine if c.let_go(way)])
        self._changed()

    def _slide(self, step, pose):
        """Record the touches of a robot that goes along a surface with the bumper held."""
        number, last, last_s = self._newest_touch
        if number != step.press or step.stamp_s <= last_s:
            return
        way = pose[:2] - last[:2]
        apart = math.hypot(*way)
        if apart < self.settings.held_spacing_m or progress(last, pose) < 0.0:
            return
        self._presses.slid_m += apart
        if self._presses.slid_m > self.settings.held_most_m:
            for half in HALVES[step.side]:
                self._call_stuck(half, whole=True)
            return
        mine = self._touches.of_press(number)
        self._record(step.side, step.odom_pose, step.stamp_s, held_press=number)
        if mine:                           # else what was touched first has given way
            mine[-1].slide(way)
            self._touches.placed[-1].slide(way)

    def _settle(self, now_s):
        """Make one of touches in the same place, once no correction moves them any more."""
        before_s = now_s - self.settings.correction_window_s
        if self._touches.settle(before_s, self._seen.near):
            self._changed()

    def _erase(self, gone):
        """Take touches out that were refuted."""
        self._touches.erase(gone)
        if gone:
            self._changed()

    # -- what is known ----------------------------------------------------------------------

    @property
    def counts(self):
        """Return how many touches and stuck halves there were, as :class:`.Touches` counts."""
        return self._touches.counts

    @property
    def placed(self):
        """Return how many touches have a place."""
        return len(self._touches.placed)

    def contacts(self):
        """
        Return (N, 2) map points that were touched.

        On the wall that a touch belongs to; else in the likeliest direction on the shell.
        """
        return self._seen.points

    def moments(self):
        """Return (N, 3) poses in the map at which :meth:`contacts` were felt, and (N,) when, s."""
        return self._seen.poses, np.array([c.stamp_s for c in self._touches.placed])

    def walls(self):
        """Return the list of :class:`WallSegment`; computed when something changed since."""
        return self._seen.walls

    def grid(self, reference=None):
        """
        Return the :class:`OccupancyGrid` of touch on the cells of ``reference``, a map's grid.

        100 solid, 0 passed over by the body, -1 neither. Without a reference ``self.reference``
        is taken; raises ValueError when there is none, either.
        """
        reference = reference or self.reference
        if reference is None:
            raise ValueError('no map to lay the bump map on')
        return self._seen.grid(reference)

    # -- keeping it -------------------------------------------------------------------------

    def save(self, path):
        """Write it to ``path`` (.npz), whole or not at all; raises OSError."""
        save_bump_map(path, self._touches.placed, self._passage.centres(), self.reference)

    def load(self, path):
        """
        Add what was saved to what was felt since.

        Raises BumpMapFileError (a ValueError) naming the file when it is none or belongs to
        another map, and changes nothing then.
        """
        contacts, centres = load_bump_map(path, self.reference)
        self._touches.placed = contacts + self._touches.placed
        self._passage = Passage([*centres, *self._passage.centres()])
        self._changed()

    # -- computed when asked for ------------------------------------------------------------

    @property
    def reference(self):
        """The OccupancyGrid of the map that it belongs to, or None if that is not known."""
        return self._reference

    @reference.setter
    def reference(self, grid):
        self._reference = grid
        self._changed()

    def _changed(self):
        self._view = None
        self.version += 1
        self.touch_version += 1

    @property
    def _seen(self):
        """Return what the touches come to as they are now."""
        if self._view is None:
            self._view = BumpView(
                self._touches.placed, self._passage, self._reference, self.robot, self.settings)
        return self._view
