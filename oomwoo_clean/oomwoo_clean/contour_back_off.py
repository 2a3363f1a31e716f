"""After a bump: how far straight back, how fast, and whether to go on or to stand."""
import numpy as np
from oomwoo_clean.contour_settings import HALT, TOUCH
from oomwoo_clean.front_guard import first_in_the_way

FOUND = 'touched something that is not seen, tracing it by touch'

_BESIDE_M = 0.003             # what is this far beside the body is not backed into
_BACK_OFFS = 3                # for a bumper that does not let go
_ARRIVED_M = 0.005
_BRAKE_S = 0.3                # what is left is driven in so long a time


class BackOff:
    """
    The way back after one bump; ``active`` from :meth:`begin` until it may go on.

    It may not where what it met cannot be traced: then it stands until :meth:`reset`.
    """

    def __init__(self, settings, robot):
        """Take the follower's settings (``back_off_*``, ``stop_margin_m``) and the robot."""
        self.settings, self._radius = settings, robot.body.radius
        self.reset()

    def reset(self):
        """Be as if there had been no bump."""
        self.active = False
        self._left_m = self._backed_m = 0.0
        self._untraceable = ''          # why it stands afterwards
        self._met = FOUND

    def begin(self, back_m, untraceable='', met=FOUND):
        """Go back by ``back_m``; stand then if it is ``untraceable``, a reason, or go on."""
        self.active, self._backed_m = True, 0.0
        self._left_m, self._untraceable, self._met = back_m, untraceable, met

    def driven(self, back_m):
        """Note the way back that was driven."""
        self._left_m -= back_m
        self._backed_m += back_m

    def step(self, around, pressed, least_m):
        """
        Return ``(m/s, state, reason)``; with that, it may not be ``active`` any more.

        ``around`` are the Surroundings, None while nothing is known of them; ``pressed`` whether
        the bumper is; ``least_m`` the radius to take the body for, where the way back is narrow.
        """
        if self._left_m < _ARRIVED_M and pressed and not self._untraceable:
            self._once_more()
        linear = self._speed(around, least_m)
        if self._left_m >= _ARRIVED_M and linear > 0.0:
            state = HALT if self._untraceable else TOUCH
            return -linear, state, f'{self._untraceable or self._met}, backing off'
        self._left_m = 0.0
        if not self._untraceable and pressed:
            self._untraceable = 'the bumper is pressed, and there is no room to back off'
        if self._untraceable:
            return 0.0, HALT, f'{self._untraceable}; stands until it is enabled again'
        self.active = False
        return 0.0, TOUCH, self._met

    def _once_more(self):
        if self._backed_m > (_BACK_OFFS - 0.5) * self.settings.back_off_m:
            self._untraceable = (
                f'the bumper is still pressed {self._backed_m * 100.0:.0f} cm back from there')
        else:
            self._left_m = self.settings.back_off_m

    def _speed(self, around, least_m):
        """Return how fast it may go straight back, m/s."""
        linear = min(self.settings.back_off_speed, self._left_m / _BRAKE_S)
        if around is None:
            return linear
        swept = np.abs(around.smooth[:, 1]) < min(self._radius + _BESIDE_M, least_m)
        behind, _ = first_in_the_way(
            -around.smooth[swept], min(self._radius + self.settings.stop_margin_m, least_m),
            _BRAKE_S * max(linear, 0.0))
        return min(linear, behind / _BRAKE_S)
