"""Several nodes in one process: found by name, told apart by parameters, ended by the first."""
import signal
import subprocess
import sys

from oomwoo_localization.compose_node import node_class
from oomwoo_localization.localization_health_node import LocalizationHealthNode
from oomwoo_localization.ros_support import FrameTree, run_nodes, SuiteNode
import pytest
from rcl_interfaces.srv import GetParameters
import rclpy


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
