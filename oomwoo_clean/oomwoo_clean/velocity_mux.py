"""
Who drives the base: of all that command it lately, the first in rank.

Ranks, times and locks are those of twist_mux (its configuration file is read as it is), so that a
machine without twist_mux arbitrates alike.
"""
from dataclasses import dataclass
import math

HIGHEST_RANK = 255


class MuxError(ValueError):
    """A configuration that cannot be arbitrated by; the message names the parameter."""


@dataclass(frozen=True)
class Source:
    """
    Somebody who commands, or a lock.

    ``topic`` is where it speaks, ``timeout_s`` how long its last word counts (0: for ever) and
    ``priority`` its rank, the higher the earlier.
    """

    name: str
    topic: str
    timeout_s: float
    priority: int


class VelocityMux:
    """
    Decides for each command whether it goes to the base.

    A command goes if nobody of higher rank has commanded within its own time, and no lock of at
    least its rank is closed. Nothing is done between two commands: the base stops by itself when
    they cease.
    """

    def __init__(self, topics, locks=()):
        """Take who commands, and the locks: sequences of :class:`Source`."""
        self.topics = {source.name: source for source in topics}
        self.locks = {source.name: source for source in locks}
        self._closed, self._heard_s = {}, {}

    def forget(self):
        """Forget when anybody spoke, after a jump of the clock; a closed lock stays closed."""
        self._heard_s = {}
        closed = [name for name, (shut, _) in self._closed.items() if shut]
        self._closed = dict.fromkeys(closed, (True, math.inf))

    def command(self, name, now_s):
        """Take note of a command of ``name`` at ``now_s``; return whether it goes to the base."""
        self._heard_s[name] = now_s
        return self.driver(now_s) == name

    def lock(self, name, closed, now_s):
        """Close or open a lock; return whether nobody may drive because of it any more."""
        self._closed[name] = (bool(closed), now_s)
        return closed and all(
            source.priority <= self.locks[name].priority for source in self.topics.values())

    def locked_rank(self, now_s):
        """Return up to which rank nobody may drive; -1 while no lock is closed."""
        closed = [-1]
        for name, lock in self.locks.items():
            shut, heard_s = self._closed.get(name, (False, -math.inf))
            # A lock with a time of its own has to be held open: silence closes it.
            silent = lock.timeout_s > 0.0 and now_s - heard_s > lock.timeout_s
            if shut or silent:
                closed.append(lock.priority)
        return max(closed)

    def driver(self, now_s):
        """Return the name of who drives at ``now_s``, '' for nobody."""
        rank, found = self.locked_rank(now_s), ''
        for name, heard_s in self._heard_s.items():
            source = self.topics[name]
            fresh = source.timeout_s <= 0.0 or now_s - heard_s <= source.timeout_s
            if fresh and source.priority > rank:
                rank, found = source.priority, name
        return found


def sources(parameters):
    """
    Return ``(topics, locks)``, lists of :class:`Source`, of twist_mux's parameters.

    ``parameters`` maps ``topics.NAME.topic`` and so on to values. Raises :class:`MuxError`.
    """
    if parameters.get('use_stamped', False):
        raise MuxError('use_stamped: must be false: commands are Twists everywhere in the suite')
    topics, locks = (_sources(parameters, kind) for kind in ('topics', 'locks'))
    if not topics:
        raise MuxError('topics: nobody is listed; start with --params-file twist_mux.yaml')
    return topics, locks


def _sources(parameters, kind):
    names = dict.fromkeys(
        key.split('.')[1] for key in parameters if key.startswith(f'{kind}.') and '.' in key)
    found = []
    for name in names:
        where = f'{kind}.{name}'
        topic, timeout_s, priority = (
            parameters.get(f'{where}.{field}') for field in ('topic', 'timeout', 'priority'))
        if not isinstance(topic, str) or not topic:
            raise MuxError(f'{where}.topic: expected the name of a topic, got {topic!r}')
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or not (
                0.0 <= timeout_s < math.inf):
            raise MuxError(f'{where}.timeout: expected seconds, got {timeout_s!r}')
        if isinstance(priority, bool) or not isinstance(priority, int) or not (
                0 <= priority <= HIGHEST_RANK):
            raise MuxError(
                f'{where}.priority: expected 0 .. {HIGHEST_RANK}, got {priority!r}')
        found.append(Source(name, topic, float(timeout_s), priority))
    return found
