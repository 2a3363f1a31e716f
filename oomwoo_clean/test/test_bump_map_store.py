"""A bump map on disk: there and back, and files that are none or of another map."""
import math

from bump_worlds import R, Robot
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.bump_map import BumpMap
from oomwoo_clean.bump_map_store import BumpMapFileError
from oomwoo_localization.grids import OccupancyGrid
import pytest


def grid(resolution=0.05, origin=(-2.0, -2.0, 0.1), fill=0, size=(80, 90)):
    """Return a map with one wall."""
    cells = np.full(size, fill, dtype=np.int8)
    cells[0] = 100
    return OccupancyGrid(cells, resolution, origin)


def felt(seed=0, reference=None):
    """Return a bump map with a wall and three things."""
    rng = np.random.default_rng(seed)
    robot = Robot()
    robot.map.reference = reference or grid()
    for x in np.arange(0.0, 1.0, 0.2):
        robot.bump((x, 1.0), math.pi / 2, rng.uniform(-1, 1), rng.normal(0, 0.003))
    for point in rng.uniform(-1.5, 0.0, (3, 2)):
        robot.bump(point, rng.uniform(-3, 3), rng.uniform(-1, 1))
    return robot.map


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1000))
def test_there_and_back(tmp_path, seed):
    before, after = felt(seed), BumpMap()
    path = tmp_path / 'maps' / f'home_{seed}.npz'
    before.save(path)
    after.reference = grid()
    after.load(path)
    np.testing.assert_array_equal(after.contacts(), before.contacts())
    np.testing.assert_array_equal(after.grid().cells, before.grid().cells)
    assert [w.count for w in after.walls()] == [w.count for w in before.walls()]
    assert [p.name for p in path.parent.iterdir() if p.suffix == '.part'] == []


def test_it_goes_on_from_there(tmp_path):
    felt().save(tmp_path / 'a.npz')
    robot = Robot()
    robot.map.reference = grid()
    robot.map.load(tmp_path / 'a.npz')
    touched = robot.map.placed
    robot.put((0.5, 0.6, math.pi / 2))
    robot.drive(0.9)                                  # through the wall, which has gone
    assert 0 < robot.map.placed < touched
    robot.bump((-1.0, -1.6), -math.pi / 2, 0.0)
    assert robot.map.placed >= 1 and robot.map.contacts()[:, 1].min() < -1.5


@pytest.mark.parametrize('other, says', [
    (grid(size=(80, 91)), 'another map: 90 x 80 cells, and not 91 x 80'),
    (grid(resolution=0.025), 'another map: its resolution is 0.05, and not 0.025'),
    (grid(origin=(-2.0, -2.0, 0.2)), 'another map: its origin yaw is 0.1, and not 0.2'),
    (grid(fill=-1), 'another map of the same size and place')])
def test_a_file_of_another_map_is_refused_and_nothing_changes(tmp_path, other, says):
    path = tmp_path / 'home.npz'
    felt().save(path)
    bumps = felt(7, other)
    before = bumps.contacts()
    with pytest.raises(BumpMapFileError, match=says) as refused:
        bumps.load(path)
    assert str(path) in str(refused.value)
    np.testing.assert_array_equal(bumps.contacts(), before)


def broken(path, how):
    """Make the file at ``path`` unusable."""
    if how == 'cut':
        path.write_bytes(path.read_bytes()[:200])
    elif how == 'text':
        path.write_text('touches: none\n', encoding='utf-8')
    elif how == 'gone':
        path.unlink()
    else:
        with np.load(path) as archive:
            state = {name: archive[name] for name in archive.files}
        name, value = how
        if value is None:
            del state[name]
        else:
            state[name] = np.array(value)
        np.savez(path, **state)


@pytest.mark.parametrize('how, says', [
    ('cut', 'is no saved bump map'), ('text', 'is no saved bump map'),
    ('gone', 'is no saved bump map'), (('poses', None), "field 'poses"),
    (('format', 99), 'is of format 99'), (('centres', [[math.nan, 0.0]]), "'centres'"),
    (('sides', [0]), 'different numbers'), (('sides', [9] * 8), 'is no saved bump map'),
    (('alive', np.zeros((8, 19))), 'no direction left'), (('poses', ['a']), 'is no saved')])
def test_a_broken_file_is_refused_and_nothing_changes(tmp_path, how, says):
    path = tmp_path / 'home.npz'
    felt().save(path)
    broken(path, how)
    bumps = felt(3)
    before = bumps.contacts()
    with pytest.raises(BumpMapFileError, match=says) as refused:
        bumps.load(path)
    assert str(path) in str(refused.value)
    np.testing.assert_array_equal(bumps.contacts(), before)


def test_saved_without_a_map_it_fits_any(tmp_path):
    robot = Robot()
    robot.bump((1.0, 0.0), 0.0, 0.0)
    robot.map.save(tmp_path / 'a.npz')
    bumps = BumpMap()
    bumps.reference = grid()
    bumps.load(tmp_path / 'a.npz')
    assert bumps.contacts()[0] == pytest.approx([1.0, 0.0], abs=0.01) and R > 0.1
