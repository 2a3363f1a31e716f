"""A ROS node around a simulator under test: listeners, a driver, service clients, processes."""
import subprocess
import sys
import time

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import pose_from_msg, pose_to_msg, seconds, twist_msg
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import BatteryState, Imu, JointState, LaserScan
from simulation_interfaces.msg import SimulationState
from simulation_interfaces.srv import (
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    SpawnEntity,
)
from std_msgs.msg import Bool

ROBOT = load_robot()
START = (-2.0, 0.5, 0.3)
ROOM = """
name: bare_room
start: [-2.0, 0.5, 17.18873385]
floor: [[-3, -3], [3, -3], [3, 3], [-3, 3]]
walls:
  - name: walls
    points: [[-3, -3], [3, -3], [3, 3], [-3, 3]]
    closed: true
    thickness: 0.05
    z: [0, 0.4]
"""
TOPICS = {
    '/clock': (Clock, 10), 'scan': (LaserScan, qos_profile_sensor_data), 'odom': (Odometry, 10),
    'odom_truth': (Odometry, 10), 'joint_states': (JointState, 10),
    'imu': (Imu, qos_profile_sensor_data),
    'bumper/left': (Bool, 10), 'bumper/right': (Bool, 10), 'battery_state': (BatteryState, 10)}


class Graph(Node):
    """Everything around the simulator: listeners, a driver, service clients."""

    def __init__(self, namespace=''):
        super().__init__('sim_test', namespace=namespace)
        self.last, self.count, self.stamps = {}, dict.fromkeys(TOPICS, 0), []
        for topic, (kind, qos) in TOPICS.items():
            self.create_subscription(
                kind, topic, lambda msg, topic=topic: self._take(topic, msg), qos)
        self.cmd_vel = self.create_publisher(Twist, 'cmd_vel', 1)
        self.command = self.on_scan = None
        self.frames = FrameTree(self)
        self.executor_ = EventsExecutor()
        self.executor_.add_node(self)
        self.clients_ = {}

    def _take(self, topic, msg):
        self.last[topic] = msg
        self.count[topic] += 1
        if topic == 'scan':
            if self.on_scan:
                self.on_scan(seconds(msg.header.stamp))
            self.stamps.append(seconds(msg.header.stamp))
            if self.command:
                self.cmd_vel.publish(twist_msg(*self.command))

    @property
    def now(self):
        """Return the simulated time that was last heard of."""
        return seconds(self.last['/clock'].clock)

    @property
    def truth(self):
        """Return the true plane pose."""
        return pose_from_msg(self.last['odom_truth'].pose.pose)

    @property
    def odom(self):
        """Return the plane pose of the odometry."""
        return pose_from_msg(self.last['odom'].pose.pose)

    def until(self, what, timeout_s=40.0):
        """Spin until ``what()`` holds; fail when it does not."""
        end = time.monotonic() + timeout_s
        while not what():
            assert time.monotonic() < end, 'waited in vain'
            self.executor_.spin_once(timeout_sec=0.05)

    def run(self, simulated_s):
        """Spin for some simulated time."""
        end = self.now + simulated_s
        self.until(lambda: self.now >= end - 1e-6, 40.0 + simulated_s)

    def call(self, kind, name, request):
        """Call a service and return its response."""
        client = self.clients_.setdefault(name, self.create_client(kind, name))
        assert client.wait_for_service(timeout_sec=40.0)
        future = client.call_async(request)
        self.until(future.done)
        return future.result()

    def spawn(self, name, sdf, pose, **fields):
        """Spawn something and return the response."""
        request = SpawnEntity.Request(name=name, resource_string=sdf, **fields)
        request.initial_pose.pose = pose_to_msg(pose)
        return self.call(SpawnEntity, 'spawn_entity', request)

    def put(self, entity, pose):
        """Set an entity's pose; return (code, message)."""
        request = SetEntityState.Request(entity=entity)
        request.state.pose = pose_to_msg(pose)
        return answer(self.call(SetEntityState, 'set_entity_state', request))

    def set_state(self, state):
        """Play, pause or stop; return (code, message)."""
        request = SetSimulationState.Request(state=SimulationState(state=state))
        return answer(self.call(SetSimulationState, 'set_simulation_state', request))

    def reset(self, scope=ResetSimulation.Request.SCOPE_DEFAULT):
        """Reset; return (code, message)."""
        return answer(self.call(
            ResetSimulation, 'reset_simulation', ResetSimulation.Request(scope=scope)))


def answer(response):
    """Return (code, message) of a response."""
    return response.result.result, response.result.error_message


def start_node(module, *parameters, remap=()):
    """Start a node of the package in a process of its own."""
    words = [word for parameter in parameters for word in ('-p', parameter)]
    words += [word for rule in remap for word in ('-r', rule)]
    return subprocess.Popen(
        [sys.executable, '-m', f'oomwoo_sim_support.{module}', '--ros-args', *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
