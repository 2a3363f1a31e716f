"""A picture of rehearsed dockings: the room, each track by what the robot was doing."""
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
import numpy as np
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import primitives

STATE_COLOURS = {
    'SEARCH': 'tab:orange', 'GOTO': 'tab:blue', 'TURN': 'tab:purple', 'BACK': 'tab:green',
    'REGROUP': 'tab:red'}
_LOW_M = 0.3                  # what begins above this is drawn as an outline


def draw_dockings(layout, tracks, results, path):
    """
    Write a PNG to ``path``.

    ``tracks`` are (poses (N, 3), states (N,)) in the map, ``results`` those of
    :func:`~oomwoo_clean.dock_rehearsal.measure`, in the same order.
    """
    figure = Figure(figsize=(8, 8))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for part in primitives(layout):
        style = ({'fill': False, 'edgecolor': '0.7'} if part.z_min > _LOW_M
                 else {'color': '0.4' if part.element == 'dock' else '0.65'})
        axes.add_patch(
            Circle((part.x, part.y), part.radius, **style) if part.kind == 'cylinder'
            else Polygon(part.corners(), **style))
    radius = load_robot().body.radius
    for (poses, states), result in zip(tracks, results):
        colour = 'tab:green' if result['docked'] else 'tab:red'
        x, y, yaw = result['start']
        axes.add_patch(Circle((x, y), radius, fill=False, edgecolor=colour, linewidth=0.4))
        axes.plot([x, x + radius * np.cos(yaw)], [y, y + radius * np.sin(yaw)], color=colour,
                  linewidth=0.6)
        # A piece of track belongs to the state it was driven in, its end included.
        for state, shade in STATE_COLOURS.items():
            line = np.where((states == state)[:, None], poses[:, :2], np.nan)
            axes.plot(line[:, 0], line[:, 1], color=shade, linewidth=0.8)
    for state, shade in STATE_COLOURS.items():
        axes.plot([], [], color=shade, label=state)
    axes.set_aspect('equal')
    axes.set_xlabel('x [m]')
    axes.set_ylabel('y [m]')
    axes.legend(loc='lower right', fontsize=8)
    docked = [result for result in results if result['docked']]
    worst = max((abs(result['lateral_mm']) for result in docked), default=0.0)
    axes.set_title(f'{layout.name}: docked from {len(docked)} of {len(results)} spots, at most '
                   f'{worst:.1f} mm off centre', fontsize=10)
    figure.savefig(path, dpi=100, bbox_inches='tight')
