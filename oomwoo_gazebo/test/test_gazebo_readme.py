"""The README's tables of parameters and arguments are those of nodes and launch file."""
import importlib.util
from pathlib import Path

from oomwoo_gazebo.bumper_adapter_node import BumperAdapterSettings
from oomwoo_gazebo.command_expiry_node import CommandExpirySettings
from oomwoo_gazebo.scan_watch_node import ScanWatchSettings
from oomwoo_localization.settings import settings_table

PACKAGE = Path(__file__).resolve().parents[1]
README = (PACKAGE / 'README.md').read_text(encoding='utf-8')


def test_parameters():
    """As the nodes declare them."""
    for settings in (BumperAdapterSettings, CommandExpirySettings, ScanWatchSettings):
        assert settings_table(settings) in README


def test_arguments():
    """Every one of world.launch.py."""
    spec = importlib.util.spec_from_file_location(
        'world_launch', PACKAGE / 'launch' / 'world.launch.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    section = README.split('## What is started')[0]
    for name, _, _ in module.ARGUMENTS:
        assert f'`{name}`' in section or name == 'use_sim_time', name
