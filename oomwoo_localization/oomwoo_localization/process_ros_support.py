"""Nodes run in this process, from their parameters to an orderly stop."""
import gc
import signal
import sys

from oomwoo_localization.settings import SettingError
from oomwoo_localization.shared_process import SharedProcess
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

_LOOK_S = 0.2                 # how often a process looks whether it is to end


def run_node(factory, args=None):
    """Run one node, as :func:`run_nodes` does."""
    return run_nodes([factory], args)


def run_nodes(factories, args=None):
    """
    Run nodes in this process until SIGINT, SIGTERM or one of them is done, then stop each.

    ``factories`` are called without arguments, after ``rclpy.init(args=args)``. Nodes are stopped
    while they can still publish, so that each can leave the robot standing; what a callback raises
    goes on only after that. Returns the exit status: 0, 2 when a node refuses its parameters, or
    ``exit_status`` of the node that asked for the end with ``done = True``.
    """
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    ended = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.append(True))
    nodes = []
    SharedProcess.here = SharedProcess() if len(factories) > 1 else None
    try:
        try:
            for factory in factories:
                nodes.append(factory())
        except (SettingError, ValueError, OSError) as error:
            print(f'error: {error}', file=sys.stderr, flush=True)
            return 2
        executor = EventsExecutor()
        for node in nodes:
            executor.add_node(node)
        # What is there by now stays; the collector need not look through it again and again.
        gc.collect()
        gc.freeze()
        done, never = [], Future(executor=executor)
        try:
            while not ended and not done:
                # Not spin_once, which sets up a wait for each single event.
                executor.spin_until_future_complete(never, timeout_sec=_LOOK_S)
                done = [node for node in nodes if getattr(node, 'done', False)]
        finally:
            for node in nodes:
                _stop(node)
        return getattr((done or nodes)[0], 'exit_status', 0)
    finally:
        SharedProcess.here = None
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown()


def _stop(node):
    """Stop a node; one that cannot be stopped keeps no other from it, and hides no error."""
    try:
        node.stop()
    except Exception as error:              # of any kind: the others have to stand as well
        node.get_logger().error(f'not stopped in order: {type(error).__name__}: {error}')
