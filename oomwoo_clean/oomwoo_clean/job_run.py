"""What every job that cleans has alike: phases, commands between them, its navigator's word."""
from dataclasses import dataclass

IDLE, PLAN, GOTO, WAITING = 'IDLE', 'PLAN', 'GOTO', 'WAITING'
PAUSED, DONE, STUCK, CANCELLED = 'PAUSED', 'DONE', 'STUCK', 'CANCELLED'
ENDED = (DONE, STUCK, CANCELLED)
# Exit status of a job's node whose job came to an end by itself that is not DONE; 1 is that of a
# traceback.
NOT_DONE_STATUS = 3
HELD = 'paused: another map came while the job was paused; it begins anew on that when resumed'


@dataclass(frozen=True)
class NavReport:
    """What the navigator said last of goal ``goal_id``: NONE ACTIVE SUCCEEDED FAILED, and why."""

    goal_id: int = 0
    status: str = 'NONE'
    message: str = ''


class Event(str):
    """A sentence for a human, with the ``state`` it was said in, and whether it is a warning."""

    def __new__(cls, text, state, warning=False):
        """Be the sentence ``text``."""
        event = super().__new__(cls, text)
        event.state, event.warning = state, warning
        return event


class JobRun:
    """
    The phases of a job; :meth:`start`, :meth:`pause`, :meth:`resume` and :meth:`cancel` it.

    These return ``(accepted, sentence)``. A job class names in ``RUNNING`` the phases in which it
    works, and says in :meth:`_overview` what lies ahead of it.
    """

    RUNNING = (PLAN, GOTO, WAITING)

    def __init__(self):
        """Be idle until :meth:`start`."""
        self.phase = IDLE
        self.reason = 'not started'
        self.elapsed_s = 0.0
        self._last_time_s = None
        self._events = []

    def _overview(self):
        return 'started'

    def start(self):
        """Begin the job, or go on with a restored one."""
        if self.running or self.phase == PAUSED:
            return False, f'the job is already running ({self.phase})'
        if self.ended:
            return False, f'the job has ended ({self.phase}); a new one needs a new start'
        self._enter(PLAN, self._overview())
        return True, self.reason

    def hold(self, why):
        """Be paused, or so from the beginning, until :meth:`resume`; ``why`` is a warning."""
        self._enter(PAUSED, why)
        self._events[-1].warning = True

    def pause(self):
        """Stand still until :meth:`resume`."""
        if not self.running:
            return False, f'nothing to pause ({self.phase})'
        self._enter(PAUSED, 'paused')
        return True, 'paused'

    def resume(self):
        """Go on after :meth:`pause`."""
        if self.phase != PAUSED:
            return False, f'nothing to resume ({self.phase})'
        self._enter(PLAN, 'resumed')
        return True, 'resumed'

    def cancel(self):
        """End the job where it is."""
        if self.ended:
            return False, f'the job has already ended ({self.phase})'
        self._enter(CANCELLED, 'cancelled')
        return True, 'cancelled'

    @property
    def running(self):
        """Tell whether the job is at work, be it only waiting for something."""
        return self.phase in self.RUNNING

    @property
    def ended(self):
        """Tell whether nothing more will happen."""
        return self.phase in ENDED

    @property
    def exit_status(self):
        """Return that of a process that is there for the job, which has ended; 0: as wanted."""
        return 0 if self.phase in (DONE, CANCELLED) else NOT_DONE_STATUS

    def _passed_s(self, time_s):
        """Return the seconds since the last tick, and count them while the job runs."""
        passed_s = 0.0 if self._last_time_s is None else max(0.0, time_s - self._last_time_s)
        self._last_time_s = time_s
        if self.running:
            self.elapsed_s += passed_s
        return passed_s

    def _enter(self, phase, reason):
        self.phase, self.reason = phase, reason
        self._say(reason)

    def _say(self, text, warning=False):
        self._events.append(Event(text, self.phase, warning))

    def _take_events(self):
        events, self._events = tuple(self._events), []
        return events
