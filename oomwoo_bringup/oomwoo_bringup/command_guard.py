"""
What stands between the behaviours and the motors of the robot: limits, and an end to old commands.

The base keeps no clock of its own that could be trusted: a micro-controller goes on with its last
command when the computer above it hangs or the agent between them dies.
"""
from dataclasses import dataclass
import math

from oomwoo_localization.command_expiry import CommandExpiry


@dataclass(frozen=True)
class Command:
    """Speeds for the base, m/s and rad/s, and why they are not those that were asked for."""

    linear: float
    angular: float
    reason: str = ''


class CommandGuard(CommandExpiry):
    """
    Passes on commands within the limits, and tells when they have to end.

    A command that is too fast is slowed down on its arc: both speeds by the same factor. One that
    is not finite stops the robot.
    """

    def __init__(self, linear_limit, angular_limit, timeout_s):
        """Limits in m/s and rad/s; a command counts for ``timeout_s`` seconds."""
        super().__init__(timeout_s)
        self.linear_limit, self.angular_limit = linear_limit, angular_limit

    def take(self, linear, angular, now_s):
        """Return the :class:`Command` for the base that a wish comes to."""
        self.heard(now_s)
        if not (math.isfinite(linear) and math.isfinite(angular)):
            return Command(0.0, 0.0, f'linear.x is {linear}, angular.z is {angular}')
        excess = max(
            1.0, abs(linear) / self.linear_limit, abs(angular) / self.angular_limit)
        reason = '' if excess == 1.0 else (
            f'{linear:.2f} m/s and {angular:.2f} rad/s asked for, {excess:.1f} times too fast')
        return Command(linear / excess, angular / excess, reason)
