"""The harness: what it measures and what it calls a failure; the follower on some shapes."""
import json
import math

import numpy as np
from oomwoo_clean import contour_harness
from oomwoo_clean.contour_scenarios import ROBOT_DIAMETER_M, Scenario, SCENARIOS, STANDOFF_M
from oomwoo_clean.contour_trial import count_laps, run_trial, Trial
from oomwoo_localization.robot import load_robot
import pytest

ASKED_FOR = (
    'room', 'box', 'leg_2cm', 'leg_3cm', 'leg_5cm', 'leg_by_wall', 'two_legs', 'corridor',
    'wall_end', 'fin', 'wall_45', 'bay', 'tight_bay', 'v_pocket', 'teeth_2.0', 'teeth_1.1',
    'teeth_0.9', 'half_cylinder', 'wedge', 'post_in_path', 'panel_off_wall', 'lip')


def test_every_shape_is_there_and_is_a_layout():
    assert set(ASKED_FOR) <= set(SCENARIOS)
    for scenario in SCENARIOS.values():
        assert scenario.layout().start[0] is not None


def test_the_shapes_are_for_this_robot():
    robot = load_robot()
    assert pytest.approx(2.0 * robot.body.radius) == ROBOT_DIAMETER_M
    assert robot.edge_cleaning.standoff == STANDOFF_M


@pytest.mark.parametrize('name, noise', [
    ('straight_wall', 0.02), ('leg_2cm', 0.02), ('fin', 0.01), ('post_in_path', 0.01),
    ('panel_off_wall', 0.02), ('teeth_0.9', 0.02), ('lip', 0.01)])
def test_holds_its_bounds(name, noise):
    result, _, _ = run_trial(Trial(SCENARIOS[name], seconds=20.0, seed=1, noise_m=noise))
    assert result['failed'] == []


def test_follows_on_the_left_and_with_half_the_beams():
    scenario = SCENARIOS['leg_3cm']
    x, y, _ = scenario.layout().start
    result, track, _ = run_trial(
        Trial(scenario, 15.0, start=(x, y, math.pi), side='left', beams=180))
    assert result['failed'] == [] and result['laps'] >= 1
    around = np.unwrap(np.arctan2(track.truth[:, 1], track.truth[:, 0]))
    assert around[-1] - around[0] > math.pi          # with the leg on the left: counterclockwise


def test_scans_that_come_three_periods_late_do_no_harm():
    result, _, _ = run_trial(Trial(SCENARIOS['teeth_0.9'], 20.0, seed=2, delay=3))
    assert result['failed'] == []
    assert result['min_clearance_m'] > 0.015


def test_a_follower_that_touches_is_found_out(monkeypatch):
    """With the front guard taken out, the post in its way is touched."""
    from oomwoo_clean import contour_follower
    monkeypatch.setattr(
        contour_follower, 'first_in_the_way', lambda *args, **kwargs: (math.inf, None))
    monkeypatch.setattr(contour_follower, 'first_along_surface', lambda *args, **kwargs: None)
    result, _, _ = run_trial(Trial(SCENARIOS['post_in_path'], seconds=15.0))
    assert result['contacts'] >= 1 and not result['passed']
    assert any('contacts' in reason for reason in result['failed'])


def test_same_seed_same_run():
    one, two = (run_trial(Trial(SCENARIOS['box'], 3.0, seed=7))[0] for _ in range(2))
    for key in ('min_clearance_m', 'standoff_err_mean_m', 'driven_m'):
        assert one[key] == two[key]
    other = run_trial(Trial(SCENARIOS['box'], 3.0, seed=8))[0]
    assert other['standoff_err_mean_m'] != one['standoff_err_mean_m']


def test_counts_laps_and_not_standing_about():
    turn = np.linspace(0.0, 2.0 * math.pi * 2.1, 400)
    circle = np.stack([0.3 * np.cos(turn), 0.3 * np.sin(turn), turn + math.pi / 2], axis=1)
    driven = 0.3 * turn
    assert count_laps(circle, driven) == 2
    assert count_laps(circle[:150], driven[:150]) == 0
    assert count_laps(np.repeat(circle[:1], 50, axis=0), np.zeros(50)) == 0
    back = circle.copy()
    back[:, 2] += math.pi * (np.arange(400) > 100)     # there again, but heading the other way
    assert count_laps(back, driven) == 0


def test_json_table_and_exit_status(tmp_path, capsys):
    file, picture = tmp_path / 'out.json', tmp_path / 'box.png'
    status = contour_harness.main([
        '--scenario', 'box', '--seconds', '4', '--json', str(file), '--picture', str(picture)])
    assert status == 0
    data = json.loads(file.read_text())
    assert set(data) == {'trials', 'summary'}
    assert {'scenario', 'min_clearance_m', 'contacts', 'standoff_err_mean_m', 'standoff_err_p95_m',
            'laps', 'lost_frames', 'step_ms', 'sim_s', 'wall_s'} <= set(data['trials'][0])
    assert data['trials'][0]['sim_s'] == 9.0
    assert picture.stat().st_size > 5000
    assert capsys.readouterr().out.splitlines()[1].startswith('box')


def test_a_missed_bound_is_exit_status_1(monkeypatch, capsys):
    strict = Scenario('box', 'box', SCENARIOS['box'].raw, mean_error_m=1e-6)
    monkeypatch.setitem(SCENARIOS, 'box', strict)
    assert contour_harness.main(['--scenario', 'box', '--seconds', '3']) == 1
    assert 'standoff_err_mean_m' in capsys.readouterr().out


@pytest.mark.parametrize('arguments, named', [
    (['--layout', 'no_such_layout'], 'no_such_layout'),
    (['--scenario', 'room', '--start', '0.0', '0.0', '0'], 'room'),
    (['--layout', 'living_room', '--start', '9', '0', '0'], 'outside the floor of'),
    (['--scenario', 'room', '--start', 'nan', '0', '0'], 'not finite'),
    (['--scenario', 'room', '--noise', '9'], 'range_noise_std'),
    (['--scenario', 'room', '--json', '/proc/nowhere/results.json'], '/proc/nowhere')])
def test_what_it_cannot_use_is_exit_status_2(arguments, named, capsys):
    assert contour_harness.main([*arguments, '--seconds', '1']) == 2
    assert named in capsys.readouterr().err
