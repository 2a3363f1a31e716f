"""The whole chain offline; and where a kidnapper may put the robot."""

import json
import math

import numpy as np
from oomwoo_localization.grids import GridError, OccupancyGrid
from oomwoo_localization.recovery_types import ManagerSettings
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support import recovery_harness
from oomwoo_sim_support.kidnap import KidnapDraw
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.recovery_harness import Bounds, ENDS, summarize, Trial
from oomwoo_sim_support.recovery_rehearsal import is_right, RecoveryRehearsal
import pytest

RADIUS = load_robot().body.radius


def kidnapped(layout, pose, **kwargs):
    """Return a world in which the robot was localized, and then put elsewhere and noticed it."""
    world = RecoveryRehearsal(load_layout(layout), seed=4, **kwargs)
    world.run(0.5)
    world.kidnap(pose)
    lost = world.run(3.0, ('lost',))
    assert lost is not None and lost.time_s < 1.6, 'a kidnap is noticed within a second'
    return world, lost


def words(world):
    """Return the words that the manager has said."""
    return [event.word for event in world.events]


def test_in_the_living_room_it_finds_itself_within_three_seconds():
    world, lost = kidnapped('living_room', (-2.4, -2.2, 2.0))
    end = world.run(10.0, ENDS)
    assert words(world) == ['lost', 'commit', 'confirmed']
    assert end.time_s - lost.time_s < 3.0
    assert is_right(world.pose, world.sim.truth().pose)
    assert math.dist(world.pose[:2], world.sim.truth().pose[:2]) < 0.03
    world.run(2.0)
    assert not world.manager.recovering


def test_in_a_room_that_is_the_same_after_half_a_turn_it_neither_guesses_nor_drives():
    world, _ = kidnapped('symmetric_room', (0.2, -1.0, 0.3))
    assert world.run(10.0, ENDS).word == 'ambiguous'
    assert 'commit' not in words(world) and 'moving' not in words(world)
    truth = world.sim.truth().pose
    assert any(is_right(pose, truth) for pose in world.manager.candidates())
    world.run(5.0)
    assert words(world)[-1] == 'ambiguous' and math.dist(truth[:2], (0.2, -1.0)) < 0.01


def test_what_cannot_be_told_from_the_hall_is_told_from_the_bay():
    world, _ = kidnapped('twin_bays', (-1.45, 1.38, 0.35))
    end = world.run(120.0, ENDS)
    assert end.word == 'confirmed' and 'moving' in words(world)
    assert all(
        is_right(event.seed.pose, event.truth) for event in world.events if event.word == 'commit'
    )
    assert is_right(world.pose, world.sim.truth().pose)
    assert world.sim.contacts == 0


def test_a_room_that_is_not_on_the_map_is_said_to_be_unknown():
    grid = layout_grid(load_layout('l_shaped_hall'), 0.05)
    world = RecoveryRehearsal(load_layout('workshop'), seed=4, grid=grid)
    end = world.run(60.0, ENDS)
    assert end.word == 'unknown_room' and 'commit' not in words(world)
    said = len(world.events)
    world.run(10.0)
    assert len(world.events) == said


def test_a_localizer_that_ignores_what_it_is_told_is_given_up():
    world, _ = kidnapped(
        'living_room',
        (-2.4, -2.2, 2.0),
        manager_settings=ManagerSettings(confirm_s=0.8, retry_wait_s=0.2),
    )
    world.ignore_seeds = True
    world.run(15.0, ('ambiguous', 'not_confirmed'))
    assert words(world).count('commit') == 3 and world.manager.code == 'ignored'


def test_a_map_that_comes_while_searching_begins_it_anew():
    world, _ = kidnapped(
        'symmetric_room', (0.2, -1.0, 0.3), manager_settings=ManagerSettings(fallback='wait')
    )
    world.run(1.0)
    assert words(world)[-1] == 'ambiguous'
    world.map_number = 1
    world.run(1.0)
    assert 'restart' in words(world)


@pytest.mark.parametrize('name', ['living_room', 'twin_bays'])
def test_the_kidnapper_puts_the_robot_where_it_could_have_driven_to(name):
    grid = layout_grid(load_layout(name), 0.05)
    start = load_layout(name).start
    draw = KidnapDraw(grid, RADIUS, seed=2)
    poses = np.array([draw.draw(start) for _ in range(200)])
    gaps = grid.lookup(grid.obstacle_distance, poses[:, :2])
    assert gaps.min() > RADIUS
    assert len({draw.part_of(pose) for pose in poses}) == 1
    assert np.ptp(poses[:, 0]) > 3.0 and np.ptp(poses[:, 2]) > 5.0
    again = KidnapDraw(grid, RADIUS, seed=2)
    np.testing.assert_array_equal(poses[:5], [again.draw(start) for _ in range(5)])


def test_the_grid_of_poses_and_a_map_without_room():
    grid = layout_grid(load_layout('living_room'), 0.05)
    poses = KidnapDraw(grid, RADIUS).grid_poses(1.0, 4)
    places = {(round(x, 6), round(y, 6)) for x, y, _ in poses}
    assert len(poses) == 4 * len(places) and 60 < len(poses) < 140
    assert all(x == round(x) and y == round(y) for x, y in places)
    with pytest.raises(GridError, match='room'):
        KidnapDraw(OccupancyGrid(np.full((5, 5), 0, dtype=np.int8), 0.05), 1.0, margin_m=np.inf)


def trial(outcome, wrong=0, commit_s=0.2, noticed_s=0.7):
    """Return a trial that ended so."""
    return Trial('room', [0, 0, 0], noticed_s, commit_s, 1, wrong, 0, outcome, 0.01, 0.1)


def test_the_summary_counts_what_matters():
    good = [
        trial('confirmed'),
        trial('ambiguous', commit_s=math.nan),
        trial('not noticed', noticed_s=math.nan),
    ]
    figures = summarize(good, Bounds(3, 0.5, 3.0))
    assert (figures['noticed'], figures['recovered'], figures['given_up'], figures['ok']) == (
        2,
        1,
        1,
        True,
    )
    assert not summarize(good, Bounds(3, 0.9, 3.0))['ok']
    assert not summarize([*good, trial('confirmed', wrong=1)], Bounds(3, 0.0))['ok']
    assert not summarize([trial('confirmed', commit_s=4.0)], Bounds(1, 1.0, 3.0))['ok']


def test_the_harness_prints_a_table_and_writes_json(tmp_path, capsys):
    file = tmp_path / 'deep' / 'out.json'
    assert (
        recovery_harness.main(
            ['--layout', 'living_room', '--kidnaps', '2', '--seed', '3', '--json', str(file)]
        )
        == 0
    )
    assert 'bounds kept' in capsys.readouterr().out
    written = json.loads(file.read_text())
    assert len(written['trials']) == 2 and written['summary']['layouts'][0]['recovered'] == 2
    with pytest.raises(SystemExit) as end:
        recovery_harness.main(['--layout', 'nowhere'])
    assert end.value.code == 2
