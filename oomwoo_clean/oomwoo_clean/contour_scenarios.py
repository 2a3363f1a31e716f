"""The shapes that the contour follower is measured on, each built as a layout of its own."""
from dataclasses import dataclass, field

from oomwoo_sim_support.layout import layout_from_dict

WALL_M = 0.05
HALF_WALL_M = WALL_M / 2
ROBOT_DIAMETER_M = 0.349
STANDOFF_M = 0.23


@dataclass(frozen=True)
class Scenario:
    """
    One shape and what is asked of the follower there.

    ``raw`` is the layout as in a layout file. ``mean_error_m`` bounds the mean standoff error and
    ``weave_m`` the standard deviation of the distance, None for no bound. ``low`` names the things
    that are under the scan plane and must be traced by touch, for which it gets ``least_s``
    seconds at least. ``never_inside`` lists rectangles (x_min, y_min, x_max, y_max) that the body
    centre must stay out of, ``reached`` points (x, y) that it
    must come to. ``touches`` are allowed in a run.
    """

    name: str
    about: str
    raw: dict = field(repr=False)
    mean_error_m: float = None
    weave_m: float = None
    low: tuple = ()
    least_s: float = 0.0
    never_inside: tuple = ()
    reached: tuple = ()
    touches: int = 0

    def layout(self):
        """Return the :class:`~oomwoo_sim_support.layout.Layout`."""
        return layout_from_dict(self.raw, where=f'scenario {self.name}')


def _room(length, width, start=None, floor_margin=1.0, **elements):
    """Return a room with the inside (0, 0) .. (length, width), the robot along its lower wall."""
    h = HALF_WALL_M
    walls = [{'name': 'room', 'closed': True, 'thickness': WALL_M,
              'points': [[-h, -h], [length + h, -h], [length + h, width + h], [-h, width + h]]}]
    return _world(length, width, start or [0.4, STANDOFF_M, 0.0], walls, floor_margin, **elements)


def _open_wall_room(length, width, gap, start=None, walls=(), **elements):
    """Return a room whose lower wall is missing between the two x of ``gap``."""
    h = HALF_WALL_M
    outline = {'name': 'room', 'thickness': WALL_M,
               'points': [[gap[1], -h], [length + h, -h], [length + h, width + h], [-h, width + h],
                          [-h, -h], [gap[0], -h]]}
    start = start or [0.4, STANDOFF_M, 0.0]
    return _world(length, width, start, [outline, *walls], 1.5, **elements)


def _world(length, width, start, walls, floor_margin, **elements):
    m = floor_margin
    return {'name': 'scenario', 'start': start, 'walls': walls,
            'floor': [[-m, -m], [length + m, -m], [length + m, width + m], [-m, width + m]],
            **elements}


def _island(start, **elements):
    """Return a layout without a room: things on an open floor."""
    return {'name': 'scenario', 'start': start,
            'floor': [[-4, -4], [4, -4], [4, 4], [-4, 4]], **elements}


def _leg(diameter_m, at=(0.0, 0.0), name='leg'):
    return {'name': name, 'center': list(at), 'radius': diameter_m / 2}


def _beside_leg(diameter_m):
    return _island([0.0, STANDOFF_M + diameter_m / 2, 0.0], cylinders=[_leg(diameter_m)])


def _teeth(gap_m):
    """Return a room with four teeth, 15 cm wide and 30 cm deep, and the gaps between them."""
    width, depth, first = 0.15, 0.30, 0.8
    centers = [first + width / 2 + i * (width + gap_m) for i in range(4)]
    teeth = [{'name': f'tooth{i}', 'center': [x, depth / 2], 'size': [width, depth]}
             for i, x in enumerate(centers)]
    length = centers[-1] + 0.8
    gaps = tuple((a + width / 2, -1.0, b - width / 2, depth)
                 for a, b in zip(centers, centers[1:]))
    return _room(length, 1.5, boxes=teeth), gaps


def _middles(gaps):
    """Return the points to which the body centre gets in gaps between teeth."""
    deep = ROBOT_DIAMETER_M / 2 + 0.03
    return tuple(((left + right) / 2, deep) for left, _, right, _ in gaps)


def _bay(radius_m):
    """Return a room with a half-round bay of inner ``radius_m`` in its lower wall."""
    x = 1.3
    outline = radius_m + HALF_WALL_M
    bay = {'name': 'bay', 'center': [x, 0.0], 'radius': outline, 'from': 180.0, 'to': 360.0,
           'thickness': WALL_M}
    return _open_wall_room(2.6, 1.5, (x - radius_m - WALL_M, x + radius_m + WALL_M), arcs=[bay])


def _v_pocket():
    x, half, depth = 1.4, 0.45, 0.9
    pocket = {'name': 'pocket', 'thickness': WALL_M,
              'points': [[x - half, -HALF_WALL_M], [x, -depth], [x + half, -HALF_WALL_M]]}
    return _open_wall_room(2.8, 1.5, (x - half, x + half), walls=[pocket])


def _peninsula(thickness_m):
    """Return a room with a wall that stands out into it and whose end is to be wrapped."""
    length, width, reach = 2.2, 2.0, 1.0
    fin = {'name': 'fin', 'center': [length / 2, reach / 2], 'size': [thickness_m, reach]}
    return _room(length, width, boxes=[fin])


def _bend_45():
    """Return a room whose lower wall turns by 45 degrees towards the robot and back again."""
    h = HALF_WALL_M
    slanted = {'name': 'slanted', 'thickness': WALL_M,
               'points': [[1.0, -h], [1.6, 0.6 - h], [2.2, 0.6 - h], [2.8, -h]]}
    return _room(3.4, 1.8, walls_more=[slanted])


def _with_more_walls(raw):
    raw = dict(raw)
    raw['walls'] = [*raw['walls'], *raw.pop('walls_more', [])]
    return raw


def _build():
    teeth = {name: _teeth(ratio * ROBOT_DIAMETER_M)
             for name, ratio in (('2.0', 2.0), ('1.1', 1.1), ('0.9', 0.9))}
    wedge = {'name': 'wedge', 'thickness': 0.02, 'points': [[0.95, 0.0], [1.25, 0.4], [1.55, 0.0]]}
    yield Scenario('straight_wall', 'a plain wall', _island(
        [-3.6, STANDOFF_M, 0.0],
        boxes=[{'name': 'wall', 'center': [3.0, -0.05], 'size': [14.0, 0.1]}]),
        mean_error_m=0.010, weave_m=0.005)
    yield Scenario(
        'room', 'an empty room, four inside corners', _room(2.0, 1.6), mean_error_m=0.010)
    yield Scenario('box', 'a box on an open floor, four outside corners', _island(
        [0.0, 0.2 + STANDOFF_M, 0.0],
        boxes=[{'name': 'box', 'center': [0.0, 0.0], 'size': [0.6, 0.4]}]),
        mean_error_m=0.010)
    for millimetres in (20, 30, 50):
        yield Scenario(f'leg_{millimetres // 10}cm', f'a table leg {millimetres // 10} cm thick',
                       _beside_leg(millimetres / 1000), mean_error_m=0.020)
    yield Scenario('leg_by_wall', 'a leg 50 cm off a wall', _room(
        2.4, 1.5, cylinders=[_leg(0.04, (1.2, 0.52))]))
    yield Scenario('two_legs', 'two legs in a row, 50 cm apart', _island(
        [-0.27, STANDOFF_M + 0.01, 0.0],
        cylinders=[_leg(0.02, (-0.27, 0.0), 'leg1'), _leg(0.02, (0.27, 0.0), 'leg2')]))
    yield Scenario('corridor', 'a corridor 50 cm wide, closed at its end', _world(
        4.0, 0.5, [0.4, STANDOFF_M, 0.0], [{'name': 'corridor', 'thickness': WALL_M, 'points': [
            [-1.0, 0.525], [2.525, 0.525], [2.525, -0.025], [-1.0, -0.025]]}], 1.5))
    yield Scenario('wall_end', 'the end of a 5 cm wall, a wrap of 180 degrees', _peninsula(0.05))
    yield Scenario('fin', 'the end of a 3 cm fin', _peninsula(0.03))
    yield Scenario('wall_45', 'a wall that turns by 45 degrees, inwards and outwards',
                   _with_more_walls(_bend_45()))
    yield Scenario('bay', 'a concave bay that it fits into', _bay(0.40))
    yield Scenario('tight_bay', 'a concave bay that it does not fit into', _bay(0.16),
                   never_inside=((1.14, -1.0, 1.46, 0.10),))
    yield Scenario('v_pocket', 'a V-shaped pocket that narrows', _v_pocket())
    for name, ratio in (('teeth_2.0', '2.0'), ('teeth_1.1', '1.1'), ('teeth_0.9', '0.9')):
        raw, gaps = teeth[ratio]
        yield Scenario(name, f'square teeth with gaps of {ratio} robot diameters', raw,
                       never_inside=gaps if ratio == '0.9' else (),
                       reached=_middles(gaps) if ratio == '1.1' else ())
    yield Scenario('half_cylinder', 'a half-cylinder that stands out of the wall', _room(
        2.6, 1.5, cylinders=[{'name': 'half_cylinder', 'center': [1.3, 0.0], 'radius': 0.3}]))
    yield Scenario('wedge', 'a sharp wedge that stands out of the wall', _with_more_walls(_room(
        2.5, 1.5, walls_more=[wedge])))
    yield Scenario('post_in_path', 'a post in its path, farther away than the wall', _room(
        2.4, 1.5, cylinders=[_leg(0.04, (1.2, 0.36), 'post')]))
    yield Scenario('post_beside_path', 'a post that it would just brush in passing', _room(
        2.4, 1.5, cylinders=[_leg(0.04, (1.2, 0.42), 'post')]))
    yield Scenario('panel_off_wall', 'a panel along the wall, 27.5 cm off it', _room(
        2.8, 1.8, boxes=[{'name': 'panel', 'center': [1.4, 0.29], 'size': [0.6, 0.03]}]))
    yield Scenario('panel_end', 'a screen square to the wall, its end 27.5 cm off it', _room(
        2.8, 2.2, boxes=[{'name': 'panel', 'center': [1.4, 0.575], 'size': [0.03, 0.6]}]))
    yield from _low_things()


def _low_things():
    """Yield what is under the scan plane: only the bumper finds it."""
    def low(name, center, size, **more):
        return {'name': name, 'center': center, 'size': size, 'z': [0.0, 0.06], **more}

    yield Scenario('lip', 'a lip 6 cm high that stands out of the wall', _room(
        2.4, 1.5, boxes=[low('lip', [1.3, 0.2], [0.1, 0.4])]), low=('lip',), least_s=40.0)
    yield Scenario('low_box', 'a box 6 cm high in the middle of a room', _room(
        5.0, 5.0, [1.3, 2.55, 0.0], boxes=[low('low_box', [2.5, 2.5], [0.6, 0.4])]),
        low=('low_box',), least_s=90.0)
    yield Scenario('low_round', 'a round thing 6 cm high in the middle of a room', _room(
        5.0, 5.0, [1.3, 2.56, 0.0], cylinders=[
            {'name': 'low_round', 'center': [2.5, 2.5], 'radius': 0.25, 'z': [0.0, 0.06]}]),
        low=('low_round',), least_s=90.0)
    yield Scenario('low_corner', 'a lip 6 cm high across a corner', _room(
        2.2, 1.8, boxes=[low('low_corner', [2.0, 0.2], [0.1, 0.8], yaw=45.0)]),
        low=('low_corner',), least_s=50.0)
    yield Scenario('low_by_leg', 'a box 6 cm high beside a table leg', _room(
        2.6, 2.0, boxes=[low('low_by_leg', [1.35, 0.25], [0.3, 0.5])],
        cylinders=[_leg(0.04, (1.35, 0.56))]), low=('low_by_leg',), least_s=60.0)
    yield Scenario('low_wall', 'a board 6 cm high and 1.6 m long in the middle of a room', _room(
        5.0, 5.0, [2.6, 3.6, -90.0], boxes=[low('low_wall', [2.5, 2.5], [1.6, 0.05])]),
        low=('low_wall',), least_s=90.0)


SCENARIOS = {scenario.name: scenario for scenario in _build()}
