"""A small site with alarms of every behaviour, for tests of the alarm engine."""

from collections.abc import Mapping
from dataclasses import replace

from gateway.alarms.engine import AlarmEngine, EngineStep
from gateway.model import Condition, Instant, Severity
from gateway.site import AlarmPolicy, Contact, Site
from tests.support.small_site import SLUG, small_site

__all__ = ["ANN", "BOB", "S", "alarm_site", "at", "lines", "say", "texts"]

S = 1_000_000
ANN = Contact("ann", "Ann", ("bench",), from_severity=Severity.WARNING)
BOB = Contact("bob", "Bob", ("bench",), from_severity=Severity.HIGH)
START_UTC_US = 1_782_886_440 * S  # 2026-07-01 06:14:00 UTC, 02:14 in New York
PH = replace(
    SLUG, id="ph", alarm="ph", clause="§ 194-6C(7)", title="pH low", kind="limit", channel="ph", comparison="<",
    unit="pH", limit=5.5, factor=None, baseline=None,
)  # fmt: skip


def at(second: float) -> Instant:
    """A moment so many seconds after the start."""
    return Instant(START_UTC_US + round(second * S), round(second * S))


def alarm_site(contacts: tuple[Contact, ...] = (ANN, BOB), **policies: AlarmPolicy) -> Site:
    """The small site with the alarms given, else one plain alarm `ph` and its sensor's."""
    alarms: Mapping[str, AlarmPolicy] = {p.alarm: p for p in policies.values()} or {
        "ph": AlarmPolicy("ph", Severity.HIGH),
        "sensor-ph": AlarmPolicy("sensor-ph", Severity.WARNING),
    }
    return replace(small_site(contacts=contacts), alarms=alarms, rules=(PH,))


def say(engine: AlarmEngine, second: float, **causes: object) -> EngineStep:
    """One update: `ph=True`, `ph=None`, `ph=Severity.NOTICE` (true at that severity); `sensor_ph` for `sensor-ph`."""
    conditions = []
    for name, cause in causes.items():
        severity = cause if isinstance(cause, Severity) else Severity.HIGH
        active = None if cause is None else bool(cause)
        conditions.append(Condition(name.replace("_", "-"), active, severity, f"{name} is {active}"))
    return engine.update(conditions, at(second))


def lines(step: EngineStep) -> list[str]:
    """The journal lines of a step: second, alarm, edge, occurrence, letters; `!` told, `~` inferred."""
    return [
        f"{e.at.mono_us / S:g} {e.alarm} {e.edge} #{e.occurrence} {e.from_state.value}>{e.to_state.value}"
        + "!" * e.annunciate
        + "~" * e.inferred
        for e in step.events
    ]


def texts(step: EngineStep) -> list[str]:
    """The dedupe keys of a step's messages."""
    return [m.dedupe_key for m in step.messages]
