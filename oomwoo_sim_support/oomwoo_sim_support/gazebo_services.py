"""
Gazebo's services, where ``ros_gz_bridge`` offers them: put a model in, take it out, move it.

They are named after the world, which is found in the graph unless it is told, and their types are
of ``ros_gz_interfaces``, which is not installed everywhere.
"""
import importlib
import re

SPAWN, REMOVE, MOVE = 'create', 'remove', 'set_pose'
TYPES = {SPAWN: 'SpawnEntity', REMOVE: 'DeleteEntity', MOVE: 'SetEntityPose'}


class GazeboService:
    """One service of Gazebo's for a node; :attr:`ready` finds it, :meth:`call` uses it."""

    def __init__(self, node, name, world=''):
        """Take one of ``create``, ``remove`` and ``set_pose`` of ``world``; empty: of any."""
        self._node, self._name, self._world = node, name, world
        self._kind, self._client = _service_type(TYPES[name]), None
        self._pattern = re.compile(
            f'/world/({re.escape(world) if world else "[^/]+"})/{name}')

    @property
    def found(self):
        """Return the service's name in the graph, empty while there is none."""
        wanted = f'ros_gz_interfaces/srv/{TYPES[self._name]}'
        return next((name for name, types in self._node.get_service_names_and_types()
                     if self._pattern.fullmatch(name) and wanted in types), '')

    @property
    def trouble(self):
        """Return why it can't be used, one sentence, or an empty string when it can."""
        found = self.found
        if not found:
            world = self._world or 'WORLD'
            return f'no bridge offers /world/{world}/{self._name} of Gazebo'
        if self._kind is None:
            return (f'{found} of Gazebo is there, but ros_gz_interfaces is not installed here '
                    '(apt package ros-jazzy-ros-gz-interfaces)')
        return '' if self.ready else f'{found} of Gazebo does not answer'

    @property
    def ready(self):
        """Tell whether it can be called."""
        if self._kind is None:
            return False
        if self._client is None:
            found = self.found
            if not found:
                return False
            self._client = self._node.create_client(self._kind, found)
        return self._client.service_is_ready()

    def request(self):
        """Return an empty request."""
        return self._kind.Request()

    def call(self, request, then):
        """Send a request; ``then(succeeded, why_not)`` follows."""
        self._client.call_async(request).add_done_callback(lambda done: then(
            *((False, str(done.exception())) if done.exception() is not None
              else (bool(done.result().success), 'Gazebo refused, see its log'))))


class EitherSimulator:
    """
    A service of ``simulation_interfaces``, or Gazebo's own of the same use.

    ``standard`` is the client of the one, ``gazebo`` the :class:`GazeboService` of the other, each
    None when it is left alone.
    """

    def __init__(self, node, kind, name, gazebo_name, gazebo_world='', sim='auto'):
        """
        Look for a simulator on behalf of ``node``.

        ``kind`` and ``name`` are the type and the name of the service, ``gazebo_name`` that of
        Gazebo's in ``gazebo_world``; empty: in any. ``sim`` may be ``embedded`` or ``gazebo``.
        """
        self.standard = None if sim == 'gazebo' else node.create_client(kind, name)
        self.gazebo = None if sim == 'embedded' else GazeboService(
            node, gazebo_name, gazebo_world)

    @property
    def kind(self):
        """Return which one is there: 'simulation_interfaces', 'gazebo', or '' for none."""
        if self.standard is not None and self.standard.service_is_ready():
            return 'simulation_interfaces'
        return 'gazebo' if self.gazebo is not None and self.gazebo.ready else ''

    @property
    def trouble(self):
        """Return why there is no simulator to ask, one sentence."""
        missing = []
        if self.standard is not None:
            missing.append(f'no simulator offers {self.standard.srv_name}')
        if self.gazebo is not None:
            missing.append(self.gazebo.trouble)
        return '; '.join(missing)


def model_request(service, entity):
    """Return a request about the model called ``entity``."""
    request = service.request()
    request.entity.name = entity
    request.entity.type = request.entity.MODEL
    return request


def _service_type(name):
    try:
        return getattr(importlib.import_module('ros_gz_interfaces.srv'), name)
    except (ImportError, AttributeError):
        return None
