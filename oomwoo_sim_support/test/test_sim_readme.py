"""The README's table of the simulator's parameters is the one that the code declares."""
from pathlib import Path

from oomwoo_localization.settings import settings_table
from oomwoo_sim_support.embedded_sim_node import SimNodeSettings


def test_parameter_table_is_current():
    """Written by settings_table; write it again after a change of the settings."""
    readme = Path(__file__).resolve().parent.parent / 'README.md'
    assert settings_table(SimNodeSettings) in readme.read_text(encoding='utf-8')
