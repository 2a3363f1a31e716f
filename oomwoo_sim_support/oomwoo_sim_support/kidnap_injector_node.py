"""``~/kidnap``: put the robot where it could have driven to, without telling it."""

from dataclasses import dataclass
import math
import sys

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid
from oomwoo_localization.grids import GridError
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import ERROR, grid_from_msg, LATCHED_QOS, OK, SuiteNode, WARN
from oomwoo_localization.settings import setting
from oomwoo_sim_support.kidnap import KidnapDraw
from oomwoo_sim_support.robot_mover import RobotMover, stamped
from rclpy.clock import Clock, ClockType
from rclpy.task import Future
from std_srvs.srv import Trigger

MOST_DRAWS = 50  # the map does not show everything that the body touches


@dataclass(frozen=True)
class InjectorSettings:
    """Which robot, and how it is put down."""

    seed: int = setting(0, 'of the poses', '', 0, 2147483647, live=False)
    entity: str = setting(
        '', 'name of the robot in the simulator; empty: as robot.yaml calls it', live=False
    )
    sim: str = setting(
        'auto', 'which simulator moves the robot', '', choices=('auto', 'embedded', 'gazebo'),
        live=False)
    gazebo_world: str = setting(
        '', 'name of the world in Gazebo; empty: whichever is found', live=False)
    margin_m: float = setting(
        0.05, 'room left around the body, by the map', 'm', 0.0, 1.0, live=False
    )
    answer_s: float = setting(
        10.0, 'wall time in which the simulator has to answer', 's', 0.1, 120.0
    )


class KidnapInjectorNode(SuiteNode):
    """Draws poses on the map and has the simulator put the robot there."""

    def __init__(self, **kwargs):
        """Wait for a map."""
        super().__init__('kidnap_injector', InjectorSettings, **kwargs)
        self._robot = load_robot()
        self._mover = RobotMover(
            self, self.settings.entity or self._robot.name, self.settings.gazebo_world,
            self.settings.sim)
        self._draw, self._trouble = None, 'no map on topic map yet'
        self._pose = self.create_publisher(PoseStamped, '~/pose', LATCHED_QOS)
        self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        self.create_service(Trigger, '~/kidnap', self._on_kidnap)
        self._last = None
        # A simulator takes a moment to be found; it had better be before it is needed.
        self.create_timer(
            1.0, lambda: self._mover.kind, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.set_status(WARN, self._trouble, 'WAITING', 'no_map')

    def _on_map(self, msg):
        try:
            self._draw = KidnapDraw(
                grid_from_msg(msg),
                self._robot.body.radius,
                self.settings.seed,
                self.settings.margin_m,
            )
        except GridError as error:
            self._draw, self._trouble = None, f'topic map: {error}'
            self.set_status(ERROR, self._trouble, 'WAITING', 'bad_map')
            return
        self.set_status(OK, 'ready to kidnap', 'READY')

    async def _on_kidnap(self, request, response):
        if self._draw is None:
            response.message = self._trouble
            return response
        why = ''
        for _ in range(MOST_DRAWS):
            pose = self._draw.draw(self._last)
            moved, why = await self._put(pose)
            if moved:
                self._last = pose
                x, y, yaw = pose
                self._pose.publish(stamped(pose, self.get_clock().now().to_msg()))
                response.success = True
                response.message = (
                    f'put at x {x:.3f} m, y {y:.3f} m, yaw {math.degrees(yaw):.1f} deg'
                )
                self.get_logger().info(response.message)
                return response
            if not self._mover.kind:
                break
        response.message = f'not kidnapped: {why}'
        self.get_logger().warning(response.message)
        return response

    async def _put(self, pose):
        """Return ``(moved, why_not)``; no answer counts as a refusal."""
        answered = Future()
        timer = self.create_timer(
            self.settings.answer_s,
            lambda: answered.done() or answered.set_result((False, 'no answer')),
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )
        self._mover.put(
            pose, lambda moved, why: answered.done() or answered.set_result((moved, why))
        )
        result = await answered
        self.destroy_timer(timer)
        return result


def main(args=None):
    """Run the node."""
    return run_node(KidnapInjectorNode, args)


if __name__ == '__main__':
    sys.exit(main())
