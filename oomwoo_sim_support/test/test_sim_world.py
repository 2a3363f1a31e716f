"""The world around the robot: clearance, obstacles that come and go, kidnapping, saving."""
import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.embedded_sim import EmbeddedSim, SimError
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.layout_primitives import Primitive
from oomwoo_sim_support.sim_clearance import Carpets, SolidField
from oomwoo_sim_support.sim_obstacles import Obstacles
import pytest
from sim_worlds import drive, perfect_sim, room, WALL_M

ROBOT = load_robot()
METRES = st.floats(-3, 3)
SIZES = st.floats(0.01, 1.0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), METRES, METRES, st.floats(-4, 4), SIZES, SIZES),
        min_size=1, max_size=6),
    METRES, METRES)
def test_distance_to_all_solids_is_the_least_of_each(solids, x, y):
    """The vectorised field against each primitive's own distance."""
    parts = [
        Primitive(
            f'p{i}', 'box' if box else 'cylinder', px, py, yaw, a, b if box else a, 0.0, 0.4)
        for i, (box, px, py, yaw, a, b) in enumerate(solids)]
    gap, name = SolidField(parts).nearest(x, y)
    each = [part.signed_distance([(x, y)])[0] for part in parts]
    assert gap == pytest.approx(min(each), abs=1e-9)
    assert each[int(name[1:])] == pytest.approx(min(each), abs=1e-9)


def test_clearance_is_the_gap_of_the_shell_to_what_it_can_touch():
    """Not to curtains, thresholds and table tops above it."""
    layout = room(
        boxes=[{'name': 'top', 'center': [0.2, 0.8], 'size': [1, 1], 'yaw': 0, 'z': [0.3, 0.35]},
               {'name': 'strip', 'center': [0.5, 0], 'size': [0.1, 1], 'yaw': 0, 'z': [0, 0.005]}],
        soft=[{'name': 'veil', 'points': [[0.4, -1], [0.4, 1]], 'z': [0, 0.4]}])
    assert perfect_sim(layout).clearance() == pytest.approx(WALL_M - ROBOT.body.radius)
    post = room(cylinders=[{'name': 'leg', 'center': [0.3, 0.4], 'radius': 0.02, 'z': [0, 0.3]}])
    assert perfect_sim(post).clearance() == pytest.approx(0.5 - 0.02 - ROBOT.body.radius)
    assert Obstacles([], ROBOT).gap(0.0, 0.0) == (math.inf, '')


def test_clearance_agrees_with_the_physics():
    """The first contact comes when the gap closes, on a box that stands askew."""
    sim = perfect_sim(room(boxes=[
        {'name': 'box', 'center': [0.8, 0.1], 'size': [0.3, 0.5], 'yaw': 30, 'z': [0, 0.4]}]))
    while sim.contacts == 0:
        before = sim.clearance()
        sim.set_command(0.05, 0.0)
        sim.step(0.01)
        assert sim.time_s < 20
    assert -0.0005 <= before < 0.001 and sim.clearance() <= 0.0005


def test_robot_is_not_put_into_things():
    """At the start, when kidnapped, and where numbers are none."""
    with pytest.raises(SimError, match='walls'):
        perfect_sim(start=(2.9, 0, 0))
    sim = perfect_sim()
    with pytest.raises(SimError, match='walls'):
        sim.teleport((0, -2.95, 0))
    with pytest.raises(SimError, match='not finite'):
        sim.teleport((0, math.nan, 0))
    np.testing.assert_allclose(sim.truth().pose, [0, 0, 0], atol=1e-9)


def test_kidnapping_moves_the_robot_and_not_its_odometry():
    """It stands still there, and then drives on as ordered."""
    sim = perfect_sim()
    drive(sim, 0.2, 0.5, 2.0)
    odometry = sim.odometry().pose
    sim.teleport((1.0, -2.0, 2.0))
    np.testing.assert_allclose(sim.truth().pose, [1.0, -2.0, 2.0], atol=1e-9)
    np.testing.assert_allclose(sim.odometry().pose, odometry, atol=1e-9)
    assert abs(sim.truth().linear) < 1e-9
    drive(sim, 0.2, 0.0, 2.0)
    x, y, yaw = sim.truth().pose
    assert math.atan2(y + 2.0, x - 1.0) == pytest.approx(2.0, abs=0.02)
    assert yaw == pytest.approx(2.0, abs=0.02) and abs(sim.tilt()[1]) < 0.003


@pytest.mark.parametrize('shape', ['box', 'cylinder'])
def test_spawned_and_moved_obstacle_is_seen_and_is_hit(shape):
    """Rays and the shell meet it where it is now, not where it was."""
    sim = perfect_sim()
    sim.step(0.2)
    if shape == 'box':
        sim.spawn_box('new', 0.0, 1.5, size=(0.2, 0.6, 0.4))
    else:
        sim.spawn_cylinder('new', 0.0, 1.5, radius=0.1)
    assert sim.scan().ranges[180] == pytest.approx(WALL_M - ROBOT.lidar.x, abs=0.002)
    assert sim.time_s == pytest.approx(0.2)
    sim.move('new', (0.7, 0.0, 0.0))
    assert sim.scan().ranges[180] == pytest.approx(0.6 - ROBOT.lidar.x, abs=0.002)
    assert sim.clearance() == pytest.approx(0.6 - ROBOT.body.radius, abs=1e-6)
    drive(sim, 0.2, 0.0, 5.0)
    assert sim.contacts == 1
    assert sim.truth().pose[0] == pytest.approx(0.6 - ROBOT.body.radius, abs=0.005)
    sim.delete('new')
    drive(sim, 0.2, 0.0, 3.0)
    assert sim.truth().pose[0] > 0.9
    assert sim.scan().ranges[180] > 1.0


def test_spawning_is_refused_where_it_cannot_be():
    """Names taken or unknown, no size, or where the robot stands."""
    sim = perfect_sim()
    sim.spawn_box('crate', 1.0, 0.0)
    for call, words in (
            (lambda: sim.spawn_box('crate', 0, 2), 'taken'),
            (lambda: sim.spawn_box('', 0, 2), 'empty'),
            (lambda: sim.spawn_cylinder('c', 0, 2, radius=0.0), 'greater than zero'),
            (lambda: sim.spawn_box('b', math.nan, 2), 'finite'),
            (lambda: sim.spawn_box('b', 0.2, 0.0), 'in the robot'),
            (lambda: sim.move('crate', (0.1, 0.1, 0.0)), 'in the robot'),
            (lambda: sim.move('ghost', (1, 1, 0)), 'ghost'),
            (lambda: sim.delete('ghost'), 'ghost')):
        with pytest.raises(SimError, match=words):
            call()
    assert list(sim.entities) == ['crate']
    assert sim.entities['crate'].x == 1.0


def history(sim, seconds=2.0):
    """Drive and return everything that is read on the way."""
    rows = []
    drive(sim, 0.25, 0.9, seconds, each=lambda s: rows.append(np.concatenate([
        s.scan().ranges, s.truth().pose, s.odometry().pose, s.imu().angular_velocity,
        s.bumpers()])))
    return np.array(rows)


def test_restored_state_goes_on_bit_by_bit():
    """Also after something was spawned and other things happened in between."""
    sim = EmbeddedSim(load_layout('contour_torture'), seed=5)
    drive(sim, 0.2, 0.4, 1.5)
    state = sim.save()
    first = history(sim)
    sim.spawn_box('crate', 0.0, 0.0, size=(0.1, 0.1, 0.1))
    sim.teleport(sim.layout.start)
    drive(sim, 0.1, 0.0, 0.5)
    sim.restore(state)
    assert sim.entities == {}
    assert np.array_equal(history(sim), first)


def test_reset_is_as_if_newly_built():
    """Time, random numbers, odometry and obstacles; each can be kept."""
    sim, new = EmbeddedSim(room(), seed=2), EmbeddedSim(room(), seed=2)
    sim.spawn_box('crate', 2.0, 2.0)
    history(sim)
    sim.reset()
    assert sim.time_s == 0.0 and sim.entities == {} and sim.contacts == 0
    assert np.array_equal(history(sim), history(new))
    sim.spawn_box('crate', 2.0, 2.0)
    sim.reset(keep_time=True, keep_entities=True)
    assert sim.time_s == pytest.approx(2.0) and list(sim.entities) == ['crate']
    np.testing.assert_allclose(sim.truth().pose, 0.0, atol=1e-9)
    np.testing.assert_allclose(sim.odometry().pose, 0.0, atol=1e-9)
    drive(sim, 0.3, 0.0, 3.0)
    sim.move('crate', (0.0, 0.0, 0.0))
    with pytest.raises(SimError, match='crate'):
        sim.reset(keep_entities=True)


def test_same_seed_same_bits_with_contacts():
    """Pushing along a wall is where solvers wander; it must not."""
    runs = []
    for _ in range(2):
        sim = EmbeddedSim(room(start=(2.5, 0.0, 0.5)), seed=9)
        runs.append(history(sim, 4.0))
        assert sim.contacts > 0
    assert np.array_equal(*runs)


def test_carpets_lie_on_top_of_each_other():
    """The later one counts, outside them the bare floor does."""
    class Carpet:

        def __init__(self, polygon, friction):
            self.polygon, self.friction = polygon, friction

    carpets = Carpets([
        Carpet([(0, 0), (4, 0), (0, 4)], 1.2), Carpet([(0, 0), (1, 0), (1, 1), (0, 1)], 0.8)], 0.6)
    assert [carpets.friction(*p) for p in ((0.5, 0.5), (2, 0.5), (3, 3), (-1, 0))] == [
        0.8, 1.2, 0.6, 0.6]
    assert len(carpets) == 2
