"""SDF in, shape out, and what is refused."""
import math

from oomwoo_sim_support.sim_entities import (
    EntityError,
    sdf_of_box,
    sdf_of_cylinder,
    shape_from_sdf,
)
import pytest


def model(geometry, model_pose='', link_pose='', collision_pose=''):
    """Return a model of one collision with poses where given."""
    poses = [
        f'<pose>{pose}</pose>' if pose else '' for pose in (model_pose, link_pose, collision_pose)]
    return (
        f'<sdf version="1.9"><model name="m">{poses[0]}<link name="l">{poses[1]}'
        f'<collision name="c">{poses[2]}<geometry>{geometry}</geometry></collision>'
        '</link></model></sdf>')


BOX = '<box><size>0.2 0.4 0.6</size></box>'


def test_own_models_come_back_as_they_are():
    """Frame on the floor, so the centre is half the height up."""
    box = shape_from_sdf(sdf_of_box('b', (0.2, 0.4, 0.6)))
    drum = shape_from_sdf(sdf_of_cylinder('d', 0.1, 0.5))
    assert (box.kind, box.size, box.z, box.name) == ('box', (0.2, 0.4, 0.6), 0.3, 'b')
    assert (drum.kind, drum.size, drum.z, drum.name) == ('cylinder', (0.2, 0.2, 0.5), 0.25, 'd')


def test_poses_add_up_in_turned_frames():
    """Model, link and collision, each in the frame of the one before."""
    shape = shape_from_sdf(model(BOX, '1 0 0 0 0 1.5707963', '1 0 0.1 0 0 0', '0 1 0.2 0 0 0.5'))
    assert (shape.x, shape.y, shape.z) == pytest.approx((0.0, 1.0, 0.3), abs=1e-6)
    assert shape.yaw == pytest.approx(math.pi / 2 + 0.5)


@pytest.mark.parametrize('text, words, supported', [
    ('<sdf><model', 'not XML', True), ('<robot/>', 'expected <sdf>', False),
    ('<sdf/>', 'found 0', False),
    (model(BOX).replace('</link>', '<collision/></link>'), 'found 2', False),
    (model('<sphere><radius>1</radius></sphere>'), 'neither', False),
    (model('<box><size>1 1</size></box>'), 'must be 3 numbers', True),
    (model('<box><size>1 1 nan</size></box>'), 'must be 3 numbers', True),
    (model('<box><size>1 1 0</size></box>'), 'no size', True),
    (model(BOX, '0 0 0 0.3 0 0'), 'not upright', False),
    (model(BOX, '0 0 zero 0 0 0'), 'must be 6', True)])
def test_what_cannot_be_spawned_is_said(text, words, supported):
    """Kind of error and element named."""
    with pytest.raises(EntityError, match=words) as caught:
        shape_from_sdf(text)
    assert caught.value.supported is supported
