"""docs/interfaces.md against the running graph: names, types and directions."""
import importlib.util
import os
from pathlib import Path
import re
import runpy
import subprocess
import sys
import time

import pytest
import rclpy
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

ROOT = Path(__file__).resolve().parents[2]
TO_MUX = '-r cmd_vel:=cmd_vel_mux'
NODES = {
    'embedded_sim': ('oomwoo_sim_support.embedded_sim_node', 'world:=kitchen_dining', TO_MUX),
    'scan_localizer': ('oomwoo_localization.scan_localizer_node', 'x_pose:=-2.0',
                       'y_pose:=-0.5'),
    'localization_health': ('oomwoo_localization.localization_health_node',),
    'global_relocalizer': ('oomwoo_localization.global_relocalizer_node',),
    'localization_manager': ('oomwoo_localization.localization_manager_node',),
    'scan_filter': ('oomwoo_localization.scan_filter_node',),
    'dynamic_object_detector': ('oomwoo_localization.dynamic_object_detector_node',),
    'kidnap_injector': ('oomwoo_sim_support.kidnap_injector_node',),
    'map_server': (
        'oomwoo_sim_support.map_server_node',
        f'yaml_filename:={ROOT}/oomwoo_sim_support/maps/kitchen_dining.yaml'),
    'embedded_navigator': ('oomwoo_sim_support.embedded_navigator_node',),
    'contour_follower': ('oomwoo_clean.contour_follower_node',),
    'bump_map': ('oomwoo_clean.bump_map_node',),
    'wall_clean_bump_out': ('oomwoo_clean.wall_clean_bump_out_node',),
    'dock_detector': ('oomwoo_clean.dock_detector_node',),
    'dock_drive': ('oomwoo_clean.dock_drive_node',),
    'clean_manager': ('oomwoo_clean.clean_manager_node', 'autostart:=false'),
    'coverage_planner': ('oomwoo_clean.coverage_planner_node', 'autostart:=false'),
    'escape_reflex': ('oomwoo_clean.escape_reflex_node',),
    'velocity_mux': (
        'oomwoo_clean.velocity_mux_node', '-r cmd_vel_out:=cmd_vel_mux',
        f'--params-file {ROOT}/oomwoo_bringup/config/twist_mux.yaml'),
}
# What every node has: settings, logs, the simulated time, diagnostics and its status; and tf2's
# own service.
COMMON = re.compile(
    r'/(rosout|parameter_events|diagnostics|tf2_frames|[a-z_]+/(status|get_parameters|'
    r'get_parameter_types|set_parameters|set_parameters_atomically|list_parameters|'
    r'describe_parameters|get_type_description))$')
ACTION = re.compile(r'(.*)/_action/send_goal$')


class Graph:
    """Who offers and uses what: ``topics`` and so on map a name to (type, from, to)."""

    def __init__(self, node):
        self.topics, self.services, self.actions = {}, {}, {}
        for name in NODES:
            for side, ask in enumerate((node.get_publisher_names_and_types_by_node,
                                        node.get_subscriber_names_and_types_by_node)):
                for topic, types in ask(name, '/'):
                    if '/_action/' not in topic and not (topic == '/clock' and side == 1):
                        self._add(self.topics, topic, types[0], side, name)
            for side, ask in enumerate((node.get_service_names_and_types_by_node,
                                        node.get_client_names_and_types_by_node)):
                for service, types in ask(name, '/'):
                    action = ACTION.match(service)
                    if action:
                        self._add(
                            self.actions, action[1], types[0].removesuffix('_SendGoal'), side,
                            name)
                    elif '/_action/' not in service:
                        self._add(self.services, service, types[0], side, name)

    @staticmethod
    def _add(into, name, type_, side, node):
        if not COMMON.match(name):
            into.setdefault(name.lstrip('/'), (type_, set(), set()))[1 + side].add(node)


def documented(heading):
    """Return the rows, lists of cells, of the first table below a heading of the page."""
    page = (ROOT / 'docs' / 'interfaces.md').read_text(encoding='utf-8')
    section = page.split(f'\n## {heading}\n')[1].split('\n## ')[0]
    rows = [line for line in section.splitlines() if line.startswith('| ')]
    return [[cell.strip() for cell in row.strip('|').split('|')] for row in rows[2:]]


def nodes_in(cell):
    """Return the set of nodes that a cell lists."""
    return {name.strip() for name in cell.split(',') if name.strip()}


@pytest.fixture(scope='module')
def running(tmp_path_factory):
    """Start all nodes and return (graph, set of (child, parent) frames)."""
    for module, *_ in NODES.values():
        if importlib.util.find_spec(module) is None:
            pytest.fail(f'{module} is not there')
    folder = tmp_path_factory.mktemp('graph')
    processes = []
    for module, *parameters in NODES.values():
        command = [sys.executable, '-m', module, '--ros-args']
        sim_time = str(module != NODES['embedded_sim'][0]).lower()
        for parameter in (*parameters, f'use_sim_time:={sim_time}'):
            command += parameter.split() if parameter.startswith('-') else ['-p', parameter]
        processes.append(subprocess.Popen(
            command, cwd=folder, env=dict(os.environ),
            stderr=subprocess.PIPE, text=True))
    rclpy.init()
    try:
        node = Node('interfaces_test')
        frames = set()
        latched = rclpy.qos.QoSProfile(
            depth=100, durability=rclpy.qos.DurabilityPolicy.TRANSIENT_LOCAL)
        for topic, qos in (('/tf', 100), ('/tf_static', latched)):
            node.create_subscription(TFMessage, topic, lambda msg: frames.update(
                (t.child_frame_id, t.header.frame_id) for t in msg.transforms), qos)
        until, seen, settled = time.monotonic() + 150.0, None, 0
        while time.monotonic() < until and settled < 10:
            # Many at a time: of ten transforms, nine are the simulator's.
            for _ in range(60):
                rclpy.spin_once(node, timeout_sec=0.005)
            for process in processes:
                assert process.poll() is None, process.stderr.read()
            if not set(NODES) <= set(node.get_node_names()):
                continue
            # Discovery goes on after a node's name is known: wait until nothing new turns up.
            graph = Graph(node)
            now = (graph.topics, graph.services, graph.actions, len(frames))
            settled = settled + 1 if now == seen else 0
            seen = now
        assert settled >= 10, f'only {node.get_node_names()} came up'
        yield graph, frames
    finally:
        rclpy.shutdown()
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.mark.parametrize('heading', ['Topics', 'Services', 'Actions'])
def test_the_tables_are_the_graph(running, heading):
    graph, _ = running
    real = getattr(graph, heading.lower())
    written = {name.strip('`'): (type_, nodes_in(from_), nodes_in(to))
               for name, type_, from_, to, _ in documented(heading)}
    assert written == real


def test_the_frames_are_those_of_tf(running):
    _, frames = running
    written = {
        (child.strip('`'), parent.strip('`')) for child, parent, _ in documented('Frames')}
    assert written == frames


def test_the_parameter_files_are_all_there_and_all_written_down():
    written = {cell.strip('`') for cell, _ in documented('Parameter files')}
    there = {str(path.relative_to(ROOT)) for path in ROOT.glob('oomwoo_*/config/*.yaml')}
    assert written == there


def test_the_launch_arguments_are_those_of_the_launch_files():
    for names, _, files in documented('Launch arguments'):
        for file in [ROOT / 'oomwoo_clean/launch/nav.launch.py'] if files == 'all' else [
                next(ROOT.glob(f'oomwoo_*/launch/{f.strip().strip("`")}'))
                for f in files.split(',')]:
            known = {name for name, _, _ in runpy.run_path(str(file))['ARGUMENTS']}
            for name in names.split(','):
                assert name.strip(' `') in known, f'{file.name} has no {name}'
