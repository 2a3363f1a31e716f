"""The map of a layout is what a LiDAR at the scan height would draw."""
import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.grids import load_map
from oomwoo_sim_support.generate import map_files
from oomwoo_sim_support.layout import layout_from_dict, LayoutError, load_layout
from oomwoo_sim_support.layout_map import layout_grid
import pytest

FLOOR = [[-2, -2], [2, -2], [2, 2], [-2, 2]]


def world(**elements):
    """Return a layout of some elements on a bare floor of 4 x 4 m."""
    return layout_from_dict(
        {'name': 'world', 'start': [-1.9, -1.9, 0], 'floor': FLOOR, **elements})


def area(grid, mask):
    """Return square metres."""
    return mask.sum() * grid.resolution ** 2


def at(grid, *points):
    """Return the values of the cells that hold the points."""
    return grid.lookup(grid.cells, points).tolist()


def test_inside_is_free_and_outside_unknown():
    grid = layout_grid(world())
    assert area(grid, grid.free) == pytest.approx(16.0) and not grid.obstacles.any()
    assert at(grid, (0, 0), (2.1, 0), (-2.1, -2.1)) == [0, -1, -1]


@settings(max_examples=30, deadline=None)
@given(
    st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 360), st.floats(0.1, 1.0),
    st.floats(0.1, 1.0))
def test_a_turned_box_covers_its_area_where_it_stands(x, y, yaw, length, width):
    box = {'name': 'box', 'center': [x, y], 'size': [length, width], 'yaw': yaw}
    grid = layout_grid(world(boxes=[box]))
    assert area(grid, grid.obstacles) == pytest.approx(
        length * width, abs=0.025 * (length + width))
    middle = grid.cells_to_points(np.argwhere(grid.obstacles)).mean(axis=0)
    assert middle == pytest.approx([x, y], abs=0.013)


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.002, 0.03))
@settings(max_examples=40, deadline=None)
def test_no_leg_falls_between_cells(x, y, radius):
    grid = layout_grid(world(cylinders=[{'name': 'leg', 'center': [x, y], 'radius': radius}]))
    cells = grid.cells_to_points(np.argwhere(grid.obstacles))
    assert 1 <= len(cells) <= 10
    assert np.linalg.norm(cells - [x, y], axis=1).max() <= max(radius, 0.0177) + 1e-6


def test_a_thin_slanted_wall_has_no_holes():
    sheet = {'name': 'sheet', 'points': [[-2, -1.3], [2, 0.9]], 'thickness': 0.004}
    grid = layout_grid(world(walls=[sheet]))
    assert np.all(grid.obstacles[:, 10:170].any(axis=0))
    assert at(grid, (-1.9, 1.0)) == [-1], (
        'the far side of the sheet is not connected with the start')


def test_the_cut_is_at_the_scan_height():
    layout = world(boxes=[
        {'name': 'lip', 'center': [0, 1], 'size': [0.2, 0.2], 'z': [0, 0.06]},
        {'name': 'seat', 'center': [0, 0], 'size': [0.2, 0.2], 'z': [0.3, 0.4]},
        {'name': 'post', 'center': [0, -1], 'size': [0.2, 0.2], 'z': [0, 0.4]}],
        soft=[{'name': 'skirt', 'points': [[1, -1], [1, 1]], 'z': [0.05, 0.4]}])
    assert at(layout_grid(layout), (0, 1), (0, 0), (0, -1), (1, 0)) == [0, 0, 100, 100]
    low = layout_grid(layout, height_m=0.03)
    assert at(low, (0, 1), (0, 0), (0, -1), (1, 0)) == [100, 0, 100, 0]
    assert at(layout_grid(layout, height_m=0.35), (0, 0)) == [100]


def test_what_is_walled_in_is_unknown():
    grid = layout_grid(world(walls=[
        {'name': 'shaft', 'points': [[0, 0], [1, 0], [1, 1], [0, 1]], 'closed': True}]))
    assert at(grid, (0.5, 0.5), (-1, 0.5)) == [-1, 0]


@pytest.mark.parametrize('resolution', [0, -1, math.nan, math.inf, 'fine', None, 1e-5])
def test_a_resolution_that_is_none_is_refused(resolution):
    with pytest.raises(LayoutError, match='world: '):
        layout_grid(world(), resolution)


@pytest.mark.parametrize('resolution', [0.05, 0.025, 0.01])
def test_wall_faces_lie_where_they_should_at_any_resolution(resolution):
    grid = layout_grid(load_layout('test_room'), resolution)
    row = grid.obstacle_distance[grid.shape[0] // 2]
    inside = np.flatnonzero(grid.free[grid.shape[0] // 2])
    xs = grid.cells_to_points(np.array([[grid.shape[0] // 2, c] for c in inside]))[:, 0]
    assert xs[0] - row[inside[0]] == pytest.approx(-1.975, abs=resolution * 0.51)
    assert xs[-1] + row[inside[-1]] == pytest.approx(1.975, abs=resolution * 0.51)


def test_a_map_file_is_the_grid_when_read_back(tmp_path):
    (tmp_path / 'contour_torture.yaml').write_bytes(
        map_files(load_layout('contour_torture'))['contour_torture.yaml']
    )
    (tmp_path / 'contour_torture.pgm').write_bytes(
        map_files(load_layout('contour_torture'))['contour_torture.pgm']
    )
    loaded = load_map(tmp_path / 'contour_torture.yaml')
    grid = layout_grid(load_layout('contour_torture'))
    assert np.array_equal(loaded.cells, grid.cells) and loaded.resolution == 0.025
    assert loaded.origin == pytest.approx(grid.origin)
