"""A round body in a box, with the reflexes over whoever pushes it."""
import math

import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_localization.scans import Scan

BEAMS = 360
PUSH = (0.2, 0.0)
ROOM, CORRIDOR = (2.0, 1.5), (60.0, 0.6)


def box_scan(pose, half, noise_m=0.0, seed=0, range_max=8.0):
    """Return the scan of a scanner at ``pose`` in a box of half sizes (x, y), metres."""
    x, y, yaw = pose
    angles = -math.pi + math.tau / BEAMS * np.arange(BEAMS) + yaw
    c, s = np.cos(angles), np.sin(angles)
    with np.errstate(divide='ignore'):
        ranges = np.minimum((np.where(c > 0, half[0], -half[0]) - x) / c,
                            (np.where(s > 0, half[1], -half[1]) - y) / s)
    ranges = ranges + noise_m * np.random.default_rng(seed).standard_normal(BEAMS)
    ranges[ranges > range_max] = math.inf
    return Scan(ranges, -math.pi, math.tau / BEAMS, 0.05, range_max)


class Robot:
    """A robot whose body does what it is told to, or does not move at all."""

    def __init__(self, reflex, period_s=0.05, half=ROOM, scans=True, moves=True, seed=0,
                 odometry=True):
        """Stand in the middle of a box."""
        self.reflex, self.period_s, self.half = reflex, period_s, half
        self.scans, self.moves, self.seed, self.odometry = scans, moves, seed, odometry
        self.now_s, self.pose = 5.0, np.zeros(3)
        self.pressed = {'left': False, 'right': False}
        self.outputs, self.commands = [], []
        self.ticks = 0

    def tick(self, push=PUSH, period_s=None):
        """One step; a behaviour that ignores everything commands ``push`` all the time."""
        if self.odometry:
            self.reflex.odometry(self.pose, self.now_s)
        for side, pressed in self.pressed.items():
            self.reflex.bumper(side, pressed, self.now_s)
        if self.scans and self.ticks % 2 == 0:
            self.reflex.scanned(
                box_scan(self.pose, self.half, 0.01, [self.seed, self.ticks]), np.eye(4),
                self.now_s)
        out = self.reflex.step(self.now_s)
        command = (out.linear, out.angular) if out.active else push
        if command is not None:
            self.reflex.commanded(*command, self.now_s)
        self.outputs.append(out)
        self.commands.append((self.now_s, command))
        period_s = period_s or self.period_s
        if self.moves and command is not None:
            self.pose = compose(self.pose, (
                command[0] * period_s, 0.0, command[1] * period_s))
        self.now_s += period_s
        self.ticks += 1
        return out

    def run(self, seconds, until=None, **kwargs):
        """Tick for some time, or until ``until(output)``; return the last output."""
        end_s = self.now_s + seconds
        while self.now_s < end_s - 1e-9:
            out = self.tick(**kwargs)
            if until is not None and until(out):
                break
        return out

    def states(self):
        """Return the states in their order, each once in a row."""
        found = [out.state for out in self.outputs]
        return [state for i, state in enumerate(found) if i == 0 or state != found[i - 1]]
