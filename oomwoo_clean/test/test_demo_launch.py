"""The whole graph, as `make demo` starts it, on a small layout of the user's own."""
import json
import os
from pathlib import Path
import subprocess
import sys

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
import pytest

WALL_LIMIT_S = 280.0
CLOSET = """
name: closet
start: [0.5, 0.5, 0.0]
floor: [[0, 0], [2.4, 0], [2.4, 1.8], [0, 1.8]]
walls:
  - name: room
    points: [[0, 0], [2.4, 0], [2.4, 1.8], [0, 1.8]]
    closed: true
    thickness: 0.05
    z: [0, 0.4]
boxes:
  - {name: shelf, center: [1.9, 1.6], size: [0.5, 0.3], yaw: 0, z: [0, 0.4]}
"""


def built():
    """Tell whether the launch files are installed."""
    try:
        return (Path(get_package_prefix('oomwoo_clean')) / 'lib' / 'oomwoo_clean').is_dir()
    except PackageNotFoundError:
        return False


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """Run the demo once; return (output folder, completed process)."""
    if not built():
        pytest.skip('the workspace is not built (make build)')
    out = tmp_path_factory.mktemp('demo')
    layout = out / 'my closet.yaml'
    layout.write_text(CLOSET)
    done = subprocess.run(
        [sys.executable, '-m', 'oomwoo_clean.demo', '--world', str(layout), '--out', str(out),
         '--real-time-factor', '8', '--timeout', str(WALL_LIMIT_S - 20.0),
         # Gazebo and Nav2 would be taken where they are installed, and are not as quick.
         '--sim', 'embedded', '--nav', 'embedded'],
        capture_output=True, text=True, timeout=WALL_LIMIT_S, env=os.environ, check=False)
    return out, done


@pytest.mark.timeout(WALL_LIMIT_S + 10.0)
def test_every_edge_is_swept_without_truth_and_told_so(run):
    out, done = run
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((out / 'edge_clean.json').read_text())
    assert report['outcome'] == 'DONE' and report['swept_pct'] >= 99.0
    assert 'EDGE CLEAN DONE in ' in done.stdout and 'localizer: scan' in done.stdout
    took = done.stdout.split('EDGE CLEAN DONE in ')[1].split(':')[0]
    bar = [line for line in done.stdout.splitlines() if line.startswith('[')][-1]
    assert '100.0 %' in bar and f' {took} ' in f'{bar} ', 'bar and report tell one time'


def test_the_picture_shows_something(run):
    assert (run[0] / 'edge_clean.png').stat().st_size > 10_000


def test_the_recording_tells_the_run(run):
    with (run[0] / 'edge_clean.mcap').open('rb') as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        topics = {channel.topic for channel in reader.get_summary().channels.values()}
        assert {'/tf', '/scan', '/odom', '/map', '/cmd_vel', '/clean_manager/progress'} <= topics
        last = None
        told = reader.iter_decoded_messages(topics=['/clean_manager/progress'])
        for _, _, message, progress in told:
            assert last is None or message.log_time >= last[0]
            last = message.log_time, progress.data
    assert last[1] == pytest.approx(1.0, abs=0.01)
