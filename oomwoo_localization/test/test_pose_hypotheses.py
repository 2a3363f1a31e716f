"""Places that are carried along, and come down to one."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from oomwoo_localization.frames import compose, inverse
from oomwoo_localization.pose_hypotheses import correction_of, PoseHypotheses
from oomwoo_localization.recovery_types import Answer, ManagerSettings

A, B, C = np.array([1.0, 2.0, 0.5]), np.array([-3.0, 0.0, 2.0]), np.array([4.0, -2.0, -1.0])
POSE = st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.floats(-3.1, 3.1)).map(np.array)


def answer(odom, *poses, complete=True):
    """Return an answer that these poses fit, seen from ``odom``."""
    return Answer(False, candidates=poses, complete=complete, odom=odom)


def places(odom, *poses, complete=True):
    """Return hypotheses after a first answer."""
    found = PoseHypotheses(ManagerSettings())
    found.odom = odom
    assert found.narrow(answer(odom, *poses, complete=complete)) is None
    return found


@given(POSE, POSE, st.floats(0.25, 3.0), st.floats(-3.1, 3.1))
def test_wherever_it_was_and_goes_the_one_that_fits_from_both_is_left(truth, odom, way_m, turn):
    other = compose(truth, (0.0, 0.0, 3.0))
    found = places(odom, other, truth)
    moved = np.array([way_m, 0.1, turn])
    found.odom = compose(odom, moved)
    np.testing.assert_allclose(found.poses()[1], compose(truth, moved), atol=1e-9)
    left = found.narrow(
        answer(found.odom, compose(truth, moved), compose(compose(truth, moved), (5.0, 5.0, 0.0))))
    np.testing.assert_allclose(compose(left, found.odom)[:2], compose(truth, moved)[:2], atol=1e-6)


def test_none_is_left_as_long_as_two_fit_or_it_stands_or_a_list_may_lack_one():
    home, moved = np.zeros(3), np.array([1.0, 0.0, 0.0])
    now = [compose(pose, moved) for pose in (A, B, C)]
    for first, then, complete in (
        ([A, B], now[:2], (True, True)),
        ([A, B], [now[0], now[2]], (False, True)),
        ([A, B], [now[0], now[2]], (True, False)),
    ):
        found = places(home, *first, complete=complete[0])
        found.odom = moved
        assert found.narrow(answer(moved, *then, complete=complete[1])) is None
    still = places(home, A, B)
    assert still.narrow(answer(home, A, C)) is None and len(still) == 2


def test_when_none_agrees_the_new_ones_are_all_that_is_known():
    found = places(np.zeros(3), A, B)
    found.odom = np.array([1.0, 0.0, 0.0])
    assert found.narrow(answer(found.odom, C, compose(C, (0.0, 0.0, 3.0)))) is None
    assert len(found) == 2 and np.allclose(found.poses()[0], C)


def test_what_is_excluded_and_what_is_the_only_one():
    odom = np.array([0.5, 0.2, 1.0])
    found = places(odom, A)
    here, near, far = (correction_of(pose, odom) for pose in (A, A + [0.2, 0, 0], A + [0, 0, 0.5]))
    assert found.only(here) and found.only(near) and not found.only(far)
    assert not found.exclude(near) and found.exclude(far)
    assert not places(odom, A, complete=False).exclude(far), 'it may be one that was not listed'
    found.forget()
    assert not found.exclude(far) and not found.only(here) and found.poses() == []
    assert correction_of(None, odom) is None and correction_of(A, None) is None
    np.testing.assert_allclose(compose(here, odom), A)
    np.testing.assert_allclose(correction_of(A, odom), compose(A, inverse(odom)))
