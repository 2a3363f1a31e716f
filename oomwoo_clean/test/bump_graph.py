"""The graph that a bump map's node stands in: all but the node, with a clock of its own."""
from contextlib import contextmanager
import math
import signal
import subprocess
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import OccupancyGrid as GridMsg
from nav_msgs.msg import Odometry
import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_localization.grids import OccupancyGrid
from oomwoo_localization.ros_support import LATCHED_QOS, pose_to_msg
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

TICK_S = 0.05                 # of simulated time
SPEED_UP = 2.5                # a busy machine has 0.4 s for what is to come within a second
MOST_S = 60.0                 # of the wall's, for whatever is waited for
ODOM_IN_MAP = (0.5, -0.3, 0.4)
MAP = OccupancyGrid(np.zeros((60, 80), dtype=np.int8), 0.05, (-1.5, -1.5, 0.3))


class World:
    """Plays all but the node, with a clock of its own."""

    def __init__(self):
        """Stand at the origin of odom, with a bumper that is not pressed."""
        self.node = rclpy.create_node('bump_map_test')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        publisher = self.node.create_publisher
        self.clock = publisher(Clock, '/clock', 10)
        self.odom, self.tf = publisher(Odometry, 'odom', 10), publisher(TFMessage, '/tf', 10)
        self.map = publisher(GridMsg, 'map', LATCHED_QOS)
        self.is_lost = publisher(Bool, 'localization_health/lost', LATCHED_QOS)
        self.bumpers = {half: publisher(Bool, f'bumper/{half}', 10) for half in ('left', 'right')}
        self.time_s, self.pose = 100.0, np.zeros(3)
        self.pressed = {'left': False, 'right': False}
        self.send_tf = self.send_bumpers = self.send_odom = True
        self.odom_in_map = ODOM_IN_MAP
        self.grids, self.walls, self.status = [], [], []
        listen = self.node.create_subscription
        listen(GridMsg, 'bump_map', self.grids.append, LATCHED_QOS)
        listen(MarkerArray, 'bump_map/walls', self.walls.append, LATCHED_QOS)
        listen(DiagnosticStatus, 'bump_map/status', self.status.append, LATCHED_QOS)

    def tick(self):
        """Let a moment pass in which everybody says how it is."""
        self.time_s += TICK_S
        clock = Clock()
        clock.clock.sec, clock.clock.nanosec = self._stamp()
        self.clock.publish(clock)
        if self.send_tf:
            transform = TransformStamped()
            transform.header.frame_id, transform.child_frame_id = 'map', 'odom'
            transform.header.stamp = clock.clock
            pose = pose_to_msg(self.odom_in_map)
            transform.transform.translation.x = pose.position.x
            transform.transform.translation.y = pose.position.y
            transform.transform.rotation = pose.orientation
            self.tf.publish(TFMessage(transforms=[transform]))
        if self.send_odom:
            odom = Odometry()
            odom.header.stamp, odom.header.frame_id = clock.clock, 'odom'
            odom.pose.pose = pose_to_msg(self.pose)
            self.odom.publish(odom)
        if self.send_bumpers:
            for half, publisher in self.bumpers.items():
                publisher.publish(Bool(data=self.pressed[half]))
        end = time.monotonic() + TICK_S / SPEED_UP
        while (left := end - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)

    def _stamp(self):
        nanoseconds = round(self.time_s * 1e9)
        return nanoseconds // 10 ** 9, nanoseconds % 10 ** 9

    def run(self, seconds):
        """Let simulated time pass."""
        for _ in range(max(1, round(seconds / TICK_S))):
            self.tick()

    def until(self, condition):
        """Let time pass until a condition holds; tell whether it came to that."""
        end = time.monotonic() + MOST_S
        while time.monotonic() < end:
            self.tick()
            if condition():
                return True
        return False

    def drive(self, metres):
        """Drive ahead, or back."""
        for _ in range(max(1, round(abs(metres) / 0.01))):
            self.pose = compose(self.pose, (math.copysign(0.01, metres), 0.0, 0.0))
            self.tick()

    def press(self, *halves):
        """Press these halves, and no other."""
        self.pressed = {half: half in halves for half in self.pressed}

    def values(self):
        """Return the last status as (message, {key: value})."""
        if not self.status:
            return '', {}
        return self.status[-1].message, {v.key: v.value for v in self.status[-1].values}

    def says(self, **wanted):
        """Tell whether the status has these values."""
        values = self.values()[1]
        return all(values.get(key) == str(value) for key, value in wanted.items())

    def call(self, kind, name, request):
        """Call a service of the node; return its answer."""
        client = self.node.create_client(kind, f'bump_map/{name}')
        assert self.until(client.service_is_ready), f'no service {name}'
        future = client.call_async(request)
        assert self.until(future.done), f'{name} does not answer'
        return future.result()


@contextmanager
def played_world():
    """Yield a world; its graph ends with it."""
    rclpy.init()
    world = World()
    yield world
    world.executor.shutdown()
    world.node.destroy_node()              # or its latched map would outlive the test
    rclpy.shutdown()


@contextmanager
def started_nodes():
    """Yield a function that starts the node with parameters; every one ends at the end."""
    running = []

    def run(**parameters):
        command = [sys.executable, '-m', 'oomwoo_clean.bump_map_node', '--ros-args',
                   '-p', 'use_sim_time:=true']
        for name, value in parameters.items():
            command += ['-p', f'{name}:={value}']
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return running[-1]

    yield run
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()


def end(process):
    """Stop a node as ``ros2 launch`` does; return its exit status."""
    process.send_signal(signal.SIGINT)
    return process.wait(20)
