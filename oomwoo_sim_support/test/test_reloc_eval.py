"""The evaluation on a grid: its sum, and one over DDS against everything played by the test."""

import csv
import math
import os
import signal
import subprocess
import sys
import time

from nav_msgs.msg import OccupancyGrid, Odometry
import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_localization.grids import OccupancyGrid as Grid
from oomwoo_localization.ros_support import (
    grid_to_msg,
    LATCHED_QOS,
    pose_from_msg,
    pose_to_msg,
    SENSOR_QOS,
)
from oomwoo_localization_msgs.srv import Relocalize
from oomwoo_sim_support.reloc_eval_node import summary
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import LaserScan
from simulation_interfaces.srv import SetEntityState

PUSHED = np.array([0.02, 0.0, math.radians(2.0)])


def row(accepted=True, err_m=0.01, err_deg=0.1):
    """Return what the summary reads of one pose."""
    return {'accepted': accepted, 'err_m': err_m, 'err_deg': err_deg, 'ms': 12.0}


def test_it_passes_only_when_all_are_accepted_and_right():
    line, good = summary([row(), row(err_m=0.02)], 3)
    assert good and line.startswith('PASS: 2 of 2 poses recovered, worst 2.0 cm and 0.10 deg')
    assert line.endswith('0 wrong ones accepted, 0 refused, 3 places left out')
    for bad in (row(accepted=False), row(err_m=0.4), row(err_deg=12.0)):
        line, good = summary([row(), bad])
        assert not good and line.startswith('FAIL: 1 of 2')
    assert '1 wrong ones accepted' in summary([row(), row(err_m=0.4)])[0]
    assert not summary([])[1]


class World(Node):
    """A simulator that pushes the robot aside once it is put; a relocalizer that starts late."""

    def __init__(self):
        super().__init__('world')
        self.pose, self.asked = np.zeros(3), 0
        self.map = self.create_publisher(OccupancyGrid, 'map', LATCHED_QOS)
        self.truth = self.create_publisher(Odometry, 'odom_truth', 10)
        self.scan = self.create_publisher(LaserScan, 'scan', SENSOR_QOS)
        self.create_service(SetEntityState, 'set_entity_state', self.on_put)
        self.create_service(Relocalize, 'global_relocalizer/relocalize', self.on_question)
        cells = np.zeros((60, 60), dtype=np.int8)
        cells[[0, -1]] = cells[:, [0, -1]] = 100
        self.map.publish(grid_to_msg(Grid(cells, 0.05, (-1.5, -1.5, 0.0))))
        self.loop = SingleThreadedExecutor()
        self.loop.add_node(self)

    def on_put(self, request, response):
        self.pose = compose(pose_from_msg(request.state.pose), PUSHED)
        response.result.result = response.result.RESULT_OK
        return response

    def on_question(self, request, response):
        self.asked += 1
        if self.asked <= 2:
            response.reason_code = 'no_map'
            return response
        response.success, response.score, response.confidence = True, 1.0, 1.0
        response.pose.pose.pose = pose_to_msg(self.pose)
        return response

    def step(self):
        """Say where the robot is, and let it look."""
        stamp = self.get_clock().now().to_msg()
        truth = Odometry()
        truth.header.stamp, truth.pose.pose = stamp, pose_to_msg(self.pose)
        self.truth.publish(truth)
        scan = LaserScan()
        scan.header.stamp = stamp
        self.scan.publish(scan)
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            self.loop.spin_once(timeout_sec=0.005)


def start(path):
    """Start the node with a csv file."""
    return subprocess.Popen(
        [sys.executable, '-m', 'oomwoo_sim_support.reloc_eval_node', '--ros-args', '-p',
         f'csv_path:={path}', '-p', 'headings:=2'],
        env=dict(os.environ, OMP_NUM_THREADS='1'), stderr=subprocess.PIPE, text=True)


def test_the_error_is_that_against_where_the_robot_was_when_it_looked(tmp_path):
    """It was pushed by 2 degrees, and was found there: that is no error of the relocalizer."""
    rclpy.init()
    world, process = World(), start(tmp_path / 'deep' / 'out.csv')
    try:
        patience = time.monotonic() + 90.0
        while process.poll() is None and time.monotonic() < patience:
            world.step()
        assert process.poll() == 0, process.stderr
        with open(tmp_path / 'deep' / 'out.csv', encoding='utf-8') as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 18
        assert max(float(row['err_deg']) for row in rows) < 0.1
        assert max(float(row['err_m']) for row in rows) < 1e-3
        assert {round(float(row['yaw_deg'])) for row in rows} == {2, -178}
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        world.loop.shutdown()
        world.destroy_node()
        rclpy.shutdown()
    assert 'PASS: 18 of 18' in said


def test_a_file_that_cannot_be_written_is_refused_at_once(tmp_path):
    (tmp_path / 'file').write_text('')
    process = start(tmp_path / 'file' / 'out.csv')
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 2 and 'csv_path' in said and 'Traceback' not in said
