"""``ros2 interface``: show and list message, service and action types."""

from pathlib import Path
import sys

from ros2cli.command import CommandExtension
from rosidl_runtime_py import get_interface_path, get_interfaces


class InterfaceCommand(CommandExtension):
    """Show and list message, service and action types."""

    def add_arguments(self, parser, cli_name):
        """Declare the command line."""
        self._parser = parser
        verbs = parser.add_subparsers(dest='verb', metavar='VERB')
        show = verbs.add_parser('show', help='print the definition of a type')
        show.add_argument('type', help='such as nav_msgs/msg/Odometry')
        listing = verbs.add_parser('list', help='print the types of all packages, or of one')
        listing.add_argument('package', nargs='?', help='only the types of this package')

    def main(self, *, parser, args):
        """Run the command; return its exit status."""
        if args.verb == 'show':
            try:
                print(Path(get_interface_path(args.type)).read_text().rstrip())
            except (LookupError, OSError, ValueError) as error:
                print(f"ros2 interface: no type '{args.type}': {error}", file=sys.stderr)
                return 1
        elif args.verb == 'list':
            try:
                found = get_interfaces([args.package] if args.package else [])
            except LookupError as error:
                print(f'ros2 interface: {error}', file=sys.stderr)
                return 1
            for package in sorted(found):
                for name in sorted(found[package]):
                    print(f'{package}/{name}')
        else:
            self._parser.print_help()
        return 0
