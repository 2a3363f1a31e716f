"""
Regulated pure pursuit (Macenski, Singh, Martin, Gines, 2023), reduced to what a round body needs.

One point is chased, 40 cm ahead *along the path*, so that a path that turns back round the end of
a thin wall is followed round it and not through it. Where the arc to that point would bring the
shell to an obstacle, a nearer point is chased. A path far off the nose is turned to in place,
which a round body can do anywhere.
"""
from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import wrap_angle
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.navigator_settings import Code, NavigatorSettings

WINDOW_M = 0.60               # how far ahead of the last closest point the next one is searched
CARROT_PARTS = np.array([1.0, 0.75, 0.5, 0.35, 0.25, 0.15])   # of the lookahead, farthest first
ARC_SAMPLES = 9
SHORTEST_ARC_M = 0.12
# an arc may come this much closer to things than the plan that it cuts short
SHELL_TOLERANCE_M = 0.004
TIGHT_M = 0.06                # a gap beside the shell under which to slow down
TURNED_RAD = 0.5              # a turn in place of this much is progress


@dataclass(frozen=True)
class FollowStep:
    """One command, m/s and rad/s; ``error_code`` is one of Nav2's for FollowPath."""

    linear: float
    angular: float
    done: bool
    distance_remaining: float
    error_code: int = Code.NONE
    message: str = ''


class PathFollower:
    """Drives a path: call :meth:`set_path` once and :meth:`step` with every new pose."""

    def __init__(self, settings=None, robot=None):
        """Take the speeds of ``settings``, cut down to what ``robot`` can do."""
        self.settings = settings or NavigatorSettings()
        self.robot = robot or load_robot()
        limits = self.robot.limits
        self._top_speed = min(self.settings.linear_speed, limits.linear_speed)
        self._top_turn = min(self.settings.angular_speed, limits.angular_speed)
        self._roomy_m = self.robot.body.radius + self.settings.margin_m + self.settings.inflation_m
        self._path = None

    def set_path(self, path, goal, clearance=None):
        """
        Follow ``path`` (N, 2) to ``goal`` ``(x, y, yaw)``, all in the map frame.

        ``clearance`` tells the metres from points (N, 2) to the nearest obstacle for the body's
        middle (:meth:`GridPlanner.clearance`); without it arcs are not checked.
        """
        path = np.asarray(path, dtype=float).reshape(-1, 2)
        goal = np.asarray(goal, dtype=float)
        if len(path) == 0 or not (np.isfinite(path).all() and np.isfinite(goal).all()):
            raise ValueError(f'path of {len(path)} points to {goal} is no path')
        self._path = path
        self._goal = goal
        self._clearance = clearance
        self._arc_length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(path, axis=0).T))])
        self._along = 0.0
        self._turning = True
        self._arrived = False
        self._milestone = None

    @property
    def length_m(self):
        """Return the length of the whole path."""
        return float(self._arc_length[-1])

    @property
    def along_m(self):
        """Return how far along its path the robot is."""
        return self._along

    def ahead(self, length_m, spacing_m=0.05):
        """Return the next ``length_m`` of the path as points (N, 2)."""
        reach = np.arange(
            self._along, min(self._along + length_m, self.length_m) + spacing_m, spacing_m)
        return self._at(np.minimum(reach, self.length_m))

    def step(self, pose, time_s, speed=None):
        """
        Return the :class:`FollowStep` for a ``pose`` ``(x, y, yaw)`` at ``time_s``.

        ``speed`` is the measured forward speed, if known: arriving waits for the robot to stand.
        """
        if self._path is None:
            return FollowStep(
                0.0, 0.0, False, 0.0, Code.INVALID_PATH, 'there is no path to follow')
        settings = self.settings
        self._advance(pose[:2])
        to_goal = math.hypot(self._path[-1][0] - pose[0], self._path[-1][1] - pose[1])
        remaining = max(self.length_m - self._along, to_goal)
        if self._is_stuck(pose, time_s):
            return FollowStep(
                0.0, 0.0, False, remaining, Code.FAILED_TO_MAKE_PROGRESS,
                f'moved less than {settings.progress_m:.2f} m in {settings.progress_s:.0f} s')
        at_end = self.length_m - self._along < settings.lookahead_m
        if self._arrived or (at_end and self._is_there(pose, to_goal)):
            self._arrived = True
            return self._face_goal(pose, speed, to_goal)
        linear, angular = self._pursue(pose, remaining)
        return FollowStep(linear, angular, False, remaining)

    # -- where on the path ------------------------------------------------------------------

    def _at(self, lengths):
        """Return the points (N, 2) of the path at lengths (N,) from its start."""
        return np.stack(
            [np.interp(lengths, self._arc_length, self._path[:, k]) for k in (0, 1)], axis=1)

    def _advance(self, point):
        """Move the closest point on; never back, and never across to a later leg."""
        near = np.linspace(self._along, min(self._along + WINDOW_M, self.length_m), 31)
        points = self._at(near)
        away = np.hypot(*(points - point).T)
        # The first dip: what lies beyond a rise belongs to the path after a turn.
        rising = np.flatnonzero(away > np.minimum.accumulate(away) + 0.05)
        end = rising[0] if len(rising) else len(near)
        self._along = float(near[np.argmin(away[:end])])

    def _is_there(self, pose, to_goal):
        """Return whether the goal is as close as it gets: under the middle, or beside it."""
        if to_goal > self.settings.xy_tolerance_m:
            return False
        _, bearing = _polar(pose, self._path[-1])
        return to_goal < 0.3 * self.settings.xy_tolerance_m or abs(
            bearing) > 2.0 * self.settings.rotate_until_rad

    def _is_stuck(self, pose, time_s):
        mark = self._milestone
        if mark is not None:
            moved = math.hypot(pose[0] - mark[0], pose[1] - mark[1])
            turned = abs(wrap_angle(pose[2] - mark[2]))
        if (mark is None or time_s < mark[3] or moved >= self.settings.progress_m
                or turned >= TURNED_RAD):
            self._milestone = (pose[0], pose[1], pose[2], time_s)
            return False
        return time_s - mark[3] > self.settings.progress_s

    # -- how to drive -----------------------------------------------------------------------

    def _pursue(self, pose, remaining):
        """
        Return (m/s, rad/s) towards the farthest point ahead on the path that the shell can reach.

        In a straight line first: that is the direction to turn to. Then on an arc; where there is
        none, facing the point makes one.
        """
        reaches = np.minimum(self._along + CARROT_PARTS * self.settings.lookahead_m, self.length_m)
        carrots = self._at(reaches)
        floors = self._floors(pose, reaches)
        along_line = np.linspace(0.0, 1.0, ARC_SAMPLES)[:, None, None]
        lines = pose[:2] + along_line * (carrots - pose[:2])
        straight = self._gap(lines.reshape(-1, 2)).reshape(ARC_SAMPLES, -1).min(axis=0) >= floors
        first = int(np.argmax(straight)) if straight.any() else len(carrots) - 1
        _, facing = _polar(pose, carrots[first])
        if self._turn_in_place(facing):
            return 0.0, self._turn_rate(facing)
        for carrot, floor in zip(carrots[first:], floors[first:]):
            distance, bearing = _polar(pose, carrot)
            if distance < 1e-6 or abs(bearing) > self.settings.rotate_from_rad:
                continue
            points, curvature = _arc(pose, distance, bearing)
            gap = self._gap(points).min()
            if gap >= floor:
                return self._regulate(curvature, gap, remaining)
        if abs(facing) > self.settings.rotate_until_rad / 3.0:
            self._turning = True
            return 0.0, self._turn_rate(facing)
        return self.settings.linear_speed_min, self.settings.turn_gain * facing

    def _floors(self, pose, reaches):
        """Return how close (K,) the ways ahead may come to things: as the plan or robot does."""
        planned = self._gap(self._at(np.linspace(self._along, reaches[0], ARC_SAMPLES)))
        closest = np.minimum.accumulate(np.append(self._gap(np.asarray(pose[:2])[None]), planned))
        until = np.searchsorted(
            np.linspace(self._along, reaches[0], ARC_SAMPLES), reaches, side='left') + 1
        return np.minimum(
            closest[np.minimum(until, ARC_SAMPLES)], self._roomy_m) - SHELL_TOLERANCE_M

    def _gap(self, points):
        if self._clearance is None:
            return np.full(len(points), np.inf)
        return self._clearance(points)

    def _turn_in_place(self, bearing):
        """Return whether to turn in place, with a lower threshold once turning."""
        limit = self.settings.rotate_until_rad if self._turning else self.settings.rotate_from_rad
        self._turning = abs(bearing) > limit
        return self._turning

    def _turn_rate(self, angle):
        """Return rad/s for a turn in place by ``angle``, which slows down towards its end."""
        return math.copysign(
            min(self._top_turn, self.settings.turn_gain * abs(angle) + 0.05), angle)

    def _regulate(self, curvature, gap, remaining):
        """Return (m/s, rad/s): slower in tight arcs, in small gaps and towards the goal."""
        settings = self.settings
        speed = self._top_speed
        if abs(curvature) > 1e-9:
            speed *= min(1.0, 1.0 / (abs(curvature) * settings.curvature_radius_m))
        speed *= min(1.0, max(0.4, (gap - self.robot.body.radius) / TIGHT_M))
        speed = min(speed, math.sqrt(2.0 * settings.deceleration * max(remaining - 0.02, 0.0)))
        speed = max(speed, min(settings.linear_speed_min, self._top_speed))
        turn = speed * curvature
        if abs(turn) > self._top_turn:
            speed, turn = speed * self._top_turn / abs(turn), math.copysign(self._top_turn, turn)
        return speed, turn

    def _face_goal(self, pose, speed, to_goal):
        """Return the step that turns to the goal's direction; done once there and standing."""
        left = wrap_angle(self._goal[2] - pose[2])
        standing = speed is None or abs(speed) < 0.03
        if abs(left) <= 0.5 * self.settings.yaw_tolerance_rad:
            return FollowStep(0.0, 0.0, standing, to_goal)
        return FollowStep(0.0, self._turn_rate(left), False, to_goal)


def _polar(pose, point):
    dx, dy = point[0] - pose[0], point[1] - pose[1]
    return math.hypot(dx, dy), float(wrap_angle(math.atan2(dy, dx) - pose[2]))


def _arc(pose, distance, bearing):
    """
    Return ``(points, curvature)`` of the arc along the nose to a point at a bearing.

    A point nearer than SHORTEST_ARC_M is taken to be that far: up close, a bearing is mostly
    noise.

    Points (ARC_SAMPLES, 2) in the map; curvature 1/m, left positive (Coulter, 1992).
    """
    distance = max(distance, SHORTEST_ARC_M)
    curvature = 2.0 * math.sin(bearing) / distance
    length = distance if abs(bearing) < 1e-6 else distance * bearing / math.sin(bearing)
    along = np.linspace(0.0, length, ARC_SAMPLES)
    heading = pose[2] + curvature * along / 2.0
    # The chord to a point of an arc leaves at half the angle turned.
    chord = along * np.sinc(curvature * along / (2.0 * math.pi))
    return np.stack(
        [pose[0] + chord * np.cos(heading), pose[1] + chord * np.sin(heading)], axis=1), curvature
