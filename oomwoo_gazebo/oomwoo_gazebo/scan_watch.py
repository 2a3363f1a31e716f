"""Why no scan comes out of a simulator that renders it: what is heard tells what is missing."""

CLOCK, JOINTS, SCAN = 'clock', 'joint_states', 'scan'


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
        if card and not software:
            advice = ('its driver may not do EGL: try LIBGL_ALWAYS_SOFTWARE=1 and '
                      'headless:=true')
        elif software:
            advice = 'software rendering takes Mesa (apt packages libegl1, libgl1-mesa-dri)'
        else:
            advice = ('there is no graphics card: start with headless:=true, or set '
                      'LIBGL_ALWAYS_SOFTWARE=1')
        return 'no_rendering', f'Gazebo runs and does not render the LiDAR; {advice}'
    if CLOCK in heard:
        return 'no_robot', ('Gazebo runs without the robot: see what ros_gz_sim create and '
                            'robot_state_publisher said')
    return 'no_gazebo', ('no clock: Gazebo has not started, or ros_gz_bridge does not hear it '
                         '(GZ_PARTITION, GZ_IP)')
