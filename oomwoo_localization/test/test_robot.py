"""The robot's facts hang together, and a broken robot file is refused by field."""
import copy
import math

from oomwoo_localization.robot import default_robot_file, load_robot, RobotFileError
import pytest
import yaml

FACTS = yaml.safe_load(default_robot_file().read_text(encoding='utf-8'))


def written(folder, path=(), value=None, drop=False):
    """Write a robot file with one entry changed or dropped; return its path."""
    facts = copy.deepcopy(FACTS)
    spot = facts
    for key in path[:-1]:
        spot = spot[key]
    if drop:
        del spot[path[-1]]
    elif path:
        spot[path[-1]] = value
    file = folder / 'robot.yaml'
    file.write_text(yaml.safe_dump(facts))
    return file


def test_the_figures_that_everything_else_is_measured_with():
    robot = load_robot()
    assert (robot.body.radius, robot.lidar.x, robot.lidar.z) == (0.1745, 0.0745, 0.088)
    assert (robot.wheels.track, robot.wheels.radius) == (0.235, 0.034)
    assert (robot.limits.linear_speed, robot.limits.angular_speed) == (0.3, 2.55)
    assert robot.limits.linear_acceleration == 1.0 and robot.center_of_mass.x == 0.0072
    assert robot.bumper.half_angle_deg == 90.0 and robot.edge_cleaning.standoff == 0.23


def test_the_caster_keeps_its_load_under_the_acceleration_limit():
    robot = load_robot()
    assert robot.caster_unloading_mps2 == pytest.approx(4.31, abs=0.01)
    assert robot.caster_unloading_mps2 > 4 * robot.limits.linear_acceleration
    assert math.degrees(robot.nose_down_limit_rad) == pytest.approx(4.11, abs=0.01)


def test_the_parts_fit_into_the_body():
    robot = load_robot()
    assert robot.caster.x + robot.caster.radius < robot.body.radius
    assert robot.center_of_mass.x < robot.caster.x
    wheel_reach = math.hypot(robot.wheels.track / 2 + robot.wheels.width / 2, robot.wheels.radius)
    assert wheel_reach < robot.body.radius
    assert 0.0 < robot.lidar.x < robot.body.radius and robot.dock_receivers.x > -robot.body.radius
    assert robot.body.radius < robot.edge_cleaning.standoff


def test_a_file_of_ones_own(tmp_path):
    robot = load_robot(written(tmp_path, ('body', 'radius'), 0.2))
    assert robot.body.radius == 0.2 and load_robot().body.radius == 0.1745


@pytest.mark.parametrize(('path', 'value', 'words'), [
    (('body', 'radius'), 'wide', r"robot.yaml: body.radius: expected a finite number, got 'wide'"),
    (('body', 'radius'), True, 'body.radius: expected a finite number, got True'),
    (('body', 'radius'), math.nan, 'body.radius: expected a finite number'),
    (('body', 'radius'), None, 'body.radius: expected a finite number'),
    (('wheels', 'track'), 0, 'wheels.track: must be greater than zero'),
    (('limits', 'linear_speed'), -0.3, 'limits.linear_speed: must be greater than zero'),
    (('lidar', 'range_max'), math.inf, 'lidar.range_max: expected a finite number'),
    (('lidar', 'beams'), 359.5, 'lidar.beams: expected a whole number'),
    (('wheels',), 5, 'wheels: expected a mapping, got int'),
    (('wings',), 2, "unknown field 'wings'; known: name, body"),
    (('lidar', 'pitch'), 0, "lidar: unknown field 'pitch'")])
def test_a_bad_value_is_refused_by_field(tmp_path, path, value, words):
    with pytest.raises(RobotFileError, match=words):
        load_robot(written(tmp_path, path, value))


@pytest.mark.parametrize(
    'path', [('body',), ('body', 'mass'), ('lidar', 'z'), ('edge_cleaning', 'standoff')])
def test_a_missing_field_is_named(tmp_path, path):
    with pytest.raises(RobotFileError, match=f"field '{path[-1]}' is missing"):
        load_robot(written(tmp_path, path, drop=True))


@pytest.mark.parametrize(
    'path', [('lidar', 'yaw'), ('lidar', 'x'), ('center_of_mass', 'x'), ('dock_receivers', 'x')]
)
@pytest.mark.parametrize('value', [-0.01, 0])
def test_an_offset_may_be_zero_or_negative(tmp_path, path, value):
    robot = load_robot(written(tmp_path, path, value))
    assert getattr(getattr(robot, path[0]), path[1]) == value


@pytest.mark.parametrize(
    ('data', 'words'),
    [
        (b'', 'expected a mapping, got NoneType'),
        (b'- 1', 'expected a mapping, got list'),
        (b'a: [', 'is not YAML'),
        (b'\xff\xfe\x00', 'is not text'),
    ],
)
def test_what_is_no_robot_file_is_refused(tmp_path, data, words):
    file = tmp_path / 'odd.yaml'
    file.write_bytes(data)
    with pytest.raises(RobotFileError, match=f'odd.yaml: {words}'):
        load_robot(file)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(RobotFileError, match='nowhere.yaml: cannot be read'):
        load_robot(tmp_path / 'nowhere.yaml')
