"""What the station says of itself: its record, clock, ports, sinks, ways to people and disk, each an alarm. Pure.

A fault of the station is as quiet as a compliant discharge unless it is told. The shell says how things are
(`station_facts`); delays make an alarm of what lasts.
"""

from collections.abc import Iterable, Mapping

from gateway.model import Condition, Severity
from gateway.site import AlarmPolicy, Site

__all__ = [
    "CLOCK",
    "DISK",
    "JOURNAL",
    "TEXTS",
    "StationWatch",
    "bus_alarm",
    "sink_alarm",
    "station_policies",
    "way_alarm",
]

JOURNAL, CLOCK, DISK, TEXTS = "journal", "clock", "disk", "texts"
_MIN_US = 60_000_000


def bus_alarm(bus: str) -> str:
    """The alarm that nothing on a port can be reached."""
    return f"bus-{bus}"


def sink_alarm(sink: str) -> str:
    """The alarm that a sink has taken nothing for long."""
    return f"sink-{sink}"


def way_alarm(notifier: str) -> str:
    """The alarm that no text can go out by one way."""
    return f"way-{notifier}"


def station_policies(buses: Iterable[str], sinks: Iterable[str], ways: Iterable[str]) -> dict[str, AlarmPolicy]:
    """How these alarms behave unless the site file says otherwise. Delays and severities are ours.

    A record that cannot be written and a text that reached nobody call people at once; the rest is for working hours.
    """
    policies = [
        _policy(JOURNAL, Severity.HIGH, 1, "record", "Not recorded. Check disk and power of the cabinet."),
        _policy(TEXTS, Severity.HIGH, 0, "text not sent", "A text reached nobody. See alarms list."),
        _policy(CLOCK, Severity.WARNING, 60, "clock", "Nobody vouches for the time. Check network and RTC."),
        _policy(DISK, Severity.WARNING, 5, "disk nearly full", "Make room, or change the card."),
    ]
    policies += [
        _policy(bus_alarm(name), Severity.WARNING, 0.5, f"line {name}", "Check adapter, cable and power.")
        for name in buses
    ]
    policies += [
        _policy(sink_alarm(name), Severity.WARNING, 10, f"{name} takes nothing", "Check network and broker.")
        for name in sinks
    ]
    policies += [
        _policy(way_alarm(name), Severity.WARNING, 15, f"no text by {name}", "Check modem, card or account.")
        for name in ways
    ]
    return {policy.alarm: policy for policy in policies}


def _policy(alarm: str, severity: Severity, minutes: float, title: str, action: str) -> AlarmPolicy:
    on_delay_us = round(minutes * _MIN_US)
    return AlarmPolicy(
        alarm, severity, on_delay_us=on_delay_us, off_delay_us=min(on_delay_us, _MIN_US), title=title, action=action
    )


class StationWatch:
    """Turns how things are into conditions, each told when it changes."""

    def __init__(self, site: Site) -> None:
        self._policies = site.alarms
        self._said: dict[str, str | None] = {}

    def see(self, facts: Mapping[str, str | None]) -> tuple[Condition, ...]:
        """What is wrong by alarm: a reason, empty when nothing is, None when nobody can tell."""
        conditions = []
        for alarm, wrong in facts.items():
            policy = self._policies.get(alarm)
            if policy is None or (alarm in self._said and self._same(self._said[alarm], wrong)):
                continue
            self._said[alarm] = wrong
            active = None if wrong is None else bool(wrong)
            conditions.append(Condition(alarm, active, policy.severity, wrong or "as it should be"))
        return tuple(conditions)

    @staticmethod
    def _same(before: str | None, now: str | None) -> bool:
        """Whether nothing changed but the words."""
        return (before is None) == (now is None) and bool(before) == bool(now)
