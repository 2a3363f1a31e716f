"""What a simulated battery says in the graph."""
import math

from sensor_msgs.msg import BatteryState

FULL_V, EMPTY_V, CAPACITY_AH = 16.4, 12.8, 2.6           # four lithium cells
DRIVING_A, CHARGING_A = -1.3, 1.0


def battery_msg(charge, charging, stamp):
    """Return a sensor_msgs/BatteryState; ``charge`` 0..1, ``stamp`` a builtin_interfaces Time."""
    msg = BatteryState(
        voltage=EMPTY_V + (FULL_V - EMPTY_V) * charge,
        current=CHARGING_A if charging else DRIVING_A, temperature=math.nan, present=True,
        charge=CAPACITY_AH * charge, capacity=CAPACITY_AH, design_capacity=CAPACITY_AH,
        percentage=charge,
        power_supply_status=(
            BatteryState.POWER_SUPPLY_STATUS_CHARGING if charging
            else BatteryState.POWER_SUPPLY_STATUS_DISCHARGING),
        power_supply_health=BatteryState.POWER_SUPPLY_HEALTH_GOOD,
        power_supply_technology=BatteryState.POWER_SUPPLY_TECHNOLOGY_LION)
    msg.header.stamp = stamp
    return msg
