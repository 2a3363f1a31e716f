"""Unit, rules and examples for the robot agree with physical.launch.py and each other."""
import configparser
import importlib.util
from pathlib import Path
import re
import shutil
import subprocess

from oomwoo_bringup.lidar_driver_node import LidarDriverSettings
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ROBOT = ROOT / 'oomwoo_bringup' / 'robot'


@pytest.fixture(scope='module')
def arguments():
    """Return the arguments of physical.launch.py with their defaults."""
    path = ROOT / 'oomwoo_bringup' / 'launch' / 'physical.launch.py'
    spec = importlib.util.spec_from_file_location('physical', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: default for name, default, _ in module.ARGUMENTS}


def unit():
    """Return the sections of the systemd unit."""
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str
    parser.read(ROBOT / 'oomwoo-robot.service', encoding='utf-8')
    return parser


def test_the_unit_starts_what_is_there_and_stops_it_as_a_person_would():
    service = unit()['Service']
    assert set(unit()) - {'DEFAULT'} == {'Unit', 'Service', 'Install'}
    top = service['WorkingDirectory']
    program, *words = service['ExecStart'].split()
    assert (ROOT / program.removeprefix(f'{top}/')).stat().st_mode & 0o111
    assert words[:2] == ['ros2', 'launch'] and words[-1] == '$OOMWOO_ARGUMENTS'
    assert (ROOT / words[2] / 'launch' / words[3]).is_file()
    # SIGINT reaches launch alone first: its nodes stop the wheels before they end.
    assert (service['KillSignal'], service['KillMode']) == ('SIGINT', 'mixed')
    assert service['Restart'] == 'always' and service['User'] != 'root'
    assert unit()['Install']['WantedBy'] == 'multi-user.target'


def test_systemd_takes_the_unit(tmp_path):
    if not shutil.which('systemd-analyze'):
        pytest.skip('no systemd-analyze')
    text = (ROBOT / 'oomwoo-robot.service').read_text(encoding='utf-8')
    file = tmp_path / 'oomwoo-robot.service'
    # Its program and user are those of the robot.
    file.write_text(text.replace('/opt/oomwoo', str(ROOT)).replace('User=oomwoo', 'User=root'))
    ended = subprocess.run(
        ['systemd-analyze', 'verify', file], capture_output=True, text=True, timeout=60)
    complaints = [line for line in ended.stderr.splitlines() if 'oomwoo-robot' in line]
    assert not complaints


def test_the_examples_name_arguments_and_parameters_that_exist(arguments):
    settings = dict(
        line.split('=', 1) for line in (ROBOT / 'robot.env').read_text().splitlines()
        if line and not line.startswith('#'))
    given = dict(word.split(':=') for word in settings['OOMWOO_ARGUMENTS'].split())
    assert set(given) <= set(arguments)
    assert unit()['Service']['EnvironmentFile'].lstrip('-') == '/etc/oomwoo/robot.env'
    overrides = yaml.safe_load((ROBOT / 'overrides.yaml').read_text(encoding='utf-8'))
    lidar = overrides['/**/lidar_driver']['ros__parameters']
    assert lidar and set(lidar) <= set(LidarDriverSettings.__dataclass_fields__)
    ekf = overrides['/**/ekf_filter_node']['ros__parameters']
    known = yaml.safe_load((ROOT / 'oomwoo_bringup' / 'config' / 'ekf.yaml').read_text())
    assert ekf and set(ekf) <= set(known['/**']['ros__parameters'])


def test_the_rules_make_the_devices_that_are_opened(arguments):
    rules = [line for line in (ROBOT / '99-oomwoo.rules').read_text().splitlines()
             if line and not line.startswith('#')]
    one = r'[A-Z]+(\{\w+\})?(==|\+=|=)"[^"]+"'
    made = set()
    for rule in rules:
        assert re.fullmatch(rf'{one}(, {one})*', rule), rule
        made.add('/dev/' + re.search(r'SYMLINK\+="(\w+)"', rule)[1])
    assert made == {arguments['lidar_port'], arguments['base_port']}
    ids = [re.findall(r'ATTRS\{id\w+\}=="([0-9a-f]{4})"', rule) for rule in rules]
    assert all(len(pair) == 2 for pair in ids)
    assert len({tuple(pair) for pair in ids}) == len(ids)       # one device, one name


def test_the_page_names_what_there_is():
    page = (ROOT / 'docs' / 'robot.md').read_text(encoding='utf-8')
    for name in re.findall(r'oomwoo_bringup/robot/([\w.-]+)', page):
        assert (ROBOT / name).is_file(), name
    for name in re.search(r'robot/\{([^}]+)\}', page)[1].split(','):
        assert (ROBOT / name).is_file(), name
    for package, file in re.findall(r'ros2 launch (oomwoo_\w+) (\w+\.launch\.py)', page):
        assert (ROOT / package / 'launch' / file).is_file(), file
    table = page.split('| parameter of `lidar_driver`')[1].split('\n\n')[0]
    rows = [row.split('|')[1] for row in table.splitlines()[2:]]
    listed = {name for row in rows for name in re.findall(r'`(\w+)`', row)}
    assert listed == set(LidarDriverSettings.__dataclass_fields__)
