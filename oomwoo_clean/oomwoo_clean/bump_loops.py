"""
When the bump-out has gone round something, and whether it has been there before: by odometry.

A contour that is kept on one side closes upon itself. Round a room the robot then has turned once
away from the surface, round an island once towards it, whatever corners came between: a simple
closed curve turns by a whole turn (Hopf, 1935). Until it has, turning tells nothing: a tub chair
at a wall is as deep as one. Only for what is small, and hangs on nothing that was felt before, is
less enough. Nothing but touches by wheel odometry is used, and that drifts: a place is known the
worse the farther the robot has driven since.
"""
import math

ROOM, ISLAND = 'room', 'island'
_SAME_RAD = math.radians(50.0)


class BumpLoops:
    """
    Touches of the contour that is being followed, and of the loops that were left.

    Directions (rad, not wrapped) are of the surface, kept on the right: turning away from it is
    positive. Places (x, y) are odometry's, ``driven_m`` is all that was driven up to there.
    """

    def __init__(self, settings):
        """Begin anew; ``settings`` is a :class:`.bump_out_settings.BumpOutSettings`."""
        self.settings = settings
        self.forget()

    def forget(self):
        """Forget every place: odometry has jumped."""
        self._left = []                    # (place, driven_m) on what was gone round and left
        self._been_round_room, self._returns = False, 0
        self.begin()

    def begin(self):
        """Begin with another contour, of which nothing is known yet."""
        self._touches, self._closed_m = [], None

    def touch(self, place, direction, driven_m, sure=True):
        """
        Take a touch in; return ROOM or ISLAND when what was followed shall be left, else ''.

        A direction of which only the pressed half tells, not ``sure``, closes no loop.
        """
        what, first = self._round(place, direction, driven_m, sure)
        self._touches.append((place, direction, driven_m, sure))
        if what:
            self._leave(what, first)
        return what

    def lost(self):
        """Leave what a wide way all round it did not meet again: it is small, whatever it is."""
        if self._touches:
            self._leave(ISLAND, 0)

    def known(self, place, driven_m):
        """Tell whether a contour's first touch is on a loop that was left, to be left again."""
        if self._touches:
            return False
        again = any(self._near(place, then, driven_m - before_m)
                    for then, before_m in self._left)
        self._returns = self._returns + 1 if again else 0
        if self._returns > self.settings.returns_most:
            self._left, self._returns = [], 0
            return False
        return again

    def _round(self, place, direction, driven_m, sure):
        """Return what was gone round, or '', and from which touch on."""
        s, extent_m, closed = self.settings, 0.0, None
        least, most = (direction, 0), (direction, 0)
        for index in range(len(self._touches) - 1, -1, -1):
            then, was, before_m, was_sure = self._touches[index]
            extent_m = max(extent_m, math.dist(place, then))
            least, most = min(least, (was, index)), max(most, (was, index))
            if not (sure and was_sure):
                continue
            turned = direction - was
            if extent_m < s.small_m and -turned > math.radians(s.small_deg):
                return ISLAND, index
            if abs(abs(turned) - math.tau) < _SAME_RAD and self._near(
                    place, then, driven_m - before_m):
                closed = (ROOM if turned > 0.0 else ISLAND), index
                if self._closed_m is None:       # and on, for as far as that may be early
                    self._closed_m = driven_m + self._reach_m(driven_m - before_m)
        if closed and driven_m > self._closed_m:
            return closed
        size = extent_m / s.small_m
        if size < 2.0 and most[0] - direction > math.radians(s.alone_deg) * (1.0 + size):
            return ISLAND, 0
        if most[0] - direction > math.radians(s.island_deg):
            return ISLAND, most[1]
        if direction - least[0] > math.radians(s.round_deg):
            return ROOM, least[1]
        return '', 0

    def _reach_m(self, since_m):
        """Return how far off a place may be from where so long a way began."""
        return self.settings.loop_m + self.settings.drift * since_m

    def _near(self, place, then, since_m):
        return math.dist(place, then) < self._reach_m(since_m)

    def _leave(self, what, first):
        if what == ROOM and not self._been_round_room:
            # Islands were left for the sake of the walls; now is the time for them.
            self._been_round_room, self._left = True, []
        self._left += [(place, driven_m) for place, _, driven_m, _ in self._touches[first:]]
        self._returns = 0
        self.begin()
