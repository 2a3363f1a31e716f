"""
Dock and undock, step by step, without ROS: one observation in, one command out.

    drive = DockDrive(load_robot())
    drive.start()
    while drive.active:
        out = drive.step(observation)       # a DockObservation, once a scan
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_clean.dock_approach import ApproachSettings, drive_to_staging
from oomwoo_clean.dock_back_in import back_in, BackInSettings, bay_is_free
from oomwoo_clean.dock_beacon import beacon_sight
from oomwoo_clean.dock_detector import DockDetector, DockTracker
from oomwoo_clean.dock_pilot import Pilot
from oomwoo_clean.dock_search import find_dock, look, SearchSettings
from oomwoo_clean.dock_types import DockFailure, DockObservation, InTheWay
from oomwoo_clean.dock_watch import nearest_thing
from oomwoo_localization.dock import docked_pose, DockShape
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.settings import check_settings, setting

__all__ = ['DockDrive', 'DockObservation', 'DockOutput', 'DriveSettings']

IDLE, SEARCH, GOTO, TURN, BACK, REGROUP, DONE, FAILED, UNDOCK, CANCELLED = (
    'IDLE', 'SEARCH', 'GOTO', 'TURN', 'BACK', 'REGROUP', 'DONE', 'FAILED', 'UNDOCK', 'CANCELLED')
MODES = ('beacon', 'lidar')
_BATTERY_S = 1.5
_FRESH_S = 0.35
_FREE_LOOKS = 3
_FREE_M = 0.10               # a robot that can go no farther than this is wedged


@dataclass(frozen=True)
class DriveSettings(SearchSettings, ApproachSettings, BackInSettings):
    """Settings of :class:`DockDrive`."""

    regroups: int = setting(3, 'how often it pulls out and tries again', '', 0, 10)
    timeout_s: float = setting(180.0, 'a docking takes no longer than this', 's', 10.0, 3600.0)
    patience_s: float = setting(
        3.0, 'a docking ends when there is no fresh scan for this long', 's', 0.1, 60.0)


@dataclass(frozen=True)
class DockOutput:
    """
    What to do now, and how far it is.

    ``linear`` m/s and ``angular`` rad/s; ``state`` one word; ``lateral_m`` and ``yaw_rad`` the
    robot's place beside the dock's centreline and its angle to it, NaN while no dock is known;
    ``reason_code`` and ``message`` say why, for a program and for a human; ``regroups`` how often
    it pulled out to try again.
    """

    linear: float
    angular: float
    state: str
    lateral_m: float = math.nan
    yaw_rad: float = math.nan
    reason_code: str = ''
    message: str = ''
    regroups: int = 0
    in_mouth: bool = False


class DockDrive:
    """Drives the robot into its dock and out of it."""

    def __init__(
            self, robot, settings=None, shape=None, detector=None, tracker=None, sight=None):
        """
        Take a :class:`~oomwoo_localization.robot.Robot`, settings, and parts in place of ours.

        ``shape`` is the dock's; ``detector`` and ``tracker`` as in
        :mod:`oomwoo_clean.dock_detector`; ``sight(left, right)`` returns a BeaconSight or None.
        """
        self.shape = shape or DockShape()
        self.robot = robot
        self.settings = check_settings(settings or DriveSettings())
        self._detector = detector or DockDetector(robot, self.shape)
        self._tracker = tracker or DockTracker()
        self._sight = sight or (lambda left, right: beacon_sight(left, right, robot))
        self._pilot = self._new_pilot()
        self._program = None
        self._state, self._code, self._message = IDLE, '', 'waiting for a goal'
        self._regroups = 0
        self._began_s = self._heard_s = None
        self._cancelled = False

    # -- orders -----------------------------------------------------------------------------

    @property
    def active(self):
        """Tell whether there is something to do: step it."""
        return self._program is not None

    @property
    def pilot(self):
        """Return the :class:`Pilot`, to look at what the robot knows."""
        return self._pilot

    def start(self, mode='beacon', hint=None):
        """
        Dock from where the robot stands.

        ``mode`` 'lidar' does without the beacon; ``hint`` (3,) is roughly where the dock should be
        in odom. Raises ValueError for an unknown mode, or while there is something else to do.
        """
        if mode not in MODES:
            raise ValueError(f'mode: {mode!r} is none of {", ".join(MODES)}')
        self._begin(self._dock, SEARCH, 'looking for the dock')
        self._pilot.use_beacon = mode == 'beacon'
        self._pilot.hint = None if hint is None else np.asarray(hint, dtype=float)

    def undock(self, timeout_s=None):
        """
        Drive out to the staging point, looking out, within a time if one is given.

        Raises ValueError while there is something else to do.
        """
        self._begin(self._undock, UNDOCK, 'driving out of the dock')
        self._timeout_s = timeout_s or self.settings.timeout_s

    def cancel(self):
        """Stop where that is safe: at once in the open, out of the mouth first when in it."""
        if self.active:
            self._cancelled = True

    def _begin(self, program, state, message):
        if self.active:
            raise ValueError(f'busy: {self._message}')
        self._tracker.reset()
        self._pilot = self._new_pilot()
        self._program = self._run(program)
        self._regroups, self._cancelled = 0, False
        self._began_s = self._heard_s = None
        self._timeout_s = self.settings.timeout_s
        self._say(state, '', message)

    def _new_pilot(self):
        return Pilot(
            self.robot, self.settings, self.shape, self._detector, self._tracker, self._sight)

    # -- stepping ---------------------------------------------------------------------------

    def step(self, seen):
        """Take a :class:`DockObservation`; return a :class:`DockOutput`."""
        if not self.active:
            return self._output(0.0, 0.0)
        if self._began_s is None:
            self._began_s = self._heard_s = seen.time_s
        if seen.scan is None:
            return self._without_scan(seen)
        self._heard_s = seen.time_s
        self._pilot.take(seen)
        try:
            linear, angular = next(self._program)
        except StopIteration:
            self._program = None
            linear = angular = 0.0
        return self._output(linear, angular)

    def _without_scan(self, seen):
        """Stand; give up after a while, where the robot is: it cannot see its way."""
        if seen.time_s - self._heard_s > self.settings.patience_s:
            where = ', standing in the mouth of the dock' if self._in_mouth() else ''
            self._program = None
            self._say(FAILED, 'NO_SCAN',
                      f'no fresh scan for {self.settings.patience_s:g} s{where}')
        elif self._cancelled and not self._in_mouth():
            self._program = None
            self._say(CANCELLED, 'CANCELLED', 'cancelled')
        return self._output(0.0, 0.0)

    def _output(self, linear, angular):
        place = self._pilot.in_dock
        lateral, yaw = (math.nan, math.nan) if place is None else place[1:].tolist()
        return DockOutput(
            float(linear), float(angular), self._state, lateral, yaw, self._code, self._message,
            self._regroups, self._in_mouth())

    def _say(self, state, code, message):
        self._state, self._code, self._message = state, code, message

    # -- the programs -----------------------------------------------------------------------

    def _run(self, program):
        """Run a program to its end; what fails ends in the open."""
        try:
            yield from self._watched(program())
            return
        except (DockFailure, InTheWay) as failure:
            code = getattr(failure, 'code', 'BLOCKED')
            message = str(failure) if isinstance(failure, DockFailure) else (
                f'something is in the way: {self._pilot.describe(failure.point)}')
        state = CANCELLED if code == 'CANCELLED' else FAILED
        yield 0.0, 0.0
        if self._in_mouth():
            try:
                self._say(REGROUP, code, f'{message}; pulling out of the mouth')
                yield from self._pull_out()
            except (DockFailure, InTheWay):
                message += '; the way out is blocked'
            yield 0.0, 0.0
            if self._in_mouth():
                message += '; standing in the mouth of the dock'
        self._say(state, code, message)

    def _watched(self, program):
        """Pass a program's commands on; end it when it is cancelled or takes too long."""
        for command in program:
            if self._cancelled:
                raise DockFailure('CANCELLED', 'cancelled')
            if self._pilot.time_s - self._began_s > self._timeout_s:
                raise DockFailure('TIMEOUT', f'not there within {self._timeout_s:g} s')
            yield command

    def _dock(self):
        """Home in five steps."""
        pilot = self._pilot
        yield from self._wait_for_battery()
        if pilot.seen.charging:
            yield from self._see_dock_around()
            self._say(DONE, '', f'{self._arrival()} (it was docked already)')
            return
        yield from self._get_free()
        while True:
            if pilot.dock is None:
                self._say(SEARCH, '', 'looking for the dock')
                yield from find_dock(pilot)                 # 1 and 2
            self._say(GOTO, '', 'driving to the staging point')
            yield from drive_to_staging(pilot)              # 3
            self._say(TURN, '', 'turning the back to the dock')
            yield from pilot.turn_to(lambda: pilot.dock[2])     # 4
            problem = yield from self._confirm()
            if problem is None:
                self._say(BACK, '', 'backing in')
                problem = yield from back_in(pilot, self._home())       # 5
            if problem is None:
                break
            if self._regroups >= self.settings.regroups:
                raise DockFailure(problem.code, f'{problem}; tried {self._regroups + 1} times')
            self._regroups += 1
            self._say(REGROUP, problem.code, f'{problem}; pulling out to try again')
            yield from self._pull_out()
            if problem.code == 'DOCK_LOST':
                pilot.forget_dock()
        self._say(DONE, '', self._arrival())

    def _arrival(self):
        place = self._pilot.in_dock
        return 'docked' if place is None else (
            f'docked: lateral {place[1] * 1e3:+.1f} mm, yaw {math.degrees(place[2]):+.2f} deg')

    def _wait_for_battery(self):
        """Stand for the first message of a battery that may say that it charges already."""
        pilot = self._pilot
        until_s = pilot.time_s + _BATTERY_S
        yield 0.0, 0.0
        while pilot.seen.charging is None and pilot.time_s < until_s:
            yield 0.0, 0.0

    def _confirm(self):
        """Look once more before backing in; returns what is wrong, None when all is well."""
        pilot = self._pilot
        for _ in range(self.settings.looks):
            if pilot.time_s - pilot.dock_time_s < _FRESH_S:
                break
            yield 0.0, 0.0
        else:
            return DockFailure('DOCK_LOST', f'the dock is not where it was seen: '
                                            f'{pilot.why_not_found}')
        if pilot.seen.charging is None:
            raise DockFailure('NO_BATTERY', 'nobody tells whether the robot charges: '
                                            'nothing on battery_state')
        yield from bay_is_free(pilot)
        return None

    def _see_dock_around(self):
        """Look for the dock that the robot stands in; without a fix it is where contacts meet."""
        pilot = self._pilot
        pilot.use_beacon, pilot.hint, pilot.looking = False, self._dock_around(), True
        for _ in range(self.settings.looks):
            yield 0.0, 0.0
        if pilot.dock is None or not self._in_mouth():
            pilot.looking, pilot.dock = False, self._dock_around()

    def _undock(self):
        """Out of the dock, straight ahead, to the staging point."""
        pilot = self._pilot
        yield from self._wait_for_battery()
        if pilot.seen.charging:
            yield from self._see_dock_around()
        else:
            pilot.use_beacon = False
            yield from look(pilot)
            if not self._in_mouth():
                raise DockFailure('NOT_DOCKED', 'the robot is not in a dock: it does not charge '
                                                'and no dock is around it')
        yield from self._pull_out()
        yield from pilot.turn_to(lambda: pilot.dock[2])
        self._say(DONE, '', f'undocked: {self.settings.staging_m:g} m before the dock, its back '
                            'to it')

    # -- its steps --------------------------------------------------------------------------

    def _home(self):
        """Return the pose (3,) in the dock frame at which the back of the robot touches."""
        return docked_pose(self._pilot.shape, self.robot)

    def _dock_around(self):
        """Return where the dock is, in odom, when the robot stands in it and charges."""
        return compose(self._pilot.odom, inverse(self._home()))

    def _in_mouth(self):
        """Tell whether any of the robot is inside the bay."""
        place = self._pilot.in_dock
        return (place is not None and place[0] < self.robot.body.radius
                and abs(place[1]) < self._pilot.shape.half_width and place[0] > -1.0)

    def _get_free(self):
        """Back off when the bumper is pressed from the start; WEDGED when there is no way out."""
        pilot = self._pilot
        for _ in range(2):
            if pilot.bumped:
                yield from pilot.back_off()
                yield from pilot.stand(0.3)
        if pilot.bumped:
            raise DockFailure(
                'WEDGED', 'the bumper is pressed from the start and backing off does not free it; '
                + nearest_thing(pilot))
        free = []
        for _ in range(_FREE_LOOKS):
            free.append(pilot.freest_way()[0])
            yield 0.0, 0.0
        if np.median(free) < _FREE_M:
            raise DockFailure(
                'WEDGED', f'things all around leave the robot {np.median(free) * 100:.0f} cm to '
                f'move; {nearest_thing(pilot)}')

    def _pull_out(self):
        """Drive out of the mouth to the staging point."""
        pilot, until_s = self._pilot, None
        while True:
            try:
                yield from pilot.drive_out(self.settings.staging_m)
                return
            except InTheWay:
                yield 0.0, 0.0
                until_s = pilot.time_s + self.settings.blocked_s if until_s is None else until_s
                if pilot.time_s > until_s:
                    raise
                yield from pilot.stand(0.3)
