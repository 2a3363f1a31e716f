"""
Kidnap the robot again and again, and see whether it finds itself, and never in a wrong place.

    python3 -m oomwoo_sim_support.recovery_harness            # offline, all layouts below
    python3 -m oomwoo_sim_support.recovery_harness --ros      # the same with nodes over DDS
    python3 -m oomwoo_sim_support.recovery_harness --layout bedroom --kidnaps 20 --json FILE

Exit status 1 when a wrong pose was committed, or a share of recoveries or a time that is stated
for a layout is missed.
"""

import argparse
from dataclasses import asdict, dataclass, field
import json
import math
from pathlib import Path
import time

import numpy as np
from oomwoo_localization.frames import wrap_angle
from oomwoo_sim_support.kidnap import KidnapDraw
from oomwoo_sim_support.layout import LayoutError, load_layout
from oomwoo_sim_support.recovery_rehearsal import is_right, RecoveryRehearsal
from oomwoo_sim_support.sim_obstacles import SimError

ENDS = ('confirmed', 'found', 'ambiguous', 'unknown_room', 'not_confirmed', 'no_answer')
NOTICE_S, PATIENCE_S, BETWEEN_S = 3.0, 240.0, 0.5


@dataclass(frozen=True)
class Bounds:
    """Kidnaps on a layout, least share recovered of those noticed, seconds to commit."""

    kidnaps: int
    least_share: float
    most_s: float = math.inf


# In the symmetric room nothing can be decided: there, only wrong commits count.
BOUNDS = {
    'living_room': Bounds(20, 1.0, 3.0),
    'symmetric_room': Bounds(10, 0.0),
    'twin_bays': Bounds(10, 0.9),
}


@dataclass
class Trial:
    """
    One kidnap.

    ``pose`` where it was put; ``noticed_s`` after the kidnap until ``lost``, NaN if never;
    ``commit_s`` after ``lost`` until the commit that was confirmed; ``wrong`` how many commits
    were wrong, whether confirmed or not; ``outcome`` the last word; ``moves`` drives; errors of
    the last commit.
    """

    layout: str
    pose: list
    noticed_s: float = math.nan
    commit_s: float = math.nan
    commits: int = 0
    wrong: int = 0
    moves: int = 0
    outcome: str = 'not noticed'
    err_m: float = math.nan
    err_deg: float = math.nan
    words: list = field(default_factory=list)

    @property
    def recovered(self):
        """Tell whether it ended at the right pose."""
        return self.outcome in ('confirmed', 'found') and not self.wrong

    def take(self, word, since_lost_s, committed=None, truth=None):
        """Take in a word of the manager; ``committed`` and ``truth`` (3,) come with a commit."""
        self.words.append([round(since_lost_s, 2), word])
        self.moves += word == 'moving'
        if word in ENDS:
            self.outcome = word
        if word == 'commit':
            self.commits += 1
            self.commit_s = since_lost_s
            self.err_m = math.dist(committed[:2], truth[:2])
            self.err_deg = abs(math.degrees(wrap_angle(committed[2] - truth[2])))
            self.wrong += not is_right(committed, truth)


def run_offline(name, kidnaps, seed):
    """Return the trials of a layout, in one process and as fast as it goes."""
    layout = load_layout(name)
    world = RecoveryRehearsal(layout, seed=seed)
    draw = KidnapDraw(world.grid, world.sim.robot.body.radius, seed)
    trials = []
    for _ in range(kidnaps):
        world.relocate()
        world.run(BETWEEN_S)
        trial = Trial(layout.name, _kidnap(world, draw).round(3).tolist())
        kidnapped_s, said = world.sim.time_s, len(world.events)
        lost = world.run(NOTICE_S, ('lost',))
        if lost is not None:
            trial.noticed_s = lost.time_s - kidnapped_s
            world.run(PATIENCE_S, ENDS)
            for event in world.events[said + 1:]:
                trial.take(
                    event.word,
                    event.time_s - lost.time_s,
                    None if event.seed is None else event.seed.pose,
                    event.truth,
                )
        trials.append(trial)
    return trials


def _kidnap(world, draw):
    while True:
        pose = draw.draw(world.sim.truth().pose)
        try:
            world.kidnap(pose)
            return pose
        except SimError:
            continue  # something that the map does not show stands there


def summarize(trials, bounds):
    """Return a dict of figures of the trials of one layout, ``ok`` among them."""
    noticed = [t for t in trials if not math.isnan(t.noticed_s)]
    recovered = [t for t in noticed if t.recovered]
    times = [t.commit_s for t in recovered if not math.isnan(t.commit_s)]
    wrong = sum(t.wrong for t in trials)
    share = len(recovered) / len(noticed) if noticed else 1.0
    slowest = max(times, default=0.0)
    return {
        'layout': trials[0].layout,
        'kidnaps': len(trials),
        'noticed': len(noticed),
        'recovered': len(recovered),
        'given_up': len(noticed) - len(recovered) - sum(1 for t in noticed if t.wrong),
        'wrong_commits': wrong,
        'noticed_s_max': max((t.noticed_s for t in noticed), default=math.nan),
        'commit_s_median': float(np.median(times)) if times else math.nan,
        'commit_s_max': slowest,
        'err_m_max': max((t.err_m for t in recovered if t.commits), default=math.nan),
        'err_deg_max': max((t.err_deg for t in recovered if t.commits), default=math.nan),
        'moves': sum(t.moves for t in trials),
        'ok': not wrong and share >= bounds.least_share and slowest <= bounds.most_s,
    }


def table(summaries):
    """Return the summaries as lines of text."""
    heads = (
        'layout',
        'kidnaps',
        'noticed',
        'recovered',
        'given_up',
        'wrong_commits',
        'commit_s_median',
        'commit_s_max',
        'err_m_max',
        'err_deg_max',
        'moves',
        'ok',
    )
    rows = [heads] + [[_cell(row[head]) for head in heads] for row in summaries]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    return '\n'.join(
        '  '.join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows
    )


def _cell(value):
    if isinstance(value, bool):
        return 'yes' if value else 'NO'
    return f'{value:.3g}' if isinstance(value, float) else str(value)


def main(args=None):
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        description='Kidnap the robot, and see whether it finds itself.'
    )
    parser.add_argument(
        '--layout',
        action='append',
        help='name or file; again for more (default: three that differ)',
    )
    parser.add_argument('--kidnaps', type=int, help='kidnaps a layout')
    parser.add_argument('--seed', type=int, default=1, help='of poses, noise and slip')
    parser.add_argument(
        '--ros', action='store_true', help='with nodes over DDS instead of in one process'
    )
    parser.add_argument('--factor', type=float, default=1.0, help='real-time factor with --ros')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write trials and summary')
    options = parser.parse_args(args)
    if options.kidnaps is not None and options.kidnaps < 1:
        parser.error('--kidnaps: at least one')
    trials, summaries = [], []
    began = time.perf_counter()
    for name in options.layout or BOUNDS:
        bounds = BOUNDS.get(name, Bounds(10, 0.0))
        try:
            if options.ros:
                from oomwoo_sim_support.recovery_graph import run_graph

                new = run_graph(
                    name, options.kidnaps or bounds.kidnaps, options.seed, options.factor
                )
            else:
                new = run_offline(name, options.kidnaps or bounds.kidnaps, options.seed)
        except LayoutError as error:
            parser.exit(2, f'error: {error}\n')
        trials += new
        summaries.append(summarize(new, bounds))
    print(table(summaries))
    ok = all(row['ok'] for row in summaries)
    wall_s = time.perf_counter() - began
    print(f'{"bounds kept" if ok else "BOUNDS MISSED"}, {wall_s:.0f} s of wall time')
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(
            json.dumps(
                {
                    'trials': [asdict(trial) for trial in trials],
                    'summary': {
                        'layouts': summaries,
                        'ok': ok,
                        'ros': options.ros,
                        'seed': options.seed,
                        'wall_s': wall_s,
                    },
                },
                indent=1,
            )
        )
    return 0 if ok else 1


if __name__ == '__main__':
    raise SystemExit(main())
