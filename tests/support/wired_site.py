"""A small site with contacts, outputs and a sampler, and ways to speak to what drives them."""

from collections.abc import Mapping
from dataclasses import replace

from gateway.model import Finding, FindingEvent, Instant, Mode, Quality, Reading, Severity, Verdict
from gateway.outputs.wired import (
    Carried,
    CompositePlan,
    ContactInput,
    ContactRole,
    GrabPlan,
    Output,
    OutputRole,
    Result,
    Sampler,
)
from gateway.site import AlarmPolicy, Channel, Discharging, Site, Witness
from gateway.site_outputs import output_alarms
from tests.support.small_site import SLUG, small_site

__all__ = ["LIMIT", "MIN", "S", "at", "contact_channel", "done", "finding", "output", "reading", "undone", "wired_site"]

S = 1_000_000
MIN = 60 * S
START_UTC_US = 1_782_886_440 * S
LIMIT = replace(
    SLUG, id="lv-ph-low", alarm="lv-ph-low", clause="§ 194-6C(7)", title="pH low", kind="limit", channel="ph",
    comparison="<", unit="pH", limit=5.5, factor=None, baseline=None, quantity="pH", duration_us=0, prealarms_us=(),
)  # fmt: skip


def at(second: float) -> Instant:
    """A moment so many seconds after the start."""
    return Instant(START_UTC_US + round(second * S), round(second * S))


def contact_channel(name: str) -> Channel:
    """A contact that is polled every second and held for two and a half."""
    return Channel(name, "contact", "state", S, 2_500_000, 2_500_000)


def reading(
    channel: str, second: float, value: float | None, mode: Mode = Mode.RUN, quality: Quality = Quality.GOOD
) -> Reading:
    """A reading; without a value a missing one."""
    if value is None:
        return Reading(channel, at(second), (), None, Quality.MISSING, ("silent",), mode)
    return Reading(channel, at(second), (), value, quality, (), mode)


def output(name: str, role: OutputRole, **more: object) -> Output:
    """An output on the relay module, its coil by the length of its name."""
    return replace(Output(name, "relays", role, "coil", len(name)), **more)


def finding(second: float, event: FindingEvent, rule: str = "lv-ph-low", verdict: Verdict | None = None) -> Finding:
    """What a rule found, proven unless it is a pre-alarm or said otherwise."""
    usual = Verdict.COMPLIANT if event in (FindingEvent.PREALARM, FindingEvent.CLEARED) else Verdict.EXCEEDED
    moment = at(second)
    return Finding(
        event, rule, "§ 194-6C(7)", "ph", verdict or usual, moment, moment, 0, "below", "pH", observed=3.9, limit=5.5
    )


def done(order: object, second: float) -> Carried:
    """The order was done."""
    return Carried(order, Result.DONE, at(second))


def undone(order: object, second: float, result: Result = Result.FAILED) -> Carried:
    """The order was not done."""
    return Carried(order, result, at(second), "no answer")


def wired_site(
    inputs: Mapping[str, ContactRole] | None = None,
    outputs: tuple[Output, ...] = (),
    composite: CompositePlan | None = None,
    grab: GrabPlan | None = None,
) -> Site:
    """The small site with these contacts (normally closed doors and lids, others normally open) and outputs."""
    site = small_site()
    wired = {
        name: ContactInput(name, role, role in (ContactRole.DOOR, ContactRole.LID), 0)
        for name, role in (inputs or {}).items()
    }
    channels = {**site.channels, **{name: contact_channel(name) for name in wired}}
    sampler = Sampler(composite, grab)
    named = {one.name: one for one in outputs}
    alarms = {
        "lv-slug-flow": AlarmPolicy("lv-slug-flow", Severity.HIGH),
        "lv-ph-low": AlarmPolicy("lv-ph-low", Severity.HIGH),
        **{f"sensor-{name}": AlarmPolicy(f"sensor-{name}", Severity.WARNING) for name in channels},
        **output_alarms(wired, named, sampler, channels),
    }
    return replace(
        site, channels=channels, rules=(SLUG, LIMIT), inputs=wired, outputs=named, sampler=sampler, alarms=alarms,
        discharging=Discharging((Witness("flow", 2.0),), on_delay_us=0, off_delay_us=0),
    )  # fmt: skip
