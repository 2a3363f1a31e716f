"""Exact distance in the plane from a point to a set of upright solids, all at once."""
import numpy as np


class SolidField:
    """
    Signed distance to boxes and cylinders.

    A cylinder is a box of no size that is rounded by its radius, so that one formula serves both
    (the rounded box of Quilez, "2D distance functions").
    """

    def __init__(self, parts):
        """Take the primitives; soft ones are left out by the caller."""
        self.names = [part.name for part in parts]
        box = np.array([part.kind == 'box' for part in parts], dtype=bool)
        half = np.array([(part.half_x, part.half_y) for part in parts]).reshape(-1, 2)
        yaw = np.array([part.yaw for part in parts])
        self._x = np.array([part.x for part in parts])
        self._y = np.array([part.y for part in parts])
        self._cos, self._sin = np.cos(yaw), np.sin(yaw)
        self._half_x = np.where(box, half[:, 0], 0.0)
        self._half_y = np.where(box, half[:, 1], 0.0)
        self._round = np.where(box, 0.0, half[:, 0])

    def distances(self, x, y):
        """Return (N,) metres from the point to each solid's outline, negative inside."""
        dx, dy = x - self._x, y - self._y
        along = np.abs(self._cos * dx + self._sin * dy) - self._half_x
        across = np.abs(self._cos * dy - self._sin * dx) - self._half_y
        outside = np.hypot(np.maximum(along, 0.0), np.maximum(across, 0.0))
        return outside + np.minimum(np.maximum(along, across), 0.0) - self._round

    def nearest(self, x, y):
        """Return the least distance and the solid's name; infinite and '' without any solid."""
        if not self.names:
            return float('inf'), ''
        found = self.distances(x, y)
        index = int(found.argmin())
        return float(found[index]), self.names[index]
