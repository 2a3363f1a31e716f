"""What counts as wall, what counts as passed, and how wrong a segment is."""
import math

import numpy as np
from oomwoo_clean.wall_meter import segment_errors, solids_of, touchable_outline, WallMeter
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import layout_from_dict
import pytest

ROBOT = load_robot()
RADIUS = ROBOT.body.radius


def world(**elements):
    """Return a room of 4 by 3 m inside."""
    outline = [[-2.025, -1.525], [2.025, -1.525], [2.025, 1.525], [-2.025, 1.525]]
    return layout_from_dict({
        'name': 'world', 'start': [0.0, 0.0, 0.0], 'floor': outline, **elements,
        'walls': [{'name': 'room', 'points': outline, 'closed': True, 'thickness': 0.05}]})


def test_counts_what_the_body_can_touch():
    outline = touchable_outline(world(), ROBOT)
    assert outline.wall.all()
    # 14 m less the four corners, where a round body leaves a radius on each side.
    assert len(outline.points) * 0.01 == pytest.approx(14.0 - 8 * RADIUS, abs=0.1)


def test_leaves_out_what_is_too_high_too_soft_or_out_of_reach():
    more = touchable_outline(world(
        boxes=[{'name': 'shelf', 'center': [0.0, 1.0], 'size': [0.4, 0.4], 'z': [0.3, 0.5]},
               {'name': 'box', 'center': [1.0, 0.5], 'size': [0.4, 0.2]},
               {'name': 'near', 'center': [-1.0, -1.2], 'size': [0.4, 0.2]}],
        soft=[{'name': 'curtain', 'points': [[-1.0, 0.5], [-0.5, 0.5]], 'z': [0.0, 1.0]}]), ROBOT)
    assert set(more.element[~more.wall]) == {'box', 'near'}
    box = more.element == 'box'
    assert box.sum() * 0.01 == pytest.approx(1.2, abs=0.03)
    # Between the box near the wall and the wall, 20 cm, no robot fits.
    assert not (more.points[more.element == 'near'][:, 1] < -1.299).any()
    behind = more.wall & (np.abs(more.points - [-1.0, -1.5]) < [0.15, 0.02]).all(axis=1)
    assert not behind.any()


def test_leaves_out_rooms_that_cannot_be_reached():
    divided = world(boxes=[{'name': 'divider', 'center': [1.0, 0.0], 'size': [0.1, 3.0]}])
    left = touchable_outline(divided, ROBOT)
    assert left.points[:, 0].max() < 1.0
    right = touchable_outline(divided, ROBOT, (1.5, 0.0, 0.0))
    assert right.points[:, 0].min() > 1.0


def test_passed_is_within_two_centimetres_of_the_shell():
    outline = touchable_outline(world(), ROBOT)
    meter = WallMeter(outline, ROBOT)
    for x in np.arange(-1.0, 1.0, 0.005):
        meter.look((x, -1.5 + RADIUS + 0.019), False)
    assert meter.passed.sum() * 0.01 == pytest.approx(2.0, abs=0.25)
    assert not meter.touched.any()
    other = WallMeter(outline, ROBOT)
    other.look((0.0, -1.5 + RADIUS + 0.021), True)
    assert not other.passed.any() and not other.touched.any()
    other.look((0.0, -1.5 + RADIUS), True)
    assert other.touched.any() and other.shares()['wall_passed'] < 0.02


def test_segments_are_as_wrong_as_they_were_made():
    parts = solids_of(world(), ROBOT)
    angle = math.radians(2.0)
    turned = np.array([[0.0, -1.49], [math.cos(angle), -1.49 + math.sin(angle)]])
    straight = np.array([[-1.0, -1.48], [1.0, -1.48]])
    errors = segment_errors([turned, straight], parts)
    assert errors[0] == pytest.approx([1.0, 0.01 + math.sin(angle), 2.0], abs=1e-3)
    assert errors[1] == pytest.approx([2.0, 0.02, 0.0], abs=1e-3)
    assert segment_errors([], parts).shape == (0, 3)
