"""Which edges there are: the rings on a map and on what was touched, and the ways between them."""
import hashlib

import numpy as np
from oomwoo_clean.edge_map import with_touched, without_islets
from oomwoo_clean.edge_rings import extract_rings
from oomwoo_clean.edge_targets import TargetChooser
from oomwoo_clean.edge_ways import FloorWays
from oomwoo_localization.floor import reachable_floor
from oomwoo_localization.grids import GridError
from scipy.spatial import cKDTree

# Touched this near to what is on the map, it is what is on the map.
SEEN_M = 0.10
ISLET_M2 = 1.0                # floor of less than this among touches is the inside of something


class EdgeList:
    """
    The edges that a robot reaches on one map, and on what touch has added to it.

    ``rings`` (:class:`~oomwoo_clean.edge_rings.Rings`), ``reachable`` floor (a mask of the grid's
    shape), ``felt`` (N,) the spots that touch has a say in, ``tolerance_m`` (N,) how near to a
    spot the robot has to pass, ``chooser`` of targets. All are new after :meth:`take_in`.
    """

    def __init__(self, grid, pose, settings, robot):
        """
        Find the rings on the floor that the robot reaches from ``pose`` (x, y, yaw).

        ``settings`` are EdgeSettings. Raises GridError naming what is wrong with the map.
        """
        grid.check()
        if grid.resolution > settings.max_cell_m:
            raise GridError(
                f'map: resolution {grid.resolution:.3f} m is too coarse to find edges in; '
                f'max_cell_m is {settings.max_cell_m} m')
        self._grid, self._settings = grid, settings
        self._body_m, self._standoff_m = robot.body.radius, robot.edge_cleaning.standoff
        self.floor = reachable_floor(grid, pose, self._body_m + settings.floor_margin_m)
        self._refused = None          # points that leave no edge
        self.find(np.zeros((0, 2)))

    def find(self, touched):
        """Find rings and reachable floor on the map with map points (N, 2) that were touched."""
        self.touched = touched
        settings = self._settings
        grid = with_touched(self._grid, touched)
        self.reachable = self.floor
        if len(touched):
            # Not searched anew: a touch that is a little off must not close a passage.
            self.reachable = without_islets(
                self.floor & (grid.obstacle_distance >= self._body_m + settings.floor_margin_m),
                ISLET_M2 / grid.resolution ** 2)
        self.rings = extract_rings(
            grid, self.reachable, self._standoff_m, settings.spot_spacing_m, settings.side)
        ways = FloorWays(
            grid, self.reachable, self.rings.points, self._body_m, self._standoff_m)
        self.chooser = TargetChooser(
            ways, self.rings, settings.detour_m, settings.detour_min_m, settings.choice_m)
        count = len(self.rings.points)
        self.tree = cKDTree(self.rings.points) if count else None
        self.felt = np.zeros(count, dtype=bool)
        if count and len(touched):
            gap, _ = cKDTree(touched).query(self.rings.points)
            self.felt = gap < self._standoff_m + settings.felt_tolerance_m
        self.tolerance_m = np.where(
            self.felt, settings.felt_tolerance_m, settings.tolerance_m)

    def take_in(self, points):
        """
        Take in all map points (N, 2) that were touched by now; tell whether that is new.

        Raises GridError, once for the same points, when they leave no edge where there was some;
        they are not taken in.
        """
        points = np.asarray(points, dtype=float).reshape(-1, 2)
        gap = self._grid.lookup(self._grid.obstacle_distance, points, outside=0.0)
        points = points[gap > SEEN_M]
        if any(np.array_equal(points, known) for known in (self.touched, self._refused)):
            return False
        before, some = self.touched, len(self.rings.points) > 0
        self.find(points)
        if some and len(self.rings.points) == 0:
            self._refused = points
            self.find(before)
            raise GridError('bump_map: it leaves no edge on the map that the robot gets to')
        return True

    def nearest(self, point):
        """Return ``(metres, spot)`` of the spot nearest to a point, ``(inf, None)`` of none."""
        return self.tree.query(point) if self.tree is not None else (np.inf, None)

    def passed(self, point):
        """Return the spots that a robot at a point passes, each with its own tolerance."""
        if self.tree is None:
            return np.zeros(0, dtype=int)
        reach_m = max(self._settings.tolerance_m,
                      self._settings.felt_tolerance_m * self.felt.any())
        near = np.array(self.tree.query_ball_point(point, reach_m), dtype=int)
        away = np.hypot(*(self.rings.points[near] - point).T)
        return near[away <= self.tolerance_m[near]]

    def on_ring(self, pose):
        """Return the spot at which the robot drives along a ring, or None."""
        if self.tree is None:
            return None
        near = self.tree.query_ball_point(pose[:2], self._settings.tolerance_m)
        near = np.array(near, dtype=int)
        near = near[np.cos(self.rings.yaw[near] - pose[2]) > 0.0]
        if len(near) == 0:
            return None
        return int(near[np.argmin(np.hypot(*(self.rings.points[near] - pose[:2]).T))])

    def name(self):
        """Return a short name of these very rings."""
        points = np.ascontiguousarray(np.round(self.rings.points, 6))
        return hashlib.sha256(points.tobytes()).hexdigest()[:16]
