"""The bump-out against the simulator's physics, and against bumpers and odometry gone wrong."""
from dataclasses import replace
import math
from pathlib import Path

import numpy as np
from oomwoo_clean.bump_out_settings import BumpOutSettings
from oomwoo_clean.bump_out_trial import run_trial, Trial
from oomwoo_clean.wall_bump_out import BACK, DRIVE, HALT, IDLE, PEEL, TURN, WallBumpOut
from oomwoo_localization.frames import compose
from oomwoo_localization.settings import SettingError, settings_table
from oomwoo_sim_support.layout import layout_from_dict, load_layout
import pytest

STEP_S = 0.05
OUTLINE = [[-0.9, -0.7], [0.9, -0.7], [0.9, 0.7], [-0.9, 0.7]]


def room(**elements):
    """Return a room of 1.8 by 1.4 m with more elements in it."""
    return layout_from_dict({
        'name': 'room', 'start': [0.0, 0.0, 0.0], 'floor': OUTLINE, **elements,
        'walls': [{'name': 'room', 'points': OUTLINE, 'closed': True, 'thickness': 0.05}]})


class Bench:
    """A robot on an endless floor whose bumper says what a test wants."""

    def __init__(self, settings=None, seed=0):
        """Begin enabled, at the origin."""
        self.bump_out = WallBumpOut(settings, rng=np.random.default_rng(seed))
        self.bump_out.enable()
        self.pose, self.time_s, self.outputs = np.zeros(3), 0.0, []

    def run(self, seconds, bumper=lambda time_s: (False, False), moves=True):
        """Step for some time; return what it said."""
        outputs = []
        for _ in range(round(seconds / STEP_S)):
            out = self.bump_out.step(self.time_s, self.pose, *bumper(self.time_s))
            outputs.append(out)
            if moves:
                self.pose = compose(
                    self.pose, (out.linear * STEP_S, 0.0, out.angular * STEP_S))
            self.time_s += STEP_S
        self.outputs += outputs
        return outputs


@pytest.mark.parametrize('yaw_deg', [10.0, 200.0])
def test_feels_its_way_round_a_room(yaw_deg):
    result, run = run_trial(Trial(
        room(), 75.0, seed=3, start=(0.0, 0.0, math.radians(yaw_deg)), localize=False))
    assert result['wall_passed'] > 0.95 and result['longest_stand_s'] < 6.0
    assert not [event for event in run.events if len(str(event[1]).split()) > 2]
    # Once the wall is known it goes from touch to touch along it, and not to and fro.
    assert result['kinds'].get('wall same', 0) > result['bumps'] / 3


def test_goes_round_an_outside_corner_and_leaves_an_island_alone():
    outline = [[-2.5, -2.5], [2.5, -2.5], [2.5, 2.5], [-2.5, 2.5]]
    island = layout_from_dict({
        'name': 'island', 'start': [-0.8, 0.05, 0.0], 'floor': outline,
        'boxes': [{'name': 'box', 'center': [0.0, 0.0], 'size': [0.5, 0.5]}]})
    result, run = run_trial(Trial(
        island, 60.0, seed=1, start=(-0.8, 0.05, 0.0), localize=False))
    assert result['furniture_passed'] > 0.6
    assert np.hypot(*run.truth[-1, :2]) > 1.0          # gone, once it has been round
    assert DRIVE in [state for time_s, state in run.states if time_s > 10.0]


@pytest.mark.parametrize('seed, offset_m', [(3, 0.12), (4, -0.12), (7, 0.12)])
def test_a_leg_is_felt_from_all_sides_but_not_circled(seed, offset_m):
    outline = [[-6.0, -6.0], [6.0, -6.0], [6.0, 6.0], [-6.0, 6.0]]
    leg = layout_from_dict({
        'name': 'leg', 'start': [-1.0, 0.0, 0.0], 'floor': outline,
        'cylinders': [{'name': 'leg', 'center': [0.0, 0.0], 'radius': 0.025}]})
    result, run = run_trial(Trial(
        leg, 30.0, seed=seed, start=(-1.0, offset_m, 0.0), localize=False))
    away_m = np.hypot(*run.truth[:, :2].T)
    near = np.flatnonzero(away_m < 0.5)
    round_it = np.unwrap(np.arctan2(run.truth[:, 1], run.truth[:, 0]))[near[0]:near[-1]]
    assert math.radians(180.0) < np.ptp(round_it) < math.tau
    assert result['bumps'] >= 3 and away_m[-1] > 1.5


def test_the_same_seed_does_the_same_and_another_does_not():
    tracks = [run_trial(Trial(room(), 15.0, seed=5, start=(0.0, 0.0, 0.4), localize=False,
                              settings=BumpOutSettings(jitter=jitter)))[1].truth
              for jitter in (0.2, 0.2, 0.0)]
    assert np.array_equal(tracks[0], tracks[1])
    assert not np.array_equal(tracks[0], tracks[2])


def test_drives_in_goes_back_out_and_turns_away():
    bench = Bench()
    assert bench.run(1.0)[-1].state == DRIVE and bench.pose[0] > 0.2
    deepest = bench.pose[0]
    released = bench.time_s + 0.4
    out = bench.run(0.4, lambda t: (False, True))      # right: the surface is on the right
    assert out[0].state == BACK and out[0].linear < 0.0 and out[0].side == 'right'
    assert bench.pose[0] < deepest - 0.02 and abs(bench.pose[1]) < 0.01
    out = bench.run(1.0, lambda t: (False, t < released))
    assert TURN in [o.state for o in out] and max(o.angular for o in out) > 1.0
    assert bench.run(0.5)[-1].state == PEEL


@pytest.mark.parametrize('onto_deg, least_m, most_m', [(60.0, 0.015, 0.04), (20.0, 0.0, 0.0)])
def test_leans_on_what_it_meets_slowly_and_head_on_and_on_nothing_else(
        onto_deg, least_m, most_m):
    bench = Bench(BumpOutSettings(cruise_speed=0.1))
    bench.run(1.0)
    surface = bench.bump_out.surface
    surface.known, surface.direction = True, math.radians(onto_deg)
    touched_m = bench.pose[0]
    outputs = bench.run(1.5, lambda time_s: (False, bench.pose[0] > touched_m - 0.03))
    back = [out.linear for out in outputs if out.state == BACK]
    assert least_m <= sum(speed for speed in back if speed > 0.0) * STEP_S <= most_m
    assert sum(back) < 0.0                              # and back out


def test_a_curtain_beside_a_corner_is_gone_through():
    curtain = Trial(load_layout('curtain_room'), 240.0, seed=1, localize=False)
    result, _ = run_trial(curtain)
    shy, _ = run_trial(replace(curtain, settings=BumpOutSettings(lean_m=0.0)))
    assert result['soft_pushed'] > 0.5 > shy['soft_pushed']
    assert result['soft_bumps'] >= 2


def test_the_left_is_the_mirror_image_of_the_right():
    tracks = {}
    for side, (left, right) in (('left', (True, False)), ('right', (False, True))):
        bench = Bench(BumpOutSettings(jitter=0.0))
        bench.run(1.0)
        bench.run(6.0, lambda t, pressed=(left, right): (
            pressed if t < 1.4 or 2.9 < t < 3.1 else (False, False)))
        tracks[side] = bench.pose
        assert bench.outputs[-1].side == side
    assert tracks['left'][0] == pytest.approx(tracks['right'][0], abs=1e-6)
    assert tracks['left'][1] == pytest.approx(-tracks['right'][1], abs=1e-6)


def test_a_bumper_pressed_from_the_start_holds_it_until_it_lets_go():
    bench = Bench()
    out = bench.run(3.0, lambda t: (True, False))
    assert {(o.linear, o.angular, o.state, o.code) for o in out} == {
        (0.0, 0.0, HALT, 'BUMPER_PRESSED')}
    assert 'left is pressed from the start' in out[-1].reason
    assert bench.run(2.0)[-1].state == DRIVE


def test_both_halves_pressed_for_ever_end_in_a_halt_within_the_retreat():
    bench = Bench()
    bench.run(2.0)
    deepest = bench.pose[0]
    out = bench.run(6.0, lambda t: (True, True))
    assert out[-1].state == HALT and out[-1].code == 'BUMPER_HELD'
    assert deepest - bench.pose[0] < BumpOutSettings().retreat_m + 0.02
    assert (out[-1].linear, out[-1].angular) == (0.0, 0.0)
    assert bench.run(2.5)[-1].state == DRIVE


def test_a_bumper_that_chatters_at_50_hz_holds_it_and_nothing_runs_away():
    bench = Bench()
    bench.run(1.0)
    before = bench.pose.copy()
    for _ in range(150):
        for pressed in (True, False):
            out = bench.bump_out.step(bench.time_s, bench.pose, pressed, False)
            bench.pose = compose(bench.pose, (0.01 * out.linear, 0.0, 0.01 * out.angular))
            bench.time_s += 0.01
    assert out.state == HALT and out.code == 'BUMPER_CHATTER'
    assert np.hypot(*(bench.pose - before)[:2]) < 0.1
    assert bench.run(3.0)[-1].state == DRIVE


def test_wheels_that_stand_count_as_a_touch():
    bench = Bench()
    bench.run(1.0)
    out = bench.run(3.0, moves=False)
    assert any(o.event.endswith('stall') for o in out)
    assert BACK in [o.state for o in out]


def test_jumps_of_time_and_odometry_begin_anew():
    bench = Bench()
    bench.run(1.0)
    bench.run(0.5, lambda t: (False, True))
    bench.time_s = 0.0
    assert bench.run(0.2)[-1].state == DRIVE
    bench.run(1.0)
    bench.run(0.5, lambda t: (True, False))
    bench.pose = bench.pose + [3.0, 1.0, 2.0]
    out = bench.run(0.2)
    assert out[-1].state == DRIVE and out[-1].side == ''


def test_refuses_what_cannot_be():
    bump_out = WallBumpOut()
    assert bump_out.step(0.0, np.zeros(3), True, True).state == IDLE
    bump_out.enable()
    with pytest.raises(ValueError, match='not a pose'):
        bump_out.step(0.1, [0.0, math.nan, 0.0], False, False)
    with pytest.raises(SettingError, match='glide_least_m'):
        BumpOutSettings(glide_least_m=0.5, glide_most_m=0.2)
    with pytest.raises(SettingError, match='cruise_speed'):
        WallBumpOut(BumpOutSettings(cruise_speed=1.0))


def test_the_table_of_parameters_is_up_to_date():
    """Written by settings_table; write it again after a change of the settings."""
    page = Path(__file__).parents[2] / 'docs' / 'touch.md'
    assert settings_table(BumpOutSettings) in page.read_text(encoding='utf-8')
