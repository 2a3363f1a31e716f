"""The demo's terminal side: the bar, the verdict, the exit status."""
import json

from oomwoo_clean.demo import conclude, launch_command, main, open_log, parse_arguments
from oomwoo_clean.demo_progress_node import DemoProgressNode, progress_line
import pytest
import rclpy
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool


def test_the_bar_fills_with_the_progress():
    empty, half, full = (progress_line(p, 'FOLLOW', '', 65.0, 0.0) for p in (0.0, 0.5, 1.0))
    assert empty.count('#') == 0 and full.count('#') == 40
    assert half.count('#') == half.count('.') - 1
    assert ' 50.0 %' in half and '1m 05s' in half


def test_the_bar_survives_nonsense_and_narrow_terminals():
    assert '100.0 %' in progress_line(7.0, 'X' * 50, 'Y' * 50, 0.0, 3.0, width=20)
    assert len(progress_line(0.3, 'FOLLOW', 'ARC', 600.0, 5.0, width=80)) <= 80


@pytest.mark.parametrize('reported_s,last', [(None, '2m 05s'), (124.0, '2m 04s')])
def test_the_bar_tells_the_robot_time_of_the_job_as_the_report_does(capsys, reported_s, last):
    rclpy.init()
    over = []
    node = DemoProgressNode(lambda: bool(over), 60.0, lambda: reported_s)

    def runs(from_s, to_s, cleaning):
        node._on_cleaning(Bool(data=cleaning))
        for time_s in range(from_s, to_s + 1):
            node._on_clock(Clock(clock=Time(seconds=time_s).to_msg()))

    node._redraw()
    assert '0m 00s' in capsys.readouterr().out
    runs(20, 40, False)                         # the graph comes up
    runs(40, 100, True)
    runs(100, 130, False)                       # paused
    runs(130, 195, True)
    runs(195, 230, False)
    assert not node.done
    over.append(True)
    node._redraw()
    assert last in capsys.readouterr().out and node.done
    node.destroy_node()
    rclpy.shutdown()


def test_launch_arguments_follow_the_options(tmp_path):
    command = launch_command(parse_arguments(
        ['--world', 'bedroom', '--seed', '7', '--out', str(tmp_path)]))
    assert 'world:=bedroom' in command and 'seed:=7' in command
    assert f'output_dir:={tmp_path}' in command


def test_a_folder_that_cannot_be_used_or_is_in_use_is_named(tmp_path, capsys):
    (tmp_path / 'file').write_text('')
    assert main(['--out', str(tmp_path / 'file')]) == 2
    assert f'error: --out {tmp_path / "file"}: File exists' in capsys.readouterr().err
    saved = tmp_path / 'edge_clean_state.npz'
    saved.write_text('of the demo that runs')
    with open_log(tmp_path / 'demo.log') as log:
        log.write('hers')
        log.flush()
        assert main(['--out', str(tmp_path)]) == 2
        assert 'another demo is running there' in capsys.readouterr().err
    assert saved.exists() and (tmp_path / 'demo.log').read_text() == 'hers'
    with open_log(tmp_path / 'demo.log'):
        assert (tmp_path / 'demo.log').read_text() == ''


def test_no_report_is_a_failure_that_shows_the_log(tmp_path, capsys):
    log = tmp_path / 'demo.log'
    log.write_text('a\nthe reason\n')
    assert conclude(tmp_path / 'edge_clean.json', log, tmp_path, 1.0) == 1
    assert 'the reason' in capsys.readouterr().err


def test_the_report_is_shown_and_decides(tmp_path, capsys):
    report = tmp_path / 'edge_clean.json'
    for outcome, status in (('DONE', 0), ('STUCK', 1)):
        result = {'report': 'EDGE CLEAN DONE in 1m', 'outcome': outcome, 'sim_s': 60.0}
        report.write_text(json.dumps(result))
        assert conclude(report, tmp_path / 'log', tmp_path, 20.0) == status
        assert '3.0 x real time' in capsys.readouterr().out
