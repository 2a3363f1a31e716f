"""Where the robot stands in the plane: distance to upright solids, and carpet under a wheel."""
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


class Carpets:
    """What grip a tyre has where."""

    def __init__(self, carpets, bare_friction):
        """Take carpets, ``polygon`` (N, 2) and ``friction`` each; a later one lies on top."""
        self._bare = bare_friction
        self._carpets = []
        for carpet in carpets:
            polygon = np.asarray(carpet.polygon, dtype=float)
            low, high = polygon.min(axis=0).tolist(), polygon.max(axis=0).tolist()
            following = np.roll(polygon, -1, axis=0)
            edges = [(*a, *b) for a, b in zip(polygon.tolist(), following.tolist())]
            self._carpets.insert(0, (low, high, edges, float(carpet.friction)))

    def __len__(self):
        """Return how many there are."""
        return len(self._carpets)

    def friction(self, x, y):
        """Return the friction coefficient of a tyre at the point."""
        for low, high, edges, friction in self._carpets:
            if low[0] <= x <= high[0] and low[1] <= y <= high[1] and _inside(edges, x, y):
                return friction
        return self._bare


def _inside(edges, x, y):
    """Tell whether a point is in a polygon, by the crossings of a ray (Shimrat, 1962)."""
    inside = False
    for ax, ay, bx, by in edges:
        if (ay > y) != (by > y) and x < ax + (y - ay) * (bx - ax) / (by - ay):
            inside = not inside
    return inside
