"""Traps by seed, and what the harness makes of a few of them."""
from dataclasses import replace
import json
import math

import numpy as np
from oomwoo_clean.trap_harness import main, summarise
from oomwoo_clean.trap_layouts import KINDS, trap, traps
from oomwoo_clean.trap_trial import run_trap
from oomwoo_localization.robot import load_robot
import pytest

RADIUS = load_robot().body.radius


def test_twenty_traps_of_four_kinds_and_none_twice():
    found = traps(3)
    assert [sum(t.kind == kind for t in found) for kind in KINDS] == [5] * 4
    assert len({t.name for t in found}) == 20
    assert {t.start for t in found}.isdisjoint({t.start for t in traps(4)})


@pytest.mark.parametrize('kind', KINDS)
def test_a_seed_gives_one_world_whose_goal_is_outside(kind):
    one, same = trap(kind, 17), trap(kind, 17)
    assert (one.start, one.lure, one.goal) == (same.start, same.lure, same.goal)
    assert math.dist(one.goal, one.center) > one.radius_m
    assert max(map(abs, one.goal)) < 2.2 - RADIUS


def test_a_forest_begins_among_the_legs_with_room_to_stand():
    one = trap('forest', 5)
    legs = np.array([leg.center for leg in one.layout.cylinders])
    gaps = np.hypot(*(legs - one.start[:2]).T) - RADIUS
    assert len(legs) == 36 and gaps.min() > 0.0
    assert math.dist(one.start[:2], one.center) < 0.7


def test_no_such_kind_is_refused():
    with pytest.raises(ValueError, match="kind: 'sofa' is none of"):
        trap('sofa', 0)


def test_a_hung_robot_stays_so_without_reflexes_and_comes_free_with_them():
    world = trap('bridge', 0)
    alone = run_trap(world, 60.0, reflex=False)
    assert alone.outcome == 'LOST' and math.isnan(alone.out_s) and alone.fired == {}
    helped = run_trap(world, 120.0)
    assert helped.outcome == 'ESCAPED' and helped.fired['NO_PROGRESS'] >= 1
    assert any('high-centred' in evidence for *_, evidence in helped.events)


def test_a_slot_is_left_by_touch_and_edge():
    result = run_trap(trap('slot', 1), 120.0)
    assert result.outcome == 'ESCAPED' and result.fired['HELD_BUMPER'] >= 1


@pytest.mark.parametrize('kind, seed', [('pocket', 50005), ('forest', 50005), ('forest', 50030)])
def test_out_of_what_no_scan_shows_and_from_among_many_legs(kind, seed):
    """In these, edge and gaps led back to where it had been, for three minutes."""
    result = run_trap(trap(kind, seed), 180.0, seed=seed)
    assert result.outcome == 'ESCAPED' and result.fired['CONFINED'] >= 1


def test_who_says_stuck_late_or_falsely_fails_the_bounds():
    good = run_trap(trap('slot', 1), 120.0)
    stuck = replace(good, outcome='STUCK', truthful=True, stuck_after_s=50.0)
    assert summarise([good] * 18 + [stuck] * 2)['passed']
    assert not summarise([good] * 17 + [stuck] * 3)['passed']
    for bad in (replace(stuck, stuck_after_s=61.0), replace(stuck, truthful=False),
                replace(stuck, outcome='LOST', stuck_after_s=math.nan)):
        summary = summarise([good] * 19 + [bad])
        assert not summary['passed'] and summary['not_said'] == [good.name]


def test_command_line(tmp_path, capsys):
    file = tmp_path / 'out' / 'traps.json'
    assert main(['--trap', 'slot', '1', '--seconds', '120', '--json', str(file)]) == 0
    written = json.loads(file.read_text())
    assert written['summary']['escaped'] == 1 and len(written['trials']) == 1
    assert 'slot_1' in capsys.readouterr().out
    assert main(['--trap', 'slot', '1', '--seconds', '3']) == 1
    assert main(['--trap', 'sofa', '1']) == 2
    assert "'sofa' is none of" in capsys.readouterr().err
