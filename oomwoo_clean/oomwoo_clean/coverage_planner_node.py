"""
Coverage planner in the ROS graph: all the floor in lanes, by navigator.

The job is :mod:`oomwoo_clean.coverage_run`; this is its adapter. It writes no ``cmd_vel``: the
navigator drives, and an escape reflex when one has to.
"""
from dataclasses import dataclass
import sys

from oomwoo_clean.coverage_run import (
    CoverageInputs,
    CoverageRun,
    CoverageRunSettings,
    ESCAPE,
)
from oomwoo_clean.coverage_sweep import CoverageSettings, CoverageSweep
from oomwoo_clean.job_node import JobNode, JobNodeSettings
from oomwoo_localization.pockets_ros_support import PocketWatch
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import LATCHED_QOS, ReflexWatch, WARN
from oomwoo_localization.settings import setting
from std_msgs.msg import Bool


@dataclass(frozen=True)
class PlannerSettings(CoverageSettings, CoverageRunSettings, JobNodeSettings):
    """Settings of the job and of its node."""

    autostart: bool = setting(True, 'begin as soon as map and pose are there', live=False)
    exit_when_done: bool = setting(False, 'end the node when the job has ended')
    contact_aware: bool = setting(
        True, 'stand aside while an escape reflex drives, and keep out of its pockets', live=False)


class CoveragePlannerNode(JobNode):
    """Steps a :class:`CoverageRun` and hands its goals to the navigator."""

    LEVELS = {**JobNode.LEVELS, ESCAPE: WARN}

    def __init__(self, **kwargs):
        """Declare parameters, topics and services; wait for map and pose."""
        super().__init__('coverage_planner', PlannerSettings, **kwargs)
        self._lost = False
        self.create_subscription(
            Bool, 'localization_health/lost', self._on_lost, LATCHED_QOS)
        aware = self.settings.contact_aware
        self._reflex = ReflexWatch(self) if aware else None
        self._pockets = PocketWatch(self, self._keep_out) if aware else None

    def _on_lost(self, msg):
        self._lost = msg.data

    def _keep_out(self):
        if self._run is not None:
            self._run.sweep.keep_out(self._pockets.circles)

    def _early(self, name):
        if name not in ('start', 'cancel'):
            return super()._early(name)
        self._wanted, self._held = name == 'start', False
        return True, (
            f'begins as soon as it can: {self._trouble}' if self._wanted
            else 'cancelled before the job began')

    def _make_run(self, pose):
        """Lay out the lanes from where the robot is."""
        sweep = CoverageSweep(self._grid, pose, self.settings)
        if self._pockets is not None:
            sweep.keep_out(self._pockets.circles)
        return CoverageRun(sweep, self.settings)

    def _work(self, run, now_s, pose):
        orders = run.step(CoverageInputs(
            now_s, pose, self._navigator.report,
            self._reflex is not None and self._reflex.active, self._missing(now_s)))
        if orders.goal is None:
            self._navigator.cancel(now_s)
        else:
            self._navigator.go(orders.goal_id, orders.goal, now_s)
        return orders

    def _missing_beside(self, now_s):
        lost = self._lost and self.count_publishers('localization_health/lost') > 0
        return 'the localization, which is lost' if lost else ''

    def _share_done(self):
        return self._run.sweep.progress if self._run else 0.0

    def _over(self, run, now_s):
        if self.settings.exit_when_done and self._all_stand(now_s):
            self.exit_status, self.done = run.exit_status, True


def main(args=None):
    """Run the node."""
    return run_node(CoveragePlannerNode, args)


if __name__ == '__main__':
    sys.exit(main())
