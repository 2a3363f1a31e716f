"""How much of a match is more than two walls: they fix a pose, and leave nothing to check it."""

import numpy as np
from oomwoo_localization.refinement import interpolate

LINE_M = 0.12  # ends this near a straight line lie on it
LEAST_SLOPE = 0.3  # of the distance field: where it is flatter, it has no direction


def share_off_two_lines(fields, ends, on_wall):
    """
    Return the share of ends that lie on walls, but not on the two longest straight lines of them.

    ``ends`` (beams, 2) in grid coordinates; ``on_wall`` the (beams,) mask of those that lie on
    walls. A line is put through an end, along the wall that the map has there; the one with the
    most ends is taken away, and then the next.
    """
    left = ends[on_wall]
    _, slope = interpolate(fields.signed_distance, fields.grid.resolution, left)
    steepness = np.hypot(*slope.T)[:, None]
    normal = slope / np.maximum(steepness, LEAST_SLOPE)
    straight = steepness[:, 0] >= LEAST_SLOPE
    for _ in range(2):
        if not straight.any():
            break
        along = normal[straight]
        offset = (along @ left.T) - (along * left[straight]).sum(axis=1, keepdims=True)
        on_line = np.abs(offset) < LINE_M
        kept = ~on_line[on_line.sum(axis=1).argmax()]
        left, normal, straight = left[kept], normal[kept], straight[kept]
    return len(left) / len(ends)
