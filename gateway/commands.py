"""Every operator action is one Command through one function.

Command line, page, MQTT, text reply and push-button only parse and print. An action is recorded with its actor before
it is answered, and repeating one with the same id gives the first answer again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gateway import baseline_command, calibration_command, lab_command, maintenance_command, output_command
from gateway.alarms.engine import EngineStep
from gateway.model import Instant, Note, Outcome
from gateway.pipeline import Pipeline
from gateway.units import parse_duration_us

__all__ = ["ALARM_ACTIONS", "Command", "Gateway", "execute"]

ALARM_ACTIONS = ("ack", "shelve", "unshelve", "out-of-service", "return", "reset")
_REMEMBERED = 1000  # answers kept for repeats
_ONLY_ASK = frozenset({"status", "alarms", "resend"})


@dataclass(frozen=True, slots=True)
class Command:
    """One thing someone asks for. `id` makes a repeat recognisable; empty means it is never one."""

    name: str
    actor: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    via: str = "control socket"


class Gateway(Protocol):
    """What a command may touch."""

    pipeline: Pipeline
    answered: dict[str, dict[str, Any]]
    faults: dict[str, str]

    def now(self) -> Instant:
        """The present moment."""
        ...

    async def record(self, outcome: Outcome) -> None:
        """Commit an outcome; returns once it is on disk. Raises StoreError."""
        ...

    async def status(self) -> dict[str, Any]:
        """Health at a glance, JSON-able."""
        ...

    async def resend(self, sink: str, from_seq: int, to_seq: int) -> dict[str, Any]:
        """Send a range of the journal to one sink again."""
        ...


async def execute(gateway: Gateway, command: Command) -> dict[str, Any]:
    """Carry out a command and return its answer: `ok`, and `error` in plain words when it was refused.

    `not_recorded` says why what was done is not on disk yet: a disk that fails stops nobody's work, and is told.
    """
    # The whole command is the key: an id that somebody used for another one must not swallow this one.
    key = json.dumps([command.id, command.name, command.actor, command.args], sort_keys=True, default=str)
    if command.id and key in gateway.answered:
        return gateway.answered[key]
    try:
        answer = await _carry_out(gateway, command)
        if answer["ok"] and command.name not in _ONLY_ASK and (why := gateway.faults.get("journal")):
            answer = {**answer, "not_recorded": why}
    except (LookupError, ValueError, TypeError, OverflowError) as error:
        answer = {"ok": False, "error": str(error)}
    if command.id:
        while len(gateway.answered) >= _REMEMBERED:
            del gateway.answered[next(iter(gateway.answered))]
        gateway.answered[key] = answer
    return answer


async def _carry_out(gateway: Gateway, command: Command) -> dict[str, Any]:
    if command.name == "status":
        return {"ok": True, "status": await gateway.status()}
    if command.name == "alarms":
        return {"ok": True, "alarms": alarm_lines(gateway.pipeline), "time_zone": gateway.pipeline.site.time_zone}
    if command.name == "resend":
        sink, first, last = command.args["sink"], int(command.args["from_seq"]), int(command.args["to_seq"])
        return {"ok": True, **await gateway.resend(sink, first, last)}
    if command.name == "lab":
        return await _laboratory(gateway, command)
    if command.name == "baselines":
        return await _baselines(gateway, command)
    if command.name == "maintenance":
        return await _maintenance(gateway, command)
    if command.name == "calibration":
        return await _calibration(gateway, command)
    if command.name in ("outputs", "sampler"):
        return await _wired(gateway, command)
    if command.name in ALARM_ACTIONS:
        return await _alarm_action(gateway, command)
    others = ("lab", "baselines", "maintenance", "calibration", "outputs", "sampler")
    known = ", ".join(("status", "alarms", "resend", *others, *ALARM_ACTIONS))
    raise LookupError(f"unknown command {command.name!r}; known are {known}")


async def _laboratory(gateway: Gateway, command: Command) -> dict[str, Any]:
    """Laboratory results: tried out, entered or listed; what is entered is signed and on disk before it is answered."""
    adding = command.args.get("action", "add") == "add"
    if adding and not command.actor.strip():
        raise ValueError("say who you are: a laboratory result is signed")
    now = gateway.now()
    step = lab_command.carry_out(gateway.pipeline.laboratory, command.args, now)
    if step.notes or step.findings or step.state:
        await gateway.record(gateway.pipeline.laboratory_step(step, now))
    return step.answer


async def _baselines(gateway: Gateway, command: Command) -> dict[str, Any]:
    """The baselines of every channel side by side, or the signed approval of what is measured now."""
    pipeline, now = gateway.pipeline, gateway.now()
    signed = baseline_command.Signed(command.actor, command.via, command.id, now)
    step = baseline_command.carry_out(pipeline.accounts, command.args, signed, pipeline.settled)
    if step.notes:
        await gateway.record(Outcome(notes=step.notes, state=step.state, urgent=True))
    return step.answer


async def _maintenance(gateway: Gateway, command: Command) -> dict[str, Any]:
    """Who works on what: begun, ended or listed; signed and on disk before it is answered."""
    pipeline, now = gateway.pipeline, gateway.now()
    signed = baseline_command.Signed(command.actor, command.via, command.id, now)
    step = maintenance_command.carry_out(pipeline.maintenance, command.args, signed)
    if step.said.notes or step.said.state:
        await gateway.record(pipeline.said(step.said, now))
    return {**step.answer, "time_zone": pipeline.site.time_zone}


async def _calibration(gateway: Gateway, command: Command) -> dict[str, Any]:
    """A calibration: begun, shown live, recorded, given up or listed; signed and on disk before it is answered."""
    pipeline, now = gateway.pipeline, gateway.now()
    signed = baseline_command.Signed(command.actor, command.via, command.id, now)
    parts = pipeline.site, pipeline.maintenance, pipeline.calibrations
    step = calibration_command.carry_out(*parts, command.args, signed)
    if step.said.notes or step.said.state:
        await gateway.record(pipeline.said(step.said, now))
    return {**step.answer, "time_zone": pipeline.site.time_zone}


async def _wired(gateway: Gateway, command: Command) -> dict[str, Any]:
    """What a person makes the outputs or the sampler do: named, recorded, answered, and then done."""
    pipeline, now = gateway.pipeline, gateway.now()
    signed = baseline_command.Signed(command.actor, command.via, command.id, now)
    answer, step = output_command.carry_out(pipeline.watches, command.name, command.args, signed)
    if not step.is_empty:
        await gateway.record(pipeline.said(step, now))
    return answer


async def _alarm_action(gateway: Gateway, command: Command) -> dict[str, Any]:
    """One operator action on one alarm: named, recorded, then answered."""
    if not command.actor.strip():
        raise ValueError("say who you are: an action on an alarm is signed")
    command, alarm = _by_code(gateway.pipeline, command)
    now = gateway.now()
    step = _on_engine(gateway.pipeline, command, alarm, now)
    body = {
        "command": command.name,
        "alarm": alarm,
        "actor": command.actor,
        "via": command.via,
        "id": command.id,
        "reason": str(command.args.get("reason", "")),
        "refused": step.refused,
    }
    await gateway.record(gateway.pipeline.carry(step, now, (Note("command", now, body),)))
    if step.refused:
        return {"ok": False, "error": step.refused}
    line = next(line for line in alarm_lines(gateway.pipeline) if line["id"] == alarm)
    return {"ok": True, "alarm": line, "time_zone": gateway.pipeline.site.time_zone, "reply": step.reply}


def _by_code(pipeline: Pipeline, command: Command) -> tuple[Command, str]:
    """The alarm that is meant: by its id, or by the code of a text, which names the occurrence too."""
    alarm = str(command.args.get("alarm", ""))
    if alarm in pipeline.site.alarms or not alarm.replace("-", "").isdecimal():
        return command, alarm
    alarm, occurrence = pipeline.engine.find(alarm)
    return replace(command, args={"occurrence": occurrence, **command.args, "alarm": alarm}), alarm


def _on_engine(pipeline: Pipeline, command: Command, alarm: str, now: Instant) -> EngineStep:
    engine, args, actor = pipeline.engine, command.args, command.actor
    reason = str(args.get("reason", ""))
    if command.name == "ack":
        occurrence = args.get("occurrence")
        return engine.acknowledge(alarm, None if occurrence is None else int(occurrence), actor, now)
    if command.name == "unshelve":
        return engine.unshelve(alarm, actor, now)
    if command.name == "return":
        return engine.return_to_service(alarm, actor, now)
    if command.name == "reset":
        return engine.reset(alarm, actor, now)
    if not reason.strip():
        raise ValueError(f"{command.name} needs a reason: it is listed in every daily report")
    if command.name == "out-of-service":
        return engine.out_of_service(alarm, actor, reason, now)
    duration = args.get("for")
    until_us = None if duration is None else now.mono_us + parse_duration_us(str(duration))
    return engine.shelve(alarm, until_us, actor, reason, now)


def alarm_lines(pipeline: Pipeline) -> list[dict[str, Any]]:
    """Every alarm with its state, for a list or a page; JSON-able."""
    return [
        {
            "id": view.id,
            "code": view.code,
            "state": view.state.name.lower(),
            "letter": view.state.value,
            "occurrence": view.occurrence,
            "severity": view.severity.name.lower(),
            "since_utc_us": None if view.since is None else view.since.utc_us,
            "acknowledged_by": view.acked_by,
            "reason": view.reason,
            "shelved_until_utc_us": None if view.shelved_until is None else view.shelved_until.utc_us,
        }
        for view in pipeline.engine.view()
    ]
