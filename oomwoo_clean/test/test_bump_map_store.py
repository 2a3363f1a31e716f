"""A bump map on disk: there and back, and files that are none or of another map."""
import io
import math
import zipfile

from bump_worlds import R, Robot
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_clean.bump_map import BumpMap
from oomwoo_clean.bump_map_store import BumpMapFileError, same_home
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


def claim(path, shape, kind='<f8'):
    """Rewrite the file so that its field ``poses`` has a header of that shape and no numbers."""
    with zipfile.ZipFile(path) as archive:
        fields = {name: archive.read(name) for name in archive.namelist()}
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {'shape': shape, 'fortran_order': False, 'descr': kind})
    with zipfile.ZipFile(path, 'w') as archive:
        for name, content in fields.items():
            archive.writestr(name, head.getvalue() if name == 'poses.npy' else content)


@pytest.mark.parametrize('shape, kind', [
    ((10 ** 15, 3), '<f8'), ((10 ** 6 + 1, 3), '<f8'), ((8, 10 ** 14), '<f8'), ((-8, 3), '<f8'),
    ((8, 3), '<U200000000'), ((10 ** 15, 0), '<f8')])
def test_a_header_that_claims_too_much_is_refused_unread(tmp_path, shape, kind):
    path = tmp_path / 'home.npz'
    felt().save(path)
    claim(path, shape, kind)
    with pytest.raises(BumpMapFileError, match="home.npz: is no saved bump map .*'poses'"):
        felt(3).load(path)


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    path = tmp_path / 'home.npz'
    with path.open('wb') as stream:
        np.save(stream, np.zeros(3))
    with pytest.raises(BumpMapFileError, match='is no saved bump map'):
        BumpMap().load(path)
    with pytest.raises(BumpMapFileError, match='is no saved bump map'):
        BumpMap().load(tmp_path)


def test_what_was_felt_before_the_file_was_read_stays(tmp_path):
    before = felt()
    before.save(tmp_path / 'a.npz')
    robot = Robot()
    robot.map.reference = grid()
    robot.bump((-1.0, -1.6), -math.pi / 2, 0.0)
    robot.map.load(tmp_path / 'a.npz')
    assert robot.map.placed == before.placed + 1


def room(margin=0, shift=0.0, resolution=0.05, yaw=0.3, seed=0):
    """Return a map of one room, with so many cells of unknown land around it."""
    rng = np.random.default_rng(seed)
    cells = np.full((60, 70), 0, dtype=np.int8)
    cells[[0, -1]] = cells[:, [0, -1]] = 100
    for row, column in rng.integers(5, 55, (20, 2)):
        cells[row:row + 4, column:column + 4] = 100
    cells = np.pad(cells, margin, constant_values=-1)
    c, s, off = math.cos(yaw), math.sin(yaw), -margin * resolution
    return OccupancyGrid(
        cells, resolution, (1.0 + shift + c * off - s * off, s * off + c * off, yaw))


def test_a_map_that_has_grown_is_the_same_home_and_another_is_not():
    grown = room(margin=12)
    grown.cells[:8] = 0                                # land that was not known before
    assert same_home(room(), room()) and same_home(room(), grown)
    redrawn = room(margin=12)
    redrawn.cells[12:72, 13:83] = room().cells         # its walls found one cell farther on
    assert same_home(room(), redrawn)
    for other in (
            room(seed=1), room(shift=0.02), room(shift=1.0), room(resolution=0.025),
            room(yaw=0.31), room(margin=12, seed=1)):
        assert not same_home(room(), other)
    assert not same_home(grown, room())                # it has become smaller
