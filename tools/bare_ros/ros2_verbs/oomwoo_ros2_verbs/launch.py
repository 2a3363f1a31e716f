"""``ros2 launch``: start the nodes of a launch file."""

import contextlib
import os
from pathlib import Path
import signal
import sys
import threading
import time

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError
import launch
from launch.actions import IncludeLaunchDescription, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnShutdown
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch.launch_introspector import LaunchIntrospector
from launch.utilities import perform_substitutions
import psutil
from ros2cli.command import CommandExtension

LAUNCH_SUFFIXES = ('.launch.py', '.launch.xml', '.launch.yaml', '.launch.yml', 'launch.py')


class LaunchError(Exception):
    """What is wrong with the command line."""


def launch_files(folder):
    """Return the launch files below ``folder``, in order."""
    return sorted(path for path in Path(folder).rglob('*')
                  if path.name.endswith(LAUNCH_SUFFIXES) and path.is_file())


def find_in_package(package, name):
    """Return the path of one launch file of a package, wherever its share folder has it."""
    try:
        share = get_package_share_directory(package)
    except (PackageNotFoundError, ValueError):
        raise LaunchError(
            f"no package '{package}' found: is its name right, and is the workspace built and "
            'env.sh sourced after that?') from None
    found = sorted(path for path in Path(share).rglob(name) if path.is_file())
    if len(found) == 1:
        return found[0]
    if found:
        raise LaunchError(f"package '{package}' has {len(found)} files '{name}': "
                          f'{", ".join(map(str, found))}; give the path of one')
    others = ', '.join(sorted({path.name for path in launch_files(share)})) or 'none'
    raise LaunchError(f"package '{package}' has no launch file '{name}' (it has: {others})")


def parse_arguments(words):
    """Turn ``name:=value`` words into pairs; the last of a name wins."""
    pairs = {}
    for word in words:
        name, separator, value = word.partition(':=')
        if not separator or not name:
            raise LaunchError(f"launch argument '{word}' is not of the form name:=value")
        pairs[name] = value
    return list(pairs.items())


def resolve(words):
    """Return the launch file and the ``name:=value`` words of the command line's positionals."""
    first, rest = words[0], words[1:]
    if os.path.isfile(first):
        return Path(first).absolute(), rest
    if os.sep in first or first.endswith(LAUNCH_SUFFIXES):
        raise LaunchError(f"no launch file '{first}'")
    if not rest or ':=' in rest[0]:
        raise LaunchError(f"'{first}' is no file; to launch from a package give: "
                          f'{first} FILE.launch.py [name:=value ...]')
    return find_in_package(first, rest[0]), rest[1:]


def text_of(substitutions, context):
    """Return what the substitutions of a default come to, or how they read if they need a run."""
    try:
        return perform_substitutions(context, substitutions)
    except Exception:
        return ' + '.join(part.describe() for part in substitutions)


def format_arguments(description):
    """Describe the arguments that a launch description declares."""
    arguments = description.get_launch_arguments()
    if not arguments:
        return 'No arguments.'
    context = launch.LaunchContext()
    lines = ['Arguments (pass as name:=value):']
    for argument in arguments:
        default = 'required'
        if argument.default_value is not None:
            default = f'default: {text_of(argument.default_value, context)!r}'
        lines += ['', f"    '{argument.name}': {argument.description}  ({default})"]
    return '\n'.join(lines)


def end_processes(patience_s=5.0):
    """End what still runs below this process: launch leaves everything behind on a SIGTERM."""
    left = psutil.Process().children(recursive=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        _, left = psutil.wait_procs(left, timeout=patience_s)


def end_when_nothing_is_left(patience_s=10.0):
    """
    End this process once no child has been there for ``patience_s``.

    For a launch that is shutting down: interrupted while it starts its processes, launch may wait
    for ever for a process that it has not started.
    """
    def watch():
        seen_s = time.monotonic()
        while time.monotonic() - seen_s < patience_s:
            time.sleep(0.5)
            if psutil.Process().children(recursive=True):
                seen_s = time.monotonic()
        print('ros2 launch: every process has ended; ends without waiting for more',
              file=sys.stderr, flush=True)
        os._exit(1)
    threading.Thread(target=watch, daemon=True).start()


class LaunchCommand(CommandExtension):
    """Start the nodes of a launch file."""

    def add_arguments(self, parser, cli_name):
        """Declare the command line."""
        parser.add_argument('words', nargs='+', metavar='PACKAGE FILE | PATH  [name:=value ...]',
                            help='the launch file, and values for its arguments')
        parser.add_argument('-n', '--noninteractive', action='store_true',
                            help='run as if no terminal were there')
        parser.add_argument('-d', '--debug', action='store_true', help='show what launch does')
        parser.add_argument('-a', '--show-all-subprocesses-output', action='store_true',
                            help='show the output of every process here, whatever the file says')
        group = parser.add_mutually_exclusive_group()
        group.add_argument('-p', '--print', '--print-description', dest='print_description',
                           action='store_true', help='only print what would be launched')
        group.add_argument('-s', '--show-args', '--show-arguments', dest='show_arguments',
                           action='store_true', help='only print the arguments of the file')

    def main(self, *, parser, args):
        """Run the command; return its exit status."""
        try:
            path, words = resolve(args.words)
            pairs = parse_arguments(words)
        except LaunchError as error:
            print(f'ros2 launch: {error}', file=sys.stderr)
            return 2
        if args.show_arguments or args.print_description:
            return self._show(path, args.show_arguments)
        if args.show_all_subprocesses_output:
            os.environ['OVERRIDE_LAUNCH_PROCESS_OUTPUT'] = 'both'
        service = launch.LaunchService(
            argv=[f'{name}:={value}' for name, value in pairs], debug=args.debug,
            noninteractive=args.noninteractive or not sys.stdin.isatty())
        service.include_launch_description(launch.LaunchDescription([
            RegisterEventHandler(OnShutdown(on_shutdown=[
                OpaqueFunction(function=lambda context: end_when_nothing_is_left())])),
            IncludeLaunchDescription(AnyLaunchDescriptionSource(str(path)),
                                     launch_arguments=pairs)]))
        # launch handles the signal only where Python has a handler for it, and else dies at once.
        signal.signal(signal.SIGTERM, lambda number, frame: None)
        try:
            return service.run()
        finally:
            end_processes()

    @staticmethod
    def _show(path, arguments_only):
        source = AnyLaunchDescriptionSource(str(path))
        try:
            description = source.get_launch_description(launch.LaunchContext())
            print(format_arguments(description) if arguments_only
                  else LaunchIntrospector().format_launch_description(description))
        except Exception as error:
            print(f'ros2 launch: {path}: {type(error).__name__}: {error}', file=sys.stderr)
            return 1
        return 0
