"""The whole job in the rehearsal, the harness's verdicts, and the report."""
import json

import matplotlib.image
from oomwoo_clean import edge_harness
from oomwoo_clean.edge_report import report_line
from oomwoo_clean.edge_sweep import Figures
from oomwoo_sim_support.layout import layout_from_dict
from oomwoo_sim_support.layout_map import layout_grid
import pytest
import yaml

SMALL_ROOM = """
name: small_room
start: [-0.6, -0.6, 0.0]
floor: [[-1.2, -1.0], [1.2, -1.0], [1.2, 1.0], [-1.2, 1.0]]
walls:
  - name: room
    points: [[-1.2, -1.0], [1.2, -1.0], [1.2, 1.0], [-1.2, 1.0]]
    closed: true
    thickness: 0.05
    z: [0, 0.4]
cylinders:
  - {name: leg, center: [0.1, 0.0], radius: 0.02, z: [0, 0.4]}
"""


@pytest.fixture()
def small_room(tmp_path):
    path = tmp_path / 'small_room.yaml'
    path.write_text(SMALL_ROOM)
    return path


def test_every_edge_of_a_small_room_from_two_starts(small_room, tmp_path, capsys):
    out, picture = tmp_path / 'result.json', tmp_path / 'job.png'
    status = edge_harness.main([
        '--layout', str(small_room), '--starts', '2', '--seed', '3', '--json', str(out),
        '--picture', str(picture), '--max-time', '120', '--max-driven', '14'])
    printed = capsys.readouterr().out
    assert status == 0, printed
    result = json.loads(out.read_text())
    assert len(result['trials']) == 2 and result['summary']['kept'] == 2
    for trial in result['trials']:
        assert {
            'edges_m', 'swept_pct', 'written_off_m', 'contacts', 'driven_m', 'segments', 'sim_s',
            'wall_s', 'outcome'} <= set(trial)
        assert trial['outcome'] == 'DONE' and trial['swept_pct'] >= 99.5 and trial['contacts'] == 0
        assert 7.0 < trial['edges_m'] < 9.5 and trial['segments'] >= 2
        assert trial['driven_m'] > trial['edges_m']
    assert result['trials'][0]['start'] != result['trials'][1]['start']
    for name in ('job.png', 'job-2.png'):
        image = matplotlib.image.imread(tmp_path / name)
        green = (image[..., 1] > 0.5) & (image[..., 0] < 0.2) & (image[..., 2] < 0.4)
        assert image.shape[0] > 500 and green.sum() > 1000, 'the swept edges are drawn'


def test_a_missed_bound_is_named_and_makes_the_exit_status(small_room, capsys):
    assert edge_harness.main([
        '--layout', str(small_room), '--max-driven', '3', '--min-swept', '100.5']) == 1
    printed = capsys.readouterr().out
    assert 'MISSED' in printed and 'm > 3.0 m' in printed and '< 100.5 %' in printed


def test_a_layout_that_does_not_exist_is_an_error_and_no_traceback(capsys):
    assert edge_harness.main(['--layout', '/nowhere/at_all.yaml']) == 2
    assert 'at_all.yaml' in capsys.readouterr().err


@pytest.mark.parametrize('arguments, named', [
    (['--start', '9', '0', '0'], 'outside the floor of'), (['--start', 'nan', '0', '0'], 'nan'),
    (['--json', '/proc/nowhere/results.json'], '/proc/nowhere'),
    (['--picture', '/proc/nowhere/run.png'], '/proc/nowhere'),
    (['--noise', 'nan'], 'range_noise_std'), (['--seed', '-1'], 'non-negative')])
def test_what_it_cannot_use_is_exit_status_2(small_room, arguments, named, capsys):
    assert edge_harness.main(['--layout', str(small_room), *arguments]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize('arguments', [['--starts', '0'], ['--jobs', '0'], ['--pose-noise', '-3']])
def test_numbers_out_of_range_are_named(arguments, capsys):
    with pytest.raises(SystemExit):
        edge_harness.main(arguments)
    assert arguments[0] in capsys.readouterr().err.splitlines()[-1]


def test_starts_are_seeded_and_stand_free():
    layout = layout_from_dict(yaml.safe_load(SMALL_ROOM))
    grid = layout_grid(layout)
    starts = edge_harness.random_starts(layout, grid, 20, 7)
    assert starts == edge_harness.random_starts(layout, grid, 20, 7)
    assert starts != edge_harness.random_starts(layout, grid, 20, 8)
    gaps = grid.lookup(grid.obstacle_distance, [start[:2] for start in starts])
    assert (gaps > 0.2).all()


def test_the_report_line_reads_as_promised():
    figures = Figures(
        edges_m=43.6, swept_m=0.99 * 43.6, written_off_m=0.2, driven_m=56.4, floor_m2=31.7,
        passed_m2=16.7)
    assert report_line(figures, 'DONE', 526.2, 6) == (
        'EDGE CLEAN DONE in 8m 46s: edges 99.0% swept (~43 of ~44 m; ~0.2 m written off), '
        'floor passed over 16.7 of 31.7 m2, driven 56.4 m, 6 segments')
