"""Set-ups that go well, and each way in which one can fail."""

import os
import platform
import shutil
import signal
import subprocess
import sys

import machine
import prefix
import pytest

# Elsewhere a set-up without an apt ROS 2 ends before it begins.
bare = pytest.mark.skipif(
    platform.machine() != 'x86_64', reason='the bare prefix has binaries for x86_64 only')


@bare
def test_two_set_ups_at_once_make_one_prefix_and_a_third_is_quick(world):
    first, second = world.start(), world.start()
    outputs = [process.communicate(timeout=120)[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), outputs
    assert sum('virtual environment:' in output for output in outputs) == 1
    assert sum('waiting for another set-up' in output for output in outputs) == 1

    status, output = world.set_up()
    assert status == 0
    assert output.startswith('ready: ')

    ready = world.prefix()
    assert ready.parent == world.cache
    assert sorted(path.name for path in ready.iterdir()) == [
        'bare.lock', 'complete.json', 'installer.lock', 'jazzy', 'runtime.lock', 'sdist.lock',
        'venv']
    # The commands run from a path with a space in it.
    ros2 = subprocess.run([ready / 'venv/bin/ros2'], capture_output=True, text=True,
                          env={**world.environment, 'PYTHONPATH': str(ready / 'jazzy/rclpy')})
    assert ros2.stdout == 'ros2 runs\n', ros2.stderr


@bare
def test_killed_half_way_is_repaired(world):
    process = world.start()
    for line in process.stdout:
        if line.startswith('[2/5]'):
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (world.checkout / '.prefix').exists()

    status, output = world.set_up()
    assert status == 0, output
    assert 'repairing the half-finished' in output
    assert (world.prefix() / 'complete.json').exists()


@bare
def test_download_without_the_pinned_hash_is_refused(world):
    lock = world.requirements / 'bare.lock'
    lock.write_text(lock.read_text()[:-9] + '00000000\n')
    status, output = world.set_up()
    assert status == 1
    assert 'does not have the pinned hash' in output
    assert not (world.checkout / '.prefix').exists()
    assert not list(world.cache.glob('*/complete.json'))


@bare
def test_without_network_the_message_says_so(world):
    status, output = world.set_up(
        PIP_NO_INDEX=None, PIP_FIND_LINKS=None, PIP_INDEX_URL='http://127.0.0.1:9/simple')
    assert status == 1
    assert 'the package index cannot be reached' in output
    assert 'Traceback' not in output


def test_apt_ros_is_taken_where_it_is(world):
    ros_root = world.checkout.parent / 'ros'
    ros_root.mkdir()
    for shell in ('sh', 'bash', 'zsh'):
        # Reads an unset variable and has a failing command, as the real one may.
        (ros_root / f'setup.{shell}').write_text(
            'false\n[ -n "$NOT_SET_ANYWHERE" ]\nexport ROS_DISTRO=jazzy APT_ROS=yes\n')
    status, output = world.set_up(OOMWOO_ROS_ROOT=str(ros_root))
    assert status == 0, output
    ready = world.prefix()
    assert ready.name.startswith('overlay-')
    assert 'include-system-site-packages = true' in (ready / 'venv/pyvenv.cfg').read_text()
    assert not (ready / 'jazzy').exists()

    shutil.copy(prefix.CHECKOUT / 'env.sh', world.checkout)
    locks = world.checkout / 'tools' / 'bare_ros'
    locks.mkdir(parents=True)
    shutil.copytree(world.requirements, locks / 'requirements')
    shown = subprocess.run(
        ['bash', '-c', 'set -eu; . "$0/env.sh"; echo "$APT_ROS $-"; command -v python',
         world.checkout],
        capture_output=True, text=True,
        env={**world.environment, 'OOMWOO_ROS_ROOT': str(ros_root)})
    answer, python = shown.stdout.splitlines()
    assert answer.startswith('yes ')
    assert {'e', 'u'} <= set(answer.split()[1])
    assert python == f'{ready}/venv/bin/python'


@pytest.fixture
def bare_path(tmp_path):
    """Give a PATH with what the script itself needs, and neither a Python nor a compiler."""
    folder = tmp_path / 'bin'
    folder.mkdir()
    for tool in ('sh', 'dirname', 'sed', 'cat'):
        (folder / tool).symlink_to(shutil.which(tool))
    return str(folder)


def test_without_python_3_12(world, bare_path, tmp_path):
    if os.path.exists('/usr/bin/python3.12'):
        pytest.skip('the system has one where it is always looked for')
    status, output = world.set_up(OOMWOO_PYTHON=None, PATH=bare_path, HOME=str(tmp_path),
                                  PYENV_ROOT=None)
    assert status == 1
    assert 'no Python 3.12 found' in output
    assert 'OOMWOO_PYTHON' in output


def test_python_of_another_version_is_named(world):
    status, output = world.set_up(OOMWOO_PYTHON='/bin/false')
    assert status == 1
    assert '/bin/false is not a working Python 3.12' in output


@bare
def test_pyenv_is_asked(world, bare_path, tmp_path):
    version = tmp_path / 'versions' / '3.12.9' / 'bin'
    version.mkdir(parents=True)
    (version / 'python3.12').symlink_to(world.environment['OOMWOO_PYTHON'])
    status, output = world.set_up(OOMWOO_PYTHON=None, PATH=bare_path, HOME=str(tmp_path),
                                  PYENV_ROOT=str(tmp_path))
    # It got as far as the next fault.
    assert (status, 'no make on PATH' in output) == (1, True)


@bare
def test_without_compiler(world, bare_path):
    status, output = world.set_up(PATH=bare_path)
    assert status == 1
    assert 'no make on PATH' in output
    assert 'apt install build-essential' in output
    assert not list(world.cache.glob('*/venv'))


@bare
def test_disk_too_full(world):
    status, output = world.set_up(OOMWOO_MIN_FREE_MB='1000000000')
    assert status == 1
    assert 'the set-up needs 1000000000 MB' in output
    assert 'OOMWOO_CACHE' in output
    assert not list(world.cache.glob('*/venv'))


def test_cache_that_cannot_be_written(world):
    world.cache.write_text('a file where a folder should be')
    status, output = world.set_up()
    assert status == 1
    assert str(world.cache) in output
    assert 'Traceback' not in output


@pytest.mark.parametrize(('kind', 'libc', 'said'), [
    ('aarch64', ('glibc', '2.39'), 'Linux aarch64'),
    ('x86_64', ('glibc', '2.31'), 'glibc 2.31'),
    ('x86_64', ('', ''), 'another C library'),
])
def test_machine_without_binaries(monkeypatch, kind, libc, said):
    monkeypatch.setattr(machine.platform, 'machine', lambda: kind)
    monkeypatch.setattr(machine.platform, 'libc_ver', lambda: libc)
    with pytest.raises(machine.SetupError, match=said):
        machine.check_platform()


def test_python_without_headers(monkeypatch, tmp_path):
    monkeypatch.setattr(machine.sysconfig, 'get_paths', lambda: {'include': str(tmp_path)})
    with pytest.raises(machine.SetupError, match='python3.12-dev'):
        machine.check_compiler()


def test_python_without_ensurepip(monkeypatch):
    monkeypatch.setitem(sys.modules, 'ensurepip', None)
    with pytest.raises(machine.SetupError, match='python3.12-venv'):
        machine.check_python()


def test_prefix_whose_interpreter_is_gone_is_not_ready(monkeypatch, world):
    monkeypatch.setenv('OOMWOO_CACHE', str(world.cache))
    made = prefix.Prefix('bare_ros', world.requirements)
    made.python.parent.mkdir(parents=True)
    (made.path / prefix.STAMP).write_text('{}')
    made.python.symlink_to('/nowhere/python3.12')
    assert not made.is_ready()
    made.python.unlink()
    made.python.symlink_to(sys.executable)
    assert made.is_ready()


def test_other_locks_make_another_prefix(monkeypatch, world):
    monkeypatch.setenv('OOMWOO_CACHE', str(world.cache))
    before = prefix.Prefix('bare_ros', world.requirements).path
    with open(world.requirements / 'runtime.lock', 'a') as lock:
        lock.write('# another\n')
    assert prefix.Prefix('bare_ros', world.requirements).path != before


@pytest.mark.parametrize('lock', sorted(
    path.name for path in (prefix.HERE / 'requirements').glob('*.lock')))
def test_every_locked_package_has_a_version_and_a_hash(lock):
    text = (prefix.HERE / 'requirements' / lock).read_text()
    assert '://' not in text
    entries = [line for line in text.replace('\\\n', ' ').splitlines()
               if line and not line.startswith('#')]
    assert entries
    for entry in entries:
        requirement, *hashes = entry.split()
        assert '==' in requirement
        assert hashes
        assert all(part.startswith('--hash=sha256:') and len(part) == 14 + 64 for part in hashes)
