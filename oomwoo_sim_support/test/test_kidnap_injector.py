"""The kidnapper over DDS, with the simulator played by the test."""

import time

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid
import numpy as np
from oomwoo_localization.grids import OccupancyGrid as Grid
from oomwoo_localization.ros_support import grid_to_msg, LATCHED_QOS, pose_from_msg
from oomwoo_sim_support.kidnap_injector_node import KidnapInjectorNode
import pytest
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.task import Future
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import SetEntityState
from std_srvs.srv import Trigger


def room():
    """Return a map of a room of 3 x 2 m."""
    cells = np.zeros((40, 60), dtype=np.int8)
    cells[[0, -1]] = cells[:, [0, -1]] = 100
    return Grid(cells, 0.05, (-1.5, -1.0, 0.0))


class World(Node):
    """A simulator that says no as often as ``refuses``, or nothing when ``silent``."""

    def __init__(self):
        super().__init__('world')
        self.put, self.refuses, self.silent, self.told = [], 0, False, []
        self.map_out = self.create_publisher(OccupancyGrid, 'map', LATCHED_QOS)
        self.create_subscription(PoseStamped, 'kidnap_injector/pose', self.told.append, 10)
        self.client = self.create_client(Trigger, 'kidnap_injector/kidnap')
        self.injector = KidnapInjectorNode(parameter_overrides=[
            rclpy.parameter.Parameter('answer_s', value=0.5),
            rclpy.parameter.Parameter('sim', value='embedded')])
        self.loop = EventsExecutor()
        for node in (self, self.injector):
            self.loop.add_node(node)

    def simulate(self):
        """Offer the simulator's service."""
        self.create_service(SetEntityState, 'set_entity_state', self.on_put)
        self.until(lambda: self.injector._mover.kind)

    async def on_put(self, request, response):
        if self.silent:
            await Future()
        self.put.append((request.entity, pose_from_msg(request.state.pose)))
        self.refuses -= 1
        response.result.result = (
            Result.RESULT_OPERATION_FAILED if self.refuses >= 0 else Result.RESULT_OK)
        response.result.error_message = 'a sofa stands there' if self.refuses >= 0 else ''
        return response

    def until(self, what, wall_s=30.0):
        """Let everybody work until something is so."""
        end = time.monotonic() + wall_s
        while not what():
            assert time.monotonic() < end, 'waited in vain'
            self.loop.spin_once(timeout_sec=0.02)

    def kidnap(self, times=1):
        """Ask so many times at once; return the answers."""
        self.until(self.client.service_is_ready)
        asked = [self.client.call_async(Trigger.Request()) for _ in range(times)]
        self.until(lambda: all(future.done() for future in asked))
        return [future.result() for future in asked]


@pytest.fixture
def world():
    """Return the kidnapper beside a simulator."""
    rclpy.init()
    world = World()
    yield world
    for node in (world.injector, world):
        world.loop.remove_node(node)
        node.destroy_node()
    world.loop.shutdown()
    rclpy.shutdown()


def test_without_a_map_or_with_a_broken_one_or_without_a_simulator_it_says_so(world):
    answer, = world.kidnap()
    assert not answer.success and answer.message == 'no map on topic map yet'
    world.map_out.publish(OccupancyGrid())
    world.until(lambda: 'topic map' in world.injector._status.message)
    world.map_out.publish(grid_to_msg(Grid(np.full((4, 4), 100, dtype=np.int8), 0.05)))
    world.until(lambda: 'room' in world.injector._status.message)
    assert 'room for the robot' in world.kidnap()[0].message
    world.map_out.publish(grid_to_msg(room()))
    world.until(lambda: world.injector._draw is not None)
    answer, = world.kidnap()
    assert not answer.success and 'no simulator offers set_entity_state' in answer.message


def test_it_tries_elsewhere_when_something_stands_there_and_takes_two_at_once(world):
    world.map_out.publish(grid_to_msg(room()))
    world.simulate()
    world.until(lambda: world.injector._draw is not None)
    world.refuses = 2
    answer, = world.kidnap()
    assert answer.success and len(world.put) == 3
    world.until(lambda: world.told)
    np.testing.assert_allclose(pose_from_msg(world.told[0].pose), world.put[2][1], atol=1e-9)
    assert world.told[0].header.frame_id == 'map'
    assert all(answer.success for answer in world.kidnap(times=2))
    poses = np.array([pose for _, pose in world.put])
    assert len(np.unique(poses, axis=0)) == 5
    assert np.abs(poses[:, 0]).max() < 1.5 - 0.175 and np.abs(poses[:, 1]).max() < 1.0 - 0.175


def test_a_simulator_that_is_silent_or_always_says_no_is_given_up(world):
    world.map_out.publish(grid_to_msg(room()))
    world.simulate()
    world.until(lambda: world.injector._draw is not None)
    world.refuses = 10**6
    answer, = world.kidnap()
    assert not answer.success and answer.message == 'not kidnapped: a sofa stands there'
    world.silent = True
    answer, = world.kidnap()
    assert not answer.success and answer.message == 'not kidnapped: no answer'
