"""How many ticks are due, on a wall clock made for it."""
from oomwoo_sim_support.sim_pacing import Pacer
import pytest


def run(pacer, wall_from, wall_to, look_s=0.001, cost_s=0.0):
    """Look every ``look_s``, each tick taking ``cost_s``; return the ticks done."""
    wall, done = wall_from, 0
    while wall < wall_to:
        due = pacer.due(wall)
        pacer.did(due)
        done += due
        wall += look_s + due * cost_s
    return done


@pytest.mark.parametrize('factor', [0.5, 1.0, 4.0])
def test_ticks_follow_the_factor(factor):
    """Ten wall seconds are ten times the factor of simulated ones."""
    done = run(Pacer(0.01, factor), 5.0, 15.0)
    assert done * 0.01 == pytest.approx(10.0 * factor, abs=0.03)


def test_slow_machine_is_not_run_after():
    """Ticks of 20 ms at real time: half the speed, and no burst when they get cheap again."""
    pacer = Pacer(0.01, 1.0)
    slow = run(pacer, 0.0, 4.0, cost_s=0.02)
    assert slow * 0.01 == pytest.approx(2.0, abs=0.15)
    fast = run(pacer, 4.0, 6.0)
    assert fast * 0.01 == pytest.approx(2.0, abs=0.1)


def test_as_fast_as_it_goes_and_what_was_reached():
    """Always some ticks due; the measure is simulated over wall time."""
    pacer = Pacer(0.01, 0.0, most_ticks=4)
    for look in range(30):
        assert pacer.due(0.1 * look) == 4
        pacer.did(4)
    assert pacer.report(2.9, every_s=2.0) and not pacer.report(3.0, every_s=2.0)
    assert pacer.achieved == pytest.approx(30 * 4 * 0.01 / 2.9)


def test_pause_leaves_no_debt_and_a_new_factor_counts_at_once():
    """What was not simulated while paused is not simulated later."""
    pacer = Pacer(0.01, 1.0)
    run(pacer, 0.0, 1.0)
    pacer.restart()
    assert run(pacer, 9.0, 10.0) * 0.01 == pytest.approx(1.0, abs=0.03)
    pacer.set_factor(3.0)
    assert run(pacer, 10.0, 11.0) * 0.01 == pytest.approx(3.0, abs=0.05)
