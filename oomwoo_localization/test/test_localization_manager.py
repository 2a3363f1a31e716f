"""The policy, stepped by hand: commit, confirm, retract, drive, give up, interruptions."""

import math

import numpy as np
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.localization_manager import LocalizationManager
from oomwoo_localization.recovery_types import (
    Answer,
    ASKING,
    CLEARING,
    CONFIRMING,
    GIVEN_UP,
    Inputs,
    ManagerSettings,
    MOVING,
    SETTLING,
    WATCHING,
)
import pytest

STEP_S = 0.1
HOME = np.array([0.0, 0.0, 0.0])
TRUE = np.array([2.0, 1.0, 0.5])
TWIN = np.array([-2.0, -1.0, 0.5 - math.pi])


def ring(radius=2.0, count=90):
    """Return points (N, 2) all around."""
    angles = np.linspace(-math.pi, math.pi, count, endpoint=False)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


class World:
    """Steps a manager; what it is shown is the fields below, odometry follows its commands."""

    def __init__(self, **settings):
        self.manager = LocalizationManager(ManagerSettings(**settings))
        self.time_s = 0.0
        self.shown = {'lost': False, 'odom': np.zeros(3), 'pose': HOME, 'points': ring()}
        self.words, self.asks, self.seeds, self.commands = [], 0, [], []
        self.health_s = 0.0

    def step(self, **once):
        """Go on by a tenth of a second with what is shown, and ``once`` in this step."""
        self.time_s += STEP_S
        if self.shown['lost'] is not None:
            self.health_s = self.time_s
        orders = self.manager.step(
            Inputs(self.time_s, health_s=self.health_s, **{**self.shown, **once})
        )
        self.words += [word for word, _ in orders.actions]
        self.asks += orders.ask
        if orders.seed is not None:
            self.seeds.append(orders.seed)
        if orders.command is not None:
            linear, angular = orders.command
            self.commands.append(orders.command)
            if self.shown['odom'] is not None:
                self.shown['odom'] = compose(
                    self.shown['odom'], (linear * STEP_S, 0.0, angular * STEP_S)
                )
        return orders

    def until(self, state, seconds=30.0):
        """Step until a state is reached."""
        for _ in range(round(seconds / STEP_S)):
            orders = self.step()
            if orders.state == state:
                return orders
        raise AssertionError(f'{state} not reached: {self.manager.state}, {self.words}')

    def until_asked(self, seconds=30.0):
        """Step until a question is asked."""
        before = self.asks
        for _ in range(round(seconds / STEP_S)):
            self.step()
            if self.asks > before:
                return
        raise AssertionError(f'not asked: {self.manager.state}, {self.words}')

    def lose(self):
        """Raise the flag, and wait for the question."""
        self.shown['lost'] = True
        self.until_asked()

    def answer(self, **fields):
        """Give an answer about where the robot is now."""
        return self.step(
            answer=Answer(
                **{
                    'accepted': False,
                    'odom': self.shown['odom'],
                    'map_number': 0,
                    'stamp': 'then',
                    **fields,
                }
            )
        )

    def ambiguous(self, *candidates, complete=True):
        """Answer that several poses fit."""
        return self.answer(reason_code='ambiguous', candidates=candidates, complete=complete)

    def accept(self, pose=TRUE):
        """Answer with one pose."""
        return self.answer(accepted=True, pose=pose, covariance=np.diag([1e-4] * 3))


def test_a_pose_that_stands_out_is_committed_and_confirmed():
    world = World()
    assert not world.step().hold
    world.lose()
    assert world.manager.state == ASKING
    orders = world.accept()
    assert orders.state == CONFIRMING and orders.hold and not orders.wheels
    np.testing.assert_allclose(world.seeds[0].pose, TRUE)
    assert world.seeds[0].stamp == 'then' and world.seeds[0].covariance[0, 0] == 1e-4
    world.shown['pose'] = TRUE
    world.step()
    assert world.manager.state == CONFIRMING, 'not confirmed while the flag is up'
    world.shown['lost'] = False
    orders = world.step()
    assert orders.state == WATCHING and not orders.hold
    assert world.words == ['lost', 'commit', 'confirmed']
    assert world.commands == []


def test_a_pose_that_does_not_fit_is_taken_back_and_that_ends_after_three():
    world = World()
    world.lose()
    for number in range(3):
        world.accept()
        world.shown['pose'] = TRUE
        world.until(ASKING if number < 2 else GIVEN_UP, 5.0)
        back = world.seeds[-1]
        np.testing.assert_allclose(back.pose, HOME, atol=1e-9)
        assert back.covariance[0, 0] >= 0.5 and back.stamp is None
        if number < 2:
            world.shown['pose'] = HOME
            world.until_asked()
    assert world.words.count('commit') == world.words.count('retract') == 3
    assert world.words[-1] == 'not_confirmed'
    asks = world.asks
    for _ in range(600):
        assert world.step().hold
    assert world.asks == asks, 'asks forever'


def test_a_localizer_that_ignores_initialpose_is_noticed_said_and_given_up():
    world = World()
    world.lose()
    for _ in range(2):
        world.accept()
        world.until_asked()
    world.accept()
    world.until(GIVEN_UP)
    assert world.words.count('ignored') == 4 and 'retract' not in world.words
    assert world.manager.code == 'ignored'
    assert all(seed.stamp == 'then' for seed in world.seeds), 'nothing to take back'


def test_silent_health_confirms_nothing():
    world = World()
    world.lose()
    world.shown.update(lost=None, pose=TRUE)
    world.accept()
    world.until(ASKING, 5.0)
    assert world.words[-1] == 'retract'


def test_silent_health_starts_nothing():
    world = World()
    world.shown['lost'] = None
    for _ in range(50):
        assert world.step().state == WATCHING
    assert world.asks == 0


def test_two_places_with_one_survivor_decide():
    """A fits at both places, B only at the first, C only at the second: it is A."""
    world = World()
    world.lose()
    orders = world.ambiguous(TWIN, TRUE)
    assert orders.state == CLEARING and orders.wheels and world.words[-1] == 'fallback'
    correction = compose(TRUE, inverse(world.shown['odom']))
    world.until(MOVING)
    world.until(SETTLING)
    world.until_asked()
    odom = world.shown['odom']
    assert 0.25 < math.hypot(*odom[:2]) <= 1.55
    now, other = compose(correction, odom), np.array([5.0, 5.0, 0.0])
    orders = world.ambiguous(other, now)
    assert orders.state == CONFIRMING
    np.testing.assert_allclose(world.seeds[0].pose, now)
    assert world.seeds[0].covariance[0, 0] == pytest.approx(0.01)


@pytest.mark.parametrize('complete', [(False, True), (True, False)])
def test_a_list_that_may_lack_one_decides_nothing(complete):
    world = World()
    world.lose()
    world.ambiguous(TWIN, TRUE, complete=complete[0])
    world.until_asked()
    now = compose(TRUE, world.shown['odom'])
    orders = world.ambiguous(now, np.array([5.0, 5.0, 0.0]), complete=complete[1])
    assert orders.state == CLEARING and not world.seeds


def test_the_same_place_twice_is_no_second_place():
    world = World(fallback='wait')
    world.lose()
    world.ambiguous(TWIN, TRUE)
    assert world.manager.state == GIVEN_UP
    world.manager.retry()
    world.until_asked()
    world.ambiguous(TRUE, np.array([5.0, 5.0, 0.0]))
    assert not world.seeds and world.words[-1] == 'ambiguous'


def test_candidates_are_carried_along():
    world = World()
    world.lose()
    world.ambiguous(TRUE, TWIN)
    world.shown['odom'] = np.array([0.3, 0.1, 0.2])
    world.step()
    for kept, begin in zip(world.manager.candidates(), (TRUE, TWIN)):
        np.testing.assert_allclose(kept, compose(begin, (0.3, 0.1, 0.2)))


def test_an_answer_that_agrees_with_nothing_before_needs_a_second():
    world = World()
    world.lose()
    world.ambiguous(TRUE, TWIN)
    world.until_asked()
    elsewhere = np.array([4.0, -3.0, 1.0])
    world.accept(elsewhere)
    assert world.words[-1] == 'conflict' and not world.seeds
    world.until_asked()
    world.accept(elsewhere)
    assert world.manager.state == CONFIRMING
    np.testing.assert_allclose(world.seeds[0].pose, elsewhere)


def test_what_nothing_fits_is_an_unknown_room_and_asking_ends():
    world = World()
    world.lose()
    for number in range(5):
        assert world.asks == number + 1
        world.answer(reason_code='low_score', message='explains 20%')
        if number < 4:
            world.until_asked()
    assert world.manager.state == GIVEN_UP and world.words[-1] == 'unknown_room'
    for _ in range(1000):
        world.step()
    assert world.asks == 5 and world.commands == []
    assert world.manager.retry()[0]
    world.until_asked(1.0)
    world.accept()
    assert world.manager.state == CONFIRMING


def test_an_unknown_room_ends_with_a_new_map_or_with_being_localized_again():
    world = World(unknown_after=1)
    world.lose()
    world.answer(reason_code='no_match')
    assert world.manager.state == GIVEN_UP
    world.shown['map_number'] = 1
    world.until_asked(1.0)
    assert world.words[-1] == 'restart'
    world.answer(reason_code='no_match', map_number=1)
    assert world.manager.state == GIVEN_UP
    world.shown['lost'] = False
    assert world.step().state == WATCHING and world.words[-1] == 'found'


def test_an_answer_about_the_map_before_is_not_used():
    world = World()
    world.lose()
    world.shown['map_number'] = 1
    world.step()
    world.answer(accepted=True, pose=TRUE, covariance=np.eye(3), map_number=0)
    assert world.manager.state == ASKING and not world.seeds
    world.until_asked(1.0)
    world.answer(accepted=True, pose=TRUE, covariance=np.eye(3), map_number=1)
    assert world.manager.state == CONFIRMING


def test_no_relocalizer_no_answer_and_no_map_are_waited_for():
    world = World()
    world.shown.update(lost=True, can_ask=False)
    for _ in range(100):
        world.step()
    assert world.asks == 0 and world.words == ['lost', 'waiting']
    world.shown['can_ask'] = True
    world.until_asked(1.0)
    world.until_asked(10.0)
    assert world.words[-1] == 'no_answer'
    world.answer(reason_code='no_map', message='no map yet')
    assert world.manager.state == ASKING
    world.shown['map_number'] = 1
    world.until_asked(0.5)


@pytest.mark.parametrize('settings', [{'may_move': False}, {'fallback': 'wait'}])
def test_without_leave_to_move_it_waits_to_be_driven_and_asks_again(settings):
    world = World(**settings)
    world.lose()
    world.ambiguous(TRUE, TWIN)
    assert world.manager.state == GIVEN_UP and world.words[-2:] == ['fallback', 'ambiguous']
    for _ in range(100):
        world.step()
    assert world.asks == 1 and world.commands == []
    world.shown['odom'] = np.array([0.35, 0.0, 0.0])
    world.until_asked(1.0)
    world.ambiguous(compose(TWIN, (0.35, 0.0, 0.0)), np.array([5.0, 5.0, 0.0]))
    np.testing.assert_allclose(world.seeds[0].pose, compose(TWIN, (0.35, 0.0, 0.0)), atol=1e-9)


def test_it_does_not_drive_while_others_do_and_stops_when_somebody_begins():
    world = World()
    world.lose()
    world.shown['others_stand'] = False
    world.ambiguous(TRUE, TWIN)
    world.until(GIVEN_UP, 5.0)
    assert 'blocked' in world.words and world.commands == []
    world = World()
    world.lose()
    world.ambiguous(TRUE, TWIN)
    world.until(MOVING)
    for _ in range(20):
        world.step()
    assert any(linear or angular for linear, angular in world.commands)
    orders = world.step(foreign=True)
    assert orders.command == (0.0, 0.0) and orders.state == GIVEN_UP
    assert world.step().command is None


def test_a_touch_ends_the_drive_with_a_step_back():
    world = World()
    world.lose()
    world.ambiguous(TRUE, TWIN)
    world.until(MOVING)
    while not world.commands or world.commands[-1][0] <= 0.0:
        world.step()
    place = world.shown['odom']
    world.step(bumped=True)
    world.until(SETTLING)
    assert min(linear for linear, _ in world.commands) == pytest.approx(-0.08)
    assert all(linear <= 0.0 for linear, _ in world.commands[-3:])
    assert math.dist(place[:2], world.shown['odom'][:2]) < 0.12


def test_drives_are_bounded():
    world = World(most_moves=2)
    world.lose()
    for _ in range(3):
        assert world.manager.state == ASKING
        world.answer(reason_code='free_direction', message='free')
        world.until_asked() if world.manager.state != GIVEN_UP else None
    assert world.words.count('moving') == 2
    assert world.manager.state == GIVEN_UP and world.words[-1] == 'ambiguous'


@pytest.mark.parametrize('missing', ['odom', 'points'])
def test_it_does_not_drive_blind(missing):
    world = World()
    world.lose()
    world.ambiguous(TRUE, TWIN)
    world.shown[missing] = None
    world.until(GIVEN_UP, 5.0)
    assert world.commands == []
    world = World()
    world.lose()
    world.ambiguous(TRUE, TWIN)
    world.until(MOVING)
    world.step()
    kept, world.shown[missing] = world.shown[missing], None
    assert world.step().command == (0.0, 0.0)
    world.shown[missing] = kept
    assert world.manager.state == SETTLING


def test_health_that_recovers_by_itself_ends_it_unless_another_place_fits_too():
    world = World()
    world.lose()
    world.shown['lost'] = False
    assert world.step().state == WATCHING and world.words[-1] == 'found'
    world = World(may_move=False)
    world.lose()
    world.ambiguous(TRUE, TWIN)
    world.shown.update(lost=False, pose=TWIN)
    for _ in range(20):
        assert world.step().hold, 'the twin of the true place has a good score, too'
    world.shown['pose'] = TRUE
    assert world.step(told=True).state == WATCHING, 'somebody who knows has said so'


def test_clock_and_odometry_that_begin_anew_void_what_was_known():
    world = World()
    world.lose()
    world.ambiguous(TRUE, TWIN)
    world.manager.time_went_back()
    world.time_s = 0.0
    assert world.manager.candidates() == []
    world.until_asked(1.0)
    world.ambiguous(TRUE, TWIN)
    world.until(MOVING)
    world.shown['odom'] = np.array([5.0, 5.0, 0.0])
    orders = world.step()
    assert orders.state == ASKING and orders.command == (0.0, 0.0)
    assert world.words[-1] == 'restart' and world.manager.candidates() == []


def test_retry_is_refused_when_there_is_nothing_to_retry():
    world = World()
    world.step()
    assert world.manager.retry() == (False, 'not lost, so there is nothing to retry')
    world.lose()
    assert not world.manager.retry()[0]


def test_settings_are_checked():
    with pytest.raises(ValueError, match='fallback'):
        World(fallback='guess')
    with pytest.raises(ValueError, match='most_moves'):
        World(most_moves=-1)
