"""The entry point, run for real with a made-up /dev."""
import os
from pathlib import Path
import shutil
import socket
import subprocess

import pytest

DOCKER = Path(__file__).resolve().parents[1]
GL = ('LIBGL_ALWAYS_SOFTWARE', 'GALLIUM_DRIVER', 'EGL_PLATFORM')


def run(*command, check=True, **environment):
    """Run a command through the entry point; return (environment that it saw, what was said)."""
    clean = {key: value for key, value in os.environ.items()
             if key not in (*GL, 'DISPLAY', 'WAYLAND_DISPLAY', 'LD_LIBRARY_PATH')}
    ended = subprocess.run(
        [DOCKER / 'entrypoint.sh', *command], env={**clean, **environment},
        capture_output=True, text=True, timeout=60)
    if check:
        assert ended.returncode == 0, ended.stderr
    seen = dict(line.split('=', 1) for line in ended.stdout.splitlines() if '=' in line)
    return seen, ended


def test_without_a_render_device_it_is_software_without_a_display(tmp_path):
    seen, ended = run('env', OOMWOO_DEV=str(tmp_path))
    assert [seen[name] for name in GL] == ['1', 'llvmpipe', 'surfaceless']
    assert 'software, surfaceless EGL' in ended.stderr
    # And the workspace is there.
    assert seen['ROS_DISTRO'] == 'jazzy' and 'oomwoo' in seen['AMENT_PREFIX_PATH'] + (
        seen['PYTHONPATH'])


@pytest.mark.parametrize('device', ['dri/renderD128', 'nvidia0', 'dxg'])
def test_with_a_render_device_nothing_is_changed(tmp_path, device):
    path = tmp_path / device
    path.parent.mkdir(exist_ok=True)
    path.touch()
    seen, ended = run('env', OOMWOO_DEV=str(tmp_path))
    assert not set(GL) & set(seen)
    assert f'gl: {path}' in ended.stderr


@pytest.mark.skipif(os.getuid() == 0 and not os.path.exists('/usr/bin/setpriv'),
                    reason='root may use every device, and there is no setpriv')
def test_a_device_that_may_not_be_used_is_named_with_what_helps(tmp_path):
    device = tmp_path / 'dri' / 'renderD128'
    device.parent.mkdir()
    device.touch()
    device.chmod(0)
    for folder in (tmp_path, *tmp_path.parents[:3], device.parent):
        folder.chmod(0o755)
    script = f'. {DOCKER}/gl.sh; oomwoo_choose_gl; env'
    command = ['bash', '-c', script]
    if os.getuid() == 0:
        command = ['setpriv', '--reuid=65534', '--clear-groups', *command]
        if subprocess.run([*command[:3], 'test', '-r', DOCKER / 'gl.sh']).returncode:
            pytest.skip('nobody may not read this checkout')
    ended = subprocess.run(
        command, env={'PATH': os.environ['PATH'], 'OOMWOO_DEV': str(tmp_path)},
        capture_output=True, text=True)
    assert f'no access to {device} (docker run --group-add ' in ended.stderr
    assert 'LIBGL_ALWAYS_SOFTWARE=1' in ended.stdout


def test_the_choice_can_be_made_by_hand(tmp_path):
    (tmp_path / 'dri').mkdir()
    (tmp_path / 'dri' / 'renderD128').touch()
    assert run('env', OOMWOO_DEV=str(tmp_path), OOMWOO_GL='software')[0][GL[0]] == '1'
    assert GL[0] not in run('env', OOMWOO_DEV='/nowhere', OOMWOO_GL='hardware')[0]
    _, ended = run('env', check=False, OOMWOO_GL='fast')
    assert ended.returncode != 0 and 'OOMWOO_GL=fast is none of' in ended.stderr


def test_windows_are_drawn_in_software_and_a_missing_display_is_said(tmp_path):
    sockets = tmp_path / 'x'
    sockets.mkdir()
    with_display = {
        'OOMWOO_DEV': str(tmp_path), 'OOMWOO_X11': str(sockets), 'DISPLAY': ':7.0'}
    seen, ended = run('env', **with_display)
    assert seen[GL[0]] == '1' and 'EGL_PLATFORM' not in seen
    assert 'DISPLAY=:7.0, but no X server is there' in ended.stderr
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(sockets / 'X7'))
        assert 'display:' not in run('env', **with_display)[1].stderr
    # A display of another machine cannot be looked at.
    assert 'display:' not in run(
        'env', **with_display | {'DISPLAY': 'host.docker.internal:0.0'})[1].stderr


def test_a_command_takes_the_place_of_the_entry_point_with_its_status(tmp_path):
    _, ended = run('bash', '-c', 'echo "$0 $1"; exit 7', 'a b', 'c', check=False)
    assert ended.returncode == 7 and ended.stdout == 'a b c\n'
    _, ended = run('true', check=False, OOMWOO_WATCH='everything')
    assert ended.returncode == 2 and 'OOMWOO_WATCH=everything is none of' in ended.stderr


def test_a_checkout_that_is_mounted_from_another_machine_finds_what_is_installed(tmp_path):
    """It would end with "run: make setup" before anybody could."""
    root = DOCKER.parent
    for name in ('docker', 'tools'):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns('__pycache__'))
    shutil.copy(root / 'env.sh', tmp_path)
    (tmp_path / '.prefix').symlink_to('/home/somebody/.cache/oomwoo/bare_ros-0123456789ab')
    environment = {**os.environ, 'OOMWOO_CACHE': str(Path(os.readlink(root / '.prefix')).parent)}
    ended = subprocess.run(
        [tmp_path / 'docker' / 'entrypoint.sh', 'env'], env=environment, capture_output=True,
        text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert f'OOMWOO_ROOT={tmp_path}' in ended.stdout.splitlines()
    assert os.readlink(tmp_path / '.prefix') == os.readlink(root / '.prefix')


@pytest.mark.parametrize('health, status', [('import', 0), ('foxglove', 1), ('luck', 1)])
def test_health_is_told_by_the_exit_status(health, status):
    ended = subprocess.run(
        [DOCKER / 'healthcheck.sh'], capture_output=True, text=True, timeout=60,
        env={**os.environ, 'OOMWOO_HEALTH': health, 'FOXGLOVE_PORT': '1'})
    assert ended.returncode == status, ended.stderr
    assert ('none of import' in ended.stderr) == (health == 'luck')
