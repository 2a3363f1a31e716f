"""What the embedded simulator gets wrong on purpose, and how finely it computes."""
from dataclasses import dataclass
import math

from oomwoo_localization.settings import check_settings, setting, SettingError
from oomwoo_sim_support.battery import BatterySettings

TICK_S = 0.01                 # bumpers and encoders are read this often


@dataclass(frozen=True)
class SimSettings(BatterySettings):
    """
    Settings of :class:`~oomwoo_sim_support.embedded_sim.EmbeddedSim`.

    Every ``..._std`` of a calibration error is one sigma; the seed draws the robot that one gets.
    """

    range_noise_std: float = setting(
        -1.0, 'one sigma of a range; negative: as robot.yaml says', 'm', -1.0, 0.5)
    dropout_rate: float = setting(0.005, 'share of beams that return nothing', '', 0.0, 1.0)
    no_return: str = setting('inf', 'how a beam without return reads (REP-117 says inf)', '',
                             choices=('inf', 'zero', 'nan'))
    beams: int = setting(0, 'beams per turn; 0: as robot.yaml says', '', 0, 4000, live=False)
    scan_angle_min_deg: float = setting(
        -180.0, 'direction of the first beam in base_scan', 'deg', -360.0, 360.0, live=False)
    scan_clockwise: bool = setting(
        False, 'the scanner turns clockwise: negative angle increment', live=False)
    wheel_radius_mismatch_std: float = setting(
        0.002, 'relative difference between the two believed wheel radii', '', 0.0, 0.1,
        live=False)
    track_error_std: float = setting(
        0.005, 'relative error of the believed wheel track', '', 0.0, 0.2, live=False)
    encoder_scale_std: float = setting(
        0.003, 'relative error of both believed wheel radii', '', 0.0, 0.1, live=False)
    slip_noise_std: float = setting(
        0.002, 'random walk of each encoder, one sigma after one metre', 'm', 0.0, 0.1, live=False)
    tyre_friction: float = setting(
        0.6, 'grip of a tyre on the bare floor', '', 0.01, 3.0, live=False)
    tyre_scrub: float = setting(
        0.007, 'torsional friction of a tyre, which resists turning', 'm', 0.0, 0.1, live=False)
    tyre_stiffness: float = setting(
        0.1, 'friction to normal impedance (impratio); lower: more creep', '', 0.01, 10.0,
        live=False)
    ramp: bool = setting(True, 'the base ramps its wheels as robot.yaml says', live=False)
    gyro_bias_std: float = setting(
        0.002, 'constant error of the gyro', 'rad/s', 0.0, 0.5, live=False)
    gyro_noise_std: float = setting(0.003, 'noise of a gyro reading', 'rad/s', 0.0, 0.5)
    accelerometer_noise_std: float = setting(
        0.05, 'noise of an accelerometer reading', 'm/s^2', 0.0, 5.0)
    dock_present: bool = setting(True, 'the dock of the layout is there', live=False)
    dock_offset_x_m: float = setting(
        0.0, 'the dock stands this far ahead of where the layout says', 'm', -2.0, 2.0, live=False)
    dock_offset_y_m: float = setting(
        0.0, 'the dock stands this far to its left', 'm', -2.0, 2.0, live=False)
    dock_offset_yaw_deg: float = setting(
        0.0, 'the dock is turned by this about the middle of its mouth', 'deg', -180.0, 180.0,
        live=False)
    dock_mass_kg: float = setting(2.5, 'mass of the dock', 'kg', 0.1, 50.0, live=False)
    dock_friction: float = setting(
        0.4, 'between dock and floor', '', 0.01, 3.0, live=False)
    beacon_on: bool = setting(True, 'the beacon of the dock shines', live=False)
    dead_receiver: str = setting(
        'none', 'infrared receiver that reads nothing', '', choices=('none', 'left', 'right'),
        live=False)
    timestep_s: float = setting(
        0.005, 'physics step; a whole number of them makes 10 ms', 's', 0.0005, 0.005, live=False)

    def check(self):
        """Return the settings, or raise SettingError naming the one that is wrong."""
        check_settings(self)
        steps = TICK_S / self.timestep_s
        if not math.isclose(steps, round(steps), rel_tol=1e-9):
            raise SettingError(f'timestep_s: {self.timestep_s} s does not divide {TICK_S} s')
        return self


NO_ERRORS = {
    'range_noise_std': 0.0, 'dropout_rate': 0.0, 'wheel_radius_mismatch_std': 0.0,
    'track_error_std': 0.0, 'encoder_scale_std': 0.0, 'slip_noise_std': 0.0,
    'gyro_bias_std': 0.0, 'gyro_noise_std': 0.0, 'accelerometer_noise_std': 0.0}


def perfect_sensors(**changes):
    """Return settings without any sensor or calibration error; the physics stays as it is."""
    return SimSettings(**{**NO_ERRORS, **changes})
