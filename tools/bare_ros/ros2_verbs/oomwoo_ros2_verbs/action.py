"""``ros2 action``: list the actions of the graph, ask about one, send it a goal."""

import contextlib
import os
import sys
import time
import xmlrpc.client

from action_msgs.msg import GoalStatus
import rclpy
from rclpy.action import ActionClient
from rclpy.node import NodeNameNonExistentError
from rclpy.signals import SignalHandlerOptions
from ros2cli.command import CommandExtension
from ros2cli.node.strategy import add_arguments as add_strategy_arguments
from ros2cli.node.strategy import NodeStrategy
from rosidl_runtime_py import message_to_yaml, set_message_fields
from rosidl_runtime_py.utilities import get_action
import yaml

STATUS_NAMES = {
    GoalStatus.STATUS_SUCCEEDED: 'SUCCEEDED',
    GoalStatus.STATUS_CANCELED: 'CANCELED',
    GoalStatus.STATUS_ABORTED: 'ABORTED',
}


class ActionError(Exception):
    """What is wrong with the request."""


def find_types(graph, action, seconds=3.0):
    """Return the types of an action, which may take a while to be discovered."""
    end = time.monotonic() + seconds
    while True:
        types = dict(graph.get_action_names_and_types()).get(action)
        if types:
            return types
        if time.monotonic() > end:
            raise ActionError(f"no action '{action}' in the graph")
        time.sleep(0.2)


def list_actions(args):
    """Print the names of all actions."""
    with NodeStrategy(args) as graph:
        for name, types in sorted(graph.get_action_names_and_types()):
            print(f'{name} [{", ".join(types)}]' if args.show_types else name)
    return 0


def show_type(args):
    """Print the type of one action."""
    with NodeStrategy(args) as graph:
        print('\n'.join(find_types(graph, args.action)))
    return 0


def info(args):
    """Print type, clients and servers of one action."""
    with NodeStrategy(args) as graph:
        types = find_types(graph, args.action)
        clients, servers = [], []
        for name, namespace in sorted(set(map(tuple, graph.get_node_names_and_namespaces()))):
            for found, query in ((clients, graph.get_action_client_names_and_types_by_node),
                                 (servers, graph.get_action_server_names_and_types_by_node)):
                # A node that leaves the graph meanwhile is an error of either kind.
                with contextlib.suppress(NodeNameNonExistentError, xmlrpc.client.Fault):
                    if args.action in dict(query(name, namespace)):
                        found.append(f'{namespace.rstrip("/")}/{name}')
    print(f'Action: {args.action}\nType: {", ".join(types)}')
    for title, names in (('clients', clients), ('servers', servers)):
        print(f'Action {title}: {len(names)}')
        for name in names:
            print(f'    {name}')
    return 0


def make_goal(type_name, text):
    """Return the action class and a goal message with the fields that the YAML text gives."""
    try:
        action = get_action(type_name)
    except (AttributeError, ModuleNotFoundError, ValueError) as error:
        raise ActionError(f"no action type '{type_name}': {error}") from None
    try:
        fields = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ActionError(f'the goal is not YAML: {error}') from None
    if not isinstance(fields, dict):
        raise ActionError("the goal must be a YAML mapping such as '{order: 5}'")
    goal = action.Goal()
    try:
        set_message_fields(goal, fields)
    except (AttributeError, AssertionError, TypeError, ValueError) as error:
        raise ActionError(f'the goal does not fit {type_name}: {error}') from None
    return action, goal


def wait(node, future, timeout=None):
    """Spin until the future is done, and return its result."""
    rclpy.spin_until_future_complete(node, future, timeout_sec=timeout)
    return future.result()


def send_goal(args):
    """Send a goal and wait for its result; an interrupt cancels it."""
    action, goal = make_goal(args.type, args.goal)
    # An interrupt must reach this program, so that the goal can still be cancelled.
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(f'_ros2cli_action_{os.getpid()}', start_parameter_services=False)
    client = ActionClient(node, action, args.action)
    try:
        print('Waiting for an action server to become available...', flush=True)
        if not client.wait_for_server(timeout_sec=args.timeout):
            raise ActionError(f"no server of '{args.action}' within {args.timeout:g} s")
        print(f'Sending goal:\n    {indent(message_to_yaml(goal))}', flush=True)
        return follow_goal(node, client, goal, args.feedback)
    except KeyboardInterrupt:
        return 130
    finally:
        client.destroy()
        node.destroy_node()
        rclpy.try_shutdown()


def follow_goal(node, client, goal, with_feedback):
    """Send the goal to the server found; print what comes of it; return the exit status."""
    def show_feedback(message):
        print(f'Feedback:\n    {indent(message_to_yaml(message.feedback))}', flush=True)

    handle = wait(node, client.send_goal_async(
        goal, feedback_callback=show_feedback if with_feedback else None))
    if not handle.accepted:
        print('Goal was rejected.')
        return 1
    try:
        print(f'Goal accepted with ID: {bytes(handle.goal_id.uuid).hex()}\n', flush=True)
        answer = wait(node, handle.get_result_async())
    except KeyboardInterrupt:
        print('Canceling the goal...', flush=True)
        wait(node, handle.cancel_goal_async(), timeout=5.0)
        raise
    print(f'Result:\n    {indent(message_to_yaml(answer.result))}')
    status = STATUS_NAMES.get(answer.status, f'UNKNOWN ({answer.status})')
    print(f'Goal finished with status: {status}')
    return 0 if answer.status == GoalStatus.STATUS_SUCCEEDED else 1


def indent(text):
    """Indent all lines but the first."""
    return text.strip().replace('\n', '\n    ')


class ActionCommand(CommandExtension):
    """List actions, ask about one, send it a goal."""

    def add_arguments(self, parser, cli_name):
        """Declare the command line."""
        self._parser = parser
        parser.set_defaults(verb=None)
        verbs = parser.add_subparsers(metavar='VERB')
        for name, function in (('list', list_actions), ('info', info), ('type', show_type)):
            verb = verbs.add_parser(name, help=function.__doc__)
            verb.set_defaults(verb=function)
            add_strategy_arguments(verb)
            if name == 'list':
                verb.add_argument('-t', '--show-types', action='store_true',
                                  help='print the types as well')
            else:
                verb.add_argument('action', help='such as /navigate_to_pose')
        verb = verbs.add_parser('send_goal', help=send_goal.__doc__)
        verb.set_defaults(verb=send_goal)
        verb.add_argument('action', help='such as /navigate_to_pose')
        verb.add_argument('type', help='such as nav2_msgs/action/NavigateToPose')
        verb.add_argument('goal', help="the goal as YAML, such as '{order: 5}'")
        verb.add_argument('-f', '--feedback', action='store_true', help='print feedback')
        verb.add_argument('-t', '--timeout', type=float, default=10.0, metavar='SECONDS',
                          help='how long to wait for a server (default: %(default)s)')

    def main(self, *, parser, args):
        """Run the command; return its exit status."""
        if args.verb is None:
            self._parser.print_help()
            return 0
        try:
            return args.verb(args)
        except ActionError as error:
            print(f'ros2 action: {error}', file=sys.stderr)
            return 1
