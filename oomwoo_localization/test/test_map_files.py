"""Map files read as nav2_map_server reads them; broken ones refused by file and field."""
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
import numpy as np
from oomwoo_localization.grids import GridError, load_map, OccupancyGrid, save_map
from PIL import Image
import pytest

SIX = np.array([[0, 60, 128], [204, 206, 255]], dtype=np.uint8)      # the top row first


def write(folder, pixels=SIX, **changes):
    """Write map.yaml and its image; a field given as None is left out."""
    name = 'map.png' if isinstance(pixels, Image.Image) else 'map.pgm'
    if isinstance(pixels, Image.Image):
        pixels.save(folder / name)
    elif isinstance(pixels, bytes):
        (folder / name).write_bytes(pixels)
    else:
        rows, columns = pixels.shape
        (folder / name).write_bytes(f'P5\n{columns} {rows}\n255\n'.encode() + pixels.tobytes())
    fields = {'image': name, 'resolution': 0.05, 'origin': [-1.0, -2.0, 0.5], 'negate': 0,
              'occupied_thresh': 0.65, 'free_thresh': 0.25, **changes}
    path = folder / 'map.yaml'
    path.write_text(
        ''.join(f'{key}: {value}\n' for key, value in fields.items() if value is not None))
    return path


def cells(folder, pixels=SIX, **changes):
    """Return the cells of a map file, top row first as in the image."""
    return load_map(write(folder, pixels, **changes)).cells[::-1].tolist()


def test_trinary(tmp_path):
    loaded = load_map(write(tmp_path))
    # occupied 1 - shade: 1, 0.765, 0.498 / 0.2, 0.192, 0
    assert loaded.cells[::-1].tolist() == [[100, 100, -1], [0, 0, 0]]
    assert loaded.resolution == 0.05 and loaded.origin == (-1.0, -2.0, 0.5)
    assert cells(tmp_path, free_thresh=0.196) == [[100, 100, -1], [-1, 0, 0]]


def test_negate_turns_the_shades_and_not_the_thresholds(tmp_path):
    assert cells(tmp_path, negate=1) == [[0, 0, -1], [100, 100, 100]]
    assert cells(tmp_path, negate='true') == [[0, 0, -1], [100, 100, 100]]


def test_scale(tmp_path):
    # (0.498 - 0.25) / 0.4 = 62 %
    assert cells(tmp_path, mode='scale') == [[100, 100, 62], [0, 0, 0]]


def test_raw_takes_the_values_themselves(tmp_path):
    assert cells(tmp_path, np.array([[0, 37, 100, 101, 255]], dtype=np.uint8), mode='raw') == [
        [0, 37, 100, -1, -1]
    ]


def test_alpha(tmp_path):
    pixels = np.array([[[0, 255], [0, 0], [255, 255], [255, 0], [128, 254]]], dtype=np.uint8)
    with_alpha = Image.fromarray(pixels, 'LA')
    # Trinary: alpha is a fourth colour, so opaque black is 0.75 and clear white 0.25 occupied.
    assert cells(tmp_path, with_alpha) == [[100, 100, 0, -1, -1]]
    # Scale: what is not opaque is unknown, whatever its shade.
    assert cells(tmp_path, with_alpha, mode='scale') == [[100, -1, 0, -1, -1]]


def test_a_coloured_picture_counts_with_the_mean_of_its_colours(tmp_path):
    blue = Image.fromarray(np.array([[[0, 0, 255], [255, 255, 0]]], dtype=np.uint8), 'RGB')
    assert cells(tmp_path, blue, occupied_thresh=0.6, free_thresh=0.4) == [[100, 0]]


def test_a_palette_and_a_black_and_white_picture(tmp_path):
    picture = Image.fromarray(np.array([[0, 255]], dtype=np.uint8), 'L')
    assert cells(tmp_path, picture.convert('P')) == [[100, 0]]
    assert cells(tmp_path, picture.convert('1')) == [[100, 0]]


def test_sixteen_bits(tmp_path):
    deep = np.array([[0, 20000, 65535]], dtype='>u2')
    assert cells(tmp_path, b'P5\n3 1\n65535\n' + deep.tobytes()) == [[100, 100, 0]]
    deep_map = cells(
        tmp_path, Image.fromarray(deep.astype('<u2')), mode='scale', occupied_thresh=0.9)
    assert deep_map == [[100, 68, 0]]


def test_a_pgm_with_comments_and_as_text(tmp_path):
    by_hand = b'P5\n# drawn by hand\n2 1\n# so many shades\n255\n\x00\xff'
    assert cells(tmp_path, by_hand) == [[100, 0]]
    assert cells(tmp_path, b'P2\n# as text\n3 1\n255\n0 128 255\n') == [[100, -1, 0]]


@settings(max_examples=30, deadline=None)
@given(
    npst.arrays(
        np.int8, st.tuples(st.integers(1, 9), st.integers(1, 9)),
        elements=st.sampled_from([-1, 0, 100])),
    st.floats(0.001, 100),
    st.tuples(st.floats(-99, 99), st.floats(-99, 99), st.floats(-3, 3)),
)
def test_a_saved_map_is_read_back_the_same(tmp_path_factory, drawn, resolution, origin):
    if (drawn == -1).all():
        return
    path, image = save_map(
        OccupancyGrid(drawn, resolution, origin), tmp_path_factory.mktemp('map') / 'kitchen.yaml'
    )
    again = load_map(path)
    assert image.name == 'kitchen.pgm' and np.array_equal(again.cells, drawn)
    assert again.resolution == resolution and again.origin == pytest.approx(origin, abs=1e-6)


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'image': None}, "field 'image' is missing"),
        ({'resolution': None}, "field 'resolution' is missing"),
        ({'origin': None}, "field 'origin' is missing"),
        ({'resolution': 0}, 'resolution must be greater than zero'),
        ({'resolution': -0.05}, 'resolution must be greater than zero'),
        ({'resolution': 'fine'}, 'resolution must be a number'),
        ({'resolution': '.nan'}, 'resolution must be a number'),
        ({'origin': '[0, 0]'}, r'origin must be \[x, y, yaw\]'),
        ({'origin': '[0, 0, north]'}, 'origin must be three numbers'),
        ({'origin': '[0, 0, .inf]'}, 'origin is'),
        ({'origin': 5}, r'origin must be \[x, y, yaw\]'),
        ({'mode': 'fancy'}, 'mode must be trinary, scale or raw'),
        (
            {'occupied_thresh': 0.2, 'free_thresh': 0.6},
            'free_thresh 0.6 must lie below occupied_thresh 0.2',
        ),
        ({'occupied_thresh': 1.2}, 'must lie below'),
        ({'free_thresh': -0.1}, 'must lie below'),
        ({'negate': 'maybe'}, 'negate must be a number'),
        ({'image': 'gone.pgm'}, 'gone.pgm does not exist'),
        ({'image': '.'}, 'cannot be read'),
    ],
)
def test_a_broken_description_is_refused_by_file_and_field(tmp_path, changes, words):
    with pytest.raises(GridError, match=words) as caught:
        load_map(write(tmp_path, **changes))
    assert str(tmp_path / 'map.yaml') in str(caught.value)


@pytest.mark.parametrize(
    'data',
    [
        b'',
        b'no picture',
        b'P5\n3 1\n255\n\x00',
        b'P5\n0 0\n255\n',
        b'P5\n-1 5\n255\n',
        b'\x89PNG\r\n\x1a\n garbage',
    ],
)
def test_a_broken_picture_is_refused(tmp_path, data):
    with pytest.raises(GridError, match='map.yaml: .*(cannot be read|is empty)'):
        load_map(write(tmp_path, data))


def test_a_map_of_unknown_cells_is_refused(tmp_path):
    with pytest.raises(GridError, match='every cell is unknown'):
        load_map(write(tmp_path, np.full((3, 3), 128, dtype=np.uint8)))


@pytest.mark.parametrize(('text', 'words'), [
    (b'', 'is not a map description'), (b'[1, 2]', 'is not a map description'),
    (b'image: [', 'is not YAML'), (b'\xff\xfe\x00', 'is not text')])
def test_what_is_no_map_description_is_refused(tmp_path, text, words):
    path = tmp_path / 'map.yaml'
    path.write_bytes(text)
    with pytest.raises(GridError, match=words):
        load_map(path)
    with pytest.raises(GridError, match='nowhere.yaml: cannot be read'):
        load_map(tmp_path / 'nowhere.yaml')
