"""The robot's dimensions, masses and limits, read once from ``robot.yaml``."""
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
import math
from pathlib import Path

import yaml

GRAVITY_MPS2 = 9.81


@dataclass(frozen=True)
class Body:
    """Round shell; metres and kilograms."""

    radius: float
    height: float
    ground_clearance: float
    mass: float


@dataclass(frozen=True)
class CenterOfMass:
    """Of the whole robot in base_footprint, metres."""

    x: float
    y: float
    z: float


@dataclass(frozen=True)
class Wheels:
    """The two driven wheels, metres and kilograms each."""

    radius: float
    width: float
    track: float
    mass: float


@dataclass(frozen=True)
class Caster:
    """The single front caster, metres."""

    x: float
    radius: float


@dataclass(frozen=True)
class Limits:
    """What the base does at most: m/s, rad/s, m/s^2 at a wheel, seconds."""

    linear_speed: float
    angular_speed: float
    linear_acceleration: float
    command_timeout: float


@dataclass(frozen=True)
class Lidar:
    """Scanner pose in base_footprint and its properties: metres, radians, Hz."""

    x: float
    y: float
    z: float
    yaw: float
    rate: float
    beams: int
    range_min: float
    range_max: float
    noise_std: float


@dataclass(frozen=True)
class Bumper:
    """Two bumper halves, left and right of the nose."""

    half_angle_deg: float
    release_s: float


@dataclass(frozen=True)
class DockReceivers:
    """
    The two rear infrared receivers, side by side, and the baffle between them.

    Each looks ``yaw_offset_deg`` to its side of straight back; both see a light within
    ``baffle_deg`` of straight back.
    """

    x: float
    z: float
    yaw_offset_deg: float
    baffle_deg: float


@dataclass(frozen=True)
class EdgeCleaning:
    """Distance that the body centre keeps from a surface, metres."""

    standoff: float


@dataclass(frozen=True)
class Robot:
    """All facts about one robot; ``robot.yaml`` documents every field."""

    name: str
    body: Body
    center_of_mass: CenterOfMass
    wheels: Wheels
    caster: Caster
    limits: Limits
    lidar: Lidar
    bumper: Bumper
    dock_receivers: DockReceivers
    edge_cleaning: EdgeCleaning

    @property
    def caster_unloading_mps2(self):
        """
        Forward acceleration that takes all load off the front caster, m/s^2.

        Moments about the wheels' contact line: weight times the lever ahead of the axle against
        inertia times the height of the centre of mass.
        """
        return GRAVITY_MPS2 * self.center_of_mass.x / self.center_of_mass.z

    @property
    def nose_down_limit_rad(self):
        """Pitch at which the front edge of the shell would reach the floor."""
        return math.asin(self.body.ground_clearance / self.body.radius)


class RobotFileError(ValueError):
    """A robot file with a missing, unknown, non-numeric or impossible entry."""


def default_robot_file():
    """Return the path of ``robot.yaml``: the installed share folder's, else the source tree's."""
    beside = Path(__file__).resolve().parent.parent / 'config' / 'robot.yaml'
    if beside.is_file():
        return beside
    from ament_index_python.packages import get_package_share_directory
    return Path(get_package_share_directory('oomwoo_localization')) / 'config' / 'robot.yaml'


def load_robot(path=None):
    """
    Read a robot file.

    ``path`` is the YAML file, by default the packaged one. Returns a :class:`Robot`.
    Raises :class:`RobotFileError`, naming file and field, for anything it cannot use.
    """
    return _load(Path(path) if path else default_robot_file())


@lru_cache(maxsize=8)
def _load(path):
    try:
        text = path.read_text(encoding='utf-8')
    except OSError as error:
        raise RobotFileError(f'{path}: cannot be read ({error.strerror})') from error
    except UnicodeDecodeError as error:
        raise RobotFileError(f'{path}: is not text ({error})') from error
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RobotFileError(f'{path}: is not YAML ({error})') from error
    return _build(Robot, raw, str(path))


# What may be zero or negative: offsets. Everything else measures something and must be positive.
_OFFSETS = {'y', 'yaw', 'noise_std'}
_OFFSET_X = {CenterOfMass, Caster, Lidar, DockReceivers}


def _build(kind, raw, where):
    if not isinstance(raw, dict):
        raise RobotFileError(f'{where}: expected a mapping, got {type(raw).__name__}')
    known = {f.name: f.type for f in fields(kind)}
    for key in raw:
        if key not in known:
            raise RobotFileError(f'{where}: unknown field {key!r}; known: {", ".join(known)}')
    values = {}
    for name, wanted in known.items():
        if name not in raw:
            raise RobotFileError(f'{where}: field {name!r} is missing')
        here = f'{where}: {name}' if ': ' not in where else f'{where}.{name}'
        value = raw[name]
        if is_dataclass(wanted):
            values[name] = _build(wanted, value, here)
        elif wanted is str:
            values[name] = str(value)
        else:
            number = _number(kind, name, value, here)
            if wanted is int and number != int(number):
                raise RobotFileError(f'{here}: expected a whole number, got {number!r}')
            values[name] = wanted(number)
    return kind(**values)


def _number(kind, name, value, where):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise RobotFileError(f'{where}: expected a finite number, got {value!r}')
    may_be_any = name in _OFFSETS or (name == 'x' and kind in _OFFSET_X)
    if not may_be_any and value <= 0:
        raise RobotFileError(f'{where}: must be greater than zero, got {value!r}')
    return value
