"""The launch arguments that several launch files take, each in the same words everywhere."""
from typing import NamedTuple


class Argument(NamedTuple):
    """A launch argument; launch files list their own ones as plain tuples."""

    name: str
    default: str
    description: str

    def having(self, default):
        """Return the same argument with another default."""
        return self._replace(default=default)


USE_SIM_TIME = Argument('use_sim_time', 'true', 'take the time from /clock')
NAMESPACE = Argument('namespace', '', 'namespace of all of it, tf included')
COMPOSE = Argument(
    'compose', 'false',
    'true: these nodes in one process, which takes less CPU; false: a process for each')
ROBOT_FILE = Argument('robot_file', '', 'robot.yaml of this robot; empty: the packaged one')

# Simulators.
SIM = Argument('sim', 'auto', 'auto, embedded or gazebo')
WORLD = Argument(
    'world', 'living_room.world', 'world of the suite, or path of a world or layout file')
START_IN_WORLD = (
    Argument('x_pose', '', 'start in the map frame [m]; empty: where the layout says'),
    Argument('y_pose', '', 'start in the map frame [m]; empty: where the layout says'),
    Argument('yaw', '', 'start heading in the map frame [rad]; empty: as the layout says'))
ODOM_SOURCE = Argument('odom_source', 'robot_wheels', 'robot_wheels or ground_truth')
HEADLESS = Argument(
    'headless', 'auto',
    "without Gazebo's window: true, false, or auto for where there is no display")
GUI = Argument('gui', 'auto', "with Gazebo's window: the opposite of headless")
REAL_TIME_FACTOR = Argument(
    'real_time_factor', '1.0', 'simulated over wall time; 0: as fast as it goes')
COMMAND_WAIT = Argument(
    'command_wait_s', '0.0',
    'wall time that the clock waits for whoever drives to answer a scan [s]; embedded only')
SEED = Argument('seed', '0', 'of all simulated noise')

# Map, localizer, navigator.
MAP = Argument(
    'map', 'living_room.yaml', 'map file, or the name of one that oomwoo_sim_support carries')
START_IN_MAP = (
    Argument('x_pose', '', 'start in the map [m]; all three empty: told later on /initialpose'),
    Argument('y_pose', '', 'start in the map [m]'),
    Argument('yaw', '', 'start heading in the map [rad]'))
START_BY_LAYOUT = (
    Argument(
        'x_pose', '',
        'start in the map [m]; empty: as the layout of the map says, if there is one'),
    Argument('y_pose', '', 'start in the map [m]; empty: the same'),
    Argument('yaw', '', 'start heading in the map [rad]; empty: the same'))
LOCALIZER = Argument('localizer', 'auto', 'auto, scan, slam_toolbox, amcl or truth')
NAV = Argument('nav', 'auto', 'auto, embedded or nav2')
NAV_PARAMS = Argument(
    'nav_params', 'navigation_tight.yaml',
    'parameters of amcl: a file, or the name of one that oomwoo_bringup carries')
NAV2_PARAMS = Argument(
    'params_file', 'nav2_params.yaml',
    'parameters of Nav2: a file, or the name of one that oomwoo_bringup carries')
NAV2_BUMP_MAP = Argument(
    'bump_map', 'false',
    'true: Nav2 keeps off what the bumper has felt; needs the node that publishes /bump_map')
KEEPOUT_MASK = Argument(
    'keepout_mask', '', 'map file whose dark cells Nav2 keeps out of; empty: none')
CONTROLLER = Argument(
    'controller', 'auto',
    'near obstacles: tolerant touches, averse aborts before it would (Nav2: '
    'nav2_collision_averse.yaml), auto: nav2_params.yaml is tolerant, the embedded one '
    'keeps off and backs off')
RVIZ = Argument('rviz', 'true', 'start RViz where it is installed')
RVIZ_CONFIG = Argument(
    'rviz_config', 'navigation.rviz',
    'RViz file, or the name of one that oomwoo_bringup carries')

# Arbitration and jobs.
MUX = Argument(
    'mux', 'auto', 'who arbitrates: auto, twist_mux or velocity_mux; both read twist_mux.yaml')
REFLEX = Argument('reflex', 'true', 'start the escape reflexes; false: arbitration alone')
OUTPUT_DIR = Argument(
    'output_dir', 'out', 'folder for edge_clean.png, edge_clean.json and the saved job')
EDGE_SIDE = Argument('side', 'right', 'side on which edges are followed: right or left')
EDGE_AUTOSTART = Argument(
    'autostart', 'true',
    'begin at once; false: wait for clean_manager/start or the action clean_manager/clean_edges')
EXIT_WHEN_DONE = Argument('exit_when_done', 'true', 'end the launch when the job has ended')
BUMP_MAP_FILE = Argument(
    'bump_map_file', '',
    'where the bump map is kept: a .npz, or a map file (.yaml) to keep it beside; empty: nowhere')
