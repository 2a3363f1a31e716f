"""Publishes a map file as ``map`` where Nav2's map server is not installed; same names."""
from dataclasses import dataclass
from pathlib import Path
import sys

from nav2_msgs.srv import LoadMap
from nav_msgs.msg import OccupancyGrid
from nav_msgs.srv import GetMap
from oomwoo_localization.grids import GridError, load_map
from oomwoo_localization.process_ros_support import run_node
from oomwoo_localization.ros_support import grid_to_msg, LATCHED_QOS, OK, SuiteNode, WARN
from oomwoo_localization.settings import setting


@dataclass(frozen=True)
class MapServerSettings:
    """Which map, and in which frame it is."""

    yaml_filename: str = setting(
        '', 'map file (.yaml, as Nav2 and slam_toolbox save it)', live=False)
    frame_id: str = setting('map', 'frame of the map', live=False)


class MapServerNode(SuiteNode):
    """Reads the map at start and on ``~/load_map``; hands it out on ``map`` and ``~/map``."""

    def __init__(self):
        """Load and publish the map; raises GridError naming file and field."""
        super().__init__('map_server', MapServerSettings)
        if not self.settings.yaml_filename:
            raise GridError('map_server: parameter yaml_filename: give it a map file')
        self._publisher = self.create_publisher(OccupancyGrid, 'map', LATCHED_QOS)
        self._publish(self.settings.yaml_filename)
        self.create_service(GetMap, '~/map', self._get)
        self.create_service(LoadMap, '~/load_map', self._load)

    def _publish(self, path):
        grid = load_map(path)
        self._msg = grid_to_msg(grid, self.settings.frame_id, self.get_clock().now().to_msg())
        self._publisher.publish(self._msg)
        rows, columns = grid.shape
        self.set_status(
            OK,
            f'map {Path(path).name}: {columns * grid.resolution:.2f} x '
            f'{rows * grid.resolution:.2f} m, {grid.resolution * 100:.1f} cm a cell',
            state='ACTIVE')

    def _get(self, request, response):
        response.map = self._msg
        return response

    def _load(self, request, response):
        path = request.map_url.removeprefix('file://')
        try:
            self._publish(path)
            response.map, response.result = self._msg, LoadMap.Response.RESULT_SUCCESS
        except GridError as error:
            missing = not Path(path).is_file()
            response.result = (
                LoadMap.Response.RESULT_MAP_DOES_NOT_EXIST if missing
                else LoadMap.Response.RESULT_INVALID_MAP_METADATA)
            self.set_status(
                WARN, f'map not loaded, the one before stays: {error}', 'ACTIVE', 'bad_map')
        return response


def main(args=None):
    """Run the node."""
    return run_node(MapServerNode, args)


if __name__ == '__main__':
    sys.exit(main())
