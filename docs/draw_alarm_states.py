"""Draws docs/alarm-states.md from the alarm table, so that page and machine cannot differ.

Run `python docs/draw_alarm_states.py` after the table has changed; a test holds the page to the table.
"""
# ruff: noqa: INP001 - a script beside the page it draws

from pathlib import Path

from gateway.alarms.machine import TABLE
from gateway.alarms.moves import Event, Row, Tell
from gateway.alarms.record import Cause, Input, Service, Shelving, State, Suppression
from gateway.model import AlarmState

PAGE = Path(__file__).with_name("alarm-states.md")

_INTRODUCTION = """# The states of an alarm

Drawn from the table in `gateway/alarms/machine.py` by `docs/draw_alarm_states.py`; do not edit.

An alarm is made of regions that move independently. The letter on the page and in the journal is derived from them:
A to F from the cause and the acknowledgement, covered by G while shelved, by H while suppressed, by I while out of
service. What has no row here changes nothing.
"""

_COLUMNS = ("from", "event", "when", "to", "does", "journal", "tells", "then")
_REGIONS: tuple[tuple[type[State], str, str], ...] = (
    (AlarmState, "Does somebody know, and does it hold?", "Only an acknowledgement quietens a raised alarm."),
    (Cause, "Is the cause there?", "True for the whole on-delay raises, false for the whole off-delay clears."),
    (Input, "Can anybody tell?", "While nobody can, the cause is frozen: nothing raises and nothing clears."),
    (Shelving, "G: put aside by an operator", "The inner state keeps running and being journaled."),
    (Suppression, "H: silenced by configured logic", "Only while another alarm says more."),
    (Service, "I: out of service", "By a named person, with a reason, until it is returned."),
)


def page() -> str:
    """The whole page as Markdown."""
    return "\n".join([_INTRODUCTION, *(_region(*region) for region in _REGIONS)])


def _region(kind: type[State], title: str, sentence: str) -> str:
    pairs = [(s, event, row) for (s, event), rows in TABLE.items() if type(s) is kind for row in rows]
    states = [state for state in kind if any(state in (s, row.to) for s, _, row in pairs)]
    lines = [f"## {title}", "", sentence, "", "```mermaid", "stateDiagram-v2"]
    lines += [f"    {_id(state)} : {_name(state)}" for state in states]
    lines += [f"    {_id(s)} --> {_id(row.to)} : {_label(event, row)}" for s, event, row in pairs]
    lines += [
        "```",
        "",
        "| from | event | when | to | does | journal | tells | then |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(_line(s, event, row) for s, event, row in pairs), ""])


def _line(state: State, event: Event, row: Row) -> str:
    cells = (
        _name(state),
        str(event),
        row.when.value,
        _name(row.to),
        ", ".join(row.do),
        ", ".join(row.edges),
        "" if row.tell is Tell.NO else str(row.tell),
        "" if row.then is None else str(row.then),
    )
    return f"| {' | '.join(cells)} |"


def _label(event: Event, row: Row) -> str:
    return f"{event} [{row.when.value}]" if row.when.value else str(event)


def _id(state: State) -> str:
    return state.value if isinstance(state, AlarmState) else str(state)


def _name(state: State) -> str:
    if isinstance(state, AlarmState):
        return f"{state.value} {state.name.lower().replace('_', ' ')}"
    return str(state).replace("_", " ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
