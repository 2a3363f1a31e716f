"""A picture of a bump-out run: what was passed, what was not, the track, the bump map's walls."""
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import primitives


def draw_run(layout, run, result, path):
    """
    Write a PNG to ``path``.

    ``run`` and ``result`` are what :func:`~oomwoo_clean.bump_out_trial.run_trial` returns.
    """
    figure = Figure(figsize=(9, 8))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    body = load_robot().body
    for part in primitives(layout):
        felt = not part.soft and part.crosses(body.ground_clearance, body.height)
        colour = 'tab:orange' if part.soft else '0.75' if felt else '0.93'
        axes.add_patch(
            Circle((part.x, part.y), part.radius, color=colour) if part.kind == 'cylinder'
            else Polygon(part.corners(), color=colour))
    axes.plot(run.truth[:, 0], run.truth[:, 1], color='tab:blue', linewidth=0.6, alpha=0.7,
              label='way of the middle of the body')
    axes.add_patch(Circle(run.truth[0, :2], body.radius, fill=False, edgecolor='tab:blue'))
    outline, passed = run.meter.outline, run.meter.passed
    for which, colour, label in ((passed, 'tab:green', 'touched or passed within 2 cm'),
                                 (~passed, 'tab:red', 'not')):
        axes.scatter(*outline.points[which].T, s=9, color=colour, label=label, zorder=3)
    axes.add_collection(LineCollection(
        [(wall.start, wall.end) for wall in run.walls], colors='black', linewidths=1.5,
        label="the bump map's walls", zorder=4))
    axes.set_aspect('equal')
    axes.set_xlabel('x [m]')
    axes.set_ylabel('y [m]')
    axes.legend(loc='upper center', bbox_to_anchor=(0.5, -0.08), ncol=2, fontsize=8)
    axes.set_title(
        f'{result["layout"]}, {result["sim_s"] / 60:.0f} min by touch: '
        f'{100 * result["wall_passed"]:.0f} % of {result["wall_m"]:.1f} m of walls, '
        f'{100 * result["furniture_passed"]:.0f} % of {result["furniture_m"]:.1f} m of furniture',
        fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=90)
