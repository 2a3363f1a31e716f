"""A battery that time drains and a dock fills."""
import math

from hypothesis import given
from hypothesis import strategies as st
from oomwoo_localization.frames import compose
from oomwoo_sim_support.battery import Battery, BatterySettings, contacts_meet
import pytest

DOCK, DOCKED = (2.0, -1.0, 2.2), (0.15, 0.0, 0.0)
SETTINGS = BatterySettings(battery_minutes=100.0, charge_minutes=50.0, battery_start=0.5)


def test_it_fills_and_drains_at_its_rates():
    battery = Battery(SETTINGS)
    battery.tick(600.0, charging=False)
    assert battery.charge == pytest.approx(0.4)
    battery.tick(300.0, charging=True)
    assert battery.charge == pytest.approx(0.5)


@given(st.lists(st.tuples(st.floats(0.0, 1e4), st.booleans()), max_size=30))
def test_it_is_never_more_than_full_or_less_than_empty(times):
    battery = Battery(SETTINGS)
    for period_s, charging in times:
        before = battery.charge
        battery.tick(period_s, charging)
        assert 0.0 <= battery.charge <= 1.0
        assert (battery.charge - before) * (1 if charging else -1) >= 0.0
    battery.tick(1e6, True)
    assert battery.charge == 1.0
    battery.tick(60.0, False)             # what came while it was full is not kept for later
    assert battery.charge == pytest.approx(0.99)


@pytest.mark.parametrize('off,meet', [
    ((0.0, 0.0, 0.0), True), ((0.0029, 0.011, 0.1), True), ((-0.01, 0.0, 0.0), True),
    ((0.0031, 0.0, 0.0), False), ((0.0, 0.013, 0.0), False), ((0.0, -0.013, 0.0), False),
    ((0.0, 0.0, math.radians(6.1)), False), ((0.0, 0.0, math.radians(-6.1)), False),
    ((0.0, 0.0, math.pi), False)])
def test_contacts_meet_within_their_travel_wherever_the_dock_stands(off, meet):
    x, y, yaw = off
    base = compose(DOCK, (DOCKED[0] + x, y, yaw))
    assert contacts_meet(DOCK, DOCKED, base, SETTINGS) is meet
