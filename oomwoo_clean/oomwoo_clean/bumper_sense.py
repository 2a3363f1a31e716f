"""What two bumper switches say: fresh presses, and a bumper that cannot be believed."""
from collections import deque

_QUIET_S = 1.0
SIDES = ('left', 'right')


class BumperSense:
    """Tells presses from a bumper that is stuck or chatters; ``trouble`` is (code, sentence)."""

    def __init__(self):
        """Begin with both halves released."""
        self.pressed = (False, False)
        self.trouble = None
        self._presses = deque(maxlen=64)

    def update(self, time_s, left, right):
        """Take in the switches; return whether any half is newly pressed."""
        was, self.pressed = self.pressed, (bool(left), bool(right))
        fresh = any(now and not before for now, before in zip(self.pressed, was))
        if fresh:
            self._presses.append(time_s)
        return fresh

    @property
    def is_pressed(self):
        """Tell whether a half is pressed."""
        return any(self.pressed)

    @property
    def names(self):
        """Return the pressed halves in words."""
        return ' and '.join(name for name, on in zip(SIDES, self.pressed) if on)

    def chatters(self, time_s, count):
        """Note as trouble, and tell, whether there were ``count`` presses within a second."""
        recent = sum(time_s - 1.0 <= then for then in self._presses)
        if recent >= count:
            self.trouble = ('BUMPER_CHATTER', f'{recent} presses of the bumper within a second: '
                            'standing until it is quiet')
        return recent >= count

    def settled(self, time_s):
        """Tell whether trouble is over: released, and quiet for a second; it is forgotten then."""
        if self.is_pressed or (self._presses and time_s - self._presses[-1] < _QUIET_S):
            return False
        self.trouble = None
        return True
