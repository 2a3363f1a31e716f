"""A goal of the embedded navigator, from acceptance to its end."""
import math
import time

from rclpy.task import Future

# A busy machine may keep a client from speaking for so long of wall time, however fast the clock.
HICCUP_S = 2.0


class Job:
    """One goal from acceptance to its end; ``ended`` resolves to (status, code, message)."""

    def __init__(self, handle, time_s):
        """Take the action's goal handle and the time it was accepted."""
        self.handle = handle
        self.began_s = time_s
        self.waiting_since_s = time_s
        self.fed_back_s = -math.inf
        self.ended = Future()
        self.goal = None
        self.under_way = False
        self._alive_s = None          # (node clock, wall clock) of the client's last sign

    def keep_alive(self, time_s):
        """Take a sign of life of the client at ``time_s`` of the node clock."""
        self._alive_s = time_s, time.monotonic()

    def is_deserted(self, time_s, lease_s):
        """Tell whether a client that has given signs of life has given none for ``lease_s``."""
        return (
            self._alive_s is not None and time_s - self._alive_s[0] > lease_s
            and time.monotonic() - self._alive_s[1] > HICCUP_S)
