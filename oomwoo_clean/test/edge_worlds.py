"""Maps drawn from formulas, and a rider of rings without physics, to test the edge manager."""
import math

import numpy as np
from oomwoo_clean.edge_run import Inputs, NavReport
from oomwoo_localization.grids import OccupancyGrid

RESOLUTION = 0.025


def room(width=4.0, height=4.0, solids=(), resolution=RESOLUTION, origin_yaw=0.0):
    """Return a walled room around (0, 0); ``solids`` tell of x, y (arrays) what is occupied."""
    columns, rows = round(width / resolution), round(height / resolution)
    row, column = np.mgrid[:rows, :columns]
    x, y = (column + 0.5) * resolution - width / 2, (row + 0.5) * resolution - height / 2
    cells = np.zeros((rows, columns), dtype=np.int8)
    cells[[0, -1]] = cells[:, [0, -1]] = 100
    for solid in solids:
        cells[solid(x, y)] = 100
    c, s = math.cos(origin_yaw), math.sin(origin_yaw)
    corner = (-c * width / 2 + s * height / 2, -s * width / 2 - c * height / 2, origin_yaw)
    return OccupancyGrid(cells, resolution, corner)


def disc(x0, y0, radius):
    """Return a round solid."""
    return lambda x, y: np.hypot(x - x0, y - y0) < radius


def box(x0, y0, width, height):
    """Return a solid with sides along the axes around (x0, y0)."""
    return lambda x, y: (abs(x - x0) < width / 2) & (abs(y - y0) < height / 2)


class Rider:
    """
    Carries out orders on rails, ten ticks a second: straight to goals, along rings in order.

    ``obeys(goal)`` tells whether the navigator gets to a goal; ``stops(x, y)`` whether the
    follower stops there.
    """

    def __init__(self, run, pose, obeys=lambda goal: True, stops=lambda x, y: False):
        """Ride the rings of ``run`` from ``pose`` (x, y, yaw)."""
        self.run, self.pose = run, np.array(pose, dtype=float)
        self.obeys, self.stops = obeys, stops
        self.time_s, self.nav, self.following = 0.0, NavReport(), False
        self.state, self._spot = 'IDLE', None
        self.goals, self.events = [], []

    def tick(self, **changes):
        """Do one tick; ``changes`` replace fields of the Inputs. Returns (inputs, orders)."""
        self.time_s += 0.1
        fields = {'time_s': self.time_s, 'pose': self.pose.copy(), 'follower': self.state,
                  'following': self.following, 'nav': self.nav} | changes
        inputs = Inputs(**fields)
        orders = self.run.step(inputs)
        self.events += orders.events
        assert not (orders.follow and orders.goal is not None), 'two writers of cmd_vel ordered'
        self._carry_out(orders)
        return inputs, orders

    def ride(self, most_s=3600.0, until=lambda: False):
        """Tick until the job has ended, ``until()`` holds, or time is up."""
        end = self.time_s + most_s
        while not self.run.ended and not until() and self.time_s < end:
            self.tick()

    def _carry_out(self, orders):
        if orders.goal is None and self.nav.status == 'ACTIVE':
            self.nav = NavReport(self.nav.goal_id, 'FAILED', 'cancelled')
        if orders.goal is not None:
            assert not self.following, 'a goal while the follower drives'
            self._go(orders)
        if orders.follow and not self.following:
            gaps = np.hypot(*(self.run.sweep.rings.points - self.pose[:2]).T)
            self._spot = int(np.argmin(gaps))
        self.following = orders.follow
        self.state = 'FOLLOW' if orders.follow else 'IDLE'
        if orders.follow:
            self._follow()

    def _go(self, orders):
        if orders.goal_id != self.nav.goal_id:
            self.goals.append(orders.goal)
            if not self.obeys(orders.goal):
                self.nav = NavReport(orders.goal_id, 'FAILED', 'no way')
                return
            self.nav = NavReport(orders.goal_id, 'ACTIVE')
        if self.nav.status != 'ACTIVE':
            return
        gap = np.array(orders.goal[:2]) - self.pose[:2]
        far = math.hypot(*gap)
        if far <= 0.03:
            self.pose = np.array(orders.goal)
            self.nav = NavReport(orders.goal_id, 'SUCCEEDED')
        else:
            self.pose[:2] += gap / far * min(far, 0.03)

    def _follow(self):
        rings = self.run.sweep.rings
        spot = rings.after[self._spot]
        if spot < 0 or self.stops(*rings.points[spot]):
            self.state = 'HALT'
            return
        self._spot = int(spot)
        self.pose = np.array([*rings.points[spot], rings.yaw[spot]])
