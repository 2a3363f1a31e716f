"""Generated maps and worlds: complete, accepted by Gazebo's parser, no older than their layout."""
import ctypes.util
import math
import os
from pathlib import Path
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
from oomwoo_localization.frames import compose
from oomwoo_sim_support import generate
from oomwoo_sim_support.layout import layout_from_dict, LayoutError, load_layout
from oomwoo_sim_support.layout_primitives import primitives
from oomwoo_sim_support.layout_sdf import layout_sdf
from oomwoo_sim_support.sim_settings import SimSettings
import pytest

ROOT = generate.source_tree(Path(__file__).parent)
MAPS, WORLDS = ROOT / generate.MAPS, ROOT / generate.WORLDS
LAYOUTS = sorted((ROOT / generate.LAYOUTS).glob('*.yaml'))
NAMES = [path.stem for path in LAYOUTS]
MIXED = {
    'name': 'a "mixed" & odd <world>',
    'start': [0, -1, 0],
    'floor': [[-2, -2], [2, -2], [2, 2], [-2, 2]],
    'walls': [
        {'name': 'room', 'points': [[-2, -2], [2, -2], [2, 2], [-2, 2]], 'closed': True,
         'z': [0, 0.5]},
    ],
    'boxes': [
        {'name': 'crate & lid', 'center': [1, 0.5], 'size': [0.4, 0.2], 'yaw': 30,
         'z': [0.1, 0.3]},
    ],
    'cylinders': [{'name': 'leg', 'center': [-1, 1], 'radius': 0.05}],
    'soft': [{'name': 'curtain', 'points': [[-1, 0], [0, 0]], 'z': [0.05, 2]}],
    'carpets': [{'name': 'rug', 'polygon': [[1, -1], [1.5, -1], [1.5, 0]]}],
    'dock': {'pose': [-1.9, -1.5, 0]},
}


def sdf(raw=MIXED):
    """Return the world element of a layout's SDF."""
    text = layout_sdf(layout_from_dict(raw), 'made -- of dashes')
    return ElementTree.fromstring(text).find('world')


def test_every_generated_file_is_what_its_layout_gives():
    status = generate.main(['--check', '--root', str(ROOT)])
    assert status == 0, 'run: python3 -m oomwoo_sim_support.generate'


def test_each_packaged_layout_has_map_and_world_with_the_hash_of_its_sources():
    assert len(LAYOUTS) >= 8
    for path in LAYOUTS:
        digest = generate.source_digest(load_layout(path))
        assert digest in (MAPS / f'{path.stem}.yaml').read_text()
        assert digest in (WORLDS / f'{path.stem}.world').read_text()
        assert (MAPS / f'{path.stem}.pgm').is_file()


def test_a_changed_layout_a_touched_file_and_a_stray_one_are_reported(tmp_path, capsys):
    own = tmp_path / 'own.yaml'
    text = ('name: own\nstart: [0, -1, 0]\nfloor: [[-2, -2], [2, -2], [2, 2], [-2, 2]]\n'
            'cylinders:\n- {name: a, center: [0, 0], radius: 0.1}\n')
    own.write_text(text)
    out = tmp_path / 'out'
    arguments = [str(own), '--out', str(out)]
    assert generate.main([*arguments, '--check']) == 1
    assert 'own.world: is missing' in capsys.readouterr().out
    assert generate.main(arguments) == 0 and generate.main([*arguments, '--check']) == 0
    own.write_text(
        text + '# a comment changes no shape, and still the files do not say '
        'what they were made from\n')
    assert generate.main([*arguments, '--check']) == 1
    assert 'own.yaml: is older than its layout' in capsys.readouterr().out
    assert generate.main(arguments) == 0
    image = out / 'own.pgm'
    image.write_bytes(image.read_bytes()[:-1] + b'\x00')
    assert generate.main([*arguments, '--check']) == 1
    assert 'own.pgm: is older' in capsys.readouterr().out
    stray = out / 'gone.world'
    stray.write_text('')
    assert generate.out_of_date({}, out, out)[-1] == f'{out / "own.yaml"}: has no layout'
    assert f'{stray}: has no layout' in generate.out_of_date({}, out, out)


def test_a_variant_is_out_of_date_when_its_base_changes(tmp_path):
    (tmp_path / 'base.yaml').write_text(
        'name: base\nstart: [0, 0, 0]\nfloor: [[-2, -2], [2, -2], [0, 2]]\n')
    (tmp_path / 'more.yaml').write_text('name: more\nbased_on: base\n')
    before = generate.source_digest(load_layout(tmp_path / 'more.yaml'))
    (tmp_path / 'base.yaml').write_text(
        'name: base\nstart: [0, 0, 0]\nfloor: [[-2, -2], [2, -2], [0, 3]]\n')
    assert generate.source_digest(load_layout(tmp_path / 'more.yaml')) != before


def test_a_broken_layout_is_told_and_nothing_written(tmp_path, capsys):
    own = tmp_path / 'own.yaml'
    own.write_text('name: own\n')
    with pytest.raises(SystemExit) as ended:
        generate.main([str(own), '--out', str(tmp_path / 'out')])
    assert ended.value.code == 2 and "field 'start' is missing" in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_outside_a_source_tree_it_asks_where_to_write(tmp_path):
    with pytest.raises(LayoutError, match='say with --out'):
        generate.source_tree(tmp_path)


def test_pictures(tmp_path):
    assert generate.main(['test_room', '--pictures', str(tmp_path / 'pictures')]) == 0
    assert (tmp_path / 'pictures' / 'test_room.png').read_bytes()[:4] == b'\x89PNG'


def test_a_world_has_the_systems_that_base_and_sensors_need():
    plugins = {plugin.get('filename'): plugin for plugin in sdf().iter('plugin')}
    assert {name: plugin.get('name') for name, plugin in plugins.items()} == {
        'gz-sim-physics-system': 'gz::sim::systems::Physics',
        'gz-sim-user-commands-system': 'gz::sim::systems::UserCommands',
        'gz-sim-scene-broadcaster-system': 'gz::sim::systems::SceneBroadcaster',
        'gz-sim-contact-system': 'gz::sim::systems::Contact',
        'gz-sim-imu-system': 'gz::sim::systems::Imu',
        'gz-sim-sensors-system': 'gz::sim::systems::Sensors'}
    assert plugins['gz-sim-sensors-system'].findtext('render_engine') == 'ogre2'


def test_every_element_but_the_dock_is_a_static_model_with_its_pieces():
    world = sdf()
    assert world.get('name') == MIXED['name']
    models = {model.get('name'): model for model in world.findall('model')}
    assert set(models) == {'ground_plane', 'room', 'crate & lid', 'leg', 'curtain', 'rug', 'dock'}
    assert {name for name, model in models.items() if model.findtext('static') != 'true'} == {
        'dock'}
    counts = {
        name: (len(list(m.iter('collision'))), len(list(m.iter('visual'))))
        for name, m in models.items()}
    assert counts == {'ground_plane': (1, 1), 'room': (4, 4), 'crate & lid': (1, 1), 'leg': (1, 1),
                      'curtain': (0, 1), 'rug': (0, 1), 'dock': (3, 4)}
    crate = models['crate & lid'].find('link/collision')
    assert np.array(crate.findtext('pose').split(), dtype=float) == pytest.approx(
        [1, 0.5, 0.2, 0, 0, 0.523599]
    )
    assert crate.findtext('geometry/box/size').split() == ['0.4', '0.2', '0.2']
    leg = models['leg'].find('link/collision/geometry/cylinder')
    assert (leg.findtext('radius'), leg.findtext('length')) == ('0.05', '0.4')


def test_the_dock_can_be_pushed_and_weighs_what_the_embedded_simulators_does():
    """It stands on the floor, its weight over its walls; its frame is the mouth's."""
    dock = next(model for model in sdf().findall('model') if model.get('name') == 'dock')
    settings = SimSettings()
    assert np.array(dock.findtext('pose').split(), dtype=float) == pytest.approx(
        [-1.9, -1.5, 0, 0, 0, 0])
    assert float(dock.findtext('link/inertial/mass')) == settings.dock_mass_kg
    x, y, z = (float(v) for v in dock.findtext('link/inertial/pose').split()[:3])
    assert x == pytest.approx(-(0.33 + 0.06) / 2) and y == 0 and 0 < z < 0.4
    moments = [float(dock.findtext(f'link/inertial/inertia/i{k}')) for k in ('xx', 'yy', 'zz')]
    assert min(moments) > 0 and sum(moments) > 2 * max(moments)
    for collision in dock.iter('collision'):
        tall = float(collision.findtext('geometry/box/size').split()[2])
        assert float(collision.findtext('pose').split()[2]) == pytest.approx(tall / 2)
        for key in ('mu', 'mu2'):
            assert float(collision.findtext(f'surface/friction/ode/{key}')) == (
                settings.dock_friction)


@pytest.mark.parametrize('path', LAYOUTS, ids=NAMES)
def test_a_world_agrees_with_the_primitives(path):
    layout = load_layout(path)
    world = ElementTree.parse(WORLDS / f'{path.stem}.world').find('world')
    poses = {}
    for model in world.findall('model'):
        at = np.array((model.findtext('pose') or '0 0 0 0 0 0').split(), dtype=float)[[0, 1, 5]]
        for visual in model.iter('visual'):
            if visual.find('pose') is not None:
                pose = np.array(visual.findtext('pose').split(), dtype=float)[[0, 1, 5]]
                poses[visual.get('name')] = compose(at, pose)
    for part in primitives(layout):
        x, y, yaw = poses[f'{part.name}_visual']
        assert (x, y) == pytest.approx((part.x, part.y), abs=1e-6)
        assert math.remainder(yaw - part.yaw, math.tau) == pytest.approx(0.0, abs=1e-6)
    assert len(poses) == len(primitives(layout))


def sdformat():
    """Return the path of Gazebo Harmonic's SDF library, or None."""
    for folder in os.environ.get('LD_LIBRARY_PATH', '').split(':'):
        found = Path(folder) / 'libsdformat14.so'
        if folder and found.is_file():
            return str(found)
    return ctypes.util.find_library('sdformat14')


def check_sdf(*paths):
    """Run Gazebo's own check in a process of its own; return {path: accepted} and its words."""
    code = ('import ctypes, sys\n'
            'lib = ctypes.CDLL(sys.argv[1])\n'
            'print([lib.cmdCheck(path.encode()) == 0 for path in sys.argv[2:]])')
    ended = subprocess.run(
        [sys.executable, '-u', '-c', code, sdformat(), *map(str, paths)],   # C's stdout, too
        capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    verdicts = ended.stdout.splitlines()[-1]
    return dict(
        zip(paths, [word == 'True' for word in verdicts.strip('[]').split(', ')], strict=True)
    ), ended.stdout + ended.stderr


@pytest.mark.skipif(sdformat() is None, reason='libsdformat14 is not installed')
def test_gazebos_parser_accepts_every_world_and_refuses_a_broken_one(tmp_path):
    odd = tmp_path / 'odd.world'
    odd.write_text(layout_sdf(layout_from_dict(MIXED), 'made -- of dashes'))
    worlds = [odd, *WORLDS.glob('*.world')]
    accepted, said = check_sdf(*worlds)
    assert len(worlds) == len(LAYOUTS) + 1 and all(accepted.values()), said
    assert 'Warning' not in said and 'Error' not in said, said
    odd.write_text(odd.read_text().replace('<link name="link">', '<link>', 1))
    accepted, said = check_sdf(odd)
    assert not accepted[odd] and 'name' in said
