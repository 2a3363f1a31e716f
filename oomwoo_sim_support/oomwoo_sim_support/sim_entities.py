"""Obstacles as SDFormat describes them: the one box or cylinder of a small model."""
from dataclasses import dataclass
import math
from xml.etree import ElementTree


class EntityError(ValueError):
    """A description that cannot be spawned; ``supported`` is False for one of unknown kind."""

    def __init__(self, message, supported=True):
        """Take a sentence for a human."""
        super().__init__(message)
        self.supported = supported


@dataclass(frozen=True)
class EntityShape:
    """A box or cylinder: sizes (x, y, z) in metres, centre and yaw in the model's frame, name."""

    kind: str
    size: tuple
    x: float
    y: float
    z: float
    yaw: float
    name: str = ''


def sdf_of_box(name, size):
    """Return the SDF of a box of ``size`` (x, y, z) m, its frame on the floor under it."""
    numbers = ' '.join(f'{v:g}' for v in size)
    return _SDF.format(name=name, z=size[2] / 2, shape=f'<box><size>{numbers}</size></box>')


def sdf_of_cylinder(name, radius, height):
    """Return the SDF of an upright cylinder whose model frame is on the floor under it."""
    shape = f'<cylinder><radius>{radius:g}</radius><length>{height:g}</length></cylinder>'
    return _SDF.format(name=name, z=height / 2, shape=shape)


_SDF = (
    '<sdf version="1.9"><model name="{name}"><static>true</static><pose>0 0 {z:g} 0 0 0</pose>'
    '<link name="link">'
    '<collision name="collision"><geometry>{shape}</geometry></collision>'
    '<visual name="visual"><geometry>{shape}</geometry></visual></link></model></sdf>')


def shape_from_sdf(text):
    """
    Return the :class:`EntityShape` of an SDF model.

    Poses of model, link and collision add up; upright only. Raises :class:`EntityError`.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise EntityError(f'not XML: {error}') from error
    if root.tag != 'sdf':
        raise EntityError(f'the root element is <{root.tag}>, expected <sdf>', supported=False)
    found = [
        (model, link, collision) for model in root.iter('model')
        for link in model.findall('link') for collision in link.findall('collision')]
    if len(found) != 1:
        raise EntityError(
            f'expected one model with one collision, found {len(found)}', supported=False)
    x, y, z, yaw = 0.0, 0.0, 0.0, 0.0
    for element in found[0]:
        dx, dy, dz, turn = _pose(element)
        c, s = math.cos(yaw), math.sin(yaw)
        x, y, z, yaw = x + c * dx - s * dy, y + s * dx + c * dy, z + dz, yaw + turn
    geometry = found[0][2].find('geometry')
    box = cylinder = None
    if geometry is not None:
        box, cylinder = geometry.find('box'), geometry.find('cylinder')
    if box is not None:
        kind, size = 'box', tuple(_numbers(box, 'size', 3))
    elif cylinder is not None:
        radius, length = _numbers(cylinder, 'radius', 1)[0], _numbers(cylinder, 'length', 1)[0]
        kind, size = 'cylinder', (2 * radius, 2 * radius, length)
    else:
        raise EntityError('the collision is neither a <box> nor a <cylinder>', supported=False)
    if min(size) <= 0.0:
        raise EntityError(f'the {kind} has no size: {size}')
    return EntityShape(kind, size, x, y, z, yaw, found[0][0].get('name', ''))


def _pose(element):
    pose = element.find('pose')
    if pose is None or not (pose.text or '').strip():
        return 0.0, 0.0, 0.0, 0.0
    x, y, z, roll, pitch, yaw = _numbers(element, 'pose', 6)
    if abs(roll) > 1e-6 or abs(pitch) > 1e-6:
        raise EntityError(
            f'<{element.tag}>: not upright: roll {roll}, pitch {pitch}', supported=False)
    if pose.get('degrees') in ('true', '1'):
        yaw = math.radians(yaw)
    return x, y, z, yaw


def _numbers(element, tag, count):
    text = element.findtext(tag)
    try:
        numbers = [float(word) for word in (text or '').split()]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise EntityError(f'<{element.tag}>: <{tag}> must be {count} numbers, got {text!r}')
    return numbers
