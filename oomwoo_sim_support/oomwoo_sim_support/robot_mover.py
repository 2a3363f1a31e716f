"""Put the robot elsewhere, by ``simulation_interfaces`` or Gazebo's own service."""

from geometry_msgs.msg import PoseStamped
from oomwoo_localization.ros_support import pose_to_msg
from oomwoo_sim_support.gazebo_services import EitherSimulator, model_request, MOVE
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import SetEntityState


class RobotMover(EitherSimulator):
    """Moves one entity; :meth:`put` answers through a callback ``(moved, why_not)``."""

    def __init__(self, node, entity, gazebo_world='', sim='auto'):
        """Look for a simulator as :class:`EitherSimulator` does, to move ``entity`` in it."""
        super().__init__(
            node, SetEntityState, 'set_entity_state', MOVE, gazebo_world, sim)
        self._entity = entity

    def put(self, pose, then):
        """Ask for the robot to be at ``pose`` (3,); ``then(moved, why_not)`` follows."""
        kind = self.kind
        if kind == 'simulation_interfaces':
            request = SetEntityState.Request(entity=self._entity)
            request.state.header.frame_id = 'map'
            request.state.pose = pose_to_msg(pose)
            self.standard.call_async(request).add_done_callback(
                lambda done: self._standard_answer(done, then)
            )
        elif kind == 'gazebo':
            request = model_request(self.gazebo, self._entity)
            request.pose = pose_to_msg(pose)
            self.gazebo.call(request, then)
        else:
            then(False, self.trouble)

    @staticmethod
    def _standard_answer(done, then):
        if done.exception() is not None:
            then(False, str(done.exception()))
            return
        result = done.result().result
        then(result.result == Result.RESULT_OK, result.error_message or f'result {result.result}')


def stamped(pose, stamp, frame_id='map'):
    """Return a PoseStamped of a plane pose."""
    msg = PoseStamped(pose=pose_to_msg(pose))
    msg.header.frame_id, msg.header.stamp = frame_id, stamp
    return msg
