"""The README's table of the coverage planner's parameters is that of the code."""
from pathlib import Path

from oomwoo_clean.coverage_planner_node import PlannerSettings
from oomwoo_localization.settings import settings_table


def test_parameters_in_the_readme_are_those_of_the_node():
    readme = Path(__file__).resolve().parents[1] / 'README.md'
    assert settings_table(PlannerSettings) in readme.read_text(encoding='utf-8')
