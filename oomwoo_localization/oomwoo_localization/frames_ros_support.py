"""Transforms that a node has heard, by name."""
import math

import numpy as np
from oomwoo_localization.ros_support import matrix_from_msg, seconds
from oomwoo_localization.shared_process import SharedProcess
from rclpy.time import Time
from tf2_ros import Buffer, TransformListener


class FrameTree:
    """
    Transforms by name, as plane poses or matrices; None, not an exception, without one.

    Nodes that :func:`.process_ros_support.run_nodes` runs in one process share what was heard:
    taking in tf is much of what a small node does.
    """

    def __init__(self, node):
        """Listen to /tf and /tf_static for ``node``."""
        heard = {} if SharedProcess.here is None else SharedProcess.here.frames
        topic = node.resolve_topic_name('/tf')
        if topic not in heard:
            buffer = Buffer(node=node)
            heard[topic] = buffer, TransformListener(buffer, node, spin_thread=False)
        self._buffer, self._listener = heard[topic]
        # lookup_transform asks whether it can and then does, which costs twice as much.
        self._find = self._buffer.lookup_transform_core
        self.error = ''

    def matrix(self, target, source, stamp=None):
        """Return the 4 x 4 ``target_from_source`` at ``stamp`` or latest; None: see ``error``."""
        try:
            found = self._find(target, source, stamp or Time())
            return matrix_from_msg(found.transform)
        except Exception as error:   # four unrelated classes of tf2's; ValueError if broken
            self.error = f'no transform {target} <- {source}: {error}'
            return None

    def pose(self, target, source, stamp=None):
        """Return the plane pose ``(x, y, yaw)`` of ``source`` in ``target``; None: ``error``."""
        matrix = self.matrix(target, source, stamp)
        if matrix is None:
            return None
        return np.array([matrix[0, 3], matrix[1, 3], math.atan2(matrix[1, 0], matrix[0, 0])])

    def stamped_pose(self, target, source):
        """Return the latest (pose, stamp_s) of ``source`` in ``target``; None: see ``error``."""
        try:
            found = self._find(target, source, Time())
            matrix = matrix_from_msg(found.transform)
        except Exception as error:           # as in matrix()
            self.error = f'no transform {target} <- {source}: {error}'
            return None
        pose = np.array([matrix[0, 3], matrix[1, 3], math.atan2(matrix[1, 0], matrix[0, 0])])
        return pose, seconds(found.header.stamp)

    def clear(self):
        """Forget all moving transforms, after a jump back in time."""
        self._buffer.clear()
