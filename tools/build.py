#!/usr/bin/env python3
"""
Build the packages that changed since their last build, with colcon.

Python packages are installed as links (``--symlink-install``), so an edit of a module needs no
build; a new file, or a change of what is no module (``package.xml``, ``setup.py``, interfaces,
data), does.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time

from workspace import BUILD, colcon_environment, INSTALL, locked, packages, ROOT

IGNORED_FOLDERS = {'__pycache__', '.pytest_cache', '.hypothesis', '.ruff_cache', 'test'}


def fingerprint(folder):
    """Return a hash of everything that a build of the package in ``folder`` depends on."""
    # A moved checkout, or another prefix, makes the paths in earlier results wrong.
    digest = hashlib.sha256(f'{folder}\0{sys.prefix}\0{os.environ.get("ROS_DISTRO")}'.encode())
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders
                            if name not in IGNORED_FOLDERS and not name.endswith('.egg-info'))
        for name in sorted(names):
            if name.endswith('.pyc'):
                continue
            path = os.path.join(root, name)
            digest.update(f'\0{os.path.relpath(path, folder)}\0'.encode())
            if not name.endswith('.py') or name == 'setup.py':
                try:
                    with open(path, 'rb') as handle:
                        digest.update(handle.read())
                except FileNotFoundError:
                    pass  # an editor's scratch file, gone meanwhile
    return digest.hexdigest()


def key_file(name):
    """Return where the fingerprint of a package's last good build is kept."""
    return BUILD / name / '.fingerprint'


def is_built(name, key):
    """Tell whether the package was built from what is there now, and is still installed."""
    try:
        same = key_file(name).read_text() == key
    except OSError:
        return False
    return same and (INSTALL / 'share' / name / 'package.xml').exists()


def forget_moved(name, folder):
    """Remove a package's results that were made at another place or with another Python."""
    mark = BUILD / name / '.made-for'
    place = f'{folder}\n{sys.prefix}\n'
    if mark.exists() and mark.read_text() != place:
        shutil.rmtree(BUILD / name)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(place)


def remove_dangling_links():
    """Remove installed links to files that are gone from the checkout."""
    for root, _, names in os.walk(INSTALL):
        for name in names:
            path = os.path.join(root, name)
            if os.path.islink(path) and not os.path.exists(path):
                os.unlink(path)


def build(names, force=False):
    """Build the named packages, or all; return colcon's exit status."""
    wanted = {name: folder for name, folder in packages().items() if not names or name in names}
    keys = {name: fingerprint(folder) for name, folder in wanted.items()}
    stale = [name for name in wanted if force or not is_built(name, keys[name])]
    if not stale:
        print(f'build: {len(wanted)} packages up to date')
        return 0
    if shutil.which('colcon') is None:
        print('build: no colcon on PATH: source env.sh first, or use tools/run', file=sys.stderr)
        return 1
    print(f'build: {" ".join(stale)}', flush=True)
    begin = time.monotonic()
    for name in stale:
        forget_moved(name, wanted[name])
        key_file(name).unlink(missing_ok=True)
    if INSTALL.exists():
        remove_dangling_links()
    status = subprocess.run(
        ['colcon', '--log-level', 'error', 'build', '--merge-install', '--symlink-install',
         '--executor', 'parallel', '--parallel-workers', str(os.cpu_count() or 2),
         '--base-paths', *(str(folder) for folder in packages().values()),
         '--event-handlers', 'status-', 'summary-',
         '--packages-select', *stale],
        cwd=ROOT, env=colcon_environment(), stdin=subprocess.DEVNULL).returncode
    for name in stale:
        if status == 0:
            key_file(name).write_text(keys[name])
    print(f'build: {"done" if status == 0 else "FAILED"} in {time.monotonic() - begin:.0f} s')
    return status


def main():
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description='Build the packages that changed, with colcon.')
    parser.add_argument('packages', nargs='*', help='only these (default: all)')
    parser.add_argument('--force', action='store_true', help='build what has not changed as well')
    arguments = parser.parse_args()
    unknown = set(arguments.packages) - set(packages())
    if unknown:
        parser.error(f'no such package: {" ".join(sorted(unknown))}')
    with locked('build'):
        return build(arguments.packages, arguments.force)


if __name__ == '__main__':
    sys.exit(main())
