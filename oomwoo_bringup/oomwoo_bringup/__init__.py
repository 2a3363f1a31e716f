"""Nodes of the bringup: the Foxglove server, and what the robot itself needs."""
