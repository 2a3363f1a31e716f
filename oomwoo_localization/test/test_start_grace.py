"""A while in which what is missing may still be on its way."""
from oomwoo_localization import start_grace
from oomwoo_localization.start_grace import GRACE_S, StartGrace


def test_it_is_over_after_a_while_of_wall_time_and_can_begin_anew(monkeypatch):
    wall_s = [100.0]
    monkeypatch.setattr(start_grace.time, 'monotonic', lambda: wall_s[0])
    grace = StartGrace()
    assert not grace.over
    wall_s[0] += GRACE_S - 0.1
    assert not grace.over
    wall_s[0] += 0.2
    assert grace.over
    grace.begin()
    assert not grace.over
    longer = StartGrace(2.0 * GRACE_S)
    wall_s[0] += 1.5 * GRACE_S
    assert grace.over and not longer.over
