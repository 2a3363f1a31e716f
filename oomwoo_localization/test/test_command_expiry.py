"""A base that keeps its last command is stopped when commands cease."""
from oomwoo_localization.command_expiry import CommandExpiry


def test_a_command_counts_for_its_time_and_then_the_stop_is_said_for_as_long():
    """Not before the first command, and not for ever."""
    expiry = CommandExpiry(0.5)
    assert not expiry.expired(100.0)
    expiry.heard(10.0)
    assert not expiry.expired(10.5)
    assert expiry.expired(10.51) and expiry.expired(10.99)
    assert expiry.expired(11.01) and not expiry.expired(11.02)
    expiry.heard(20.0)
    assert expiry.expired(20.6)


def test_commands_that_go_on_and_one_that_is_forgotten_need_no_stop():
    expiry = CommandExpiry(0.5)
    for tenth in range(20):
        expiry.heard(tenth * 0.1)
        assert not expiry.expired(tenth * 0.1 + 0.09)
    expiry.forget()
    assert not expiry.expired(2.6)
