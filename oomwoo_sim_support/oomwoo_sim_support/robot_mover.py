"""Put the robot elsewhere, by ``simulation_interfaces`` or Gazebo's own service."""

from geometry_msgs.msg import PoseStamped
from oomwoo_localization.ros_support import pose_to_msg
from oomwoo_sim_support.gazebo_services import GazeboService, model_request, MOVE
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import SetEntityState


class RobotMover:
    """
    Moves one entity; :meth:`put` answers through a callback ``(moved, why_not)``.

    ``kind`` is the simulator's: ``simulation_interfaces`` or ``gazebo``, empty while there is
    none.
    """

    def __init__(self, node, entity, gazebo_world='', sim='auto'):
        """
        Look for a simulator on behalf of ``node``.

        ``gazebo_world`` is the world's name in Gazebo, by default whichever is found; ``sim`` may
        be ``embedded`` or ``gazebo`` to leave the other one alone.
        """
        self._entity = entity
        self._standard = self._gazebo = None
        if sim != 'gazebo':
            self._standard = node.create_client(SetEntityState, 'set_entity_state')
        if sim != 'embedded':
            self._gazebo = GazeboService(node, MOVE, gazebo_world)

    @property
    def kind(self):
        """Return which simulator is there."""
        if self._standard is not None and self._standard.service_is_ready():
            return 'simulation_interfaces'
        return 'gazebo' if self._gazebo is not None and self._gazebo.ready else ''

    @property
    def trouble(self):
        """Return why there is no simulator to ask, one sentence."""
        missing = []
        if self._standard is not None:
            missing.append(f'no simulator offers {self._standard.srv_name}')
        if self._gazebo is not None:
            missing.append(self._gazebo.trouble)
        return '; '.join(missing)

    def put(self, pose, then):
        """Ask for the robot to be at ``pose`` (3,); ``then(moved, why_not)`` follows."""
        kind = self.kind
        if kind == 'simulation_interfaces':
            request = SetEntityState.Request(entity=self._entity)
            request.state.header.frame_id = 'map'
            request.state.pose = pose_to_msg(pose)
            self._standard.call_async(request).add_done_callback(
                lambda done: self._standard_answer(done, then)
            )
        elif kind == 'gazebo':
            request = model_request(self._gazebo, self._entity)
            request.pose = pose_to_msg(pose)
            self._gazebo.call(request, then)
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
