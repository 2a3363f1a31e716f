"""
The robot's battery for a simulator that charges none, such as Gazebo: true pose in, charge out.

The algorithm is :mod:`oomwoo_sim_support.battery`. Not for the embedded simulator, which has its
own.
"""
from dataclasses import dataclass
import sys

import numpy as np
from oomwoo_localization.dock import docked_pose
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import OK, SuiteNode, WARN
from oomwoo_localization.settings import setting
from oomwoo_sim_support.battery import Battery, BatterySettings, contacts_meet
from oomwoo_sim_support.battery_ros_support import battery_msg
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.truth_ros_support import STALE_S, TruePose
from sensor_msgs.msg import BatteryState

_LONGEST_S = 1.0              # what lies between two ticks at most; the clock may jump


@dataclass(frozen=True)
class BatterySimSettings(BatterySettings):
    """Settings of the battery and of its node."""

    world: str = setting('', 'packaged layout, or path of a layout file; empty: no dock',
                         live=False)
    rate: float = setting(5.0, 'messages a second', 'Hz', 0.5, 50.0, live=False)
    robot_file: str = setting('', 'robot file; empty: the packaged one', live=False)


class BatterySimNode(SuiteNode):
    """Publishes the charge, which grows while the robot truly stands on the dock's contacts."""

    def __init__(self):
        """Load the world; one without a dock only drains."""
        super().__init__('battery_sim', BatterySimSettings)
        settings = self.settings
        dock = load_layout(settings.world).dock if settings.world else None
        robot = load_robot(settings.robot_file or None)
        self._battery = Battery(settings)
        self._dock = None if dock is None else (np.array(dock.pose), docked_pose(dock, robot))
        self._truth, self._ticked_s = TruePose(self), None
        self._out = self.create_publisher(BatteryState, 'battery_state', 10)
        self.create_timer(1.0 / settings.rate, self._tick)

    def time_went_back(self):
        """Forget where the robot was; the charge stays."""
        self._ticked_s = None
        self._truth.forget()

    def _tick(self):
        now_s, pose = self.now_s(), self._truth.pose
        # A robot that nobody sees stands on no contacts.
        charging = self._dock is not None and pose is not None and contacts_meet(
            *self._dock, pose, self.settings)
        if self._ticked_s is not None:
            self._battery.tick(min(max(now_s - self._ticked_s, 0.0), _LONGEST_S), charging)
        self._ticked_s = now_s
        self._out.publish(battery_msg(
            self._battery.charge, charging, self.get_clock().now().to_msg()))
        if self._dock is not None and pose is None:
            self.set_status(
                WARN, f'nothing on {self._truth.topic} for {STALE_S} s', 'DRAINING',
                'no_odom_truth')
        else:
            self.set_status(
                OK, 'on the contacts of the dock' if charging else 'off the dock',
                'CHARGING' if charging else 'DRAINING')


def main(args=None):
    """Run the node."""
    return run_node(BatterySimNode, args)


if __name__ == '__main__':
    sys.exit(main())
