"""The README's tables of parameters are those of the code."""
from pathlib import Path

from oomwoo_localization.settings import settings_table
from oomwoo_sim_support.coverage_meter_node import MeterSettings
from oomwoo_sim_support.embedded_navigator_node import NavigatorNodeSettings
from oomwoo_sim_support.map_server_node import MapServerSettings
import pytest


@pytest.mark.parametrize('settings', [NavigatorNodeSettings, MapServerSettings, MeterSettings])
def test_parameters_in_the_readme_are_those_of_the_node(settings):
    readme = Path(__file__).resolve().parents[1] / 'README.md'
    assert settings_table(settings) in readme.read_text(encoding='utf-8')
