"""
The embedded navigator: from a pose to a goal on a map, without ROS.

Plan on the grid, follow the plan, back off and plan again after a contact, plan again round things
in the scan that the map does not have. The codes of what fails are Nav2's, so that whoever asks
need not know which navigator answers.
"""
from dataclasses import dataclass, replace
import math

import numpy as np
from oomwoo_localization.frames import transform_points
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.grid_planner import GridPlanner
from oomwoo_sim_support.navigator_settings import Code, NavigatorSettings, PlanError
from oomwoo_sim_support.path_follower import FollowStep, PathFollower

__all__ = [
    'Code', 'FollowStep', 'GridPlanner', 'Navigator', 'NavigatorSettings', 'NavStep',
    'PathFollower', 'PlanError']

IN_THE_WAY_POINTS = 3         # returns that make a thing; a lone one is noise
LOOK_M = 2.0                  # how far new things are taken into the plan
REPLAN_PAUSE_S = 1.0
REACTION_S = 0.1              # one scan
GUARD_M = 0.02                # left in front of the shell after braking
GRAZE_M = 0.01                # what would slide past the shell's side by noise alone
# turning faster than this smears a scan; a robot that turns is going nowhere yet
SPIN_RADPS = 0.6
# Nav2's tree: two tries, forget the costmaps, two tries, wait
ABORTS_A_WAIT = 4
FLOOR_Z_M = 0.02              # a return below this is the floor, seen by a tilted body


@dataclass(frozen=True)
class NavStep:
    """
    One command and how it goes.

    ``linear`` m/s, ``angular`` rad/s. ``done`` ends the goal: reached when ``error_code`` is 0,
    else failed with that code and ``message``. ``recoveries`` counts contacts and new plans,
    ``aborts`` collisions that were foreseen.
    """

    linear: float = 0.0
    angular: float = 0.0
    done: bool = False
    distance_remaining: float = 0.0
    error_code: int = Code.NONE
    message: str = ''
    recoveries: int = 0
    aborts: int = 0
    state: str = 'IDLE'


class Navigator:
    """Takes the robot to one goal at a time; ``path`` is the current plan (N, 2) or None."""

    def __init__(self, grid, robot=None, settings=None):
        """Prepare for a map (:class:`OccupancyGrid`)."""
        self.robot = robot or load_robot()
        self.settings = settings or NavigatorSettings()
        self._mapped = GridPlanner(grid, self.robot, self.settings)
        self._follower = PathFollower(self.settings, self.robot)
        self.cancel()

    @property
    def grid(self):
        """Return the map."""
        return self._mapped.grid

    @property
    def active(self):
        """Return whether there is a goal."""
        return self._state != 'IDLE'

    def keep_out(self, pockets):
        """Lead the ways of goals to come round circles (x, y, radius) where there is a way."""
        self._mapped = self._mapped.with_pockets(pockets)

    def go(self, goal, pose, time_s):
        """
        Start towards ``goal`` from ``pose``, both ``(x, y, yaw)`` in the map.

        A running goal is forgotten. Raises :class:`PlanError` when there is no way; then there is
        no goal.
        """
        self.cancel()
        goal = np.asarray(goal, dtype=float)
        if goal.shape != (3,) or not np.isfinite(goal).all():
            raise PlanError(Code.GOAL_OUTSIDE_MAP, f'goal {goal} is not (x, y, yaw)')
        self._goal = goal
        self._plan(pose)
        self._state = 'DRIVE'
        self._since = time_s

    def cancel(self):
        """Forget the goal; the next :meth:`step` commands zero velocity."""
        self._state = 'IDLE'
        self._planner = self._mapped
        self._new_things = np.empty((0, 2))
        self._goal = self.path = self._step_pose = None
        self._contacts = self._replans = self._aborts = 0
        self._replanned_at = -math.inf
        self._in_the_way = self._close_ahead = False
        self._command, self._commanded_at = (0.0, 0.0), None

    def see(self, points, pose):
        """
        Take in a scan.

        ``points`` (N, 2) or (N, 3) are in base_footprint, ``pose`` is the robot's in the map then.
        Returns that the map does not explain and that lie on the way make the next :meth:`step`
        plan round them; returns where the shell will be before it can stop do so whether the map
        has them or not, so that a pose that is a little off does not end in a contact.
        """
        if not (self.active and self.settings.use_scan) or abs(self._command[1]) > SPIN_RADPS:
            return
        points = np.asarray(points, dtype=float)
        if points.ndim == 2 and points.shape[1] > 2:
            points = points[points[:, 2] > FLOOR_Z_M, :2]
        points = points[np.hypot(*points.T) < LOOK_M] if len(points) else points
        if len(points) == 0:
            return
        in_map = transform_points(pose, points)
        ahead = self._will_touch(points)
        if ahead.sum() >= IN_THE_WAY_POINTS:
            self._close_ahead = self._in_the_way = True
            self._new_things = np.vstack([self._new_things, in_map[ahead]])
        new = in_map[self._unexplained(in_map)]
        if len(new) < IN_THE_WAY_POINTS:
            return
        way = self._follower.ahead(self.settings.watch_m)
        gaps = np.hypot(*(new[:, None] - way[None]).transpose(2, 0, 1)).min(axis=1)
        if (gaps < self._planner.limit_m).sum() >= IN_THE_WAY_POINTS:
            self._in_the_way = True
            self._new_things = np.vstack([self._new_things, new])

    def _unexplained(self, points):
        """Return the mask of map points (N, 2) on free floor and away from all known obstacles."""
        grid = self._planner.grid
        return (self._planner.clearance(points) > self.settings.unmapped_m) & grid.lookup(
            grid.free, points, False)

    def _will_touch(self, points):
        """Return the mask of base-frame points that the shell reaches before it can stand."""
        linear, angular = self._command
        if linear <= 0.0:
            return np.zeros(len(points), dtype=bool)
        braking_m = linear ** 2 / (2.0 * self.robot.limits.linear_acceleration)
        along = (linear * REACTION_S + braking_m + GUARD_M) * np.array([0.4, 0.7, 1.0])
        turned = along * angular / linear
        middles = np.stack([along * np.cos(turned / 2.0), along * np.sin(turned / 2.0)], axis=1)
        gaps = np.hypot(*(points[:, None] - middles[None]).transpose(2, 0, 1)).min(axis=1)
        return gaps < self.robot.body.radius - GRAZE_M

    def step(self, pose, time_s, bumpers=(False, False), speed=None):
        """
        Return the :class:`NavStep` for a ``pose`` ``(x, y, yaw)`` in the map at ``time_s``.

        ``bumpers`` are the left and right half; ``speed`` the measured forward speed, if known.
        """
        if not self.active:
            return NavStep()
        step = self._decide(pose, time_s, bumpers, speed)
        if step.done:
            return step
        linear, angular = self._ramp(step.linear, step.angular, time_s)
        return replace(step, linear=linear, angular=angular)

    def _ramp(self, linear, angular, time_s):
        """
        Return what the wheels can follow within their acceleration, the forward part first.

        The base ramps each wheel by itself: asked to brake and to swing round at once, it goes
        straight on until the turn has been dealt with.
        """
        passed_s = 0.0 if self._commanded_at is None else time_s - self._commanded_at
        self._commanded_at = time_s
        old_linear, old_angular = self._command
        budget = self.robot.limits.linear_acceleration * min(max(passed_s, 0.02), 0.2)
        forward = min(max(linear - old_linear, -budget), budget)
        turn = 2.0 * (budget - abs(forward)) / self.robot.wheels.track
        self._command = (
            old_linear + forward, old_angular + min(max(angular - old_angular, -turn), turn))
        return self._command

    def _decide(self, pose, time_s, bumpers, speed):
        """Return the step that is wanted, whatever the wheels can do."""
        try:
            if any(bumpers) and self.settings.use_bumpers and self._state == 'DRIVE':
                return self._touched(pose, time_s, bumpers)
            if self._state == 'BACK_OFF':
                return self._back_off(pose, time_s)
            if self._state == 'WAIT' and time_s < self._since:
                return self._nav(0.0, 0.0)
            if self._state == 'WAIT':
                self._plan(pose)
                self._state = 'DRIVE'
            if self._in_the_way and time_s - self._replanned_at > REPLAN_PAUSE_S:
                return self._plan_round(pose, time_s)
            if self._close_ahead:
                return self._nav(0.0, 0.0)
        except PlanError as error:
            return self._end(error.code, str(error))
        follow = self._follower.step(pose, time_s, speed)
        if follow.error_code:
            return self._end(follow.error_code, follow.message, follow.distance_remaining)
        if follow.done:
            return self._end(Code.NONE, 'goal reached', follow.distance_remaining)
        if self.settings.use_collision_detection and self._will_collide(
                pose, follow.linear, follow.angular):
            return self._abort(pose, time_s)
        return self._nav(follow.linear, follow.angular, follow.distance_remaining)

    # -- the collision-averse controller ----------------------------------------------------

    def _will_collide(self, pose, linear, angular):
        """
        Return whether the body touches something mapped on the arc of a command.

        Looked at from where it stands for ``collision_time_s``, no farther than to the point that
        is chased, a cell at a time (Macenski et al., 2023; Nav2's ``use_collision_detection``).
        """
        settings = self.settings
        reach_m = min(abs(linear) * settings.collision_time_s, settings.lookahead_m)
        along = np.arange(0.0, reach_m + 1e-9, self.grid.resolution)
        turned = along * (angular / linear if linear else 0.0)
        # The chord to a point of an arc leaves at half the angle turned.
        chord, heading = along * np.sinc(turned / (2.0 * math.pi)), pose[2] + turned / 2.0
        middles = np.asarray(pose[:2]) + np.stack(
            [chord * np.cos(heading), chord * np.sin(heading)], axis=1)
        return bool((self._planner.clearance(middles) < self.robot.body.radius).any())

    def _abort(self, pose, time_s):
        """Stop dead, as a controller that throws; plan and try again, or fail the goal."""
        self._aborts += 1
        self._command = (0.0, 0.0)
        if self._aborts >= self.settings.abort_limit:
            return self._end(
                Code.NO_VALID_CONTROL, f'collision ahead, {self._aborts} times on the way to '
                f'({self._goal[0]:.2f}, {self._goal[1]:.2f})')
        waits = self._aborts % ABORTS_A_WAIT == 0
        self._state = 'WAIT'
        self._since = time_s + (self.settings.abort_wait_s if waits else 0.0)
        return self._nav(0.0, 0.0)

    # -- what can come between --------------------------------------------------------------

    def _touched(self, pose, time_s, bumpers):
        """Stop, remember where the contact was, and reverse; give up when it happens too often."""
        self._contacts += 1
        if self._contacts >= self.settings.contact_limit:
            return self._end(
                Code.FAILED_TO_MAKE_PROGRESS,
                f'{self._contacts} contacts on the way to '
                f'({self._goal[0]:.2f}, {self._goal[1]:.2f})')
        left, right = bumpers
        low, high = (-10.0 if right else 10.0), (10.0 if left else -10.0)
        bearings = np.radians(np.linspace(-45.0 if right else low, 45.0 if left else high, 9))
        touched = self.robot.body.radius * np.stack([np.cos(bearings), np.sin(bearings)], axis=1)
        self._new_things = np.vstack([self._new_things, transform_points(pose, touched)])
        self._state, self._step_pose, self._since = 'BACK_OFF', np.array(pose, dtype=float), time_s
        return self._nav(0.0, 0.0)

    def _back_off(self, pose, time_s):
        back = math.hypot(pose[0] - self._step_pose[0], pose[1] - self._step_pose[1])
        patience_s = 2.0 * self.settings.back_off_m / self.settings.back_off_speed + 0.5
        if back < self.settings.back_off_m and time_s - self._since < patience_s:
            return self._nav(-self.settings.back_off_speed, 0.0)
        self._state = 'DRIVE'
        return self._plan_round(pose, time_s)

    def _plan_round(self, pose, time_s):
        """Plan again with everything new as an obstacle, standing."""
        self._in_the_way = self._close_ahead = False
        self._replans += 1
        self._replanned_at = time_s
        if self._replans > self.settings.replan_limit:
            return self._end(
                Code.FAILED_TO_MAKE_PROGRESS, f'the way was blocked {self._replans} times')
        self._planner = self._mapped.with_obstacles(self._new_things)
        self._plan(pose)
        return self._nav(0.0, 0.0, self._follower.length_m)

    def _plan(self, pose):
        self.path = self._planner.plan(pose, self._goal)
        self._follower.set_path(self.path, self._goal, self._planner.clearance)

    def _nav(self, linear, angular, remaining=None):
        if remaining is None:
            remaining = self._follower.length_m - self._follower.along_m
        return NavStep(
            linear, angular, False, remaining, recoveries=self._contacts + self._replans,
            aborts=self._aborts, state=self._state)

    def _end(self, code, message, remaining=0.0):
        recoveries, aborts = self._contacts + self._replans, self._aborts
        self.cancel()
        return NavStep(0.0, 0.0, True, remaining, code, message, recoveries, aborts)
