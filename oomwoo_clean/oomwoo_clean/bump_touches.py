"""The touches of a bump map: those with a place, those that wait for one, and their counts."""
import math

_PRESSED_LAST = 8             # touches that the press of now can have made since it moved on
COUNTED = ('placed', 'erased', 'held_back', 'placed_late', 'dropped', 'stuck')


class Touches:
    """
    Lists of :class:`.bump_contact.Contact`, in the order in which they were felt.

    ``placed`` have a pose in the map, ``waiting`` were felt while the robot was lost. ``counts``
    says how many came and went, since the program began.
    """

    def __init__(self):
        """Begin with none."""
        self.placed, self.waiting = [], []
        self.counts = dict.fromkeys(COUNTED, 0)

    def clear(self):
        """Forget all of them."""
        self.placed, self.waiting = [], []

    def forget_times(self):
        """Keep what has a place, which nothing moves any more, and drop the others."""
        self.counts['dropped'] += len(self.waiting)
        self.waiting = []
        for contact in self.placed:
            contact.stamp_s, contact.running = -math.inf, False

    def add(self, contact, map_from_odom):
        """Add one that was felt just now, and return whether it has a place; None: lost."""
        if map_from_odom is None:
            self.waiting.append(contact)
            self.counts['held_back'] += 1
            return False
        contact.place(map_from_odom)
        self.placed.append(contact)
        self.counts['placed'] += 1
        return True

    def take_back(self, press):
        """Return the newest touch, if it is of that press and as old as it; it goes, uncounted."""
        for group, count in ((self.placed, 'placed'), (self.waiting, 'held_back')):
            if group and group[-1].press == press and not group[-1].held:
                self.counts[count] -= 1
                return group.pop()
        return None

    def of_press(self, number):
        """Return those of a press, if it is one of the last, that have a place."""
        return [c for c in self.placed[-_PRESSED_LAST:] if c.press == number]

    def young(self, since_s):
        """Return those that corrections still move."""
        return [c for c in self.placed if c.stamp_s >= since_s and not c.settled]

    def hold_back(self, doubtful):
        """Take the place of touches away until the robot is localized again."""
        self.drop(doubtful)
        self.waiting += doubtful
        self.counts['held_back'] += len(doubtful)

    def drop_waiting(self, before_s):
        """Drop those that have waited since before then."""
        kept = [c for c in self.waiting if c.stamp_s >= before_s]
        self.counts['dropped'] += len(self.waiting) - len(kept)
        self.waiting = kept

    def place_waiting(self, map_from_odom):
        """Give those that wait their place; return whether there were any."""
        for contact in self.waiting:
            contact.first_pose, contact.running = None, False
            contact.place(map_from_odom)
        self.counts['placed_late'] += len(self.waiting)
        found, self.placed, self.waiting = bool(self.waiting), self.placed + self.waiting, []
        return found

    def settle(self, before_s, near):
        """
        Make one of touches in the same place that were felt before then: none moves any more.

        ``near(xy)`` returns the touches about a place. Returns whether any were joined.
        """
        twins = []
        for contact in [c for c in self.placed if c.stamp_s <= before_s and not c.settled]:
            contact.settled = True
            others = (c for c in near(contact.pose[:2]) if c not in twins)
            twin = next(filter(contact.like, others), None)
            if twin is not None:
                twin.merge(contact)
                twins.append(contact)
        self.drop(twins)
        return bool(twins)

    def drop(self, gone):
        """Take touches out."""
        if gone:
            self.placed = [c for c in self.placed if c not in gone]

    def erase(self, gone):
        """Take touches out that were refuted."""
        self.drop(gone)
        self.counts['erased'] += len(gone)
