"""A picture of a contour run: solids, the track by state, the body every few seconds."""
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
import numpy as np
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import primitives

STATE_COLOURS = {
    'FOLLOW': 'tab:green', 'ALIGN': 'tab:blue', 'ARC': 'tab:purple', 'LOST': 'tab:red',
    'TOUCH': 'tab:orange',
    'HALT': 'tab:red', 'IDLE': 'black'}


def draw_track(layout, track, states, path, result):
    """
    Write a PNG of a run to ``path``.

    ``track`` is a :class:`~oomwoo_sim_support.rehearsal.Track`, ``states`` (N,) what the follower
    said, ``result`` that of :func:`~oomwoo_clean.contour_trial.run_trial`.
    """
    figure = Figure(figsize=(8, 8))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for part in primitives(layout):
        colour = 'tab:orange' if part.soft else '0.6'
        axes.add_patch(
            Circle((part.x, part.y), part.radius, color=colour) if part.kind == 'cylinder'
            else Polygon(part.corners(), color=colour))
    radius = load_robot().body.radius
    bodies = [Circle(pose[:2], radius) for pose in track.truth[::50]]
    axes.add_collection(PatchCollection(bodies, facecolor='none', edgecolor='0.5', linewidth=0.5))
    states = np.asarray(states)
    for state, colour in STATE_COLOURS.items():
        there = track.truth[states == state]
        if len(there):
            axes.plot(there[:, 0], there[:, 1], '.', color=colour, markersize=3, label=state)
    axes.set_aspect('equal')
    axes.set_xlabel('x [m]')
    axes.set_ylabel('y [m]')
    axes.legend(loc='upper right', fontsize=8)
    gap_mm, error_mm = (1e3 * result[key] for key in ('min_clearance_m', 'standoff_err_mean_m'))
    axes.set_title(f'{result["scenario"]}: {result["contacts"]} contacts, '
                   f'least gap {gap_mm:.0f} mm, mean error {error_mm:.1f} mm', fontsize=9)
    figure.savefig(path, dpi=100)
