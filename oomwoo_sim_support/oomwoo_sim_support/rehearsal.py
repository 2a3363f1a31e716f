"""The offline loop: scan, controller step, physics to the next scan, in lock-step and seeded."""
from dataclasses import dataclass
import math
import time

import numpy as np
from oomwoo_localization.scans import Scan
from oomwoo_sim_support.embedded_sim import EmbeddedSim


@dataclass(frozen=True)
class Observation:
    """
    What a behaviour may know: scan, mount, odometry, bumpers, infrared receivers, charging.

    ``base_from_scan`` is 4 x 4, ``odom`` the plane pose (3,) in odom; ``dock_ir`` what the (left,
    right) receivers read, None in a world without a dock.
    """

    time_s: float
    scan: Scan
    base_from_scan: np.ndarray
    odom: np.ndarray
    bumper_left: bool
    bumper_right: bool
    dock_ir: tuple = None
    charging: bool = False


@dataclass(frozen=True)
class Track:
    """
    What happened, one row a scan.

    ``time_s`` (N,), ``truth`` (N, 3) in the map, ``odom`` (N, 3), ``command`` (N, 2) m/s and
    rad/s, ``clearance_m`` (N,) true gap from the shell to the nearest solid; how often the bumper
    and the shell behind it touched something during the run, and the wall seconds it took.
    """

    time_s: np.ndarray
    truth: np.ndarray
    odom: np.ndarray
    command: np.ndarray
    clearance_m: np.ndarray
    contacts: int
    rear_contacts: int
    wall_s: float


class Rehearsal:
    """Runs a controller against an :class:`EmbeddedSim`."""

    def __init__(self, layout, robot=None, sim_settings=None, seed=0, start=None):
        """Build the simulator; arguments as those of :class:`EmbeddedSim`."""
        self.sim = EmbeddedSim(layout, robot, sim_settings, seed, start)

    def observe(self):
        """Return the :class:`Observation` of this instant."""
        sim = self.sim
        left, right = sim.bumpers()
        return Observation(
            sim.time_s, sim.scan(), sim.base_from_scan, sim.odometry().pose, left, right,
            sim.dock_ir() if sim.has_dock else None, sim.charging())

    def run(self, controller, seconds, watch=None):
        """
        Drive for ``seconds`` and return the :class:`Track`; call again to go on.

        ``controller(observation)`` returns (linear, angular) in m/s and rad/s once a scan.
        ``watch(sim, observation, command)`` is called after it, for meters; it may return True to
        end.
        """
        sim = self.sim
        period_s = 1.0 / sim.robot.lidar.rate
        contacts, rear_contacts = sim.contacts, sim.rear_contacts
        times, truths, odoms, commands, gaps = [], [], [], [], []
        began = time.perf_counter()
        for _ in range(math.ceil(seconds / period_s - 1e-9)):
            seen = self.observe()
            command = tuple(controller(seen))
            times.append(seen.time_s)
            truths.append(sim.truth().pose)
            odoms.append(seen.odom)
            commands.append(command)
            gaps.append(sim.clearance())
            if watch is not None and watch(sim, seen, command):
                break
            sim.set_command(*command)
            sim.step(period_s)
        return Track(
            np.array(times), np.array(truths).reshape(-1, 3), np.array(odoms).reshape(-1, 3),
            np.array(commands).reshape(-1, 2), np.array(gaps), sim.contacts - contacts,
            sim.rear_contacts - rear_contacts, time.perf_counter() - began)
