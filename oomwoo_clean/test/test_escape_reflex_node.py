"""Reflex node and mux over real DDS, in one process, with a clock of the test's."""
import math
from pathlib import Path
import time

from action_msgs.srv import CancelGoal
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TransformStamped, Twist
from nav_msgs.msg import Odometry
from oomwoo_clean.escape_reflex_node import EscapeReflexNode, NodeSettings
from oomwoo_clean.velocity_mux import MuxError
from oomwoo_clean.velocity_mux_node import VelocityMuxNode
from oomwoo_localization.ros_support import LATCHED_QOS, ReflexWatch, SENSOR_QOS, twist_msg
from oomwoo_localization.settings import settings_table
import pytest
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray
import yaml

MUX_FILE = Path(__file__).resolve().parents[2] / 'oomwoo_bringup' / 'config' / 'twist_mux.yaml'
BEAMS, PUSH = 360, (0.2, 0.0)


def mux_parameters():
    """Return the parameters of twist_mux's file."""
    def flat(values, prefix=''):
        for key, value in values.items():
            if isinstance(value, dict):
                yield from flat(value, f'{prefix}{key}.')
            else:
                yield Parameter(f'{prefix}{key}', value=value)
    content = yaml.safe_load(MUX_FILE.read_text(encoding='utf-8'))
    return list(flat(content['/**']['ros__parameters']))


class Listener(Node):
    """A behaviour that has :meth:`now_s`, as SuiteNode."""

    def now_s(self):
        """Return the node clock in seconds."""
        return self.get_clock().now().nanoseconds * 1e-9


class Graph:
    """Both nodes, and the rest of the robot: clock, bumpers, scanner, behaviour, base."""

    def __init__(self):
        """Start all of it."""
        sim_time = Parameter('use_sim_time', value=True)
        self.reflex = EscapeReflexNode(parameter_overrides=[sim_time])
        self.mux = VelocityMuxNode(
            parameter_overrides=[sim_time, *mux_parameters()],
            cli_args=['--ros-args', '-r', 'cmd_vel_out:=cmd_vel_mux'])
        self.node = Listener('bench', parameter_overrides=[sim_time])
        self.executor = EventsExecutor()
        for node in (self.reflex, self.mux, self.node):
            self.executor.add_node(node)
        make = self.node.create_publisher
        self.clock = make(Clock, '/clock', 10)
        self.bumpers = {side: make(Bool, f'bumper/{side}', 10) for side in ('left', 'right')}
        self.wants = make(Twist, 'cmd_vel', 10)
        self.person = make(Twist, 'cmd_vel_teleop', 10)
        self.lock = make(Bool, 'emergency_stop', 10)
        self.scans = make(LaserScan, 'scan', SENSOR_QOS)
        self.odom = make(Odometry, 'odom', 10)
        self.touching = make(Bool, 'touch_cleaning', LATCHED_QOS)
        self.tf = make(TFMessage, '/tf', 10)
        self.tf_static = make(TFMessage, '/tf_static', LATCHED_QOS)
        self.base, self.active, self.status, self.pockets, self.cancels = [], [], [], [], []
        listen = self.node.create_subscription
        listen(Twist, 'cmd_vel_mux', lambda m: self.base.append(
            (self.now_s, m.linear.x, m.angular.z)), 10)
        listen(Bool, 'escape_reflex/active', lambda m: self.active.append(m.data), LATCHED_QOS)
        listen(DiagnosticStatus, 'escape_reflex/status', self._on_status, LATCHED_QOS)
        listen(MarkerArray, 'escape_reflex/pockets', self.pockets.append, LATCHED_QOS)
        self.node.create_service(
            CancelGoal, 'navigate_to_pose/_action/cancel_goal', self._on_cancel)
        self.reset = self.node.create_client(Trigger, 'escape_reflex/reset')
        self.parameters = self.node.create_client(SetParameters, 'escape_reflex/set_parameters')
        self.watch = ReflexWatch(self.node)
        self.now_s = 10.0
        self.pressed = {'left': False, 'right': False}
        self.scan_range = None                 # None: the scanner is silent
        self.wait(lambda: self.status and self.active and self.pockets)
        self.wait(lambda: self.node.count_subscribers('bumper/left') == 1
                  and self.node.count_subscribers('cmd_vel_mux') == 2
                  and self.reset.service_is_ready() and self.parameters.service_is_ready())
        mount = TransformStamped(child_frame_id='base_scan')
        mount.header.frame_id = 'base_footprint'
        mount.transform.rotation.w = 1.0
        self.tf_static.publish(TFMessage(transforms=[mount]))
        self.tick()

    def _on_status(self, msg):
        self.status.append(msg)
        self.latest = msg

    def _on_cancel(self, request, response):
        self.cancels.append((self.now_s, bytes(request.goal_info.goal_id.uuid)))
        return response

    def wait(self, until, tries=3000):
        """Spin until something holds; fails when it never does."""
        for _ in range(tries):
            if until():
                return
            self.executor.spin_once(timeout_sec=0.02)
        raise AssertionError('waited in vain')

    def settle(self):
        """Spin until nothing comes any more."""
        until = time.monotonic() + 0.012
        while time.monotonic() < until:
            before = len(self.base), len(self.active), len(self.status)
            self.executor.spin_once(timeout_sec=0.004)
            if before != (len(self.base), len(self.active), len(self.status)):
                until = time.monotonic() + 0.012

    def tick(self, push=None, person=None, step_s=0.1):
        """One step of the clock, with what bumpers, scanner and behaviour say at it."""
        self.now_s = round(self.now_s + step_s, 3)
        clock = Clock()
        clock.clock.sec, clock.clock.nanosec = divmod(round(self.now_s * 1e9), 10 ** 9)
        self.clock.publish(clock)
        nodes = (self.reflex, self.mux, self.node)
        self.wait(lambda: all(
            abs(node.get_clock().now().nanoseconds * 1e-9 - self.now_s) < 1e-6 for node in nodes))
        for side, publisher in self.bumpers.items():
            publisher.publish(Bool(data=self.pressed[side]))
        if self.scan_range is not None:
            self.scans.publish(self.scan())
        if push is not None and not self.watch.active:
            self.wants.publish(twist_msg(*push))
        if person is not None:
            self.person.publish(twist_msg(*person))
        self.settle()

    def scan(self):
        """Return a scan of a square room, seen from ``scan_range`` m off its middle."""
        msg = LaserScan(range_min=0.05, range_max=8.0)
        msg.header.frame_id = 'base_scan'
        msg.header.stamp = self.node.get_clock().now().to_msg()
        msg.angle_min, msg.angle_increment = -math.pi, math.tau / BEAMS
        for i in range(BEAMS):
            angle = msg.angle_min + i * msg.angle_increment
            c, s = math.cos(angle), math.sin(angle)
            ahead = (2.0 - self.scan_range) if c > 0 else (2.0 + self.scan_range)
            msg.ranges.append(min(ahead / max(abs(c), 1e-6), 2.0 / max(abs(s), 1e-6)))
        return msg

    def run(self, seconds, until=lambda: False, step_s=0.1, **kwargs):
        """Tick for some seconds; return the time at which ``until`` first held, None: never."""
        for _ in range(round(seconds / step_s)):
            self.tick(step_s=step_s, **kwargs)
            if until():
                return self.now_s
        return None

    def calm(self):
        """Let go of everything and free the robot, between two tests."""
        self.pressed = {'left': False, 'right': False}
        self.scan_range = None
        self.lock.publish(Bool(data=False))
        self.touching.publish(Bool(data=False))
        self.run(0.3)
        self.reset.call_async(Trigger.Request())
        self.run(1.0)
        assert self.active[-1] is False
        for found in (self.base, self.status, self.cancels):
            found.clear()

    def said(self):
        """Return state, reason and message of the newest status."""
        values = {pair.key: pair.value for pair in self.latest.values}
        return values['state'], values['reason_code'], self.latest.message


@pytest.fixture(scope='module')
def whole():
    """Return the graph; one for all tests."""
    rclpy.init()
    graph = Graph()
    yield graph
    graph.executor.shutdown()
    for node in (graph.reflex, graph.mux, graph.node):
        node.destroy_node()
    rclpy.try_shutdown()


@pytest.fixture
def graph(whole):
    """Return the graph at rest."""
    whole.calm()
    return whole


@pytest.mark.parametrize('side, away', [('left', -1), ('right', 1)])
def test_a_held_bumper_is_peeled_off_within_1600_ms_whatever_else_commands(graph, side, away):
    """The base gets a turn away and backwards, the goal is cancelled, and then it is let go."""
    graph.run(0.5, push=PUSH)
    assert graph.base[-1][1:] == PUSH
    graph.pressed[side] = True
    pressed_s = graph.now_s + 0.05            # the tick at which the switch says so
    began_s = graph.run(2.0, until=lambda: graph.base[-1][1] < 0.0, step_s=0.05, push=PUSH)
    # As seen by the base, which hears of it at the tick.
    assert 1.35 < began_s - pressed_s < 1.61
    assert math.copysign(1, graph.base[-1][2]) == away
    assert graph.active[-1] is True and graph.said()[:2] == ('PEEL', 'HELD_BUMPER')
    assert side in graph.said()[2] and 'held' in graph.said()[2]
    graph.pressed[side] = False
    assert graph.run(4.0, until=lambda: not graph.active[-1], push=PUSH) is not None
    assert graph.cancels == [(pytest.approx(began_s, abs=0.11), bytes(16))]
    assert graph.watch.over() and not graph.watch.over()
    # And the behaviour drives again, when the reflex's last word has run out.
    assert graph.run(1.0, until=lambda: graph.base[-1][1:] == PUSH, push=PUSH) is not None


def test_hold_time_is_live_tunable_and_refused_out_of_range(graph):
    """By ``ros2 param set``."""
    def change(value):
        request = SetParameters.Request(
            parameters=[Parameter('hold_s', value=value).to_parameter_msg()])
        future = graph.parameters.call_async(request)
        graph.wait(future.done)
        return future.result().results[0].successful
    assert change(0.5) and not change(99.0)
    graph.run(0.3, push=PUSH)
    graph.pressed['left'], pressed_s = True, graph.now_s + 0.05
    began_s = graph.run(
        2.0, until=lambda: graph.base[-1][1] < 0.0, step_s=0.05, push=PUSH)
    assert began_s - pressed_s < 0.61
    assert change(1.5)


def test_who_leans_on_a_robot_that_stands_does_not_set_it_off(graph):
    """Paused, docked, idle: it was not driven into anything."""
    graph.run(2.0)
    graph.pressed['left'] = True
    assert graph.run(3.0, until=lambda: graph.base or graph.active[-1]) is None


def test_a_person_comes_before_the_reflex(graph):
    """The reflex gives up as soon as its commands do not reach the base."""
    graph.run(0.5, push=PUSH)
    graph.pressed['left'] = True
    graph.run(3.0, push=PUSH, person=(-0.05, 0.3))
    assert {command[1:] for command in graph.base[8:]} == {(-0.05, 0.3)}
    assert any('higher rank' in status.message for status in graph.status)


def test_an_emergency_stop_holds_everybody(graph):
    """And says zero at once."""
    graph.run(0.5, push=PUSH)
    graph.lock.publish(Bool(data=True))
    graph.run(0.2)
    assert graph.base[-1][1:] == (0.0, 0.0)
    count = len(graph.base)
    graph.pressed['left'] = True
    graph.run(2.5, push=PUSH)
    assert len(graph.base) == count
    graph.lock.publish(Bool(data=False))
    graph.pressed['left'] = False
    assert graph.run(2.0, until=lambda: graph.base[-1][1:] == PUSH, push=PUSH) is not None


def test_travel_that_no_scan_shows_ends_in_a_truthful_stuck_and_reset_frees(graph):
    """Wiggle, two spirals, STUCK: zero, while the behaviour goes on; all within a minute."""
    graph.scan_range = 0.3
    began_s = graph.now_s
    stuck_s = graph.run(
        60.0, until=lambda: graph.said()[0] == 'STUCK', push=PUSH)
    assert stuck_s is not None and stuck_s - began_s < 60.0
    states = [{p.key: p.value for p in s.values}['state'] for s in graph.status]
    assert [state for state in states if state != 'WATCH'] == [
        'WIGGLE', 'SPIRAL', 'SPIRAL', 'STUCK']
    assert graph.status[-1].level == DiagnosticStatus.ERROR
    wiggle = graph.status[states.index('WIGGLE')].message
    assert 'no progress' in wiggle and 'beams' in wiggle
    graph.run(1.0)
    graph.base.clear()
    for _ in range(10):                       # a behaviour that does not stand
        graph.wants.publish(twist_msg(*PUSH))
        graph.tick()
    assert {command[1:] for command in graph.base} == {(0.0, 0.0)} and graph.active[-1] is True
    future = graph.reset.call_async(Trigger.Request())
    graph.wait(future.done)
    assert future.result().success
    assert graph.run(2.0, until=lambda: not graph.active[-1]) is not None


def test_stuck_ends_when_the_scan_shows_another_place(graph):
    """Somebody has carried it."""
    graph.scan_range = 0.3
    assert graph.run(60.0, until=lambda: graph.said()[0] == 'STUCK', push=PUSH) is not None
    graph.scan_range = 1.2
    assert graph.run(4.0, until=lambda: not graph.active[-1]) is not None
    assert 'moved' in graph.said()[2]


def test_who_drives_on_regardless_gets_nothing_through_while_the_reflex_drives(graph):
    """Never a fight: the base hears the reflex alone, from its first word to its last."""
    graph.run(0.5, push=PUSH)
    graph.pressed['left'] = True
    assert graph.run(2.0, until=lambda: graph.active[-1], push=PUSH) is not None
    graph.base.clear()
    for _ in range(60):
        graph.wants.publish(twist_msg(*PUSH))
        graph.tick()
        graph.pressed['left'] = False
        if not graph.active[-1]:
            break
    assert not graph.active[-1] and len(graph.base) > 10
    assert PUSH not in {command[1:] for command in graph.base}
    assert max(abs(linear) for _, linear, _ in graph.base) <= 0.12 + 1e-9
    assert graph.base[-1][1:] == (0.0, 0.0), 'its last word is a stop'


def test_a_bumper_topic_that_stops_pressed_ends_in_a_stand(graph):
    """Peels once to each side; then zero, for as long as nothing is heard."""
    graph.run(0.5, push=PUSH)
    graph.pressed['right'] = True
    graph.tick(push=PUSH)
    publishers, graph.bumpers = graph.bumpers, {}
    assert graph.run(20.0, until=lambda: graph.said()[0] == 'STUCK', push=PUSH) is not None
    assert graph.said()[1] == 'BUMPER_STUCK' and 'right' in graph.said()[2]
    graph.run(0.5)
    graph.base.clear()
    for _ in range(10):
        graph.wants.publish(twist_msg(*PUSH))
        graph.tick()
    assert {command[1:] for command in graph.base} == {(0.0, 0.0)}
    graph.bumpers, graph.pressed['right'] = publishers, False
    assert graph.run(3.0, until=lambda: not graph.active[-1]) is not None


def test_a_bumper_that_nobody_publishes_is_named(graph):
    """Blind to contact is said before it is needed."""
    count = graph.reflex.count_publishers
    graph.reflex.count_publishers = lambda topic: 0 if topic == 'bumper/left' else count(topic)
    graph.wait(lambda: graph.said()[1] == 'NO_BUMPER')
    assert '/bumper/left' in graph.said()[2] and '/bumper/right' not in graph.said()[2]
    del graph.reflex.count_publishers
    graph.wait(lambda: graph.said()[1] != 'NO_BUMPER')


def test_pockets_are_cylinders_in_the_map_as_soon_as_that_is_known(graph):
    """Of the diameter, ahead of where the robot stood."""
    before = len(graph.pockets[-1].markers)
    odom = Odometry()
    odom.pose.pose.position.x, odom.pose.pose.orientation.w = 1.0, 1.0
    graph.run(0.5, push=PUSH)
    graph.pressed['left'] = True
    for _ in range(18):
        graph.odom.publish(odom)
        graph.tick(push=PUSH)
    moved = TransformStamped(child_frame_id='odom')
    moved.header.frame_id, moved.header.stamp = 'map', graph.node.get_clock().now().to_msg()
    moved.transform.translation.y, moved.transform.rotation.w = 2.0, 1.0

    def placed():
        graph.tf.publish(TFMessage(transforms=[moved]))      # again and again, as a localizer does
        return len(graph.pockets[-1].markers) > before

    graph.wait(placed)
    marker = graph.pockets[-1].markers[-1]
    assert marker.type == marker.CYLINDER and marker.header.frame_id == 'map'
    assert (marker.pose.position.x, marker.pose.position.y) == pytest.approx((1.1745, 2.0))
    assert marker.scale.x == marker.scale.y == 0.5


def test_a_clock_that_jumps_back_lets_go(graph):
    """No command is left over, and it fires again afterwards."""
    graph.run(0.5, push=PUSH)
    graph.pressed['left'] = True
    assert graph.run(2.0, until=lambda: graph.active[-1], push=PUSH) is not None
    graph.now_s -= 5.0
    assert graph.run(0.3, until=lambda: not graph.active[-1]) is not None
    assert graph.run(2.5, until=lambda: graph.active[-1], push=PUSH) is not None


def test_a_silent_scanner_is_said_while_it_drives(graph):
    """In the status, and nothing is made of it."""
    graph.run(4.0, push=PUSH)
    graph.wait(lambda: graph.said()[1] == 'NO_SCAN')
    assert '/scan' in graph.said()[2] and graph.active[-1] is False


@pytest.mark.parametrize('fault, says', [
    ('empty', '0 beams'), ('old', 'stamped 9.0 s ago'), ('frame', "'nowhere'"),
    ('header', 'angle_increment')])
def test_scans_that_cannot_be_used_do_not_end_the_node_and_are_said(graph, fault, says):
    """They are as good as none, and the status says why."""
    graph.scan_range = 0.3
    msg = graph.scan()
    graph.scan_range = None
    if fault == 'empty':
        msg.ranges = []
    elif fault == 'header':
        msg.angle_increment = 0.0
    elif fault == 'frame':
        msg.header.frame_id = 'nowhere'

    def said():
        msg.header.stamp.sec = int(graph.now_s) - (9 if fault == 'old' else 0)
        msg.header.stamp.nanosec = round(graph.now_s % 1.0 * 1e9)
        graph.scans.publish(msg)
        return graph.said()[1] == 'NO_SCAN' and says in graph.said()[2]

    assert graph.run(40.0, until=said, push=PUSH) is not None
    assert '/scan' in graph.said()[2] and graph.base[-1][1:] == PUSH


def test_odometry_that_is_silent_or_no_number_is_said_while_it_drives(graph):
    """With scans, so that nothing else is to be said."""
    odom = Odometry()
    odom.pose.pose.orientation.w = 1.0

    def said(part, publish=None):
        if publish is not None:
            graph.odom.publish(publish)
        graph.scan_range = 0.3 * math.sin(graph.now_s)        # it gets on, as far as one can see
        return graph.said()[1] == 'NO_ODOMETRY' and part in graph.said()[2]

    assert graph.run(40.0, until=lambda: said('nothing comes on /odom'), push=PUSH) is not None
    assert graph.run(
        40.0, until=lambda: not said('', odom) and not graph.said()[1], push=PUSH) is not None
    odom.pose.pose.position.x = math.nan
    assert graph.run(40.0, until=lambda: said('not finite', odom), push=PUSH) is not None


def test_who_touches_on_purpose_and_was_killed_does_not_count_for_ever(graph):
    """Its true stays in the air; without a publisher it is nobody's word."""
    graph.touching.publish(Bool(data=True))
    graph.wait(lambda: graph.reflex._reflex.touch_cleaning)
    count = graph.reflex.count_publishers
    until = time.monotonic() + 1.2
    graph.wait(lambda: time.monotonic() > until)
    assert graph.reflex._reflex.touch_cleaning, 'while somebody is there it counts'
    graph.reflex.count_publishers = lambda topic: 0 if topic == 'touch_cleaning' else count(topic)
    graph.wait(lambda: not graph.reflex._reflex.touch_cleaning)
    del graph.reflex.count_publishers


@pytest.mark.parametrize('qos', [LATCHED_QOS, 10])
def test_a_stop_is_heard_latched_or_not_and_latched_from_before_the_start(whole, qos):
    """A crash of the mux does not set free what was stopped."""
    node = Node('who_stops', namespace='apart')
    lock = node.create_publisher(Bool, 'emergency_stop', qos)
    if qos is LATCHED_QOS:
        lock.publish(Bool(data=True))
    mux = VelocityMuxNode(
        namespace='apart', parameter_overrides=mux_parameters(),
        cli_args=['--ros-args', '-r', 'cmd_vel_out:=cmd_vel_mux'])
    executor = EventsExecutor()
    executor.add_node(mux)

    def wait(until):
        for _ in range(1500):
            if until():
                return
            executor.spin_once(timeout_sec=0.02)
        raise AssertionError('waited in vain')

    if qos is not LATCHED_QOS:
        wait(lambda: lock.get_subscription_count() == 1)      # a latched one is not matched
        lock.publish(Bool(data=True))
    wait(lambda: mux._mux.locked_rank(mux.now_s()) == 255)
    lock.publish(Bool(data=False))
    wait(lambda: mux._mux.locked_rank(mux.now_s()) == -1)
    executor.shutdown()
    for each in (mux, node):
        each.destroy_node()


@pytest.mark.parametrize('speeds', [(math.nan, 0.0), (0.1, math.inf)])
def test_a_command_that_is_no_number_goes_nowhere(graph, speeds):
    """Neither to the base nor to the one who drives; the reflexes still work after it."""
    graph.run(0.3, push=PUSH)
    graph.base.clear()
    graph.person.publish(twist_msg(*speeds))
    graph.run(0.3, push=PUSH)
    assert {command[1:] for command in graph.base} == {PUSH}


def test_a_mux_without_its_file_says_so():
    """Names what to start it with."""
    with pytest.raises(MuxError, match='twist_mux.yaml'):
        VelocityMuxNode(namespace='elsewhere')


def test_the_readme_has_the_parameters():
    """Written by settings_table; write it again after a change of the settings."""
    readme = Path(__file__).parents[1] / 'README.md'
    assert settings_table(NodeSettings) in readme.read_text(encoding='utf-8')
