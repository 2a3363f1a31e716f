"""How many ticks of a simulator are due: real-time factor, no catching up, what was achieved."""
import math


class Pacer:
    """
    Ticks due by a wall clock.

    A simulator that falls behind does not run after the lost time: it goes on at what the machine
    gives.
    """

    def __init__(self, tick_s, factor, most_ticks=4, patience_s=0.05):
        """
        Take the simulated length of a tick and the wanted factor; 0 is as fast as possible.

        At most ``most_ticks`` are due at once; debt above ``patience_s`` simulated seconds is
        forgiven.
        """
        self._tick_s, self._most, self._patience_s = tick_s, most_ticks, patience_s
        self._factor = factor
        self._begun = None
        self._report_from = None
        self.achieved = math.nan

    @property
    def period_s(self):
        """Return the wall seconds between two looks at what is due: two ticks at a time."""
        return 1e-4 if self._factor == 0 else max(1e-4, 2 * self._tick_s / self._factor)

    def set_factor(self, factor):
        """Go on at another factor from now on."""
        self._factor = factor
        self.restart()

    def restart(self):
        """Begin anew, after a pause."""
        self._begun = self._report_from = None

    def due(self, wall_s):
        """Return how many ticks to do now; tell :meth:`did` how many it were."""
        if self._begun is None:
            self._begun, self._done = wall_s, 0
            self._report_from, self._reported = wall_s, 0
        count = self._most
        if self._factor > 0:
            ahead = (wall_s - self._begun) * self._factor / self._tick_s
            debt = ahead - self._done
            if debt * self._tick_s > self._patience_s:
                self._begun += (debt * self._tick_s - self._patience_s) / self._factor
            count = max(0, min(self._most, math.floor(debt)))
        return count

    def did(self, ticks):
        """Count ticks as done."""
        self._done += ticks
        self._reported += ticks

    def report(self, wall_s, every_s=5.0):
        """Return True when ``achieved`` holds a new measure of simulated over wall seconds."""
        if self._report_from is None or wall_s - self._report_from < every_s:
            return False
        self.achieved = self._reported * self._tick_s / (wall_s - self._report_from)
        self._report_from, self._reported = wall_s, 0
        return True
