"""
What to do about a lost robot: ask, then commit, look from elsewhere, or give up.

The policy between a flag (health), a search (relocalizer) and a localizer that takes
``initialpose``. Never is a pose committed that another, distinct one explains as well: such places
are kept (:mod:`pose_hypotheses`), and the robot looks from somewhere else (:mod:`vantage_trip`).
"""

import math

import numpy as np
from oomwoo_localization import recovery_words as words
from oomwoo_localization.frames import compose, wrap_angle
from oomwoo_localization.pose_hypotheses import correction_of, PoseHypotheses
from oomwoo_localization.recovery_types import (
    ASKING,
    CLEARING,
    CONFIRMING,
    GIVEN_UP,
    ManagerSettings,
    MOVING,
    Orders,
    Seed,
    SETTLING,
    WATCHING,
)
from oomwoo_localization.settings import check_settings
from oomwoo_localization.vantage_trip import VantageTrip

TRAVELLING = (CLEARING, MOVING, SETTLING)
UNKNOWN_REASONS = ('low_score', 'through_walls', 'no_match')
UNDECIDED_REASONS = ('ambiguous', 'undecided', 'free_direction')
ODOM_JUMP_M = 0.5  # between two steps: odometry began anew
CANDIDATE_STD_M, CANDIDATE_STD_RAD = 0.1, math.radians(5.0)
RETRACTED_STD_M, RETRACTED_STD_RAD = 1.0, math.radians(45.0)
TOOK_M, TOOK_RAD = 0.4, math.radians(20.0)


class LocalizationManager:
    """Decides; somebody else steps it and carries out the :class:`Orders`."""

    def __init__(self, settings=None, robot=None, grid=None):
        """``robot`` gives the radius, ``grid`` the map, to choose where to look from."""
        self.settings = check_settings(settings or ManagerSettings())
        self._places = PoseHypotheses(self.settings)
        self._trip = VantageTrip(self.settings, robot, grid)
        self._map_number = None
        self.state, self.code, self.reason = WATCHING, '', words.NOT_LOST
        self._forget()

    def set_map(self, grid):
        """Take another map, or None; ``Inputs.map_number`` has a recovery begin anew."""
        self._trip.set_map(grid)

    def configure(self, settings):
        """Take over new settings."""
        self.settings = self._places.settings = check_settings(settings)
        self._trip.configure(settings)

    @property
    def recovering(self):
        """Tell whether the robot is being looked for, or was given up."""
        return self.state != WATCHING

    def candidates(self):
        """Return the poses (3,) in the map where the robot may be now."""
        return self._places.poses()

    def retry(self):
        """Ask again, after having given up; returns (accepted, sentence)."""
        if self.state == WATCHING:
            return False, words.NOTHING_TO_RETRY
        if self.state != GIVEN_UP:
            return False, words.already(self.state)
        self._forget()
        self._to_asking()
        return True, words.ASKS_AGAIN

    def time_went_back(self):
        """Begin a recovery under way anew: all stamps are void."""
        self._places.odom = None
        if self.recovering:
            self._forget()
            self._to_asking()

    # -- one step ---------------------------------------------------------------------------

    def step(self, inputs):
        """Take :class:`Inputs`, return the :class:`Orders` that hold until the next step."""
        self._in = inputs
        self._actions, self._ask, self._seed, self._command = [], False, None, None
        self._notice()
        if self.state not in (WATCHING, CONFIRMING):
            self._found_by_itself()
        if self.state in TRAVELLING:
            self._travel()
        else:
            {
                WATCHING: self._watch,
                ASKING: self._wait_for_answer,
                CONFIRMING: self._confirm,
                GIVEN_UP: self._rest,
            }[self.state]()
        return Orders(
            self.state,
            self._ask,
            self._seed,
            self.recovering,
            self.state in TRAVELLING,
            self._command,
            tuple(self._actions),
        )

    def _notice(self):
        """Drop what was known when map or odometry begin anew, or somebody knows."""
        inputs, before = self._in, self._places.odom
        if inputs.told:
            self._places.corrections, self._told, self._committed = [], True, None
        new_map = self._map_number not in (None, inputs.map_number)
        self._map_number = inputs.map_number
        jumped = (
            before is not None
            and inputs.odom is not None
            and math.dist(before[:2], inputs.odom[:2]) > ODOM_JUMP_M
        )
        if inputs.odom is not None:
            self._places.odom = np.asarray(inputs.odom, dtype=float)
        if not self.recovering or not (new_map or jumped):
            return
        self._stand()
        self._forget()
        self._say('restart', words.NEW_MAP if new_map else words.ODOMETRY_JUMPED)
        self._to_asking()

    def _found_by_itself(self):
        """End it when health has recovered, unless another place was seen to fit."""
        if self._in.lost is not False:
            return
        if self._places.corrections and not self._told:
            here = correction_of(self._in.pose, self._in.odom)
            if here is None or not self._places.only(here):
                return
        self._stand()
        self._finish('found', words.FOUND)

    def _watch(self):
        if self._in.lost is not True:
            return
        self._forget()
        self._say('lost', words.LOST)
        self._to_asking()

    # -- asking and deciding ----------------------------------------------------------------

    def _wait_for_answer(self):
        inputs, settings = self._in, self.settings
        if self._asked_s is None:
            self._ask_if_due()
        elif inputs.answer is not None:
            self._asked_s = None
            self._decide(inputs.answer)
        elif inputs.time_s - self._asked_s > settings.answer_s:
            self._again('no_answer', words.no_answer(settings.answer_s))

    def _ask_if_due(self):
        inputs = self._in
        if self._ask_at_s is None:
            self._ask_at_s = inputs.time_s
        if inputs.time_s < self._ask_at_s:
            return
        if not inputs.can_ask:
            if self.code != 'no_relocalizer':
                self.code = 'no_relocalizer'
                self._say('waiting', words.NO_RELOCALIZER)
            return
        if self._asks >= self.settings.most_asks:
            code = 'ambiguous' if self._places.corrections else 'no_answer'
            self._give_up(code, words.asked_enough(self._asks))
            return
        self._ask, self._asked_s, self._ask_at_s = True, inputs.time_s, None
        self._asks += 1
        self.code = ''

    def _decide(self, answer):
        """Read an answer: commit, keep what is possible and look elsewhere, or not know."""
        if answer.map_number != self._in.map_number:
            self._ask_at_s = self._in.time_s
            return
        if answer.reason_code not in UNKNOWN_REASONS or answer.accepted:
            self._unknown = 0
        if answer.accepted:
            self._accepted(answer)
        elif answer.reason_code == 'ambiguous' and answer.odom is not None and answer.candidates:
            self._ambiguous(answer)
        elif answer.reason_code in UNDECIDED_REASONS:
            self._fall_back(answer.message)
        elif answer.reason_code in UNKNOWN_REASONS:
            self._unknown += 1
            if self._unknown >= self.settings.unknown_after:
                self._give_up('unknown_room', words.unknown_room(answer.message))
            else:
                self._again('not_found', answer.message)
        else:
            self._again('no_answer', answer.message or answer.reason_code)

    def _accepted(self, answer):
        correction = correction_of(answer.pose, answer.odom)
        if correction is not None and self._places.exclude(correction):
            self._places.restart([correction], answer.odom)
            self._again('conflict', words.CONFLICT, wait_s=self.settings.settle_s)
            return
        why = words.stands_out(len(self._places))
        self._commit(answer.pose, answer.covariance, answer.stamp, correction, why)

    def _ambiguous(self, answer):
        before = len(self._places)
        left = self._places.narrow(answer)
        if left is None:
            self._fall_back(words.several(len(self._places), answer.message))
            return
        covariance = np.diag([CANDIDATE_STD_M**2] * 2 + [CANDIDATE_STD_RAD**2])
        why = words.survivor(before, len(answer.candidates))
        self._commit(compose(left, answer.odom), covariance, answer.stamp, left, why)

    def _again(self, word, sentence, wait_s=None):
        """Ask the same question later, each time after a longer pause."""
        self._say(word, sentence)
        if wait_s is None:
            wait_s = self.settings.retry_wait_s * 2.0 ** min(self._failures, 4)
        self._failures += 1
        self._asked_s, self._ask_at_s = None, self._in.time_s + wait_s

    # -- commit and confirm -----------------------------------------------------------------

    def _commit(self, pose, covariance, stamp, correction, why):
        inputs = self._in
        self._commits += 1
        self._seed = Seed(np.asarray(pose, dtype=float), covariance, stamp)
        self._committed, self._committed_s = correction, inputs.time_s
        self._before = correction_of(inputs.pose, inputs.odom)
        self.state = CONFIRMING
        self._say('commit', words.commit(why, pose))

    def _confirm(self):
        inputs, settings = self._in, self.settings
        took = self._took()
        if inputs.lost is False and inputs.health_s > self._committed_s and took is not False:
            self._finish('confirmed', words.CONFIRMED)
            return
        if inputs.time_s - self._committed_s <= settings.confirm_s:
            return
        if took is False:
            self._after_failure('ignored', words.IGNORED)
            return
        if self._before is not None and inputs.odom is not None:
            self._seed = Seed(
                compose(self._before, inputs.odom),
                np.diag([RETRACTED_STD_M**2] * 2 + [RETRACTED_STD_RAD**2]),
            )
        silent = inputs.lost is None
        self._after_failure('retract', words.HEALTH_SILENT if silent else words.NOT_CONFIRMED)

    def _took(self):
        """Return whether the localizer is at the committed pose, None if not known."""
        inputs = self._in
        if self._committed is None or inputs.pose is None or inputs.odom is None:
            return None
        wanted = compose(self._committed, inputs.odom)
        return (
            math.dist(wanted[:2], inputs.pose[:2]) <= TOOK_M
            and abs(wrap_angle(wanted[2] - inputs.pose[2])) <= TOOK_RAD
        )

    def _after_failure(self, word, sentence):
        self._places.forget()
        if self._commits >= self.settings.most_commits:
            self._say(word, sentence)
            code = 'ignored' if word == 'ignored' else 'not_confirmed'
            self._give_up(code, words.commits_in_vain(self._commits, sentence))
            return
        self.state = ASKING
        self._again(word, sentence)

    # -- another view -----------------------------------------------------------------------

    def _fall_back(self, why):
        settings = self.settings
        self._say('fallback', words.does_not_guess(why))
        if settings.fallback != 'vantage' or not settings.may_move:
            self._give_up('ambiguous', words.MAY_NOT_MOVE)
        elif self._trip.moves >= settings.most_moves:
            self._give_up('ambiguous', words.moved_enough(self._trip.moves))
        else:
            self.state = CLEARING
            self._trip.begin(self._in.time_s, self._places.place)

    def _travel(self):
        """Go on with the way to another view; ask when there."""
        trip = self._trip.step(self._in, self.candidates())
        self.state, self._command = trip.state, trip.command
        for word, sentence in trip.actions:
            self._say(word, sentence)
        if trip.failed:
            self._give_up('ambiguous', trip.failed)
        elif trip.there:
            self._to_asking()

    # -- having given up --------------------------------------------------------------------

    def _give_up(self, code, sentence):
        self.state, self.code = GIVEN_UP, code
        self._asked_s = self._ask_at_s = None
        self._gave_up_at = self._places.odom
        self._say(code, sentence)

    def _rest(self):
        """Ask again only when something else has moved the robot to another view."""
        if self.code != 'ambiguous' or self._gave_up_at is None or self._in.foreign:
            return
        moved_m = math.dist(self._gave_up_at[:2], self._places.odom[:2])
        if moved_m >= max(0.3, self.settings.least_move_m):
            self._asks = self._failures = 0
            self._say('retry', words.DRIVEN_ELSEWHERE)
            self._to_asking()

    # -- plumbing ---------------------------------------------------------------------------

    def _forget(self):
        self._places.forget()
        self._trip.forget()
        self._asks = self._commits = self._unknown = self._failures = 0
        self._asked_s = self._ask_at_s = None
        self._committed = self._before = self._gave_up_at = None
        self._told = False
        self.code = ''

    def _to_asking(self):
        self.state = ASKING
        self._asked_s = self._ask_at_s = None

    def _stand(self):
        if self.state in (MOVING, SETTLING):
            self._command = (0.0, 0.0)

    def _finish(self, word, sentence):
        self.state = WATCHING
        self._forget()
        self._say(word, sentence)

    def _say(self, word, sentence):
        self.reason = sentence
        self._actions.append((word, sentence))
