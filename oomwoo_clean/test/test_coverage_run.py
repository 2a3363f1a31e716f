"""The coverage job as a state machine: legs, failures, reflexes, what is missing, a true end."""
import math

from edge_worlds import box, room
import numpy as np
from oomwoo_clean.coverage_run import (
    CoverageInputs,
    CoverageRun,
    CoverageRunSettings,
    ESCAPE,
    SWEEP,
)
from oomwoo_clean.coverage_sweep import CoverageSweep
from oomwoo_clean.job_run import CANCELLED, DONE, GOTO, IDLE, NavReport, PAUSED, STUCK, WAITING
import pytest

START = (0.0, 0.0, 0.0)
SPEED_MPS = 0.3


class Driver:
    """Carries out orders ten times a second in straight lines; ``obeys(goal)`` may refuse."""

    def __init__(self, grid=None, obeys=lambda goal: True, settings=None):
        self.run = CoverageRun(CoverageSweep(grid or room(3.0, 2.0), START), settings)
        self.pose, self.obeys = np.array(START), obeys
        self.time_s, self.nav = 0.0, NavReport()
        self.goals, self.events, self.orders = [], [], None

    def tick(self, **changes):
        self.time_s += 0.1
        fields = {'time_s': self.time_s, 'pose': self.pose.copy(), 'nav': self.nav} | changes
        self.orders = orders = self.run.step(CoverageInputs(**fields))
        self.events += orders.events
        if orders.goal is None:
            if self.nav.status == 'ACTIVE':
                self.nav = NavReport(self.nav.goal_id, 'FAILED', 'canceled')
            return orders
        if orders.goal_id != self.nav.goal_id:
            self.goals.append(orders.goal)
            self.nav = NavReport(orders.goal_id, 'ACTIVE')
        elif self.nav.status == 'ACTIVE' and not self.obeys(orders.goal):
            self.nav = NavReport(orders.goal_id, 'FAILED', 'no way')
        elif self.nav.status == 'ACTIVE':
            self._drive(orders)
        return orders

    def _drive(self, orders):
        way = np.subtract(orders.goal[:2], self.pose[:2])
        step_m = min(0.1 * SPEED_MPS, math.hypot(*way))
        if step_m < 1e-6:
            self.nav = NavReport(orders.goal_id, 'SUCCEEDED')
        else:
            self.pose[:2] += way / math.hypot(*way) * step_m

    def until(self, condition, most_s=2000.0):
        end_s = self.time_s + most_s
        while not condition() and self.time_s < end_s:
            self.tick()
        assert condition(), (self.run.phase, self.run.reason)
        return self

    def ended(self):
        return self.until(lambda: self.run.ended)


def started(*arguments, **words):
    driver = Driver(*arguments, **words)
    assert driver.run.start()[0]
    return driver


def test_it_does_nothing_before_it_is_started():
    driver = Driver()
    assert driver.tick().goal is None and driver.orders.state == IDLE
    assert driver.run.sweep.coverage.covered_m2 == 0.0, 'nor does it count what it passes'


def test_a_room_is_covered_and_the_end_says_how_much():
    driver = started().ended()
    run = driver.run
    assert run.phase == DONE and run.sweep.coverage.ratio > 0.97
    assert f'({100 * run.sweep.coverage.ratio:.1f} %)' in run.reason
    assert run.failed_goals == 0 and run.elapsed_s == pytest.approx(driver.time_s, abs=0.3)
    # Not much more than one pass of the body over the room, ways between lanes included.
    assert run.sweep.coverage.driven_m < 1.5 * run.sweep.coverage.floor_m2 / 0.30


def test_a_goal_that_fails_is_put_off_then_given_up_and_the_rest_is_done():
    driver = started(room(3.0, 2.0), lambda goal: goal[0] < 0.8).ended()
    run = driver.run
    assert run.phase == DONE
    assert any('put off' in event for event in driver.events)
    assert any('given up' in event for event in driver.events)
    assert 0.4 < run.sweep.coverage.ratio < 0.97 and run.failed_goals > 2
    assert 'given up' in run.reason


def test_nothing_works_for_long_enough_and_it_says_stuck():
    settings = CoverageRunSettings(stuck_after=3, stuck_s=2.0)
    driver = started(None, lambda goal: False, settings).ended()
    assert driver.run.phase == STUCK and 'different legs failed in a row' in driver.run.reason
    assert driver.tick().goal is None


def test_a_navigator_that_never_arrives_is_given_up_after_a_time():
    settings = CoverageRunSettings(goal_s=5.0)
    driver = started(settings=settings)
    driver._drive = lambda orders: None
    driver.until(lambda: driver.run.failed_goals > 0, 20.0)
    assert any('has not arrived after 5 s' in event for event in driver.events)
    assert driver.time_s == pytest.approx(5.0, abs=0.5)


def test_a_reflex_ends_the_goal_and_afterwards_the_job_goes_on_elsewhere():
    driver = started()
    driver.until(lambda: driver.run.phase == GOTO).tick()
    first = driver.orders.goal
    assert driver.tick(escaping=True).goal is None and driver.run.phase == ESCAPE
    driver.run.sweep.keep_out([(*first[:2], 0.3)])
    for _ in range(20):
        assert driver.tick(escaping=True).goal is None
    driver.until(lambda: driver.run.phase in (GOTO, SWEEP), 3.0)
    assert math.dist(driver.orders.goal[:2], first[:2]) > 0.25
    assert driver.run.escapes == 1
    assert driver.ended().run.phase == DONE


@pytest.mark.parametrize('changes, word', [
    ({'missing': 'the localization, which is lost'}, 'lost'), ({'pose': None}, 'pose')])
def test_it_stands_while_something_is_missing_and_goes_on(changes, word):
    driver = started()
    driver.until(lambda: driver.run.phase == SWEEP)
    covered_m2 = driver.run.sweep.coverage.covered_m2
    for _ in range(5):
        assert driver.tick(**changes).goal is None
    assert driver.run.phase == WAITING and word in driver.run.reason
    assert driver.run.sweep.coverage.covered_m2 == covered_m2
    assert driver.ended().run.phase == DONE


def test_a_wrong_pose_while_it_is_lost_covers_nothing():
    driver = started()
    driver.until(lambda: driver.run.phase == SWEEP)
    covered_m2 = driver.run.sweep.coverage.covered_m2
    for x in (-1.0, -0.5, 0.0, 0.5):
        driver.tick(missing='the localization, which is lost', pose=np.array([x, 0.6, 0.0]))
    assert driver.run.sweep.coverage.covered_m2 == covered_m2


def test_pause_resume_and_cancel():
    driver = started()
    driver.until(lambda: driver.run.phase == SWEEP)
    assert driver.run.pause()[0] and driver.tick().goal is None
    assert driver.run.phase == PAUSED and not driver.run.pause()[0]
    assert driver.run.resume()[0]
    driver.until(lambda: driver.run.phase == SWEEP, 30.0)
    assert driver.run.cancel()[0] and driver.tick().goal is None
    assert driver.run.phase == CANCELLED and driver.run.ended
    assert not driver.run.cancel()[0] and not driver.run.start()[0]


def test_a_table_in_the_room_is_gone_round():
    driver = started(room(3.0, 2.0, [box(0.9, 0.0, 0.5, 0.5)])).ended()
    assert driver.run.phase == DONE and driver.run.sweep.coverage.ratio > 0.93


def test_results_of_an_older_goal_change_nothing():
    driver = started()
    driver.until(lambda: driver.run.phase == SWEEP)
    goal = driver.orders.goal
    orders = driver.tick(nav=NavReport(driver.orders.goal_id - 1, 'FAILED', 'long ago'))
    assert orders.goal == goal and driver.run.failed_goals == 0


def test_a_navigator_that_rejects_everything_is_not_flooded_and_nothing_is_called_done():
    settings = CoverageRunSettings(stuck_s=3600.0)
    driver = started(room(1.6, 1.2), lambda goal: False, settings).ended()
    run = driver.run
    assert run.phase == STUCK and 'next to nothing' in run.reason and 'no way' in run.reason
    assert len(driver.goals) > 3 and driver.time_s >= 1.0 * (len(driver.goals) - 1)


def test_a_robot_beside_the_floor_waits_says_where_it_is_and_goes_on_from_the_floor():
    driver = Driver(room(1.6, 1.2))
    driver.pose[:2] = 6.0, 0.25
    assert driver.run.start()[0]
    for _ in range(20):
        assert driver.tick().goal is None
    assert driver.run.phase == WAITING
    assert 'the robot is at (6.00, 0.25), which is no floor of the map' in driver.run.reason
    assert driver.events.count(driver.run.reason) == 1
    driver.tick(pose=None)
    assert 'the pose of the robot' in driver.run.reason, 'another cause is said, too'
    driver.pose[:2] = 0.0
    assert driver.ended().run.phase == DONE


def test_every_event_keeps_the_state_it_was_said_in():
    driver = started()
    driver.until(lambda: driver.run.phase == SWEEP)
    driver.run.pause()
    driver.run.resume()
    driver.run.pause()
    driver.run.cancel()
    events = driver.tick().events
    assert [event.state for event in events] == [PAUSED, 'PLAN', PAUSED, CANCELLED]


def test_a_job_that_is_held_does_nothing_until_it_is_resumed():
    driver = Driver()
    driver.run.hold('another map')
    assert driver.tick().goal is None and driver.run.phase == PAUSED
    assert driver.events == ['another map']
    assert driver.run.resume()[0]
    driver.until(lambda: driver.goals, 5.0)
