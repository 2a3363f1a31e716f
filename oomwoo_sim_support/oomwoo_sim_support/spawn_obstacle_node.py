"""Puts one box into the running simulator, embedded or Gazebo, and ends."""

from dataclasses import dataclass
import sys

from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import ERROR, OK, pose_to_msg, SuiteNode
from oomwoo_localization.settings import setting
from oomwoo_sim_support.gazebo_services import (
    EitherSimulator,
    model_request,
    REMOVE,
    SPAWN,
)
from oomwoo_sim_support.sim_entities import sdf_of_box
from rclpy.clock import Clock, ClockType
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import DeleteEntity, SpawnEntity


@dataclass(frozen=True)
class ObstacleSettings:
    """Where, how large, what it is called."""

    x: float = setting(0.0, 'middle of the box in the map', 'm', -1000.0, 1000.0, live=False)
    y: float = setting(0.0, 'middle of the box in the map', 'm', -1000.0, 1000.0, live=False)
    yaw: float = setting(0.0, 'its heading', 'rad', -7.0, 7.0, live=False)
    size_x: float = setting(0.2, 'length', 'm', 0.01, 20.0, live=False)
    size_y: float = setting(1.2, 'width', 'm', 0.01, 20.0, live=False)
    size_z: float = setting(0.5, 'height', 'm', 0.01, 5.0, live=False)
    entity: str = setting('obstacle', 'its name; taken ones get a number', live=False)
    remove: bool = setting(False, 'take it away again instead', live=False)
    sim: str = setting(
        'auto', 'which simulator to ask', '', choices=('auto', 'embedded', 'gazebo'), live=False)
    gazebo_world: str = setting(
        '', 'name of the world in Gazebo; empty: whichever is found', live=False)
    patience_s: float = setting(
        20.0, 'wall time in which the simulator has to answer', 's', 0.5, 300.0
    )


class SpawnObstacleNode(SuiteNode):
    """Asks once."""

    def __init__(self):
        """Wait for the simulator."""
        super().__init__('spawn_obstacle', ObstacleSettings)
        self.done, self.exit_status = False, 1
        settings = self.settings
        self._asked = False
        self._simulator = EitherSimulator(
            self, *((DeleteEntity, 'delete_entity', REMOVE) if settings.remove
                    else (SpawnEntity, 'spawn_entity', SPAWN)),
            settings.gazebo_world, settings.sim)
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._began = self._wall.now()
        self.create_timer(0.05, self._tick, clock=self._wall)

    def _tick(self):
        if not self._asked:
            kind = self._simulator.kind
            self._asked = bool(kind)
            if kind == 'simulation_interfaces':
                self._simulator.standard.call_async(self._request()).add_done_callback(
                    self._on_answer)
            elif kind == 'gazebo':
                self._simulator.gazebo.call(self._gazebo_request(), self._on_gazebos_answer)
        waited_s = (self._wall.now() - self._began).nanoseconds * 1e-9
        if waited_s > self.settings.patience_s:
            self._end(ERROR, f'no answer within {waited_s:.0f} s: {self._trouble()}', 1)

    def _trouble(self):
        if self._asked:
            return 'the simulator was asked and is silent'
        return self._simulator.trouble

    def _sdf(self):
        settings = self.settings
        return sdf_of_box(settings.entity, (settings.size_x, settings.size_y, settings.size_z))

    def _request(self):
        settings = self.settings
        if settings.remove:
            return DeleteEntity.Request(entity=settings.entity)
        request = SpawnEntity.Request(
            name=settings.entity, allow_renaming=True, resource_string=self._sdf())
        request.initial_pose.header.frame_id = 'map'
        request.initial_pose.pose = pose_to_msg((settings.x, settings.y, settings.yaw))
        return request

    def _gazebo_request(self):
        settings = self.settings
        if settings.remove:
            return model_request(self._simulator.gazebo, settings.entity)
        request = self._simulator.gazebo.request()
        factory = request.entity_factory
        factory.name, factory.allow_renaming = settings.entity, True
        factory.sdf = self._sdf()
        # This pose takes the place of the model's own, which lifts the box onto the floor.
        factory.pose = pose_to_msg((settings.x, settings.y, settings.yaw))
        factory.pose.position.z = settings.size_z / 2
        return request

    def _on_answer(self, future):
        if future.exception() is not None:
            self._answered(False, str(future.exception()))
            return
        result = future.result().result
        self._answered(
            result.result == Result.RESULT_OK, result.error_message or str(result.result),
            self.settings.entity if self.settings.remove else future.result().entity_name)

    def _on_gazebos_answer(self, succeeded, why_not):
        self._answered(succeeded, why_not, self.settings.entity)

    def _answered(self, succeeded, why_not, entity=''):
        settings = self.settings
        if not succeeded:
            self._end(ERROR, f'the simulator refused: {why_not}', 1)
        elif settings.remove:
            self._end(OK, f'{entity} is gone', 0)
        else:
            self._end(OK, f'{entity} stands at ({settings.x:.2f}, {settings.y:.2f})', 0)

    def _end(self, level, message, status):
        self.set_status(level, message, 'DONE' if level == OK else 'FAILED')
        self.exit_status, self.done = status, True


def main(args=None):
    """Run the node."""
    return run_node(SpawnObstacleNode, args)


if __name__ == '__main__':
    sys.exit(main())
