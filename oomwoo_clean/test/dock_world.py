"""A flat world for the docking tests: a unicycle, a scanner, receivers, a dock and posts."""
import math

import numpy as np
from oomwoo_clean.dock_detector import DockFix
from oomwoo_clean.dock_drive import DockObservation
from oomwoo_localization.dock import DockShape
from oomwoo_localization.frames import compose, inverse, transform_points
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scans import Scan
from oomwoo_sim_support.ir_beacon import IrBeacon

BEAMS, PERIOD_S = 360, 0.1
TRAVEL_M = 0.003              # of the sprung contacts
ROBOT, SHAPE = load_robot(), DockShape()


def dock_walls(pose, shape=SHAPE):
    """Return the dock's outline as segments (N, 2, 2) in the world."""
    inner, outer, depth, end = (
        shape.half_width, shape.half_outside, -shape.depth, -shape.depth - shape.back)
    corners = [(end, outer), (0.0, outer), (0.0, inner), (depth, inner), (depth, -inner),
               (0.0, -inner), (0.0, -outer), (end, -outer)]
    points = transform_points(pose, corners)
    return np.stack([points[:-1], points[1:]], axis=1)


def room_walls(low, high):
    """Return the four walls of a room as segments (4, 2, 2)."""
    (x0, y0), (x1, y1) = low, high
    corners = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], dtype=float)
    return np.stack([corners[:-1], corners[1:]], axis=1)


class DockWorld:
    """
    Kinematics without slip, scans by ray casting; the robot passes through nothing.

    ``dock`` is its pose, None for a world without; ``posts`` are (x, y, radius). ``stuck`` makes
    commands void: 'wheels' stand, or 'floor' lets odometry turn and the robot not. ``glints`` are
    lights (x, y, brightness) that are no dock.
    """

    def __init__(self, start=(1.2, 0.4, 0.7), dock=(0.0, 0.0, 0.0), posts=(), seed=0,
                 noise_m=0.01, beacon_on=True, walls=None, stuck='',
                 glints=()):
        """Put everything in its place."""
        self.pose, self.odom = np.array(start, dtype=float), np.zeros(3)
        self.dock = None if dock is None else np.array(dock, dtype=float)
        self.posts, self.stuck = [tuple(post) for post in posts], stuck
        self._rng, self._noise_m = np.random.default_rng(seed), noise_m
        self._walls = room_walls((-0.41, -2.0), (3.0, 2.0)) if walls is None else walls
        self._beacon = IrBeacon(ROBOT, seed=seed, on=beacon_on)
        self._glints = tuple(glints)
        self.time_s, self.charger = 0.0, True
        self.base_from_scan = np.eye(4)
        self.base_from_scan[0, 3] = ROBOT.lidar.x
        self.touched = self.bumps = 0
        self.pressed = (False, False)

    def in_dock(self):
        """Return the true pose (3,) in the dock frame."""
        return compose(inverse(self.dock), self.pose)

    def observe(self, **changes):
        """Return what the robot sees now; ``changes`` replace fields."""
        charging = False
        if self.dock is not None and self.charger:
            x, y, yaw = self.in_dock()
            charging = bool(x <= ROBOT.body.radius - SHAPE.depth + TRAVEL_M
                            and abs(y) < 0.012 and abs(yaw) < math.radians(6.0))
        values = {
            'time_s': self.time_s, 'scan': self._scan(), 'base_from_scan': self.base_from_scan,
            'odom': self.odom.copy(), 'bumper_left': self.pressed[0],
            'bumper_right': self.pressed[1], 'ir': self._infrared(), 'charging': charging}
        return DockObservation(**{**values, **changes})

    def move(self, linear, angular):
        """Drive for one scan period, and stop at what is solid."""
        self.time_s += PERIOD_S
        step = np.array([linear * PERIOD_S, 0.0, angular * PERIOD_S])
        if self.stuck == 'wheels':
            return
        turned = step * [1.0, 1.0, 0.5]
        self.odom = compose(compose(self.odom, turned), (0.0, 0.0, turned[2]))
        if self.stuck == 'floor':
            return
        there = compose(compose(self.pose, turned), (0.0, 0.0, turned[2]))
        gap, bearing, dock = self._gap(there)
        self.pressed = (False, False)
        if gap < 0.0:
            self.touched += dock
            there = np.array([*self.pose[:2], there[2]])
            if abs(bearing) < math.pi / 2:
                self.bumps += 1
                self.pressed = (bearing > -0.2, bearing < 0.2)
        self.pose = there

    # -- geometry ---------------------------------------------------------------------------

    def _segments(self):
        dock = np.zeros((0, 2, 2)) if self.dock is None else dock_walls(self.dock)
        return np.concatenate([self._walls, dock]), len(self._walls)

    def _gap(self, pose):
        """Return the gap to the nearest solid, its bearing in the robot frame, is it the dock."""
        segments, own = self._segments()
        a, along = segments[:, 0], segments[:, 1] - segments[:, 0]
        t = ((pose[:2] - a) * along).sum(axis=1) / (along ** 2).sum(axis=1)
        nearest = a + np.clip(t, 0.0, 1.0)[:, None] * along
        distance = np.hypot(*(nearest - pose[:2]).T)
        points = [*nearest]
        distance = distance.tolist()
        for x, y, radius in self.posts:
            distance.append(math.hypot(x - pose[0], y - pose[1]) - radius)
            points.append(np.array([x, y]))
        first = int(np.argmin(distance))
        dx, dy = points[first] - pose[:2]
        bearing = math.remainder(math.atan2(dy, dx) - pose[2], math.tau)
        return distance[first] - ROBOT.body.radius, bearing, own <= first < len(segments)

    def _cast(self, eye, rays):
        """Return (N,) the distance along unit rays (N, 2) to the first solid, infinite without."""
        segments, _ = self._segments()
        a, along = segments[:, 0], segments[:, 1] - segments[:, 0]
        away = a - eye
        cross = rays[:, None, 0] * along[None, :, 1] - rays[:, None, 1] * along[None, :, 0]
        with np.errstate(divide='ignore', invalid='ignore'):
            t = (away[:, 0] * along[:, 1] - away[:, 1] * along[:, 0])[None] / cross
            u = (away[None, :, 0] * rays[:, None, 1] - away[None, :, 1] * rays[:, None, 0]) / cross
            t = np.where((u >= 0.0) & (u <= 1.0) & (t > 0.0), t, np.inf)
        found = t.min(axis=1)
        for x, y, radius in self.posts:
            to = np.array([x, y]) - eye
            ahead = rays @ to
            off = to @ to - ahead ** 2
            hit = (ahead > 0.0) & (off < radius ** 2)
            found = np.where(
                hit, np.minimum(found, ahead - np.sqrt(np.maximum(radius ** 2 - off, 0.0))), found)
        return found

    def _scan(self):
        eye = compose(self.pose, (ROBOT.lidar.x, 0.0, 0.0))
        angles = -math.pi + np.arange(BEAMS) * math.tau / BEAMS
        rays = np.stack([np.cos(eye[2] + angles), np.sin(eye[2] + angles)], axis=1)
        ranges = self._cast(eye[:2], rays) + self._rng.normal(0.0, self._noise_m, BEAMS)
        return Scan(ranges, -math.pi, math.tau / BEAMS, 0.05, 8.0, self.time_s)

    def _infrared(self):
        def blocked(emitter, at):
            ray = (emitter - at) / np.linalg.norm(emitter - at)
            return self._cast(at, ray[None])[0] < np.linalg.norm(emitter - at) - 0.05

        return self._beacon.read(self.pose, self.dock, blocked, self._glints)


class EasyDetector:
    """Stands in for the detector where that is not what is tested: the truth with some noise."""

    reason = 'nothing like a dock'

    def __init__(self, world):
        """Look into ``world``."""
        self._world, self._rng = world, np.random.default_rng(3)
        self._sigma = np.array([0.002, 0.002, 0.004])

    def find(self, scan, base_from_scan, beacon=None, hint=None):
        """Return a DockFix when the robot is before the mouth and sees the beacon or is near."""
        if self._world.dock is None:
            return None
        x, y, _ = self._world.in_dock()
        if abs(math.atan2(y, x + SHAPE.depth)) > math.radians(50.0):
            return None
        pose = compose(inverse(self._world.pose), self._world.dock)
        return DockFix(pose + self._sigma * self._rng.standard_normal(3),
                       np.diag(self._sigma ** 2), 30, 2, 0.0, 1.0)


def run(drive, world, seconds=200.0, watch=None):
    """Step ``drive`` in ``world`` until it has nothing more to do; returns all outputs."""
    outputs = []
    for _ in range(round(seconds / PERIOD_S)):
        out = drive.step(world.observe())
        outputs.append(out)
        if watch is not None:
            watch(out)
        if not drive.active:
            return outputs
        world.move(out.linear, out.angular)
    raise AssertionError(f'nothing came of it in {seconds} s: {outputs[-1]}')
