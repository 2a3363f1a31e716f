"""Put the robot elsewhere, by ``simulation_interfaces`` or Gazebo's own service."""

from geometry_msgs.msg import PoseStamped
from oomwoo_localization.ros_support import pose_to_msg
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import SetEntityState


class RobotMover:
    """
    Moves one entity; :meth:`put` answers through a callback ``(moved, why_not)``.

    ``kind`` is the simulator's: ``simulation_interfaces`` or ``gazebo``, empty while there is
    none.
    """

    def __init__(self, node, entity, gazebo_world=''):
        """Look for ``node`` for a simulator; ``gazebo_world`` is the world's name in Gazebo."""
        self._node, self._entity = node, entity
        self._standard = node.create_client(SetEntityState, 'set_entity_state')
        self._gazebo = self._gazebo_type = None
        if gazebo_world:
            try:
                from ros_gz_interfaces.srv import SetEntityPose
            except ImportError:
                node.get_logger().warning(
                    f'parameter gazebo_world is {gazebo_world!r}, but ros_gz_interfaces is not '
                    f'installed'
                )
            else:
                self._gazebo_type = SetEntityPose
                self._gazebo = node.create_client(SetEntityPose, f'/world/{gazebo_world}/set_pose')

    @property
    def kind(self):
        """Return which simulator is there."""
        if self._standard.service_is_ready():
            return 'simulation_interfaces'
        return 'gazebo' if self._gazebo is not None and self._gazebo.service_is_ready() else ''

    def put(self, pose, then):
        """Ask for the robot to be at ``pose`` (3,); ``then(moved, why_not)`` follows."""
        if self.kind == 'simulation_interfaces':
            request = SetEntityState.Request(entity=self._entity)
            request.state.header.frame_id = 'map'
            request.state.pose = pose_to_msg(pose)
            self._standard.call_async(request).add_done_callback(
                lambda done: self._standard_answer(done, then)
            )
        elif self.kind == 'gazebo':
            request = self._gazebo_type.Request(pose=pose_to_msg(pose))
            request.entity.name = self._entity
            request.entity.type = request.entity.MODEL
            self._gazebo.call_async(request).add_done_callback(
                lambda done: then(bool(done.result().success), 'Gazebo refused')
            )
        else:
            then(False, f'no simulator offers {self._standard.srv_name} (or Gazebo its set_pose)')

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
