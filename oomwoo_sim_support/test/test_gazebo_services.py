"""Gazebo's services: found in the graph, asked with ros_gz_interfaces' fields, or explained."""
from dataclasses import dataclass, field, make_dataclass
import sys
from types import ModuleType, SimpleNamespace

from geometry_msgs.msg import Pose
from oomwoo_localization.ros_support import pose_from_msg
from oomwoo_sim_support.gazebo_services import GazeboService, MOVE
from oomwoo_sim_support.robot_mover import RobotMover
from oomwoo_sim_support.sim_entities import shape_from_sdf
from oomwoo_sim_support.spawn_obstacle_node import SpawnObstacleNode
import pytest
import rclpy
from rclpy.task import Future

# Stand-ins with the fields of ros_gz_interfaces 1.0 (Jazzy), which is not to be had everywhere.
Entity = make_dataclass(
    'Entity', [('id', int, 0), ('name', str, ''), ('type', int, 0)], namespace={'MODEL': 2})


@dataclass
class EntityFactory:
    """msg/EntityFactory."""

    name: str = ''
    allow_renaming: bool = False
    sdf: str = ''
    sdf_filename: str = ''
    clone_name: str = ''
    pose: Pose = field(default_factory=Pose)
    relative_to: str = 'world'


@dataclass
class PoseRequest:
    """srv/SetEntityPose."""

    entity: Entity = field(default_factory=Entity)
    pose: Pose = field(default_factory=Pose)


@dataclass
class SpawnRequest:
    """srv/SpawnEntity."""

    entity_factory: EntityFactory = field(default_factory=EntityFactory)


@dataclass
class RemoveRequest:
    """srv/DeleteEntity."""

    entity: Entity = field(default_factory=Entity)


KINDS = {'SetEntityPose': PoseRequest, 'SpawnEntity': SpawnRequest, 'DeleteEntity': RemoveRequest}


@pytest.fixture
def interfaces(monkeypatch):
    """Install the stand-ins."""
    services = ModuleType('ros_gz_interfaces.srv')
    for name, request in KINDS.items():
        setattr(services, name, SimpleNamespace(Request=request, name=name))
    monkeypatch.setitem(sys.modules, 'ros_gz_interfaces', ModuleType('ros_gz_interfaces'))
    monkeypatch.setitem(sys.modules, 'ros_gz_interfaces.srv', services)


class Client:
    """Answers at once, and remembers what it was asked."""

    def __init__(self, name, success):
        self.srv_name, self.asked, self._success = name, [], success

    def service_is_ready(self):
        """Tell whether it is there."""
        return self._success is not None

    def call_async(self, request):
        """Return an answer that is there already."""
        self.asked.append(request)
        future = Future()
        future.set_result(SimpleNamespace(success=self._success))
        return future


class Graph:
    """A node's view: services by name and type; ``success`` is what Gazebo answers."""

    def __init__(self, *services, success=True):
        self.services, self.success, self.clients = services, success, {}

    def get_service_names_and_types(self):
        """Return what is in the graph."""
        return [(name, [f'ros_gz_interfaces/srv/{kind}']) for name, kind in self.services]

    def create_client(self, kind, name):
        """Return a client; the standard simulator is not there."""
        offered = any(name == there for there, _ in self.services)
        self.clients[name] = Client(f'/{name.lstrip("/")}', self.success if offered else None)
        return self.clients[name]


KITCHEN = ('/world/kitchen/set_pose', 'SetEntityPose')


def put(mover, pose=(1.0, -2.0, 0.5)):
    """Return what the mover answers."""
    answers = []
    mover.put(pose, lambda moved, why: answers.append((moved, why)))
    assert len(answers) == 1
    return answers[0]


def test_the_robot_is_moved_in_whichever_world_there_is(interfaces):
    """By name, as a model, to the pose in the map, on the floor."""
    graph = Graph(('/world/kitchen/create', 'SpawnEntity'), KITCHEN)
    mover = RobotMover(graph, 'oomwoo_one')
    assert mover.kind == 'gazebo'
    assert put(mover)[0] is True
    request, = graph.clients['/world/kitchen/set_pose'].asked
    assert (request.entity.name, request.entity.type, request.entity.id) == ('oomwoo_one', 2, 0)
    assert pose_from_msg(request.pose) == pytest.approx([1.0, -2.0, 0.5])
    assert request.pose.position.z == 0.0


def test_a_world_that_is_named_is_the_only_one(interfaces):
    """Two Gazebos in one graph."""
    graph = Graph(KITCHEN, ('/world/living_room/set_pose', 'SetEntityPose'))
    assert GazeboService(graph, MOVE, 'living_room').found == '/world/living_room/set_pose'
    assert GazeboService(graph, MOVE, 'living').found == ''
    assert RobotMover(graph, 'robot', 'bedroom').kind == ''


def test_a_service_of_the_name_and_another_type_is_none(interfaces):
    """An older interface, or somebody else's."""
    assert GazeboService(Graph(('/world/kitchen/set_pose', 'Else')), MOVE).found == ''


def test_gazebo_that_refuses_is_quoted(interfaces):
    """The mover's caller says so."""
    assert put(RobotMover(Graph(KITCHEN, success=False), 'nobody')) == (
        False, 'Gazebo refused, see its log')


def test_what_is_missing_is_said(monkeypatch, interfaces):
    """No simulator at all; Gazebo without its messages; the one that was not asked for."""
    moved, why = put(RobotMover(Graph(), 'robot'))
    assert not moved and 'no simulator offers /set_entity_state' in why
    assert 'no bridge offers /world/WORLD/set_pose of Gazebo' in why
    assert 'set_entity_state' not in put(RobotMover(Graph(), 'robot', sim='gazebo'))[1]
    assert 'Gazebo' not in put(RobotMover(Graph(KITCHEN), 'robot', sim='embedded'))[1]
    monkeypatch.setitem(sys.modules, 'ros_gz_interfaces', None)
    monkeypatch.delitem(sys.modules, 'ros_gz_interfaces.srv')
    moved, why = put(RobotMover(Graph(KITCHEN), 'robot', sim='gazebo'))
    assert not moved and 'ros_gz_interfaces is not installed here' in why


def spawner(monkeypatch, graph, **parameters):
    """Return the spawning node, which sees ``graph`` and has done a tick."""
    words = ['--ros-args']
    for name, value in parameters.items():
        words += ['-p', f'{name}:={value}']
    rclpy.init(args=words)
    monkeypatch.setattr(
        SpawnObstacleNode, 'get_service_names_and_types',
        lambda self: graph.get_service_names_and_types())
    monkeypatch.setattr(
        SpawnObstacleNode, 'create_client', lambda self, *args: graph.create_client(*args))
    node = SpawnObstacleNode()
    node._tick()
    return node


@pytest.fixture
def ros():
    """Have ROS ended afterwards."""
    yield
    rclpy.try_shutdown()


def test_an_obstacle_stands_on_gazebos_floor(monkeypatch, interfaces, ros):
    """The pose of the request counts there, not the model's, so it has half the height."""
    graph = Graph(('/world/kitchen/create', 'SpawnEntity'))
    node = spawner(monkeypatch, graph, x=0.5, y=-0.5, yaw=1.0, size_z=0.6, entity='crate')
    assert (node.done, node.exit_status) == (True, 0)
    assert node._status.message == 'crate stands at (0.50, -0.50)'
    factory = graph.clients['/world/kitchen/create'].asked[0].entity_factory
    assert factory.name == 'crate' and factory.allow_renaming
    assert pose_from_msg(factory.pose) == pytest.approx([0.5, -0.5, 1.0])
    assert factory.pose.position.z == pytest.approx(0.3)
    assert shape_from_sdf(factory.sdf).size == (0.2, 1.2, 0.6)
    node.destroy_node()


def test_an_obstacle_is_taken_out_of_gazebo(monkeypatch, interfaces, ros):
    """By its name."""
    graph = Graph(('/world/kitchen/remove', 'DeleteEntity'))
    node = spawner(monkeypatch, graph, remove='true')
    assert node._status.message == 'obstacle is gone' and node.exit_status == 0
    assert graph.clients['/world/kitchen/remove'].asked[0].entity == Entity(0, 'obstacle', 2)
    node.destroy_node()


def test_nobody_to_ask_ends_with_what_is_missing(monkeypatch, interfaces, ros):
    """After its patience."""
    node = spawner(monkeypatch, Graph(), patience_s=0.5, sim='gazebo')
    assert not node.done
    while not node.done:
        node._tick()
    assert node.exit_status == 1
    assert 'no bridge offers /world/WORLD/create of Gazebo' in node._status.message
    node.destroy_node()
