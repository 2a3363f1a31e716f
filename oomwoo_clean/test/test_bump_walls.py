"""Walls from touches: against the truth, in whatever order, and where there are none."""
import math

from bump_worlds import along_wall, off_line, R, Robot, side_of
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.bump_contact import arc_of, BumpMapSettings
from oomwoo_clean.bump_walls import fit_walls
from oomwoo_localization.robot import load_robot

HALF = math.radians(load_robot().bumper.half_angle_deg)


def touches(points, normals, azimuths, off):
    """Return (centres, angles, alive) of touches of surfaces, as fit_walls takes them."""
    normals = np.broadcast_to(normals, len(points))
    ray = np.stack([np.cos(normals), np.sin(normals)], axis=1)
    centres = points - (R + np.asarray(off)[:, None]) * ray
    overlap = math.radians(BumpMapSettings().nose_overlap_deg)
    arcs = np.array([arc_of(side_of(a), overlap, HALF) for a in azimuths])
    angles = (normals - azimuths)[:, None] + arcs
    return centres, angles, np.ones(angles.shape, dtype=bool)


def joined(*groups):
    """Return several groups of touches as one."""
    return tuple(np.concatenate(parts) for parts in zip(*groups))


def wall_touches(start, end, count, seed, off_std=0.0):
    """Return touches of a straight wall, the floor to the left of its direction."""
    return touches(*along_wall(start, end, count, np.random.default_rng(seed), off_std))


@settings(max_examples=60)
@given(st.floats(-math.pi, math.pi), st.floats(1.0, 3.0), st.integers(0, 10 ** 6),
       st.tuples(st.floats(-10, 10), st.floats(-10, 10)))
def test_a_wall_is_found_within_3_cm_and_3_degrees(direction, length, seed, start):
    """Touches every 13 cm, each 7 mm off (one sigma), anywhere on the shell."""
    end = np.array(start) + length * np.array([math.cos(direction), math.sin(direction)])
    count = 1 + round(length / 0.13)
    group = wall_touches(start, end, count, seed, off_std=0.007)
    walls, towards = fit_walls(*group, R, BumpMapSettings())
    assert len(walls) == 1 and walls[0].count >= 0.8 * count
    away, degrees = off_line(walls[0], start, end)
    assert away < 0.03 and degrees < 3.0
    assert walls[0].length_m > length - 0.4
    normal = direction - math.pi / 2
    np.testing.assert_allclose(
        np.cos(towards[~np.isnan(towards)] - normal), 1.0, atol=1 - math.cos(math.radians(3)))


@settings(max_examples=40)
@given(st.integers(0, 10 ** 6), st.randoms(use_true_random=False))
def test_the_order_of_the_touches_does_not_matter(seed, shuffler):
    group = joined(wall_touches((0, 0), (1.6, 0), 9, seed, 0.01),
                   wall_touches((1.8, 0.2), (1.8, 1.4), 7, seed + 1, 0.01),
                   wall_touches((-1.0, 2.0), (-1.2, 2.9), 4, seed + 2, 0.01))
    order = list(range(len(group[0])))
    shuffler.shuffle(order)
    one, towards = fit_walls(*group, R, BumpMapSettings())
    other, towards_other = fit_walls(*(part[order] for part in group), R, BumpMapSettings())
    np.testing.assert_array_equal(towards[order], towards_other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(np.stack([a.start, a.end]), np.stack([b.start, b.end]))
        assert a.count == b.count


@settings(max_examples=40)
@given(st.integers(0, 10 ** 6), st.floats(70.0, 110.0))
def test_a_corner_is_two_walls_and_nothing_across_it(seed, corner_deg):
    """Nearest touches of the two walls of an inside corner are 25 cm apart and not joined."""
    angle = math.radians(180.0 - corner_deg)
    up = np.array([math.cos(angle), math.sin(angle)])
    corner = np.array([1.2, 0.0])
    reach = R / math.tan(math.radians(corner_deg) / 2)       # as near as a round body gets
    group = joined(
        wall_touches((0.0, 0.0), corner - [reach, 0.0], 7, seed, 0.004),
        wall_touches(corner + reach * up, corner + (reach + 1.0) * up, 7, seed + 1, 0.004))
    walls, _ = fit_walls(*group, R, BumpMapSettings())
    assert len(walls) == 2 and all(6 <= w.count <= 8 for w in walls)     # one can be of both
    for wall in walls:
        one, two = off_line(wall, (0, 0), corner), off_line(wall, corner, corner + up)
        assert min(one[0], two[0]) < 0.02 and min(one[1], two[1]) < 3.0
    # Nothing comes further into the corner than what was touched.
    ends = np.concatenate([[w.start, w.end] for w in walls])
    assert np.linalg.norm(ends - corner, axis=1).min() > reach - 0.05


def test_both_sides_of_a_thin_wall_are_two():
    """A panel 2 cm thick, touched from both sides: the touches' halves tell which."""
    group = joined(
        wall_touches((0, 0), (1.5, 0), 8, 1), wall_touches((1.5, -0.02), (0, -0.02), 8, 2))
    walls, _ = fit_walls(*group, R, BumpMapSettings())
    assert len(walls) == 2
    assert sorted(round(float(w.normal[1])) for w in walls) == [-1, 1]


def test_a_doorway_stays_open_and_is_closed_by_a_larger_gap():
    group = joined(wall_touches((0, 0), (0.8, 0), 6, 1), wall_touches((1.3, 0), (2.1, 0), 6, 2))
    walls, _ = fit_walls(*group, R, BumpMapSettings())
    assert len(walls) == 2 and max(w.length_m for w in walls) < 0.85
    whole, _ = fit_walls(*group, R, BumpMapSettings(segment_gap_m=0.6))
    assert len(whole) == 1 and whole[0].count == 12


def test_where_the_body_went_through_there_is_no_wall():
    robot = Robot(segment_gap_m=0.6)
    for x in (0.0, 0.2, 0.4, 0.9, 1.1, 1.3):
        robot.bump((x, 0.0), -math.pi / 2, 0.2)
    assert [w.count for w in robot.map.walls()] == [6]
    robot.put((0.65, 0.5, -math.pi / 2))
    robot.drive(1.0)
    assert [w.count for w in robot.map.walls()] == [3, 3]


@settings(max_examples=30)
@given(st.integers(0, 10 ** 6), st.floats(0.02, 0.08), st.integers(3, 16))
def test_a_leg_of_a_chair_is_no_wall(seed, radius, count):
    rng = np.random.default_rng(seed)
    normals = rng.uniform(-math.pi, math.pi, count)
    points = -radius * np.stack([np.cos(normals), np.sin(normals)], axis=1)
    group = touches(points, normals, np.radians(rng.uniform(-60, 60, count)),
                    rng.normal(0, 0.004, count))
    walls, _ = fit_walls(*group, R, BumpMapSettings())
    assert sum(w.count for w in walls) <= count / 2 and all(w.length_m < 0.5 for w in walls)


def test_two_touches_and_touches_all_over_are_no_wall():
    two = wall_touches((0, 0), (0.2, 0), 2, 1)
    assert fit_walls(*two, R, BumpMapSettings())[0] == []
    near = wall_touches((0, 0), (0.05, 0), 4, 1, off_std=0.005)
    assert fit_walls(*near, R, BumpMapSettings())[0] == [], 'too short to have a direction'


def test_a_touch_on_the_wrong_half_is_not_on_the_wall():
    """The nose points along the wall, which is on the right; the left half felt something."""
    group = wall_touches((0, 0), (1.2, 0), 7, 1)
    centre = np.array([[0.5, R]])
    left = arc_of('left', 0.14, HALF)[None]
    with_it = joined(group, (centre, left, np.ones(left.shape, dtype=bool)))
    walls, towards = fit_walls(*with_it, R, BumpMapSettings())
    assert [w.count for w in walls] == [7] and np.isnan(towards[-1])


def test_a_wall_ends_at_its_corner_though_the_body_touched_it_from_beyond():
    """The shell meets the corner (0, 0) with the body's middle 8 cm past it."""
    wall = wall_touches((0.0, 0.0), (1.5, 0.0), 9, 3)
    centre = np.array([[-0.08, math.sqrt(R ** 2 - 0.08 ** 2)]])
    azimuths = np.array([0.0])
    corner = touches(centre - [[0.0, R]], [-math.pi / 2], azimuths, [0.0])
    (found,), _ = fit_walls(*joined(wall, corner), R, BumpMapSettings(wall_tolerance_m=0.03))
    assert found.count == 10
    first = min(found.start[0], found.end[0])
    assert -0.015 < first < 0.03                         # and not -0.08
