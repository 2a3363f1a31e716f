"""The bump map's harness, and the page that describes the map."""
from dataclasses import replace
import json
from pathlib import Path

import numpy as np
from oomwoo_clean import bump_map_harness
from oomwoo_clean.bump_contact import BumpMapSettings
from oomwoo_clean.bump_map_trial import Bench, Bouncer, Trial
from oomwoo_localization.settings import settings_table
from oomwoo_sim_support.layout import load_layout
import pytest

DOCS = Path(__file__).resolve().parents[2] / 'docs'


def test_a_curtain_that_presses_is_gone_through_and_the_wall_behind_it_stays():
    layout = replace(load_layout('curtain_room'), start=(0.95, 0.95, 0.0))
    bench = Bench(Trial(layout, seconds=6.0))
    bench.run()
    result = bench.result()
    assert result['soft_presses'] == 1 and result['presses'] == 2
    assert result['kept_on_soft'] == 0 and bench.map.counts['erased'] == 1
    wall = bench.map.contacts()[:, 0]
    assert result['touches'] >= 1 and (np.abs(wall - 2.175) < 0.06).all()


def test_a_couchs_skirt_is_gone_through_and_its_leg_behind_it_stays():
    layout = replace(load_layout('skirt_room'), start=(-1.02, 0.72, np.pi / 2))
    bench = Bench(Trial(layout, seconds=5.0))
    bench.run()
    result = bench.result()
    assert result['soft_presses'] == 1 and result['kept_on_soft'] == 0
    assert result['erased'] == 1 and result['touches'] == 1 and result['solid_forgotten'] == 0
    assert 0.0 < result['across_m'] < 0.02 and 0.0 < result['along_m'] < 0.02
    # It is on the left half, and no switch says where on it.
    leg = np.linalg.norm(bench.map.contacts() - [-1.08, 1.24], axis=1)
    assert leg.max() < 0.025 + 0.08


def test_a_skirt_that_is_backed_off_from_while_it_presses_is_counted_as_kept():
    layout = replace(load_layout('skirt_room'), start=(-0.9, 0.9, 0.35))
    bench = Bench(Trial(layout, seconds=4.0, held_s=0.0))
    bench.run()
    result = bench.result()
    assert result['soft_presses'] == 1 and result['kept_on_soft'] == 1
    assert result['touches_of_nothing'] == 1


def test_a_wall_that_is_not_on_the_map_any_more_is_counted_as_forgotten():
    layout = replace(load_layout('curtain_room'), start=(1.5, -1.1, 0.0))
    bench = Bench(Trial(layout, seconds=3.0))
    bench.run()
    assert bench.result()['presses'] == 1 and bench.result()['solid_forgotten'] == 0
    bench.map.clear()
    assert bench.result()['solid_forgotten'] == 1 and np.isnan(bench.result()['across_m'])


def test_the_driver_gives_way_to_a_held_bumper_and_not_to_a_short_press():
    driver = Bouncer(np.random.default_rng(0), held_s=0.4)
    assert driver.step(0.0, True, False)[0] > 0 and driver.step(0.35, True, False)[0] > 0
    assert driver.step(0.4, False, False)[0] > 0
    for time_s in (0.5, 0.9):
        assert driver.step(time_s, True, False)[0] > 0
    back, _ = driver.step(0.95, False, False)
    assert back < 0
    turns = {driver.step(0.95 + wait, False, False)[1] for wait in np.arange(0.0, 4.0, 0.1)}
    assert turns == {0.0, -1.0}, 'away from the left'


def test_the_command_line(tmp_path, capsys):
    out = tmp_path / 'r' / 'out.json'
    arguments = ['--layout', 'curtain_room', '--seconds', '1', '--json', str(out)]
    assert bump_map_harness.main(arguments) == 1, 'no wall found in a second'
    saved = json.loads(out.read_text(encoding='utf-8'))
    assert [t['layout'] for t in saved['trials']] == ['curtain_room']
    assert saved['summary']['passed'] is False
    assert bump_map_harness.main(['--layout', 'nowhere']) == 2
    assert 'nowhere' in capsys.readouterr().err
    for wrong in (['--seeds', '0'], ['--fit', '0']):
        with pytest.raises(SystemExit):
            bump_map_harness.parse(wrong)
    assert bump_map_harness.main(['--fit', '12']) == 0
    assert 'walls of 12 touches: ' in capsys.readouterr().out


def test_the_sum_weighs_walls_by_length_and_wants_next_to_no_cloth_kept():
    one = {'walls_m': 3.0, 'walls_right': 1.0, 'kept_on_soft': 0, 'soft_presses': 2,
           'presses': 22, 'solid_forgotten': 2, 'touches': 5, 'touches_right': 5,
           'touches_of_nothing': 0, 'across_m': 0.002, 'along_m': 0.001}
    bare = {**one, 'walls_m': 0.0, 'walls_right': float('nan')}
    bad = {**one, 'walls_m': 1.0, 'walls_right': 0.0}
    none = {**bare, 'touches': 0, 'across_m': float('nan'), 'along_m': float('nan')}
    assert bump_map_harness.summarise([one, bare, none])['passed']
    more = {**one, 'touches': 15, 'across_m': 0.006}
    assert bump_map_harness.summarise([one, more, none])['across_m'] == pytest.approx(0.005)
    assert bump_map_harness.summarise([one, bad])['walls_right'] == pytest.approx(0.75)
    assert not bump_map_harness.summarise([one, bad])['passed']
    assert not bump_map_harness.summarise([{**one, 'kept_on_soft': 1}])['passed']
    assert not bump_map_harness.summarise([{**one, 'solid_forgotten': 3}])['passed']
    assert bump_map_harness.summarise(
        [{**one, 'kept_on_soft': 1, 'soft_presses': 10, 'presses': 30}])['passed']


def test_the_page_has_the_parameters_as_they_are():
    page = (DOCS / 'touch.md').read_text(encoding='utf-8')
    assert settings_table(BumpMapSettings) in page
