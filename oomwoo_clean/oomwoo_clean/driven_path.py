"""What a robot has driven, by its wheels: speed, turn, and the way back along it."""
from collections import deque
import math

from oomwoo_localization.frames import compose, inverse

_JUMP_M, _JUMP_RAD = 0.3, 1.0          # between two poses: not driven
_SEGMENT_M, _SEGMENT_RAD = 0.01, 0.05
_KEPT_SEGMENTS = 200                   # two metres and more
_TURNING_RADIUS_M = 0.02               # less is turning in place
_SPEED_S = 0.04
_TRAIL = 20                            # positions: the last half second and more
_TIGHTEST_PER_M = 5.0


class DrivenPath:
    """
    Follows odometry; while going back, shortens the path instead of lengthening it.

    ``speed`` m/s and ``rate`` rad/s are what odometry shows, ``turned`` rad its heading, not
    wrapped; ``heading`` is the one to have at this point of the way back, ``back_m`` how far it
    has gone back, ``beyond_m`` how far its wheels have gone on although it was to go back.
    """

    def __init__(self):
        """Begin with no path."""
        self.forget()

    def forget(self):
        """Forget poses and path."""
        self.pose = self._time_s = self._speed_s = None
        self.speed = self.rate = self.turned = 0.0
        self.driven_m = 0.0
        self._since_m = self._since_rad = 0.0
        self._trail = deque(maxlen=_TRAIL)
        self.cut()

    def cut(self):
        """Forget the way back, after a jump."""
        self._segments = deque(maxlen=_KEPT_SEGMENTS)       # [metres, radians, turns in place]
        self.heading, self.back_m, self.beyond_m = self.turned, 0.0, 0.0

    def __bool__(self):
        """Tell whether there is a way back."""
        return bool(self._segments)

    def move(self, time_s, pose, going_back=False):
        """
        Take odometry's pose (3,) at a time; return (metres ahead, radians turned, jumped).

        A pose that cannot have been driven to counts as no motion.
        """
        ahead, turned, jumped = 0.0, 0.0, False
        if self.pose is None:
            self.turned = self.heading = float(pose[2])
        else:
            x, y, turned = compose(inverse(self.pose), pose).tolist()
            ahead = math.copysign(math.hypot(x, y), x)
            jumped = abs(ahead) > _JUMP_M or abs(turned) > _JUMP_RAD
        self.pose, self._time_s = pose, time_s
        if jumped:
            self.cut()
            self._trail.clear()
            ahead = turned = 0.0
        self._trail.append((time_s, tuple(pose[:2].tolist())))
        self.turned += turned
        self.driven_m += abs(ahead)
        self._measure(time_s, ahead, turned)
        if going_back:
            self._shorten(-ahead, abs(turned))
        elif ahead or turned:
            self._lengthen(ahead, turned)
        return ahead, turned, jumped

    @property
    def position(self):
        """Return odometry's (x, y)."""
        return tuple(self.pose[:2].tolist())

    def position_at(self, time_s):
        """Return odometry's (x, y) of the moment nearest to a time a little ago."""
        return min(self._trail, key=lambda entry: abs(entry[0] - time_s))[1]

    def stand(self):
        """Take the base to stand: a rest of motion does not count as speed."""
        self.speed = 0.0

    def turn_back(self):
        """Begin to go back from here."""
        self.heading, self.back_m, self.beyond_m = self.turned, 0.0, 0.0

    def go_on(self):
        """Go on ahead after all: what was rolled on since is on the path."""
        if self.beyond_m > 0.0:
            self._lengthen(self.beyond_m, self.turned - self.heading)
        self.beyond_m = 0.0

    @property
    def turns_here(self):
        """Tell whether the way back begins with a turn in place."""
        return bool(self._segments) and self._segments[-1][2]

    @property
    def turn_sign(self):
        """Return the sign of the turn with which the way back begins."""
        return -math.copysign(1.0, self._segments[-1][1])

    @property
    def curvature(self):
        """Return the curvature, 1/m, of the end of the path; it is the same backwards."""
        if not self._segments or self._segments[-1][2] or abs(self._segments[-1][0]) < 1e-3:
            return 0.0
        ahead, turned, _ = self._segments[-1]
        return max(-_TIGHTEST_PER_M, min(_TIGHTEST_PER_M, turned / ahead))

    def _measure(self, time_s, ahead, turned):
        self._since_m += ahead
        self._since_rad += turned
        if self._speed_s is None:
            self._speed_s = time_s
        passed_s = time_s - self._speed_s
        if passed_s >= _SPEED_S:
            self.speed, self.rate = self._since_m / passed_s, self._since_rad / passed_s
            self._speed_s, self._since_m, self._since_rad = time_s, 0.0, 0.0

    def _lengthen(self, ahead, turned):
        turning = abs(ahead) < _TURNING_RADIUS_M * abs(turned)
        last = self._segments[-1] if self._segments else None
        if last and last[2] == turning and abs(last[0]) < _SEGMENT_M and (
                not turning or abs(last[1]) < _SEGMENT_RAD):
            last[0] += ahead
            last[1] += turned
        else:
            self._segments.append([ahead, turned, turning])

    def _shorten(self, back, turned):
        self.back_m += max(back, 0.0)
        # Wheels that slipped on against what was touched are not on the path.
        self.beyond_m -= back
        back, self.beyond_m = max(-self.beyond_m, 0.0), max(self.beyond_m, 0.0)
        while self._segments:
            last = self._segments[-1]
            if last[2]:
                part = min(turned / max(abs(last[1]), 1e-9), 1.0)
                turned -= part * abs(last[1])
            else:
                part = min(back / max(last[0], 1e-9), 1.0)
                back -= part * last[0]
            self.heading -= part * last[1]
            if part < 1.0:
                last[0] -= part * last[0]
                last[1] -= part * last[1]
                return
            self._segments.pop()
