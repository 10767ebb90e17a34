"""What a language must supply for the texts: one frozen table of phrases per language file."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.model import Severity

__all__ = ["Phrases"]


@dataclass(frozen=True, slots=True)
class Phrases:
    """Every phrase of a text, in ASCII, as short as it can be. Names in braces are filled in by `wording`."""

    severity: Mapping[Severity, str]
    ongoing: str
    suspected: str
    prealarm: str
    prealarm_left: str  # {left}
    ended: str
    since: str  # {time}
    untrusted: str  # after a time whose clock nobody vouches for
    baseline: str  # {factor} {baseline}
    sensor_ok: str
    sensor_near: str  # beyond the limit by less than the sensor's uncertainty
    sensor_fault: str
    reminder: str  # {number}
    acknowledge: str  # {code}
    reference: str  # {code}
    sensor: str  # {channel}
    sensor_action: str
    back: str  # {value}
    back_to_normal: str
    limit: str  # {limit}
    end_not_seen: str  # in place of how long it lasted
    at: str  # {time}
    lowest: str  # {value}
    highest: str  # {value}
    after_restart: str
    seconds: str  # {s}
    minutes: str  # {m}
    hours: str  # {h} {m}
    days: str  # {d} {h}
    acknowledged: str  # {code}
    shelved: str  # {code} {duration}
    not_done: str  # {what} {why}
    which: str  # {codes}
    pin_wanted: str
    help: str  # {code}
    status_head: str  # {time}
    status_alarms: str  # {number}
    nothing_told: str
    put_aside: str  # {names}
    back_after: str  # {time} {gap}
    back_unknown: str  # {time}
