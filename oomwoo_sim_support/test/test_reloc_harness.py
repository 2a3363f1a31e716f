"""
The relocalizer's harness.

Trials that are what they say, bounds that are held, and verdicts that would be noticed.
"""

from dataclasses import replace
import json
import math
from pathlib import Path

import numpy as np
from oomwoo_localization.frames import compose, transform_points
from oomwoo_localization.relocalizer import refusal, Relocalization
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scans import scan_points
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.reloc_harness import main, missed, summary
from oomwoo_sim_support.reloc_scenarios import KINDS, make_trial
from oomwoo_sim_support.reloc_trial import (
    adversarial_trial,
    carmen_trials,
    grid_spots,
    grid_trials,
    is_twin,
    looks_alike,
    result,
)
from oomwoo_sim_support.reloc_worlds import box, holds, outline, ranges_to
import pytest

RADISH = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'radish'


@pytest.mark.parametrize('kind', list(KINDS))
def test_trials_are_what_they_say(kind):
    """The same for the same seed; intact beams, put at the true pose, end on walls of the map."""
    for seed in (0, 1):
        trial, again = make_trial(kind, seed), make_trial(kind, seed)
        assert np.array_equal(trial.scan.ranges, again.scan.ranges, equal_nan=True)
        assert np.array_equal(trial.grid.cells, again.grid.cells)
        if trial.truth is None:
            assert np.isnan(trial.intact).all()
            continue
        points, _ = scan_points(replace(trial.scan, ranges=trial.intact), trial.base_from_scan)
        ends = transform_points(trial.truth, points[:, :2])
        gap = trial.grid.lookup(trial.grid.obstacle_distance, ends, outside=9.0)
        assert (gap < 1.5 * trial.grid.resolution + 0.1).mean() > 0.99
        if kind not in ('walls_removed', 'nearly_symmetric', 'everything'):
            assert trial.grid.lookup(trial.grid.free, trial.truth[None, :2], outside=False)[0]


def test_rays_meet_walls_where_geometry_says():
    """
    A box 2 m ahead; a union of two rectangles has no wall inside.

    A polygon holds its middle.
    """
    square = box(2.5, 0.0, 1.0, 4.0)
    angles = np.array([0.0, math.atan2(1.0, 2.0), math.pi])
    assert ranges_to(square, np.zeros(2), angles) == pytest.approx(
        [2.0, math.hypot(1.0, 2.0), math.inf]
    )
    walls = outline([(0, 0, 2, 2), (1.5, 0, 2, 1)])
    length = np.hypot(*(walls[:, 1] - walls[:, 0]).T).sum()
    assert length == pytest.approx(8 - 1 + 2 * 1.5 + 1)
    assert holds(square, (2.5, 0.0)) and not holds(square, (0.0, 0.0))


def answer(pose, accepted=True):
    """Return an accepted or refused answer."""
    base = refusal('ambiguous', 'twins')
    return Relocalization(**{**base.__dict__, 'accepted': accepted, 'pose': np.array(pose)})


def test_verdicts():
    """
    30 cm or 10 degrees make an accepted pose wrong; a refused one is never wrong.

    No truth, no right.
    """
    truth = np.array([1.0, 2.0, 0.5])
    assert result('clean', answer([1.29, 2.0, 0.5]), truth)['outcome'] == 'right'
    assert result('clean', answer([1.31, 2.0, 0.5]), truth)['outcome'] == 'wrong'
    assert (
        result('clean', answer([1.0, 2.0, 0.5 + math.radians(10.5)]), truth)['outcome'] == 'wrong'
    )
    assert result('clean', answer([9.0, 9.0, 0.5], accepted=False), truth)['outcome'] == 'refused'
    assert result('wrong_room', answer(truth), None)['outcome'] == 'wrong'
    trials = [result('clean', answer([9, 9, 0]), truth, solvable=True, seed=7)]
    failed = missed(trials, summary(trials))
    assert len(failed) == 2 and 'seed 7' in failed[0] and '0.0%' in failed[1]
    grid = [
        result('grid x', answer([1.03, 2.0, 0.5]), truth),
        result('grid x', answer(truth, False), truth),
    ]
    failed = missed(grid, summary(grid))
    assert len(failed) == 2 and '1 of 2 poses recovered' in failed[0] and '0.030 m' in failed[1]


def test_a_twin_is_a_place_that_looks_the_same():
    """From the true pose everything does, from elsewhere not."""
    trial = make_trial('clean', 3)
    assert looks_alike(trial, trial.truth) > 0.99
    assert looks_alike(trial, compose(trial.truth, (0.5, 0.3, 0.4))) < 0.5


def test_a_wrong_pose_is_a_twin_only_where_the_world_has_changed_into_one():
    """A corridor with something across it: its end, to all that can be seen; not so its middle."""
    trial = make_trial('corridor', 1000203)
    end, middle = (9.345, -0.446, 1.345), (6.0, -0.446, 1.345)
    assert is_twin(trial, end) and not is_twin(trial, middle)
    assert not is_twin(replace(trial, truth=np.array(end)), end), 'here the truth looks as well'
    assert adversarial_trial(('corridor', 1000203))['outcome'] == 'twin'


@pytest.mark.parametrize('kind', list(KINDS))
def test_no_wrong_pose_is_accepted(kind):
    """A few of each kind here; ten thousand in the harness."""
    for seed in range(3000, 3004):
        assert adversarial_trial((kind, seed))['outcome'] in ('right', 'refused', 'twin')


@pytest.mark.parametrize(
    'kind, seed',
    [
        ('walls_added', 50099),  # a new wall across the room, like the one at its end
        ('walls_removed', 60012),  # both cupboards gone; the truth came through more of them
        ('walls_removed', 105045),  # a cupboard in a wall is gone, the twin fits all of it
        ('nearly_symmetric', 200190),  # the robot stands where a cupboard against a wall was
        ('mirrored', 200189),  # only a bay of the mapped room looks like its mirror image
        ('mirrored', 200295),  # the cupboard stands on the other side
        ('mirrored', 400038),
        ('wrong_room', 500094),  # half a room of the same width, and a shoe
        ('mirrored', 1000439),  # 77 % of the mirror image are like the room
        ('mirrored', 110152),  # only the mirror image is mapped
        ('everything', 110121),
    ],
)
def test_once_accepted_wrong(kind, seed):
    """Trials in which an earlier rule believed a wrong pose."""
    assert adversarial_trial((kind, seed))['outcome'] == 'refused'


def test_what_is_like_another_spot_of_the_map_is_a_twin():
    """Of what is seen 99 % are like there, and 80 % like here: walls are gone."""
    assert adversarial_trial(('walls_removed', 900191))['outcome'] in ('refused', 'twin')


def test_living_room_is_recovered_everywhere():
    """On a wide raster here, four headings: to 2 cm and half a degree."""
    trials = grid_trials('living_room', 1.3, 0)
    assert len(trials) >= 40 and len(trials) % 4 == 0
    assert missed(trials, summary(trials)) == []


def test_spots_can_be_reached():
    """None within the robot's radius of a wall, none outside."""
    layout, robot = load_layout('living_room'), load_robot()
    spots = grid_spots(layout, 0.5, robot)
    assert len(spots) > 60
    assert (spots > layout.floor.min(axis=0)).all() and (spots < layout.floor.max(axis=0)).all()


@pytest.mark.parametrize('name', ['intel', 'freiburg-079', 'fhw'])
def test_real_log(name):
    """No wrong pose accepted on the logs that are here; a sparse choice of scans."""
    log = RADISH / f'{name}.log.gz'
    if not log.is_file():
        pytest.skip('the Radish logs are not here')
    trials = carmen_trials(log, {'intel': 300, 'freiburg-079': 900, 'fhw': 160}[name])
    assert trials and not any(trial['outcome'] == 'wrong' for trial in trials)


def test_command_line(tmp_path, capsys):
    """Table, JSON with the agreed keys, exit status; wrong arguments and files are named."""
    out = tmp_path / 'trials.json'
    assert (
        main(
            [
                '--adversarial',
                '--trials',
                '4',
                '--kind',
                'clean',
                '--jobs',
                '1',
                '--json',
                str(out),
            ]
        )
        == 0
    )
    written = json.loads(out.read_text())
    keys = {'truth', 'pose', 'score', 'confidence', 'accepted', 'err_m', 'err_deg', 'ms', 'kind'}
    assert keys <= set(written['trials'][0])
    assert len(written['trials']) == 4 and 'clean' in written['summary']
    assert 'clean' in capsys.readouterr().out
    assert main(['--carmen', str(tmp_path / 'none.log')]) == 2
    assert 'none.log' in capsys.readouterr().err
    assert main(['--grid', '--layout', 'nowhere']) == 2
    for wrong in (['--trials', '0'], ['--spacing', '-1'], ['--kind', 'nonsense']):
        with pytest.raises(SystemExit):
            main(wrong)
