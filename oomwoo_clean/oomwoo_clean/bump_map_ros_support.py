"""What a bump map's node says in messages: walls and touches as markers."""
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

_WALL_RGB, _TOUCH_RGB = (0.9, 0.1, 0.1), (1.0, 0.6, 0.0)
_LINE_M = 0.03
_ABOVE_FLOOR_M = 0.02


def touch_markers(walls, points, contact_radius_m, frame_id, stamp):
    """
    Return a MarkerArray of all walls as one list of lines, and touches as one of spheres.

    ``walls`` are :class:`.bump_walls.WallSegment`, ``points`` (N, 2), both in ``frame_id``.
    """
    lines = _marker('walls', Marker.LINE_LIST, _LINE_M, _WALL_RGB)
    lines.points = [_point(end) for wall in walls for end in (wall.start, wall.end)]
    spheres = _marker('touches', Marker.SPHERE_LIST, 2.0 * contact_radius_m, _TOUCH_RGB)
    spheres.points = [_point(xy) for xy in points]
    for marker in (lines, spheres):
        marker.header.frame_id, marker.header.stamp = frame_id, stamp
    return MarkerArray(markers=[lines, spheres])


def _marker(namespace, kind, size_m, rgb):
    marker = Marker(ns=namespace, type=kind, action=Marker.ADD)
    marker.pose.orientation.w = 1.0
    marker.scale.x = marker.scale.y = marker.scale.z = size_m
    marker.color = ColorRGBA(r=rgb[0], g=rgb[1], b=rgb[2], a=1.0)
    return marker


def _point(xy):
    return Point(x=float(xy[0]), y=float(xy[1]), z=_ABOVE_FLOOR_M)
