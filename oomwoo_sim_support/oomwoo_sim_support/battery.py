"""A simulated battery: time drains it, and a dock fills it whose contacts meet the robot's."""
from dataclasses import dataclass
import math

from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.settings import setting


@dataclass(frozen=True)
class BatterySettings:
    """How fast a battery drains and fills, and how exactly a robot has to stand for that."""

    battery_minutes: float = setting(
        120.0, 'driving time of a full battery', 'min', 0.1, 1e5, live=False)
    battery_start: float = setting(1.0, 'charge at the start', '', 0.0, 1.0, live=False)
    charge_minutes: float = setting(
        180.0, 'time in the dock that fills an empty battery', 'min', 0.1, 1e5, live=False)
    contact_travel_m: float = setting(
        0.003, 'travel of the sprung charging contacts', 'm', 0.0, 0.05, live=False)
    contact_lateral_m: float = setting(
        0.012, 'how far off the centreline they still meet', 'm', 0.0, 0.2, live=False)
    contact_yaw_deg: float = setting(
        6.0, 'how far from square they still meet', 'deg', 0.0, 45.0, live=False)


def contacts_meet(dock_pose, docked_pose, base_pose, settings):
    """
    Tell whether the sprung contacts of a robot touch those of a dock.

    ``dock_pose`` and ``base_pose`` (3,) in the map; ``docked_pose`` (3,) in the dock's frame is
    where the backs touch (:func:`oomwoo_localization.dock.docked_pose`).
    """
    x, y, yaw = compose(inverse(dock_pose), base_pose).tolist()
    return bool(x - docked_pose[0] <= settings.contact_travel_m
                and abs(y) <= settings.contact_lateral_m
                and abs(yaw) <= math.radians(settings.contact_yaw_deg))


class Battery:
    """The charge of one battery, 0..1."""

    def __init__(self, settings):
        """Take :class:`BatterySettings`; it begins with ``battery_start``."""
        self._settings = settings
        self.charge = settings.battery_start

    def tick(self, period_s, charging):
        """Let ``period_s`` pass, in a dock that charges or not."""
        settings = self._settings
        rate = 1.0 / settings.charge_minutes if charging else -1.0 / settings.battery_minutes
        self.charge = min(1.0, max(0.0, self.charge + rate * period_s / 60.0))
