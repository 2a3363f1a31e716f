"""The recovery chain over DDS, for the harness: nodes, kidnaps, what the manager does."""

import math
import os
import subprocess
import sys
import tempfile
import time

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
import numpy as np
from oomwoo_localization.ros_support import LATCHED_QOS, pose_from_msg, pose_to_msg, seconds
from oomwoo_sim_support.generate import map_file_for
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.recovery_harness import BETWEEN_S, ENDS, NOTICE_S, PATIENCE_S, Trial
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger

START_S, ANSWER_S = 120.0, 60.0  # of wall time
STARVED = 30.0  # wall seconds a simulated one may take


def nodes(layout, map_file, seed, factor):
    """Return ``{module: parameters}`` of the graph."""
    start = dict(zip(('x_pose', 'y_pose', 'yaw'), (float(v) for v in layout.start)))
    return {
        'oomwoo_sim_support.embedded_sim_node': {
            'world': str(layout.path),
            'seed': seed,
            'real_time_factor': float(factor),
            'use_sim_time': False,
        },
        'oomwoo_sim_support.map_server_node': {'yaml_filename': str(map_file)},
        'oomwoo_sim_support.kidnap_injector_node': {'seed': seed},
        'oomwoo_localization.scan_localizer_node': start,
        'oomwoo_localization.localization_health_node': {},
        'oomwoo_localization.global_relocalizer_node': {},
        'oomwoo_localization.localization_manager_node': {},
    }


class Listener(Node):
    """Hears the manager, the truth and the clock."""

    def __init__(self):
        super().__init__(
            'recovery_harness',
            parameter_overrides=[rclpy.parameter.Parameter('use_sim_time', value=True)],
        )
        self.words, self.truth, self.committed, self.lost, self.put = [], None, None, None, None
        self.create_subscription(String, 'localization_manager/recovery_action', self._on_word, 50)
        self.create_subscription(Odometry, 'odom_truth', self._on_truth, 10)
        self.create_subscription(PoseWithCovarianceStamped, 'initialpose', self._on_seed, 10)
        self.create_subscription(Bool, 'localization_health/lost', self._on_lost, LATCHED_QOS)
        self.create_subscription(PoseStamped, 'kidnap_injector/pose', self._on_put, LATCHED_QOS)
        self.kidnap = self.create_client(Trigger, 'kidnap_injector/kidnap')
        self.seed = self.create_publisher(PoseWithCovarianceStamped, 'initialpose', 10)
        self.loop = EventsExecutor()
        self.loop.add_node(self)

    @property
    def time_s(self):
        """Return the simulated time."""
        return self.get_clock().now().nanoseconds * 1e-9

    def _on_word(self, msg):
        self.words.append((self.time_s, msg.data))

    def _on_truth(self, msg):
        self.truth = (pose_from_msg(msg.pose.pose), seconds(msg.header.stamp))

    def _on_seed(self, msg):
        self.committed = pose_from_msg(msg.pose.pose)

    def _on_lost(self, msg):
        self.lost = msg.data

    def _on_put(self, msg):
        self.put = pose_from_msg(msg.pose)

    def until(self, what, sim_s=math.inf, wall_s=math.inf):
        """Spin until ``what()`` or some time has passed; return ``what()``."""
        end_s, end = self.time_s + sim_s, time.monotonic() + min(wall_s, STARVED * sim_s + 10.0)
        while self.time_s < end_s and time.monotonic() < end:
            if what():
                return True
            self.loop.spin_once(timeout_sec=0.05)
        return bool(what())

    def tell_truth(self):
        """Tell the localizer where the robot is: between two trials only."""
        msg = PoseWithCovarianceStamped()
        msg.header.frame_id, msg.header.stamp = 'map', self.get_clock().now().to_msg()
        msg.pose.pose = pose_to_msg(self.truth[0])
        covariance = np.zeros((6, 6))
        covariance[[0, 1, 5], [0, 1, 5]] = 0.01
        msg.pose.covariance = covariance.ravel().tolist()
        self.seed.publish(msg)


def run_graph(name, kidnaps, seed, factor=1.0):
    """Return the trials of a layout; raises RuntimeError when nodes do not come up."""
    layout = load_layout(name)
    with tempfile.TemporaryDirectory() as folder:
        map_file = map_file_for(name, folder)
        processes = [
            _start(module, parameters)
            for module, parameters in nodes(layout, map_file, seed, factor).items()
        ]
        rclpy.init()
        try:
            listener = Listener()
            ready = listener.until(
                lambda: (
                    listener.truth is not None
                    and listener.lost is False
                    and listener.kidnap.service_is_ready()
                    and listener.count_subscribers('initialpose') >= 3
                ),
                wall_s=START_S,
            )
            dead = [process.args[2] for process in processes if process.poll() is not None]
            if not ready or dead:
                raise RuntimeError(
                    f'the nodes did not come up: {", ".join(dead) or "they fell silent"}'
                )
            listener.until(lambda: False, sim_s=2.0)
            return [_trial(listener, layout.name) for _ in range(kidnaps)]
        finally:
            rclpy.shutdown()
            for process in processes:
                process.terminate()
            for process in processes:
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()


def _start(module, parameters):
    command = [sys.executable, '-m', module, '--ros-args', '--log-level', 'warn']
    for name, value in {'use_sim_time': True, **parameters}.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        command += ['-p', f'{name}:={text}']
    return subprocess.Popen(command, env=dict(os.environ, OMP_NUM_THREADS='1'))


def _trial(listener, name):
    """Kidnap once and return the :class:`Trial`."""
    listener.until(lambda: False, sim_s=BETWEEN_S)
    if listener.lost:
        raise RuntimeError('lost before it was kidnapped')
    listener.words, listener.committed = [], None
    answer = listener.kidnap.call_async(Trigger.Request())
    listener.until(answer.done, wall_s=ANSWER_S)
    if not answer.done() or not answer.result().success:
        raise RuntimeError(
            f'no kidnap: {answer.result().message if answer.done() else "no answer"}'
        )
    kidnapped_s = listener.time_s
    trial = Trial(name, listener.put.round(3).tolist() if listener.put is not None else [])
    if not listener.until(lambda: listener.words, sim_s=NOTICE_S):
        listener.tell_truth()
        listener.until(lambda: False, sim_s=1.0)
        return trial
    lost_s = listener.words[0][0]
    trial.noticed_s = lost_s - kidnapped_s
    taken = 1

    def take():
        nonlocal taken
        while taken < len(listener.words):
            said_s, word = listener.words[taken]
            if word == 'commit' and listener.committed is None:
                return False  # the pose is on its way
            trial.take(word, said_s - lost_s, listener.committed, listener.truth[0])
            if word == 'commit':
                listener.committed = None
            taken += 1
            if word in ENDS:
                return True
        return False

    if not listener.until(take, sim_s=PATIENCE_S):
        trial.outcome = 'no end'
    if not trial.recovered:
        listener.tell_truth()
        listener.until(lambda: 'found' in [word for _, word in listener.words], sim_s=5.0)
    return trial
