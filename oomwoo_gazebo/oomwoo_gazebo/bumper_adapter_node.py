"""
Gazebo's contact sensors in, ``bumper/left`` and ``bumper/right`` out.

The algorithm is :mod:`oomwoo_gazebo.bumper`. A contact sensor says nothing while nothing touches
it, so silence is no news; whether Gazebo speaks at all is told by its joint states. While
something does, it says so at every step of the physics, in long messages; only some are looked at.
"""
from dataclasses import dataclass
import math
import sys

from oomwoo_gazebo.bumper import Bumper, BumperState, SIDES
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.robot import load_robot
from oomwoo_localization.ros_support import OK, SuiteNode, WARN
from oomwoo_localization.settings import setting, SettingError
from rclpy.clock import Clock, ClockType
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

_TICK_S = 0.05
_LOOKS = 4                    # at contacts, in the time that one is held
# Wall time, for the simulated one stands still with the simulator; and a slow one has few joint
# states a second of it.
_STALE_S = 2.0


@dataclass(frozen=True)
class BumperAdapterSettings:
    """What presses the bumper, and for how long."""

    release_s: float = setting(
        -1.0, 'a contact is reported at least this long; negative: as robot.yaml says', 's',
        -1.0, 5.0)
    rate: float = setting(10.0, 'messages a second while nothing changes', 'Hz', 1.0, 50.0)
    ignored: str = setting(
        'ground_plane', 'models that do not press it, with spaces between', live=False)
    entity: str = setting(
        '', "name of the robot's model; empty: as robot.yaml calls it", live=False)
    robot_file: str = setting('', 'robot file; empty: the packaged one', live=False)


class BumperAdapterNode(SuiteNode):
    """Publishes each half when it changes, and every now and then."""

    def __init__(self):
        """Subscribe to both sensors; raises SettingError where Gazebo's messages are missing."""
        super().__init__('bumper_adapter', BumperAdapterSettings)
        settings, robot = self.settings, load_robot(self.settings.robot_file or None)
        self._robot_release_s = robot.bumper.release_s
        self._state = BumperState(Bumper(
            settings.entity or robot.name, frozenset(settings.ignored.split()),
            self._release_s()))
        self._said, self._said_s = None, 0.0
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._heard = None
        self._out = {
            side: self.create_publisher(Bool, f'bumper/{side}', 10) for side in SIDES}
        self._kind = contacts_type()
        self._looked_s = dict.fromkeys(SIDES, -math.inf)
        for side in SIDES:
            self.create_subscription(
                self._kind, f'bumper/{side}/contacts',
                lambda raw, side=side: self._on_raw(side, raw), 10, raw=True)
        # That there are any is all that counts; older Gazebos say them at every step.
        self.create_subscription(JointState, 'joint_states', self._on_life, 10, raw=True)
        self.create_timer(_TICK_S, self._publish, clock=self._wall)
        self._watch()

    def _release_s(self):
        asked = self.settings.release_s
        return self._robot_release_s if asked < 0.0 else asked

    def settings_changed(self):
        """Take over parameters that were set while running."""
        old = self._state.bumper
        self._state.bumper = Bumper(old.robot, old.ignored, self._release_s())

    def time_went_back(self):
        """Forget what was touched later than now."""
        self._state.forget()
        self._looked_s = dict.fromkeys(SIDES, -math.inf)
        self._said = None

    def _on_raw(self, side, raw):
        now_s = self.now_s()
        if now_s - self._looked_s[side] >= self._state.bumper.release_s / _LOOKS:
            self._looked_s[side] = now_s
            self._on_contacts(side, deserialize_message(raw, self._kind))

    def _on_contacts(self, side, msg):
        self._on_life(msg)
        pairs = [(c.collision1.name, c.collision2.name) for c in msg.contacts]
        self._state.touch(side, pairs, self.now_s())
        self._publish()

    def _on_life(self, _):
        self._heard = self._wall.now()

    def _alive(self):
        return self._heard is not None and (
            (self._wall.now() - self._heard).nanoseconds * 1e-9 <= _STALE_S)

    def _publish(self):
        self._watch()
        if not self._alive():
            self._said = None
            return
        now_s = self.now_s()
        pressed = self._state.pressed(now_s)
        if pressed == self._said and now_s - self._said_s < 1.0 / self.settings.rate:
            return
        self._said, self._said_s = pressed, now_s
        for side, publisher in self._out.items():
            publisher.publish(Bool(data=pressed[side]))

    def _watch(self):
        if self._alive():
            self.set_status(OK, 'bumpers from the contacts of Gazebo', 'RUNNING')
        else:
            topic = self.resolve_topic_name('joint_states')
            self.set_status(
                WARN, f'no word from Gazebo: nothing on {topic} for {_STALE_S} s', 'WAITING',
                'no_joint_states')


def contacts_type():
    """Return the type of a contact sensor's messages, or raise SettingError saying what to do."""
    try:
        from ros_gz_interfaces.msg import Contacts
    except ImportError as error:
        raise SettingError(
            'bumper_adapter: ros_gz_interfaces is not installed, so there are no contacts from '
            'Gazebo to listen to (apt package ros-jazzy-ros-gz-interfaces)') from error
    return Contacts


def main(args=None):
    """Run the node."""
    return run_node(BumperAdapterNode, args)


if __name__ == '__main__':
    sys.exit(main())
