"""Worlds and ways to drive that the simulator's tests share."""
import math

from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.layout import layout_from_dict
from oomwoo_sim_support.sim_settings import perfect_sensors

WALL_M = 3.0 - 0.025          # inner face of the room's walls


def room(start=(0.0, 0.0, 0.0), **elements):
    """Return a 6 x 6 m room with more elements in it."""
    corners = [[-3, -3], [3, -3], [3, 3], [-3, 3]]
    return layout_from_dict({
        'name': 'room', 'start': list(start), 'floor': corners,
        'walls': [
            {'name': 'walls', 'points': corners, 'closed': True, 'thickness': 0.05,
             'z': [0, 0.4]}],
        **elements})


def perfect_sim(layout=None, robot=None, start=None, **settings):
    """Return a simulator whose sensors and calibration have no error."""
    return EmbeddedSim(layout or room(), robot, perfect_sensors(**settings), start=start)


def drive(sim, linear, angular, seconds, each=None):
    """Hold a command, refreshed every 0.1 s; ``each(sim)`` is called after every 0.1 s."""
    for _ in range(round(seconds / 0.1)):
        sim.set_command(linear, angular)
        sim.step(0.1)
        if each:
            each(sim)


def turned(sim, linear, angular, seconds):
    """Drive and return the true turn and that of the encoders, radians, unwrapped."""
    totals = [0.0, 0.0]
    last = [sim.truth().pose[2], sim.odometry().pose[2]]
    for _ in range(round(seconds / 0.1)):
        drive(sim, linear, angular, 0.1)
        now = [sim.truth().pose[2], sim.odometry().pose[2]]
        for which in (0, 1):
            totals[which] += math.remainder(now[which] - last[which], math.tau)
        last = now
    return totals
