"""
Which way a surface runs, told by touch alone.

A round body that touches a straight surface at two places has its middle equally far off both
times, so the line from the one middle to the other is the surface's direction. Which half of the
bumper is pressed tells the same only to a quarter of a turn. Everything here is in a plane in
which the surface is kept on the right; whoever keeps it on the left mirrors poses first.
"""
import math

from oomwoo_localization.frames import wrap_angle

WALL, NOSE, OPEN = 'wall', 'nose', 'open'
_QUARTER = math.pi / 2
_SLACK_RAD = math.radians(10.0)
_NOSE_STD_RAD = math.radians(6.0)
_OPEN_STEP_RAD, _OPEN_STD_RAD = math.radians(120.0), math.radians(26.0)
_SQUARE_STD_RAD = math.radians(10.0)
_BENT_RAD = math.radians(12.0)
_WIDEST_STD_RAD = math.radians(30.0)


class TouchSurface:
    """
    The believed line along which the body's middle runs while it touches a surface on its right.

    ``direction`` (rad, in odom's mirrored plane) is where it leads, ``std_rad`` how sure that is;
    ``known`` tells whether two touches say so, or only one and the pressed half.
    """

    def __init__(self, settings):
        """Know nothing; ``settings`` is a :class:`.bump_out_settings.BumpOutSettings`."""
        self.settings = settings
        self.forget()

    def forget(self):
        """Know nothing."""
        self.place = None
        self.direction, self.std_rad, self.known = 0.0, _WIDEST_STD_RAD, False

    def state(self):
        """Return what is believed, for :meth:`restore`."""
        return self.place, self.direction, self.std_rad, self.known

    def restore(self, state):
        """Believe what was believed before."""
        self.place, self.direction, self.std_rad, self.known = state

    def offset(self, position):
        """Return how far the middle is off the line, away from the surface positive, metres."""
        if self.place is None:
            return 0.0
        dx, dy = position[0] - self.place[0], position[1] - self.place[1]
        return math.cos(self.direction) * dy - math.sin(self.direction) * dx

    def touch(self, position, heading, half):
        """
        Take a touch: the body's middle, its heading, and the half WALL, NOSE (both) or OPEN.

        Returns the word for what it was taken for: 'same', 'bend', 'new', 'probe'.
        """
        s = self.settings
        was = self.direction if self.known else None
        last, self.place, off = self.place, tuple(position[:2]), self.offset(position)
        if half != WALL or last is None:
            return self._only(heading, half, was)
        dx, dy = position[0] - last[0], position[1] - last[1]
        length = math.hypot(dx, dy)
        chord = heading + wrap_angle(math.atan2(dy, dx) - heading)
        possible = -_SLACK_RAD <= chord - heading <= _QUARTER + _SLACK_RAD
        if length < s.least_chord_m or not possible:
            return self._only(heading, half, was)
        chord_std = math.hypot(math.sqrt(2.0) * s.touch_std_m / length,
                               math.radians(s.bend_std_deg))
        if not self.known:
            self.direction, self.std_rad = chord, min(chord_std, _WIDEST_STD_RAD)
            self.known = True
            return 'probe'
        turn = wrap_angle(chord - self.direction)
        doubt = s.same_line_m + self.std_rad * length
        if off > doubt:
            return self._only(heading, half, was)
        if off >= -doubt or turn > -_BENT_RAD:
            self._combine(chord, chord_std)
            return 'same'
        # It bent away or ended. Along an arc a chord runs halfway between its ends' tangents.
        self.direction = min(max(chord + turn, heading), chord)
        self.std_rad = min(max(0.5 * (chord - self.direction), chord_std), _WIDEST_STD_RAD)
        return 'bend'

    def let_go(self, position):
        """
        Take that the bumper let go with the body's middle there.

        It touches just there, too, and what the wheels slipped while pressed is behind it.
        """
        self.place = tuple(position[:2])

    def _combine(self, chord, chord_std):
        """Weigh the believed direction with that of a chord on the same line."""
        before = self.std_rad ** 2 + math.radians(self.settings.bend_std_deg) ** 2
        gain = before / (before + chord_std ** 2)
        self.direction = chord + (1.0 - gain) * wrap_angle(self.direction - chord)
        self.std_rad = math.sqrt((1.0 - gain) * before)

    def _only(self, heading, half, was):
        """
        Know no more than the pressed half.

        Most corners are square: a surface met ahead while following one that ran in direction
        ``was`` is taken to stand across it, if the pressed half allows that.
        """
        self.known = half == NOSE
        if half == NOSE:
            self.direction, self.std_rad = heading + _QUARTER, _NOSE_STD_RAD
        elif half == OPEN and was is not None and (
                -_SLACK_RAD < was - heading < _QUARTER):
            self.direction = max(was, heading) + _QUARTER
            self.std_rad, self.known = _SQUARE_STD_RAD, True
        elif half == OPEN:
            self.direction, self.std_rad = heading + _OPEN_STEP_RAD, _OPEN_STD_RAD
        else:
            turn = math.radians(self.settings.corner_turn_deg)
            self.direction, self.std_rad = heading + turn, min(0.5 * turn, _WIDEST_STD_RAD)
        return 'new'
