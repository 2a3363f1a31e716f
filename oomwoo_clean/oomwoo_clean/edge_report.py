"""What an edge-cleaning job came to: the closing line, figures for a machine, and a picture."""
import json
import os
from pathlib import Path

import numpy as np


def duration(seconds):
    """Return ``8m 46s``; hours are counted as minutes."""
    whole = int(round(seconds))
    return f'{whole // 60}m {whole % 60:02d}s'


def report_line(figures, outcome, elapsed_s, segments):
    """Return a job's closing line from its Figures; ``outcome`` DONE, STUCK or CANCELLED."""
    return (
        f'EDGE CLEAN {outcome} in {duration(elapsed_s)}: edges {figures.swept_pct:.1f}% swept '
        f'(~{figures.swept_m:.0f} of ~{figures.edges_m:.0f} m; '
        f'~{figures.written_off_m:.1f} m written off), '
        f'floor passed over {figures.passed_m2:.1f} of {figures.floor_m2:.1f} m2, '
        f'driven {figures.driven_m:.1f} m, {segments} segments')


def report_dict(run):
    """Return the figures of an EdgeRun as plain numbers and words."""
    figures = run.sweep.figures()
    return {
        'report': report_line(figures, run.phase, run.elapsed_s, run.segments),
        'outcome': run.phase, 'reason': run.reason, 'sim_s': round(run.elapsed_s, 2),
        'edges_m': round(figures.edges_m, 3), 'swept_m': round(figures.swept_m, 3),
        'swept_pct': round(figures.swept_pct, 3), 'written_off_m': round(figures.written_off_m, 3),
        'driven_m': round(figures.driven_m, 2), 'segments': run.segments, 'bumps': run.bumps,
        'floor_m2': round(figures.floor_m2, 2), 'passed_m2': round(figures.passed_m2, 2)}


def write_report(path, entries):
    """Write ``entries`` (dict) as JSON, whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + '.part')
    draft.write_text(json.dumps(entries, indent=1) + '\n', encoding='utf-8')
    os.replace(draft, path)


SWEPT, DIRTY, WRITTEN_OFF, TRACK = '#1a9641', '#d7191c', '#00b8d4', '#5b6fb5'


def draw_picture(run, path, title=''):
    """
    Draw the job to an image file (PNG, SVG, PDF by its suffix).

    Map, floor passed over, the track (dashed where the navigator drove), and the edges: swept
    green, dirty red, written off cyan.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    sweep = run.sweep
    figure = Figure(figsize=(9.0, 10.0), dpi=110)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.07, 0.15, 0.9, 0.81))
    _draw_map(axes, sweep)
    _draw_track(axes, np.array(sweep.track, dtype=float).reshape(-1, 3))
    _draw_edges(axes, sweep)
    _draw_scale(axes, sweep)
    axes.set_title(title or 'Edge cleaning', fontsize=13)
    axes.set_xlabel('x in the map [m]')
    axes.set_ylabel('y in the map [m]')
    axes.legend(
        loc='upper center', bbox_to_anchor=(0.5, -0.055), ncols=4, fontsize=9, frameon=False,
        markerscale=1.6)
    line = report_line(sweep.figures(), run.phase, run.elapsed_s, run.segments)
    head, tail = line.split('), ', 1)
    figure.text(
        0.5, 0.012, f'{head}),\n{tail}', ha='center', va='bottom', fontsize=9.5,
        family='monospace')
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f'.{path.stem}.part{path.suffix}')
    figure.savefig(draft)
    os.replace(draft, path)


def _draw_map(axes, sweep):
    grid = sweep.grid
    shade = np.full((*grid.shape, 3), 0.80)
    shade[grid.free] = 1.0
    shade[sweep.passed & grid.free] = (0.90, 0.96, 0.89)
    shade[grid.obstacles] = 0.12
    rows, columns = grid.shape
    corners = np.arange(rows + 1), np.arange(columns + 1)
    row, column = np.meshgrid(*corners, indexing='ij')
    points = grid.cells_to_points(np.stack([row.ravel(), column.ravel()], axis=1) - 0.5)
    x, y = points[:, 0].reshape(row.shape), points[:, 1].reshape(row.shape)
    axes.pcolormesh(x, y, shade, rasterized=True)
    known = grid.cells_to_points(np.argwhere(grid.cells >= 0))
    low, high = known.min(axis=0) - (0.15, 0.35), known.max(axis=0) + 0.15
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_aspect('equal')


def _draw_track(axes, track):
    if len(track) < 2:
        return
    following = track[:, 2] > 0.5
    for mask, style, label in (
            (following, '-', 'track, following'), (~following, ':', 'track, navigating')):
        line = track[:, :2].copy()
        line[~mask] = np.nan
        axes.plot(line[:, 0], line[:, 1], style, color=TRACK, linewidth=0.9, label=label)
    axes.plot(*track[0, :2], 'o', color=TRACK, markersize=5, label='start')
    axes.plot(*track[-1, :2], 's', color=TRACK, markersize=5, label='end')


def _draw_edges(axes, sweep):
    points = sweep.rings.points
    for mask, color, label, size in (
            (sweep.swept, SWEPT, 'swept', 5), (sweep.dirty, DIRTY, 'dirty', 9),
            (sweep.written_off, WRITTEN_OFF, 'written off', 9)):
        length = sweep.rings.length[mask].sum()
        axes.scatter(points[mask, 0], points[mask, 1], s=size, color=color, linewidths=0, zorder=3,
                     label=f'{label} {length:.2f} m')


def _draw_scale(axes, sweep):
    left, low = axes.get_xlim()[0], axes.get_ylim()[0]
    axes.plot(
        [left + 0.2, left + 1.2], [low + 0.07] * 2, color='black', linewidth=3,
        solid_capstyle='butt', zorder=4)
    axes.text(left + 0.7, low + 0.11, '1 m', ha='center', va='bottom', fontsize=9, zorder=4)
