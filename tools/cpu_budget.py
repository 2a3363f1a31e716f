#!/usr/bin/env python3
"""
Measure what each node costs while the robot cleans edges at real time.

    python tools/cpu_budget.py [--seconds 60] [--recovery] [--apart] [--sim-time] [--world NAME]
                               [--json FILE]

Starts the edge-cleaning graph with the embedded simulator at a real-time factor of 1, waits until
the robot follows an edge, and adds up the CPU time of every process over some seconds of robot
time. Other work on the machine makes CPU times longer. The nodes share a process, as
``cleaning.launch.py`` has it, unless ``--apart``. Time is the wall's, as on a robot; with
``--sim-time`` every node takes it from ``/clock``, 20 times a second. The exit status is non-zero
when the nodes of the robot (all but the simulator) take more than ``--bound`` of a core.
"""

import argparse
from contextlib import contextmanager, ExitStack
from dataclasses import asdict, dataclass
import json
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import tempfile
import time

from oomwoo_sim_support.generate import map_file_for
from oomwoo_sim_support.layout import load_layout
import psutil
import rclpy
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

BOUND_PCT = 15.0
SIMULATOR = {'embedded_sim'}
_START_S = 180.0              # wall time for the graph to come up on a loaded machine
_SETTLE_S = 3.0
_SIMULATOR_PARAMETERS = """
/**:
  ros__parameters: {clock_rate: 10.0, imu_rate: 10.0}
"""
# A core of a Raspberry Pi 4 does about a quarter of the work of one here.
_PI4_FACTOR = 4.0


@dataclass
class Cost:
    """One process: per cent of a core per second of robot time, and memory of its own."""

    node: str
    cpu_pct: float
    memory_mb: float


class Graph:
    """What the harness hears from the graph that it measures."""

    def __init__(self, sim_time):
        """Join it; ``sim_time``: robot time is that of ``/clock``, else the wall's."""
        self._sim_time = sim_time
        rclpy.init()
        self._node = rclpy.create_node('cpu_budget')
        self._state = None
        self._node.create_subscription(
            String, 'contour_follower/state', self._on_state, 10)

    def _on_state(self, msg):
        self._state = msg.data

    def wait_for_follow(self, launches):
        """Wait until the robot follows an edge."""
        until = time.monotonic() + _START_S
        while self._state != 'FOLLOW':
            for launch in launches:
                if launch.poll() is not None:
                    raise RuntimeError(f'{" ".join(launch.args)} ended: {launch.returncode}')
            if time.monotonic() > until:
                raise RuntimeError(f'nothing follows an edge after {_START_S:.0f} s')
            rclpy.spin_once(self._node, timeout_sec=0.2)

    def robot_time_s(self):
        """Return the robot's time of now; the clock is heard only for as long as it takes."""
        if not self._sim_time:
            return time.monotonic()
        heard = []
        subscription = self._node.create_subscription(
            Clock, 'clock', heard.append, qos_profile_sensor_data)
        until = time.monotonic() + 20.0
        while not heard:
            if time.monotonic() > until:
                raise RuntimeError('/clock has ceased')
            rclpy.spin_once(self._node, timeout_sec=0.2)
        self._node.destroy_subscription(subscription)
        return heard[-1].clock.sec + heard[-1].clock.nanosec * 1e-9

    def close(self):
        """Leave it."""
        self._node.destroy_node()
        rclpy.shutdown()


@contextmanager
def launched(folder, *words):
    """Run ``ros2 launch`` in a folder; end it with all that it started."""
    with open(Path(folder) / 'launch.txt', 'a', encoding='utf-8') as log:
        process = subprocess.Popen(
            ['ros2', 'launch', *words], cwd=folder, stdout=log, stderr=log,
            start_new_session=True)
        try:
            yield process
        finally:
            for number in (signal.SIGINT, signal.SIGKILL):
                if process.poll() is None:
                    os.killpg(process.pid, number)
                    try:
                        process.wait(20)
                    except subprocess.TimeoutExpired:
                        continue


def nodes_of(launches):
    """Return ``{node name: psutil.Process}`` of what the launches started."""
    found = {}
    for launch in launches:
        for process in psutil.Process(launch.pid).children(recursive=True):
            line = ' '.join(process.cmdline())
            name = re.search(r'__node:=(\w+)', line)
            several = re.findall(r'\w+/(\w+)', line.partition('/compose ')[2].split(' --')[0])
            if name or several:
                found[' + '.join(several) or name[1]] = process
    return found


def cpu_s(process):
    """Return the CPU seconds of a process so far, its threads and system calls included."""
    times = process.cpu_times()
    return times.user + times.system


def measure(graph, launches, seconds):
    """Return the list of :class:`Cost`, dearest first, and the robot time that it is of."""
    nodes = nodes_of(launches)
    begin_s, before = graph.robot_time_s(), {name: cpu_s(p) for name, p in nodes.items()}
    time.sleep(seconds)
    after, end_s = {name: cpu_s(p) for name, p in nodes.items()}, graph.robot_time_s()
    robot_s = end_s - begin_s
    costs = [
        Cost(name, 100.0 * (after[name] - before[name]) / robot_s,
             process.memory_full_info().uss / 2**20)
        for name, process in nodes.items()]
    return sorted(costs, key=lambda c: -c.cpu_pct), robot_s


def table(costs):
    """Return the costs as a Markdown table, the simulator apart."""
    rows = ['| node | CPU, % of a core here | on a Raspberry Pi 4, about | own memory, MB |',
            '| --- | ---: | ---: | ---: |']
    ours = [c for c in costs if c.node not in SIMULATOR]
    total = Cost('**together**', sum(c.cpu_pct for c in ours), sum(c.memory_mb for c in ours))
    for cost in (*ours, total):
        name = cost.node if cost is total else f'`{cost.node}`'
        rows.append(f'| {name} | {cost.cpu_pct:.1f} | {_PI4_FACTOR * cost.cpu_pct:.0f} | '
                    f'{cost.memory_mb:.0f} |')
    rows += [f'| (`{c.node}`) | {c.cpu_pct:.1f} | | {c.memory_mb:.0f} |'
             for c in costs if c.node in SIMULATOR]
    return '\n'.join(rows)


def run(graph, options):
    """Start everything, measure, end everything; returns as :func:`measure`."""
    layout = load_layout(options.world)
    start = [f'{k}:={v}' for k, v in zip(('x_pose', 'y_pose', 'yaw'), layout.start)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        parameters = Path(folder) / 'simulator.yaml'
        parameters.write_text(_SIMULATOR_PARAMETERS, encoding='utf-8')
        clock = f'use_sim_time:={str(options.sim_time).lower()}'
        commands = [
            ('oomwoo_gazebo', 'world.launch.py', 'sim:=embedded', 'reflex:=elsewhere', clock,
             f'world:={options.world}', f'params_file:={parameters}', *start),
            ('oomwoo_clean', 'cleaning.launch.py', 'nav:=embedded', 'localizer:=scan', clock,
             f'compose:={str(not options.apart).lower()}', f'output_dir:={folder}',
             f'map:={map_file_for(options.world, folder)}', *start)]
        if options.recovery:
            commands.append(
                ('oomwoo_localization', 'localization_recovery.launch.py', clock))
        launches = [stack.enter_context(launched(folder, *words)) for words in commands]
        try:
            graph.wait_for_follow(launches)
            time.sleep(_SETTLE_S)
            return measure(graph, launches, options.seconds)
        except RuntimeError as error:
            lines = (Path(folder) / 'launch.txt').read_text(encoding='utf-8').splitlines()
            raise RuntimeError('\n'.join([str(error), *lines[-15:]])) from error


def main(arguments=None):
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--seconds', type=float, default=60.0, help='of wall time to measure over')
    parser.add_argument('--world', default='living_room', help='world of the suite')
    parser.add_argument('--recovery', action='store_true',
                        help='with health, relocalizer and localization manager')
    parser.add_argument('--apart', action='store_true', help='a process for each node')
    parser.add_argument('--sim-time', action='store_true',
                        help='take the time from /clock, as in a simulation')
    parser.add_argument('--bound', type=float, default=BOUND_PCT, metavar='PERCENT',
                        help='of a core that the nodes may take together')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the results there, too')
    options = parser.parse_args(arguments)
    graph = Graph(options.sim_time)
    try:
        costs, robot_s = run(graph, options)
    except RuntimeError as error:
        print(f'cpu_budget: {error}', file=sys.stderr)
        return 1
    finally:
        graph.close()
    total = sum(c.cpu_pct for c in costs if c.node not in SIMULATOR)
    print(table(costs))
    print(f'\n{robot_s:.0f} s of robot time in {options.seconds:.0f} s; together {total:.1f} % '
          f'of a core, bound {options.bound:.0f} %')
    if options.json:
        options.json.write_text(json.dumps({
            'trials': [asdict(c) for c in costs],
            'summary': {'total_pct': total, 'robot_s': robot_s, 'bound_pct': options.bound}}))
    return 0 if total <= options.bound else 1


if __name__ == '__main__':
    sys.exit(main())
