"""What the workspace's tools share: where it is, which packages it has, and a lock."""

import contextlib
import fcntl
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / 'build'
INSTALL = ROOT / 'install'
LOG = ROOT / 'log'


def packages():
    """Return ``{name: folder}`` of the packages in the checkout, each a folder at its top."""
    return {path.parent.name: path.parent for path in sorted(ROOT.glob('*/package.xml'))}


@contextlib.contextmanager
def locked(name):
    """Keep a second command of the same kind waiting for the first."""
    BUILD.mkdir(exist_ok=True)
    # colcon must not look for packages among its own results.
    (BUILD / 'COLCON_IGNORE').touch()
    with open(BUILD / f'.{name}.lock', 'w') as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f'waiting for another {name} in this checkout ...', flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def colcon_environment():
    """Return the environment of a colcon command: quiet about what the workspace cannot change."""
    environment = dict(os.environ)
    # setuptools announces in every package that develop installs will go some day.
    environment['PYTHONWARNINGS'] = 'ignore'
    environment['COLCON_LOG_PATH'] = str(LOG)
    return environment
