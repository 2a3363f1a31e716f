"""The other side of the edge manager's graph: clock, tf, map, navigator and follower on rails."""
import math
import os
import signal
import subprocess
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TransformStamped
from nav2_msgs.action import NavigateToPose
from nav_msgs.msg import OccupancyGrid
import numpy as np
from oomwoo_clean.edge_sweep import EdgeSweep
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.ros_support import grid_to_msg, LATCHED_QOS, pose_from_msg, pose_to_msg
from oomwoo_localization_msgs.action import CleanEdges
import rclpy
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool, Empty, Float32, String
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from unique_identifier_msgs.msg import UUID
from visualization_msgs.msg import MarkerArray

SPEED_UP = 8.0
TICK_S = 0.05                 # simulated
PATIENCE_S = 800.0            # simulated; a busy machine takes long to start a process
ODOM_IN_MAP = (0.3, -0.2, 0.4)


class World(Node):
    """Plays all but the manager; counts when two would drive at once."""

    def __init__(self, grid, pose):
        """Wait for a manager; the robot stands at ``pose`` (x, y, yaw) on ``grid``."""
        super().__init__('manager_test_world')
        self.grid, self.pose, self.time_s = grid, np.array(pose, dtype=float), 100.0
        self.rings = EdgeSweep(grid, pose).rings
        self.send_tf, self.follower_alive, self.bump_next = True, True, False
        self.reflex_drives = False    # the escape reflex, which then says so
        self.goals, self.switched, self.conflicts, self.keep_alives = [], [], 0, 0
        self.wanted = 0               # how often the manager has said that it wants its goal
        self.obeys = lambda goal: True
        self.accepts = lambda goal: True
        self.heard = {'state': [], 'progress': [], 'active': [], 'status': [], 'edges': []}
        self._follower = {'on': False, 'state': 'IDLE', 'spot': 0, 'said_s': 0.0}
        self._handle, self._ended = None, {}
        self._time = self.create_publisher(Clock, '/clock', 10)
        self._tf = self.create_publisher(TFMessage, '/tf', 100)
        self._map = self.create_publisher(OccupancyGrid, 'map', LATCHED_QOS)
        self._states = self.create_publisher(String, 'contour_follower/state', LATCHED_QOS)
        self._events = self.create_publisher(String, 'contour_follower/event', 10)
        self._reflex = self.create_publisher(Bool, 'escape_reflex/active', LATCHED_QOS)
        self.create_service(SetBool, 'contour_follower/enable', self._on_enable)
        self.create_subscription(Empty, 'contour_follower/keep_alive', self._on_keep_alive, 1)
        self.create_subscription(UUID, 'navigate_to_pose/keep_alive', self._on_wanted, 10)
        self._navigator = ActionServer(
            self, NavigateToPose, 'navigate_to_pose', execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel)
        for name, kind, topic in (
                ('state', String, 'clean_manager/state'),
                ('progress', Float32, 'clean_manager/progress'),
                ('active', Bool, 'cleaning_active'),
                ('status', DiagnosticStatus, 'clean_manager/status'),
                ('edges', MarkerArray, 'clean_manager/edges')):
            self.create_subscription(kind, topic, self.heard[name].append, LATCHED_QOS)
        self.clients_ = {name: self.create_client(Trigger, f'clean_manager/{name}')
                         for name in ('start', 'pause', 'resume', 'cancel')}
        self.job = ActionClient(self, CleanEdges, 'clean_manager/clean_edges')
        self.executor_ = SingleThreadedExecutor()
        self.executor_.add_node(self)

    # -- what the test does -------------------------------------------------------------------

    def send_map(self, grid=None):
        """Publish a map, latched."""
        self._map.publish(grid_to_msg(self.grid if grid is None else grid))

    @property
    def state(self):
        """Return the manager's state as last published."""
        return self.heard['state'][-1].data if self.heard['state'] else ''

    @property
    def progress(self):
        """Return the manager's progress as last published."""
        return self.heard['progress'][-1].data if self.heard['progress'] else 0.0

    @property
    def status(self):
        """Return the message of the manager's last status."""
        return self.heard['status'][-1].message if self.heard['status'] else ''

    @property
    def driving(self):
        """Return who drives: 'follower', 'navigator' or ''."""
        return 'follower' if self._follower['on'] else 'navigator' if self._handle else ''

    def run(self, most_s=PATIENCE_S, until=None):
        """Run for simulated ``most_s`` or until ``until()``; return whether that came."""
        end = self.time_s + most_s
        while self.time_s < end:
            if until is not None and until():
                return True
            due = time.monotonic() + TICK_S / SPEED_UP
            self._tick()
            while (left := due - time.monotonic()) > 0:
                self.executor_.spin_once(timeout_sec=left)
        return until is not None and bool(until())

    def call(self, name):
        """Call one of the manager's services; return (success, message)."""
        assert self.run(PATIENCE_S, self.clients_[name].service_is_ready), f'no service {name}'
        future = self.clients_[name].call_async(Trigger.Request())
        assert self.run(PATIENCE_S, future.done), f'{name}: no answer'
        return future.result().success, future.result().message

    def wait(self, future, most_s=PATIENCE_S):
        """Run until a future is done; return its result."""
        assert self.run(most_s, future.done), 'no answer in time'
        return future.result()

    def jump_back(self, seconds):
        """Turn the clock back."""
        self.time_s -= seconds

    def kill_follower(self):
        """Let the follower die: it neither moves nor speaks nor answers."""
        self.follower_alive = False
        self._follower.update(on=False, state='IDLE')

    def end_reflex(self):
        """Let the escape reflex have driven; it says so."""
        self.reflex_drives = False
        self._reflex.publish(Bool(data=False))

    # -- the world ----------------------------------------------------------------------------

    def _tick(self):
        self.time_s += TICK_S
        if self._follower['on'] and self._handle:
            self.conflicts += 1
        if self._follower['on']:
            self._follow()
        elif self._handle:
            self._drive()
        self._time.publish(Clock(clock=self._stamp()))
        if self.send_tf:
            self._send_tf()
        if self.follower_alive and abs(self.time_s - self._follower['said_s']) >= 0.5:
            self._say(self._follower['state'])
        if self.reflex_drives:
            self._reflex.publish(Bool(data=True))

    def _stamp(self):
        return rclpy.time.Time(seconds=self.time_s).to_msg()

    def _send_tf(self):
        transforms = []
        for parent, child, pose in (
                ('map', 'odom', ODOM_IN_MAP),
                ('odom', 'base_footprint', compose(inverse(ODOM_IN_MAP), self.pose))):
            tf = TransformStamped(child_frame_id=child)
            tf.header.frame_id, tf.header.stamp = parent, self._stamp()
            msg = pose_to_msg(pose)
            tf.transform.translation.x, tf.transform.translation.y = msg.position.x, msg.position.y
            tf.transform.rotation = msg.orientation
            transforms.append(tf)
        self._tf.publish(TFMessage(transforms=transforms))

    # -- follower -----------------------------------------------------------------------------

    def _say(self, state):
        self._follower['state'], self._follower['said_s'] = state, self.time_s
        self._states.publish(String(data=state))

    def _on_enable(self, request, response):
        if self.follower_alive:
            self.switched.append(request.data)
            if request.data and not self._follower['on']:
                gaps = np.hypot(*(self.rings.points - self.pose[:2]).T)
                self._follower['spot'] = int(np.argmin(gaps))
            self._follower['on'] = request.data
            self._say('FOLLOW' if request.data else 'IDLE')
            response.success = True
        return response

    def _on_keep_alive(self, msg):
        self.keep_alives += 1

    def _follow(self):
        if self.bump_next:
            self.bump_next = False
            self._events.publish(String(data='bump left'))
            self._say('HALT')
        if self._follower['state'] == 'HALT':
            return
        spot = int(self.rings.after[self._follower['spot']])
        self._follower['spot'] = spot
        self.pose = np.array([*self.rings.points[spot], self.rings.yaw[spot]])

    # -- navigator ----------------------------------------------------------------------------

    def _on_wanted(self, msg):
        if self._handle and bytes(msg.uuid) == bytes(self._handle[0].goal_id.uuid):
            self.wanted += 1

    def _on_goal(self, request):
        accepted = self.accepts(pose_from_msg(request.pose.pose))
        return GoalResponse.ACCEPT if accepted else GoalResponse.REJECT

    def _on_cancel(self, handle):
        self.executor.create_task(lambda: self._end(handle, 'canceled'))
        return CancelResponse.ACCEPT

    async def _execute(self, handle):
        key = bytes(handle.goal_id.uuid)
        self._ended[key] = Future()
        goal = pose_from_msg(handle.request.pose.pose)
        self.goals.append(goal)
        self._handle = (handle, goal)
        how = await self._ended[key]
        getattr(handle, how)()
        return NavigateToPose.Result(error_code=0 if how == 'succeed' else 208)

    def _end(self, handle, how):
        if self._handle and self._handle[0] is handle:
            self._handle = None
        future = self._ended.get(bytes(handle.goal_id.uuid))
        if future is not None and not future.done():
            future.set_result(how)

    def _drive(self):
        handle, goal = self._handle
        if not self.obeys(goal):
            self._end(handle, 'abort')
            return
        gap = goal[:2] - self.pose[:2]
        far = math.hypot(*gap)
        if far < 0.03:
            self.pose = goal
            self._end(handle, 'succeed')
        else:
            self.pose[:2] += gap / far * min(far, 0.03)
            handle.publish_feedback(NavigateToPose.Feedback(distance_remaining=far))


def start_manager(output_dir, **parameters):
    """Start the manager as a process of its own on sim time; returns the Popen."""
    given = {'use_sim_time': 'true', 'output_dir': str(output_dir), 'pose_patience_s': '4.0',
             'follower_patience_s': '4.0', 'navigator_patience_s': '20.0'} | parameters
    arguments = [word for name, value in given.items() for word in ('-p', f'{name}:={value}')]
    return subprocess.Popen(
        [sys.executable, '-m', 'oomwoo_clean.clean_manager_node', '--ros-args', *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ.copy())


def end(process):
    """Make sure that a process is gone; return (exit status, output)."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        output, _ = process.communicate(timeout=20.0)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    return process.returncode, output
