"""Tracing by touch: where contacts put the surface, what is drawn into scans, and bad bumpers."""
import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.contour_estimator import look_around
from oomwoo_clean.contour_follower import ContourFollower, FollowerSettings
from oomwoo_clean.contour_scenarios import SCENARIOS
from oomwoo_clean.contour_touch import TouchTrace
from oomwoo_clean.contour_trial import run_trial, Trial
from oomwoo_localization.robot import load_robot
import pytest
from synthetic_scans import mount, scan_of

ROBOT = load_robot()
RADIUS = ROBOT.body.radius
NOTHING = scan_of()
FAR = scan_of([((-2.0, -0.9), (2.0, -0.9))])          # a wall out of the way
MOUNT = mount()


def trace(side='right', **changes):
    return TouchTrace(FollowerSettings(side=side, **changes), ROBOT)


def touch_wall(follower, angle, heading, along_m, offset_m=1.0):
    """
    Let the trace touch a straight wall; return whether it was entered.

    The wall runs in the direction ``angle``, ``offset_m`` right of the origin; the body's heading
    is ``heading`` off that direction.
    """
    t = np.array([math.cos(angle), math.sin(angle)])
    n = np.array([t[1], -t[0]])
    centre = along_m * t + (offset_m - RADIUS) * n
    bearing = -math.pi / 2 - heading
    follower.moved((*centre, angle + heading))
    left, right = bearing > -math.radians(8), bearing < math.radians(8)
    return follower.bump(None, left, right) == ''


def off_wall(points, angle, offset_m=1.0):
    """Return (N,) how far points are beyond the wall of :func:`touch_wall`."""
    n = np.array([math.sin(angle), -math.cos(angle)])
    return points @ n - offset_m


@settings(max_examples=60, deadline=None)
@given(st.floats(-math.pi, math.pi), st.floats(-1.4, -0.3), st.floats(-1.4, -0.3),
       st.floats(0.12, 0.35))
def test_two_touches_tell_a_straight_surface_whatever_the_headings(angle, first, second, apart_m):
    felt = trace()
    assert touch_wall(felt, angle, first, 0.0)
    assert touch_wall(felt, angle, second, apart_m)
    points = np.array([contact.point(RADIUS) for contact in felt.contacts])
    assert np.abs(off_wall(points, angle)).max() < 1e-6
    assert all(contact.sure for contact in felt.contacts)
    drawn = felt._pieces.reshape(-1, 2)
    assert len(drawn) and np.abs(off_wall(drawn, angle)).max() < 1e-6
    t = np.array([math.cos(angle), math.sin(angle)])
    assert (drawn @ t).max() == pytest.approx(apart_m + felt.settings.touch_ahead_m, abs=0.06)


@settings(max_examples=30, deadline=None)
@given(st.floats(-math.pi, math.pi), st.floats(-1.2, -0.3), st.floats(0.12, 0.3))
def test_on_the_left_everything_is_mirrored(angle, heading, apart_m):
    right, left = trace(), trace('left')
    for along_m in (0.0, apart_m):
        touch_wall(right, angle, heading, along_m)
        x, y, yaw = right.pose
        left.moved((x, -y, -yaw))
        bearing = -math.pi / 2 - heading
        assert left.bump(None, bearing < math.radians(8), bearing > -math.radians(8)) == ''
    assert left._pieces == pytest.approx(right._pieces)
    seen, mirrored = (felt.drawn_into(NOTHING, MOUNT).ranges for felt in (right, left))
    # Beam i of 360 from -180 degrees on is the mirror image of beam -i.
    assert np.roll(mirrored[::-1], 1) == pytest.approx(seen)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.2, 3.0), st.booleans(), st.booleans(), st.floats(-3.0, 3.0))
def test_what_is_drawn_is_never_farther_than_what_is_seen(distance_m, left, right, yaw):
    assume(left or right)
    scan = scan_of([((-3.0, -distance_m), (3.0, -distance_m))])
    felt = trace()
    felt.moved((0.3, -0.2, yaw))
    felt.bump(None, left, right)
    drawn = felt.drawn_into(scan, MOUNT)
    assert (drawn.ranges <= scan.ranges).all()
    assert (drawn.ranges < scan.ranges).any() or distance_m < RADIUS + 0.05


def test_a_touch_ahead_is_seen_ahead_and_only_while_odometry_is_there():
    felt = trace()
    assert felt.drawn_into(NOTHING, MOUNT) is NOTHING
    felt.moved((1.0, 2.0, 0.5))
    felt.bump(None, True, True)
    around = look_around(felt.drawn_into(NOTHING, MOUNT), MOUNT)
    assert around.distance.min() == pytest.approx(RADIUS, abs=1e-3)
    assert around.bearing[np.argmin(around.distance)] == pytest.approx(0.0, abs=0.05)
    felt.moved((1.0 - 0.1 * math.cos(0.5), 2.0 - 0.1 * math.sin(0.5), 0.5))
    around = look_around(felt.drawn_into(NOTHING, MOUNT), MOUNT)
    assert around.distance.min() == pytest.approx(RADIUS + 0.1, abs=1e-3)
    assert felt.touched_at(np.array([RADIUS + 0.1, 0.0]))
    assert not felt.touched_at(np.array([0.0, -0.23]))
    felt.moved(None)
    assert felt.drawn_into(NOTHING, MOUNT) is NOTHING


def test_an_outside_corner_is_where_the_known_surface_meets_the_body():
    """A lip in x > 1 with its end at y = 0.4: touched ahead, then at its corner on the right."""
    felt = trace()
    felt.moved((1.0 - RADIUS, 0.2, 0.0))
    felt.bump(None, True, True)
    towards = math.radians(-40.0)
    centre = np.array([1.0, 0.4]) - RADIUS * np.array([math.cos(towards), math.sin(towards)])
    felt.moved((*centre, math.radians(-12.0)))
    felt.bump(None, False, True)
    assert felt.contacts[-1].corner
    assert felt.contacts[-1].point(RADIUS) == pytest.approx((1.0, 0.4), abs=0.002)


def test_where_the_surface_turned_on_the_way_the_contact_is_beside_it():
    """A box that ends at x = 0.1: touched on top, then on its side, far below the corner."""
    felt = trace()
    felt.moved((0.0, RADIUS, math.radians(-60.0)))
    felt.bump(None, False, True)
    felt.moved((0.1 + RADIUS, -0.25, math.radians(-150.0)))
    felt.bump(None, False, True)
    assert not felt.contacts[-1].corner
    assert felt.contacts[-1].point(RADIUS) == pytest.approx((0.1, -0.25), abs=0.05)


@settings(max_examples=30, deadline=None)
@given(st.floats(-math.pi, math.pi), st.floats(-1.3, -0.3), st.floats(-1.3, -0.3),
       st.floats(0.01, 0.045))
def test_the_same_spot_again_tells_where_the_first_touch_was_not(angle, first, second, apart_m):
    felt = trace()
    touch_wall(felt, angle, first, 0.0)
    touch_wall(felt, angle, second, apart_m)
    assert len(felt.contacts) == 1
    assert off_wall(felt.contacts[0].point(RADIUS)[None], angle) == pytest.approx(0.0, abs=1e-6)


def test_what_is_seen_where_it_bumped_is_no_touch_to_trace():
    felt = trace()
    felt.moved((0.0, 0.0, 0.0))
    post = look_around(scan_of(circles=[(RADIUS + 0.02, 0.05, 0.02)]), MOUNT)
    assert 'LiDAR sees' in felt.bump(post, True, False) and not felt.contacts
    assert felt.bump(post, False, True) == ''          # not on that half


def test_without_odometry_or_progress_nothing_is_traced():
    felt = trace()
    assert 'odometry' in felt.bump(None, True, True)
    felt.moved((0.0, float('nan'), 0.0))
    assert 'odometry' in felt.bump(None, True, True)
    felt.moved((0.0, 0.0, 0.0))
    answers = [felt.bump(None, True, True) for _ in range(5)]
    assert answers[:3] == ['', '', ''] and 'without getting ahead' in answers[-1]
    assert len(felt.contacts) == 1                     # of one spot, one contact


def test_forgets_what_is_far_or_was_driven_over_and_all_after_a_jump():
    felt = trace()
    felt.moved((0.0, 0.0, 0.0))
    felt.bump(None, True, True)
    for x in np.arange(-0.05, -1.5, -0.05):
        felt.moved((x, 0.0, 0.0))
    assert not felt.contacts and len(felt._pieces) == 0

    felt = trace()
    felt.know([(0.5, 0.0), (0.5, 1.0)])
    felt.moved((0.0, 0.0, 0.0))
    assert look_around(felt.drawn_into(NOTHING, MOUNT), MOUNT).distance.min() == pytest.approx(
        0.5, abs=0.02)
    for x in np.arange(0.05, 0.55, 0.05):
        felt.moved((x, 0.0, 0.0))
    assert len(felt._pieces) == 2                      # the cross at (0.5, 1) is still there

    felt.bump(None, True, True)
    felt.moved((9.0, 0.0, 0.0))
    assert not felt.contacts and len(felt._pieces) == 0


def drive(follower, bumps, scan=FAR, steps=120, odom=True):
    """Step a follower on a robot that does what it is told; ``bumps(i)`` is (left, right)."""
    x = y = yaw = 0.0
    outs = []
    for i in range(steps):
        left, right = bumps(i)
        out = follower.step(scan, MOUNT, 0.1 * i, left, right, odom=(x, y, yaw) if odom else None)
        outs.append(out)
        x += 0.1 * out.linear * math.cos(yaw)
        y += 0.1 * out.linear * math.sin(yaw)
        yaw += 0.1 * out.angular
    return outs, (x, y, yaw)


def enabled(**changes):
    follower = ContourFollower(FollowerSettings(**changes))
    follower.enable()
    return follower


def test_backs_off_and_goes_on_along_what_it_touched():
    outs, _ = drive(enabled(), lambda i: (i == 2, i == 2), steps=40)
    assert all(out.linear <= 0.0 for out in outs[2:8]) and outs[3].linear == -0.08
    assert {out.state for out in outs[2:25]} == {'TOUCH'}
    assert outs[2].bumped and outs[2].backing_off and not outs[-1].bumped
    turned = sum(0.1 * out.angular for out in outs[2:])
    assert turned == pytest.approx(math.pi / 2, abs=0.5)          # it has it on its right now
    assert outs[-1].linear > 0.05


def test_backs_off_all_the_way_whatever_touch_has_drawn_there():
    follower = enabled()
    follower.know([(-RADIUS - 0.01, 0.0)])
    outs, _ = drive(follower, lambda i: (i == 2, i == 2), steps=20)
    backwards_m = -sum(0.1 * out.linear for out in outs if out.backing_off)
    assert backwards_m == pytest.approx(follower.settings.back_off_m, abs=0.006)


@pytest.mark.parametrize('bumps, why', [
    (lambda i: (i >= 2, False), 'still pressed'),                 # held
    (lambda i: (True, True), 'still pressed'),                    # both, from the start
    (lambda i: (i % 2 == 0, i % 3 == 0), ''),                     # chatter
    (lambda i: (False, i >= 10), 'still pressed')])
def test_a_bad_bumper_ends_in_a_halt_near_by(bumps, why):
    outs, (x, y, _) = drive(enabled(), bumps)
    assert outs[-1].state == 'HALT' and outs[-1].linear == outs[-1].angular == 0.0
    assert why in outs[-1].reason and 'stands until' in outs[-1].reason
    assert all(out.linear <= 0.15 for out in outs)
    assert math.hypot(x, y) < 0.35


def test_stands_while_odometry_is_away_and_when_it_is_disabled():
    follower = enabled()
    drive(follower, lambda i: (i == 0, i == 0), steps=12)
    assert follower.touching
    out = follower.step(FAR, MOUNT, 2.0)
    assert (out.linear, out.angular, out.state) == (0.0, 0.0, 'TOUCH') and 'odometry' in out.reason
    follower.enable(False)
    out = follower.step(FAR, MOUNT, 2.1, odom=(0.0, 0.0, 0.0))
    assert (out.linear, out.angular, out.state) == (0.0, 0.0, 'IDLE')


def test_halts_as_told_when_it_is_not_to_trace():
    outs, _ = drive(enabled(touch=False), lambda i: (i == 0, False), steps=30)
    assert {out.state for out in outs} == {'HALT'} and outs[-1].linear == 0.0
    outs, _ = drive(enabled(), lambda i: (i == 0, False), steps=30, odom=False)
    assert {out.state for out in outs} == {'HALT'} and 'odometry' in outs[-1].reason


@pytest.mark.parametrize('name, seed', [
    ('lip', 3), ('low_box', 1), ('low_round', 2), ('low_corner', 0)])
def test_traces_what_is_under_the_scan_plane_all_along(name, seed):
    result, _, states = run_trial(Trial(SCENARIOS[name], seconds=20.0, seed=seed))
    assert result['failed'] == [] and result['traced_pct'] >= 99.0
    assert (states == 'TOUCH').any() and result['contacts'] >= 2


def test_traces_on_the_left_too():
    scenario = SCENARIOS['lip']
    result, _, states = run_trial(
        Trial(scenario, 40.0, seed=1, start=(2.2, 0.23, math.pi), side='left'))
    assert result['failed'] == [] and (states == 'TOUCH').any()
