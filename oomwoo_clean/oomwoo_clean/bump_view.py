"""What the touches of a bump map come to: points, walls and a grid."""
from functools import cached_property

import numpy as np
from oomwoo_clean.bump_passage import touch_grid
from oomwoo_clean.bump_walls import fit_walls
from oomwoo_localization.grids import UNKNOWN


class BumpView:
    """
    Points and walls of one state of a bump map, each computed when first asked for.

    ``contacts`` is a list of :class:`.bump_contact.Contact` that have a place, ``passage`` where
    the body has been, ``reference`` the :class:`OccupancyGrid` of the map they lie on, or None.
    """

    def __init__(self, contacts, passage, reference, robot, settings):
        """Compute nothing yet."""
        self._contacts, self._passage, self._reference = contacts, passage, reference
        self._radius, self._settings = robot.body.radius, settings

    @cached_property
    def poses(self):
        """Return (N, 3) poses in the map at which the body touched."""
        return np.array([c.pose for c in self._contacts]).reshape(-1, 3)

    @property
    def deep_m(self):
        """Return how near to the body's centre nothing solid can be."""
        return self._radius - self._settings.cover_margin_m

    def near(self, xy):
        """Return the touches of something that a body with its centre at ``xy`` could cover."""
        away = np.hypot(*(self.poses[:, :2] - xy).T)
        return [self._contacts[i] for i in np.flatnonzero(away < 2.0 * self._radius)]

    @cached_property
    def points(self):
        """
        Return (N, 2) map points that were touched.

        On the wall that a touch belongs to; else in the likeliest direction on the shell.
        """
        alone = np.isnan(self._towards)
        angles = np.where(alone, 0.0, self._towards)
        for index in np.flatnonzero(alone):
            angles[index] = self.poses[index, 2] + self._contacts[index].likely_azimuth()
        ray = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return self.poses[:, :2] + self._radius * ray

    @property
    def walls(self):
        """Return the list of :class:`.bump_walls.WallSegment`."""
        return self._fitted[0]

    @property
    def _towards(self):
        return self._fitted[1]

    @cached_property
    def _fitted(self):
        """
        Return (walls, (N,) direction of each touch on its wall, nan on none).

        Where the map knows no floor no wall is claimed: a localizer that matches a scan with a map
        of another place is off by centimetres and all touches with it, in the same direction.
        """
        towards = np.full(len(self._contacts), np.nan)
        on = np.flatnonzero(self._on_the_map())
        if not len(on):
            return [], towards
        contacts = [self._contacts[i] for i in on]
        angles = self.poses[on, 2, None] + np.array([c.azimuths for c in contacts])
        walls, towards[on] = fit_walls(
            self.poses[on, :2], angles, np.array([c.alive for c in contacts]), self._radius,
            self._settings, lambda points: self._passage.within(points, self.deep_m))
        return walls, towards

    def _on_the_map(self):
        """Return (N,) whether the body stood on floor that the map knows; without one, True."""
        grid = self._reference
        if grid is None or not self._contacts:
            return np.ones(len(self._contacts), dtype=bool)
        return grid.lookup(grid.cells, self.poses[:, :2], outside=UNKNOWN) != UNKNOWN

    def grid(self, reference):
        """Return the :class:`OccupancyGrid` of touch on the cells of ``reference``."""
        return touch_grid(
            reference, self._passage, self._radius, self.points, self.walls,
            self._settings.contact_radius_m)
