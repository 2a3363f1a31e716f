"""The follower's decisions, scan by scan, without a simulator."""
import math

import numpy as np
from oomwoo_clean.contour_follower import ContourFollower, FollowerSettings
from oomwoo_localization.scans import Scan
from oomwoo_localization.settings import SettingError
import pytest
from synthetic_scans import mount, scan_of, wall

MOUNT = mount()


def wall_scan(distance_m=0.23, bearing_deg=-90.0, **how):
    """Return a scan of one long wall."""
    return scan_of([wall(distance_m, math.radians(bearing_deg))], **how)


def enabled(**changes):
    """Return an enabled follower."""
    follower = ContourFollower(FollowerSettings(**changes))
    follower.enable()
    return follower


def step_once(scan, base_from_scan=MOUNT, **changes):
    """Return the first output of a fresh follower."""
    return enabled(**changes).step(scan, base_from_scan, 1.0)


def test_stands_until_enabled():
    out = ContourFollower().step(wall_scan(), MOUNT, 1.0)
    assert (out.linear, out.angular, out.state) == (0.0, 0.0, 'IDLE')


def test_drives_straight_on_its_standoff():
    out = step_once(wall_scan())
    assert out.state == 'FOLLOW'
    assert out.linear == pytest.approx(0.15, abs=1e-3)
    assert out.angular == pytest.approx(0.0, abs=1e-3)
    assert out.distance_m == pytest.approx(0.23, abs=1e-4)
    assert out.bearing_rad == pytest.approx(math.radians(-90.0), abs=1e-3)


@pytest.mark.parametrize('too_far_m', [0.005, 0.02, -0.01])
def test_asks_for_seven_degrees_of_approach_per_centimetre(too_far_m):
    out = step_once(wall_scan(0.23 + too_far_m), turn_gain=2.0)
    assert out.angular == pytest.approx(-2.0 * 12.0 * too_far_m, abs=0.01)
    # ... and once it points there, drives on without turning.
    approach_deg = math.degrees(12.0 * too_far_m)
    out = step_once(wall_scan(0.23 + too_far_m, -90.0 + approach_deg))
    assert out.angular == pytest.approx(0.0, abs=0.01)
    assert out.linear == pytest.approx(0.15, abs=2e-3)


def test_a_legitimate_approach_is_driven_at_full_speed():
    out = step_once(wall_scan(0.8, -90.0 + 40.0))
    assert out.state == 'ALIGN'
    assert out.angular == pytest.approx(0.0, abs=0.01)
    assert out.linear == pytest.approx(0.15, abs=1e-3)


def test_slows_down_as_the_inner_error_grows():
    speeds = [step_once(wall_scan(0.23, bearing)).linear
              for bearing in (-90.0, -110.0, -125.0, -145.0)]
    assert speeds == sorted(speeds, reverse=True) and speeds[-1] == pytest.approx(0.05)


def test_does_not_drive_at_a_wall_it_is_at():
    out = step_once(scan_of([wall(0.23, 0.0)]))
    assert out.linear < 0.05 and out.angular == pytest.approx(1.5)
    assert step_once(scan_of([wall(0.21, 0.0)])).linear == 0.0


def test_left_side_is_the_mirror_image():
    right = step_once(wall_scan(0.26, -75.0))
    left = step_once(wall_scan(0.26, 75.0), side='left')
    assert left.angular == pytest.approx(-right.angular, abs=1e-6) and abs(left.angular) > 0.05
    assert left.linear == pytest.approx(right.linear)
    assert left.bearing_rad == pytest.approx(-right.bearing_rad)


def test_turns_with_a_leg_and_not_with_a_wall():
    leg = step_once(scan_of(circles=[(0.0, -0.245, 0.015)]))
    assert leg.angular == pytest.approx(-leg.linear / 0.245, rel=0.4)
    assert leg.linear > 0.12


def test_hands_over_to_a_post_that_stands_in_the_way():
    """The wall is nearer, and is followed until the body is about to sweep the post."""
    here = [wall(0.23, math.radians(-90.0))]
    far = step_once(scan_of(here, [(0.6, 0.07, 0.02)]))
    assert not far.blocked and far.distance_m == pytest.approx(0.23, abs=1e-3)
    near = step_once(scan_of(here, [(0.26, 0.07, 0.02)]))
    assert near.blocked
    assert near.distance_m == pytest.approx(math.hypot(0.26, 0.07) - 0.02, abs=0.005)
    assert near.angular > 1.0                      # away from the wall, round the post
    beside = step_once(scan_of(here, [(0.26, 0.25, 0.02)]))
    assert not beside.blocked


def test_never_drives_at_what_the_body_would_touch():
    out = step_once(scan_of([wall(0.23, math.radians(-90.0))], [(0.20, 0.0, 0.012)]))
    assert out.linear == 0.0 and out.angular > 0.5


def test_goes_round_the_end_of_what_it_lost_and_gives_up_after_a_circle():
    follower = enabled()
    empty = scan_of(circles=[(5.0, 5.0, 0.3)])
    follower.step(wall_scan(), MOUNT, 0.0)
    out = follower.step(empty, MOUNT, 0.1)
    assert out.state == 'FOLLOW' and out.linear > 0.0            # a dropout
    turned, states = 0.0, []
    for i in range(2, 400):
        out = follower.step(empty, MOUNT, 0.1 * i)
        states.append(out.state)
        if out.state == 'ARC':
            assert out.angular == pytest.approx(-out.linear / 0.23)
            turned += 0.1 * out.angular
    assert 'ARC' in states and states[-1] == 'LOST'
    assert abs(turned) == pytest.approx(2.0 * math.pi, abs=0.1)
    assert (out.linear, out.angular) == (0.0, 0.0) and 'no surface' in out.reason
    assert follower.step(wall_scan(), MOUNT, 100.0).state == 'FOLLOW'


def test_searches_straight_ahead_for_a_first_surface_but_not_for_ever():
    follower = enabled(search_m=0.5)
    empty = scan_of(circles=[(5.0, 5.0, 0.3)])
    outs = [follower.step(empty, MOUNT, 0.1 * i) for i in range(60)]
    assert outs[1].state == 'ALIGN'
    assert (outs[1].linear, outs[1].angular) == pytest.approx((0.15, 0.0))
    driven = sum(0.1 * out.linear for out in outs)
    assert driven == pytest.approx(0.5, abs=0.05) and outs[-1].state == 'LOST'


def test_bump_stops_backs_off_and_stands_until_enabled_again():
    follower = enabled()
    for i in range(5):
        follower.step(wall_scan(), MOUNT, 0.1 * i)
    outs = [follower.step(wall_scan(), MOUNT, 0.5, bumper_left=True)]
    outs += [follower.step(wall_scan(), MOUNT, 0.6 + 0.1 * i) for i in range(20)]
    assert all(out.linear <= 0.0 and out.angular == 0.0 for out in outs)
    assert all(out.state == 'HALT' and out.bumped for out in outs)
    back = -sum(0.1 * out.linear for out in outs)
    assert back == pytest.approx(0.04, abs=0.008)
    assert outs[0].backing_off and not outs[-1].backing_off and outs[-1].linear == 0.0
    follower.enable()
    out = follower.step(wall_scan(), MOUNT, 3.0)
    assert out.state == 'FOLLOW' and not out.bumped


def test_does_not_back_into_something():
    follower = enabled()
    scan = scan_of([wall(0.23, math.radians(-90.0))], [(-0.205, 0.0, 0.02)])
    outs = [follower.step(scan, MOUNT, 0.1 * i, bumper_right=(i == 0)) for i in range(5)]
    assert all(out.linear == 0.0 for out in outs) and outs[-1].state == 'HALT'


def test_bump_counts_even_with_a_repeated_scan():
    follower = enabled()
    follower.step(wall_scan(), MOUNT, 0.0)
    assert follower.step(wall_scan(), MOUNT, 0.0, bumper_right=True).bumped


def test_enabling_twice_changes_nothing_and_disabling_stops():
    follower = enabled()
    for i in range(3):
        out = follower.step(wall_scan(0.4), MOUNT, 0.1 * i)
    follower.enable()
    assert follower.step(wall_scan(0.4), MOUNT, 0.2) == out      # knows that this is not news
    follower.enable(False)
    out = follower.step(wall_scan(), MOUNT, 0.4)
    assert (out.linear, out.angular, out.state) == (0.0, 0.0, 'IDLE')


def test_a_scan_that_is_not_newer_changes_nothing():
    follower = enabled()
    first = follower.step(wall_scan(), MOUNT, 1.0)
    assert follower.step(wall_scan(0.5), MOUNT, 1.0) == first
    assert follower.step(wall_scan(0.5), MOUNT, 0.4) == first


@pytest.mark.parametrize('nothing', [math.nan, math.inf, -math.inf, 0.0])
def test_stands_when_no_range_is_a_return(nothing):
    scan = wall_scan()
    scan.ranges[:] = nothing
    out = step_once(scan)
    assert (out.linear, out.angular, out.state) == (0.0, 0.0, 'LOST')
    assert 'none of its 360 ranges' in out.reason


@pytest.mark.parametrize('count', [0, 1, 20])
def test_stands_on_a_scan_of_too_few_beams(count):
    out = step_once(Scan(np.full(count, 0.3), 0.0, 0.1, 0.05, 8.0))
    assert (out.linear, out.angular) == (0.0, 0.0)
    assert f'{count} beams' in out.reason


@pytest.mark.parametrize('field, value', [
    ('angle_increment', 0.0), ('angle_min', math.nan), ('range_max', 0.01),
    ('angle_increment', math.inf)])
def test_stands_on_a_broken_header_and_names_the_field(field, value):
    good = vars(wall_scan()) | {field: value}
    out = step_once(Scan(**good))
    assert (out.linear, out.angular) == (0.0, 0.0)
    assert field in out.reason


@pytest.mark.parametrize('how', [
    {'beams': 90}, {'beams': 180}, {'beams': 720}, {'beams': 2000}, {'clockwise': True},
    {'first_rad': 0.0}, {'clockwise': True, 'first_rad': 2.0, 'beams': 500}])
def test_any_number_and_order_of_beams(how):
    out = step_once(wall_scan(0.25, -80.0, **how))
    reference = step_once(wall_scan(0.25, -80.0))
    assert out.distance_m == pytest.approx(0.25, abs=1e-4)
    assert out.linear == pytest.approx(reference.linear, abs=1e-3)
    assert out.angular == pytest.approx(reference.angular, abs=1e-3)


def test_a_scanner_mounted_the_wrong_way_round():
    turned = mount(x=-0.05, yaw=math.pi)
    out = step_once(wall_scan(0.25, -80.0, base_from_scan=turned), turned)
    assert out.distance_m == pytest.approx(0.25, abs=1e-4)
    assert out.bearing_rad == pytest.approx(math.radians(-80.0), abs=1e-3)


def test_half_a_scan_is_driven_by_as_far_as_it_sees():
    whole = wall_scan()
    front = Scan(whole.ranges[90:271], math.radians(-90.0), whole.angle_increment, 0.05, 8.0)
    out = step_once(front)
    assert out.state == 'FOLLOW' and out.distance_m == pytest.approx(0.23, abs=1e-3)


def test_settings_out_of_range_are_refused_by_name():
    with pytest.raises(SettingError, match='standoff_m'):
        ContourFollower(FollowerSettings(standoff_m=0.1))
    with pytest.raises(SettingError, match='side'):
        ContourFollower(FollowerSettings(side='up'))


def test_a_late_scan_is_seen_from_where_the_robot_is_by_now():
    follower = enabled()
    first = follower.step(wall_scan(0.30), MOUNT, 0.0)
    assert first.linear > 0.05 and first.angular < -0.5
    late = follower.step(wall_scan(0.30), MOUNT, 0.1, age_s=0.2)
    # It has driven and turned towards the wall for as long as the scan was under way.
    assert late.bearing_rad == pytest.approx(math.radians(-90.0) - 0.2 * first.angular, abs=0.02)
    half_turned = 0.1 * first.angular
    assert late.distance_m == pytest.approx(
        0.30 + 0.2 * first.linear * math.sin(half_turned), abs=0.002)
