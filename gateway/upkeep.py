"""How a site is looked after: how long maintenance may last, what ends it, and how often each channel is calibrated."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["CALIBRATE_EVERY_US", "DEFAULT_US", "MOST_US", "Upkeep", "calibration_alarm"]

_MIN_US = 60_000_000
_DAY_US = 86_400 * 1_000_000

DEFAULT_US = 60 * _MIN_US
MOST_US = 8 * 60 * _MIN_US
_AFTER_DOOR_US = 10 * _MIN_US

CALIBRATE_EVERY_US: Mapping[str, int] = {
    "pH": 28 * _DAY_US,
    "level": 30 * _DAY_US,
    "temperature": 182 * _DAY_US,
    "flow": 365 * _DAY_US,
}
"""How often a quantity is calibrated unless the site file says otherwise; a quantity that is not here has no date.

Field practice, ours: two buffers every two to four weeks, a level once a month, a thermometer twice a year, a flow
device in full once a year.
"""


def calibration_alarm(channel: str) -> str:
    """The id of the alarm that a channel's calibration is overdue."""
    return f"calibration-{channel}"


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The site's own choice. `door` names the contact of the cabinet's door, empty where there is none.

    Maintenance ends by itself once the door has been closed, and every channel concerned steady, for `after_door_us`.
    `calibrate_every_us` by channel.
    """

    default_us: int = DEFAULT_US
    most_us: int = MOST_US
    door: str = ""
    door_closed: float = 1.0  # what the contact reads while the door is closed
    after_door_us: int = _AFTER_DOOR_US
    calibrate_every_us: Mapping[str, int] = field(default_factory=dict)
