"""The localizer's harness: short runs hold their bounds; what the scenarios do to a scan."""
import json
import math

import numpy as np
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scans import Scan
from oomwoo_sim_support import localizer_harness
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.localizer_scenarios import (
    block,
    corridor,
    kidnap,
    rearrange,
    SCENARIOS,
    SpinDriver,
    WALL_GAP_M,
    WallDriver,
)
from oomwoo_sim_support.localizer_trial import BOUNDS, judge, run_trial, Trial
import pytest


def trial(name, seconds, **changes):
    """Return the result of a short trial in the living room."""
    return run_trial(Trial(SCENARIOS[name], load_layout('living_room'), seconds, **changes))


@pytest.mark.parametrize('name, seconds', [('track', 20), ('occluded', 20), ('moved', 20),
                                           ('corridor', 15)])
def test_tracking_holds_its_bounds(name, seconds):
    result = trial(name, seconds, seed=3)
    assert result['failed'] == []
    assert result['driven_m'] > 2.0 and result['adrift'] == 0
    assert 0.6 < result['score_least'] <= result['score_mean'] <= 1.0
    if name == 'occluded':
        assert result['score_mean'] < 0.95


def test_a_spin_stopped_dead_is_under_a_centimetre_at_the_next_scan():
    result = trial('spin', 17, seed=1)
    assert result['failed'] == [] and result['after_stop_m'] < 0.01
    assert result['lost_share'] == 0.0


def test_kidnaps_are_noticed():
    result = trial('kidnap', 20, seed=2)
    assert result['kidnaps'] == 3 and result['noticed'] == 3
    assert result['slowest_s'] <= 1.0 and result['failed'] == []


def test_a_third_of_the_beams_and_only_those_end_in_front_of_the_walls():
    ranges = np.full(360, 3.0)
    ranges[7], ranges[8] = np.inf, 0.2
    scan = Scan(ranges, -math.pi, math.tau / 360, 0.05, 8.0)
    blocked = block(scan, 1 / 3, seed=4)
    changed = blocked.ranges != scan.ranges
    assert 115 <= changed.sum() <= 120
    assert blocked.ranges[changed].min() > 0.6 and blocked.ranges[changed].max() < 1.6
    assert blocked.ranges[8] == 0.2
    assert scan.ranges[7] == np.inf, 'the scan itself stays as it was'


def test_the_driver_goes_along_everything():
    layout = load_layout('living_room')
    grid = layout_grid(layout)
    driver = WallDriver(grid, load_robot(), layout.start)
    gaps = driver._planner.clearance(driver._places)
    assert len(driver._places) > 40
    assert np.abs(gaps - WALL_GAP_M).max() < 0.04
    low, high = driver._places.min(axis=0), driver._places.max(axis=0)
    assert (low < (-2.8, -2.4)).all() and (high > (2.8, 2.3)).all()


def test_furniture_is_moved_and_walls_are_not():
    layout = load_layout('living_room')
    moved = rearrange(layout, 1 / 3, seed=1)
    shifts = [math.dist(a.center, b.center) for a, b in zip(
        (*layout.boxes, *layout.cylinders), (*moved.boxes, *moved.cylinders))]
    assert 3 <= sum(s > 0 for s in shifts) <= len(shifts) // 2 + 1
    assert all(s == 0 or 0.19 < s < 0.51 for s in shifts)
    assert moved.walls == layout.walls


def test_the_corridor_hides_its_ends():
    grid = layout_grid(corridor())
    assert grid.free.sum() * grid.resolution ** 2 == pytest.approx(30 * 1.6, rel=0.05)


def test_a_kidnapped_robot_stands_where_it_fits():
    from oomwoo_sim_support.embedded_navigator import GridPlanner
    from oomwoo_sim_support.embedded_sim import EmbeddedSim
    layout = load_layout('living_room')
    sim, grid = EmbeddedSim(layout), layout_grid(layout)
    planner, rng = GridPlanner(grid), np.random.default_rng(0)
    for _ in range(5):
        before = sim.truth().pose
        kidnap(sim, grid, planner, rng)
        assert math.dist(before[:2], sim.truth().pose[:2]) >= 0.5
        assert sim.clearance() > 0.0


def test_the_spin_stops_now_and_then():
    driver = SpinDriver()
    commands = [driver(None, 0.1 * k)[1] for k in range(100)]
    assert max(commands) == pytest.approx(2.55) and min(commands) == pytest.approx(-2.55)
    assert driver.stopped_s == pytest.approx(5.0)


def test_bounds_that_are_missed_are_named():
    result = {key: 1.0 for key, _ in BOUNDS['track']} | {'driven_m': 9.0, 'sim_s': 60.0}
    failed = judge(SCENARIOS['track'], result)
    assert len(failed) == len(BOUNDS['track']) and failed[0] == 'rms_m 1.0000 > 0.01'
    good = dict(BOUNDS['track']) | {'driven_m': 0.1, 'sim_s': 60.0}
    assert judge(SCENARIOS['track'], good) == ['drove only 0.1 m']
    good['rms_m'] = math.nan
    assert any('rms_m' in reason for reason in judge(SCENARIOS['track'], good))


def test_the_command_writes_its_results(tmp_path, capsys):
    file = tmp_path / 'results.json'
    status = localizer_harness.main(
        ['--scenario', 'track', '--seconds', '5', '--json', str(file), '--seed', '4'])
    assert status == 0
    written = json.loads(file.read_text())
    assert written['summary']['passed'] and written['trials'][0]['seed'] == 4
    assert written['trials'][0]['rms_m'] < 0.01
    assert 'living_room' in capsys.readouterr().out
    assert localizer_harness.main(['--layout', str(tmp_path / 'none.yaml')]) == 2
