"""What following one stretch of edge has brought so far, and when it brings nothing more."""
from dataclasses import dataclass

MOVED_M = 0.05                # less than this is no movement


@dataclass
class Stretch:
    """
    Metres and seconds since the follower took over; metres by the odometer.

    ``new_m`` were newly swept; ``since_new_m`` and ``touch_m`` driven since, along what is seen
    and by touch; ``lost_s`` the follower has been lost or stood.
    """

    driven_m: float = 0.0
    new_m: float = 0.0
    since_new_m: float = 0.0
    touch_m: float = 0.0
    still_m: float = 0.0
    still_s: float = 0.0
    lost_s: float = 0.0

    def take_in(self, seen, follower, since_s):
        """Take in an Observation ``seen``, the follower's state and the seconds of a tick."""
        self.driven_m += seen.driven_m
        self.new_m += seen.new_m
        if seen.new_m:
            self.since_new_m = self.touch_m = 0.0
        elif follower == 'TOUCH':
            self.touch_m += seen.driven_m
        else:
            self.since_new_m += seen.driven_m
        self.still_m += seen.driven_m
        self.still_s += since_s
        if self.still_m > MOVED_M:
            self.still_m = self.still_s = 0.0
        self.lost_s = self.lost_s + since_s if follower in ('LOST', 'HALT') else 0.0

    def why_over(self, settings, lead_in_m, follower):
        """Return why there is no point in going on, or ''; ``settings`` are RunSettings."""
        if self.since_new_m > (settings.no_new_m if self.new_m > 0.0 else lead_in_m):
            return f'nothing new for {self.since_new_m:.1f} m'
        if self.touch_m > settings.touch_no_new_m:
            return f'nothing new for {self.touch_m:.1f} m by touch'
        if self.lost_s > settings.lost_s:
            return (
                'it touched something' if follower == 'HALT'
                else 'the follower has lost the edge')
        if self.still_s > settings.stall_s:
            return f'no movement for {settings.stall_s:.0f} s'
        return ''
