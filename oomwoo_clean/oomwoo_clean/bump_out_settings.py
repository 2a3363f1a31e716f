"""What the bump-out can be told; its node declares the same fields as parameters."""
from dataclasses import dataclass

from oomwoo_localization.settings import setting, SettingError


@dataclass(frozen=True)
class BumpOutSettings:
    """
    Every angle, length and speed of the bump-out.

    The defaults are for a base that ramps its wheels by 1 m/s^2 and a body of 35 cm: docs/touch.md
    says where each comes from.
    """

    cruise_speed: float = setting(0.28, 'driving in and along a surface', 'm/s', 0.05, 0.3)
    back_speed: float = setting(0.12, 'retracing its path after a bump', 'm/s', 0.02, 0.3)
    turn_speed: float = setting(2.0, 'turning in place', 'rad/s', 0.2, 2.5)
    lean_m: float = setting(
        0.04, 'way on into what it meets head on before it goes back: cloth lets go on that way',
        'm', 0.0, 0.1)
    lean_speed: float = setting(0.15, 'at least, on that way', 'm/s', 0.02, 0.3)
    back_off_m: float = setting(
        0.004, 'way back after the bumper has let go', 'm', 0.0, 0.3)
    hop_m: float = setting(
        0.005, 'how far off the believed surface the curve between two touches leads', 'm',
        0.001, 0.1)
    miss_m: float = setting(
        0.015, 'how far off a surface it may get for not knowing its direction better: the less '
        'sure, the shorter the curve', 'm', 0.002, 0.2)
    glide_least_m: float = setting(0.1, 'shortest curve between two touches', 'm', 0.03, 1.0)
    glide_most_m: float = setting(0.5, 'longest curve between two touches', 'm', 0.05, 3.0)
    line_gain: float = setting(
        3.0, 'heading towards the curve per distance from it', 'rad/m', 0.0, 20.0)
    overdue_radius_m: float = setting(
        0.35, 'radius of the curve to a surface that should have been met', 'm', 0.1, 2.0)
    wrap_after_m: float = setting(
        0.008, 'this far past the believed line, the surface has ended', 'm', 0.002, 0.1)
    wrap_deg: float = setting(
        125.0, 'turn towards a surface that has ended, to come back to its end', 'deg',
        60.0, 170.0)
    wrap_radius_m: float = setting(
        0.4, 'radius of the curve that follows', 'm', 0.1, 2.0)
    feel_radius_m: float = setting(
        0.2, 'radius of the curve round what ended before a second touch told its direction', 'm',
        0.1, 2.0)
    corner_turn_deg: float = setting(
        45.0, 'turn away from a surface of which only the pressed half is known', 'deg',
        15.0, 90.0)
    touch_std_m: float = setting(
        0.004, 'error of the place of a touch, one sigma', 'm', 0.0005, 0.05)
    bend_std_deg: float = setting(
        1.0, 'bend of a surface, and drift of odometry, between two touches', 'deg', 0.0, 20.0)
    same_line_m: float = setting(
        0.008, 'a touch farther off the believed line is another surface', 'm', 0.002, 0.1)
    least_chord_m: float = setting(
        0.02, 'touches nearer to each other tell no direction', 'm', 0.005, 0.2)
    jitter: float = setting(
        0.2, 'share by which lengths and angles vary at random', '', 0.0, 0.8)
    loop_m: float = setting(
        0.15, 'this near to where it was before, a way round something has closed', 'm',
        0.02, 1.0)
    drift: float = setting(
        0.05, 'share of the way by which odometry may be off', '', 0.0, 0.5)
    small_m: float = setting(
        0.5, 'a thing is small if what was touched of it lies within', 'm', 0.1, 2.0)
    small_deg: float = setting(
        240.0, 'turn round a small thing beside others after which it is left', 'deg', 180.0,
        36000.0)
    alone_deg: float = setting(
        90.0, 'turn round a thing by itself after which it is left: that of a mere point; of one '
        'small_m across twice, of one twice as wide three times as much', 'deg', 45.0, 36000.0)
    island_deg: float = setting(
        450.0, 'turn towards a surface after which it is left for an island anyway', 'deg',
        360.0, 36000.0)
    round_deg: float = setting(
        630.0, 'turn after which something is left though its loop was not seen to close', 'deg',
        360.0, 36000.0)
    returns_most: int = setting(
        2, 'times in a row that it turns away from what it has gone round before', '', 0, 100)
    leave_least_deg: float = setting(
        45.0, 'least angle off the surface at which it then drives away', 'deg', 10.0, 90.0)
    search_m: float = setting(
        15.0, 'way straight ahead without a touch, then it turns at random', 'm', 0.5, 100.0)
    retreat_m: float = setting(
        0.25, 'way back at most while the bumper stays pressed', 'm', 0.02, 2.0)
    held_s: float = setting(
        3.0, 'a bumper pressed this long in spite of going back is stuck', 's', 0.5, 20.0)
    chatter_count: int = setting(
        8, 'presses within a second that no surface makes', '', 3, 50)
    stalled_s: float = setting(
        1.5, 'wheels that stand for this long though they should turn count as a touch', 's',
        0.3, 10.0)

    def __post_init__(self):
        """Check what no single field shows."""
        if self.glide_least_m > self.glide_most_m:
            raise SettingError(
                f'glide_least_m: {self.glide_least_m} is above glide_most_m {self.glide_most_m}')
