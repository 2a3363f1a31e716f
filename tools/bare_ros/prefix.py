#!/usr/bin/env python3
"""
Make ROS 2 Jazzy and the workspace's Python packages ready on this machine.

Two kinds of prefix, both in a cache outside the checkout and shared by every clone:

- ``bare_ros``: on a machine without ROS 2. A venv with the build side (``ros-jazzy-*`` wheels),
  the Python packages and colcon; beside it the run side, out of the ``isaacsim-ros2`` wheel.
- ``overlay``: where an apt ROS 2 is found. A venv that sees the system's packages, for MuJoCo and
  the others that apt does not have.

Every download is pinned by version and SHA-256 (``requirements/*.lock``). A prefix is named after
what is in it, is built in place under a lock, and counts as ready only once its stamp is written,
so that a set-up killed half-way is found and done again. ``env.sh`` finds the prefix through the
link ``.prefix`` in the checkout.
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
from pathlib import Path
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile

from machine import check_compiler, check_disk, check_platform, check_python, run, SetupError
from steps import ParallelTask, size_mb, Steps
from wheel_repair import repair_cmake_paths, write_commands

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
LINK = '.prefix'
STAMP = 'complete.json'
DOWNLOADS = 'downloads'
RUNTIME_IN_WHEEL = 'isaacsim/exts/isaacsim.ros2.core/jazzy/'
RECIPE = 3  # raise it when these files make something else of the same locks


def cache_root():
    """Return the folder of all prefixes."""
    cache = os.environ.get('OOMWOO_CACHE')
    if cache:
        return Path(cache).expanduser().absolute()
    base = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    return Path(base).absolute() / 'oomwoo'


class Prefix:
    """One prefix: where it is, whether it is ready, and how it is made."""

    def __init__(self, kind, requirements, ros_root=None):
        self.kind = kind
        self.requirements = requirements
        self.ros_root = ros_root
        names = ['installer', 'sdist', 'overlay'] if kind == 'overlay' else [
            'installer', 'sdist', 'bare', 'runtime']
        self.locks = [requirements / f'{name}.lock' for name in names]
        self.path = cache_root() / f'{kind}-{self._key()}'
        self.venv = self.path / 'venv'
        self.python = self.venv / 'bin' / 'python'
        self.jazzy = self.path / 'jazzy'
        self.downloads = self.path / DOWNLOADS
        self.pip = []

    def _key(self):
        """Return a hash of everything that decides what is in the prefix."""
        digest = hashlib.sha256()
        for lock in self.locks:
            digest.update(lock.name.encode() + lock.read_bytes())
        for fact in (RECIPE, platform.python_version(), sysconfig.get_platform(),
                     self.ros_root or ''):
            digest.update(f'\0{fact}'.encode())
        return digest.hexdigest()[:12]

    def is_ready(self):
        """Tell whether the stamp is there and the interpreter still runs."""
        if not (self.path / STAMP).is_file():
            return False
        try:
            return subprocess.run([self.python, '-c', ''], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode == 0
        except OSError:
            return False

    @contextlib.contextmanager
    def locked(self):
        """Keep a second set-up of the same prefix waiting."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(f'{self.path}.lock', 'w') as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print('waiting for another set-up of the same prefix ...', flush=True)
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def make(self):
        """Build the prefix from nothing; what an earlier try downloaded is used again."""
        check_python()
        if self.kind == 'bare_ros':
            check_platform()
        check_compiler()
        check_disk(self.path.parent)
        if self.path.exists():
            print(f'repairing the half-finished {self.path}', flush=True)
        self._wipe()
        steps = Steps(5 if self.kind == 'bare_ros' else 3)
        with steps.step('virtual environment'):
            system = ['--system-site-packages'] if self.kind == 'overlay' else []
            run([sys.executable, '-m', 'venv', '--without-pip', *system, self.venv])
            self._find_pip()
        if self.kind == 'bare_ros':
            self._make_bare(steps)
        else:
            with steps.step('Python packages', self.path):
                self._install_packages('overlay')
        with steps.step('check'):
            self._smoke_test()
        size = size_mb(self.path)
        shutil.rmtree(self.downloads, ignore_errors=True)
        seconds = time.monotonic() - steps.started
        stamp = {'kind': self.kind, 'python': sys.executable, 'seconds': round(seconds, 1),
                 'megabytes': size, 'ros_root': self.ros_root}
        for lock in self.locks:
            shutil.copyfile(lock, self.path / lock.name)
        (self.path / (STAMP + '.tmp')).write_text(json.dumps(stamp, indent=1) + '\n')
        os.replace(self.path / (STAMP + '.tmp'), self.path / STAMP)
        print(f'ready in {seconds:.0f} s, {size} MB: {self.path}', flush=True)

    def _make_bare(self, steps):
        with ParallelTask(self._download_runtime) as download:
            with steps.step('Python packages and the build side of ROS 2', self.path):
                self._install_packages('bare')
            with steps.step('run side of ROS 2', self.path):
                download.result()
        with steps.step('paths and commands'):
            repair_cmake_paths(self.venv)
            write_commands(self.venv, self.jazzy, self.python)

    def _wipe(self):
        self.path.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            (self.path / STAMP).unlink()
        for entry in self.path.iterdir():
            if entry.name == DOWNLOADS:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        (self.downloads / 'tmp').mkdir(parents=True, exist_ok=True)

    def _lock(self, name):
        return self.requirements / f'{name}.lock'

    def _find_pip(self):
        """Take the base interpreter's pip, or unpack a new one into the venv (some seconds)."""
        self.pip = [sys.executable, '-m', 'pip', '--python', self.python]
        try:
            run([*self.pip, '--version'])
        except SetupError:
            run([self.python, '-m', 'ensurepip'])
            self.pip = [self.python, '-m', 'pip']

    def _pip(self, *arguments):
        environment = {**os.environ, 'TMPDIR': str(self.downloads / 'tmp'),
                       'PIP_DISABLE_PIP_VERSION_CHECK': '1', 'PIP_NO_INPUT': '1'}
        run([*self.pip, *arguments], environment)

    def _pip_install(self, name, *options):
        self._pip('install', '--quiet', '--no-deps', '--require-hashes', '--no-compile',
                  *options, '-r', self._lock(name))

    def _install_packages(self, name):
        source_only = ['--no-build-isolation', '--no-binary', ':all:']
        if os.environ.get('OOMWOO_INSTALLER', 'uv') == 'pip':
            self._pip_install(name, '--only-binary', ':all:')
            self._pip_install('sdist', *source_only)
            return
        self._pip_install('installer', '--only-binary', ':all:')
        environment = {**os.environ, **self._uv_settings()}
        for lock, options in ((name, ['--only-binary', ':all:']), ('sdist', source_only)):
            run([self.venv / 'bin' / 'uv', 'pip', 'install', '--quiet', '--no-config', '--no-deps',
                 '--require-hashes', '--python', self.python, *options, '-r', self._lock(lock)],
                environment)

    def _uv_settings(self):
        """Return uv's environment: its cache among the downloads, the index that pip would ask."""
        settings = {'UV_CACHE_DIR': str(self.downloads / 'uv'), 'UV_PYTHON_DOWNLOADS': 'never'}
        index = self._pip_setting('index-url')
        if index and 'UV_DEFAULT_INDEX' not in os.environ:
            settings['UV_DEFAULT_INDEX'] = index
        certificates = self._pip_setting('cert')
        if certificates and 'SSL_CERT_FILE' not in os.environ:
            settings['SSL_CERT_FILE'] = certificates
        return settings

    def _pip_setting(self, name):
        value = os.environ.get('PIP_' + name.upper().replace('-', '_'))
        if value:
            return value
        answer = subprocess.run([*self.pip, 'config', 'list'],
                                capture_output=True, text=True).stdout
        for line in answer.splitlines():
            key, _, quoted = line.partition('=')
            if key in (f'global.{name}', f'install.{name}'):
                return quoted.strip('\'"')
        return None

    def _download_runtime(self):
        self._pip('download', '--quiet', '--no-deps', '--require-hashes', '--only-binary', ':all:',
                  '-d', self.downloads, '-r', self._lock('runtime'))
        wheels = sorted(self.downloads.glob('*.whl'))
        with zipfile.ZipFile(wheels[-1]) as wheel:
            members = [name for name in wheel.namelist() if name.startswith(RUNTIME_IN_WHEEL)]
            if not members:
                raise SetupError(f'{wheels[-1].name} has no folder {RUNTIME_IN_WHEEL}.')
            wheel.extractall(self.downloads / 'unpacked', members)
        os.replace(self.downloads / 'unpacked' / RUNTIME_IN_WHEEL, self.jazzy)

    def _smoke_test(self):
        environment = dict(os.environ)
        modules = 'mujoco, mcap, scipy, yaml'
        if self.kind == 'bare_ros':
            modules += ', rclpy, launch_ros, tf2_ros, nav2_msgs.action, sensor_msgs.msg'
            libraries = [
                str(self.jazzy / 'lib'), *filter(None, [os.environ.get('LD_LIBRARY_PATH')])]
            environment.update(
                PYTHONPATH=str(self.jazzy / 'rclpy'), LD_LIBRARY_PATH=os.pathsep.join(libraries),
                AMENT_PREFIX_PATH=str(self.jazzy), RMW_IMPLEMENTATION='rmw_fastrtps_cpp')
        run([self.python, '-c', f'import {modules}'], environment)


def link_checkout(prefix, checkout):
    """Point the checkout's link at the prefix, in one step."""
    link = checkout / LINK
    if link.is_symlink() and os.readlink(link) == str(prefix.path):
        return
    scratch = Path(tempfile.mkdtemp(dir=checkout, prefix='.prefix-'))
    try:
        os.symlink(prefix.path, scratch / LINK)
        os.replace(scratch / LINK, link)
    finally:
        shutil.rmtree(scratch)


def main(arguments=None):
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--quiet', action='store_true', help='say nothing when all is ready')
    parser.add_argument('--print-prefix', action='store_true', help='only print where it belongs')
    parser.add_argument('--checkout', type=Path, default=CHECKOUT, help=argparse.SUPPRESS)
    parser.add_argument('--requirements', type=Path, default=HERE / 'requirements',
                        help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    ros_root = os.environ.get('OOMWOO_ROS_ROOT') or '/opt/ros/jazzy'
    has_ros = os.path.exists(os.path.join(ros_root, 'setup.sh'))
    prefix = Prefix('overlay' if has_ros else 'bare_ros', options.requirements,
                    ros_root if has_ros else None)
    if options.print_prefix:
        print(prefix.path)
        return 0
    try:
        with prefix.locked():
            if not prefix.is_ready():
                prefix.make()
            elif not options.quiet:
                print(f'ready: {prefix.path}')
        link_checkout(prefix, options.checkout)
    except SetupError as error:
        print(f'setup: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('setup: interrupted; run it again to go on', file=sys.stderr)
        return 130
    except OSError as error:
        print(f'setup: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
