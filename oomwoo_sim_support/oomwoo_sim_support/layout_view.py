"""
Looks at a layout: how long its edges are, how much floor a robot reaches; a picture with names.

An edge is where the body's centre runs while it cleans along something: every point at the
standoff from the nearest solid, on the part of the floor that the robot can get to from the start.
"""
from dataclasses import dataclass

import contourpy
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
import numpy as np
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.layout import primitives
from oomwoo_sim_support.layout_fields import polygon_holds
from oomwoo_sim_support.layout_primitives import solid_distance, touchable
from scipy import ndimage

STEP_M = 0.0125


@dataclass(frozen=True)
class Course:
    """What a robot meets: ``edges`` are closed lines (N, 2); lengths in m, areas in m^2."""

    edges: tuple
    edges_m: float
    floor_m2: float
    reachable_m2: float


def survey(layout, robot=None, step_m=STEP_M):
    """Return the :class:`Course` of a layout, from exact distances on a raster of ``step_m``."""
    robot = robot or load_robot()
    low, high = layout.floor.min(axis=0), layout.floor.max(axis=0)
    xs = np.arange(low[0], high[0] + step_m, step_m)
    ys = np.arange(low[1], high[1] + step_m, step_m)
    points = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    distance = solid_distance(touchable(layout, robot), points)
    distance[~polygon_holds(layout.floor, points)] = -1.0
    distance = distance.reshape(len(ys), len(xs))
    column, row = ((np.array(layout.start[:2]) - low) / step_m).round().astype(int)
    floor = _part_with(distance > 0.0, row, column)
    centres = _part_with(distance >= robot.body.radius, row, column)
    shell = ndimage.distance_transform_edt(~centres) * step_m <= robot.body.radius
    field = np.where(ndimage.binary_dilation(centres, iterations=2), distance, robot.body.radius)
    lines = contourpy.contour_generator(xs, ys, field).lines(robot.edge_cleaning.standoff)
    length = sum(np.linalg.norm(np.diff(line, axis=0), axis=1).sum() for line in lines)
    cell = step_m ** 2
    return Course(
        tuple(lines), float(length), float(floor.sum() * cell),
        float((shell & floor).sum() * cell))


def _part_with(mask, row, column):
    labels, _ = ndimage.label(mask)
    return labels == labels[row, column] if labels[row, column] else mask


def draw_layout(layout, path, robot=None):
    """Write a PNG: solids, soft things, carpets, edges, start, and the name of each element."""
    robot = robot or load_robot()
    course = survey(layout, robot)
    aspect = np.ptp(layout.floor[:, 1]) / np.ptp(layout.floor[:, 0])
    figure = Figure(figsize=(12, 12 * aspect), layout='constrained')
    axes = figure.add_subplot(aspect='equal')
    axes.add_patch(Polygon(layout.floor, facecolor='#fbf8f0', edgecolor='none'))
    for carpet in layout.carpets:
        axes.add_patch(Polygon(carpet.polygon, facecolor='#e7d9c4', edgecolor='none'))
    for part in sorted(primitives(layout), key=lambda part: -part.z_min):
        color = (
            '#cfd8dc'
            if part.z_min > robot.lidar.z
            # overhead, low, soft, solid
            else (
                '#b71c1c'
                if part.z_max <= robot.lidar.z and not part.soft
                else '#d59a6a'
                if part.soft
                else '#455a64'
            )
        )
        patch = (
            Circle((part.x, part.y), part.radius) if part.kind == 'cylinder'
            else Polygon(part.corners()))
        patch.set(facecolor=color, edgecolor='none')
        axes.add_patch(patch)
    for line in course.edges:
        axes.plot(*line.T, color='#2e7d32', linewidth=1.0)
    x, y, yaw = layout.start
    axes.add_patch(Circle((x, y), robot.body.radius, fill=False, color='#1565c0'))
    axes.plot(
        [x, x + robot.body.radius * np.cos(yaw)], [y, y + robot.body.radius * np.sin(yaw)],
        color='#1565c0')
    named = {}
    for part in primitives(layout):
        named.setdefault(part.element, []).append((part.x, part.y))
    for name, places in named.items():
        axes.annotate(
            name, np.mean(places, axis=0), fontsize=7, ha='center', va='center', color='#0d47a1')
    axes.set_title(
        f'{layout.name}: edges {course.edges_m:.1f} m, floor {course.floor_m2:.1f} m$^2$, '
        f'reachable {course.reachable_m2:.1f} m$^2$')
    axes.grid(color='#cccccc', linewidth=0.3)
    axes.autoscale_view()
    FigureCanvasAgg(figure).print_figure(str(path), dpi=80)
