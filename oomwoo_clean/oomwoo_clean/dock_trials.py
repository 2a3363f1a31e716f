"""Where dockings are rehearsed from, and what is made difficult."""
import math

import numpy as np
from oomwoo_clean.dock_rehearsal import DockTrial, Thing
from oomwoo_localization.floor import reachable_floor
from oomwoo_localization.frames import compose, inverse, transform_points
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout_map import layout_grid

GRID_SPOTS = 64
GRID_SEED = 64
GRID_REACH_M = 3.0            # of the mouth
GRID_ROOM_M = 0.04            # beside the body
STAGING_M = 0.35

# In the dock frame: metres and degrees, 180 facing the dock.
SPOTS = {
    'at_the_mouth': (0.11, 0.0, 0), 'straight_out': (0.61, 0.0, 0),
    'off_to_the_right': (0.51, -0.4, 0), 'off_to_the_left': (0.55, 0.65, 120),
    'facing_it': (1.00, -0.15, 180), 'across': (1.25, -0.60, 90),
    'far_out': (1.90, -0.75, -60), 'far_aside': (1.30, -1.45, 30),
    'beside_the_panel': (-0.12, 0.62, 0), 'beside_the_other_panel': (-0.10, -0.75, 150),
    'under_the_table': (1.55, 0.95, -135), 'behind_the_table': (3.40, 0.35, 75)}

_LEGS = (
    Thing('leg_left', 0.12, 0.42), Thing('leg_right', 0.10, -0.40), Thing('leg_ahead', 0.75, 0.30))
_FENCE = tuple(Thing(f'post_{k}', 0.75 * math.cos(a), 0.75 * math.sin(a), 0.03)
               for k, a in enumerate(np.radians(np.arange(-110, 111, 15)).tolist()))
_CAGE = tuple(Thing(f'bar_{k}', 1.0 + 0.206 * math.cos(a), -0.4 + 0.206 * math.sin(a), 0.03)
              for k, a in enumerate(np.radians([10, 100, 190, 280]).tolist()))
_AT = {'out': (1.0, -0.4, 35), 'near': (0.9, 0.15, 170)}

# name: (start, mode, simulator settings, things, hinted, right verdicts)
CONDITIONS = {
    'moved': ('out', 'beacon', {
        'dock_offset_y_m': 0.05, 'dock_offset_yaw_deg': 5.0}, (), True, ('DONE',)),
    'moved_back_lidar': ('near', 'lidar', {
        'dock_offset_x_m': 0.05, 'dock_offset_yaw_deg': -5.0}, (), True, ('DONE',)),
    'legs_near_the_mouth': ('out', 'beacon', {}, _LEGS, False, ('DONE',)),
    'legs_near_the_mouth_lidar': ('near', 'lidar', {}, _LEGS, False, ('DONE',)),
    'left_receiver_dead': ('out', 'beacon', {'dead_receiver': 'left'}, (), False, ('DONE',)),
    'right_receiver_dead': ('near', 'beacon', {'dead_receiver': 'right'}, (), False, ('DONE',)),
    'beacon_off': ('out', 'beacon', {'beacon_on': False}, (), False, ('DONE',)),
    'dock_absent': ('out', 'beacon', {'dock_present': False}, (), False, ('NOT_FOUND',)),
    'dock_absent_hinted': ('out', 'lidar', {'dock_present': False}, (), True, ('NOT_FOUND',)),
    'bay_blocked': ('near', 'beacon', {}, (Thing('toy', -0.15, 0.02, 0.16, True),), False,
                    ('BAY_BLOCKED', 'NOT_FOUND')),
    'mouth_blocked': ('out', 'beacon', {}, (Thing('bag', 0.16, 0.0, 0.20, True),), False,
                      ('BAY_BLOCKED', 'BLOCKED', 'NOT_FOUND')),
    'fenced_off': ('out', 'beacon', {}, _FENCE, False, ('BLOCKED',)),
    'caged': ((1.0, -0.4, 35), 'beacon', {}, _CAGE, False, ('WEDGED',)),
    'pressed_at_the_table_leg': ((0.61, 0.35, 0), 'beacon', {}, (), False, ('DONE', 'WEDGED')),
}


def in_map(dock_pose, spot):
    """Return the (x, y, yaw) in the map of a spot (x, y, deg) in the dock frame."""
    x, y, yaw_deg = spot
    return tuple(compose(dock_pose, (x, y, math.radians(yaw_deg))).tolist())


def grid_starts(layout, count=GRID_SPOTS, seed=GRID_SEED):
    """
    Return ``count`` poses (x, y, yaw) on the floor around the dock, in the map.

    The rule: drawn evenly from all the floor on which the body has 4 cm of room, that is connected
    with the staging point, no farther than 3 m from the mouth and not behind the dock's back; any
    heading. The places depend on ``seed`` and the layout alone.
    """
    grid, robot = layout_grid(layout), load_robot()
    staging = compose(layout.dock.pose, (STAGING_M, 0.0, 0.0))
    floor = reachable_floor(grid, staging, robot.body.radius + GRID_ROOM_M)
    points = grid.cells_to_points(np.argwhere(floor))
    seen = transform_points(inverse(layout.dock.pose), points)
    near = (np.hypot(*seen.T) < GRID_REACH_M) & (seen[:, 0] > -layout.dock.depth)
    points = points[near]
    rng = np.random.default_rng(seed)
    chosen = points[rng.choice(len(points), count, replace=False)]
    yaws = rng.uniform(-math.pi, math.pi, count)
    return [(float(x), float(y), float(yaw)) for (x, y), yaw in zip(chosen, yaws)]


def grid_trials(layout, mode, seed):
    """Return the 64 trials of the grid."""
    return [DockTrial(f'grid_{number:02d}', start, mode, seed)
            for number, start in enumerate(grid_starts(layout))]


def spot_trials(layout, mode, seed):
    """Return the trials from the twelve named spots."""
    return [DockTrial(name, in_map(layout.dock.pose, spot), mode, seed)
            for name, spot in SPOTS.items()]


def condition_trials(layout, seed, only=None):
    """Return the trials in which something is wrong, moved or in the way."""
    trials = []
    for name, (start, mode, sim, things, hinted, verdicts) in CONDITIONS.items():
        if only is None or name in only:
            spot = _AT[start] if isinstance(start, str) else start
            trials.append(DockTrial(
                name, in_map(layout.dock.pose, spot), mode, seed, sim, things, hinted, verdicts))
    return trials
