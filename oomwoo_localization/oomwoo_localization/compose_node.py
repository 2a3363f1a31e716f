"""
Several nodes of the suite in one process.

    ros2 run oomwoo_localization compose PACKAGE/EXECUTABLE [...] --ros-args ...

Most of what a small node costs is waking up for a message and taking it in; in one process, nodes
that hear the same topics share that. Parameters, remappings and the namespace are those of all; a
parameter file tells the nodes apart by their names. The first node that is done ends the process.
"""
import argparse
from importlib import import_module
from importlib.metadata import entry_points
import inspect
import sys

from oomwoo_localization.process_ros_support import run_nodes
from oomwoo_localization.ros_support import SuiteNode
from rclpy.utilities import remove_ros_args


def node_class(name):
    """Return the node class of ``package/executable``; raises ValueError when there is none."""
    package, _, executable = name.partition('/')
    for script in entry_points(group='console_scripts', name=executable):
        if script.module.partition('.')[0] != package:
            continue
        module = import_module(script.module)
        kinds = [kind for _, kind in inspect.getmembers(module, inspect.isclass)
                 if issubclass(kind, SuiteNode) and kind.__module__ == module.__name__]
        if len(kinds) == 1:
            return kinds[0]
    raise ValueError(f'{name}: is no node of the suite, as PACKAGE/EXECUTABLE')


def main(args=None):
    """Run the nodes that are named on the command line."""
    args = sys.argv if args is None else args
    parser = argparse.ArgumentParser(
        prog='compose', description='Run several nodes of the suite in one process.')
    parser.add_argument('nodes', nargs='+', metavar='PACKAGE/EXECUTABLE')
    try:
        kinds = [node_class(name) for name in parser.parse_args(remove_ros_args(args)[1:]).nodes]
    except ValueError as error:
        parser.error(str(error))
    return run_nodes(kinds, args)


if __name__ == '__main__':
    sys.exit(main())
