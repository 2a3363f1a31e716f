"""Who else drives, as the behaviours hear it."""
import math

from action_msgs.msg import GoalStatus, GoalStatusArray
from oomwoo_clean import drivers_ros_support
from oomwoo_clean.drivers_ros_support import OtherDrivers
from oomwoo_localization.ros_support import SuiteNode
import pytest
import rclpy
from std_msgs.msg import Bool, String


@pytest.fixture
def make():
    """Return a function that gives the others beside a node of a name; all are there."""
    rclpy.init()
    nodes = []

    def build(name):
        node = SuiteNode(name)
        nodes.append(node)
        node.time_s, node.here = 50.0, True
        node.now_s = lambda: node.time_s
        node.count_publishers = lambda topic: int(node.here)
        return node, OtherDrivers(node)

    yield build
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown()


def goals(*kinds):
    """Return the message of an action server with goals in these states."""
    return GoalStatusArray(status_list=[GoalStatus(status=kind) for kind in kinds])


def heard(node, topic):
    """Tell whether the node listens to a topic."""
    return any(s.topic_name == f'/{topic}' for s in node.subscriptions)


def test_it_names_who_drives_until_that_stands_or_is_gone(make):
    node, others = make('contour_follower')
    assert others.driving() == ''
    others._on_state('wall_clean_bump_out', String(data='HALT'))
    assert others.driving() == (
        'the bump-out drives (HALT): switch it off with wall_clean_bump_out/enable first')
    node.time_s += 2.1                                  # killed: its state is not said again
    assert others.driving() == ''
    others._on_state('wall_clean_bump_out', String(data='PEEL'))
    others._on_state('wall_clean_bump_out', String(data='IDLE'))
    assert others.driving() == ''

    others._on_docking(String(data='BACK'))
    assert 'dock_drive drives (BACK)' in others.driving()
    node.here = False
    assert others.driving() == ''
    node.here = True
    others._on_docking(String(data='DONE'))
    assert others.driving() == ''

    others._on_goals(goals(GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_EXECUTING))
    assert 'the navigator drives to a goal of navigate_to_pose' in others.driving()
    node.here = False
    assert others.driving() == ''
    node.here = True
    others._on_goals(goals(GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED))
    assert others.driving() == ''


def test_nobody_is_in_its_own_way(make):
    for name, other in (
            ('contour_follower', 'wall_clean_bump_out'),
            ('wall_clean_bump_out', 'contour_follower')):
        node, _ = make(name)
        assert heard(node, f'{other}/state') and not heard(node, f'{name}/state')
        assert not heard(node, 'cleaning_active')       # true while its own job runs
    node, others = make('dock_drive')
    assert not heard(node, 'dock_drive/state')          # and it sends goals to the navigator
    assert not heard(node, 'navigate_to_pose/_action/status')
    others._on_cleaning(Bool(data=True))
    assert others.problem()[0] == 'CLEANING' and 'is cleaning' in others.problem()[1]
    others._on_cleaning(Bool(data=False))
    others._on_state('wall_clean_bump_out', String(data='HALT'))
    assert others.problem() == ('CLEANING', others.driving())


def test_the_first_goes_on_and_warns_once_and_the_newcomer_ends(make, monkeypatch):
    wall_s = [100.0]
    monkeypatch.setattr(drivers_ros_support.time, 'monotonic', lambda: wall_s[0])
    node, others = make('contour_follower')
    warned = []

    class Ears:
        warning = warned.append

    node.get_logger = Ears
    others.begin()
    wall_s[0] += 1.0
    assert others.in_the_way() == ''
    others._on_state('wall_clean_bump_out', String(data='DRIVE'))
    assert 'the bump-out drives (DRIVE)' in others.in_the_way() and not warned
    wall_s[0] += 1.5
    others.beside = ''
    for _ in range(3):
        assert others.in_the_way() == ''
    assert len(warned) == 1 and 'the bump-out drives (DRIVE)' in warned[0]
    assert 'DRIVE' in others.beside
    node.time_s = math.inf
    assert others.in_the_way() == others.beside == ''
