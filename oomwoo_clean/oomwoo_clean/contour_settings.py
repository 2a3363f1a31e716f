"""What the contour follower can be told, and what it answers: settings, states, one output."""
from dataclasses import dataclass
import math

from oomwoo_clean.contour_estimator import LEFT, RIGHT
from oomwoo_localization.settings import setting, SettingError

IDLE, ALIGN, FOLLOW, ARC, LOST, HALT = 'IDLE', 'ALIGN', 'FOLLOW', 'ARC', 'LOST', 'HALT'
TOUCH = 'TOUCH'               # along, or backing off from, what only the bumper has found


@dataclass(frozen=True)
class FollowerSettings:
    """What the contour follower can be told; every field is a parameter of its node."""

    side: str = setting(
        RIGHT, 'side on which the surface is kept', choices=(RIGHT, LEFT))
    standoff_m: float = setting(
        0.23, 'body centre to surface', 'm', 0.18, 0.6)
    reach_m: float = setting(
        1.0, 'surfaces farther away are not looked at', 'm', 0.3, 3.0)
    sector_behind_deg: float = setting(
        170.0, 'the surface is searched from this far behind the nose', 'deg', 90.0, 180.0)
    sector_ahead_deg: float = setting(
        20.0, 'to this far past the nose on the other side', 'deg', 0.0, 90.0)
    window_m: float = setting(
        0.15, 'surface fitted to either side of the nearest beam', 'm', 0.05, 0.5)
    jump_m: float = setting(
        0.10, 'a surface ends where the range jumps by more', 'm', 0.02, 0.5)
    approach_gain: float = setting(
        12.0, 'approach angle asked for per distance error', 'rad/m', 1.0, 40.0)
    approach_limit_deg: float = setting(
        40.0, 'steepest approach angle', 'deg', 5.0, 80.0)
    turn_gain: float = setting(
        2.5, 'turn rate per error of the approach angle', '1/s', 0.5, 6.0)
    turn_limit: float = setting(
        1.5, 'fastest turn', 'rad/s', 0.2, 3.0)
    curve_share: float = setting(
        1.0, 'share of the turn that a convex surface asks for and that is fed forward', '',
        0.0, 1.0)
    speed: float = setting(
        0.15, 'along a straight surface', 'm/s', 0.02, 0.3)
    slow_speed: float = setting(
        0.05, 'while the approach angle is far off', 'm/s', 0.0, 0.3)
    slow_at_deg: float = setting(
        45.0, 'error of the approach angle from which it drives at slow_speed', 'deg', 5.0, 180.0)
    guard_margin_m: float = setting(
        0.03, 'gap to the body that the path along the surface must leave', 'm', 0.0, 0.2)
    guard_ahead_m: float = setting(
        0.06, 'way along the surface, ahead of the body, that the front guard watches', 'm',
        0.0, 1.0)
    stop_margin_m: float = setting(
        0.015, 'gap to the body at which it drives no nearer to anything', 'm', 0.0, 0.2)
    gap_margin_m: float = setting(
        0.01, 'gap to the body that a narrow gap must leave on each side to be driven into', 'm',
        0.0, 0.2)
    search_m: float = setting(
        3.0, 'way straight ahead in search of a first surface', 'm', 0.0, 50.0)
    coast_s: float = setting(
        0.35, 'time for which a surface that vanished is believed', 's', 0.0, 2.0)
    back_off_m: float = setting(
        0.04, 'way back after a bump', 'm', 0.0, 0.3)
    back_off_speed: float = setting(
        0.08, 'speed of that', 'm/s', 0.01, 0.2)
    touch: bool = setting(
        True, 'what is bumped into and not seen is traced by touch; otherwise a bump is a halt')
    touch_speed: float = setting(
        0.10, 'fastest while tracing by touch', 'm/s', 0.02, 0.3)
    touch_turn: float = setting(
        0.6, 'fastest turn towards the surface while tracing by touch', 'rad/s', 0.1, 3.0)
    touch_ahead_m: float = setting(
        0.10, 'a touched surface is expected to go on straight for this far, half of it where '
        'one touch is all that is known', 'm', 0.0, 0.3)
    touch_progress_m: float = setting(
        0.05, 'way ahead between two touches that counts as getting on', 'm', 0.01, 0.3)
    touch_attempts: int = setting(
        4, 'touches in a row without getting on at which it halts', '', 2, 20)
    touch_memory_m: float = setting(
        1.2, 'touches farther away than this are forgotten', 'm', 0.5, 5.0)
    fewest_beams: int = setting(
        60, 'beams a scan must have to be driven by', '', 1, 1000)

    def __post_init__(self):
        """Check what no single field shows."""
        if self.slow_speed > self.speed:
            raise SettingError(f'slow_speed: {self.slow_speed} is above speed {self.speed}')


@dataclass(frozen=True)
class FollowerOutput:
    """
    What the follower wants and sees.

    ``linear`` m/s and ``angular`` rad/s are the command; ``state`` one of IDLE ALIGN FOLLOW ARC
    TOUCH LOST HALT. ``distance_m`` and ``bearing_rad`` (base_footprint, left positive) lead from
    the body centre to the followed surface, NaN while there is none. ``bumped`` stays true from a
    bump until the follower is enabled again, ``backing_off`` while it moves back. ``blocked``
    tells that the front guard handed over to what is in the way; ``reason`` says why the robot
    stands or what it looks for, for a human.
    """

    linear: float
    angular: float
    state: str
    distance_m: float = math.nan
    bearing_rad: float = math.nan
    bumped: bool = False
    backing_off: bool = False
    blocked: bool = False
    reason: str = ''

    @property
    def surface_seen(self):
        """Tell whether distance and bearing mean anything."""
        return math.isfinite(self.distance_m)
