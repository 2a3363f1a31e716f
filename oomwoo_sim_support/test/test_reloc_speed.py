"""Offices to measure the relocalizer's time in: rooms that can be walked through."""

import numpy as np
from oomwoo_sim_support.reloc_speed import DOOR_M, office, speed_trials
from oomwoo_sim_support.reloc_worlds import draw_map
import pytest
from scipy import ndimage


@pytest.mark.parametrize('width, depth, rooms', [(7.0, 6.0, 1), (15.0, 15.0, 9), (30.0, 20.0, 24)])
def test_every_room_of_an_office_can_be_reached(width, depth, rooms):
    """As many rooms as the area gives; one free floor joins their places, however it is drawn."""
    rng = np.random.default_rng(2)
    room = office(width, depth, rng)
    assert len(room.floor) == rooms
    assert sum(w * d for _, _, w, d in room.floor) == pytest.approx(width * depth)
    assert room.walls.reshape(-1, 2).max(axis=0) == pytest.approx([width, depth])
    grid = draw_map(room.walls, 0.05, 0.0, np.array([[0.5, 0.5]]), rng)
    labels, count = ndimage.label(grid.free & (grid.obstacle_distance > DOOR_M / 4))
    centres = np.array([[x, y] for x, y, _, _ in room.floor])
    assert len(set(grid.lookup(labels, centres, outside=0).tolist())) == 1 and count == 1


def test_questions_are_the_same_for_the_same_seed():
    """All found that can be; times differ, answers do not; the map's preparation is told apart."""
    one, again = (speed_trials(4, ((7.0, 6.0, 2),), questions=4) for _ in range(2))
    assert [trial['pose'] for trial in one] == [trial['pose'] for trial in again]
    assert [trial['outcome'] for trial in one[:2] + one[4:6]] == ['right'] * 4
    assert [trial['solvable'] for trial in one] == [True, True, True, False] * 2
    assert not any(one[number]['accepted'] for number in (3, 7)), 'from where no map is'
    for trial in one:
        assert trial['kind'] == 'office 7 x 6 m' and trial['area_m2'] == 42.0
        assert 0 < trial['ms'] < 1000 and trial['prepare_ms'] > 0
        assert 0 < trial['memory_mb'] < 250
