"""Touches of walls and of other things, by geometry alone, for the tests of the bump map."""
import math

import numpy as np
from oomwoo_clean.bump_map import BumpMap, BumpMapSettings
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.robot import load_robot

ROBOT = load_robot()
R = ROBOT.body.radius
OVERLAP = math.radians(BumpMapSettings().nose_overlap_deg)
HERE = (0.0, 0.0, 0.0)


def side_of(azimuth):
    """Return which side of the bumper a touch at an azimuth (rad, left positive) presses."""
    return 'both' if abs(azimuth) < OVERLAP else 'left' if azimuth > 0.0 else 'right'


class Robot:
    """Drives a body of the robot's size through a map and tells a :class:`BumpMap` about it."""

    def __init__(self, map_from_odom=HERE, pose=HERE, **settings):
        """Stand at ``pose`` in the map; odometry is right, and lies there in the map."""
        self.map = BumpMap(BumpMapSettings(**settings))
        self.map_from_odom = np.array(map_from_odom, dtype=float)
        self.pose, self.time_s = np.array(pose, dtype=float), 100.0
        self.localize = True
        self.tell()

    @property
    def odom(self):
        """Return the body's pose in odom."""
        return compose(inverse(self.map_from_odom), self.pose)

    def tell(self, passed_s=0.05):
        """Let time pass and say where the robot is."""
        self.time_s += passed_s
        if self.localize:
            self.map.localized(self.map_from_odom, self.time_s)
        self.map.moved(self.odom, self.time_s)

    def drive(self, distance_m, step_m=0.01):
        """Drive ahead, or back for less than zero, telling as it goes."""
        for _ in range(max(1, round(abs(distance_m) / step_m))):
            ahead = math.copysign(step_m, distance_m)
            self.pose = compose(self.pose, (ahead, 0.0, 0.0))
            self.tell()

    def put(self, pose):
        """Stand somewhere else, without having driven there."""
        self.pose = np.array(pose, dtype=float)

    def press(self, side):
        """Touch something here."""
        self.map.press(side, self.odom, self.time_s)

    def release(self, side='both'):
        """Let go."""
        self.map.release(side, self.time_s)

    def bump(self, point, normal_rad, azimuth, off_m=0.0, back_m=0.15):
        """
        Touch a surface at ``point`` whose normal, from the floor into it, has a direction.

        ``azimuth`` is where on the shell; ``off_m`` an error of the distance. The robot comes
        straight, from ``back_m`` away, and goes back there.
        """
        yaw = normal_rad - azimuth
        normal = np.array([math.cos(normal_rad), math.sin(normal_rad)])
        x, y = np.asarray(point) - (R + off_m) * normal
        self.put(compose((x, y, yaw), (-back_m, 0.0, 0.0)))
        self.drive(back_m)
        self.put((x, y, yaw))
        self.press(side_of(azimuth))
        self.tell(0.1)
        self.drive(-0.03)
        self.release()
        self.drive(0.03 - back_m)
        self.tell(3.0)


def along_wall(start, end, count, rng, off_std=0.0, widest_deg=60.0):
    """Return points (N, 2), normal rad, azimuths (N,), off (N,) of touches; floor on the left."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    share = (np.arange(count) + rng.uniform(-0.2, 0.2, count)).clip(0, count - 1) / (count - 1)
    points = start + share[:, None] * (end - start)
    normal = math.atan2(end[1] - start[1], end[0] - start[0]) - math.pi / 2
    azimuths = np.radians(rng.uniform(-widest_deg, widest_deg, count))
    return points, normal, azimuths, rng.normal(0.0, off_std, count)


def off_line(wall, start, end):
    """Return (worst distance m, angle deg) of a wall's ends from the line through two points."""
    along = (np.asarray(end) - start) / np.linalg.norm(np.asarray(end) - start)
    across = np.array([-along[1], along[0]])
    away = max(abs((wall.start - start) @ across), abs((wall.end - start) @ across))
    is_ = (wall.end - wall.start) / max(wall.length_m, 1e-9)
    return away, math.degrees(math.asin(min(1.0, abs(is_ @ across))))
