#!/usr/bin/env python3
"""
Say when no scan arrives from the simulator, and why.

Runs beside a simulator in the container: speaks up within 20 s of its start, and again whenever
scans cease; ends with the simulator. With ``--once`` it waits for one scan and tells by its exit
status.
"""
import argparse
from dataclasses import dataclass, field
import glob
import os
from pathlib import Path
import shutil
import sys
import time

from oomwoo_gazebo.scan_watch import has_card, software_rendering, unrendered

PATIENCE_S = 15.0
_LOOK_S = 0.5
_REST_S = 2.0                   # between two looks while all is well
_SHARED_MEMORY_MB = 128
_PROGRAMS = {                   # what to look for in a command line
    'gazebo': ('gz sim', 'gz-sim'),
    'embedded': ('embedded_sim',),
    'bridge': ('parameter_bridge',),
}


@dataclass
class Facts:
    """What can be seen from outside of the simulator."""

    running: set = field(default_factory=set)        # of _PROGRAMS
    clock_s: tuple = ()                              # first and last simulated time that came
    publishers: int = 0                              # of the scan
    render_device: bool = False
    software_gl: bool = False
    shared_memory_mb: int = 1024


def diagnose(facts):
    """Return why there is no scan, the likeliest first: sentences that say what to do."""
    found = []
    if not facts.running & {'gazebo', 'embedded'}:
        return ['no simulator is running: see above what its launch said']
    if not facts.clock_s:
        found.append(
            'there is no /clock either: ' + (
                'Gazebo is still loading its world, or its bridge has ended'
                if 'bridge' in facts.running else 'ros_gz_bridge is not running')
            if 'gazebo' in facts.running else
            'there is no /clock either: the embedded simulator is still starting')
    elif facts.clock_s[1] <= facts.clock_s[0]:
        found.append('simulated time stands still: the simulation is paused')
    elif not facts.publishers:
        found.append(
            'nobody publishes it: the bridge does not know the topic, the robot is not in the '
            'world, or it is under a namespace')
    elif 'gazebo' in facts.running:
        found.append(unrendered(facts.software_gl, facts.render_device))
    if facts.shared_memory_mb < _SHARED_MEMORY_MB:
        found.append(
            f'/dev/shm has {facts.shared_memory_mb} MB, and DDS wants {_SHARED_MEMORY_MB}: docker '
            'run --shm-size 512m')
    return found or ['the simulator runs and publishes: it may be too slow for this machine']


def running(proc='/proc'):
    """Return which of the programs run, by the command lines below ``proc``."""
    found = set()
    for path in glob.glob(f'{proc}/[0-9]*/cmdline'):
        try:
            line = Path(path).read_bytes().replace(b'\0', b' ').decode(errors='replace')
        except OSError:
            continue                    # ended meanwhile
        if 'ros2 launch' in line or 'scan_watchdog' in line:
            continue
        found |= {name for name, words in _PROGRAMS.items() if any(w in line for w in words)}
    return found


class Watch:
    """Listens to scans and the clock."""

    def __init__(self, topic):
        """Join the graph."""
        import rclpy
        from rclpy.qos import qos_profile_sensor_data
        from rosgraph_msgs.msg import Clock
        from sensor_msgs.msg import LaserScan
        rclpy.init()
        self._rclpy = rclpy
        self._node = rclpy.create_node(f'scan_watchdog_{os.getpid()}')
        self.topic, self.scans, self.clock_s = topic, 0, ()
        self._node.create_subscription(
            LaserScan, topic, self._on_scan, qos_profile_sensor_data)
        self._node.create_subscription(
            Clock, 'clock', self._on_clock, qos_profile_sensor_data)

    def _on_scan(self, _):
        self.scans += 1

    def _on_clock(self, msg):
        now = msg.clock.sec + msg.clock.nanosec * 1e-9
        self.clock_s = (self.clock_s[0], now) if self.clock_s else (now, now)

    def spin(self, seconds):
        """Take in what comes for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._rclpy.spin_once(self._node, timeout_sec=seconds)

    def facts(self):
        """Return the :class:`Facts` of now."""
        return Facts(
            running(), self.clock_s, self._node.count_publishers(self.topic),
            has_card(os.environ.get('OOMWOO_DEV') or '/dev'), software_rendering(),
            shutil.disk_usage('/dev/shm').total // 2**20 if os.path.isdir('/dev/shm') else 0)

    def explain(self, silent_s):
        """Write why there is no scan."""
        print(
            f'scan watchdog: no scan on {self.topic} for {silent_s:.0f} s: '
            f'{"; ".join(diagnose(self.facts()))}', file=sys.stderr, flush=True)


def once(watch, patience_s, began_s):
    """Wait for one scan; return the exit status."""
    while time.monotonic() - began_s < patience_s:
        watch.spin(_LOOK_S)
        if watch.scans:
            return 0
    watch.explain(patience_s)
    return 1


def keep_watching(watch, patience_s, began_s):
    """Speak up each time that scans have ceased, until the parent process is gone."""
    parent, heard, last_s, told = os.getppid(), 0, began_s, False
    while os.getppid() == parent:
        watch.spin(_LOOK_S)
        now = time.monotonic()
        if watch.scans > heard:
            if told or not heard:
                print(f'scan watchdog: scans arrive on {watch.topic}', file=sys.stderr, flush=True)
            heard, last_s, told = watch.scans, now, False
            watch.clock_s = watch.clock_s[1:] * 2       # whether time goes on from here
            time.sleep(_REST_S)
        elif not told and now - last_s > patience_s:
            watch.explain(now - last_s)
            told = True
    return 0


def main(arguments=None):
    """Run from the command line; return the exit status."""
    began_s = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--topic', default='scan', help='the topic of the scans')
    parser.add_argument('--patience', type=float, default=PATIENCE_S, metavar='SECONDS')
    parser.add_argument('--once', action='store_true', help='wait for one scan and end')
    options = parser.parse_args(arguments)
    watch = Watch(options.topic)
    try:
        job = once if options.once else keep_watching
        return job(watch, options.patience, began_s)
    except KeyboardInterrupt:
        return 130


if __name__ == '__main__':
    sys.exit(main())
