"""The duty roster of the site file, checked: every name is a contact's or a role somebody has."""

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from gateway.model import Severity
from gateway.problems import Problems
from gateway.site import NO_DUTY, Contact, Duty, DutyStep
from gateway.spelling import did_you_mean

if TYPE_CHECKING:
    from gateway.config_duty import DutyTable

__all__ = ["build_duty"]

_LEAST_US = 60_000_000  # calls closer together than this are no better heard


def build_duty(table: "DutyTable | None", contacts: Iterable[Contact], problems: Problems) -> Duty:
    """The roster; none where the file has none."""
    if table is None:
        return NO_DUTY
    people = {contact.id: contact for contact in contacts}
    roles: dict[str, list[str]] = {}
    for contact in people.values():
        if contact.role:
            roles.setdefault(contact.role, []).append(contact.id)
    steps = []
    for index, step in enumerate(table.steps):
        names: list[str] = []
        for place, name in enumerate(step.tell):
            if name not in people and name not in roles:
                known = (*people, *roles)
                text = f"there is no contact and no role {name!r}{did_you_mean(name, known)}"
                problems.error(("duty", "steps", index, "tell", place), text)
            names += [name] if name in people else roles.get(name, [])
        steps.append(DutyStep(step.after, tuple(dict.fromkeys(names))))
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
