"""Questions to the relocalizer that can be judged, each a dict with its ``outcome``."""
from dataclasses import replace
import math
from pathlib import Path

import numpy as np
from oomwoo_localization.frames import compose, wrap_angle
from oomwoo_localization.relocalizer import Relocalizer, RelocalizerSettings
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.carmen_log import map_of, read_carmen, spaced
from oomwoo_sim_support.embedded_sim import EmbeddedSim
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.layout_map import layout_grid
from oomwoo_sim_support.reloc_scenarios import make_trial
from oomwoo_sim_support.reloc_worlds import ranges_to
from scipy import ndimage

WRONG_M, WRONG_DEG = 0.3, 10.0  # an accepted pose farther off than this is wrong
SOLVABLE_MARGIN = 0.2  # see solvable()
SOLVABLE_INTACT = 0.7
TWIN_SHARE, TWIN_M = 0.85, 0.1  # see looks_alike()
GRID_MAP_M = 0.025
# What is intact is taken for true: only the lead over distinct poses counts.
ORACLE = RelocalizerSettings(
    least_margin=SOLVABLE_MARGIN,
    most_margin=0.9,
    base_margin=0.0,
    checked_credit=0.0,
    first_credit=0.0,
    doubt=0.0,
    first_doubt=0.0,
    blur_doubt=0.0,
    changed_doubt=0.0,
    twin_margin=0.0,
    least_score=0.3,
    most_crossed=0.5,
    most_lost=0.5,
    least_checked=0.0,
    checked_ratio=0.0,
    most_stray=10.0,
)


def pose_error(pose, truth):
    """Return ``(metres, degrees)`` between two plane poses, NaN for an unknown one."""
    return (
        float(math.hypot(pose[0] - truth[0], pose[1] - truth[1])),
        float(abs(math.degrees(wrap_angle(pose[2] - truth[2])))),
    )


def result(kind, answer, truth, **more):
    """
    Return the dict of one trial, with its ``outcome`` in it.

    ``right`` and ``wrong`` are accepted poses, ``refused`` the others.
    """
    err_m, err_deg = pose_error(answer.pose, truth) if truth is not None else (math.nan, math.nan)
    right = truth is not None and err_m <= WRONG_M and err_deg <= WRONG_DEG
    return {
        'kind': kind,
        'truth': None if truth is None else [float(v) for v in truth],
        'pose': [float(v) for v in answer.pose],
        'score': float(answer.score),
        'confidence': float(answer.confidence),
        'accepted': bool(answer.accepted),
        'err_m': err_m,
        'err_deg': err_deg,
        'ms': answer.runtime_s * 1e3,
        'outcome': ('right' if right else 'wrong') if answer.accepted else 'refused',
        'found': bool(right),
        'reason_code': answer.reason_code,
        **more,
    }


# -- spoilt scans ---------------------------------------------------------------------------


def adversarial_trial(kind_and_seed):
    """Return the dict of one trial of a kind in KINDS."""
    trial = make_trial(*kind_and_seed)
    relocalizer = Relocalizer(trial.grid)
    answer = relocalizer.relocalize(trial.scan, trial.base_from_scan)
    more = result(
        trial.kind, answer, trial.truth, seed=trial.seed, solvable=solvable(trial, relocalizer)
    )
    if more['outcome'] == 'wrong' and is_twin(trial, answer.pose):
        more['outcome'] = 'twin'
    return more


def is_twin(trial, pose):
    """
    Return whether the world as it is now looks like the map at a pose where the robot is not.

    And not like the map at the place where it is, if the map has that at all: what was built or
    taken away has made one place look like another, and no scan without errors would tell.
    """
    here = 0.0 if trial.truth is None else looks_alike(trial, trial.truth)
    return looks_alike(trial, pose) >= TWIN_SHARE > here


def solvable(trial, relocalizer):
    """
    Return whether a trial could be told from what is intact of its scan.

    Taken are only those beams that show what the map shows, at their exact ranges. They must be at
    least SOLVABLE_INTACT of all returns: of a scan that mostly shows other things nobody can say
    that it was not taken elsewhere. And the true pose must explain them better than every distinct
    pose, by SOLVABLE_MARGIN of its own score.
    """
    if trial.truth is None:
        return False
    if np.isfinite(trial.intact).sum() < SOLVABLE_INTACT * trial.scan.valid().sum():
        return False
    asked, relocalizer.settings = relocalizer.settings, ORACLE
    ideal = relocalizer.relocalize(replace(trial.scan, ranges=trial.intact), trial.base_from_scan)
    relocalizer.settings = asked
    err_m, err_deg = pose_error(ideal.pose, trial.truth)
    return ideal.accepted and err_m <= WRONG_M and err_deg <= WRONG_DEG


def looks_alike(trial, pose):
    """
    Return the share of the exact ranges that the mapped world, seen from a pose, gives as well.

    Where it is high, the map does hold a place that looks like the one where the robot is
    (TWIN_SHARE of it within TWIN_M); a robot that was set down there has been told nothing wrong
    by its scan.
    """
    scanner = compose(pose, _plane(trial.base_from_scan))
    angles = (
        scanner[2] + trial.scan.angle_min + trial.scan.angle_increment * np.arange(len(trial.seen))
    )
    predicted = ranges_to(trial.mapped, scanner[:2], angles)
    there = np.isfinite(trial.seen)
    return float((np.abs(predicted[there] - trial.seen[there]) <= TWIN_M).mean())


def _plane(matrix):
    return np.array([matrix[0, 3], matrix[1, 3], math.atan2(matrix[1, 0], matrix[0, 0])])


# -- every spot of a layout -------------------------------------------------------------------


def grid_spots(layout, spacing_m, robot):
    """Return (N, 2) spots a spacing apart where the robot can stand, reachable from the start."""
    grid = layout_grid(layout, GRID_MAP_M)
    open_ = grid.free & (grid.obstacle_distance > robot.body.radius + 0.02)
    labels, _ = ndimage.label(open_)
    here = grid.lookup(labels, [layout.start[:2]], outside=0)[0]
    low, high = layout.floor.min(axis=0), layout.floor.max(axis=0)
    x, y = (np.arange(a + spacing_m / 2, b, spacing_m) for a, b in zip(low, high))
    spots = np.stack(np.meshgrid(x, y), axis=2).reshape(-1, 2)
    return spots[grid.lookup(labels == here, spots, outside=False)] if here else spots[:0]


def grid_trials(layout_name, spacing_m, seed):
    """
    Return the dicts of all spots of a layout, four headings each.

    The map is the layout's at 2.5 cm.
    """
    layout, robot = load_layout(layout_name), load_robot()
    sim = EmbeddedSim(layout, robot, seed=seed)
    relocalizer = Relocalizer(layout_grid(layout, GRID_MAP_M))
    results = []
    for x, y in grid_spots(layout, spacing_m, robot):
        for quarter in range(4):
            sim.teleport((x, y, quarter * math.pi / 2))
            answer = relocalizer.relocalize(sim.scan(), sim.base_from_scan)
            results.append(result(f'grid {layout.name}', answer, sim.truth().pose))
    return results


# -- real scans -----------------------------------------------------------------------------


def carmen_trials(path, every):
    """Return the dicts of a log: each ``every``-th scan asked on the map of the others."""
    scans, skipped = read_carmen(path)
    scans = spaced(scans)
    kind = f'log {Path(path).name.split(".")[0]}'
    mapped = [one for number, one in enumerate(scans) if number % every]
    relocalizer = Relocalizer(map_of(mapped))
    results = []
    for number, one in enumerate(scans[::every]):
        answer = relocalizer.relocalize(one.scan, np.eye(4))
        results.append(result(kind, answer, one.pose, seed=number * every, skipped_lines=skipped))
    return results
