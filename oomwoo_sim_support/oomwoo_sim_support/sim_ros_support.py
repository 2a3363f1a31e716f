"""The standard control of a simulation: ``simulation_interfaces`` services over an EmbeddedSim."""
import math
from pathlib import Path
import re

from oomwoo_localization.ros_support import pose_from_msg, pose_to_msg
from oomwoo_sim_support.sim_entities import EntityError, shape_from_sdf
from oomwoo_sim_support.sim_obstacles import SimError
from rclpy.time import Time
from simulation_interfaces.msg import EntityState, Result, SimulationState, SimulatorFeatures
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityState,
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    SpawnEntity,
    StepSimulation,
)

MOST_STEPS = 100000
_FRAMES = ('', 'world', 'map')
_FEATURES = (
    SimulatorFeatures.SPAWNING, SimulatorFeatures.SPAWNING_RESOURCE_STRING,
    SimulatorFeatures.DELETING,
    SimulatorFeatures.ENTITY_STATE_GETTING, SimulatorFeatures.ENTITY_STATE_SETTING,
    SimulatorFeatures.SIMULATION_RESET, SimulatorFeatures.SIMULATION_RESET_STATE,
    SimulatorFeatures.SIMULATION_RESET_SPAWNED, SimulatorFeatures.SIMULATION_STATE_GETTING,
    SimulatorFeatures.SIMULATION_STATE_SETTING, SimulatorFeatures.SIMULATION_STATE_PAUSE,
    SimulatorFeatures.STEP_SIMULATION_SINGLE, SimulatorFeatures.STEP_SIMULATION_MULTIPLE)


class SimulationServices:
    """
    Offers the services of a node.

    The node has ``sim``, ``paused``, ``set_paused``, ``reset``, ``tick`` and ``publish_all``.

    The robot is the entity of its name in the robot file; setting its state is the kidnapping.
    """

    def __init__(self, node):
        """Create the services, at relative names."""
        self._node = node
        self._state = SimulationState.STATE_PLAYING
        for kind, name, handler in (
                (SpawnEntity, 'spawn_entity', self._spawn),
                (DeleteEntity, 'delete_entity', self._delete),
                (GetEntities, 'get_entities', self._list),
                (GetEntityState, 'get_entity_state', self._get),
                (GetEntitiesStates, 'get_entities_states', self._get_all),
                (SetEntityState, 'set_entity_state', self._set),
                (ResetSimulation, 'reset_simulation', self._reset),
                (StepSimulation, 'step_simulation', self._step),
                (SetSimulationState, 'set_simulation_state', self._set_state),
                (GetSimulationState, 'get_simulation_state', self._get_state),
                (GetSimulatorFeatures, 'get_simulator_features', self._features)):
            node.create_service(kind, name, handler)

    @property
    def _sim(self):
        return self._node.sim

    def _spawn(self, request, response):
        codes = SpawnEntity.Response
        try:
            text = self._read(request)
            shape = shape_from_sdf(text)
        except EntityError as error:
            code = codes.RESOURCE_PARSE_ERROR if error.supported else codes.UNSUPPORTED_FORMAT
            if not request.uri and not request.resource_string:
                code = codes.NO_RESOURCE
            return _answer(response, code, str(error))
        name = request.name or shape.name
        if not re.fullmatch(r'[A-Za-z0-9_./ -]+', name):
            return _answer(response, codes.NAME_INVALID, f'name {name!r}')
        taken = {*self._sim.entities, self._sim.robot.name}
        if name in taken:
            if not request.allow_renaming:
                return _answer(
                    response, codes.NAME_NOT_UNIQUE, f'there is already something called {name!r}')
            name = next(
                f'{name}_{n}' for n in range(1, len(taken) + 2) if f'{name}_{n}' not in taken)
        try:
            x, y, yaw = self._pose(request.initial_pose.pose, request.initial_pose.header.frame_id)
            c, s = math.cos(yaw), math.sin(yaw)
            at = (x + c * shape.x - s * shape.y, y + s * shape.x + c * shape.y)
            z = request.initial_pose.pose.position.z + shape.z - shape.size[2] / 2
            if shape.kind == 'box':
                self._sim.spawn_box(name, *at, yaw=yaw + shape.yaw, size=shape.size, z=z)
            else:
                self._sim.spawn_cylinder(
                    name, *at, radius=shape.size[0] / 2, height=shape.size[2], z=z)
        except ValueError as error:
            return _answer(response, codes.INVALID_POSE, str(error))
        response.entity_name = name
        return self._moved(response)

    def _read(self, request):
        if not request.uri:
            if not request.resource_string:
                raise EntityError('neither uri nor resource_string is given')
            return request.resource_string
        path = Path(request.uri.removeprefix('file://'))
        if path.suffix != '.sdf':
            raise EntityError(f'{request.uri}: only .sdf files are read', supported=False)
        try:
            return path.read_text(encoding='utf-8')
        except (OSError, UnicodeDecodeError) as error:
            raise EntityError(f'{path}: cannot be read ({error})') from error

    def _delete(self, request, response):
        try:
            self._sim.delete(request.entity)
        except SimError as error:
            return _answer(response, Result.RESULT_NOT_FOUND, str(error))
        return self._moved(response)

    def _list(self, request, response):
        response.entities = self._matching(request.filters, response)
        return response

    def _get(self, request, response):
        if request.entity not in self._names():
            return _answer(
                response, Result.RESULT_NOT_FOUND, f'there is nothing called {request.entity!r}')
        response.state = self._state_of(request.entity)
        return _answer(response)

    def _get_all(self, request, response):
        response.entities = self._matching(request.filters, response)
        response.states = [self._state_of(name) for name in response.entities]
        return response

    def _set(self, request, response):
        codes = SetEntityState.Response
        if request.entity not in self._names():
            return _answer(
                response, Result.RESULT_NOT_FOUND, f'there is nothing called {request.entity!r}')
        try:
            pose = self._pose(request.state.pose, request.state.header.frame_id)
        except ValueError as error:
            return _answer(response, codes.INVALID_POSE, str(error))
        try:
            if request.entity == self._sim.robot.name:
                self._sim.teleport(pose)
            else:
                self._sim.move(request.entity, pose)
        except SimError as error:
            return _answer(response, codes.INVALID_POSE, str(error))
        return self._moved(response)

    def _reset(self, request, response):
        scope = request.scope
        everything = scope in (request.SCOPE_DEFAULT, request.SCOPE_ALL)
        known = request.SCOPE_STATE | request.SCOPE_SPAWNED
        if not everything and (scope & ~known or not scope & known):
            return _answer(
                response, Result.RESULT_FEATURE_UNSUPPORTED,
                f'scope {scope}: time alone is not reset')
        spawned = everything or bool(scope & request.SCOPE_SPAWNED)
        try:
            if everything or scope & request.SCOPE_STATE:
                self._node.reset(keep_time=not everything, keep_entities=not spawned)
            else:
                for name in self._sim.entities:
                    self._sim.delete(name)
        except SimError as error:
            return _answer(response, Result.RESULT_OPERATION_FAILED, str(error))
        return _answer(response)

    def _step(self, request, response):
        if not self._node.paused:
            return _answer(response, Result.RESULT_OPERATION_FAILED, 'pause the simulation first')
        if not 1 <= request.steps <= MOST_STEPS:
            return _answer(
                response, Result.RESULT_OPERATION_FAILED, f'steps must be 1 .. {MOST_STEPS}')
        for _ in range(request.steps):
            self._node.tick()
        return _answer(response)

    def _set_state(self, request, response):
        wanted, states, codes = request.state.state, SimulationState, SetSimulationState.Response
        if wanted == self._state:
            return _answer(response, codes.ALREADY_IN_TARGET_STATE, 'already so')
        if wanted == states.STATE_QUITTING:
            self._node.done = True
            return _answer(response)
        if wanted not in (states.STATE_STOPPED, states.STATE_PLAYING, states.STATE_PAUSED):
            return _answer(
                response, codes.INCORRECT_TRANSITION, f'state {wanted} cannot be asked for')
        if wanted == states.STATE_STOPPED:
            self._node.reset(keep_time=False, keep_entities=False)
        self._state = wanted
        self._node.set_paused(wanted != states.STATE_PLAYING)
        return _answer(response)

    def _get_state(self, request, response):
        response.state.state = self._state
        return _answer(response)

    def _features(self, request, response):
        response.features.features = list(_FEATURES)
        response.features.spawn_formats = ['sdf']
        response.features.custom_info = (
            'a step is 0.01 s; spawns static models of one upright box or cylinder; '
            f'the robot is the entity {self._sim.robot.name!r}')
        return response

    # -- helpers ----------------------------------------------------------------------------

    def _names(self):
        return [self._sim.robot.name, *self._sim.entities]

    def _matching(self, filters, response):
        if filters.categories or filters.tags.tags or filters.bounds.points:
            _answer(
                response, Result.RESULT_FEATURE_UNSUPPORTED, 'only the name filter is supported')
            return []
        try:
            wanted = re.compile(filters.filter or '.*')
        except re.error as error:
            _answer(
                response, Result.RESULT_OPERATION_FAILED, f'filter {filters.filter!r}: {error}')
            return []
        _answer(response)
        return [name for name in self._names() if wanted.search(name)]

    def _state_of(self, name):
        state = EntityState()
        state.header.frame_id = 'map'
        state.header.stamp = Time(nanoseconds=round(self._sim.time_s * 1e9)).to_msg()
        if name == self._sim.robot.name:
            truth = self._sim.truth()
            yaw = float(truth.pose[2])
            state.pose = pose_to_msg(truth.pose)
            state.twist.linear.x = float(truth.linear * math.cos(yaw))
            state.twist.linear.y = float(truth.linear * math.sin(yaw))
            state.twist.angular.z = float(truth.angular)
        else:
            part = self._sim.entities[name]
            state.pose = pose_to_msg((part.x, part.y, part.yaw))
            state.pose.position.z = float(part.z_min)
        return state

    def _pose(self, pose, frame):
        if frame not in _FRAMES:
            raise SimError(f'frame {frame!r} is none of world, map')
        q, p = pose.orientation, pose.position
        norm = math.sqrt(q.x ** 2 + q.y ** 2 + q.z ** 2 + q.w ** 2)
        if not (math.isfinite(norm) and norm > 0.5 and all(map(math.isfinite, (p.x, p.y, p.z)))):
            raise SimError('pose: position is not finite or the quaternion has no direction')
        return pose_from_msg(pose)

    def _moved(self, response):
        self._node.publish_all()
        return _answer(response)


def _answer(response, code=Result.RESULT_OK, message=''):
    response.result.result, response.result.error_message = code, message
    return response
