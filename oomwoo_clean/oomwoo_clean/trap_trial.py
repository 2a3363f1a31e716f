"""One trap rehearsed: a driver that only pushes on, the reflexes over it, physics below."""
from dataclasses import dataclass
import math
import time

import numpy as np
from oomwoo_clean.escape_reflex import EscapeReflex
from oomwoo_clean.reflex_settings import STUCK
from oomwoo_localization.frames import wrap_angle
from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.sim_settings import SimSettings

PERIOD_S = 0.05
SCAN_EVERY = 2
ARRIVED_M = 0.25
STUCK_RADIUS_M = 0.3          # caught: from then on it stays within this of where it ends
AFTER_STUCK_S = 5.0           # it has to stand, then
_AGAIN_S = 1.0                # a cancelled goal is tried again after this


class Pusher:
    """
    Drives straight at its target, whatever is in the way.

    The first target is the lure; when that goal is cancelled it goes for the one outside, and for
    that again and again.
    """

    def __init__(self, targets):
        """Take the targets (x, y) in the map, in their order."""
        self._targets = list(targets)
        self._wait_until_s = -math.inf

    @property
    def target(self):
        """Return the (x, y) that it drives at."""
        return self._targets[0]

    def cancel(self, now_s):
        """End the running goal."""
        if len(self._targets) > 1:
            self._targets.pop(0)
        self._wait_until_s = now_s + _AGAIN_S

    def command(self, pose, now_s):
        """Return (m/s, rad/s), None while it has no goal."""
        dx, dy = self.target[0] - pose[0], self.target[1] - pose[1]
        if now_s < self._wait_until_s:
            return None
        if math.hypot(dx, dy) < ARRIVED_M / 2:
            self.cancel(now_s)
            return None
        error = wrap_angle(math.atan2(dy, dx) - pose[2])
        angular = max(-1.2, min(1.2, 2.0 * error))
        return (0.2 if abs(error) < math.radians(25.0) else 0.0), angular


@dataclass(frozen=True)
class TrapResult:
    """
    How it went: ``outcome`` ESCAPED, STUCK or LOST (neither out nor said so).

    ``out_s`` when the centre left the trap for good, ``stuck_after_s`` the time from being caught
    to saying so, NaN without; ``fired`` counts reflexes by reason.
    """

    name: str
    kind: str
    outcome: str
    truthful: bool
    out_s: float
    stuck_after_s: float
    fired: dict
    sim_s: float
    wall_s: float
    events: tuple


def run_trap(trap, limit_s=180.0, settings=None, seed=0, reflex=True, sim_settings=None):
    """
    Rehearse one :class:`~oomwoo_clean.trap_layouts.Trap`; returns a :class:`TrapResult`.

    ``reflex`` False lets the driver push on alone.
    """
    began = time.perf_counter()
    sim = EmbeddedSim(
        trap.layout, settings=sim_settings or SimSettings(), seed=seed, start=trap.start)
    driver, escape = Pusher((trap.lure, trap.goal)), EscapeReflex(settings)
    truths, fired, events, stuck_s, out = [], {}, [], None, None
    arrived = False
    for tick in range(round(limit_s / PERIOD_S)):
        now_s = sim.time_s
        for side, pressed in zip(('left', 'right'), sim.bumpers()):
            escape.bumper(side, pressed, now_s)
        escape.odometry(sim.odometry().pose, now_s)
        if tick % SCAN_EVERY == 0 and escape.wants_scan(now_s):      # as its node does
            escape.scanned(sim.scan(), sim.base_from_scan, now_s)
        if reflex:
            out = escape.step(now_s)
            if out.changed:
                events.append((round(now_s, 2), out.state, out.reason_code, out.evidence))
            if out.changed and out.cancel_goals:
                fired[out.reason_code] = fired.get(out.reason_code, 0) + 1
            if out.cancel_goals:
                driver.cancel(now_s)
        active = out is not None and out.active
        command = (out.linear, out.angular) if active else driver.command(
            sim.truth().pose, now_s)              # it is localized; the reflexes are not
        if command is not None:
            sim.set_command(*command)
            escape.commanded(*command, now_s)
        sim.step(PERIOD_S)
        truths.append(sim.truth().pose)
        if active and out.state == STUCK:
            stuck_s = now_s if stuck_s is None else stuck_s
            if now_s - stuck_s > AFTER_STUCK_S:
                break
        else:
            stuck_s = None
        arrived = math.hypot(*(truths[-1][:2] - trap.goal)) < ARRIVED_M
        if arrived:
            break
    return _result(
        trap, np.array(truths), arrived, stuck_s, fired, events, time.perf_counter() - began)


def _result(trap, truths, arrived, stuck_s, fired, events, wall_s):
    away = np.hypot(*(truths[:, :2] - trap.center).T)
    inside = np.flatnonzero(away <= trap.radius_m)
    is_out = away[-1] > trap.radius_m
    out_s = (inside[-1] + 1) * PERIOD_S if is_out and len(inside) else math.nan
    stuck_after_s = math.nan
    if stuck_s is not None:
        far = np.flatnonzero(
            np.hypot(*(truths[:, :2] - truths[-1, :2]).T) > STUCK_RADIUS_M)
        stuck_after_s = stuck_s - (far[-1] * PERIOD_S if len(far) else 0.0)
    outcome = 'ESCAPED' if arrived and is_out else 'STUCK' if stuck_s is not None else 'LOST'
    return TrapResult(
        trap.name, trap.kind, outcome, bool(outcome == 'STUCK' and not is_out),
        float(out_s), float(stuck_after_s), fired, len(truths) * PERIOD_S, wall_s, tuple(events))
