"""The README's table of parameters is the code's."""
from pathlib import Path

from oomwoo_clean.clean_manager_node import ManagerSettings
from oomwoo_clean.contour_follower_node import NodeSettings
from oomwoo_localization.settings import settings_table


def test_parameter_table_is_up_to_date():
    """Written by settings_table; write it again after a change of the settings."""
    readme = Path(__file__).parents[1] / 'README.md'
    assert settings_table(NodeSettings) in readme.read_text(encoding='utf-8')


def test_the_managers_table_too():
    readme = Path(__file__).parents[1] / 'README.md'
    assert settings_table(ManagerSettings) in readme.read_text(encoding='utf-8')
