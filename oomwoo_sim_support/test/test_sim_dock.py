"""The dock in the simulator: rests, can be pushed, charges, shines, and may stand elsewhere."""
import math

import numpy as np
from oomwoo_localization.dock import docked_pose
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.layout import layout_from_dict
from oomwoo_sim_support.rehearsal import Rehearsal
from oomwoo_sim_support.sim_obstacles import SimError
from oomwoo_sim_support.sim_settings import perfect_sensors, SimSettings
import pytest

ROBOT = load_robot()
ROOM = {
    'name': 'garage', 'start': [0.0, 0.0, 0.0], 'floor': [[-2, -2], [2, -2], [2, 2], [-2, 2]],
    'walls': [{'name': 'room', 'points': [[-2, -2], [2, -2], [2, 2], [-2, 2]], 'closed': True}],
    'dock': {'pose': [-1.0, 0.5, 30.0]}}
WORLD = layout_from_dict(ROOM)
BARE = layout_from_dict({key: value for key, value in ROOM.items() if key != 'dock'})
DOCK = np.array(WORLD.dock.pose)
HOME = docked_pose(WORLD.dock, ROBOT)


def simulator(in_dock=(0.5, 0.0, 0.0), **settings):
    """Return a simulator with the robot at a pose in the frame of the dock as it truly stands."""
    sim = EmbeddedSim(WORLD, settings=perfect_sensors(**settings))
    sim.teleport(compose(sim.dock_pose() if sim.dock_pose() is not None else DOCK, in_dock))
    return sim


def drive(sim, linear, angular, seconds, until=lambda: False):
    """Drive until something holds, looked at ten times a second, or the time is over."""
    for _ in range(round(seconds * 10)):
        if until():
            return
        sim.set_command(linear, angular)
        sim.step(0.1)


def test_it_stands_where_the_layout_says_and_rests():
    sim = simulator()
    np.testing.assert_allclose(sim.dock_pose(), DOCK, atol=1e-9)
    sim.step(5.0)
    np.testing.assert_allclose(sim.dock_pose(), DOCK, atol=1e-7)
    assert sim.dock_push_m() < 1e-7 and sim.dock_touched == 0 and not sim.charging()


def test_backing_in_the_charging_contacts_meet_before_anything_is_pushed():
    sim = simulator((HOME[0] + 0.015, 0.002, 0.005), battery_start=0.5)
    drive(sim, -0.02, 0.0, 3.0, sim.charging)
    assert sim.charging()
    drive(sim, 0.0, 0.0, 1.0)
    assert sim.charging() and sim.dock_push_m() < 0.001
    assert sim.rear_contacts == 0 and sim.dock_touched == 0
    in_dock = compose(inverse(sim.dock_pose()), sim.truth().pose)
    assert 0.0 <= in_dock[0] - HOME[0] < 0.003 and abs(in_dock[1]) < 0.005
    before = sim.battery()
    sim.step(60.0)
    assert sim.battery() - before == pytest.approx(1.0 / 180.0, rel=0.01)


def test_a_robot_that_drives_on_touches_the_back_and_pushes_the_dock():
    sim = simulator((HOME[0] + 0.02, 0.0, 0.0))
    drive(sim, -0.1, 0.0, 3.0)
    assert sim.dock_touched >= 1 and sim.dock_push_m() > 0.01
    moved = compose(inverse(DOCK), sim.dock_pose())
    assert moved[0] < -0.01 and abs(moved[1]) < 0.005
    drive(sim, 0.0, 0.0, 1.0)
    push, pose = sim.dock_push_m(), sim.dock_pose()
    drive(sim, 0.1, 0.0, 2.0)
    sim.step(1.0)
    assert sim.dock_push_m() == pytest.approx(push, abs=1e-3), 'the largest displacement stays'
    np.testing.assert_allclose(sim.dock_pose(), pose, atol=2e-3)


def test_a_heavy_dock_stands_fast():
    sim = simulator((HOME[0] + 0.02, 0.0, 0.0), dock_mass_kg=20.0)
    drive(sim, -0.1, 0.0, 3.0)
    assert sim.dock_touched >= 1 and sim.dock_push_m() < 0.002


def test_a_push_at_a_panel_turns_it_and_touching_is_counted_once():
    sim = simulator((0.35, 0.215, math.pi))
    drive(sim, 0.1, 0.0, 2.2)
    assert sim.dock_touched == 1
    drive(sim, 0.2, 0.0, 2.0)
    assert compose(inverse(DOCK), sim.dock_pose())[2] > 0.02, 'pushed at its left, it turns left'


def test_clearances_follow_the_dock_that_was_pushed():
    sim = simulator((HOME[0] + 0.02, 0.0, 0.0))
    drive(sim, -0.1, 0.0, 3.0)
    drive(sim, 0.0, 0.0, 1.0)
    assert abs(sim.clearance()) < 0.002


@pytest.mark.parametrize(('in_dock', 'meets'), [
    ((HOME[0] + 0.002, 0.0, 0.0), True), ((HOME[0] + 0.006, 0.0, 0.0), False),
    ((HOME[0] + 0.002, 0.02, 0.0), False), ((HOME[0] + 0.002, 0.0, math.radians(8)), False),
    ((HOME[0] + 0.002, -0.008, math.radians(4)), True)])
def test_contacts_meet_within_their_travel_and_tolerance(in_dock, meets):
    assert simulator(in_dock).charging() is meets


def test_it_may_stand_elsewhere_than_the_layout_says():
    sim = simulator(dock_offset_x_m=0.05, dock_offset_y_m=-0.04, dock_offset_yaw_deg=5.0)
    np.testing.assert_allclose(
        sim.dock_pose(), compose(DOCK, (0.05, -0.04, math.radians(5.0))), atol=1e-9)
    assert sim.dock_push_m() == 0.0, 'that is not a push'
    exact = EmbeddedSim(WORLD, settings=perfect_sensors())
    exact.teleport(sim.truth().pose)
    assert not np.allclose(sim.scan().ranges, exact.scan().ranges, atol=0.02)


def test_a_dock_that_is_not_there():
    sim = simulator(dock_present=False)
    assert sim.has_dock and sim.dock_pose() is None and not sim.charging()
    assert max(sim.dock_ir()) < 0.03
    sim.teleport(compose(DOCK, (-0.36, 0.0, 0.0)))
    assert sim.dock_touched == 0 and sim.clearance() > 0.1


def test_a_world_without_a_dock():
    sim = EmbeddedSim(BARE)
    assert not sim.has_dock and sim.dock_pose() is None and sim.dock_push_m() == 0.0
    assert not sim.charging() and Rehearsal(BARE).observe().dock_ir is None
    with pytest.raises(SimError, match='dock'):
        simulator((-0.33, 0.1, 0.0))


def test_the_receivers_see_it_behind_them_and_what_is_between_hides_it():
    sim = simulator((0.6, 0.0, 0.0))
    assert min(sim.dock_ir()) > 0.15
    sim.teleport(compose(DOCK, (0.6, 0.0, math.pi)))
    assert max(sim.dock_ir()) < 0.03, 'facing it, the back looks away'
    sim.teleport(compose(DOCK, (0.6, 0.0, 0.0)))
    x, y, yaw = compose(DOCK, (0.1, 0.0, 0.0))
    sim.spawn_box('crate', x, y, yaw, (0.1, 0.2, 0.3))
    assert max(sim.dock_ir()) < 0.03
    sim.move('crate', compose(DOCK, (0.1, 0.3, 0.0)))
    assert min(sim.dock_ir()) > 0.15
    sim.spawn_box('lintel', x, y, yaw, (0.1, 0.2, 0.3), z=0.2)
    assert min(sim.dock_ir()) > 0.15, 'the light passes below'


def test_beacon_off_and_a_dead_receiver():
    assert max(simulator((0.6, 0.0, 0.0), beacon_on=False).dock_ir()) < 0.03
    left, right = simulator((0.6, 0.0, 0.0), dead_receiver='left').dock_ir()
    assert left == 0.0 and right > 0.15


def test_the_beacon_moves_with_the_dock():
    sim = simulator((0.6, 0.0, 0.0), dock_offset_yaw_deg=30.0)
    assert min(sim.dock_ir()) > 0.15
    sim.teleport(compose(DOCK, (0.6 * math.cos(1.4), 0.6 * math.sin(1.4), 1.4)))
    off = EmbeddedSim(WORLD, settings=perfect_sensors())
    off.teleport(sim.truth().pose)
    assert max(off.dock_ir()) < 0.03


def test_save_restore_and_reset_bring_the_dock_back():
    sim = EmbeddedSim(WORLD, settings=SimSettings(), start=compose(DOCK, (HOME[0] + 0.02, 0, 0)))
    saved = sim.save()
    drive(sim, -0.1, 0.0, 2.0)
    pushed, pose, ir = sim.dock_push_m(), sim.dock_pose(), sim.dock_ir()
    assert pushed > 0.005
    sim.restore(saved)
    assert sim.dock_push_m() == 0.0 and sim.dock_touched == 0
    np.testing.assert_allclose(sim.dock_pose(), DOCK, atol=1e-9)
    drive(sim, -0.1, 0.0, 2.0)
    assert (sim.dock_push_m(), sim.dock_ir()) == (pushed, ir), 'bit by bit'
    np.testing.assert_array_equal(sim.dock_pose(), pose)
    sim.reset()
    assert sim.dock_push_m() == 0.0
    sim.spawn_box('crate', *compose(DOCK, (1.5, 0.5, 0.0)))
    np.testing.assert_allclose(sim.dock_pose(), DOCK, atol=1e-9)


def test_a_rebuilt_model_keeps_the_dock_where_it_was_pushed():
    sim = simulator((HOME[0] + 0.02, 0.0, 0.0))
    drive(sim, -0.1, 0.0, 3.0)
    pose, push = sim.dock_pose(), sim.dock_push_m()
    sim.spawn_box('crate', *compose(DOCK, (1.5, 0.5, 0.0)))
    np.testing.assert_allclose(sim.dock_pose(), pose, atol=1e-9)
    assert sim.dock_push_m() == push


def test_the_rehearsal_sees_receivers_and_contacts():
    seen = []
    rehearsal = Rehearsal(WORLD, start=compose(DOCK, (HOME[0] + 0.002, 0.0, 0.0)))
    rehearsal.run(lambda o: seen.append(o) or (0.0, 0.0), 0.3)
    assert all(observation.charging for observation in seen)
    assert all(len(observation.dock_ir) == 2 for observation in seen)
