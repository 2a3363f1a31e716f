#!/usr/bin/env python3
"""
Tell by the exit status whether somebody takes goals on ``navigate_to_pose``.

Nav2 offers the action as soon as it is configured, and refuses goals until it is active; so where
its lifecycle manager is there, that is asked, too.
"""
import argparse
import os
import sys
import time

from nav2_msgs.action import NavigateToPose
import rclpy
from rclpy.action import ActionClient
from std_srvs.srv import Trigger

MANAGER = 'lifecycle_manager_navigation'
_LOOK_S = 0.2


class Question:
    """Asks whether the navigator is ready; ``answer`` says why not, '' when it is."""

    def __init__(self, node):
        """Join the graph with a node."""
        self._action = ActionClient(node, NavigateToPose, 'navigate_to_pose')
        self._is_active = node.create_client(Trigger, f'{MANAGER}/is_active')
        self._asked, self._said = None, f'{MANAGER} does not answer'

    def answer(self):
        """Return why no goal would be taken now, or ''."""
        if not self._action.server_is_ready():
            return 'navigate_to_pose has no server'
        if not self._is_active.service_is_ready():
            return ''                       # not Nav2, which manages the states of its nodes
        if self._asked is None:
            self._asked = self._is_active.call_async(Trigger.Request())
        if self._asked.done():
            active, self._asked = self._asked.result().success, None
            self._said = '' if active else f'{MANAGER} has not brought up Nav2'
        return self._said


def ready(patience_s):
    """Return why no goal is taken within a time, or ''."""
    rclpy.init()
    node = rclpy.create_node(f'navigation_ready_{os.getpid()}')
    try:
        question = Question(node)
        # A manager that has been found is asked; it is given a second to be.
        found_by = time.monotonic() + min(1.0, patience_s)
        until = time.monotonic() + patience_s
        while True:
            rclpy.spin_once(node, timeout_sec=_LOOK_S)
            why = question.answer()
            if time.monotonic() > until or (not why and time.monotonic() > found_by):
                return why
    finally:
        node.destroy_node()
        rclpy.shutdown()


def main(arguments=None):
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--patience', type=float, default=12.0, metavar='SECONDS')
    why = ready(parser.parse_args(arguments).patience)
    if why:
        print(f'navigation: {why}', file=sys.stderr)
    return 1 if why else 0


if __name__ == '__main__':
    sys.exit(main())
