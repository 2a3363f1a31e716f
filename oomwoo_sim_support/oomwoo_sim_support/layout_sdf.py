"""
Gazebo Harmonic's world of a layout: a model an element, no collision for soft things.

All models are static but the dock, which stands on the floor by friction alone, as in the embedded
simulator, and is pushed by whoever reverses into it too far.
"""
from dataclasses import replace
from xml.sax.saxutils import escape, quoteattr

from oomwoo_sim_support.layout import primitives
from oomwoo_sim_support.layout_primitives import dock_primitives
from oomwoo_sim_support.sim_settings import SimSettings

# What a base with LiDAR, IMU and bumpers needs: a world that names any plugin gets no defaults. In
# this order: contacts and IMU know a robot that is spawned only if user commands come before them.
PLUGINS = (
    ('gz-sim-physics-system', 'gz::sim::systems::Physics', ''),
    ('gz-sim-user-commands-system', 'gz::sim::systems::UserCommands', ''),
    ('gz-sim-scene-broadcaster-system', 'gz::sim::systems::SceneBroadcaster', ''),
    ('gz-sim-contact-system', 'gz::sim::systems::Contact', ''),
    ('gz-sim-imu-system', 'gz::sim::systems::Imu', ''),
    ('gz-sim-sensors-system', 'gz::sim::systems::Sensors', '<render_engine>ogre2</render_engine>'))
COLORS = {
    'walls': '0.85 0.83 0.78',
    'boxes': '0.55 0.42 0.30',
    'cylinders': '0.40 0.30 0.22',
    'arcs': '0.60 0.60 0.62',
    'soft': '0.75 0.45 0.40',
    'carpets': '0.50 0.35 0.35',
    'dock': '0.15 0.15 0.17',
}
CARPET_HEIGHT_M = 0.002

# Scans, odometry and IMU come after a whole number of steps each, so that none is late by part of
# one. And each step is a message on /clock, which costs every node something.
HEAD = """\
    <physics name="5ms" type="ignored">
      <max_step_size>0.005</max_step_size>
      <real_time_factor>1.0</real_time_factor>
    </physics>
    <gravity>0 0 -9.81</gravity>
    <scene>
      <ambient>0.7 0.7 0.7 1</ambient>
      <background>0.8 0.85 0.9 1</background>
      <shadows>false</shadows>
    </scene>
    <light type="directional" name="sun">
      <pose>0 0 8 0 0 0</pose>
      <cast_shadows>false</cast_shadows>
      <diffuse>0.8 0.8 0.8 1</diffuse>
      <specular>0.1 0.1 0.1 1</specular>
      <direction>-0.3 0.2 -0.93</direction>
    </light>
    <model name="ground_plane">
      <static>true</static>
      <link name="link">
        <collision name="collision">
          <geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry>
        </collision>
        <visual name="visual">
          <geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry>
          <material><ambient>0.8 0.78 0.72 1</ambient><diffuse>0.8 0.78 0.72 1</diffuse></material>
        </visual>
      </link>
    </model>
"""


def layout_sdf(layout, note=''):
    """
    Return the text of an SDF 1.10 world.

    ``note`` goes into a comment at the top. A model has the name of its element, a piece that of
    its primitive. Carpets are drawn only: their friction is the embedded simulator's.
    """
    groups = {}
    for part in primitives(layout):
        groups.setdefault(part.element, []).append(part)
    color_of = {'dock': COLORS['dock']}
    for kind in ('walls', 'boxes', 'cylinders', 'arcs', 'soft'):
        color_of.update({element.name: COLORS[kind] for element in getattr(layout, kind)})
    plugins = ''.join(
        f'    <plugin filename="{file}" name="{name}">{inside}</plugin>\n'
        for file, name, inside in PLUGINS)
    models = [
        _model(name, [_piece(part, color_of[name]) for part in parts])
        for name, parts in groups.items() if name != 'dock']
    if layout.dock:
        models.append(_dock(layout.dock))
    models += [_model(carpet.name, [_carpet(carpet)]) for carpet in layout.carpets]
    comment = f'<!-- {note.replace("--", "- -")} -->\n' if note else ''
    return (
        f'<?xml version="1.0"?>\n{comment}<sdf version="1.10">\n'
        f'  <world name={quoteattr(layout.name)}>\n'
        f'{plugins}{HEAD}{"".join(models)}  </world>\n</sdf>\n')


def _number(value):
    text = f'{value:.6f}'.rstrip('0').rstrip('.')
    return '0' if text == '-0' else text


def _numbers(*values):
    return ' '.join(_number(value) for value in values)


def _model(name, pieces):
    return (
        f'    <model name={quoteattr(name)}>\n'
        '      <static>true</static>\n      <link name="link">\n'
        f'{"".join(pieces)}      </link>\n    </model>\n')


def _dock(dock):
    """Return the dock, its frame in the middle of its mouth on the floor, x facing out."""
    settings = SimSettings()
    mass, friction = settings.dock_mass_kg, _number(settings.dock_friction)
    length, width = dock.depth + dock.back, dock.width + 2 * dock.panel
    inertia = [mass * (width ** 2 + dock.height ** 2) / 12,
               mass * (length ** 2 + dock.height ** 2) / 12,
               mass * (length ** 2 + width ** 2) / 12]
    surface = (
        f'<surface><friction><ode><mu>{friction}</mu><mu2>{friction}</mu2></ode></friction>'
        '</surface>')
    pieces = [
        _piece(part, COLORS['dock'], surface)
        for part in dock_primitives(replace(dock, pose=(0.0, 0.0, 0.0)))]
    moments = ''.join(
        f'<{key}>{_number(value)}</{key}>' for key, value in zip(('ixx', 'iyy', 'izz'), inertia))
    x, y, yaw = dock.pose
    return (
        f'    <model name="dock">\n      <pose>{_numbers(x, y, 0, 0, 0, yaw)}</pose>\n'
        '      <link name="link">\n'
        f'        <inertial><pose>{_numbers(-length / 2, 0, dock.height / 2, 0, 0, 0)}</pose>'
        f'<mass>{_number(mass)}</mass><inertia>{moments}</inertia></inertial>\n'
        f'{"".join(pieces)}      </link>\n    </model>\n')


def _material(color):
    return f'<material><ambient>{color} 1</ambient><diffuse>{color} 1</diffuse></material>'


def _piece(part, color, surface=''):
    tall = part.z_max - part.z_min
    if part.kind == 'cylinder':
        shape = (
            f'<cylinder><radius>{_number(part.radius)}</radius>'
            f'<length>{_number(tall)}</length></cylinder>')
    else:
        shape = f'<box><size>{_numbers(2 * part.half_x, 2 * part.half_y, tall)}</size></box>'
    middle = (part.z_min + part.z_max) / 2
    pose = f'<pose>{_numbers(part.x, part.y, middle, 0, 0, part.yaw)}</pose>'
    body = f'{pose}<geometry>{shape}</geometry>'
    name = escape(part.name, {'"': '&quot;'})
    collision = (
        '' if part.soft
        else f'        <collision name="{name}_collision">{body}{surface}</collision>\n')
    return f'{collision}        <visual name="{name}_visual">{body}{_material(color)}</visual>\n'


def _carpet(carpet):
    points = ''.join(f'<point>{_numbers(*point)}</point>' for point in carpet.polygon)
    return (
        f'        <visual name="visual"><geometry><polyline>{points}'
        f'<height>{CARPET_HEIGHT_M}</height></polyline></geometry>'
        f'{_material(COLORS["carpets"])}</visual>\n')
