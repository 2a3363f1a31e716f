"""Drawn worlds: what is walled, mapped and scanned lies where geometry says."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.frames import transform_points
from oomwoo_localization.grids import FREE, OCCUPIED, UNKNOWN
from oomwoo_sim_support.reloc_worlds import (
    box,
    closed,
    disc,
    draw_map,
    holds,
    likeness,
    make_scan,
    outline,
    random_room,
    ranges_to,
    Room,
    together,
    wall_distance,
)
import pytest

FLOOR = [(0.0, 0.0, 4.0, 3.0)]


def rectangle():
    """Return a room of 4 x 3 m around the origin with a box in its right half."""
    return Room(outline(FLOOR), [box(1.2, 0.0, 0.6, 0.4)], FLOOR)


def test_polygons_are_closed():
    """Each side starts where the last ended; a disc keeps its radius, a turned box its sides."""
    for polygon in (box(1.0, 2.0, 3.0, 0.5, 0.7), disc(1.0, 2.0, 0.4, 6)):
        assert np.allclose(polygon[:, 1], np.roll(polygon[:, 0], -1, axis=0))
    assert np.allclose(np.hypot(*(disc(1.0, 2.0, 0.4)[:, 0] - [1.0, 2.0]).T), 0.4)
    lengths = np.hypot(*np.diff(box(1.0, 2.0, 3.0, 0.5, 0.7), axis=1)[:, 0].T)
    assert lengths == pytest.approx([3.0, 0.5, 3.0, 0.5])


@given(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0), st.floats(-math.pi, math.pi))
def test_a_turned_world_is_seen_the_same(x, y, yaw):
    """Ranges do not depend on where the world lies; behind no wall there is none."""
    segments, pose = rectangle().segments, (x, y, yaw)
    angles = np.linspace(-3.0, 3.0, 25)
    turned = transform_points(pose, segments.reshape(-1, 2)).reshape(-1, 2, 2)
    assert ranges_to(turned, np.array([x, y]), angles + yaw) == pytest.approx(
        ranges_to(segments, np.zeros(2), angles)
    )
    assert np.isinf(ranges_to(segments[:0], np.zeros(2), angles)).all()


def test_distance_to_a_wall_is_to_its_nearest_point():
    """Beside it square to it, beyond its end to the end; a wall without length is a point."""
    wall = np.array([[[0.0, 0.0], [2.0, 0.0]]])
    points = np.array([[1.0, 0.5], [5.0, 4.0], [-3.0, 0.0]])
    assert wall_distance(wall, points) == pytest.approx([0.5, 5.0, 3.0])
    assert wall_distance(wall[:, [0, 0]], points[:1]) == pytest.approx([math.hypot(1.0, 0.5)])


@pytest.mark.parametrize('yaw', [0.0, 0.6])
def test_the_map_shows_walls_floor_and_what_nobody_saw(yaw):
    """Walls are where they are drawn, the inside is free, furniture's and the outside unknown."""
    room = rectangle()
    grid = draw_map(
        room.segments, 0.05, yaw, np.array([[-1.0, 0.5]]), np.random.default_rng(3)
    )
    assert grid.origin[2] == yaw
    places = np.array([[-1.5, -1.0], [1.2, 0.0], [2.3, 0.0], [1.7, 1.2]])
    assert grid.lookup(grid.cells, places, outside=UNKNOWN).tolist() == [
        FREE, UNKNOWN, UNKNOWN, FREE,
    ]
    rows, columns = np.nonzero(grid.cells == OCCUPIED)
    ends = grid.cells_to_points(np.stack([rows, columns], axis=1).astype(float))
    assert wall_distance(room.segments, ends).max() <= 0.05 * math.sqrt(0.5) + 1e-9


def test_a_ragged_map_keeps_its_floor_inside():
    """Walls that stray have gaps; the floor does not run out through them."""
    grid = draw_map(
        rectangle().segments, 0.02, 0.0, np.zeros((1, 2)), np.random.default_rng(0), 0.03
    )
    free = grid.free.sum() * 0.02**2
    assert 10.0 < free < 12.5


def test_a_scan_errs_by_its_noise_and_ends_at_its_range():
    """Exact ranges come along; beyond ``range_max`` there is no return; half a turn has ends."""
    segments = rectangle().segments
    scan, exact = make_scan(
        segments, np.zeros(3), 721, math.pi, 1.8, np.random.default_rng(1), 0.02
    )
    assert scan.angle_min == -math.pi / 2
    assert scan.angle_min + 720 * scan.angle_increment == pytest.approx(math.pi / 2)
    assert exact[360] == pytest.approx(0.9)  # to the box
    assert np.isinf(scan.ranges[exact >= 1.8]).all() and (exact >= 1.8).any()
    error = (scan.ranges - exact)[np.isfinite(scan.ranges)]
    assert 0.017 < error.std() < 0.023 and abs(error.mean()) < 0.003
    full, _ = make_scan(segments, np.zeros(3), 360, 2 * math.pi, 9.0, np.random.default_rng(1), 0)
    assert full.angle_increment == pytest.approx(math.radians(1.0))


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_a_place_in_a_random_room_is_on_its_floor(seed):
    """Inside the outline, clear of walls and of furniture."""
    rng = np.random.default_rng(seed)
    room = random_room(rng)
    place = room.place(rng)
    if place is None:
        return
    assert holds(room.walls, place)
    assert wall_distance(room.segments, place[None])[0] > 0.22
    assert not any(holds(piece, place) for piece in room.furniture)


def test_a_room_without_room_has_no_place():
    """A robot of 22 cm does not stand in a corridor of 30."""
    floor = [(0.0, 0.0, 3.0, 0.3)]
    assert Room(outline(floor), [], floor).place(np.random.default_rng(0)) is None


def test_mirrored_rooms_lie_elsewhere_and_the_other_way_round():
    """Walls, furniture and floor move alike."""
    twin = rectangle().moved(10.0, 1.0, mirror=True)
    assert holds(twin.furniture[0], (10.0 - 1.2, 1.0)) and not holds(twin.furniture[0], (11.2, 1))
    assert twin.floor == [(10.0, 1.0, 4.0, 3.0)]
    both = together([rectangle(), twin])
    assert len(both.segments) == 2 * len(rectangle().segments) and len(both.floor) == 2


def test_likeness_knows_a_room_again():
    """Turned by a quarter it is the same; half its walls away is half; another is another."""
    room = rectangle()
    turned = Room(
        transform_points((3.0, 1.0, math.pi / 2), room.walls.reshape(-1, 2)).reshape(-1, 2, 2),
        [
            transform_points((3.0, 1.0, math.pi / 2), room.furniture[0].reshape(-1, 2)).reshape(
                -1, 2, 2
            )
        ],
        [],
    )
    assert likeness(room, turned) == 1.0
    assert likeness(room, Room(outline([(0.0, 0.0, 4.0, 9.0)]), [], [])) < 0.8
    assert likeness(room, Room(closed(disc(0.0, 0.0, 6.0, 40)[:, 0]), [], [])) < 0.3
