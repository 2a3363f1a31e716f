"""Writes the map on ``map`` to a file and ends, where Nav2's map saver is not installed."""
from dataclasses import dataclass, replace
from pathlib import Path
import sys

from nav_msgs.msg import OccupancyGrid
from oomwoo_localization.grids import GridError, save_map
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import ERROR, grid_from_msg, LATCHED_QOS, OK, SuiteNode
from oomwoo_localization.settings import setting, SettingError
from rclpy.clock import Clock, ClockType


@dataclass(frozen=True)
class MapSaverSettings:
    """Where to write, and how long to wait."""

    path: str = setting('', 'file to write, with or without .yaml; the picture goes beside it')
    patience_s: float = setting(10.0, 'wall time within which a map has to come', 's', 0.1, 600.0)


class MapSaverNode(SuiteNode):
    """Takes the first map that comes; ``exit_status`` is 0 when it is on the disk."""

    def __init__(self):
        """Listen; raises SettingError when the folder is not there."""
        super().__init__('map_saver', MapSaverSettings)
        self.exit_status, self.done = 1, False
        if not self.settings.path:
            raise SettingError('map_saver: parameter path: give it a file to write')
        path = self.settings.path.removesuffix('.yaml')
        self._path = Path(f'{path}.yaml').expanduser().absolute()
        if not self._path.parent.is_dir():
            raise SettingError(f'map_saver: parameter path: no folder {self._path.parent}')
        self.create_subscription(OccupancyGrid, 'map', self._on_map, LATCHED_QOS)
        # A paused simulator must not keep it waiting.
        self.create_timer(
            self.settings.patience_s, self._give_up, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_map(self, msg):
        if self.done:
            return
        try:
            grid = grid_from_msg(msg)
            # A message carries it in single precision: 0.025 comes as 0.02500000037.
            grid = replace(grid, resolution=round(grid.resolution, 6))
            yaml_path, _ = save_map(grid, self._path)
        except (GridError, OSError) as error:
            self._end(ERROR, f'the map is not saved: {error}', 1)
            return
        rows, columns = grid.shape
        self._end(
            OK, f'saved {yaml_path}: {columns * grid.resolution:.2f} x '
            f'{rows * grid.resolution:.2f} m, {grid.resolution * 100:.1f} cm a cell', 0)

    def _give_up(self):
        if not self.done:
            self._end(
                ERROR, f'no map on {self.resolve_topic_name("map")} within '
                f'{self.settings.patience_s:.0f} s; nothing is saved', 1)

    def _end(self, level, message, status):
        self.set_status(level, message, 'DONE' if level == OK else 'FAILED')
        self.exit_status, self.done = status, True


def main(args=None):
    """Run the node."""
    return run_node(MapSaverNode, args)


if __name__ == '__main__':
    sys.exit(main())
