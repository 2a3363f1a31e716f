"""The way to another view: wait until nobody else drives, choose, drive, stand still."""

from dataclasses import dataclass

from oomwoo_localization import recovery_words as words
from oomwoo_localization.recovery_types import CLEARING, MOVING, SETTLING
from oomwoo_localization.vantage import NothingToTell, VantagePlanner
from oomwoo_localization.vantage_drive import VantageDrive


@dataclass(frozen=True)
class TripStep:
    """
    What to do until the next step of a trip.

    ``command`` (m/s, rad/s), None: publish nothing. ``actions`` as in :class:`Orders`. ``there``:
    look from here; ``failed`` is the sentence why there is no other view to be had.
    """

    state: str
    command: object = None
    actions: tuple = ()
    there: bool = False
    failed: str = ''


class VantageTrip:
    """Drives of one recovery; ``moves`` counts them, ``state`` is None in between."""

    def __init__(self, settings, robot=None, grid=None):
        """``robot`` gives the radius, ``grid`` the map, None without one."""
        self._robot, self._grid = robot, grid
        self._radius = robot.body.radius if robot else 0.175
        self.configure(settings)
        self.forget()

    def configure(self, settings):
        """Take over new settings."""
        self._settings = settings
        self._planner = VantagePlanner(settings, self._robot, self._grid)

    def set_map(self, grid):
        """Take another map, or None."""
        self._grid = grid
        self.configure(self._settings)

    def forget(self):
        """Begin a new recovery."""
        self.state, self.moves = None, 0
        self._drive, self._visited = None, []
        self._planner.forget()

    def begin(self, time_s, place):
        """Look for another view than that from ``place`` (3,) in odom, None if not known."""
        self.state, self._since_s = CLEARING, time_s
        if place is not None:
            self._visited.append(place[:2])

    def step(self, inputs, candidates):
        """Return the :class:`TripStep`; ``candidates`` are poses (3,) in the map."""
        if self.state == CLEARING:
            return self._clear(inputs, candidates)
        if self.state == MOVING:
            return self._move(inputs)
        if inputs.time_s - self._since_s >= self._settings.settle_s:
            self.state = None
            return TripStep(SETTLING, (0.0, 0.0), there=True)
        return TripStep(SETTLING, (0.0, 0.0))

    def _clear(self, inputs, candidates):
        """Wait until nobody else drives, then choose a way."""
        what = _in_the_way(inputs)
        if what:
            if inputs.time_s - self._since_s <= self._settings.clear_s:
                return TripStep(CLEARING)
            return self._fail(
                words.cannot_tell(what), (('blocked', words.cannot_drive(what)),))
        try:
            way = self._planner.plan(inputs.points, inputs.odom, candidates, self._visited)
        except NothingToTell as error:
            return self._fail(str(error))
        if way is None:
            return self._fail(words.NO_WAY)
        self.moves += 1
        self.state = MOVING
        self._drive = VantageDrive(
            way, inputs.odom, inputs.time_s, self._settings, self._radius)
        return TripStep(MOVING, actions=(('moving', words.drives(way, inputs.odom[2])),))

    def _move(self, inputs):
        if inputs.foreign:
            return self._fail(
                words.cannot_tell(words.SOMEBODY_DRIVES), (('blocked', words.INTERRUPTED),),
                (0.0, 0.0))
        if inputs.odom is None:
            return self._arrive(inputs, 'blind', (0.0, 0.0))
        drive = self._drive.step(inputs.time_s, inputs.odom, inputs.points, inputs.bumped)
        command = (drive.linear, drive.angular)
        return (
            self._arrive(inputs, drive.reason, command)
            if drive.done
            else TripStep(MOVING, command)
        )

    def _arrive(self, inputs, reason, command):
        self.state, self._since_s = SETTLING, inputs.time_s
        return TripStep(SETTLING, command, (('stopped', words.looks(reason)),))

    def _fail(self, sentence, actions=(), command=None):
        self.state = None
        return TripStep(CLEARING, command, actions, failed=sentence)


def _in_the_way(inputs):
    """Return what keeps one from driving, empty if nothing does."""
    if inputs.foreign or not inputs.others_stand:
        return words.SOMEBODY_DRIVES
    if inputs.odom is None:
        return words.NO_ODOMETRY
    return words.NO_SCAN if inputs.points is None else ''
