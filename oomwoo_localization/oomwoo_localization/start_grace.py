"""What is only to be expected while a whole graph starts is no warning yet."""
import time

GRACE_S = 3.0                 # of wall time: processes started together know each other by then


class StartGrace:
    """Tells whether something that is missing may still be on its way."""

    def __init__(self, grace_s=GRACE_S):
        """Begin now; ``grace_s`` is of wall time, longer where more hangs on it than a warning."""
        self.grace_s = grace_s
        self.begin()

    def begin(self):
        """Begin anew: there is something new that the rest has to follow."""
        self._until_s = time.monotonic() + self.grace_s

    @property
    def over(self):
        """Tell whether what is missing by now is worth a warning, or giving up."""
        return time.monotonic() >= self._until_s
