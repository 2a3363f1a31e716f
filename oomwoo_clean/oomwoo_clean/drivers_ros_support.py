"""Who else drives, for a behaviour, and who else cleans, for a job: asked before and during."""
import math
import time

from action_msgs.msg import GoalStatus, GoalStatusArray
from oomwoo_clean.job_run import ENDED, IDLE, PAUSED, WAITING
from oomwoo_localization.ros_support import LATCHED_QOS, WARN
from std_msgs.msg import Bool, String

_SILENT_S = 2.0               # a behaviour that is there says its state twice a second
_FIRST_S = 2.0                # of wall time: one that was there first has been heard of by then
_GOALS = 'navigate_to_pose/_action/status'
_UNDER_WAY = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
_DOCKING = ('SEARCH', 'GOTO', 'TURN', 'BACK', 'REGROUP', 'UNDOCK')
_SWITCHED = {'contour_follower': 'the contour follower', 'wall_clean_bump_out': 'the bump-out'}
# Jobs that clean: the first named goes on when two have begun at once.
CLEANERS = ('clean_manager', 'coverage_planner', 'wall_clean_bump_out')
_RESTING = ('', IDLE, PAUSED, *ENDED, 'HALT')


class OtherDrivers:
    """
    Listens to the behaviours that write ``cmd_vel``, but for the node's own.

    Who was first goes on: a behaviour does not begin while :meth:`driving` names another, and
    one that has only just begun (:attr:`new`) when it hears of another ends.
    """

    def __init__(self, node):
        """Listen beside ``node``."""
        self._node = node
        self._cleaning = self._goal = False
        self._docking = ''
        self._began_s = -math.inf
        self.beside = ''                    # who drives although the node does, in words
        own = node.get_name()
        # Of those that are switched on: (state, when it was said).
        self._said = {name: ('IDLE', -math.inf) for name in _SWITCHED if name != own}
        for name in self._said:
            node.create_subscription(
                String, f'{name}/state', lambda msg, name=name: self._on_state(name, msg),
                LATCHED_QOS)
        if own == 'dock_drive':
            node.create_subscription(Bool, 'cleaning_active', self._on_cleaning, LATCHED_QOS)
        else:
            node.create_subscription(String, 'dock_drive/state', self._on_docking, LATCHED_QOS)
            node.create_subscription(GoalStatusArray, _GOALS, self._on_goals, LATCHED_QOS)

    def problem(self):
        """Return (reason code, message) why no docking may begin, None without a reason."""
        if self._cleaning and self._is_there('cleaning_active'):
            return 'CLEANING', 'the robot is cleaning: call clean_manager/pause or cancel first'
        driving = self.driving()
        return ('CLEANING', driving) if driving else None

    def driving(self):
        """Return which other node drives, and how to end that, in words; '' when none does."""
        for name, (state, heard_s) in self._said.items():
            if state != 'IDLE' and self._node.now_s() - heard_s < _SILENT_S:
                return (f'{_SWITCHED[name]} drives ({state}): switch it off with '
                        f'{name}/enable first')
        # What a process that is gone said last is no reason to wait for ever.
        if self._docking in _DOCKING and self._is_there('dock_drive/state'):
            return f'dock_drive drives ({self._docking}): cancel its goal first'
        if self._goal and self._is_there(_GOALS):
            return 'the navigator drives to a goal of navigate_to_pose: cancel that first'
        return ''

    def switch(self, request, response, enabled, enable):
        """
        Answer a std_srvs/SetBool that switches the node on or off, and call ``enable(on)``.

        One that is not ``enabled`` is refused while another drives, which the answer names.
        """
        other = self.driving() if request.data and not enabled else ''
        if other:
            response.success, response.message = False, f'not enabled: {other}'
            self._node.get_logger().warning(response.message)
            return response
        enable(request.data)
        response.success = True
        response.message = 'enabled' if request.data else 'disabled'
        if enabled == request.data:
            response.message = f'already {response.message}'
        return response

    def begin(self):
        """Take in that the node begins to drive now."""
        self._began_s = time.monotonic()

    def in_the_way(self):
        """
        Return why a node that drives has to end, '' when it goes on.

        Whoever drives beside it then is in :attr:`beside`, and is warned of once.
        """
        before, self.beside = self.beside, self.driving()
        if self.beside and self.new:
            return self.beside
        if self.beside and not before:
            self._node.get_logger().warning(f'{self.beside}; this node was first and goes on')
        return ''

    @property
    def new(self):
        """Tell whether the node began so lately that another may have been there first."""
        return time.monotonic() - self._began_s < _FIRST_S

    def _is_there(self, topic):
        return self._node.count_publishers(topic) > 0

    def _on_cleaning(self, msg):
        self._cleaning = msg.data

    def _on_state(self, name, msg):
        self._said[name] = msg.data, self._node.now_s()

    def _on_docking(self, msg):
        self._docking = msg.data

    def _on_goals(self, msg):
        self._goal = any(status.status in _UNDER_WAY for status in msg.status_list)


class OtherCleaners:
    """
    Whether another job cleans: two would take the navigator and the wheels from each other.

    By what each says its state to be. One that is gone cleans no more, whatever it said last.
    """

    def __init__(self, node, own_cleans):
        """Listen to all jobs but that of ``node``; ``own_cleans()`` tells whether that cleans."""
        self._node, self._own_cleans = node, own_cleans
        self._states, self._at_work, self._active = {}, {}, False
        self._topics = {
            name: node.resolve_topic_name(f'{name}/state')
            for name in CLEANERS if name != node.get_name()}
        for name, topic in self._topics.items():
            node.create_subscription(
                String, topic, lambda msg, name=name: self._on_state(name, msg.data), LATCHED_QOS)
        node.create_subscription(Bool, 'cleaning_active', self._on_active, LATCHED_QOS)

    def _on_state(self, name, state):
        self._states[name] = state
        if state != WAITING:                  # which is before it begins, or while it is at work
            self._at_work[name] = state not in _RESTING

    def _on_active(self, msg):
        if not self._own_cleans():            # else it may be of this node
            self._active = msg.data

    def problem(self):
        """Return a sentence that names the job that cleans, '' when none does."""
        name = self._cleaner()
        return f'{name} is cleaning ({self._states[name]}): stop that first' if name else ''

    def start(self, run):
        """Start the job ``run`` of the node, or say in its status which other one cleans."""
        why = self.problem()
        if why:
            self._node.set_status(WARN, f'not started: {why}', IDLE, 'OTHER_JOB')
        else:
            run.start()

    def give_way(self, run):
        """Pause the job ``run`` of the node while one that is named before it cleans."""
        if run.running and self.goes_first():
            run.hold(f'paused: {self.problem()}')

    def goes_first(self):
        """Tell whether a job cleans that is named before this one."""
        own = self._node.get_name()
        before = CLEANERS[:CLEANERS.index(own)] if own in CLEANERS else CLEANERS
        return self._cleaner() in before

    def _cleaner(self):
        for name, state in self._states.items():
            cleans = self._at_work.get(name, state == WAITING and self._active)
            if cleans and self._node.count_publishers(self._topics[name]):
                return name
        return None
