"""One docking rehearsed in the embedded simulator, and measured from its truth."""
from dataclasses import dataclass, field
import math

import numpy as np
from oomwoo_clean.dock_drive import DockDrive, DockObservation, DriveSettings
from oomwoo_localization.dock import dock_shape
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.robot import load_robot
from oomwoo_sim_support.rehearsal import Rehearsal, Track
from oomwoo_sim_support.sim_settings import SimSettings

PUSHED_M = 0.0005             # the dock has been pushed when it moved by more than this
LIMIT_S = 400.0


@dataclass(frozen=True)
class Thing:
    """Something put in the way, in the dock frame; round if ``size`` is a radius, else a box."""

    name: str
    x: float
    y: float
    size: float = 0.02
    box: bool = False
    height: float = 0.4


@dataclass(frozen=True)
class DockTrial:
    """
    One docking to rehearse.

    ``start`` (x, y, yaw) in the map; ``sim`` are changes of the simulator's settings; ``hinted``
    tells the robot where the layout has the dock, as a localizer with a map would.
    """

    name: str
    start: tuple
    mode: str = 'beacon'
    seed: int = 0
    sim: dict = field(default_factory=dict)
    things: tuple = ()
    hinted: bool = False
    verdicts: tuple = ('DONE',)


@dataclass(frozen=True)
class DockRun:
    """What became of it: ``result`` as in the harness's JSON, the track, and the states (N,)."""

    result: dict
    track: Track
    states: np.ndarray


def rehearse_docking(trial, layout, settings=None, watch=None):
    """
    Run a :class:`DockTrial` in a layout; returns a :class:`DockRun`.

    ``settings`` are :class:`DriveSettings`; ``watch(sim, seen, out, drive)`` sees every step.
    Raises ValueError when the layout has no dock, SimError when the start is in something.
    """
    if layout.dock is None:
        raise ValueError(f'layout {layout.name}: has no dock')
    robot = load_robot()
    rehearsal = Rehearsal(layout, robot, SimSettings(**trial.sim), trial.seed, trial.start)
    sim = rehearsal.sim
    put_things(sim, layout.dock.pose, trial.things)
    drive = DockDrive(robot, settings or DriveSettings(), shape=dock_shape(layout.dock))
    hint = compose(inverse(sim.truth().pose), layout.dock.pose) if trial.hinted else None
    drive.start(trial.mode, hint)
    outputs = []

    def control(seen):
        out = drive.step(observation(seen))
        outputs.append(out)
        if watch is not None:
            watch(sim, seen, out, drive)
        return out.linear, out.angular

    track = rehearsal.run(control, LIMIT_S, lambda *_: not drive.active)
    sim.set_command(0.0, 0.0)
    sim.step(0.5)
    states = np.array([out.state for out in outputs])
    period_s = 1.0 / robot.lidar.rate
    before = np.isin(states, ('SEARCH', 'GOTO', 'TURN'))
    result = measure(trial, sim, track, outputs[-1])
    result['min_clearance_mm'] = (
        float(track.clearance_m[before].min() * 1e3) if before.any() else math.nan)
    result['state_s'] = {str(state): round(float((states == state).sum() * period_s), 1)
                         for state in dict.fromkeys(states)}
    return DockRun(result, track, states)


def observation(seen):
    """Return the :class:`DockObservation` of a rehearsal's Observation."""
    return DockObservation(
        seen.time_s, seen.scan, seen.base_from_scan, seen.odom, seen.bumper_left,
        seen.bumper_right, seen.dock_ir, seen.charging)


def put_things(sim, dock_pose, things):
    """Put :class:`Thing` objects into the simulator, placed by the dock's frame."""
    for thing in things:
        x, y, yaw = compose(dock_pose, (thing.x, thing.y, 0.0))
        if thing.box:
            sim.spawn_box(thing.name, x, y, yaw, (thing.size, thing.size, thing.height))
        else:
            sim.spawn_cylinder(thing.name, x, y, thing.size, thing.height)


def measure(trial, sim, track, out):
    """Return the result of a trial as a dict, from the simulator's truth and the last output."""
    dock, truth = sim.dock_pose(), sim.truth().pose
    lateral_mm = yaw_deg = travel_mm = math.nan
    in_mouth = False
    if dock is not None:
        x, y, yaw = compose(inverse(dock), truth)
        in_mouth = bool(x < sim.robot.body.radius and abs(y) < 0.25)
        if out.state == 'DONE':
            lateral_mm, yaw_deg = float(y * 1e3), math.degrees(yaw)
            travel_mm = float((x + layout_depth(sim) - sim.robot.body.radius) * 1e3)
    touched = bool(sim.dock_touched > 0 or sim.dock_push_m() > PUSHED_M)
    result = {
        'name': trial.name, 'start': [round(float(v), 3) for v in trial.start],
        'mode': trial.mode, 'seed': trial.seed, 'verdict': out.state, 'reason': out.reason_code,
        'message': out.message, 'docked': bool(out.state == 'DONE' and sim.charging()),
        'lateral_mm': lateral_mm, 'yaw_deg': yaw_deg, 'gap_mm': travel_mm,
        'said_lateral_mm': out.lateral_m * 1e3, 'said_yaw_deg': math.degrees(out.yaw_rad),
        'touched_dock': touched, 'push_mm': sim.dock_push_m() * 1e3,
        'contacts': int(track.contacts + track.rear_contacts),
        'attempts': out.regroups + 1, 'sim_s': float(track.time_s[-1] - track.time_s[0]),
        'wall_s': track.wall_s, 'ended_in_mouth': in_mouth and out.state != 'DONE',
        'standing': bool(abs(sim.truth().linear) < 0.01)}
    result['failed'] = judge(trial, result)
    return result


def layout_depth(sim):
    """Return the depth of the layout's dock, metres."""
    return sim.layout.dock.depth


def judge(trial, result):
    """Return what a trial missed, in words; empty when it is as it should be."""
    failed = []
    verdict = result['verdict'] if result['verdict'] == 'DONE' else result['reason']
    if verdict not in trial.verdicts:
        failed.append(f'{verdict} in place of {" or ".join(trial.verdicts)}: {result["message"]}')
    if result['verdict'] == 'DONE' and not result['docked']:
        failed.append('says DONE and does not charge')
    if result['touched_dock']:
        failed.append(f'touched the dock, pushed it by {result["push_mm"]:.1f} mm')
    if result['ended_in_mouth']:
        failed.append('ended in the mouth of the dock')
    if not result['standing']:
        failed.append('does not stand at the end')
    return failed
