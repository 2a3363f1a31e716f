"""The dock's sizes as settings of a node that finds it or drives into it."""
from dataclasses import dataclass

from oomwoo_localization.dock import DockShape
from oomwoo_localization.settings import setting


@dataclass(frozen=True)
class DockShapeSettings:
    """Settings that come to a :class:`~oomwoo_localization.dock.DockShape`."""

    dock_width: float = setting(
        DockShape.width, 'inside width of the bay', 'm', 0.1, 2.0, live=False)
    dock_depth: float = setting(
        DockShape.depth, 'inside depth of the bay', 'm', 0.05, 2.0, live=False)
    dock_panel: float = setting(
        DockShape.panel, 'thickness of the side panels', 'm', 0.001, 0.5, live=False)
    dock_back: float = setting(
        DockShape.back, 'thickness of the back', 'm', 0.001, 0.5, live=False)

    @property
    def dock_shape(self):
        """Return the :class:`~oomwoo_localization.dock.DockShape` of these sizes."""
        return DockShape(self.dock_width, self.dock_depth, self.dock_panel, self.dock_back)
