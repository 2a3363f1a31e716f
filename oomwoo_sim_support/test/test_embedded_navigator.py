"""The navigator as a whole: in mazes, and on physics with things that no map has."""
import math

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from nav_worlds import Base, block, drive_to, exact_clearance, maze, ROBOT, room
import numpy as np
from oomwoo_localization.frames import wrap_angle
from oomwoo_localization.scans import scan_points
from oomwoo_sim_support.embedded_navigator import Code, Navigator, NavigatorSettings, PlanError
from oomwoo_sim_support.layout import layout_from_dict, load_layout
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.navigator_settings import CONTROLLERS
from oomwoo_sim_support.rehearsal import Rehearsal
import pytest

RADIUS = ROBOT.body.radius


def spot(rng, grid, size):
    """Return a random pose where the body fits with 2 cm to spare."""
    while True:
        point = rng.uniform(0.0, size, 2)
        if exact_clearance(grid, point)[0] > RADIUS + 0.02:
            return np.array([*point, rng.uniform(-math.pi, math.pi)])


@given(
    seed=st.integers(0, 100_000), door_m=st.sampled_from([0.40, 0.45, 0.55]),
    period_s=st.sampled_from([0.05, 0.1]))
@hypothesis_settings(max_examples=30, deadline=None)
def test_arrives_in_any_maze_without_touching_it(seed, door_m, period_s):
    grid, pitch = maze(seed, cells_across=4, door_m=door_m)
    rng = np.random.default_rng(seed)
    start, goal = spot(rng, grid, 4 * pitch), spot(rng, grid, 4 * pitch)
    base = Base(start)
    step, _ = drive_to(Navigator(grid), base, goal, period_s=period_s)
    assert step.done and step.error_code == Code.NONE, step
    assert math.dist(base.pose[:2], goal[:2]) <= 0.05
    assert abs(wrap_angle(base.pose[2] - goal[2])) <= 0.1
    assert exact_clearance(grid, np.array(base.track)[::5, :2]).min() > RADIUS


def test_a_noisy_pose_does_not_make_it_touch_a_wall():
    grid, pitch = maze(8, cells_across=4)
    rng = np.random.default_rng(8)
    base = Base((0.45, 0.45, 0.0))
    navigator = Navigator(grid)
    goal = (3.5 * pitch, 3.5 * pitch, 0.0)
    navigator.go(goal, base.pose, 0.0)
    for k in range(2000):
        seen = base.pose + rng.normal(0.0, [0.008, 0.008, 0.015])
        step = navigator.step(seen, 0.1 * k, (False, False), base.linear)
        if step.done:
            break
        base.drive(step.linear, step.angular, 0.1)
    assert step.done and step.error_code == Code.NONE
    assert exact_clearance(grid, np.array(base.track)[::5, :2]).min() > RADIUS


def test_contacts_make_it_back_off_go_round_and_finally_give_up():
    navigator = Navigator(room(), settings=NavigatorSettings(contact_limit=3))
    base = Base((-2.0, 0.0, 0.0))
    # A bar across that the map does not have, its face at x = 0 and open above y = 0.4.
    step, _ = drive_to(
        navigator, base, (2.0, 0.0, 0.0),
        bump=lambda p: 2 * [p[0] + RADIUS > 0.0 and p[0] < 0.3 and p[1] < 0.2])
    assert step.done and (step.error_code, step.recoveries) == (
        Code.NONE, 2), 'one contact and one new plan'
    xs = np.array(base.track)[:, 0]
    first = np.argmax(xs + RADIUS > 0.0)
    deepest = first + np.argmax(xs[first:first + 50])
    assert xs[deepest:deepest + 200].min() < xs[deepest] - 0.07, 'backed off'
    base = Base((-2.0, 0.0, 0.0))
    step, time_s = drive_to(navigator, base, (2.0, 0.0, 0.0), bump=lambda p: (True, False))
    assert step.error_code == Code.FAILED_TO_MAKE_PROGRESS and '3 contacts' in step.message
    assert time_s < 20.0
    assert navigator.step(base.pose, time_s).linear == 0.0 and not navigator.active


def test_a_box_seen_in_the_way_is_planned_round_and_a_lone_return_is_not():
    box = block(room(), -0.15, -0.2, 0.15, 0.2)
    face = np.column_stack([np.full(17, -0.15), np.linspace(-0.2, 0.2, 17)])

    def scan(pose, points=face):
        c, s = math.cos(pose[2]), math.sin(pose[2])
        local = (points - pose[:2]) @ np.array([[c, -s], [s, c]])
        return np.column_stack([local, np.full(len(local), 0.088)])

    navigator, base = Navigator(room()), Base((-2.0, 0.0, 0.0))
    step, _ = drive_to(navigator, base, (2.0, 0.0, 0.0), scan=scan)
    assert step.error_code == Code.NONE and 1 <= step.recoveries <= 5
    assert exact_clearance(box, np.array(base.track)[::5, :2]).min() > RADIUS
    navigator, base = Navigator(room()), Base((-2.0, 0.0, 0.0))
    step, _ = drive_to(navigator, base, (2.0, 0.0, 0.0), scan=lambda pose: scan(pose, face[8:9]))
    assert (step.error_code, step.recoveries) == (Code.NONE, 0)
    # The floor, seen by a body that nods: no thing.
    navigator, base = Navigator(room()), Base((-2.0, 0.0, 0.0))
    step, _ = drive_to(navigator, base, (2.0, 0.0, 0.0), scan=lambda pose: scan(pose) * [1, 1, 0])
    assert (step.error_code, step.recoveries) == (Code.NONE, 0)


def test_a_new_goal_forgets_the_old_ones_obstacles_and_bad_goals_leave_none():
    navigator = Navigator(room())
    pose = np.zeros(3)
    navigator.go((2.0, 0.0, 0.0), pose, 0.0)
    navigator.step(pose, 0.0, (True, True))
    navigator.go((2.0, 0.0, 0.0), pose, 1.0)
    assert np.abs(navigator.path[:, 1]).max() < 1e-9
    for goal in ((9.0, 0.0, 0.0), (math.nan, 0.0, 0.0), (1.0, 0.0)):
        with pytest.raises(PlanError):
            navigator.go(goal, pose, 2.0)
        assert not navigator.active and navigator.step(pose, 2.0) == navigator.step(pose, 3.0)
        assert navigator.step(pose, 2.0).linear == 0.0


# -- on the simulator's physics ---------------------------------------------------------------

def rehearse(layout, grid, goals, start=None, seed=0):
    """Drive to one goal after the other on the true pose; return (rehearsal, ends, tracks)."""
    rehearsal = Rehearsal(layout, seed=seed, start=start)
    navigator = Navigator(grid)
    ends, tracks = [], []
    for goal in goals:
        navigator.go(goal, rehearsal.sim.truth().pose, rehearsal.sim.time_s)
        steps = []

        def control(seen, steps=steps):
            pose = rehearsal.sim.truth().pose
            navigator.see(scan_points(seen.scan, seen.base_from_scan)[0], pose)
            steps.append(navigator.step(pose, seen.time_s, (seen.bumper_left, seen.bumper_right)))
            return steps[-1].linear, steps[-1].angular

        tracks.append(rehearsal.run(control, 120.0, watch=lambda *_, steps=steps: steps[-1].done))
        ends.append(steps[-1])
    return rehearsal, ends, tracks


@pytest.mark.parametrize('seed', [0, 1])
def test_across_the_torture_course_without_contact(seed):
    layout = load_layout('contour_torture')
    grid = layout_grid(layout)
    navigator = Navigator(grid)
    roomy = grid.cells_to_points(np.argwhere(
        navigator.grid.free & (grid.obstacle_distance >= ROBOT.edge_cleaning.standoff)))
    rng = np.random.default_rng(seed)
    reachable = []
    while len(reachable) < 6:
        goal = np.array([*roomy[rng.integers(len(roomy))], rng.uniform(-math.pi, math.pi)])
        try:
            navigator.go(goal, layout.start, 0.0)
        except PlanError:
            continue
        reachable.append(goal)
    rehearsal, ends, tracks = rehearse(layout, grid, reachable, seed=seed)
    assert [end.error_code for end in ends] == [Code.NONE] * 6
    assert sum(track.contacts + track.rear_contacts for track in tracks) == 0
    assert min(track.clearance_m.min() for track in tracks) > 0.01
    final = rehearsal.sim.truth().pose
    assert math.dist(final[:2], reachable[-1][:2]) < 0.05 and abs(
        wrap_angle(final[2] - reachable[-1][2])) < 0.1


def room_layout(**things):
    """Return a 4 x 3 m room with ``things`` in it."""
    corners = [[-2, -1.5], [2, -1.5], [2, 1.5], [-2, 1.5]]
    return layout_from_dict({
        'name': 'navigation', 'start': [-1.4, 0.0, 0.0], 'floor': corners,
        'walls': [
            {
                'name': 'room', 'points': corners, 'closed': True, 'thickness': 0.05,
                'z': [0, 0.4]}], **things})


def test_an_unmapped_box_is_seen_and_passed_without_contact():
    box = {'name': 'box', 'center': [0.0, 0.05], 'size': [0.3, 0.3], 'yaw': 20, 'z': [0, 0.3]}
    _, ends, tracks = rehearse(
        room_layout(boxes=[box]), layout_grid(room_layout()), [(1.4, 0.0, 0.0)])
    assert ends[0].error_code == Code.NONE and ends[0].recoveries >= 1
    assert tracks[0].contacts == 0
    assert tracks[0].clearance_m.min() > 0.005


def test_a_lip_below_the_scan_is_felt_and_passed():
    lip = {'name': 'lip', 'center': [0.0, 0.0], 'size': [0.1, 0.4], 'yaw': 0, 'z': [0, 0.06]}
    layout = room_layout(boxes=[lip])
    grid = layout_grid(layout)
    assert not grid.lookup(grid.obstacles, np.zeros((1, 2)))[0], 'the map does not have it'
    rehearsal, ends, tracks = rehearse(layout, grid, [(1.4, 0.0, 0.0)])
    assert ends[0].error_code == Code.NONE, ends[0]
    assert 1 <= tracks[0].contacts <= 2
    assert math.dist(rehearsal.sim.truth().pose[:2], (1.4, 0.0)) < 0.05


def test_a_start_pressed_against_a_wall_gets_away():
    layout = room_layout()
    start = (2.0 - 0.025 - RADIUS - 0.002, 0.0, 0.0)
    _, ends, tracks = rehearse(layout, layout_grid(layout), [(-1.0, 0.5, 0.0)], start=start)
    assert ends[0].error_code == Code.NONE, ends[0]
    assert tracks[0].contacts <= 1


# -- the collision-averse controller ----------------------------------------------------------

def beside_a_wall(controller, goal=(2.88, 1.0, 0.0)):
    """Drive to where only a body of 10 cm fits; return (end, seconds, gap to the wall)."""
    base = Base((0.0, 1.0, 0.0))
    navigator = Navigator(room(), settings=NavigatorSettings(**CONTROLLERS[controller]))
    step, time_s = drive_to(
        navigator, base, goal, 60.0, bump=lambda pose: 2 * [pose[0] + RADIUS > 2.975])
    return step, time_s, 2.975 - RADIUS - np.array(base.track)[:, 0].max()


def test_the_averse_controller_aborts_again_and_again_before_it_touches():
    step, time_s, gap_m = beside_a_wall('averse')
    assert step.done and step.error_code == Code.NO_VALID_CONTROL
    assert step.aborts == NavigatorSettings().abort_limit and '10 times' in step.message
    assert 0.0 < gap_m < 0.4, 'in front of the wall, and not a touch'
    assert time_s > 2 * NavigatorSettings().abort_wait_s, 'two waits lie between ten aborts'


def test_the_tolerant_one_goes_on_until_it_touches_and_aborts_nothing():
    step, _, gap_m = beside_a_wall('tolerant')
    assert step.aborts == 0 and gap_m < 0.01


def test_the_default_does_neither():
    step, _, gap_m = beside_a_wall('auto', (2.70, 1.0, 0.0))
    assert step.error_code == Code.NONE and step.aborts == 0 and gap_m > 0.0


@given(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5), st.floats(-math.pi, math.pi))
@hypothesis_settings(max_examples=15, deadline=None)
def test_in_the_open_the_averse_controller_is_like_any_other(x, y, yaw):
    averse, tolerant = (
        drive_to(Navigator(room(), settings=NavigatorSettings(**CONTROLLERS[name])),
                 Base((0.3, -0.2, 1.0)), (x, y, yaw)) for name in ('averse', 'tolerant'))
    assert averse == tolerant and averse[0].error_code == Code.NONE


def test_turning_on_the_spot_beside_a_wall_is_no_collision_ahead():
    base = Base((2.79, 1.0, 0.0))
    navigator = Navigator(room(), settings=NavigatorSettings(**CONTROLLERS['averse']))
    step, _ = drive_to(navigator, base, (0.0, 1.0, math.pi))
    assert step.error_code == Code.NONE and step.aborts == 0
