"""What this machine can do, and what goes wrong on it, in words for the person at the terminal."""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig

GLIBC_NEEDED = (2, 35)
MIN_FREE_MB = 2000


class SetupError(Exception):
    """What is wrong and what to do about it, for the person at the terminal."""


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
