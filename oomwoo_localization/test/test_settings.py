"""Settings are checked against type, range and choices, and the message names all of it."""
from dataclasses import dataclass, fields, replace
import math

from hypothesis import given
from hypothesis import strategies as st
from oomwoo_localization.settings import (
    check_setting,
    check_settings,
    setting,
    SettingError,
    settings_table,
)
import pytest


@dataclass(frozen=True)
class Example:
    """One setting of each kind."""

    standoff_m: float = setting(0.23, 'body centre to surface', 'm', 0.18, 1.0)
    window: int = setting(15, 'beams either side', '', 1)
    side: str = setting('right', 'where the surface is', choices=('left', 'right'))
    guard: bool = setting(True, 'watch the strip ahead', live=False)
    bias_rad: float = setting(0.0, 'added to the bearing', 'rad')


INFO = {info.name: info for info in fields(Example)}


def test_the_defaults_pass_and_are_returned():
    assert check_settings(Example()) == Example()


def test_a_whole_number_serves_as_a_float_and_no_other_way_round():
    assert check_setting(INFO['standoff_m'], 1) == 1.0
    assert isinstance(check_setting(INFO['standoff_m'], 1), float)
    with pytest.raises(SettingError, match='window: expected int, got 15.0'):
        check_setting(INFO['window'], 15.0)


@pytest.mark.parametrize(('name', 'value', 'words'), [
    ('standoff_m', 0.1, 'standoff_m: 0.1 is outside 0.18 .. 1.0 m'),
    ('standoff_m', 1.1, 'standoff_m: 1.1 is outside'),
    ('standoff_m', math.nan, 'standoff_m: must be finite'),
    ('standoff_m', math.inf, 'standoff_m: must be finite'),
    ('standoff_m', '0.3', "standoff_m: expected float, got '0.3'"),
    ('standoff_m', True, 'standoff_m: expected float, got True'),
    ('window', 0, 'window: 0 is outside 1 .. inf'),
    ('window', True, 'window: expected int, got True'),
    ('side', 'up', "side: 'up' is none of left, right"),
    ('side', None, 'side: expected str, got None'),
    ('guard', 1, 'guard: expected bool, got 1'),
    ('bias_rad', -math.inf, 'bias_rad: must be finite')])
def test_a_bad_value_is_refused_with_name_value_and_range(name, value, words):
    with pytest.raises(SettingError) as caught:
        check_settings(replace(Example(), **{name: value}))
    assert words in str(caught.value)


@given(st.floats(0.18, 1.0))
def test_the_range_is_inclusive(value):
    assert check_setting(INFO['standoff_m'], value) == value


def test_the_table_has_a_row_a_setting():
    rows = settings_table(Example).splitlines()
    assert rows[2] == '| `standoff_m` | 0.23 | m | 0.18 .. 1.0 | body centre to surface |'
    assert rows[4] == '| `side` | right |  | left, right | where the surface is |'
    assert len(rows) == 2 + len(INFO)
