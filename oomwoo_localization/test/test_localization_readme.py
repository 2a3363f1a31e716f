"""The README's tables of parameters are those that the code declares."""
from pathlib import Path

from oomwoo_localization.localization_health_node import HealthNodeSettings
from oomwoo_localization.scan_localizer_node import LocalizerNodeSettings
from oomwoo_localization.settings import settings_table
import pytest


@pytest.mark.parametrize('kind', [LocalizerNodeSettings, HealthNodeSettings])
def test_parameter_tables_are_current(kind):
    """Written by settings_table; write it again after a change of the settings."""
    readme = Path(__file__).resolve().parent.parent / 'README.md'
    assert settings_table(kind) in readme.read_text(encoding='utf-8')
