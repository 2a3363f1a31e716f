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
import configparser
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
import threading
import time
import zipfile

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
LINK = '.prefix'
STAMP = 'complete.json'
DOWNLOADS = 'downloads'
RUNTIME_IN_WHEEL = 'isaacsim/exts/isaacsim.ros2.core/jazzy/'
# The machine that the ros-jazzy-* wheels were built on, as it stands in their CMake files.
WHEEL_INCLUDE = '/opt/python/cp312-cp312/include/python3.12'
WHEEL_PACKAGES = '/opt/python/cp312-cp312/lib/python3.12/site-packages'
GLIBC_NEEDED = (2, 35)
MIN_FREE_MB = 2000
RECIPE = 3  # raise it when this file makes something else of the same locks


# colcon builds against the build side, whose CMake configuration is in the venv. The run side's
# index names generators that it lacks, so a build must not see it; its Python modules come last.
COLCON_COMMAND = """\
import os
import sys

VENV = {venv!r}
JAZZY = {jazzy!r}


def without(variable, *dropped):
    return [path for path in os.environ.get(variable, '').split(os.pathsep)
            if path and path not in dropped]


if 'build' in sys.argv:
    os.environ['AMENT_PREFIX_PATH'] = os.pathsep.join(without('AMENT_PREFIX_PATH', JAZZY) + [VENV])
    os.environ['CMAKE_PREFIX_PATH'] = os.pathsep.join(without('CMAKE_PREFIX_PATH', VENV) + [VENV])
    run_side = os.path.join(JAZZY, 'rclpy')
    packages = os.path.join(VENV, 'lib', 'python3.12', 'site-packages')
    os.environ['PYTHONPATH'] = os.pathsep.join(
        without('PYTHONPATH', run_side, packages) + [packages, run_side])

from colcon_core.command import main  # noqa: E402

sys.exit(main())
"""


class SetupError(Exception):
    """What is wrong and what to do about it, for the person at the terminal."""


# --- what this machine can do ------------------------------------------------------------------


def check_platform():
    """Refuse a machine that the pinned binaries do not run on."""
    system, machine = platform.system(), platform.machine()
    if system != 'Linux' or machine != 'x86_64':
        raise SetupError(
            f'the bare ROS 2 has binaries for Linux x86_64 only, and this is {system} {machine}. '
            'Install ROS 2 Jazzy with apt (it is used when /opt/ros/jazzy exists), or use the '
            'container under docker/.')
    name, version = platform.libc_ver()
    found = tuple(int(part) for part in version.split('.')[:2] if part.isdigit())
    if name != 'glibc' or found < GLIBC_NEEDED:
        raise SetupError(
            f'the bare ROS 2 needs glibc {GLIBC_NEEDED[0]}.{GLIBC_NEEDED[1]} or newer (Ubuntu '
            f'22.04, Debian 12), and this machine has {name or "another C library"} {version}. '
            'Use a newer distribution or the container under docker/.')


def check_python():
    """Refuse an interpreter that cannot make a venv."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f'{sys.executable} has no module {error.name}. Install it (apt install '
            'python3.12-venv), or name another Python 3.12 with OOMWOO_PYTHON.') from error


def check_compiler():
    """Refuse a machine that cannot build the interface package."""
    for tool in ('make', 'cc', 'c++'):
        if not shutil.which(tool):
            raise SetupError(
                f'no {tool} on PATH; the message package is compiled with make, a C and a C++ '
                'compiler. Install them (apt install build-essential) and run this again.')
    include = sysconfig.get_paths()['include']
    if not os.path.exists(os.path.join(include, 'Python.h')):
        raise SetupError(
            f'{sys.executable} has no headers ({include}/Python.h is missing), and the message '
            'package is compiled against them. Install them (apt install python3.12-dev), or name '
            'another Python 3.12 with OOMWOO_PYTHON.')


def check_disk(folder):
    """Refuse to start what would fill the disk."""
    needed_mb = int(os.environ.get('OOMWOO_MIN_FREE_MB') or MIN_FREE_MB)
    free_mb = shutil.disk_usage(folder).free // 2**20
    if free_mb < needed_mb:
        raise SetupError(
            f'{free_mb} MB free in {folder}, and the set-up needs {needed_mb} MB. Make room, or '
            'put the cache on another disk with OOMWOO_CACHE=/path.')


# --- progress ----------------------------------------------------------------------------------


class Steps:
    """Numbered steps with their seconds and megabytes; a heartbeat while one takes long."""

    def __init__(self, total):
        self.total = total
        self.number = 0
        self.started = time.monotonic()

    @contextlib.contextmanager
    def step(self, title, folder=None):
        """Report one step; ``folder`` is measured while it grows."""
        self.number += 1
        head = f'[{self.number}/{self.total}] {title}'
        print(f'{head} ...', flush=True)
        begin = time.monotonic()
        done = threading.Event()

        def beat():
            while not done.wait(5.0):
                print(f'{head} ... {self._figures(begin, folder)}', flush=True)

        threading.Thread(target=beat, daemon=True).start()
        try:
            yield
        finally:
            done.set()
        print(f'{head}: {self._figures(begin, folder)}', flush=True)

    @staticmethod
    def _figures(begin, folder):
        text = f'{time.monotonic() - begin:.0f} s'
        return text + (f', {size_mb(folder)} MB' if folder else '')


def size_mb(folder):
    """Return the megabytes of the files below ``folder``, linked ones once."""
    seen = {}
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(root, name))
                seen[status.st_ino] = status.st_size
    return sum(seen.values()) // 2**20


# --- the prefix --------------------------------------------------------------------------------


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
            self._repair_cmake_paths()
            self._write_commands()

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

    def _repair_cmake_paths(self):
        """Put this interpreter's folders where the wheels name their build machine's."""
        include = sysconfig.get_paths()['include']
        packages = self.venv / 'lib' / 'python3.12' / 'site-packages'
        for path in (self.venv / 'share').rglob('*.cmake'):
            text = path.read_text()
            fixed = text.replace(WHEEL_INCLUDE, include).replace(WHEEL_PACKAGES, str(packages))
            if fixed != text:
                # The file may be a hard link into the installer's cache.
                path.unlink()
                path.write_text(fixed)

    def _write_commands(self):
        """Write the run side's console scripts (ros2, launch_test, ...): its tree has none."""
        wanted = ('ros2cli', 'launch_testing', 'generate_parameter_library_py', 'ament_')
        commands = {}
        for entry_points in sorted((self.jazzy / 'rclpy').glob('*.egg-info/entry_points.txt')):
            if not entry_points.parent.name.startswith(wanted):
                continue
            parser = configparser.ConfigParser(delimiters=('=',))
            parser.optionxform = str
            parser.read(entry_points)
            if parser.has_section('console_scripts'):
                for name, target in parser['console_scripts'].items():
                    module, function = target.split(':')
                    commands[name] = (f'import sys\n\nfrom {module} import {function}\n\n'
                                      f'sys.exit({function}())\n')
        commands['colcon'] = COLCON_COMMAND.format(venv=str(self.venv), jazzy=str(self.jazzy))
        for name, source in commands.items():
            script = self.venv / 'bin' / name
            # The installer may have hard-linked its own into its cache.
            script.unlink(missing_ok=True)
            script.write_text(shebang(self.python) + source)
            script.chmod(0o755)
        for folder in (self.venv, self.jazzy):
            # colcon warns about a prefix without one; these need nothing set up.
            (folder / 'local_setup.sh').touch()

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


def shebang(python):
    """Return the first line(s) of a script run by ``python``, whose path may hold a space."""
    if ' ' in str(python) or len(str(python)) > 120:
        return f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"
    return f'#!{python}\n'


class ParallelTask:
    """A function on a thread; ``result`` raises what it raised; the block waits for its end."""

    def __init__(self, function):
        self._function = function
        self._error = None
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            self._function()
        except BaseException as error:
            self._error = error

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._thread.join()

    def result(self):
        """Wait for the end."""
        self._thread.join()
        if self._error:
            raise self._error


def run(command, environment=None):
    """Run a command quietly; raise a ``SetupError`` that tells its failure in plain words."""
    command = [str(part) for part in command]
    result = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        raise SetupError(explain(result.stdout, command))


def explain(output, command):
    """Turn the output of a failed command into what is wrong and what to do."""
    low = output.lower()
    tail = '\n'.join('  ' + line for line in output.strip().splitlines()[-8:])
    if 'hash' in low and ('mismatch' in low or 'do not match' in low):
        advice = ('a download does not have the pinned hash, and is not used. A proxy or mirror '
                  'may change files; if the package was published anew, run '
                  'tools/bare_ros/lock.py.')
    elif 'no space left' in low:
        advice = 'the disk is full. Make room, or put the cache elsewhere with OOMWOO_CACHE=/path.'
    elif any(sign in low for sign in (
            'connection', 'resolve', 'timed out', 'network', 'no matching distribution',
            'error sending request', 'failed to fetch', 'proxy', 'dns')):
        advice = ('the package index cannot be reached. Check the network, and the settings '
                  'of pip if you use a mirror, then run this again.')
    else:
        advice = 'a step failed: ' + ' '.join(command[:6])
    return f'{advice}\n{tail}'


# --- command line ------------------------------------------------------------------------------


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
