"""What the wheels of ROS 2 lack where they are installed: right paths, and commands."""

import configparser
import sysconfig

# The machine that the ros-jazzy-* wheels were built on, as it stands in their CMake files.
WHEEL_INCLUDE = '/opt/python/cp312-cp312/include/python3.12'
WHEEL_PACKAGES = '/opt/python/cp312-cp312/lib/python3.12/site-packages'

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


def repair_cmake_paths(venv):
    """Put this interpreter's folders where the wheels name their build machine's."""
    include = sysconfig.get_paths()['include']
    packages = venv / 'lib' / 'python3.12' / 'site-packages'
    for path in (venv / 'share').rglob('*.cmake'):
        text = path.read_text()
        fixed = text.replace(WHEEL_INCLUDE, include).replace(WHEEL_PACKAGES, str(packages))
        if fixed != text:
            # The file may be a hard link into the installer's cache.
            path.unlink()
            path.write_text(fixed)


def write_commands(venv, jazzy, python):
    """Write the run side's console scripts (ros2, launch_test, ...): its tree has none."""
    wanted = ('ros2cli', 'launch_testing', 'generate_parameter_library_py', 'ament_')
    commands = {}
    for entry_points in sorted((jazzy / 'rclpy').glob('*.egg-info/entry_points.txt')):
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
    commands['colcon'] = COLCON_COMMAND.format(venv=str(venv), jazzy=str(jazzy))
    for name, source in commands.items():
        script = venv / 'bin' / name
        # The installer may have hard-linked its own into its cache.
        script.unlink(missing_ok=True)
        script.write_text(shebang(python) + source)
        script.chmod(0o755)
    for folder in (venv, jazzy):
        # colcon warns about a prefix without one; these need nothing set up.
        (folder / 'local_setup.sh').touch()


def shebang(python):
    """Return the first line(s) of a script run by ``python``, whose path may hold a space."""
    if ' ' in str(python) or len(str(python)) > 120:
        return f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"
    return f'#!{python}\n'
