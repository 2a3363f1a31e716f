"""What the parts of the docking drive tell each other."""
from dataclasses import dataclass

import numpy as np
from oomwoo_localization.scans import Scan


class DockFailure(Exception):
    """The end of a docking; ``code`` is a word, the message a sentence for a human."""

    def __init__(self, code, message):
        """Keep both."""
        super().__init__(message)
        self.code = code


class InTheWay(Exception):
    """Something stands where the robot is going; ``point`` (2,) in odom."""

    def __init__(self, point, felt=False):
        """Keep where it is, and whether the bumper found it."""
        super().__init__('something is in the way')
        self.point, self.felt = np.asarray(point), felt


@dataclass(frozen=True)
class DockObservation:
    """
    What the robot knows at one instant.

    ``scan`` is None when there is no fresh one; ``base_from_scan`` 4 x 4; ``odom`` (3,) the pose
    in odom at the time of the scan; ``ir`` (left, right) 0..1 or None without a fresh reading;
    ``charging`` None when nobody tells.
    """

    time_s: float
    scan: Scan
    base_from_scan: np.ndarray
    odom: np.ndarray
    bumper_left: bool = False
    bumper_right: bool = False
    ir: tuple = None
    charging: bool = None
