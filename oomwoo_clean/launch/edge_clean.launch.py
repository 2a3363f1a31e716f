"""Clean every edge once: contour follower and edge manager, which sends it from edge to edge."""
from launch.actions import EmitEvent, LogInfo, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from oomwoo_clean.job_run import NOT_DONE_STATUS
from oomwoo_sim_support import launch_arguments as common
from oomwoo_sim_support.launch_choices import (
    described,
    given,
    is_true,
    runs,
    SuiteProcess,
    together,
)

ARGUMENTS = (
    common.USE_SIM_TIME,
    common.OUTPUT_DIR,
    common.EDGE_SIDE,
    common.EDGE_AUTOSTART,
    common.EXIT_WHEN_DONE,
    ('bump_map', 'true', 'start the bump map, too, from which edges found by touch are taken'),
    common.BUMP_MAP_FILE,
    common.COMPOSE,
    ('namespace', '', 'namespace of both nodes'),
    ('params_file', '', 'YAML with further parameters for both nodes'),
)
# A follower whose manager is gone stops by itself after this.
LEASE_S = 3.0
RESPAWN_DELAY_S = 1.0
# Exit statuses of a manager that has nothing to come back for: done, cancelled or stopped;
# refused parameters; a job that ended otherwise. A traceback's is 1.
ENDINGS = (0, 2, NOT_DONE_STATUS)


def _start(context):
    value = given(ARGUMENTS, context)
    words = {
        name: is_true(name, value[name])
        for name in ('use_sim_time', 'autostart', 'exit_when_done')}
    common = {'use_sim_time': words.pop('use_sim_time'), 'side': value['side']}
    more = [value['params_file']] if value['params_file'] else []
    follower = SuiteProcess(
        package='oomwoo_clean', executable='contour_follower', namespace=value['namespace'],
        respawn=True, respawn_delay=RESPAWN_DELAY_S,
        parameters=[common, {'autostart': False, 'lease_s': LEASE_S}, *more])
    manager = SuiteProcess(
        package='oomwoo_clean', executable='clean_manager', namespace=value['namespace'],
        respawn=True, respawn_delay=RESPAWN_DELAY_S,
        parameters=[common, {
            'output_dir': value['output_dir'], **words}, *more])
    processes = [follower, manager]
    if is_true('bump_map', value['bump_map']):
        processes.insert(0, SuiteProcess(
            package='oomwoo_clean', executable='bump_map', namespace=value['namespace'],
            respawn=True, respawn_delay=RESPAWN_DELAY_S,
            parameters=[{
                'use_sim_time': common['use_sim_time'], 'file': value['bump_map_file']}, *more],
            remappings=[('/tf', 'tf'), ('/tf_static', 'tf_static')]))
    if is_true('compose', value['compose']):
        processes = together(processes)
    ended = OnProcessExit(target_action=runs(manager), on_exit=_manager_ended)
    return [*processes, RegisterEventHandler(ended)]


def _manager_ended(event, context):
    """End with a manager that ended by itself; one that was killed or broke down may come back."""
    if event.returncode in ENDINGS:
        return [EmitEvent(event=Shutdown(reason='the edge manager has ended'))]
    how = (
        f'was killed (signal {-event.returncode})' if event.returncode < 0
        else f'broke down (exit status {event.returncode})')
    if not event.action.comes_back:
        return [EmitEvent(event=Shutdown(reason=f'the process of the edge manager {how}'))]
    return [LogInfo(msg=f'the edge manager {how}; it is started again')]


def generate_launch_description():
    """Return follower, manager and bump map with their launch arguments."""
    return described(ARGUMENTS, _start)
