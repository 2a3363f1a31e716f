"""The packaged worlds are what the measurements on them rest on: lengths, areas, gaps, places."""
import itertools
import math

import numpy as np
from oomwoo_localization.frames import transform_points
from oomwoo_localization.robot import load_robot
from oomwoo_localization.scans import scan_points
from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.layout import layout_names, load_layout
from oomwoo_sim_support.layout_fields import polygon_holds
from oomwoo_sim_support.layout_gaps import closest_points, find_gaps, undeclared_gaps
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.layout_primitives import primitives, solid_distance, touchable
from oomwoo_sim_support.layout_view import survey
from oomwoo_sim_support.sim_settings import SimSettings
import pytest

ROBOT = load_robot()
DIAMETER = 2 * ROBOT.body.radius
COURSES = ('contour_torture', 'contour_torture_lip')


def clearance(name, *points):
    """Return metres between the shell of a robot and what it can touch, for each place."""
    solids = [part for part in touchable(load_layout(name), ROBOT) if not part.soft]
    return (solid_distance(solids, points) - ROBOT.body.radius).tolist()


@pytest.mark.parametrize('name', layout_names())
def test_a_robot_can_stand_and_turn_at_the_start(name):
    layout = load_layout(name)
    assert clearance(name, layout.start[:2])[0] > 0.02
    assert polygon_holds(layout.floor, [layout.start[:2]])[0]


@pytest.mark.parametrize('name', layout_names())
def test_most_of_the_floor_can_be_reached(name):
    course = survey(load_layout(name))
    assert course.reachable_m2 > 0.9 * course.floor_m2
    assert course.edges_m > 10.0


def test_a_survey_agrees_with_pencil_and_paper():
    course = survey(load_layout('test_room'))
    standoff, radius = ROBOT.edge_cleaning.standoff, ROBOT.body.radius
    around = 2 * (3.95 - 2 * standoff) + 2 * (2.95 - 2 * standoff)
    assert course.edges_m == pytest.approx(around + math.tau * (0.12 + standoff), abs=0.05)
    floor = 3.95 * 2.95 - math.pi * 0.12 ** 2
    assert course.floor_m2 == pytest.approx(floor, abs=0.05)
    assert course.reachable_m2 == pytest.approx(floor - (4 - math.pi) * radius ** 2, abs=0.1)


def test_the_course_has_the_length_and_the_floor_it_should():
    course = survey(load_layout('contour_torture'))
    assert course.edges_m == pytest.approx(44.0, rel=0.03)
    assert course.reachable_m2 == pytest.approx(31.7, rel=0.03)
    assert len(course.edges) == 7, (
        'the room with all that lines it, five legs, the block 50 cm off')


def test_the_start_of_the_course():
    assert load_layout('contour_torture').start == (-2.6, -2.77, 0.0)
    assert clearance('contour_torture', (-2.6, -2.77))[0] == pytest.approx(
        0.205 - ROBOT.body.radius)


@pytest.mark.parametrize('name', COURSES)
def test_the_course_has_no_accidental_gap_below_45_cm(name):
    layout = load_layout(name)
    gaps = find_gaps(layout, 0.45)
    assert undeclared_gaps(layout, gaps) == []
    assert len(gaps) == len(layout.narrow_gaps), 'a declared gap that is not there any more'


def test_the_gaps_of_the_course_are_those_it_is_built_for():
    widths = {gap.between: gap.width for gap in find_gaps(load_layout('contour_torture'), 0.75)}
    assert widths['tooth_1', 'tooth_2'] == pytest.approx(2.0 * DIAMETER, abs=1e-6)
    assert widths['tooth_2', 'tooth_3'] == pytest.approx(1.1 * DIAMETER, abs=1e-6)
    assert widths['tooth_3', 'tooth_4'] == pytest.approx(0.9 * DIAMETER, abs=1e-6)
    assert widths['block_25_off', 'peninsula'] == pytest.approx(0.25)
    assert widths['block_50_off', 'peninsula'] == pytest.approx(0.50)
    assert widths['tight_bay_left', 'tight_bay_right'] == pytest.approx(0.40)
    assert ('bay_left', 'bay_right') not in widths


def test_the_robot_keeps_its_standoff_inside_one_bay_only():
    layout = load_layout('contour_torture')
    bay, tight = layout.arcs
    parts = touchable(layout, ROBOT)
    assert solid_distance(parts, [bay.center])[0] - ROBOT.edge_cleaning.standoff > 0.2
    assert solid_distance(parts, [tight.center])[0] < ROBOT.edge_cleaning.standoff


@pytest.mark.parametrize('name', COURSES)
def test_each_feature_of_the_course_stands_on_its_own(name):
    layout = load_layout(name)
    together = [
        {'tooth_1', 'tooth_2', 'tooth_3', 'tooth_4'},
        {'bay', 'bay_left', 'bay_right'},
        {'tight_bay', 'tight_bay_left', 'tight_bay_right'},
        {'thin_leg_1', 'thin_leg_2'}, {'thick_leg_1', 'thick_leg_2'},
        {'peninsula', 'block_25_off'}, {'peninsula', 'block_50_off'}]
    features = {}
    for part in primitives(layout):
        if part.element != 'room':
            features.setdefault(part.element, []).append(part)
    for (one, parts), (other, others) in itertools.combinations(features.items(), 2):
        if any({one, other} <= group for group in together):
            continue
        nearest = min(
            math.dist(*ends) for a in parts for b in others for ends in closest_points(a, b))
        assert nearest > 2 * ROBOT.edge_cleaning.standoff + 0.15, (one, other, nearest)


def test_the_lip_lies_below_the_scan_plane_across_the_robots_path():
    lip, = [
        part for part in primitives(load_layout('contour_torture_lip')) if part.element == 'lip']
    assert lip.z_max == 0.06 < ROBOT.lidar.z
    assert lip.signed_distance([[-2.975 + ROBOT.edge_cleaning.standoff, lip.y]])[0] < 0
    assert 'lip' not in [part.element for part in primitives(load_layout('contour_torture'))]


def test_the_living_room_is_free_where_coverage_runs_start():
    assert load_layout('living_room').start[:2] == (0.32, 1.59)


def test_the_kitchens_dock_and_the_places_before_it():
    layout = load_layout('kitchen_dining')
    assert layout.dock.pose == (-2.11, -0.5, 0.0) and layout.dock.width == 0.40
    back = [part for part in primitives(layout) if part.name == 'dock_back'][0]
    assert back.x - back.half_x == pytest.approx(-2.5), 'the dock stands against the west wall'
    ahead, off, beside = clearance('kitchen_dining', (-1.5, -0.5), (-1.6, -0.9), (-1.76, -0.5))
    assert ahead > 0.15 and off > 0.15 and beside > 0.1
    assert clearance('kitchen_dining', (-2.0, -0.5))[0] > 0.02
    pressed, = clearance('kitchen_dining', (-1.5, -0.15))
    assert -0.0001 < pressed < 0.0, 'touching'
    leg, = [part for part in primitives(layout) if part.element == 'table_leg_1']
    assert abs(math.atan2(leg.y + 0.15, leg.x + 1.5)) < math.radians(ROBOT.bumper.half_angle_deg)


def test_the_bumper_is_pressed_against_the_kitchens_table_leg_and_stays_so():
    sim = EmbeddedSim(load_layout('kitchen_dining'), start=(-1.5, -0.15, 0.0))
    for _ in range(20):
        sim.step(0.1)
        assert sim.bumpers() == (True, False), 'the leg is ahead on the left'
    np.testing.assert_allclose(sim.truth().pose, (-1.5, -0.15, 0.0), atol=5e-4)


@pytest.mark.parametrize('name', layout_names())
def test_the_map_shows_what_the_simulated_lidar_sees(name):
    layout = load_layout(name)
    grid = layout_grid(layout)
    sim = EmbeddedSim(layout, settings=SimSettings(range_noise_std=0.0, dropout_rate=0.0))
    sim.step(0.2)
    points, beams = scan_points(sim.scan(), sim.base_from_scan)
    assert len(beams) > 300
    off = grid.lookup(grid.obstacle_distance, transform_points(sim.truth().pose, points[:, :2]))
    assert np.nanmax(off) < 1.5 * grid.resolution and not np.isnan(off).any()
