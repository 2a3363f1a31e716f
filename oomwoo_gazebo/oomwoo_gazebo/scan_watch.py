"""Why no scan comes out of a simulator that renders it: what is heard tells what is missing."""
import glob
import os

CLOCK, JOINTS, SCAN = 'clock', 'joint_states', 'scan'

# dxg is the graphics card under WSL.
CARDS = 'dri/renderD*', 'nvidia[0-9]*', 'dxg'


def software_rendering(environment=os.environ):
    """Tell whether Mesa is asked to render in software."""
    return environment.get('LIBGL_ALWAYS_SOFTWARE', '').lower() in ('1', 'true')


def has_card(devices='/dev'):
    """Tell whether there is anything that renders."""
    return any(glob.glob(f'{devices}/{pattern}') for pattern in CARDS)


def unrendered(software, card):
    """Return why a LiDAR may not be rendered in a world that runs, and what to try."""
    if card and not software:
        advice = ('the driver of the card may not do EGL, or the card may be too old for ogre2 '
                  '(OpenGL 3.3): try LIBGL_ALWAYS_SOFTWARE=1 and headless:=true, in the container '
                  'OOMWOO_GL=software')
    elif software:
        advice = ('software rendering takes Mesa (apt packages libegl1, libgl1-mesa-dri) and a '
                  'quarter of a core; see whether Gazebo complained about EGL or ogre2')
    else:
        advice = ('there is no graphics card: start with headless:=true, or set '
                  'LIBGL_ALWAYS_SOFTWARE=1 and EGL_PLATFORM=surfaceless')
    return f'Gazebo runs and does not render the LiDAR; {advice}'


def diagnosis(heard, software, card):
    """
    Return (reason_code, sentence) for a scan that does not come.

    ``heard`` is the set of topics, of ``clock``, ``joint_states`` and ``scan``, that were heard;
    ``software`` tells whether software rendering is asked for, ``card`` whether there is a
    graphics card.
    """
    if SCAN in heard:
        return 'scan_ceased', 'the scan has ceased; Gazebo is paused, hangs or has ended'
    if JOINTS in heard:
        return 'no_rendering', unrendered(software, card)
    if CLOCK in heard:
        return 'no_robot', ('Gazebo runs without the robot: see what ros_gz_sim create and '
                            'robot_state_publisher said')
    return 'no_gazebo', ('no clock: Gazebo has not started, or ros_gz_bridge does not hear it '
                         '(GZ_PARTITION, GZ_IP)')
