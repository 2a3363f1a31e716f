"""
The ``ros2`` commands that the bare ROS 2 lacks: launch, action and interface.

``env.sh`` puts this folder on the PYTHONPATH where there is no apt ROS 2; ``ros2`` finds the
commands through the ``.egg-info`` beside the package.
"""
