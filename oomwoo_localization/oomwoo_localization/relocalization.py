"""What the relocalizer is told and what it answers: settings, answer, refusal."""
from dataclasses import dataclass

import numpy as np
from oomwoo_localization.settings import setting

# What speaks against a pose because it could be had elsewhere, too: the rival is told first.
SAME_ELSEWHERE = 'free_direction', 'two_walls', 'doubtful'


@dataclass(frozen=True)
class RelocalizerSettings:
    """What counts as a match, and when it is believed."""

    search_resolution_m: float = setting(
        0.05,
        'finest cell that is searched; a finer map is searched in blocks',
        'm',
        0.01,
        0.5,
        live=False,
    )
    hit_sigma_m: float = setting(
        0.07, 'spread of the likelihood field around walls', 'm', 0.01, 0.5, live=False
    )
    range_max_m: float = setting(
        20.0, 'beams longer than this are left out', 'm', 1.0, 100.0, live=False
    )
    most_points: int = setting(180, 'ends of beams that the search looks at', '', 20, 600)
    most_nodes: int = setting(
        2_000_000, 'nodes of the search tree after which it gives up', '', 1000, 100_000_000
    )
    least_points: int = setting(30, 'ends of beams needed to search at all', '', 3, 600)
    crossing_weight: float = setting(
        2.0,
        'what a beam through a wall takes away beyond those allowed, in beams on a wall',
        '',
        0.0,
        5.0,
    )
    crossing_allowed: float = setting(
        0.35,
        'share of beams through walls that costs nothing: what is drawn there may be gone',
        '',
        0.0,
        1.0,
    )
    apart_m: float = setting(0.25, 'poses farther apart than this are distinct', 'm', 0.05, 2.0)
    apart_deg: float = setting(
        9.0, 'headings farther apart than this are distinct', 'deg', 1.0, 90.0
    )
    least_score: float = setting(0.6, 'score below which no pose is believed', '', 0.0, 1.0)
    least_margin: float = setting(
        0.06,
        'lead over every distinct pose, as a share of the score, that is always needed',
        '',
        0.0,
        0.5,
    )
    most_margin: float = setting(
        0.24, 'a pose that would need more lead than this is not believed at all', '', 0.0, 0.9
    )
    base_margin: float = setting(
        0.11,
        'lead that a pose would need with all explained and nothing to check it by',
        '',
        0.0,
        1.0,
    )
    checked_credit: float = setting(
        0.36, 'how much less for walls other than the two longest', '', 0.0, 5.0
    )
    first_credit: float = setting(
        0.4, 'how much less again for the first of them', '', 0.0, 5.0
    )
    first_checked: float = setting(0.3, 'the share of the scan that is the first', '', 0.0, 1.0)
    doubt: float = setting(0.5, 'how much more for beams unexplained', '', 0.0, 5.0)
    first_doubt: float = setting(1.6, 'how much more again for the first of them', '', 0.0, 10.0)
    first_unexplained: float = setting(
        0.1, 'the share of the scan that is the first', '', 0.0, 1.0
    )
    blur_doubt: float = setting(
        0.2, 'how much more for beams that end near a wall, but not on it', '', 0.0, 5.0
    )
    changed_doubt: float = setting(
        4.0,
        'how much more for things in the way and things gone, both at once (harmonic mean)',
        '',
        0.0,
        10.0,
    )
    sure_score: float = setting(
        0.95, 'score from which on a twin is looked at more closely', '', 0.0, 1.0
    )
    twin_margin: float = setting(
        0.06, 'how much more lead is needed over a pose somewhere else', '', 0.0, 0.5
    )
    twin_m: float = setting(1.0, 'a pose farther off than this is somewhere else', 'm', 0.1, 10.0)
    twin_deg: float = setting(30.0, 'and so is one turned by more than this', 'deg', 1.0, 180.0)
    most_crossed: float = setting(
        0.35, 'share of beams through walls above which no pose is believed', '', 0.0, 1.0
    )
    most_lost: float = setting(
        0.25,
        'share of beams that end nowhere behind a wall above which no pose is believed',
        '',
        0.0,
        1.0,
    )
    least_checked: float = setting(
        0.05, 'share of the scan that must lie on walls other than the two longest', '', 0.0, 1.0
    )
    checked_ratio: float = setting(
        1.1, 'and so many times what is not explained', '', 0.0, 10.0
    )
    most_stray: float = setting(
        0.87,
        'cells, of 5 cm at least, by which runs of ends on walls may stray from these (rms)',
        '',
        0.1,
        10.0,
    )
    most_std_m: float = setting(
        0.05, 'standard deviation above which a direction is free', 'm', 0.001, 1.0
    )
    most_std_deg: float = setting(
        1.5, 'standard deviation above which the heading is free', 'deg', 0.01, 45.0
    )

    def margin(self, score, blur=0.0, in_way=0.0, lost=0.0, checked=1.0):
        """
        Return the lead that a pose needs over every distinct one, as a share of its score.

        All are shares of the beams: ``score`` on walls, ``blur`` near one but not on it,
        ``in_way`` before all walls, ``lost`` nowhere behind one, ``checked`` on others than the
        two longest walls. The weights are those of a logistic regression that tells right poses
        from wrong ones. Things in the way are nothing unusual, nor is a thing that is gone; both
        at once are another room.
        """
        unexplained = 1.0 - score
        changed = 2.0 * in_way * lost / (in_way + lost) if in_way and lost else 0.0
        needed = (
            self.base_margin
            + self.doubt * unexplained
            + self.first_doubt * min(unexplained, self.first_unexplained)
            + self.blur_doubt * blur
            + self.changed_doubt * changed
            - self.checked_credit * checked
            - self.first_credit * min(checked, self.first_checked)
        )
        return max(self.least_margin, needed)


@dataclass(frozen=True)
class Relocalization:
    """
    Answer to one scan, poses of the base in the map frame.

    ``score`` is the share of beams on mapped walls less what speaks against it,
    ``score_normalized`` the same within 0..1, ``confidence`` 0..1 the lead over ``runner_up``, the
    best pose distinct in position or heading. ``reason_code`` is empty when ``accepted``. ``pose``
    is the best guess even when refused; NaN without any.
    """

    accepted: bool
    pose: np.ndarray
    covariance: np.ndarray
    score: float
    score_normalized: float
    confidence: float
    runner_up: np.ndarray
    runner_up_score: float
    runtime_s: float
    reason_code: str
    message: str


@dataclass(frozen=True)
class Winner:
    """
    The best pose, refined, and what speaks for and against it.

    ``explained`` is the share of beams on walls, ``score`` the same less those of them that came
    through another; ``through`` the share of all that came through one; ``needed`` the lead that
    it needs; ``against`` is ``(reason_code, message)`` or None.
    """

    refined: object
    explained: float
    score: float
    through: float
    needed: float
    against: tuple

    @property
    def hopeless(self):
        """Return whether the pose is not believed, for a reason that no rival gives as well."""
        return self.against is not None and self.against[0] not in SAME_ELSEWHERE


NOWHERE = np.full(3, np.nan)
UNKNOWN_COVARIANCE = np.diag([np.inf] * 3)


def refusal(reason_code, message, runtime_s=0.0):
    """Return a :class:`Relocalization` that knows nothing and says why."""
    return Relocalization(
        False,
        NOWHERE,
        UNKNOWN_COVARIANCE,
        0.0,
        0.0,
        0.0,
        NOWHERE,
        0.0,
        runtime_s,
        reason_code,
        message,
    )
