"""Skirts and curtains that press a light bumper for a moment, while it pushes into them."""
import math

_MOVED_M = 1e-6


class SoftThings:
    """
    The soft primitives of a world that press a bumper.

    A hanging cloth pushes back as long as the shell lifts it away: from the first touch to
    ``press_m`` deeper, and only while the shell goes in. Then it lies on the shell. It never holds
    the robot.
    """

    def __init__(self, parts, robot):
        """Take the primitives that the shell meets at its height."""
        body = robot.body
        self._radius = body.radius
        self._parts = [
            part for part in parts if part.soft and part.press_m > 0.0
            and part.crosses(body.ground_clearance, body.height)]
        self.put()

    def __len__(self):
        """Return how many there are."""
        return len(self._parts)

    def put(self):
        """Take in that the robot was put where it is now: that presses nothing."""
        self.depths = [math.inf] * len(self._parts)      # of the shell in each, metres

    def touches(self, pose):
        """Return the azimuths (rad, left positive) at which something presses the shell now."""
        x, y, yaw = pose
        found = []
        for number, part in enumerate(self._parts):
            px, py = part.nearest_point(x, y)
            depth = max(self._radius - math.hypot(px - x, py - y), 0.0)
            if self.depths[number] + _MOVED_M < depth <= part.press_m:
                found.append(math.remainder(math.atan2(py - y, px - x) - yaw, math.tau))
            self.depths[number] = depth
        return found
