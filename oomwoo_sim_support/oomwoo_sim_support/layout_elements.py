"""What a world is made of, as :mod:`.layout` reads it; metres, and radians."""
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Wall:
    """A polyline (N, 2) along the middle of a wall's thickness."""

    name: str
    points: np.ndarray
    closed: bool
    thickness: float
    z: tuple


@dataclass(frozen=True)
class Box:
    """An upright box: ``size`` is (length, width) before it is turned by ``yaw``."""

    name: str
    center: tuple
    size: tuple
    yaw: float
    z: tuple


@dataclass(frozen=True)
class Cylinder:
    """An upright cylinder."""

    name: str
    center: tuple
    radius: float
    z: tuple


@dataclass(frozen=True)
class Arc:
    """A bent wall, counterclockwise from ``start`` to ``stop``; ``radius`` is of its middle."""

    name: str
    center: tuple
    radius: float
    start: float
    stop: float
    thickness: float
    z: tuple


@dataclass(frozen=True)
class Soft:
    """
    A skirt or curtain: the LiDAR sees it, the robot pushes through it.

    ``press`` is how far into it the bumper is pressed, metres; 0: not at all.
    """

    name: str
    points: np.ndarray
    closed: bool
    thickness: float
    z: tuple
    press: float


@dataclass(frozen=True)
class Carpet:
    """An area of the floor with its own sliding friction."""

    name: str
    polygon: np.ndarray
    friction: float


@dataclass(frozen=True)
class Dock:
    """A hollow bay: ``pose`` is the middle of its mouth, facing out; inside width and depth."""

    pose: tuple
    width: float
    depth: float
    panel: float
    back: float
    tray: float
    height: float


@dataclass(frozen=True)
class NarrowGap:
    """Two elements that stand close on purpose, and how close."""

    between: tuple
    width: float


@dataclass(frozen=True)
class Layout:
    """One world; ``path`` is its file, ``sources`` that and those it is based on."""

    name: str
    path: Path
    start: tuple
    floor: np.ndarray
    walls: tuple
    boxes: tuple
    cylinders: tuple
    arcs: tuple
    soft: tuple
    carpets: tuple
    dock: Dock
    narrow_gaps: tuple
    sources: tuple = ()
