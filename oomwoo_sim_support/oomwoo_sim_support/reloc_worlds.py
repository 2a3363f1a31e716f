"""
Worlds of straight walls for the relocalizer's trials.

Rooms are drawn at random, and scanned and mapped exactly. Everything is a set of segments, an
array (N, 2, 2) of end points in metres. The scan is cut from the segments themselves, never from
the map, so that map and scan err independently.
"""

from dataclasses import dataclass, field
import math

import numpy as np
from oomwoo_localization.frames import inverse, transform_points
from oomwoo_localization.grids import FREE, OccupancyGrid, OCCUPIED, UNKNOWN
from oomwoo_localization.scans import Scan
from scipy import ndimage


def closed(points):
    """Return the segments (N, 2, 2) of a closed polygon (N, 2)."""
    points = np.asarray(points, dtype=float)
    return np.stack([points, np.roll(points, -1, axis=0)], axis=1)


def box(x, y, width, depth, yaw=0.0):
    """Return the four sides of a box around (x, y)."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * [width / 2, depth / 2]
    return closed(transform_points((x, y, yaw), corners))


def disc(x, y, radius, sides=12):
    """Return a regular polygon in place of a circle."""
    angle = np.arange(sides) * (2 * math.pi / sides)
    return closed(np.stack([x + radius * np.cos(angle), y + radius * np.sin(angle)], axis=1))


def ranges_to(segments, origin, angles):
    """
    Return (beams,) distances from a point along angles to the nearest segment.

    Inf where there is none.
    """
    direction = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    start = segments[:, 0] - origin
    along = segments[:, 1] - segments[:, 0]
    across = direction[:, None, 0] * along[None, :, 1] - direction[:, None, 1] * along[None, :, 0]
    with np.errstate(divide='ignore', invalid='ignore', over='ignore'):
        distance = (start[:, 0] * along[:, 1] - start[:, 1] * along[:, 0]) / across
        where = (
            start[None, :, 0] * direction[:, None, 1] - start[None, :, 1] * direction[:, None, 0]
        ) / across
        hit = (distance > 1e-9) & (where >= 0) & (where <= 1)
    return np.where(hit, distance, np.inf).min(axis=1, initial=np.inf)


def wall_distance(segments, points):
    """Return (N,) distances from points (N, 2) to the nearest segment."""
    start, along = segments[:, 0], segments[:, 1] - segments[:, 0]
    away = points[:, None, :] - start
    length = np.maximum((along**2).sum(axis=1), 1e-12)
    share = np.clip((away * along).sum(axis=2) / length, 0, 1)
    return np.hypot(*np.moveaxis(away - share[..., None] * along, 2, 0)).min(axis=1)


def draw_map(segments, resolution, origin_yaw, inside, rng, ragged_m=0.0):
    """
    Return the :class:`OccupancyGrid` of segments.

    Walls are one cell wide, and what is connected to ``inside`` is free. ``inside`` (N, 2) points
    on the floor; ``ragged_m`` is by how much a mapped wall strays from the true one. The grid is
    turned by ``origin_yaw`` and lies at a random offset to the walls.
    """
    lengths = np.hypot(*(segments[:, 1] - segments[:, 0]).T)
    parts = []
    for (start, end), length in zip(segments, lengths):
        share = np.linspace(0, 1, max(2, int(length / resolution * 4)))[:, None]
        parts.append(start + share * (end - start))
    points = np.concatenate(parts)
    points = points + rng.normal(0.0, ragged_m, points.shape) if ragged_m else points
    local = transform_points(inverse((0, 0, origin_yaw)), points)
    low = local.min(axis=0) - resolution * rng.uniform(4, 12, 2)
    x, y = transform_points((0, 0, origin_yaw), [low])[0]
    columns, rows = np.ceil(
        (local.max(axis=0) - low) / resolution + rng.integers(4, 12, 2)
    ).astype(int)
    grid = OccupancyGrid(
        np.full((rows, columns), UNKNOWN, np.int8), resolution, (x, y, origin_yaw)
    )
    row, column = np.rint(grid.points_to_cells(points)).astype(int).T
    walls = np.zeros((rows, columns), dtype=bool)
    walls[row, column] = True
    # Where a ragged wall has gaps between its cells, the floor must not run out.
    tight = ndimage.binary_dilation(walls) if ragged_m else walls
    labels, _ = ndimage.label(~tight)
    known = np.unique(grid.lookup(labels, inside, outside=0))
    floor = np.isin(labels, known[known > 0])
    cells = grid.cells
    cells[ndimage.binary_dilation(floor) if ragged_m else floor] = FREE
    cells[walls] = OCCUPIED
    return grid


def make_scan(segments, scanner, beams, field_of_view, range_max, rng, noise_m):
    """Return a :class:`Scan` from a scanner pose, and its exact ranges (beams,)."""
    full = field_of_view > 2 * math.pi - 1e-6
    increment = field_of_view / (beams if full else beams - 1)
    first = -field_of_view / 2
    exact = ranges_to(segments, scanner[:2], scanner[2] + first + increment * np.arange(beams))
    ranges = exact + rng.normal(0.0, noise_m, beams)
    ranges[~(exact < range_max)] = np.inf
    return Scan(ranges, first, increment, 0.05, range_max), exact


# -- rooms drawn at random ------------------------------------------------------------------


@dataclass(frozen=True)
class Room:
    """
    Walls (N, 2, 2), furniture as a list of closed polygons, and where the floor is.

    ``floor`` is a list of rectangles (x, y, width, depth); furniture may stand on it.
    """

    walls: np.ndarray
    furniture: list = field(default_factory=list)
    floor: list = field(default_factory=list)

    @property
    def segments(self):
        """Return those of walls and furniture, (N, 2, 2)."""
        return np.concatenate([self.walls, *self.furniture])

    def place(self, rng, clearance_m=0.22):
        """Return a random (x, y) where the robot can stand, or None when none is found."""
        segments = self.segments
        for _ in range(80):
            x, y, w, d = self.floor[rng.integers(len(self.floor))]
            place = np.array([x + rng.uniform(-0.5, 0.5) * w, y + rng.uniform(-0.5, 0.5) * d])
            if wall_distance(segments, place[None])[0] > clearance_m and not any(
                holds(polygon, place) for polygon in self.furniture
            ):
                return place
        return None

    def moved(self, x, y, mirror=False):
        """
        Return the room at another place, its left and right exchanged on demand.

        The turn is none.
        """
        sign = -1.0 if mirror else 1.0

        def at(segments):
            return segments * [sign, 1.0] + [x, y]

        floor = [(sign * fx + x, fy + y, w, d) for fx, fy, w, d in self.floor]
        return Room(at(self.walls), [at(piece) for piece in self.furniture], floor)


def together(rooms):
    """Return one :class:`Room` of several."""
    return Room(
        np.concatenate([room.walls for room in rooms]),
        [piece for room in rooms for piece in room.furniture],
        [rectangle for room in rooms for rectangle in room.floor],
    )


def holds(polygon, point):
    """Return whether a closed polygon (N, 2, 2) holds a point, by counting crossings."""
    (x1, y1), (x2, y2) = np.moveaxis(polygon, (1, 2), (0, 1))
    above = (y1 > point[1]) != (y2 > point[1])
    with np.errstate(divide='ignore', invalid='ignore'):
        at = x1 + (point[1] - y1) / (y2 - y1) * (x2 - x1)
    return bool((above & (at > point[0])).sum() % 2)


def likeness(room, other):
    """
    Return the share of a room's wall length, furniture too, that another has in the same place.

    The best of all quarter turns, with the rooms' left, middle or right ends, and their lower,
    middle or upper ones, laid together.
    """
    points = _along(room.segments, 0.1)
    target = other.segments.reshape(-1, 2)
    low, high = target.min(axis=0), target.max(axis=0)
    best = 0.0
    for quarter in range(4):
        turned = transform_points((0.0, 0.0, quarter * math.pi / 2), points)
        first, last = turned.min(axis=0), turned.max(axis=0)
        for x in (0.0, 0.5, 1.0):
            for y in (0.0, 0.5, 1.0):
                share = np.array([x, y])
                shift = low + share * (high - low) - (first + share * (last - first))
                near = wall_distance(other.segments, turned + shift) < 0.15
                best = max(best, float(near.mean()))
    return best


def _along(segments, step):
    """Return points (N, 2) along segments, a step apart."""
    parts = []
    for start, end in segments:
        count = max(2, int(np.hypot(*(end - start)) / step))
        parts.append(start + (np.arange(count)[:, None] + 0.5) / count * (end - start))
    return np.concatenate(parts)


def random_piece(rng, floor, size=(0.2, 1.6)):
    """
    Return a piece of furniture somewhere on the floor.

    A box, straight or askew, or something round.
    """
    x, y, w, d = floor[rng.integers(len(floor))]
    x, y = x + rng.uniform(-0.5, 0.5) * w, y + rng.uniform(-0.5, 0.5) * d
    if rng.random() < 0.25:
        return disc(x, y, rng.uniform(0.1, 0.5))
    yaw = 0.0 if rng.random() < 0.6 else rng.uniform(0, math.pi)
    return box(x, y, *rng.uniform(*size, 2), yaw)


def random_room(rng, pieces=None, size=(2.5, 7.5)):
    """
    Return a :class:`Room`.

    One to three rectangles that overlap, and up to five pieces of furniture.
    """
    width, depth = rng.uniform(*size, 2)
    floor = [(0.0, 0.0, width, depth)]
    for _ in range(rng.integers(0, 3)):
        w, d = rng.uniform(0.8, 0.6 * width + 0.4), rng.uniform(0.8, 0.6 * depth + 0.4)
        side = rng.integers(4)
        if side < 2:
            x = (-1, 1)[side] * (width / 2 + rng.uniform(0, 0.4) * w)
            y = rng.uniform(-0.5, 0.5) * (depth - d)
        else:
            x = rng.uniform(-0.5, 0.5) * (width - w)
            y = (-1, 1)[side - 2] * (depth / 2 + rng.uniform(0, 0.4) * d)
        floor.append((x, y, w, d))
    count = rng.integers(0, 6) if pieces is None else pieces
    return Room(outline(floor), [random_piece(rng, floor) for _ in range(count)], floor)


def outline(rectangles):
    """Return the segments of the edge of a union of rectangles (x, y, width, depth)."""
    edges = []
    for number, (x, y, w, d) in enumerate(rectangles):
        others = [r for other, r in enumerate(rectangles) if other != number]
        left, right, low, high = x - w / 2, x + w / 2, y - d / 2, y + d / 2
        for axis, at, first, last in (
            (0, low, left, right),
            (0, high, left, right),
            (1, left, low, high),
            (1, right, low, high),
        ):
            edges += _uncovered(axis, at, first, last, others)
    return np.array(edges)


def _uncovered(axis, at, first, last, rectangles):
    """Return what of an axis-parallel edge lies in none of the rectangles."""
    cuts = {first, last}
    spans = []
    for x, y, w, d in rectangles:
        (along, length), (across, breadth) = ((x, w), (y, d)) if axis == 0 else ((y, d), (x, w))
        if abs(at - across) < breadth / 2:
            spans.append((along - length / 2, along + length / 2))
            cuts.update(c for c in spans[-1] if first < c < last)
    cuts = sorted(cuts)
    result = []
    for low, high in zip(cuts[:-1], cuts[1:]):
        if not any(a <= (low + high) / 2 <= b for a, b in spans):
            ends = [(low, at), (high, at)] if axis == 0 else [(at, low), (at, high)]
            result.append(ends)
    return result
