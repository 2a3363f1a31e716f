"""
The dock's beacon for a simulator without infrared, such as Gazebo: true pose in, readings out.

The algorithm is :mod:`oomwoo_sim_support.ir_beacon`. Not for the embedded simulator, which reads
the receivers itself.
"""
from dataclasses import dataclass
import sys

import numpy as np
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import OK, SuiteNode, WARN
from oomwoo_localization.settings import setting, SettingError
from oomwoo_sim_support.ir_beacon import BeaconSettings, IrBeacon, line_is_blocked
from oomwoo_sim_support.layout import load_layout
from oomwoo_sim_support.layout_primitives import primitives
from oomwoo_sim_support.truth_ros_support import STALE_S, TruePose
from std_msgs.msg import Float32

_WATCH_PERIOD_S = 0.5


@dataclass(frozen=True)
class IrBeaconSimSettings(BeaconSettings):
    """Settings of the beacon and of its node."""

    world: str = setting(
        'kitchen_dining', 'packaged layout, or path of a layout file', live=False)
    rate: float = setting(20.0, 'readings a second', 'Hz', 1.0, 100.0, live=False)
    beacon_on: bool = setting(True, 'the beacon shines', live=False)
    dead_receiver: str = setting(
        'none', 'receiver that reads nothing', '', choices=('none', 'left', 'right'), live=False)
    seed: int = setting(0, 'of gains and noise', '', 0, 2147483647, live=False)
    robot_file: str = setting('', 'robot file; empty: the packaged one', live=False)


class IrBeaconSimNode(SuiteNode):
    """Publishes what the two receivers read at the robot's true pose."""

    def __init__(self):
        """Load the world; raises SettingError when it has no dock."""
        super().__init__('ir_beacon_sim', IrBeaconSimSettings)
        settings = self.settings
        layout = load_layout(settings.world)
        if layout.dock is None:
            raise SettingError(
                f'ir_beacon_sim: parameter world: {layout.name} has no dock')
        robot = load_robot(settings.robot_file or None)
        height = robot.dock_receivers.z
        self._beacon = IrBeacon(
            robot, settings, settings.seed, settings.beacon_on, settings.dead_receiver)
        self._dock_pose = np.array(layout.dock.pose)
        self._solids = [part for part in primitives(layout)
                        if part.element != 'dock' and part.crosses(height, height)]
        self._truth = TruePose(self)
        self._out = [self.create_publisher(Float32, f'dock_ir/{side}', 10)
                     for side in ('left', 'right')]
        self.create_timer(1.0 / settings.rate, self._publish)
        self.create_timer(_WATCH_PERIOD_S, self._watch)
        self._watch()

    def settings_changed(self):
        """Take over parameters of the beacon that were set while running."""
        self._beacon.settings = self.settings

    def time_went_back(self):
        """Forget where the robot was."""
        self._truth.forget()

    def _publish(self):
        pose = self._truth.pose
        if pose is None:
            return
        readings = self._beacon.read(
            pose, self._dock_pose,
            lambda one, other: line_is_blocked(self._solids, one, other))
        for publisher, strength in zip(self._out, readings):
            publisher.publish(Float32(data=strength))

    def _watch(self):
        if self._truth.pose is not None:
            self.set_status(OK, 'beacon simulated from odom_truth', 'SHINING')
        else:
            self.set_status(
                WARN, f'nothing on {self._truth.topic} for {STALE_S} s', 'WAITING',
                'no_odom_truth')


def main(args=None):
    """Run the node."""
    return run_node(IrBeaconSimNode, args)


if __name__ == '__main__':
    sys.exit(main())
