"""The bump-out's harness: table, JSON, picture, exit status."""
import json

from oomwoo_clean import bump_out_harness
from oomwoo_clean.bump_out_harness import judge, main
import pytest


def test_one_short_run_is_measured_judged_and_drawn(tmp_path, capsys):
    file, picture = tmp_path / 'out' / 'result.json', tmp_path / 'picture.png'
    status = main([
        '--layout', 'skirt_room', '--start', '-1.9', '1.785', '5', '--minutes', '0.2',
        '--json', str(file), '--picture', str(picture)])
    assert status == 1                                    # nobody gets round in 12 seconds
    results = json.loads(file.read_text())
    trial, = results['trials']
    assert not results['summary']['passed'] and '% of the walls passed' in trial['failed'][0]
    assert 0.0 < trial['wall_passed'] < 0.5 and trial['wall_m'] > 10.0
    assert trial['soft_pushed'] > 0.0 and trial['soft_bumps'] >= 1     # through the skirt
    assert trial['localizer_worst_m'] < 0.05 and trial['longest_stand_s'] < 5.0
    assert results['summary']['settings']['cruise_speed'] == 0.28
    assert picture.stat().st_size > 10_000
    assert 'skirt_room' in capsys.readouterr().out


def test_bounds_are_those_that_are_stated():
    good = {'wall_passed': 0.91, 'segments_m': 10.0, 'segments_good': 0.95,
            'longest_stand_s': 4.0}
    assert judge(good) == []
    for key, value, word in (('wall_passed', 0.89, 'walls passed'),
                             ('segments_good', 0.5, 'segments right'),
                             ('longest_stand_s', 30.0, 'stood')):
        failed = judge({**good, key: value})
        assert len(failed) == 1 and word in failed[0]


@pytest.mark.parametrize('arguments, says', [
    (['--layout', 'nowhere'], 'nowhere'),
    (['--layout', 'test_room', '--start', '50', '50', '0'], 'outside the floor'),
])
def test_refuses_what_it_cannot_use(arguments, says, capsys):
    assert main([*arguments, '--minutes', '0.02']) == 2
    assert says in capsys.readouterr().err


def test_refuses_times_that_are_none():
    with pytest.raises(SystemExit):
        bump_out_harness.parse(['--minutes', '0'])
