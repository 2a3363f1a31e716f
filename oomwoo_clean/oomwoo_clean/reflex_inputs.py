"""What the reflexes are told: switches, commands, scans and odometry."""
from collections import deque
import math

from oomwoo_clean.bumper_watch import BumperWatch
from oomwoo_clean.escape_moves import Senses
from oomwoo_clean.reflex_confined import Bumps
from oomwoo_clean.reflex_place import Whereabouts
from oomwoo_clean.reflex_settings import STAND, WATCH
from oomwoo_clean.scan_motion import usable
from oomwoo_clean.travel_watch import TravelWatch

STEP_MOST_S = 0.2             # a longer pause between two steps is not planned for
_HEADINGS = 3


class ReflexInputs:
    """The half of :class:`~oomwoo_clean.escape_reflex.EscapeReflex` that listens."""

    state = WATCH

    def _forget_inputs(self, settings):
        self._senses = Senses()
        self._bumpers, self._bumps = BumperWatch(settings.release_s), Bumps()
        self._travel = TravelWatch(settings.window_m, math.radians(settings.window_deg))
        self._where = Whereabouts(self._travel)
        self._drove_s = self._echo_s = None   # last command of others, last one of ours
        self._stepped_s = None
        self._headings = deque(maxlen=_HEADINGS)      # at the last bumps of others' driving

    def bumper(self, side, pressed, now_s):
        """Take what a switch ('left' or 'right') says."""
        # Between two steps it may have been pressed any time since the one before.
        before_s = self._stepped_s
        self._senses.now_s = now_s
        looked = before_s is not None and 0.0 <= now_s - before_s <= STEP_MOST_S
        if self._bumpers.press(side, pressed, now_s, before_s if looked else now_s):
            self._senses.felt.add(side)
            self._senses.last_side = side
            if self._where.known(now_s):
                self._bumps.note(self._place(), now_s)
            if self.state == WATCH:
                self._headings.append(self._where.pose(now_s)[2])
            self._restart_travel()

    def commanded(self, linear, angular, now_s):
        """Take a command that went to the base, whoever's it is; only finite ones count."""
        if not (math.isfinite(linear) and math.isfinite(angular)):
            return
        self._travel.command(linear, angular, now_s)
        if (linear, angular) in self._senses.own and self.state != WATCH:
            self._echo_s = now_s
        elif (linear, angular) != STAND:
            self._drove_s = now_s

    def scanned(self, scan, base_from_scan, now_s):
        """
        Take a :class:`~oomwoo_localization.scans.Scan` and its 4 x 4 mount.

        Returns False for one with too few beams, which counts as none.
        """
        if not usable(scan):
            return False
        senses = self._senses
        senses.scan, senses.mount, senses.scan_s = scan, base_from_scan, now_s
        yaw = math.atan2(base_from_scan[1, 0], base_from_scan[0, 0])
        self._travel.scan(scan, now_s, yaw)
        return True

    def odometry(self, pose, now_s):
        """
        Take the plane pose (3,) of wheel odometry, which came at ``now_s``.

        Returns False for one that is not finite, which counts as none.
        """
        return self._where.odometry(pose, now_s)

    def _restart_travel(self):
        self._where.restart_travel(self._senses.now_s)

    def _place(self):
        """Return where the robot is, (2,) in odom."""
        return self._where.pose(self._senses.now_s)[:2]
