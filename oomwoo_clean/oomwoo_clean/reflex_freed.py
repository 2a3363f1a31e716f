"""When a robot that is stuck is free again: its bumper has let go, or the scan shows elsewhere."""
from oomwoo_clean.reflex_settings import BUMPER_STUCK, WEDGED
from oomwoo_clean.scan_motion import changed_share

_LET_GO_S = 0.5               # a bumper that has let go for this long has let go
_ELSEWHERE_SHARE = 0.5        # of the beams changed: the robot is not where it was stuck
_LOOK_AGAIN_S, _TIMES = 1.0, 2


class FreedWatch:
    """Watches one stuck robot."""

    def __init__(self, reason, scan):
        """Take why it is stuck, and the scan of there (None: the first one to come)."""
        self._reason, self._scan = reason, scan
        self._released_s = self._looked_s = None
        self._changes = 0

    def step(self, held, scan, now_s):
        """
        Return why the robot is free, '' while it is not.

        ``held`` is what is pressed or None, ``scan`` one of now or None.
        """
        if self._reason in (BUMPER_STUCK, WEDGED):
            if held is not None:
                self._released_s = None
            elif self._released_s is None:
                self._released_s = now_s
            elif now_s - self._released_s >= _LET_GO_S:
                return 'the bumper has let go'
            if self._reason == BUMPER_STUCK:
                return ''
        if self._looked_s is not None and now_s - self._looked_s < _LOOK_AGAIN_S:
            return ''
        self._looked_s = now_s
        if scan is None:
            return ''
        self._scan = self._scan or scan
        elsewhere = changed_share(self._scan, scan) > _ELSEWHERE_SHARE
        self._changes = self._changes + 1 if elsewhere else 0
        return 'the scan shows that the robot has been moved' if self._changes >= _TIMES else ''
