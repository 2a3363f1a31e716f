"""
``make demo``: clean every edge of a course in a real ROS 2 graph and show how it goes.

Starts ``demo.launch.py`` (simulator, map server, localizer, navigator, contour follower, edge
manager, recorder: a process each) and draws a progress bar from what the graph publishes until the
manager reports.
"""
import argparse
import fcntl
import json
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import time

from oomwoo_clean.demo_progress_node import DemoProgressNode
from oomwoo_localization.process_ros_support import run_node

_STOP_PATIENCE_S = 15.0
_LAUNCH_SAYS = '[launch.user]: '


def parse_arguments(argv=None):
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(
        prog='python3 -m oomwoo_clean.demo', description=__doc__.split('\n\n')[0].strip('` \n'),
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument(
        '--world', default='contour_torture', help='a world of the suite, or a layout file')
    parser.add_argument(
        '--real-time-factor', type=float, default=5.0, metavar='X', help='simulation speed wanted')
    parser.add_argument('--seed', type=int, default=0, help='of all simulated noise')
    parser.add_argument(
        '--out', type=Path, default=Path('out'),
        help='folder for picture, recording, report and log')
    parser.add_argument(
        '--timeout', type=float, default=900.0, metavar='S', help='give up after this wall time')
    parser.add_argument('--sim', default='auto', help='auto, embedded or gazebo')
    parser.add_argument('--nav', default='auto', help='auto, embedded or nav2')
    parser.add_argument('--localizer', default='auto', help='auto, scan or truth')
    return parser.parse_args(argv)


def launch_command(options):
    """Return the ``ros2 launch`` command line of the demo."""
    return [
        'ros2', 'launch', 'oomwoo_clean', 'demo.launch.py', f'world:={options.world}',
        f'real_time_factor:={options.real_time_factor}', f'seed:={options.seed}',
        f'output_dir:={options.out.resolve()}', f'sim:={options.sim}', f'nav:={options.nav}',
        f'localizer:={options.localizer}']


def open_log(path):
    """
    Open the log empty, in a folder made for it; OSError when a demo is still writing there.

    The lock passes on to the launch, so that it also tells of one that was left over.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = path.open('a', encoding='utf-8')
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.close()
        raise OSError(error.errno, 'another demo is running there') from error
    stream.truncate(0)
    return stream


def end_politely(process):
    """Stop a launch and everything it started; be firm when it does not listen."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(_STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            continue


def last_lines(path, count=25):
    """Return the end of a log file."""
    try:
        return '\n'.join(path.read_text(encoding='utf-8', errors='replace').splitlines()[-count:])
    except OSError as error:
        return f'({path}: {error.strerror})'


def choices(log):
    """Return what the launch files said they took: which simulator, navigator and localizer."""
    try:
        lines = log.read_text(encoding='utf-8', errors='replace').splitlines()
        said = [line.split(_LAUNCH_SAYS, 1)[1] for line in lines if _LAUNCH_SAYS in line]
    except OSError:
        return []
    return [line for line in said if line.startswith(('sim:', 'nav:', 'localizer:'))]


def main(argv=None):
    """Run the demo; returns 0 when the job ended as done."""
    options = parse_arguments(argv)
    report, log = options.out / 'edge_clean.json', options.out / 'demo.log'
    try:
        stream = open_log(log)
        for stale in ('edge_clean.json', 'edge_clean.png', 'edge_clean.mcap',
                      'edge_clean_state.npz', 'edge_clean_state.npz.journal'):
            (options.out / stale).unlink(missing_ok=True)
    except OSError as error:
        print(f'error: --out {options.out}: {error.strerror}', file=sys.stderr)
        return 2
    # A domain of its own, so that a demo never drives somebody else's robot on the same machine.
    os.environ['ROS_DOMAIN_ID'] = str(random.SystemRandom().randint(60, 99))
    began = time.perf_counter()
    print(f'Edge cleaning {options.world} in a ROS 2 graph '
          f'(domain {os.environ["ROS_DOMAIN_ID"]}, log: {log})', flush=True)
    # Also when the terminal is closed or this is ended, nothing may be left driving; run_node()
    # takes SIGTERM over for as long as it runs.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    with stream:
        process = subprocess.Popen(
            launch_command(options), stdout=stream, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            run_node(lambda: DemoProgressNode(
                ended=lambda: process.poll() is not None, timeout_s=options.timeout,
                reported=lambda: (read_report(report) or {}).get('sim_s')))
        finally:
            end_politely(process)
    return conclude(report, log, options.out, time.perf_counter() - began)


def read_report(path):
    """Return the manager's report as a dict, None without one."""
    try:
        return json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError):
        return None


def conclude(report, log, out, wall_s):
    """Print what came of it; returns the exit status."""
    result = read_report(report)
    if result is None:
        print(f'\nThe demo ended without a report. The end of {log}:\n{last_lines(log)}',
              file=sys.stderr)
        return 1
    print(result['report'])
    for line in choices(log):
        print(f'  {line}')
    robot_s = result['sim_s']
    print(f'  {robot_s / wall_s:.1f} x real time over all, start and stop included '
          f'({wall_s:.0f} s)')
    files = (('edge_clean.png', 'picture'), ('edge_clean.mcap', 'recording, opens in Foxglove'))
    for name, what in files:
        if (out / name).is_file():
            print(f'  {out / name}: {what}')
    return 0 if result['outcome'] == 'DONE' else 1


if __name__ == '__main__':
    sys.exit(main())
