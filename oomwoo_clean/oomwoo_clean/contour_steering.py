"""The cascade that steers along a surface: distance error, approach angle, turn rate, speed."""
from dataclasses import dataclass
import math

from oomwoo_clean.front_guard import path_curvature
from oomwoo_localization.frames import wrap_angle

_GAP_SHARE = 0.7              # of the speed, in a narrow gap
_ROOM_M = 0.01                # come nearer to by this in spite of no distance left


@dataclass(frozen=True)
class Steering:
    """
    What the cascade asks for in the follow frame.

    ``linear`` m/s, ``towards`` rad/s (positive turns towards the surface), and the errors that it
    is told by: ``distance_error_m`` (positive: too far) and ``angle_error_rad``.
    """

    linear: float
    towards: float
    distance_error_m: float
    angle_error_rad: float


def steer_along(surface, curvature_per_m, gap, passage, settings, look_s):
    """
    Return the :class:`Steering` along a surface.

    ``surface`` is a :class:`~oomwoo_clean.contour_estimator.Surface` and ``curvature_per_m`` its
    smoothed curvature; ``gap`` the :class:`~oomwoo_clean.narrow_gap.NarrowGap` that tells the
    standoff, ``passage`` what that has found, or None; ``look_s`` how far ahead in time to look.
    """
    s = settings
    distance_error = off = surface.distance_m - gap.standoff_m
    bend, lead = max(path_curvature(curvature_per_m, gap.standoff_m), 0.0), 0.0
    if passage is not None and passage.lead_rad is not None:
        off, lead, bend = passage.off_m, passage.lead_rad, 0.0
    approach = wrap_angle(surface.bearing_rad + math.pi / 2)       # 0 is along the surface
    limit = math.radians(s.approach_limit_deg)
    wanted = min(max(s.approach_gain * off + lead, -limit), limit)
    inner_error = wanted - approach

    ease = min(1.0, abs(inner_error) / math.radians(s.slow_at_deg))
    linear = s.speed + (s.slow_speed - s.speed) * ease
    if gap.inside:
        linear = min(_GAP_SHARE * linear, gap.fastest_mps)
    linear = min(linear, _closing_limit(distance_error, approach, look_s))
    towards = s.turn_gain * inner_error + s.curve_share * bend * linear
    towards = min(max(towards, -s.turn_limit), s.turn_limit)
    return Steering(linear, towards, distance_error, inner_error)


def _closing_limit(distance_error, approach, look_s):
    """Return the speed at which a surface ahead is not come nearer to than the standoff."""
    if approach <= 0.0:
        return math.inf
    closing = math.sin(min(approach, math.pi / 2))
    return max(distance_error + _ROOM_M, 0.0) / (look_s * closing)


def gently(linear, angular, settings):
    """Return a command on the same arc, so slow that a touch is a gentle one."""
    slower = min(1.0, settings.touch_speed / max(linear, 1e-6),
                 settings.touch_turn / max(-angular, 1e-6))
    return slower * linear, slower * angular
