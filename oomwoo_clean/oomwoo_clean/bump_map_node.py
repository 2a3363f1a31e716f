"""
The bump map in the ROS graph: bumper, odometry and localization in, ``bump_map`` out, latched.

The algorithm is :mod:`oomwoo_clean.bump_map`; this is its adapter. It never drives.
"""
from dataclasses import dataclass
import math
from pathlib import Path
import sys

from nav_msgs.msg import OccupancyGrid, Odometry
import numpy as np
from oomwoo_clean.bump_map import BumpMap, BumpMapSettings
from oomwoo_clean.bump_map_ros_support import touch_markers
from oomwoo_clean.bump_map_store import BumpMapFileError, same_home
from oomwoo_localization.frames import compose
from oomwoo_localization.frames_ros_support import FrameTree
from oomwoo_localization.grids import GridError
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import (
    grid_from_msg,
    grid_to_msg,
    LATCHED_QOS,
    OK,
    pose_from_msg,
    seconds,
    SENSOR_QOS,
    SuiteNode,
    WARN,
)
from oomwoo_localization.settings import setting
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

HALVES = ('left', 'right')
_ASK_S = 0.09                 # wait at least this long to ask tf again
_TICK_S = 0.2
_LOOK_S = 1.0                 # whether somebody still judges the localization is asked this often
_REFIT_S = 1.0                # walls are fitted anew this often at most: 27 ms with 300 touches
_AHEAD_S = 0.2                # odometry older than this is not extrapolated any further


@dataclass(frozen=True)
class NodeSettings(BumpMapSettings):
    """Settings of the bump map and of its node."""

    map_frame: str = setting('map', 'frame of the map', live=False)
    odom_frame: str = setting('odom', 'frame of odometry', live=False)
    file: str = setting(
        '', 'where it is kept: a .npz, or a map file (.yaml) to keep it beside; empty: nowhere',
        live=False)
    autosave: bool = setting(True, 'save at the end, if there is a file')
    period_s: float = setting(
        2.0, 'the grid is published this often while only the floor passed over grows', 's',
        0.2, 60.0)
    stale_s: float = setting(
        1.0, 'bumper or odometry silent for this long is trouble', 's', 0.1, 60.0)
    localizer_stale_s: float = setting(
        3.0, 'a transform map -> odom older than this counts as lost', 's', 0.2, 600.0)


class BumpMapNode(SuiteNode):
    """Feeds a :class:`BumpMap` and publishes what it knows."""

    def __init__(self, **kwargs):
        """Declare parameters, topics and services; raises SettingError for a wrong file."""
        super().__init__('bump_map', NodeSettings, **kwargs)
        self._map = BumpMap(self.settings)
        self._frames = FrameTree(self)
        self._path = bump_map_path(self.settings.file)
        self._refused = ''                 # why the file on disk was not taken
        self._loaded = self._path is None
        self._odom = None                  # pose, (m/s, rad/s), stamp_s, when it came
        self._said_lost = False            # by localization_health
        self._judged = (-math.inf, False)  # when that was asked, whether anybody is there to say
        self._localized, self._asked_s = (None, -math.inf), -math.inf
        self._heard_s = dict.fromkeys(HALVES, None)
        self._published = (-1, -math.inf, None)      # version, when, touches
        self._wall_count = 0
        self._grids = self.create_publisher(OccupancyGrid, 'bump_map', LATCHED_QOS)
        self._walls = self.create_publisher(MarkerArray, 'bump_map/walls', LATCHED_QOS)
        self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        self.create_subscription(Odometry, 'odom', self._on_odom, SENSOR_QOS)
        self.create_subscription(
            Bool, 'localization_health/lost', self._on_lost, LATCHED_QOS)
        for half in HALVES:
            self.create_subscription(
                Bool, f'bumper/{half}', lambda msg, half=half: self._on_bumper(half, msg.data), 10)
        self.create_service(Trigger, '~/save', self._on_save)
        self.create_service(Trigger, '~/clear', self._on_clear)
        self.create_timer(_TICK_S, self._tick)

    # -- input ------------------------------------------------------------------------------

    def _on_map(self, msg):
        try:
            grid = grid_from_msg(msg)
        except GridError as error:
            self.get_logger().warning(f'{self.resolve_topic_name("map")} not taken: {error}')
            return
        old = self._map.reference
        if old is not None and not same_home(old, grid):
            self._begin_anew()
        self._map.reference = grid
        if not self._loaded:
            self._load()
        self._published = (-1, -math.inf, None)

    def _begin_anew(self):
        """Keep the touches with the map that they were made on; another map begins with none."""
        count, saved, what = self._map.placed, True, 'there were no touches'
        if count and self._path is not None and self.settings.autosave:
            saved, what = self._save()
        elif count:
            what = f'{count} touches of the old one are forgotten'
        self._map.clear()
        self._loaded, self._refused = self._path is None, ''
        message = f'another map: {what}; begins an empty bump map'
        if saved:
            self.get_logger().info(message)
        else:
            self.get_logger().error(message)

    def _load(self):
        """Take over the file; one of another map is tried again when another map comes."""
        self._loaded, self._refused = True, ''
        try:
            if not self._path.exists():
                return
            self._map.load(self._path)
        except OSError as error:           # a name too long, a folder without permission
            self._loaded = False
            self._refused = f'{self._path}: cannot be read ({error.strerror})'
            return
        except BumpMapFileError as error:
            self._loaded, self._refused = False, str(error)
            return
        self.get_logger().info(f'{self._map.placed} touches from {self._path}')

    def _on_odom(self, msg):
        pose = pose_from_msg(msg.pose.pose)
        twist, stamp_s = msg.twist.twist, seconds(msg.header.stamp)
        if not np.isfinite([*pose, twist.linear.x, twist.angular.z]).all():
            return                             # as good as none: the status will say so
        self._odom = pose, (twist.linear.x, twist.angular.z), stamp_s, self.now_s()
        # A localizer says something new with each scan at most.
        if abs(self._odom[3] - self._asked_s) >= _ASK_S:
            self._asked_s = self._odom[3]
            self._localize()
        self._map.moved(pose, stamp_s)

    def _localize(self):
        """Hand on where odom lies in the map, whenever that is said anew."""
        found = self._frames.stamped_pose(self.settings.map_frame, self.settings.odom_frame)
        if found is None:
            return
        pose, stamp_s = found
        now_s = self.now_s()
        fixed = stamp_s <= 0.0                       # a static transform is always of now
        if fixed or stamp_s != self._localized[1]:
            # AMCL dates its transform into the future.
            self._localized = (now_s, stamp_s)
            self._map.localized(pose, now_s if fixed else min(stamp_s, now_s))

    def _on_lost(self, msg):
        self._said_lost = msg.data
        self._watch_localization()

    def _on_bumper(self, half, pressed):
        now_s = self.now_s()
        self._heard_s[half] = now_s
        if self._odom is None or now_s - self._odom[3] > self.settings.stale_s:
            return                             # nobody knows where: a press that goes on counts
        pose, speed, stamp_s, _ = self._odom
        self._map.bumper(half, pressed, driven_on(pose, *speed, now_s - stamp_s), now_s)

    # -- watch ------------------------------------------------------------------------------

    def _watch_localization(self):
        heard_s = self._localized[0]
        missing = (
            heard_s is None or self.now_s() - heard_s > self.settings.localizer_stale_s)
        lost = self._said_lost and self._is_judged()
        self._map.lost(lost or missing, self.now_s())
        return 'no transform' if missing else 'lost' if lost else ''

    def _is_judged(self):
        """Tell whether anybody can still take back that the robot is lost."""
        now_s, (asked_s, there) = self.now_s(), self._judged
        if not 0.0 <= now_s - asked_s < _LOOK_S:
            there = self.count_publishers('localization_health/lost') > 0
            self._judged = now_s, there
        return there

    def _tick(self):
        now_s = self.now_s()
        for half, heard_s in self._heard_s.items():
            if heard_s is not None and now_s - heard_s > self.settings.stale_s:
                self._map.bumper_silent(half, now_s)
        unplaced = self._watch_localization()
        self._publish()
        self._say(unplaced)

    def _say(self, unplaced):
        """Publish the state, the most serious thing first, and the counts."""
        now_s, settings = self.now_s(), self.settings
        silent = [
            self.resolve_topic_name(f'bumper/{half}') for half, at in self._heard_s.items()
            if at is None or now_s - at > settings.stale_s]
        stuck = [
            f'{half} half pressed {"from the start" if why == "from the start" else "for ever"}'
            for half, why in sorted(self._map.bumper_stuck.items())]
        level, state, code = WARN, 'WAITING', ''
        if self._odom is None or now_s - self._odom[3] > settings.stale_s:
            code, text = 'NO_ODOMETRY', f'nothing on {self.resolve_topic_name("odom")}'
        elif unplaced == 'no transform':
            state, code = 'LOST', 'NO_TRANSFORM'
            text = (f'no transform {settings.map_frame} <- {settings.odom_frame}: touches wait '
                    'for a place')
        elif unplaced:
            state, code = 'LOST', 'LOST'
            text = 'localization is lost: touches wait until it is found again'
        elif silent:
            code, text = 'NO_BUMPER', f'nothing on {" and ".join(silent)}'
        elif stuck:
            state, code = 'MAPPING', 'BUMPER_STUCK'
            text = f'bumper: {" and ".join(stuck)}: not recorded until it is released'
        elif self._map.reference is None:
            code, text = 'NO_MAP', (
                f'no map on {self.resolve_topic_name("map")}: walls, but no grid')
        elif self._refused:
            state, code, text = 'MAPPING', 'FILE_REFUSED', f'not taken over: {self._refused}'
        else:
            level, state, text = OK, 'MAPPING', 'mapping what the bumper feels'
        self.set_status(level, text, state, code, evidence={
            'touches': self._map.placed, 'walls': self._wall_count,
            'waiting': self._map.waiting, **self._map.counts})

    # -- output -----------------------------------------------------------------------------

    def _publish(self):
        now_s, version = self.now_s(), self._map.version
        before, when_s, touches = self._published
        if version == before:
            return
        now_touches = self._map.touch_version
        wait_s = self.settings.period_s if now_touches == touches else _REFIT_S
        if now_s - when_s < wait_s:
            return
        self._published = version, now_s, now_touches
        stamp = self.get_clock().now().to_msg()
        if self._map.reference is not None:
            self._grids.publish(
                grid_to_msg(self._map.grid(), self.settings.map_frame, stamp))
        if now_touches != touches:
            self._wall_count = len(self._map.walls())
            self._walls.publish(touch_markers(
                self._map.walls(), self._map.contacts(), self.settings.contact_radius_m,
                self.settings.map_frame, stamp))

    # -- services and life ------------------------------------------------------------------

    def _on_save(self, _, response):
        response.success, response.message = self._save()
        return response

    def _save(self):
        if self._path is None:
            return False, 'nowhere to save to: parameter file is empty'
        if self._map.reference is None:
            return False, f'not saved: no map on {self.resolve_topic_name("map")} yet'
        if self._refused:
            return False, (
                f'not saved: {self._refused}; move that file away, or ~/clear to give it up')
        try:
            self._map.save(self._path)
        except OSError as error:
            return False, f'{self._path}: cannot be written ({error.strerror})'
        return True, f'{self._map.placed} touches saved to {self._path}'

    def _on_clear(self, _, response):
        count = self._map.placed
        self._map.clear()
        self._loaded, self._refused = True, ''         # or the next map would bring it all back
        response.success, response.message = True, f'forgot {count} touches'
        return response

    def settings_changed(self):
        """Take over parameters that were set while running."""
        self._map.configure(self.settings)

    def time_went_back(self):
        """Keep the map; forget what is newer than the clock."""
        self._map.time_went_back()
        self._frames.clear()
        self._odom, self._localized = None, (None, -math.inf)
        self._heard_s = dict.fromkeys(HALVES, None)
        self._published = (-1, -math.inf, None)
        self.get_logger().warning('the clock jumped back: recent touches move no more')

    def stop(self):
        """Save, if that is wanted."""
        if self._path is not None and self.settings.autosave and self._map.placed:
            saved, message = self._save()
            if saved:
                self.get_logger().info(message)
            else:
                self.get_logger().error(message)


def bump_map_path(file):
    """Return the path of a bump map: a ``.npz`` itself, or beside a map's ``.yaml``; or None."""
    if not file:
        return None
    path = Path(file).expanduser()
    if path.suffix in ('.yaml', '.yml'):
        return path.with_suffix('.bump.npz')
    if path.suffix != '.npz':
        raise ValueError(f'file: expected a .npz or a map file (.yaml), got {file!r}')
    return path


def driven_on(pose, linear, angular, seconds_on):
    """Return the pose (x, y, yaw) after going on at a speed, for a fraction of a second."""
    time_s = min(max(seconds_on, 0.0), _AHEAD_S)
    return compose(pose, (
        linear * time_s * math.cos(angular * time_s / 2),
        linear * time_s * math.sin(angular * time_s / 2), angular * time_s))


def main():
    """Run the node."""
    return run_node(BumpMapNode)


if __name__ == '__main__':
    sys.exit(main())
