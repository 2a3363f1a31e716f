"""Several nodes in one process: found by name, told apart by parameters, ended by the first."""
import signal
import subprocess
import sys
import time

from oomwoo_localization.compose_node import node_class
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.localization_health_node import LocalizationHealthNode
from oomwoo_localization.process_ros_support import run_nodes
from oomwoo_localization.ros_support import LATCHED_QOS, SuiteNode
import pytest
from rcl_interfaces.srv import GetParameters
import rclpy
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMessage
from std_msgs.msg import String


def test_a_node_is_found_by_package_and_executable():
    """As ros2 run has it."""
    assert node_class('oomwoo_localization/localization_health') is LocalizationHealthNode


@pytest.mark.parametrize('name', [
    'localization_health', 'oomwoo_clean/localization_health', 'oomwoo_localization/compose'])
def test_what_is_no_node_of_the_suite_is_named(name):
    """Without a package, of another one, or nothing that could be composed."""
    with pytest.raises(ValueError, match=name):
        node_class(name)


def started(*words):
    """Start the process."""
    return subprocess.Popen(
        [sys.executable, '-m', 'oomwoo_localization.compose_node', *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_nodes_share_a_process_and_keep_their_own_parameters(tmp_path):
    """Both are in the graph under the namespace; SIGTERM ends both in order."""
    own = {'localization_health': ('lost_below', 0.41), 'scan_filter': ('static_below', 0.32)}
    file = tmp_path / 'parameters.yaml'
    file.write_text(''.join(
        f'/upstairs/{node}: {{ros__parameters: {{{name}: {value}}}}}\n'
        for node, (name, value) in own.items()))
    process = started(
        *(f'oomwoo_localization/{node}' for node in own),
        '--ros-args', '-r', '__ns:=/upstairs', '--params-file', str(file))
    rclpy.init()
    listener = rclpy.create_node('listener')
    try:
        for node, (name, value) in own.items():
            client = listener.create_client(GetParameters, f'/upstairs/{node}/get_parameters')
            assert client.wait_for_service(60.0) and process.poll() is None
            future = client.call_async(GetParameters.Request(names=[name]))
            rclpy.spin_until_future_complete(listener, future, timeout_sec=60.0)
            assert [v.double_value for v in future.result().values] == [value]
    finally:
        listener.destroy_node()
        rclpy.shutdown()
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=45)
    assert process.returncode == 0, output


def test_a_refused_parameter_ends_it_and_is_named():
    """Nothing of it stays in the graph."""
    process = started('oomwoo_localization/scan_filter', 'oomwoo_localization/localization_health',
                      '--ros-args', '-p', 'lost_below:=-1.0')
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2 and 'lost_below' in output


def test_they_share_what_was_heard_of_tf():
    """One listener for the nodes of a process; none is left for the next."""
    listeners = []

    class Looking(SuiteNode):

        def __init__(self):
            super().__init__(f'looking_{len(listeners)}')
            self.frames = FrameTree(self)
            listeners.append(self.frames._listener)
            self.done = True

    run_nodes([Looking, Looking])
    run_nodes([Looking])
    assert listeners[0] is listeners[1] is not listeners[2]


def test_they_take_a_message_in_once_for_all():
    """One subscription for a topic and its QoS, whatever name it was remapped from."""
    heard, subscriptions = [], []

    class Hearing(SuiteNode):

        def __init__(self, name, depth=10, **kwargs):
            super().__init__(name, **kwargs)
            self.create_subscription(
                String, '/word', lambda msg: heard.append((name, msg.data)), depth)
            self.create_unread_subscription(
                String, '/word', lambda read: heard.append((f'{name} read', read().data)), depth)

    class Saying(SuiteNode):

        def __init__(self):
            super().__init__('saying')
            self.ends = self.create_subscription(
                String, '/word', lambda msg: heard.append(('ended', msg.data)), 10)
            assert self.destroy_subscription(self.ends)
            assert not self.destroy_subscription(self.ends)
            self.word = self.create_publisher(String, '/word', 10)
            self.create_timer(0.1, self._say)

        def _say(self):
            subscriptions.append(len(self.get_subscriptions_info_by_topic('/word')))
            if heard:
                self.done = True
            elif subscriptions[-1] == 2:
                self.word.publish(String(data='yes'))

    run_nodes([lambda: Hearing('one'), lambda: Hearing('two', 10),
               lambda: Hearing('three', 5), Saying])
    assert max(subscriptions) == 2                    # one of depth 10, one of depth 5
    assert sorted(heard[:6]) == sorted(
        (name + how, 'yes') for name in ('one', 'two', 'three') for how in ('', ' read'))


def test_what_is_latched_is_heard_by_whoever_comes_later():
    """It is not shared: the second would miss what was said before."""
    heard = []

    class Hearing(SuiteNode):

        def __init__(self, name):
            super().__init__(name)
            self.create_subscription(String, '/said', self._on_word, LATCHED_QOS)
            self.create_timer(0.05, lambda: setattr(self, 'done', len(heard) == 2))

        def _on_word(self, msg):
            heard.append((self.get_name(), msg.data))

    class Saying(SuiteNode):

        def __init__(self):
            super().__init__('saying')
            self.word = self.create_publisher(String, '/said', LATCHED_QOS)
            self.word.publish(String(data='before'))

    run_nodes([Saying, lambda: Hearing('one'), lambda: Hearing('two')])
    assert sorted(heard) == [('one', 'before'), ('two', 'before')]


def test_the_first_that_is_done_ends_all_and_says_how():
    """Each is stopped, in order, while it can still publish."""
    stopped = []

    class Short(SuiteNode):
        exit_status = 3

        def __init__(self):
            super().__init__('short')
            self.create_timer(0.05, self._end)

        def _end(self):
            self.done = True

        def stop(self):
            stopped.append(self.context.ok())

    class Long(SuiteNode):
        exit_status = 5

        def stop(self):
            stopped.append(self.context.ok())

    assert run_nodes([lambda: Long('long'), Short]) == 3
    assert stopped == [True, True]


def test_what_a_callback_raises_leaves_no_robot_driving():
    """Each is stopped while it can still publish, also after one that cannot; then it goes on."""
    stopped = []

    class Failing(SuiteNode):

        def __init__(self):
            super().__init__('failing')
            self.create_timer(0.05, self._fail)

        def _fail(self):
            raise RuntimeError('in a callback')

        def stop(self):
            stopped.append(self.context.ok())
            raise ValueError('in stop')

    class Other(SuiteNode):

        def stop(self):
            stopped.append(self.context.ok())

    with pytest.raises(RuntimeError, match='in a callback'):
        run_nodes([Failing, lambda: Other('other')])
    assert stopped == [True, True]


def test_the_time_of_a_node_follows_its_clock_when_that_changes():
    """The wall's, then that of /clock from the moment it is asked for, and back."""
    told, back = [], []

    class Clocked(SuiteNode):

        def time_went_back(self):
            back.append(self.now_s())

    class Telling(SuiteNode):

        def __init__(self):
            super().__init__('telling')
            self.clock = self.create_publisher(ClockMessage, '/clock', 1)
            self.create_timer(0.05, self._tell)
            self.hour = iter([50, 60, 70, 55] + [56] * 200)

        def _tell(self):
            if not told:
                told.append(node.now_s())
                simulated(True)
            elif self.clock.get_subscription_count():
                self.clock.publish(ClockMessage(clock=Time(seconds=next(self.hour)).to_msg()))
                if node.now_s() == 56.0:
                    told.append(node.now_s())
                    simulated(False)
                    told.append(node.now_s())
                    self.done = True

    def simulated(on):
        node.set_parameters([Parameter('use_sim_time', value=on)])

    def clocked():
        nonlocal node
        node = Clocked('clocked')
        return node

    node = None
    run_nodes([clocked, Telling])
    assert abs(told[0] - time.time()) < 30.0 and abs(told[2] - time.time()) < 30.0
    assert told[1] == 56.0 and back == [55.0]
