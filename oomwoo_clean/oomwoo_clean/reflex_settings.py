"""What the escape reflexes can be told, what they are shown, and what they answer."""
from dataclasses import dataclass
import math

from oomwoo_localization.settings import setting

WATCH, PEEL, FOLLOW_OUT = 'WATCH', 'PEEL', 'FOLLOW_OUT'
WIGGLE, SPIRAL, STUCK, OFF = 'WIGGLE', 'SPIRAL', 'STUCK', 'OFF'

HELD_BUMPER, CONFINED, NO_PROGRESS = 'HELD_BUMPER', 'CONFINED', 'NO_PROGRESS'
BUMPER_STUCK, WEDGED, OVERRIDDEN = 'BUMPER_STUCK', 'WEDGED', 'OVERRIDDEN'


@dataclass(frozen=True)
class ReflexSettings:
    """Settings of :class:`~oomwoo_clean.escape_reflex.EscapeReflex`."""

    hold_s: float = setting(
        1.5, 'a bumper pressed for this long is peeled off', 's', 0.2, 10.0)
    release_s: float = setting(
        0.15, 'a release shorter than this is chatter, the bumper counts as pressed', 's',
        0.0, 1.0)
    peel_back_speed: float = setting(0.08, 'backwards while it turns away', 'm/s', 0.02, 0.2)
    peel_turn_speed: float = setting(1.2, 'turn away from the pressed side', 'rad/s', 0.2, 2.5)
    peel_turn_deg: float = setting(
        60.0, 'turn away; half of it more each time at the same place', 'deg', 20.0, 150.0)
    peel_speed: float = setting(0.12, 'forward along the surface after', 'm/s', 0.02, 0.3)
    peel_s: float = setting(1.2, 'for this long, or to the next bump', 's', 0.0, 5.0)
    pocket_radius_m: float = setting(
        0.25, 'radius of the no-go pocket that is recorded', 'm', 0.05, 1.0)
    bumps: int = setting(
        5, 'bumps within the radius and the time that mean confined', '', 2, 50)
    bumps_radius_m: float = setting(0.35, 'that radius', 'm', 0.05, 2.0)
    bumps_s: float = setting(30.0, 'that time', 's', 1.0, 300.0)
    out_m: float = setting(
        0.55, 'out of it: this far from the middle of the bumps; twice that each time again', 'm',
        0.2, 5.0)
    out_most_m: float = setting(1.6, 'but no more than this', 'm', 0.2, 5.0)
    rounds: int = setting(
        6, 'confined or hung more often than this at one place: STUCK', '', 1, 100)
    give_up_s: float = setting(
        150.0, 'or after this, since it was confined there first', 's', 10.0, 3600.0)
    ways_s: float = setting(90.0, 'looks for ways out for this long', 's', 5.0, 600.0)
    follow_s: float = setting(
        13.0, 'and then follows the edge on each side for this long', 's', 2.0, 120.0)
    follow_standoff_m: float = setting(
        0.195, 'body centre to the edge while following out', 'm', 0.18, 0.6)
    window_m: float = setting(
        0.25, 'commanded travel between two scans that are compared', 'm', 0.1, 2.0)
    window_deg: float = setting(
        60.0, 'or commanded turn', 'deg', 20.0, 90.0)
    travel_m: float = setting(
        0.75, 'commanded travel without any change of the scan: no progress', 'm', 0.2, 20.0)
    free_m: float = setting(
        0.5, 'travel that shows in the scan, after which a reflex has succeeded', 'm', 0.1, 5.0)
    wiggle_s: float = setting(4.8, 'backwards, turning to and fro', 's', 0.0, 30.0)
    spiral_s: float = setting(7.0, 'growing circle, forward and then backwards', 's', 0.0, 60.0)
    stuck_within_s: float = setting(
        45.0, 'without success it says STUCK after this', 's', 5.0, 600.0)


@dataclass(frozen=True)
class Pocket:
    """A place not to drive back into: (x, y) in odom, radius, both in metres."""

    center: tuple
    radius_m: float
    reason_code: str


@dataclass(frozen=True)
class ReflexOutput:
    """
    What the reflexes want and why.

    ``active`` while they drive or hold the robot; ``linear`` m/s and ``angular`` rad/s are the
    command then. ``reason_code`` and ``evidence`` say what made them, in a word and in a sentence.
    ``cancel_goals``: the active goal leads into this, it has to end; ``pocket`` is new with this
    step; ``changed`` tells that state, reason or evidence are others than at the last
    step.
    """

    active: bool
    linear: float = 0.0
    angular: float = 0.0
    state: str = WATCH
    reason_code: str = ''
    evidence: str = ''
    cancel_goals: bool = False
    pocket: Pocket = None
    changed: bool = False


STAND = (0.0, 0.0)
FOREVER_S = math.inf
