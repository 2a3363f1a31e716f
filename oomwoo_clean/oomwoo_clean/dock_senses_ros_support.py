"""What a robot that docks feels beside its scans: bumper, the beacon's receivers, the charger."""
import math

from oomwoo_clean.dock_types import DockObservation
from sensor_msgs.msg import BatteryState
from std_msgs.msg import Bool, Float32

_CHARGING = (BatteryState.POWER_SUPPLY_STATUS_CHARGING, BatteryState.POWER_SUPPLY_STATUS_FULL)


class DockSenses:
    """Keeps the newest of each, and what happened since the last :meth:`observe`."""

    def __init__(self, node, on_bump, on_charging):
        """
        Listen for ``node``, by its settings ``beacon_stale_s`` and ``battery_stale_s``.

        ``on_bump()`` is called when a half is pressed, ``on_charging()`` when it begins to charge.
        """
        self._node, self._on_bump, self._on_charging = node, on_bump, on_charging
        self._pressed = {'left': False, 'right': False}
        self._felt = set()                  # halves pressed since the last step
        self.forget()
        for side in self._pressed:
            node.create_subscription(
                Bool, f'bumper/{side}', lambda msg, side=side: self._on_bumper(side, msg.data), 10)
            node.create_subscription(
                Float32, f'dock_ir/{side}', lambda msg, side=side: self._on_light(side, msg.data),
                10)
        node.create_subscription(BatteryState, 'battery_state', self._on_battery, 10)

    def forget(self):
        """Forget what was read, after a jump back in time; a held bumper is held."""
        self._light = dict.fromkeys(('left', 'right'), (math.nan, -math.inf))
        self._charging, self._charging_s = None, -math.inf

    def observe(self, placed):
        """Return the :class:`DockObservation` of now, with the scan of ``placed`` unless None."""
        now_s = self._node.now_s()
        felt = self._felt | {side for side, pressed in self._pressed.items() if pressed}
        self._felt = set()
        fresh = now_s - self._charging_s <= self._node.settings.battery_stale_s
        scan, mount, odom = (None, None, None) if placed is None else (
            placed.scan, placed.mount, placed.start)
        return DockObservation(
            now_s, scan, mount, odom, 'left' in felt, 'right' in felt, self._ir(now_s),
            self._charging if fresh else None)

    def _ir(self, now_s):
        """Return what (left, right) read lately, NaN for a silent one; None when both are."""
        fresh = tuple(
            strength if now_s - when <= self._node.settings.beacon_stale_s else math.nan
            for strength, when in self._light.values())
        return None if all(map(math.isnan, fresh)) else fresh

    def _on_bumper(self, side, pressed):
        if pressed and not self._pressed[side]:
            self._felt.add(side)
            self._on_bump()
        self._pressed[side] = pressed

    def _on_light(self, side, strength):
        if not math.isfinite(strength):
            self._node.get_logger().warning(
                f'dock_ir/{side}: reading is {strength}; ignored', throttle_duration_sec=5.0)
            return
        self._light[side] = (strength, self._node.now_s())

    def _on_battery(self, msg):
        charging = msg.power_supply_status in _CHARGING
        if charging and not self._charging:
            self._on_charging()
        self._charging, self._charging_s = charging, self._node.now_s()
