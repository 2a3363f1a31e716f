"""Who drives: ranks, times and locks as twist_mux has them."""
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from oomwoo_clean.velocity_mux import MuxError, Source, sources, VelocityMux
import pytest
import yaml

FILE = Path(__file__).resolve().parents[2] / 'oomwoo_bringup' / 'config' / 'twist_mux.yaml'


def flat(values, prefix=''):
    """Return ``{dotted name: value}``."""
    found = {}
    for key, value in values.items():
        found |= flat(value, f'{prefix}{key}.') if isinstance(value, dict) else {
            f'{prefix}{key}': value}
    return found


def packaged():
    """Return the parameters of twist_mux's file."""
    content = yaml.safe_load(FILE.read_text(encoding='utf-8'))
    return flat(content['/**']['ros__parameters'])


@pytest.fixture
def mux():
    """Return the mux that the packaged file makes."""
    return VelocityMux(*sources(packaged()))


def test_the_order_is_behaviours_reflex_person_emergency(mux):
    ranked = sorted(mux.topics.values(), key=lambda source: source.priority)
    assert [source.topic for source in ranked] == ['cmd_vel', 'cmd_vel_reflex', 'cmd_vel_teleop']
    assert mux.locks['emergency'].priority > ranked[-1].priority


def test_the_first_in_rank_drives_for_half_a_second_after_its_last_word(mux):
    assert mux.command('behaviours', 0.0)
    assert mux.command('reflex', 0.1) and not mux.command('behaviours', 0.2)
    assert mux.command('person', 0.3) and not mux.command('reflex', 0.4)
    assert not mux.command('behaviours', 0.79)      # person until 0.8, reflex until 0.9
    assert not mux.command('behaviours', 0.9)
    assert mux.command('behaviours', 0.91) and mux.driver(0.91) == 'behaviours'
    assert mux.driver(1.42) == ''


def test_a_lock_holds_everybody_until_it_is_opened(mux):
    assert mux.lock('emergency', True, 0.0)
    assert not mux.command('person', 100.0) and mux.driver(100.0) == ''
    assert not mux.lock('emergency', False, 101.0)
    assert mux.command('person', 101.0)


def test_a_lock_with_a_time_has_to_be_held_open_and_spares_whoever_is_above_it():
    mux = VelocityMux(
        [Source('low', 'a', 0.5, 10), Source('high', 'b', 0.5, 100)],
        [Source('watchdog', 'c', 1.0, 50)])
    assert not mux.command('low', 0.0) and mux.command('high', 0.1)
    assert not mux.lock('watchdog', False, 1.0)
    assert mux.command('low', 1.5) and not mux.command('low', 2.1)


def test_a_jump_of_the_clock_forgets_who_spoke_and_not_that_a_lock_is_closed(mux):
    mux.command('person', 1000.0)
    mux.lock('emergency', True, 1000.0)
    mux.forget()
    assert not mux.command('behaviours', 1.0)
    mux.lock('emergency', False, 1.0)
    assert mux.command('behaviours', 1.0)


@given(st.lists(st.tuples(st.sampled_from(['behaviours', 'reflex', 'person']),
                          st.floats(0.0, 0.4)), max_size=40))
def test_two_never_drive_at_once(words):
    """Whoever passes is the first in rank of all that spoke within half a second."""
    mux, now_s, heard = VelocityMux(*sources(packaged())), 0.0, {}
    for name, pause_s in words:
        now_s += pause_s
        heard[name] = now_s
        fresh = [who for who, when in heard.items() if now_s - when <= 0.5]
        first = max(fresh, key=lambda who: mux.topics[who].priority)
        assert mux.command(name, now_s) == (name == first)


@pytest.mark.parametrize('change, says', [
    ({'topics.person.topic': ''}, 'topics.person.topic'),
    ({'topics.person.timeout': -1.0}, 'topics.person.timeout'),
    ({'topics.person.timeout': 'long'}, 'topics.person.timeout'),
    ({'topics.person.priority': 256}, 'topics.person.priority'),
    ({'topics.person.priority': 1.5}, 'topics.person.priority'),
    ({'locks.emergency.topic': 7}, 'locks.emergency.topic'),
    ({'use_stamped': True}, 'use_stamped')])
def test_what_cannot_be_arbitrated_by_is_named(change, says):
    with pytest.raises(MuxError, match=says):
        sources(packaged() | change)


def test_nobody_at_all_is_refused():
    with pytest.raises(MuxError, match='topics: nobody'):
        sources({'use_stamped': False})
