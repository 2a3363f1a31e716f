"""The docking harness: where it starts from, how it judges, and a few dockings with physics."""
import json
import math

from oomwoo_clean import dock_harness
from oomwoo_clean.dock_rehearsal import judge, rehearse_docking
from oomwoo_clean.dock_trials import (
    condition_trials,
    CONDITIONS,
    GRID_REACH_M,
    GRID_SPOTS,
    grid_starts,
    spot_trials,
    SPOTS,
)
from oomwoo_localization.frames import inverse, transform_points
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.layout import load_layout
import pytest

KITCHEN = load_layout('kitchen_dining')
GOOD = {
    'verdict': 'DONE', 'reason': '', 'message': '', 'docked': True, 'touched_dock': False,
    'push_mm': 0.0, 'ended_in_mouth': False, 'standing': True}


def test_the_parked_spots_are_where_the_rule_says_and_the_same_each_time():
    starts = grid_starts(KITCHEN)
    assert len(starts) == GRID_SPOTS == 64 and starts == grid_starts(KITCHEN)
    assert starts != grid_starts(KITCHEN, seed=65)
    spots = transform_points(inverse(KITCHEN.dock.pose), [start[:2] for start in starts])
    assert all(math.hypot(*spot) < GRID_REACH_M and spot[0] > -KITCHEN.dock.depth
               for spot in spots)
    # Beside the dock too, where its light does not get to.
    assert any(abs(math.atan2(y, x)) > math.radians(60.0) for x, y in spots)
    sim = EmbeddedSim(KITCHEN, load_robot(), start=starts[0])
    for start in starts:
        sim.teleport(start)                 # raises where the robot would stand in something
        assert sim.clearance() > 0.03


def test_twelve_named_spots_and_every_condition_have_trials_and_right_verdicts():
    assert [trial.name for trial in spot_trials(KITCHEN, 'lidar', 3)] == list(SPOTS)
    assert len(SPOTS) == 12
    trials = condition_trials(KITCHEN, 0)
    assert [trial.name for trial in trials] == list(CONDITIONS)
    assert all(trial.verdicts for trial in trials)


@pytest.mark.parametrize('change, words', [
    ({}, ''), ({'docked': False}, 'does not charge'), ({'touched_dock': True}, 'touched the dock'),
    ({'ended_in_mouth': True}, 'in the mouth'), ({'standing': False}, 'does not stand'),
    ({'verdict': 'FAILED', 'reason': 'BLOCKED', 'docked': False}, 'BLOCKED in place of DONE')])
def test_a_trial_is_judged_by_the_truth(change, words):
    failed = judge(spot_trials(KITCHEN, 'beacon', 0)[0], {**GOOD, **change})
    assert (words in failed[0]) if words else not failed


def test_a_grid_misses_its_bound_with_one_spot_too_few():
    trials = [{'kind': 'grid', 'name': f'grid_{k}', 'seed': 0, 'docked': k > 0, 'failed': [],
               'lateral_mm': 1.0, 'yaw_deg': 0.1, 'sim_s': 20.0, 'touched_dock': False,
               'attempts': 1} for k in range(64)]
    row = dock_harness.summarise(trials)['grid']
    assert row['docked'] == 63 and row['median_s'] == 20.0
    assert dock_harness.misses('grid', row, trials, 'beacon') == [
        'seed 0: docked from 63 of 64 spots < 64']
    assert dock_harness.misses('grid', row, trials, 'lidar') == []
    trials[5]['touched_dock'] = True
    row = dock_harness.summarise(trials)['grid']
    assert dock_harness.misses('grid', row, trials, 'lidar') == ['touched the dock 1 times']


def test_one_start_from_the_command_line_with_all_that_it_writes(tmp_path, capsys):
    out, picture = tmp_path / 'a' / 'dock.json', tmp_path / 'b' / 'dock.png'
    status = dock_harness.main([
        '--start', '-1.9', '-0.45', '0.2', '--seed', '5', '--json', str(out),
        '--picture', str(picture)])
    printed = capsys.readouterr().out
    assert status == 0 and 'start: 1 of 1 as they should be, docked 1;' in printed
    report = json.loads(out.read_text())
    trial, = report['trials']
    assert {'start', 'docked', 'lateral_mm', 'yaw_deg', 'touched_dock', 'attempts',
            'sim_s'} <= set(trial)
    assert trial['docked'] and abs(trial['lateral_mm']) < 3.0 and abs(trial['yaw_deg']) < 0.5
    assert trial['said_lateral_mm'] == pytest.approx(trial['lateral_mm'], abs=1.5)
    assert 0.0 <= trial['gap_mm'] <= 3.0 and trial['push_mm'] == 0.0 and trial['sim_s'] < 15.0
    assert report['summary']['kept'] and report['summary']['start']['docked'] == 1
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize('arguments, words', [
    (['--layout', 'living_room'], 'has no dock'), (['--layout', 'attic'], 'attic'),
    (['--start', '-2.5', '-0.5', '0'], 'would stand')])
def test_input_that_cannot_be_used_is_named(arguments, words, capsys):
    assert dock_harness.main(arguments) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize('name', [
    'legs_near_the_mouth_lidar', 'caged', 'pressed_at_the_table_leg'])
def test_what_may_be_wrong_gets_a_right_verdict(name):
    trial, = condition_trials(KITCHEN, 1, [name])
    result = rehearse_docking(trial, KITCHEN).result
    assert result['failed'] == []
    assert result['sim_s'] < 60.0


def test_from_beside_the_dock_where_its_light_is_not_seen():
    trial = next(t for t in spot_trials(KITCHEN, 'beacon', 2) if t.name == 'beside_the_panel')
    result = rehearse_docking(trial, KITCHEN).result
    assert result['failed'] == [] and result['docked']
    assert abs(result['lateral_mm']) < 3.0 and abs(result['yaw_deg']) < 0.5
