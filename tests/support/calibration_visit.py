"""One visit to a pH probe, written down: fouled, cleaned, found 0.1 high in both buffers, recalibrated, left right."""

from typing import Any

__all__ = ["STARTED_US", "visit_record"]

STARTED_US = 1_782_835_200 * 1_000_000  # 2026-06-30T16:00:00Z


def visit_record(**changes: Any) -> dict[str, Any]:
    """Every field of a record; what is given wins."""
    return {
        "channel": "ph",
        "technician": "J. Tech",
        "sensor_serial": "A1234",
        "started_utc_us": STARTED_US,
        "stopped_utc_us": STARTED_US + 1800 * 1_000_000,
        "reason": "routine",
        "cleaning": "brush, 5 % HCl for two minutes",
        "accepted": True,
        "reference_instrument": "hand-held pH meter",
        "reference_serial": "R77",
        "reference_calibrated_on": "2026-06-30",
        "response_s": 14.0,
        "standards": [
            {"name": "4", "temperature_c": 25.0, "lot": "L4", "expires": "2027-01-31"},
            {"name": "7", "temperature_c": 25.0, "lot": "L7", "expires": "2027-01-31"},
        ],
        "readings": [
            {"phase": "before cleaning", "place": "process", "value": 7.40, "reference": 7.10},
            {"phase": "after cleaning", "place": "process", "value": 7.25, "reference": 7.15},
            {"phase": "check", "place": "4", "value": 4.10},
            {"phase": "check", "place": "7", "value": 7.10},
            {"phase": "final", "place": "4", "value": 4.01},
            {"phase": "final", "place": "7", "value": 7.00},
            {"phase": "final", "place": "process", "value": 7.16, "reference": 7.15},
        ],
        **changes,
    }
