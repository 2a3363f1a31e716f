"""Sourcing env.sh: from anywhere, in either shell, as often as one likes."""

import os
from pathlib import Path
import shutil
import subprocess
import time

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
SHELLS = [shell for shell in ('bash', 'zsh') if shutil.which(shell)]
PATHS = ('PATH', 'PYTHONPATH', 'LD_LIBRARY_PATH', 'AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH')
SHOW = '; '.join(f'echo "{name}=${{{name}:-}}"' for name in (
    *PATHS, 'ROS_DISTRO', 'ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE',
    'FASTRTPS_DEFAULT_PROFILES_FILE', 'OOMWOO_ROOT'))
CLEAN = {'HOME': os.environ['HOME'], 'PATH': '/usr/local/bin:/usr/bin:/bin'}

pytestmark = [
    pytest.mark.parametrize('shell', SHELLS),
    pytest.mark.skipif(not (CHECKOUT / '.prefix').exists(), reason='no set-up in this checkout'),
]


def run(shell, script, *arguments, environment=CLEAN, **options):
    """Run a script in a shell that reads no start-up files."""
    plain = {'bash': ['--norc', '--noprofile'], 'zsh': ['-f']}[shell]
    return subprocess.run([shell, *plain, '-c', script, shell, *map(str, arguments)],
                          env=environment, capture_output=True, text=True, **options)


def variables(result):
    """Return the variables that a script with ``SHOW`` printed."""
    assert result.returncode == 0, result.stderr
    assert result.stderr == ''
    return dict(line.split('=', 1) for line in result.stdout.splitlines())


@pytest.fixture(params=['with a space', 'link'])
def elsewhere(request, tmp_path):
    """Give another way to the checkout: a copy at a path with a space in it, or a link."""
    place = tmp_path / request.param
    if request.param == 'link':
        place.symlink_to(CHECKOUT)
        return place
    (place / 'tools' / 'bare_ros').mkdir(parents=True)
    shutil.copy(CHECKOUT / 'env.sh', place)
    shutil.copytree(CHECKOUT / 'tools/bare_ros/requirements',
                    place / 'tools/bare_ros/requirements')
    (place / '.prefix').symlink_to(os.readlink(CHECKOUT / '.prefix'))
    (place / 'build' / 'a_package').mkdir(parents=True)
    (place / 'build' / 'a_package' / 'setup.py').symlink_to(CHECKOUT / 'conftest.py')
    (place / 'install').mkdir()
    return place


def test_from_another_folder(shell, elsewhere):
    found = variables(run(shell, f'. "$1/env.sh"; {SHOW}', elsewhere, cwd='/'))
    assert found['OOMWOO_ROOT'] == str(elsewhere.resolve())
    assert found['ROS_DISTRO'] == 'jazzy'
    assert found['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    assert 1 <= int(found['ROS_DOMAIN_ID']) < 20
    assert found['PATH'].endswith(CLEAN['PATH'])
    assert f'{elsewhere.resolve()}/install' in found['AMENT_PREFIX_PATH'].split(':')
    if elsewhere.name == 'with a space':
        assert f'{elsewhere}/build/a_package' in found['PYTHONPATH'].split(':')


def test_twice_is_as_once(shell, elsewhere):
    once = variables(run(shell, f'. "$1/env.sh"; {SHOW}', elsewhere))
    twice = variables(run(shell, f'. "$1/env.sh"; . "$1/env.sh"; {SHOW}', elsewhere))
    assert twice == once
    for name in PATHS:
        parts = once[name].split(':')
        assert len(parts) == len(set(parts)), name
        assert '' not in parts, name


def test_strict_shell_and_what_the_user_has_stay(shell):
    environment = {**CLEAN, 'PYTHONPATH': '/mine', 'ROS_DOMAIN_ID': '77'}
    result = run(shell, f'set -eu; . "$1/env.sh"; {SHOW}; echo "flags=$-"', CHECKOUT,
                 environment=environment)
    found = variables(result)
    assert {'e', 'u'} <= set(found['flags'])
    assert found['PYTHONPATH'].endswith(':/mine')
    assert found['ROS_DOMAIN_ID'] == '77'


def test_on_one_machine_fast_dds_knows_of_more_than_32_processes(shell):
    found = variables(run(shell, f'. "$1/env.sh"; {SHOW}', CHECKOUT))
    assert found['FASTRTPS_DEFAULT_PROFILES_FILE'] == f'{CHECKOUT}/tools/dds_more_peers.xml'
    # Whoever says how far discovery reaches, or has a profile, is asked no questions.
    for own in ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'},
                {'FASTRTPS_DEFAULT_PROFILES_FILE': '/mine.xml'}):
        found = variables(run(
            shell, f'. "$1/env.sh"; {SHOW}', CHECKOUT, environment={**CLEAN, **own}))
        assert {name: found[name] for name in own} == own
        assert found['FASTRTPS_DEFAULT_PROFILES_FILE'] == own.get(
            'FASTRTPS_DEFAULT_PROFILES_FILE', '')


def test_leaves_no_names_of_its_own(shell):
    result = run(shell, '. "$1/env.sh"; set | grep "^_oomwoo"; '
                 'type _oomwoo_env || type _oomwoo_prepend || echo none', CHECKOUT)
    assert not [line for line in result.stdout.splitlines() if line.startswith('_oomwoo_')
                and 'not found' not in line]
    assert result.stdout.endswith('none\n')


def test_is_quick(shell):
    best = 9.0
    for _ in range(3):
        begin = time.monotonic()
        run(shell, '. "$1/env.sh"', CHECKOUT)
        best = min(best, time.monotonic() - begin)
    # 0.03 s on a quiet machine; an apt ROS 2 has a script for each of its packages.
    assert best < (3.0 if os.path.exists('/opt/ros/jazzy') else 0.5)


def test_before_a_set_up(shell, tmp_path):
    shutil.copy(CHECKOUT / 'env.sh', tmp_path)
    result = run(shell, '. "$1/env.sh"; echo "status $?"', tmp_path)
    assert 'make setup' in result.stderr
    assert result.stdout == 'status 1\n'


def test_after_the_pins_changed(shell, elsewhere):
    if elsewhere.name == 'link':
        pytest.skip('would change this checkout')
    with open(elsewhere / 'tools/bare_ros/requirements/sdist.lock', 'a') as lock:
        lock.write('# changed\n')
    result = run(shell, '. "$1/env.sh"', elsewhere)
    assert result.returncode == 1
    assert 'pinned packages changed' in result.stderr
