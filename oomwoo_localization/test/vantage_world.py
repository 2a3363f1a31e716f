"""What the tests of views and drives have in common."""

import math

import numpy as np
from reloc_world import room


def ring(radius, count=180):
    """Return points all around."""
    angles = np.linspace(-math.pi, math.pi, count, endpoint=False)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def twin_map():
    """Return a map, the same after half a turn but for a crate in one corner behind a wall."""
    return room(
        (-1.5, 0.7, 0.1, 2.6),
        (1.5, -0.7, 0.1, 2.6),
        (-2.6, 0.9, 0.7, 1.2),
        width=6.0,
        depth=4.0,
        origin=(-3.0, -2.0, 0.0),
    )
