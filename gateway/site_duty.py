"""The duty roster of the site file, checked: every name is a contact's or a role somebody has."""

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from gateway.model import Severity
from gateway.problems import Problems
from gateway.site import NO_DUTY, NO_SIGNS, Contact, Duty, DutyStep, SignsOfLife
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path

if TYPE_CHECKING:
    from gateway.config_duty import DutyTable
    from gateway.config_signs import SignsTable

__all__ = ["build_duty", "build_signs"]

_LEAST_US = 60_000_000  # calls closer together than this are no better heard


def build_duty(table: "DutyTable | None", contacts: Iterable[Contact], problems: Problems) -> Duty:
    """The roster; none where the file has none."""
    if table is None:
        return NO_DUTY
    people = {contact.id: contact for contact in contacts}
    steps = [
        DutyStep(step.after, _meant(step.tell, people.values(), ("duty", "steps", index, "tell"), problems))
        for index, step in enumerate(table.steps)
    ]
    if steps and steps[0].after_us:
        problems.error(("duty", "steps", 0, "after"), 'the first step is "0 min": somebody is told at once')
    for index, (before, after) in enumerate(pairwise(steps), start=1):
        if after.after_us <= before.after_us:
            problems.error(("duty", "steps", index, "after"), "must come after the step before")
    severity = Severity[table.from_severity.upper()]
    for name in dict.fromkeys(name for step in steps for name in step.tell):
        if people[name].from_severity > severity:
            asked = people[name].from_severity.name.lower()
            text = f"the roster calls {name} for alarms from {table.from_severity} on, who asks for {asked}"
            problems.warning(("contacts", name, "from_severity"), text)
    repeat_us = NO_DUTY.repeat_us if table.repeat is None else table.repeat
    if repeat_us < _LEAST_US:
        problems.error(("duty", "repeat"), "must be a minute or more")
    reminder_us = NO_DUTY.reminder_us if table.reminder is None else table.reminder or None
    if reminder_us is not None and reminder_us < _LEAST_US:
        problems.error(("duty", "reminder"), "must be a minute or more, or 0 s for never")
    return Duty(tuple(steps), repeat_us, reminder_us, severity)


def build_signs(table: "SignsTable | None", contacts: Iterable[Contact], problems: Problems) -> SignsOfLife:
    """The signs of life; none where the file has none."""
    if table is None:
        return NO_SIGNS
    ping = table.ping or ""
    if ping and not ping.startswith(("http://", "https://")):
        problems.error(("signs", "ping"), "must begin with http:// or https://")
    every_us = NO_SIGNS.ping_every_us if table.ping_every is None else table.ping_every
    if every_us < _LEAST_US:
        problems.error(("signs", "ping_every"), "must be a minute or more")
    return SignsOfLife(
        daily_min=table.daily,
        tell=_meant(table.tell, contacts, ("signs", "tell"), problems),
        ping=ping,
        ping_every_us=every_us,
    )


def _meant(names: Iterable[str], contacts: Iterable[Contact], path: Path, problems: Problems) -> tuple[str, ...]:
    """The contacts that names and roles stand for, each once; one that nobody has is a mistake."""
    contacts = tuple(contacts)
    ids = [contact.id for contact in contacts]
    roles: dict[str, list[str]] = {}
    for contact in contacts:
        if contact.role:
            roles.setdefault(contact.role, []).append(contact.id)
    meant: list[str] = []
    for place, name in enumerate(names):
        if name not in ids and name not in roles:
            text = f"there is no contact and no role {name!r}{did_you_mean(name, (*ids, *roles))}"
            problems.error((*path, place), text)
        meant += [name] if name in ids else roles.get(name, [])
    return tuple(dict.fromkeys(meant))
