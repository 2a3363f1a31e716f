"""The follower in gaps of all shapes, in the embedded simulator."""
import math

import numpy as np
from oomwoo_clean.contour_scenarios import SCENARIOS
from oomwoo_clean.contour_trial import run_trial, Trial
from oomwoo_clean.gap_scenarios import GAP_SCENARIOS, SHAPES, WIDTHS
import pytest


def test_every_shape_in_every_width_is_a_layout():
    assert len(GAP_SCENARIOS) == len(SHAPES) * len(WIDTHS) == 36
    for scenario in GAP_SCENARIOS.values():
        assert scenario.layout().start[0] is not None


@pytest.mark.parametrize('name, seconds, noise', [
    ('dead_end_1.1', 25.0, 0.02), ('through_1.1', 25.0, 0.01), ('bend_left_1.1', 30.0, 0.01),
    ('bend_right_1.2', 30.0, 0.02), ('legs_1.1', 20.0, 0.02), ('funnel_1.2', 30.0, 0.01),
    ('dead_end_1', 20.0, 0.02), ('through_0.95', 20.0, 0.01), ('legs_1', 20.0, 0.01)])
def test_goes_in_where_it_fits_and_stays_out_where_not(name, seconds, noise):
    result, _, states = run_trial(Trial(GAP_SCENARIOS[name], seconds, seed=2, noise_m=noise))
    assert result['failed'] == []
    assert not np.isin(states, ('LOST', 'HALT')).any()


def test_turns_in_a_slot_and_comes_out_facing_the_other_way():
    _, track, _ = run_trial(Trial(GAP_SCENARIOS['dead_end_1.1'], 25.0, seed=3))
    x, y, yaw = track.truth.T
    deep = np.flatnonzero((y < -0.4) & (np.abs(x - 1.2) < 0.1))
    assert np.abs(x[deep] - 1.2).max() < 0.012               # in its middle, both ways
    first, last = yaw[deep[0]], yaw[deep[-1]]
    assert math.cos(first + math.pi / 2) > 0.9 and math.cos(last - math.pi / 2) > 0.9
    turned = np.unwrap(yaw)[deep[-1]] - np.unwrap(yaw)[deep[0]]
    assert turned == pytest.approx(math.pi, abs=0.4)         # to the left, away from the wall


def test_the_gap_between_the_teeth_is_cleaned_and_the_narrower_one_refused():
    _, track, _ = run_trial(Trial(SCENARIOS['teeth_1.1'], 20.0, seed=1, noise_m=0.02))
    assert track.truth[:, 1].min() < 0.21 and track.contacts == 0
    left, right = 0.95, 0.95 + 1.1 * 0.349
    inside = (track.truth[:, 0] > left) & (track.truth[:, 0] < right)
    assert track.truth[inside, 1].min() < 0.21
    result, _, _ = run_trial(Trial(SCENARIOS['teeth_0.9'], 20.0, seed=1, noise_m=0.02))
    assert result['failed'] == []


def test_a_late_scan_is_no_reason_to_touch():
    result, _, _ = run_trial(Trial(GAP_SCENARIOS['dead_end_1.2'], 25.0, seed=4, delay=1))
    assert result['failed'] == []
