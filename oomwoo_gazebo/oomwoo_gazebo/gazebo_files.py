"""The files that Gazebo and its bridge are started with: which world, under which names."""
from pathlib import Path
import re
from string import Template
from xml.etree import ElementTree

from ament_index_python.packages import get_package_share_directory
from oomwoo_sim_support.layout import layout_folder, LayoutError, load_layout
from oomwoo_sim_support.layout_sdf import layout_sdf, PLUGINS

BRIDGED_SERVICES = (          # below /world/NAME/
    ('create', 'SpawnEntity'), ('remove', 'DeleteEntity'), ('set_pose', 'SetEntityPose'))
SPAWNER, NEED_IT_FIRST = 'gz-sim-user-commands-system', (
    'gz-sim-contact-system', 'gz-sim-imu-system')
_REAL_TIME_FACTOR = re.compile(r'<real_time_factor>[^<]*</real_time_factor>')


class WorldError(ValueError):
    """A world that Gazebo could not be started with; the message names file and reason."""


class GazeboWorld:
    """
    A world file for Gazebo.

    ``file`` is its path, ``name`` the world's name in it, ``layout`` the layout it was made from
    or None, ``trouble`` what is wrong, in one sentence each, with the systems that it loads.
    """

    def __init__(self, world, folder, real_time_factor=1.0):
        """
        Find a world, or make it.

        ``world`` is a packaged world's name, the path of a layout file, or the path of any world
        file; what has to be made for it goes into ``folder``. Raises :class:`WorldError`, and
        LayoutError for a layout that is none.
        """
        given = Path(world)
        try:
            self.layout = load_layout(world)
        except LayoutError:
            self.layout = None
            if given.suffix not in ('.sdf', '.world') or not given.is_file():
                raise
        if given.suffix in ('.sdf', '.world') and given.is_file():
            self.file = given.resolve()
        elif self.layout.path.parent.resolve() == layout_folder().resolve():
            share = Path(get_package_share_directory('oomwoo_gazebo'))
            self.file = share / 'worlds' / f'{self.layout.name}.world'
        else:
            self.file = Path(folder) / f'{self.layout.name}.world'
            self.file.write_text(layout_sdf(self.layout), encoding='utf-8')
        self._read()
        if real_time_factor != 1.0:
            self._set_speed(real_time_factor, Path(folder))

    def _read(self):
        try:
            element = ElementTree.parse(self.file).getroot().find('world')
        except (OSError, ElementTree.ParseError) as error:
            raise WorldError(f'world {self.file}: {error}') from error
        if element is None or not element.get('name'):
            raise WorldError(f'world {self.file}: has no <world> with a name')
        self.name = element.get('name')
        loaded = [plugin.get('filename') for plugin in element.findall('plugin')]
        # Without any plugin of its own, a world gets Gazebo's defaults, which lack the sensors'.
        missing = [name for name, _, _ in PLUGINS if name not in loaded]
        self.trouble = [
            f'does not load {", ".join(missing)}; sensors or bumpers will be silent'
        ] if missing else []
        # What they make of a new model is made in the step in which it comes (gz-sim issue 2223).
        early = [name for name in NEED_IT_FIRST if name in loaded and SPAWNER in loaded
                 and loaded.index(name) < loaded.index(SPAWNER)]
        if early:
            self.trouble.append(
                f'loads {", ".join(early)} before {SPAWNER}, and so without the robot, which is '
                'spawned')

    def _set_speed(self, factor, folder):
        text, count = _REAL_TIME_FACTOR.subn(
            f'<real_time_factor>{factor:g}</real_time_factor>',
            self.file.read_text(encoding='utf-8'))
        if not count:
            raise WorldError(
                f'world {self.file}: has no <real_time_factor> in which to write {factor:g}')
        self.file = folder / f'{self.name}.{factor:g}x.world'
        self.file.write_text(text, encoding='utf-8')


def bridge_config(template, world, model):
    """Return the text of the bridge's file for the names of a world and a model in it."""
    return Template(template).substitute(WORLD=world, MODEL=model)


def service_bridges(world):
    """Return the arguments of ``parameter_bridge`` that offer a world's services to ROS."""
    return [f'/world/{world}/{name}@ros_gz_interfaces/srv/{kind}'
            for name, kind in BRIDGED_SERVICES]
