"""Maps and a base for the navigator's tests: mazes, exact clearance, a ramped unicycle."""
import math

import numpy as np
from oomwoo_localization.grids import OccupancyGrid, OCCUPIED
from oomwoo_localization.robot import load_robot

ROBOT = load_robot()


def room(width_m=6.0, height_m=6.0, resolution=0.025, origin=None):
    """Return an empty walled room, cells (rows, columns), with (0, 0) in its middle."""
    rows, columns = round(height_m / resolution), round(width_m / resolution)
    cells = np.zeros((rows, columns), dtype=np.int8)
    cells[[0, -1]] = OCCUPIED
    cells[:, [0, -1]] = OCCUPIED
    return OccupancyGrid(cells, resolution, origin or (-width_m / 2, -height_m / 2, 0.0))


def block(grid, x0, y0, x1, y1):
    """Return the grid with the rectangle occupied, map metres of an unturned grid."""
    cells = grid.cells.copy()
    low = np.rint(grid.points_to_cells(np.array([[x0, y0]]))[0] + 0.5).astype(int)
    high = np.rint(grid.points_to_cells(np.array([[x1, y1]]))[0] + 0.5).astype(int)
    cells[low[0]:max(high[0], low[0] + 1), low[1]:max(high[1], low[1] + 1)] = OCCUPIED
    return OccupancyGrid(cells, grid.resolution, grid.origin)


def maze(seed, cells_across=5, corridor_m=0.8, wall_m=0.05, resolution=0.025, door_m=0.45):
    """Return (grid, pitch) of a random maze of thin walls with some doors of ``door_m``."""
    rng = np.random.default_rng(seed)
    pitch = corridor_m + wall_m
    size = cells_across * pitch + wall_m
    grid = room(size, size, resolution, (0.0, 0.0, 0.0))
    cells = grid.cells.copy()
    at = [round(k * pitch / resolution) for k in range(cells_across + 1)]
    thick = max(1, round(wall_m / resolution))
    for k in at:
        cells[k:k + thick], cells[:, k:k + thick] = OCCUPIED, OCCUPIED
    seen, stack = {(0, 0)}, [(0, 0)]
    while stack:
        r, c = stack[-1]
        ways = [(r + dr, c + dc) for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))
                if 0 <= r + dr < cells_across and 0 <= c + dc < cells_across
                and (r + dr, c + dc) not in seen]
        if not ways:
            stack.pop()
            continue
        nr, nc = ways[rng.integers(len(ways))]
        full = at[1] - thick
        wide = round(door_m / resolution) if rng.random() < 0.5 else full
        offset = thick + rng.integers(0, full - wide + 1)
        if nr == r:
            wall = at[max(c, nc)]
            cells[at[r] + offset:at[r] + offset + wide, wall:wall + thick] = 0
        else:
            wall = at[max(r, nr)]
            cells[wall:wall + thick, at[c] + offset:at[c] + offset + wide] = 0
        seen.add((nr, nc))
        stack.append((nr, nc))
    return OccupancyGrid(cells, resolution, (0.0, 0.0, 0.0)), pitch


def exact_clearance(grid, points):
    """Return (N,) metres from points to the nearest occupied cell's square; for unturned grids."""
    squares = grid.cells_to_points(np.argwhere(grid.obstacles))
    half = grid.resolution / 2.0
    found = np.empty(len(points))
    for k, point in enumerate(np.atleast_2d(points)):
        gap = np.maximum(np.abs(squares - point) - half, 0.0)
        found[k] = math.sqrt((gap ** 2).sum(axis=1).min())
    return found


class Base:
    """A unicycle that ramps every command as the real base does; no slip and no collisions."""

    def __init__(self, pose, limits=ROBOT.limits, track=ROBOT.wheels.track):
        self.pose = np.array(pose, dtype=float)
        self.linear = self.angular = 0.0
        self._linear_step = limits.linear_acceleration
        self._angular_step = 2.0 * limits.linear_acceleration / track
        self.track = [self.pose.copy()]

    def drive(self, linear, angular, seconds, tick_s=0.01):
        """Drive for ``seconds``; every tick's pose goes to ``track``."""
        for _ in range(round(seconds / tick_s)):
            reach = self._linear_step * tick_s
            self.linear += min(max(linear - self.linear, -reach), reach)
            reach = self._angular_step * tick_s
            self.angular += min(max(angular - self.angular, -reach), reach)
            x, y, yaw = self.pose
            self.pose = np.array([
                x + self.linear * math.cos(yaw) * tick_s, y + self.linear * math.sin(yaw) * tick_s,
                yaw + self.angular * tick_s])
            self.track.append(self.pose.copy())


def drive_to(navigator, base, goal, seconds=200.0, period_s=0.1, bump=None, scan=None):
    """
    Run a navigator on a base; return the last step and the time, s.

    ``bump(pose)`` and ``scan(pose)`` give bumpers and base-frame points.
    """
    navigator.go(goal, base.pose, 0.0)
    time_s = 0.0
    while time_s < seconds:
        if scan is not None:
            navigator.see(scan(base.pose), base.pose)
        step = navigator.step(
            base.pose, time_s, bump(base.pose) if bump else (False, False), base.linear)
        if step.done:
            return step, time_s
        base.drive(step.linear, step.angular, period_s)
        time_s += period_s
    return step, time_s
