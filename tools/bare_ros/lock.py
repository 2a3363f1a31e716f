#!/usr/bin/env python3
"""
Pin the Python packages of the workspace by version and hash.

Reads ``requirements/NAME.in`` and writes ``requirements/NAME.lock``, one line per package and one
hash per platform, as ``pip install --require-hashes`` reads them. Run it with CPython 3.12 after
changing an ``.in`` file, or to take newer versions::

    python3.12 tools/bare_ros/lock.py [NAME ...]

uv finds the versions (``pip install uv`` if it is not there), pip names the file of each platform.
Only the public index is asked: the machine's own pip configuration is left out, so that the
hashes are everyone's.
"""

import argparse
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile

REQUIREMENTS = Path(__file__).resolve().parent / 'requirements'
PLATFORMS = {
    # The run side is built for glibc 2.35; an apt ROS 2 Jazzy has 2.39.
    'x86_64': [f'manylinux_2_{minor}_x86_64' for minor in range(35, 4, -1)]
    + ['manylinux2014_x86_64', 'manylinux2010_x86_64', 'manylinux1_x86_64', 'linux_x86_64'],
    'aarch64': [f'manylinux_2_{minor}_aarch64' for minor in range(35, 16, -1)]
    + ['manylinux2014_aarch64', 'linux_aarch64'],
}
# The bare prefix is x86_64 only, because the build side has wheels for no other machine.
LOCKS = {
    'installer': {'machines': ['x86_64', 'aarch64']},
    'runtime': {'machines': ['x86_64'], 'no_deps': True},
    'sdist': {'machines': [None], 'no_deps': True},
    'bare': {'machines': ['x86_64']},
    'overlay': {'machines': ['x86_64', 'aarch64']},
}


def clean_environment():
    """Return this environment without the machine's own package index settings."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(('PIP_', 'UV_')) or key == 'PIP_CERT'}
    environment['PIP_CONFIG_FILE'] = os.devnull
    return environment


def resolve_versions(source, machine, target):
    """Write the exact version of every package that ``source`` needs to ``target``."""
    subprocess.run(
        [sys.executable, '-m', 'uv', 'pip', 'compile', '--quiet', '--no-config', '--no-header',
         '--no-annotate', '--upgrade', '--python-version', '3.12',
         '--python-platform', f'{machine}-manylinux_2_35', str(source), '-o', str(target)],
        check=True, env=clean_environment(), stdout=subprocess.DEVNULL)
    lines = target.read_text().splitlines(keepends=True)
    target.write_text(''.join(
        line for line in lines if line.split('==')[0] not in source_only_packages()))


def source_only_packages():
    """Return the names in ``sdist.in``: published without wheels, so locked on their own."""
    lines = (REQUIREMENTS / 'sdist.in').read_text().splitlines()
    return {line.split('==')[0].strip() for line in lines if line and not line.startswith('#')}


def resolve(name, machine, no_deps):
    """Return ``{package: (version, sha256)}`` of what pip would install on that machine."""
    with tempfile.TemporaryDirectory() as scratch:
        source = REQUIREMENTS / f'{name}.in'
        if not no_deps:
            pins = Path(scratch) / 'pins.txt'
            resolve_versions(source, machine, pins)
            source = pins
        report = Path(scratch) / 'report.json'
        command = [
            sys.executable, '-m', 'pip', '--isolated', 'install', '--quiet', '--dry-run',
            '--ignore-installed', '--disable-pip-version-check', '--report', str(report),
            '--no-deps', '-r', str(source),
        ]
        if machine is None:
            command += ['--no-binary', ':all:']
        else:
            command += ['--only-binary', ':all:', '--target', str(Path(scratch) / 'target')]
            for platform in PLATFORMS[machine]:
                command += ['--platform', platform]
        subprocess.run(command, check=True, env=clean_environment())
        found = {}
        for item in json.loads(report.read_text())['install']:
            metadata = item['metadata']
            package = metadata['name'].lower().replace('_', '-').replace('.', '-')
            digest = item['download_info']['archive_info']['hashes']['sha256']
            found[package] = (metadata['version'], digest)
        return found


def lock(name):
    """Write the lock of one ``.in`` file."""
    settings = LOCKS[name]
    merged = {}
    for machine in settings['machines']:
        found = resolve(name, machine, settings.get('no_deps', False))
        for package, (version, digest) in found.items():
            versions, digests = merged.setdefault(package, (set(), []))
            versions.add(version)
            if digest not in digests:
                digests.append(digest)
    lines = [f'# Written by tools/bare_ros/lock.py from {name}.in: do not edit.']
    for package, (versions, digests) in sorted(merged.items()):
        if len(versions) > 1:
            raise SystemExit(
                f'{name}: {package} resolves to {" and ".join(sorted(versions))} on different '
                f'machines; pin one of them in {name}.in')
        hashes = ''.join(f' \\\n    --hash=sha256:{digest}' for digest in digests)
        lines.append(f'{package}=={versions.pop()}{hashes}')
    target = REQUIREMENTS / f'{name}.lock'
    target.write_text('\n'.join(lines) + '\n')
    print(f'{target.name}: {len(merged)} packages')


def main():
    """Write the locks named on the command line, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('names', nargs='*', metavar='NAME', help=f'one of {", ".join(LOCKS)}')
    arguments = parser.parse_args()
    if sys.version_info[:2] != (3, 12):
        parser.error('the packages are pinned for CPython 3.12: run this with it')
    for name in arguments.names or LOCKS:
        if name not in LOCKS:
            parser.error(f'no such lock: {name} (there are {", ".join(LOCKS)})')
        lock(name)


if __name__ == '__main__':
    main()
