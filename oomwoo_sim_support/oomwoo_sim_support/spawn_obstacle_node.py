"""Puts one box into the running simulator, and ends."""

from dataclasses import dataclass
import sys

from oomwoo_localization.ros_support import ERROR, OK, pose_to_msg, run_node, SuiteNode
from oomwoo_localization.settings import setting
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
    patience_s: float = setting(
        20.0, 'wall time in which the simulator has to answer', 's', 0.5, 300.0
    )


class SpawnObstacleNode(SuiteNode):
    """Asks once."""

    def __init__(self):
        """Wait for the simulator."""
        super().__init__('spawn_obstacle', ObstacleSettings)
        self.done, self.exit_status = False, 1
        self._asked = False
        kind, name = (
            (DeleteEntity, 'delete_entity')
            if self.settings.remove
            else (SpawnEntity, 'spawn_entity')
        )
        self._client = self.create_client(kind, name)
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._began = self._wall.now()
        self.create_timer(0.05, self._tick, clock=self._wall)

    def _tick(self):
        settings = self.settings
        if not self._asked and self._client.service_is_ready():
            self._asked = True
            self._client.call_async(self._request()).add_done_callback(self._on_answer)
        elif (self._wall.now() - self._began).nanoseconds * 1e-9 > settings.patience_s:
            self._end(
                ERROR,
                f'no simulator answered {self._client.srv_name} within {settings.patience_s:.0f} '
                f's',
                1,
            )

    def _request(self):
        settings = self.settings
        if settings.remove:
            return DeleteEntity.Request(entity=settings.entity)
        request = SpawnEntity.Request(
            name=settings.entity,
            allow_renaming=True,
            resource_string=sdf_of_box(
                settings.entity, (settings.size_x, settings.size_y, settings.size_z)
            ),
        )
        request.initial_pose.header.frame_id = 'map'
        request.initial_pose.pose = pose_to_msg((settings.x, settings.y, settings.yaw))
        return request

    def _on_answer(self, future):
        if future.exception() is not None:
            self._end(ERROR, str(future.exception()), 1)
            return
        answer, settings = future.result(), self.settings
        if answer.result.result != Result.RESULT_OK:
            self._end(
                ERROR,
                f'the simulator refused: {answer.result.error_message or answer.result.result}',
                1,
            )
        elif settings.remove:
            self._end(OK, f'{settings.entity} is gone', 0)
        else:
            self._end(
                OK, f'{answer.entity_name} stands at ({settings.x:.2f}, {settings.y:.2f})', 0
            )

    def _end(self, level, message, status):
        self.set_status(level, message, 'DONE' if level == OK else 'FAILED')
        self.exit_status, self.done = status, True


def main(args=None):
    """Run the node."""
    return run_node(SpawnObstacleNode, args)


if __name__ == '__main__':
    sys.exit(main())
