"""The CPU budget's table and what counts; the measuring itself takes a running graph."""
import os
import subprocess
import sys
import time

import cpu_budget
import psutil


def test_the_table_adds_up_the_robots_nodes_and_leaves_the_simulator_apart():
    costs = [cpu_budget.Cost('embedded_sim', 9.0, 70.0), cpu_budget.Cost('follower', 4.0, 60.0),
             cpu_budget.Cost('manager', 1.5, 50.0)]
    rows = cpu_budget.table(costs).splitlines()
    assert rows[2:] == [
        '| `follower` | 4.0 | 16 | 60 |', '| `manager` | 1.5 | 6 | 50 |',
        '| **together** | 5.5 | 22 | 110 |', '| (`embedded_sim`) | 9.0 | | 70 |']


def test_nodes_are_found_below_a_launch_by_their_names_and_their_work_is_counted():
    works = 'import time\nwhile True: sum(range(20000))'
    child = f'{sys.executable} -c "{works}" --ros-args -r __node:=worker'
    rest = f'{sys.executable} -c "import time; time.sleep(60)"'
    launch = subprocess.Popen(
        ['bash', '-c', f'{child} & {rest} & {rest} lib/compose clean/a clean/b --ros-args & wait'],
        start_new_session=True)
    try:
        until = time.monotonic() + 30.0
        while len(nodes := cpu_budget.nodes_of([launch])) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert set(nodes) == {'worker', 'a + b'}
        before = cpu_budget.cpu_s(nodes['worker'])
        while cpu_budget.cpu_s(nodes['worker']) < before + 0.2:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert isinstance(nodes['worker'], psutil.Process)
    finally:
        os.killpg(launch.pid, 9)
        launch.wait()
