"""
The two halves of the bumper, from what a topic says to presses that mean a touch.

Chatter is one press; a half that was never seen released, or stays pressed when the robot has
backed off, is stuck and means nothing until it lets go.
"""
import math

from oomwoo_clean.bump_contact import BOTH, HALVES, LEFT, progress, RIGHT

NEW, ANOTHER, WIDER = 'new', 'another', 'wider'


class Presses:
    """What is pressed, since when and where."""

    def __init__(self, settings):
        """Begin with both halves released."""
        self.settings = settings
        self.number = 0                            # of the press of now, or the last one
        self.slid_m = 0.0                          # driven on during it
        self.stuck = {LEFT: False, RIGHT: False}
        self.doubted = 0                           # press of which nobody saw the end
        self.bounced = 0
        self._down = {LEFT: False, RIGHT: False}
        self._start = {LEFT: None, RIGHT: None}    # odometry's pose where the press began
        self._said = {LEFT: None, RIGHT: None}     # by the topic; None: nothing yet
        self.forget_times()

    def forget_times(self):
        """Forget when, after a jump back in time."""
        self._pressed_s = {LEFT: -math.inf, RIGHT: -math.inf}
        self._released_s = {LEFT: -math.inf, RIGHT: -math.inf}

    @property
    def unreleased(self):
        """Return the halves that are pressed and were never seen released."""
        return [half for half in (LEFT, RIGHT) if self._said[half] == 'unreleased']

    def level(self, half, pressed):
        """
        Take in what a topic says of one half, time and again.

        Returns True where that is the begin of a press, False where it is its end, else None.
        """
        before = self._said[half]
        if not pressed:
            self._said[half] = 'released'
            return False if before == 'pressed' else None
        if before in (None, 'unreleased'):
            self._said[half] = 'unreleased'
            return None
        self._said[half] = 'pressed'
        return True if before == 'released' else None

    def unheard(self, half):
        """Take in that the topic of a half has ceased: one that was pressed has to let go."""
        if self._said[half] == 'pressed':
            self._said[half], self.doubted = None, self.number

    def press(self, side, pose, stamp_s):
        """
        Take in a press; return (what, side) or None.

        ``what`` is NEW, ANOTHER (the second half, long after the first: a second surface) or WIDER
        (the second half together with the first: one thing ahead).
        """
        fresh = [half for half in HALVES[side] if self._begins(half, pose, stamp_s)]
        if not fresh:
            return None
        if len(fresh) == 2:
            return self._new(BOTH)
        half = fresh[0]
        other = RIGHT if half == LEFT else LEFT
        if not self._down[other] or self.stuck[other]:
            return self._new(half)
        together = stamp_s - self._pressed_s[other] <= self.settings.both_s
        return (WIDER, BOTH) if together else (ANOTHER, half)

    def _new(self, side):
        self.number += 1
        self.slid_m = 0.0
        return NEW, side

    def _begins(self, half, pose, stamp_s):
        if self._down[half]:
            return False
        self._down[half] = True
        if stamp_s - self._released_s[half] < self.settings.debounce_s:
            self.bounced += 1
            return False
        self._start[half], self._pressed_s[half] = pose, stamp_s
        self.stuck[half] = False
        return True

    def release(self, side, stamp_s):
        """Take in a release."""
        for half in HALVES[side]:
            if self._down[half]:
                self._down[half], self._released_s[half] = False, stamp_s

    def held(self):
        """Return which side is pressed and not stuck, or None."""
        held = [half for half in (LEFT, RIGHT) if self._down[half] and not self.stuck[half]]
        return BOTH if len(held) == 2 else held[0] if held else None

    def backed_off(self, pose):
        """Return the halves that are pressed still, though the robot has backed off: stuck now."""
        return [
            half for half in (LEFT, RIGHT)
            if self._down[half] and not self.stuck[half]
            and progress(self._start[half], pose) < -self.settings.stuck_m]
