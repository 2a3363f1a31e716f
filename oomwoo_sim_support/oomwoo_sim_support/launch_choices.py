"""
What a launch file decides: ``auto`` arguments, what is installed, files by name.

A launch file lists its arguments as ``(name, default, description)``, those that others have, too,
from :mod:`.launch_arguments`, and starts things in one function of the context:
``generate_launch_description`` returns ``described(ARGUMENTS, _start)``, and ``_start`` begins
with ``given(ARGUMENTS, context)``.
"""
from pathlib import Path
from tempfile import NamedTemporaryFile

from ament_index_python.packages import (
    get_package_prefix,
    get_package_share_directory,
    PackageNotFoundError,
)
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    ResetLaunchConfigurations,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
import yaml

ELSEWHERE = 'elsewhere'     # what another launch file starts
_GATHERED = 'nodes_of_one_process'


class LaunchError(RuntimeError):
    """A launch argument that cannot be had; the message names it and what would help."""


def described(arguments, start):
    """
    Return the launch description that declares ``arguments`` and then runs ``start(context)``.

    ``arguments`` is a sequence of (name, default, description), ``start`` returns actions.
    """
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=text)
          for name, default, text in arguments),
        OpaqueFunction(function=start)])


def given(arguments, context):
    """Return the values of ``arguments``, stripped strings by name."""
    return {name: LaunchConfiguration(name).perform(context).strip() for name, _, _ in arguments}


def include(package, file, arguments):
    """
    Return the action that includes a launch file of a package with ``arguments``, a dict.

    It is given these and no others: launch would hand down what has the same name in this file,
    and leave behind its defaults for the next one that is included.
    """
    path = Path(get_package_share_directory(package)) / 'launch' / file
    return GroupAction([
        ResetLaunchConfigurations(),          # forwarding=False would reset the environment, too
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(path)), launch_arguments=arguments.items())])


class SuiteProcess(Node):
    """A node of the suite; ``words`` are what it was made from."""

    def __init__(self, **words):
        """Take what :class:`launch_ros.actions.Node` takes; the name is the executable's."""
        self.words = {'name': words['executable'], 'output': 'screen', **words}
        self.comes_back = words.get('respawn', False)
        super().__init__(**self.words)

    def execute(self, context):
        """Start it in a process of its own, unless :func:`together` gathers."""
        gathered = context.get_locals_as_dict().get(_GATHERED)
        if gathered is None:
            return super().execute(context)
        gathered.append(self)
        return None


class OneProcess(Node):
    """
    The one process that runs several nodes of the suite.

    They share their namespace and remappings, and keep their parameters: sections of one file. It
    is started again after its end when each of them would be.
    """

    def __init__(self, nodes):
        """Take a list of :class:`SuiteProcess`."""
        self.nodes = nodes
        self.comes_back = all(node.comes_back for node in nodes)
        sections, files, remappings = {}, [], []
        namespace = nodes[0].words.get('namespace', '').strip('/')
        for node in nodes:
            words = node.words
            own = sections.setdefault('/' + f'{namespace}/{words["name"]}'.lstrip('/'), {})
            for entry in words.get('parameters', ()):
                if isinstance(entry, dict):
                    own.update(entry)
                elif entry not in files:
                    files.append(entry)
            remappings += [rule for rule in words.get('remappings', ()) if rule not in remappings]
        own = written_parameters(
            {name: {'ros__parameters': values} for name, values in sections.items() if values})
        super().__init__(
            package='oomwoo_localization', executable='compose', output='screen',
            namespace=namespace, parameters=[own, *files], remappings=remappings,
            arguments=[f'{n.words["package"]}/{n.words["executable"]}' for n in nodes],
            respawn=self.comes_back, respawn_delay=nodes[0].words.get('respawn_delay'))


def runs(node):
    """Return what tells whether an action is the process of ``node``, a :class:`SuiteProcess`."""
    return lambda action: action is node or node in getattr(action, 'nodes', ())


def together(actions):
    """
    Return the actions, with all nodes of the suite in one process, which is started last.

    It holds those among the actions and those of launch files that they include.
    """
    gathered = []

    def gather(context):
        context.extend_globals({_GATHERED: gathered})

    def start(context):
        context.extend_globals({_GATHERED: None})
        return [OneProcess(gathered)] if gathered else []

    return [OpaqueFunction(function=gather), *actions, OpaqueFunction(function=start)]


def written_parameters(content):
    """Return the path of a parameter file with ``content``, a dict."""
    with NamedTemporaryFile(
            'w', prefix='oomwoo_params_', suffix='.yaml', delete=False, encoding='utf-8') as file:
        yaml.safe_dump(content, file)
    return file.name


def installed(package):
    """Return whether a ROS package is installed here."""
    try:
        get_package_prefix(package)
    except (PackageNotFoundError, ValueError):
        return False
    return True


def choose(argument, asked, ways):
    """
    Settle an argument that may be ``auto``.

    ``ways`` maps each value to the packages that it takes, the fullest first; ``auto`` is the
    first whose packages are all installed. Returns ``(value, line)`` with the one line for the
    log. Raises :class:`LaunchError` for a value that is unknown or not to be had here.
    """
    missing = {
        value: [p for p in packages if not installed(p)] for value, packages in ways.items()}
    if asked == 'auto':
        passed = []
        for value, lacking in missing.items():
            if not lacking:
                why = f'auto; {", ".join(passed)}' if passed else 'auto'
                return value, f'{argument}: {value} ({why})'
            others = f' and {len(lacking) - 1} more' if len(lacking) > 1 else ''
            passed.append(f'for {value}, {lacking[0]}{others} would have to be installed')
        raise LaunchError(f'{argument}:=auto: nothing to take: {", ".join(passed)}')
    if asked not in ways:
        raise LaunchError(f'{argument}:={asked}: is none of auto, {", ".join(ways)}')
    if missing[asked]:
        raise LaunchError(f'{argument}:={asked}: not installed: {" ".join(missing[asked])}')
    return asked, f'{argument}: {asked}'


def is_true(argument, value):
    """Return a launch argument as a bool; raises :class:`LaunchError` when it is none."""
    word = value.strip().lower()
    if word not in ('true', 'false'):
        raise LaunchError(f'{argument}:={value}: is neither true nor false')
    return word == 'true'


def number(argument, value):
    """Return a launch argument as a float; raises :class:`LaunchError` when it is none."""
    try:
        return float(value)
    except ValueError:
        raise LaunchError(f'{argument}:={value}: is not a number') from None


def find_file(argument, value, package, folder, suffix):
    """
    Return the path of a file given as a path, or as a name in ``folder`` of the package's share.

    A name may go without its ``suffix`` (``.yaml``). Raises :class:`LaunchError` naming what there
    is.
    """
    if Path(value).is_file():
        return str(Path(value).resolve())
    shared = Path(get_package_share_directory(package)) / folder
    for name in (value, value + suffix):
        if value and (shared / name).is_file():
            return str(shared / name)
    names = ', '.join(sorted(p.name for p in shared.glob(f'*{suffix}'))) or 'none'
    raise LaunchError(f'{argument}:={value}: no such file; {package} has {names}')


def find_packaged(argument, value, package, folder, suffix):
    """
    Return ``(path, lines for the log)`` of a file, as :func:`find_file` does.

    A path that is not there is looked for by its name in the package, so that a command written
    for another machine works on this one; the line says so.
    """
    if '/' in value and not Path(value).is_file():
        packaged = Path(get_package_share_directory(package)) / folder / Path(value).name
        if packaged.is_file():
            return str(packaged), [f'{argument}: {value} is not there; takes {packaged}']
    return find_file(argument, value, package, folder, suffix), []
