"""
What to do about a lost robot: ask, then commit, look from elsewhere, or give up.

The policy between a flag (health), a search (relocalizer) and a localizer that takes
``initialpose``. A candidate is kept as the correction ``map_from_odom`` that it implies, so that
odometry carries it along for nothing; candidates of two places agree when their corrections put
the robot at the same pose. Never is a pose committed that another, distinct one explains as well.
"""

from dataclasses import dataclass
import math

import numpy as np
from oomwoo_localization.frames import compose, inverse, wrap_angle
from oomwoo_localization.settings import check_settings, setting
from oomwoo_localization.vantage import (
    NothingToTell,
    VantageDrive,
    VantagePlanner,
    VantageSettings,
)

WATCHING, ASKING, CONFIRMING, CLEARING = 'WATCHING', 'ASKING', 'CONFIRMING', 'CLEARING'
MOVING, SETTLING, GIVEN_UP = 'MOVING', 'SETTLING', 'GIVEN_UP'

UNKNOWN_REASONS = ('low_score', 'through_walls', 'no_match')
ODOM_JUMP_M = 0.5  # between two steps: odometry began anew
CANDIDATE_STD_M, CANDIDATE_STD_RAD = 0.1, math.radians(5.0)
RETRACTED_STD_M, RETRACTED_STD_RAD = 1.0, math.radians(45.0)
TOOK_M, TOOK_RAD = 0.4, math.radians(20.0)


@dataclass(frozen=True)
class ManagerSettings(VantageSettings):
    """How patient, and what is allowed."""

    may_move: bool = setting(
        True, 'the robot may be driven to another view when the scan fits several places'
    )
    fallback: str = setting(
        'vantage',
        'what follows when one cannot tell: vantage drives to another view; wait leaves the '
        'driving to '
        'whoever listens to recovery_action (a dock hunt, a human) and asks again when it has '
        'been driven',
        choices=('vantage', 'wait'),
    )
    answer_s: float = setting(
        5.0, 'an answer of the relocalizer is awaited this long', 's', 0.2, 60.0
    )
    retry_wait_s: float = setting(
        1.0, 'pause before the same question is asked again; doubled each time', 's', 0.1, 60.0
    )
    unknown_after: int = setting(
        5, 'answers in a row that nothing fits, after which the room is unknown', '', 1, 20
    )
    most_asks: int = setting(40, 'questions in one recovery', '', 1, 100)
    most_moves: int = setting(20, 'drives to another view in one recovery', '', 0, 50)
    most_commits: int = setting(3, 'commits in one recovery that do not help', '', 1, 20)
    confirm_s: float = setting(
        2.0, 'health has to recover within this time after a commit', 's', 0.3, 30.0
    )
    clear_s: float = setting(3.0, 'whoever drives has to stand within this time', 's', 0.5, 30.0)
    settle_s: float = setting(0.4, 'pause after a drive before the next question', 's', 0.0, 10.0)
    agree_m: float = setting(
        0.3, 'candidates of two places that are this close agree', 'm', 0.05, 2.0
    )
    agree_deg: float = setting(12.0, 'the same of the heading', 'deg', 1.0, 90.0)
    least_move_m: float = setting(
        0.2, 'looking from less far away is not looking from another place', 'm', 0.02, 2.0
    )
    health_patience_s: float = setting(
        2.0, 'health that is silent for longer says nothing', 's', 0.3, 60.0
    )


@dataclass(frozen=True)
class Answer:
    """
    What the relocalizer said about one scan.

    ``pose`` (3,) in the map with ``covariance`` (3, 3) when ``accepted``; ``candidates`` (K poses)
    when ambiguous, all of them if ``complete``. ``odom`` (3,) where odometry had the robot at the
    scan's stamp, None when not known; ``stamp`` is passed through. ``map_number`` tells which map
    was asked about.
    """

    accepted: bool
    pose: object = None
    covariance: object = None
    candidates: tuple = ()
    complete: bool = True
    reason_code: str = ''
    message: str = ''
    odom: object = None
    stamp: object = None
    map_number: int = 0


@dataclass(frozen=True)
class Inputs:
    """
    What is known at one step; everything but the time may be missing.

    ``lost`` is health's flag, None while health is silent, ``health_s`` when it last spoke.
    ``pose`` and ``odom`` (3,) of the robot in map and odom; ``points`` (N, 2) of the latest scan
    in the robot's frame, None when stale. ``can_ask``: the relocalizer is there; ``answer``: it
    just spoke. ``others_stand``: whoever was asked to stop has; ``foreign``: somebody else is
    writing commands. ``told``: somebody else published ``initialpose``.
    """

    time_s: float
    lost: object = None
    health_s: float = -math.inf
    pose: object = None
    odom: object = None
    points: object = None
    bumped: bool = False
    can_ask: bool = True
    answer: object = None
    others_stand: bool = True
    foreign: bool = False
    told: bool = False
    map_number: int = 0


@dataclass(frozen=True)
class Seed:
    """A pose (3,) with covariance (3, 3) for the localizer, valid at ``stamp``; None: now."""

    pose: np.ndarray
    covariance: np.ndarray
    stamp: object = None


@dataclass(frozen=True)
class Orders:
    """
    What to do until the next step.

    ``ask`` once; ``seed`` to publish once. ``hold``: whoever trusts the pose has to stand.
    ``wheels``: everybody else who drives has to stand too. ``command`` (m/s, rad/s), None: publish
    nothing. ``actions`` are pairs of a word for ``recovery_action`` and a sentence.
    """

    state: str
    ask: bool = False
    seed: object = None
    hold: bool = False
    wheels: bool = False
    command: object = None
    actions: tuple = ()


class LocalizationManager:
    """Decides; somebody else steps it and carries out the :class:`Orders`."""

    def __init__(self, settings=None, robot=None, grid=None):
        """``robot`` gives the radius, ``grid`` the map, to choose where to look from."""
        self.settings = check_settings(settings or ManagerSettings())
        self._robot = robot
        self._radius = robot.body.radius if robot else 0.175
        self._map_number = None
        self.set_map(grid)
        self.state, self.code, self.reason = WATCHING, '', 'not lost'
        self._odom = None
        self._forget()

    def set_map(self, grid):
        """Take another map, or None; ``Inputs.map_number`` has a recovery begin anew."""
        self._planner = VantagePlanner(self.settings, self._robot, grid)
        self._grid = grid

    def configure(self, settings):
        """Take over new settings."""
        self.settings = check_settings(settings)
        self._planner = VantagePlanner(settings, self._robot, self._grid)

    @property
    def recovering(self):
        """Tell whether the robot is being looked for, or was given up."""
        return self.state != WATCHING

    def candidates(self):
        """Return the poses (3,) in the map where the robot may be now."""
        if self._odom is None:
            return []
        return [compose(correction, self._odom) for correction in self._memory]

    def retry(self):
        """Ask again, after having given up; returns (accepted, sentence)."""
        if self.state == WATCHING:
            return False, 'not lost, so there is nothing to retry'
        if self.state != GIVEN_UP:
            return False, f'already at it ({self.state.lower()})'
        self._forget()
        self._to_asking()
        return True, 'asks again'

    def time_went_back(self):
        """Begin a recovery under way anew: all stamps are void."""
        self._odom = None
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
        {
            WATCHING: self._watch,
            ASKING: self._wait_for_answer,
            CONFIRMING: self._confirm,
            CLEARING: self._clear,
            MOVING: self._move,
            SETTLING: self._settle,
            GIVEN_UP: self._rest,
        }[self.state]()
        moving = self.state in (CLEARING, MOVING, SETTLING)
        return Orders(
            self.state,
            self._ask,
            self._seed,
            self.recovering,
            moving,
            self._command,
            tuple(self._actions),
        )

    def _notice(self):
        """Drop what was known when map or odometry begin anew, or somebody knows."""
        inputs = self._in
        if inputs.told:
            self._memory, self._told, self._committed = [], True, None
        new_map = self._map_number not in (None, inputs.map_number)
        self._map_number = inputs.map_number
        jumped = (
            self._odom is not None
            and inputs.odom is not None
            and math.dist(self._odom[:2], inputs.odom[:2]) > ODOM_JUMP_M
        )
        if inputs.odom is not None:
            self._odom = np.asarray(inputs.odom, dtype=float)
        if not self.recovering or not (new_map or jumped):
            return
        self._stand()
        self._forget()
        self._say(
            'restart',
            'another map came: begins anew'
            if new_map
            else 'odometry jumped, so that nothing can be carried along: begins anew',
        )
        self._to_asking()

    def _found_by_itself(self):
        """End it when health has recovered, unless another place was seen to fit."""
        inputs = self._in
        if inputs.lost is not False:
            return
        if self._memory and not self._told:
            here = (
                None
                if inputs.pose is None or inputs.odom is None
                else compose(inputs.pose, inverse(inputs.odom))
            )
            if here is None or len(self._memory) > 1 or not self._agree(here, self._memory[0]):
                return
        self._stand()
        self._finish('found', 'the scan fits the map again without a commit')

    def _watch(self):
        if self._in.lost is not True:
            return
        self._forget()
        self._say(
            'lost',
            'what the scanner sees is not what the map has at this pose: asks where the robot is',
        )
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
            self._again(
                'no_answer', f'no answer of the relocalizer within {settings.answer_s:.0f} s'
            )

    def _ask_if_due(self):
        inputs = self._in
        if self._ask_at_s is None:
            self._ask_at_s = inputs.time_s
        if inputs.time_s < self._ask_at_s:
            return
        if not inputs.can_ask:
            if self.code != 'no_relocalizer':
                self.code = 'no_relocalizer'
                self._say('waiting', 'there is no relocalizer to ask; waits for it')
            return
        if self._asks >= self.settings.most_asks:
            self._give_up(
                'no_answer' if not self._memory else 'ambiguous',
                f'{self._asks} questions brought no answer to act on',
            )
            return
        self._ask, self._asked_s, self._ask_at_s = True, inputs.time_s, None
        self._asks += 1
        self.code = ''

    def _decide(self, answer):
        """Read an answer: commit, keep what is possible and look elsewhere, or not know."""
        if answer.map_number != self._in.map_number:
            self._ask_at_s = self._in.time_s
            return
        if answer.accepted:
            self._unknown = 0
            self._accepted(answer)
        elif answer.reason_code == 'ambiguous' and answer.odom is not None and answer.candidates:
            self._unknown = 0
            self._ambiguous(answer)
        elif answer.reason_code in ('ambiguous', 'undecided', 'free_direction'):
            self._unknown = 0
            self._fall_back(answer.message)
        elif answer.reason_code in UNKNOWN_REASONS:
            self._unknown += 1
            if self._unknown >= self.settings.unknown_after:
                self._give_up(
                    'unknown_room',
                    f'nothing on the map fits what is seen ({answer.message}): this room is '
                    'unknown, or too much of it has changed',
                )
            else:
                self._again('not_found', answer.message)
        else:
            self._again('no_answer', answer.message or answer.reason_code)

    def _accepted(self, answer):
        correction = None if answer.odom is None else compose(answer.pose, inverse(answer.odom))
        if (
            self._memory
            and correction is not None
            and self._complete
            and not any(self._agree(correction, kept) for kept in self._memory)
        ):
            self._memory, self._place = [correction], answer.odom
            self._again(
                'conflict',
                'the answer lies at none of the places that were possible before; a second one '
                'has to agree',
                wait_s=self.settings.settle_s,
            )
            return
        self._commit(
            answer.pose,
            answer.covariance,
            answer.stamp,
            correction,
            'one pose stands out'
            if not self._memory
            else 'one pose stands out, and agrees with before',
        )

    def _ambiguous(self, answer):
        corrections = [compose(pose, inverse(answer.odom)) for pose in answer.candidates]
        moved = (
            self._place is not None
            and math.dist(self._place[:2], answer.odom[:2]) >= self.settings.least_move_m
        )
        before = len(self._memory)
        if self._memory and moved:
            survivors = [
                c for c in corrections if any(self._agree(c, kept) for kept in self._memory)
            ]
            if len(survivors) == 1 and self._complete and answer.complete:
                pose = compose(survivors[0], answer.odom)
                covariance = np.diag([CANDIDATE_STD_M**2] * 2 + [CANDIDATE_STD_RAD**2])
                self._commit(
                    pose,
                    covariance,
                    answer.stamp,
                    survivors[0],
                    f'of {before} places possible before and {len(corrections)} now, one is both',
                )
                return
            self._complete = answer.complete and (self._complete or not survivors)
            self._memory = survivors or corrections
        else:
            self._memory, self._complete = corrections, answer.complete
        self._place = answer.odom
        self._fall_back(f'{len(self._memory)} places fit: {answer.message}')

    def _agree(self, one, other):
        """Tell whether two corrections put the robot at the same pose."""
        if self._odom is None:
            return False
        a, b = compose(one, self._odom), compose(other, self._odom)
        return (
            math.dist(a[:2], b[:2]) <= self.settings.agree_m
            and abs(math.degrees(wrap_angle(a[2] - b[2]))) <= self.settings.agree_deg
        )

    def _again(self, word, sentence, wait_s=None):
        """Ask the same question later, each time after a longer pause."""
        self._say(word, sentence)
        self._asked_s = None
        wait_s = (
            self.settings.retry_wait_s * 2.0 ** min(self._failures, 4)
            if wait_s is None
            else wait_s
        )
        self._failures += 1
        self._ask_at_s = self._in.time_s + wait_s

    # -- commit and confirm -----------------------------------------------------------------

    def _commit(self, pose, covariance, stamp, correction, why):
        inputs = self._in
        self._commits += 1
        self._seed = Seed(np.asarray(pose, dtype=float), covariance, stamp)
        self._committed, self._committed_s = correction, inputs.time_s
        self._before = (
            None
            if inputs.pose is None or inputs.odom is None
            else compose(inputs.pose, inverse(inputs.odom))
        )
        x, y, yaw = pose
        self.state = CONFIRMING
        self._say(
            'commit',
            f'{why}: commits x {x:.2f} m, y {y:.2f} m, heading {math.degrees(yaw):.0f} deg',
        )

    def _confirm(self):
        inputs, settings = self._in, self.settings
        took = self._took()
        if inputs.lost is False and inputs.health_s > self._committed_s and took is not False:
            self._finish('confirmed', 'the scan fits the map at the committed pose')
            return
        if inputs.time_s - self._committed_s <= settings.confirm_s:
            return
        if took is False:
            self._after_failure('ignored', 'the localizer does not take the pose from initialpose')
            return
        if self._before is not None and inputs.odom is not None:
            self._seed = Seed(
                compose(self._before, inputs.odom),
                np.diag([RETRACTED_STD_M**2] * 2 + [RETRACTED_STD_RAD**2]),
            )
        silent = inputs.lost is None
        self._after_failure(
            'retract',
            'health is silent, so that the committed pose cannot be confirmed: takes it back'
            if silent
            else 'the scan does not fit the map at the committed pose: takes it back',
        )

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
        self._memory, self._place = [], None
        if self._commits >= self.settings.most_commits:
            self._say(word, sentence)
            self._give_up(
                'ignored' if word == 'ignored' else 'not_confirmed',
                f'{self._commits} commits did not help: {sentence}',
            )
            return
        self.state = ASKING
        self._again(word, sentence)

    # -- another view -----------------------------------------------------------------------

    def _fall_back(self, why):
        settings = self.settings
        self._say('fallback', f'does not guess: {why}')
        if settings.fallback != 'vantage' or not settings.may_move:
            self._give_up(
                'ambiguous',
                'cannot tell from here, and does not drive by itself: asks again when it has '
                'been driven somewhere else',
            )
        elif self._moves >= settings.most_moves:
            self._give_up('ambiguous', f'still cannot tell after {self._moves} drives')
        else:
            self.state, self._since_s = CLEARING, self._in.time_s

    def _clear(self):
        """Wait until nobody else drives, then choose a way."""
        inputs, settings = self._in, self.settings
        ready = (
            inputs.others_stand
            and not inputs.foreign
            and inputs.odom is not None
            and inputs.points is not None
        )
        if not ready:
            if inputs.time_s - self._since_s > settings.clear_s:
                what = (
                    'somebody else drives'
                    if inputs.foreign or not inputs.others_stand
                    else ('odometry is missing' if inputs.odom is None else 'there is no scan')
                )
                self._say('blocked', f'cannot drive to another view: {what}')
                self._give_up('ambiguous', f'cannot tell from here, and {what}')
            return
        if self._place is not None:
            self._visited.append(self._place[:2])
        try:
            way = self._planner.plan(inputs.points, inputs.odom, self.candidates(), self._visited)
        except NothingToTell as error:
            self._give_up('ambiguous', str(error))
            return
        if way is None:
            self._give_up(
                'ambiguous', 'cannot tell from here, and no way is open to somewhere else'
            )
            return
        turn = math.degrees(wrap_angle(way.heading - inputs.odom[2]))
        where = (
            ''
            if math.isnan(way.gain)
            else (
                f' towards a spot {way.target_m:.1f} m away from which {way.gain:.0%} of the view '
                f'tells'
            )
        )
        self._moves += 1
        self._drive = VantageDrive(way, inputs.odom, inputs.time_s, settings, self._radius)
        self.state = MOVING
        self._say('moving', f'turns by {turn:.0f} deg and drives {way.length_m:.2f} m{where}')

    def _move(self):
        inputs = self._in
        self._command = (0.0, 0.0)
        if inputs.foreign:
            self._say('blocked', 'somebody else began to drive: stops')
            self._give_up('ambiguous', 'cannot tell from here, and somebody else drives')
            return
        if inputs.odom is None:
            self._arrive('blind')
            return
        drive = self._drive.step(inputs.time_s, inputs.odom, inputs.points, inputs.bumped)
        self._command = (drive.linear, drive.angular)
        if drive.done:
            self._arrive(drive.reason)

    def _arrive(self, reason):
        self.state, self._since_s = SETTLING, self._in.time_s
        self._say(
            'stopped',
            {
                'arrived': 'stands where it wanted to',
                'blocked': 'stopped before something in the way',
                'bumped': 'touched something, and went back a little',
                'late': 'the drive took too long',
                'blind': 'no scan or odometry to drive by',
            }[reason]
            + ': looks from here',
        )

    def _settle(self):
        self._command = (0.0, 0.0)
        if self._in.time_s - self._since_s >= self.settings.settle_s:
            self._to_asking()

    # -- having given up --------------------------------------------------------------------

    def _give_up(self, code, sentence):
        self.state, self.code = GIVEN_UP, code
        self._asked_s = self._ask_at_s = None
        self._gave_up_at = self._odom
        self._say(code, sentence)

    def _rest(self):
        """Ask again only when something else has moved the robot to another view."""
        if self.code != 'ambiguous' or self._gave_up_at is None or self._in.foreign:
            return
        if math.dist(self._gave_up_at[:2], self._odom[:2]) >= max(0.3, self.settings.least_move_m):
            self._asks = self._failures = 0
            self._say('retry', 'has been driven somewhere else: asks again')
            self._to_asking()

    # -- plumbing ---------------------------------------------------------------------------

    def _forget(self):
        self._memory, self._complete, self._place, self._visited = [], True, None, []
        self._asks = self._moves = self._commits = self._unknown = self._failures = 0
        self._asked_s = self._ask_at_s = None
        self._committed = self._before = self._drive = self._gave_up_at = None
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
