"""The README's table of the relocalizer's parameters is the one in force."""

from pathlib import Path

from oomwoo_localization.global_relocalizer_node import GlobalRelocalizerSettings
from oomwoo_localization.settings import settings_table


def test_readme_has_the_parameters_in_force():
    """Every row as the settings have it."""
    readme = (Path(__file__).resolve().parents[1] / 'README.md').read_text(encoding='utf-8')
    assert settings_table(GlobalRelocalizerSettings) in readme
