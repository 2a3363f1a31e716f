"""Contacts to bumpers: what presses, for how long, and the adapter over real DDS."""
from dataclasses import dataclass, field
import sys
import time
from types import ModuleType

from hypothesis import given
from hypothesis import strategies as st
from oomwoo_gazebo import bumper_adapter_node
from oomwoo_gazebo.bumper import Bumper, BumperState
from oomwoo_localization.robot import load_robot
from oomwoo_localization.settings import SettingError
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Empty

FACET = ('oomwoo_one::base_footprint::base_footprint_fixed_joint_lump__'
         'bumper_left_link_collision_0_collision_1')
WALL, FLOOR = 'room::link::room_0_collision', 'ground_plane::link::collision'
BUMPER = Bumper('oomwoo_one', frozenset({'ground_plane'}), 0.08)


@pytest.mark.parametrize('pair, presses', [
    ((FACET, WALL), True), ((WALL, FACET), True),
    ((FACET, FLOOR), False), ((FLOOR, FACET), False),
    ((FACET, 'oomwoo_one::wheel_left_link::wheel_left_link_collision'), False),
    ((WALL, 'chair::link::leg_collision'), False), ((WALL, FLOOR), False), (('', ''), False),
    # The robot's part of a name that only begins with it is another robot's.
    (('oomwoo_one_1::base_footprint::x', WALL), False),
    (('oomwoo_one_1::base_footprint::x', FACET), True)])
def test_what_presses_is_anything_but_floor_and_robot(pair, presses):
    """Whichever of the two Gazebo names first."""
    assert BUMPER.presses(*pair) is presses


@given(st.floats(0.0, 1e6), st.floats(0.0, 1.0))
def test_a_touch_is_felt_on_its_side_for_the_release_time(at_s, later_s):
    """And no longer."""
    state = BumperState(BUMPER)
    assert state.pressed(at_s) == {'left': False, 'right': False}
    state.touch('left', [(FACET, FLOOR), (FACET, WALL)], at_s)
    now_s = at_s + later_s
    assert state.pressed(now_s) == {'left': now_s - at_s <= 0.08, 'right': False}


def test_a_touch_goes_on_while_it_is_reported_and_the_floor_does_not_prolong_it():
    """Contacts come at every step of the physics."""
    state = BumperState(BUMPER)
    for step in range(50):
        state.touch('right', [(FACET, WALL)], step * 0.002)
        state.touch('right', [(FACET, FLOOR)], step * 0.002 + 0.06)
    assert state.pressed(0.17)['right'] and not state.pressed(0.19)['right']
    state.forget()
    assert not state.pressed(0.1)['right']


@dataclass
class Entity:
    """As ros_gz_interfaces has it."""

    name: str = ''


@dataclass
class Contact:
    """As ros_gz_interfaces has it."""

    collision1: Entity
    collision2: Entity


@dataclass
class Contacts:
    """As ros_gz_interfaces has it."""

    contacts: list = field(default_factory=list)


def contacts(*pairs):
    """Return a message of pairs of names."""
    return Contacts([Contact(Entity(a), Entity(b)) for a, b in pairs])


class Graph:
    """The adapter, and a node that listens to it and lets it live."""

    def __init__(self):
        self.adapter = bumper_adapter_node.BumperAdapterNode()
        self.node = rclpy.create_node('bumper_test')
        self.heard = {'left': [], 'right': []}
        for side, got in self.heard.items():
            self.node.create_subscription(
                Bool, f'bumper/{side}', lambda msg, got=got: got.append(msg.data), 50)
        self.life = self.node.create_publisher(JointState, 'joint_states', 10)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.adapter)
        self.executor.add_node(self.node)

    def until(self, condition, alive=True, patience_s=30.0):
        """Spin until ``condition()``, with joint states coming in or not."""
        end = time.monotonic() + patience_s
        while not condition() and time.monotonic() < end:
            if alive:
                self.life.publish(JointState())
            self.executor.spin_once(timeout_sec=0.02)
        return condition()

    def close(self):
        """Take both down."""
        self.executor.shutdown()
        self.adapter.destroy_node()
        self.node.destroy_node()


@pytest.fixture
def graph(monkeypatch):
    """Start the adapter with a stand-in for ros_gz_interfaces, which is not to be had here."""
    package, messages = ModuleType('ros_gz_interfaces'), ModuleType('ros_gz_interfaces.msg')
    # The callbacks are called with what the real type looks like; DDS only carries an empty one.
    messages.Contacts = Empty
    monkeypatch.setitem(sys.modules, 'ros_gz_interfaces', package)
    monkeypatch.setitem(sys.modules, 'ros_gz_interfaces.msg', messages)
    rclpy.init()
    graph = Graph()
    try:
        yield graph
    finally:
        graph.close()
        rclpy.try_shutdown()


def test_the_adapter_speaks_while_gazebo_does_and_presses_and_releases(graph):
    """Silence of the contact sensors is a released bumper, silence of Gazebo is silence."""
    heard, adapter = graph.heard, graph.adapter
    assert adapter._status.values[1].value == 'no_joint_states'
    assert graph.until(lambda: all(heard.values())), 'no word though Gazebo lives'
    assert not any(heard['left'] + heard['right'])
    began = time.monotonic()
    adapter._on_contacts('left', contacts((FACET, FLOOR)))
    adapter._on_contacts('right', contacts((FLOOR, FACET), (WALL, FACET)))
    assert graph.until(lambda: True in heard['right'])
    assert graph.until(lambda: not heard['right'][-1])
    assert time.monotonic() - began >= load_robot().bumper.release_s
    assert True not in heard['left']
    assert graph.until(lambda: adapter._status.message.startswith('no word'), alive=False)
    for got in heard.values():
        got.clear()
    graph.until(lambda: False, alive=False, patience_s=0.4)
    assert heard == {'left': [], 'right': []}


def test_of_the_messages_of_every_step_a_few_are_looked_at(graph, monkeypatch):
    """As many as hold a touch without a gap, on each side for itself, and the first at once."""
    adapter, looked, now = graph.adapter, [], [100.0]
    monkeypatch.setattr(adapter, 'now_s', lambda: now[0])
    monkeypatch.setattr(
        bumper_adapter_node, 'deserialize_message',
        lambda raw, kind: looked.append((raw, now[0])) or contacts((FACET, WALL)))
    for step in range(250):
        now[0] = 100.0 + step * 0.004
        adapter._on_raw('left', 'left')
        if step == 30:
            adapter._on_raw('right', 'right')
        assert adapter._state.pressed(now[0] + 0.004)['left']
    left = [at for side, at in looked if side == 'left']
    assert left[0] == 100.0 and 40 <= len(left) <= 50
    assert ('right', 100.12) in [(side, round(at, 3)) for side, at in looked]
    adapter.time_went_back()
    now[0] = 1.0
    adapter._on_raw('left', 'again')
    assert looked[-1] == ('again', 1.0)


def test_release_time_can_be_set_while_it_runs(graph):
    """Back to the robot's own with a negative one."""
    adapter = graph.adapter
    assert adapter._state.bumper.release_s == load_robot().bumper.release_s
    parameter = rclpy.parameter.Parameter('release_s', value=0.5)
    assert all(r.successful for r in adapter.set_parameters([parameter]))
    assert graph.until(lambda: adapter._state.bumper.release_s == 0.5)


def test_without_gazebos_messages_it_says_what_to_install(monkeypatch):
    """By name."""
    monkeypatch.setitem(sys.modules, 'ros_gz_interfaces', None)
    with pytest.raises(SettingError, match='ros_gz_interfaces is not installed.*apt'):
        bumper_adapter_node.contacts_type()
