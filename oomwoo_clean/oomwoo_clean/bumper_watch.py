"""The two halves of the bumper over time: pressed, but for chatter, and for how long."""
from dataclasses import dataclass
import math

SIDES = ('left', 'right')


@dataclass
class _Half:
    pressed: bool = False          # as the switch says
    since_s: float = None          # pressed, but for chatter, since then
    released_s: float = -math.inf  # last release


@dataclass(frozen=True)
class Held:
    """
    A bumper that is pressed: ``side`` left, right or both, and since when.

    ``closed`` tells whether a switch says so right now, and not only a moment ago.
    """

    side: str
    since_s: float
    closed: bool


class BumperWatch:
    """
    Takes what the switches say and leaves out their chatter.

    A release counts when it has lasted ``release_s``; until then the half is held.
    """

    def __init__(self, release_s):
        """Take the time of a release that counts, seconds."""
        self.release_s = release_s
        self.reset()

    def reset(self):
        """Forget everything, what is pressed too: it has to be said again."""
        self._halves = {side: _Half() for side in SIDES}

    def press(self, side, pressed, now_s, since_s=None):
        """
        Take a switch's word; return whether a bump begins with it.

        ``since_s`` is the earliest that it may have been pressed, by default now.
        """
        half = self._halves[side]
        begins = False
        if pressed and not half.pressed:
            begins = half.since_s is None or now_s - half.released_s >= self.release_s
            if begins:
                half.since_s = now_s if since_s is None else since_s
        elif not pressed and half.pressed:
            half.released_s = now_s
        half.pressed = bool(pressed)
        return begins

    def held(self, now_s):
        """Return what is pressed, chatter left out, as :class:`Held`; None: nothing."""
        pressed = {}
        for side, half in self._halves.items():
            if half.since_s is None:
                continue
            if not half.pressed and now_s - half.released_s >= self.release_s:
                half.since_s = None
            else:
                pressed[side] = half.since_s
        if not pressed:
            return None
        side = 'both' if len(pressed) == 2 else next(iter(pressed))
        closed = any(half.pressed for half in self._halves.values())
        return Held(side, min(pressed.values()), closed)
