"""How much of the floor that it reaches a robot has covered, how often it touched and aborted."""
from oomwoo_localization.floor import FloorCoverage
from oomwoo_localization.robot import load_robot

# A gap that the body fits through with less is none to be counted on.
MARGIN_M = 0.01


class CoverageMeter:
    """
    The covered share of the floor, by poses that somebody knows, and what happened on the way.

    ``grid`` is an OccupancyGrid, ``pose`` (x, y, yaw) where the robot starts on it. Covered is
    what the body was over while cleaning; the floor is what it can be over, so that corners that a
    disc cannot get into do not count. Raises GridError where there is no floor for the robot.
    """

    def __init__(self, grid, pose, robot=None):
        """Find the floor."""
        body_m = (robot or load_robot()).body.radius
        self.coverage = FloorCoverage(grid, pose, body_m, body_m + MARGIN_M)

    def observe(self, pose, cleaning):
        """Take in the pose (x, y, yaw); only while ``cleaning`` does it cover."""
        self.coverage.observe(pose, cleaning)

    @property
    def ratio(self):
        """Return the covered share of the floor, 0..1."""
        return self.coverage.ratio

    def line(self):
        """Return how much is covered, in words."""
        coverage = self.coverage
        return (
            f'covered {coverage.covered_m2:.1f} of {coverage.floor_m2:.1f} m2 '
            f'({100.0 * coverage.ratio:.1f} %), {coverage.driven_m:.1f} m driven')


class EventCounter:
    """Counts, while it is cleaning, what bumpers, controllers, goals and reflexes report."""

    def __init__(self):
        """Count from nought, and nothing before cleaning begins."""
        self.cleaning = False
        self.contacts = self.aborts = self.failed_goals = self.peel_offs = 0
        self._pressed = [False, False]
        self._driven = False
        self._ended = set()

    def bumper(self, side, pressed):
        """Take in a half, 0 left or 1 right; one touch of both halves is one contact."""
        was = any(self._pressed)
        self._pressed[side] = bool(pressed)
        self.contacts += self.cleaning and pressed and not was

    def log(self, text):
        """Take in a controller's line of log."""
        self.aborts += self.cleaning and 'detected collision ahead' in text

    def goal_aborted(self, goal):
        """Take in a goal, by its id (bytes), that the navigator has aborted."""
        if goal not in self._ended:
            self._ended.add(goal)
            self.failed_goals += self.cleaning

    def reflex(self, active):
        """Take in whether a reflex drives."""
        self.peel_offs += self.cleaning and active and not self._driven
        self._driven = bool(active)

    def line(self):
        """Return the counts, in words."""
        return (
            f'{self.contacts} bumper contacts, {self.aborts} collision aborts, '
            f'{self.failed_goals} failed goals, {self.peel_offs} peel-offs')
