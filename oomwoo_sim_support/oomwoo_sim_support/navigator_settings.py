"""Settings and result codes of the embedded navigator; the codes are Nav2's."""
from dataclasses import dataclass

from oomwoo_localization.settings import setting


class Code:
    """
    Result codes of Nav2's ComputePathToPose (200s) and FollowPath (100s) actions, as in nav2_msgs.

    NavigateToPose hands through the code of the server that failed, and so does the embedded
    navigator.
    """

    NONE = 0
    UNKNOWN = 100             # of FollowPath
    FOLLOW_TF_ERROR = 102
    INVALID_PATH = 103
    FAILED_TO_MAKE_PROGRESS = 105
    NO_VALID_CONTROL = 106
    NO_PLANNER = 200          # UNKNOWN of ComputePathToPose
    TF_ERROR = 202
    START_OUTSIDE_MAP = 203
    GOAL_OUTSIDE_MAP = 204
    START_OCCUPIED = 205
    GOAL_OCCUPIED = 206
    NO_VALID_PATH = 208


# Nav2's tight inflation of 10 cm around everything, and a controller that knows only the map: ways
# on which the body touches, which are left to bumper and reflexes, or given up when foreseen.
_AS_NAV2 = {
    'body_radius': 0.10, 'margin_m': 0.0, 'inflation_m': 0.0, 'pocket_weight': 0.0,
    'use_scan': False, 'use_bumpers': False}
# How the navigator behaves near obstacles: by itself, or like Nav2's with and without
# use_collision_detection. Settings that differ from the defaults.
CONTROLLERS = {
    'auto': {}, 'tolerant': _AS_NAV2, 'averse': {**_AS_NAV2, 'use_collision_detection': True}}


class PlanError(ValueError):
    """No path: ``code`` is one of Nav2's for ComputePathToPose, ``message`` the reason."""

    def __init__(self, code, message):
        """Keep ``code`` (int) and ``message`` (one sentence with coordinates)."""
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class NavigatorSettings:
    """What the embedded navigator can be told."""

    margin_m: float = setting(
        0.01, 'the shell never passes closer to a mapped obstacle than this', 'm', 0.0, 0.2)
    inflation_m: float = setting(
        0.10, 'beyond the margin, closeness costs extra over this width', 'm', 0.0, 1.0)
    body_radius: float = setting(
        0.0, 'radius of the body that plans are made for; 0: that of the robot. Less is what Nav2 '
        'does with an inflation below the radius: ways on which the body touches',
        'm', 0.0, 1.0)
    clearance_weight: float = setting(
        8.0,
        'a metre right at the margin costs as much as one metre and this many more in the open',
        '', 0.0, 100.0)
    pocket_weight: float = setting(
        8.0, 'a metre through a no-go pocket of the escape reflex costs as much as one metre and '
        'this many more', '', 0.0, 100.0)
    allow_unknown: bool = setting(False, 'plan over cells of which the map knows nothing')
    plan_tolerance_m: float = setting(
        0.25, 'a goal where the body does not fit is moved at most this far', 'm', 0.0, 2.0)
    escape_m: float = setting(
        0.40, 'a start where the body does not fit may be this far from where it does',
        'm', 0.0, 2.0)
    linear_speed: float = setting(0.30, 'speed in the open', 'm/s', 0.02, 1.0)
    linear_speed_min: float = setting(
        0.06, 'regulation never slows down below this', 'm/s', 0.01, 1.0)
    angular_speed: float = setting(1.8, 'fastest turn', 'rad/s', 0.1, 6.0)
    deceleration: float = setting(0.35, 'braking towards the goal', 'm/s^2', 0.05, 5.0)
    lookahead_m: float = setting(
        0.40, 'distance along the path of the one point that is chased', 'm', 0.05, 2.0)
    curvature_radius_m: float = setting(
        0.35, 'arcs tighter than this are driven slower in proportion', 'm', 0.01, 5.0)
    rotate_from_rad: float = setting(
        0.785, 'turn in place when the path is farther off the nose than this', 'rad', 0.1, 3.14)
    rotate_until_rad: float = setting(
        0.15, '... until it is no farther off than this', 'rad', 0.02, 1.0)
    turn_gain: float = setting(
        4.0, 'turn rate per angle left while turning in place', '1/s', 0.2, 20.0)
    xy_tolerance_m: float = setting(0.05, 'arrived when the centre is this close', 'm', 0.005, 1.0)
    yaw_tolerance_rad: float = setting(
        0.10, "and the nose this close to the goal's direction", 'rad', 0.01, 3.15)
    progress_m: float = setting(
        0.10, 'moved at least this far (or turned 0.5 rad) ...', 'm', 0.01, 2.0)
    progress_s: float = setting(
        10.0, '... within this time, else the robot counts as stuck', 's', 0.5, 600.0)
    back_off_m: float = setting(0.08, 'reverse this far after a contact', 'm', 0.0, 0.5)
    back_off_speed: float = setting(0.10, 'speed of it', 'm/s', 0.01, 0.5)
    contact_limit: int = setting(3, 'give up at this many contacts on one goal', '', 1, 100)
    use_bumpers: bool = setting(
        True, 'back off from what the bumpers touch; false: an escape reflex does that')
    use_collision_detection: bool = setting(
        False, "abort, as Nav2's controller can, where the body would come to touch something "
        'mapped on the way ahead; a robot that may touch goes without')
    collision_time_s: float = setting(
        1.0, 'how far ahead that looks, at most to the point that is chased', 's', 0.05, 10.0)
    abort_limit: int = setting(
        10, 'the goal fails at this many such aborts; before, it is planned and tried again',
        '', 1, 1000)
    abort_wait_s: float = setting(
        2.0, 'every fourth abort is followed by a wait of this long', 's', 0.0, 60.0)
    use_scan: bool = setting(True, 'plan round things in the way that are not in the map')
    unmapped_m: float = setting(
        0.15, 'a return farther than this from every mapped obstacle is a new thing',
        'm', 0.02, 2.0)
    watch_m: float = setting(
        0.70, 'length of the path ahead that is watched for new things', 'm', 0.1, 5.0)
    replan_limit: int = setting(20, 'give up at this many new plans on one goal', '', 0, 1000)
