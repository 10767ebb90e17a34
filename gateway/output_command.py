"""What the running gateway does with the commands `outputs` and `sampler`. Whoever calls this commits before answering.

An output is moved by a named person for a reason, or not at all.
"""

from collections.abc import Mapping
from typing import Any

from gateway.baseline_command import Signed
from gateway.model import Instant, Note
from gateway.outputs.switched import Annunciator, Switched, Valve, order_for
from gateway.outputs.wired import OutputRole
from gateway.step import Step
from gateway.watches import Watches

__all__ = ["carry_out", "output_lines", "sampler_line"]


def carry_out(watches: Watches, name: str, args: Mapping[str, Any], signed: Signed) -> tuple[dict[str, Any], Step]:
    """Carry out `outputs` or `sampler`: the answer, and what is to be recorded first.

    ValueError or LookupError, with nothing changed, says in words what is wrong.
    """
    step = Step()
    action = str(args.get("action", "list" if name == "outputs" else "status"))
    reason = str(args.get("reason", "")).strip()
    if name == "outputs":
        if action != "list":
            _outputs(watches, action, str(args.get("output", "")), reason, signed, step)
        answer: dict[str, Any] = {"ok": True, "outputs": output_lines(watches)}
    else:
        if action != "status":
            _sampler(watches, action, reason, str(args.get("bottle", "")), signed, step)
        answer = {"ok": True, "sampler": sampler_line(watches, signed.at)}
    if step.notes or step.orders or step.state:
        body = {"command": f"{name} {action}", "output": str(args.get("output", "")), "reason": reason}
        body |= {"actor": signed.actor, "via": signed.via, "id": signed.id}
        step.notes.insert(0, Note("command", signed.at, body))
    return answer, step


def output_lines(watches: Watches) -> list[dict[str, Any]]:
    """Every output as it stands, JSON-able. `is_on` is None while nobody knows."""
    return [
        {
            "output": name,
            "role": str(one.output.role),
            "device": one.output.device,
            "place": f"{one.output.kind} {one.output.address}",
            "is_on": one.is_on,
            "by": one.by,
            "why": one.why,
            "latched": one.latched,
        }
        for name, one in watches.switched.items()
    ]


def sampler_line(watches: Watches, now: Instant) -> dict[str, Any]:
    """The composite under way and the event bottles, JSON-able."""
    return {
        "composite": None if watches.composite is None else watches.composite.status(now),
        "has_composite": watches.composite is not None,
        "grab": None if watches.grab is None else watches.grab.status(now),
    }


def _outputs(watches: Watches, action: str, name: str, reason: str, signed: Signed, step: Step) -> None:
    one = watches.switched.get(name)
    if one is None:
        raise LookupError(f"there is no output {name!r}; there are {', '.join(watches.switched) or 'none'}")
    if not signed.actor.strip():
        raise ValueError("say who you are: an output is moved under somebody's name")
    if not reason:
        raise ValueError("say why: it is part of the record")
    if action == "test":
        _test(watches, one, reason, signed, step)
    elif action in ("on", "off"):
        if one.output.pulsed:
            raise ValueError(f"{name} is only ever pulsed")
        if isinstance(one, Annunciator) and action == "off":
            raise ValueError(f"{name} must not be off for good: acknowledge or shelve the alarm, and it is silent")
        if isinstance(one, Valve) and action == "off":
            raise ValueError(f"a valve is opened with `release {name}`, which says that the exceedance is over")
        one.set_manual(action == "on", signed.actor, reason, signed.at, step)
    elif action == "release":
        if one.output.pulsed:
            raise ValueError(f"{name} is only ever pulsed: there is nothing to release")
        one.set_manual(None, signed.actor, reason, signed.at, step)
    else:
        raise ValueError(f"outputs knows list, test, on, off and release, not {action!r}")


def _test(watches: Watches, one: Switched, why: str, signed: Signed, step: Step) -> None:
    """One pulse, as long as the output's pulse is."""
    output = one.output
    if output.role is OutputRole.VALVE and one.latched:
        raise ValueError("the valve is shut: a test would open it")
    if one.is_on:
        raise ValueError(f"{output.name} is on: a test would end by switching it off")
    running = watches.composite is not None and watches.composite.running
    if output.role is OutputRole.SAMPLER_PACE and running:
        raise ValueError("a composite is under way: a test pulse would be in the bottle and on no record")
    key = f"test-{output.name}:{signed.at.utc_us}"
    step.orders.append(order_for(output, "pulse", signed.at, f"test: {why}", key))


def _sampler(watches: Watches, action: str, reason: str, bottle: str, signed: Signed, step: Step) -> None:
    composite, grab = watches.composite, watches.grab
    if action == "bottles":
        if grab is None:
            raise LookupError("this site has no [sampler.grab]")
        grab.fresh_bottles(signed.actor, signed.at, step)
        return
    if action not in ("start", "stop", "collected"):
        raise ValueError(f"sampler knows status, start, stop, collected and bottles, not {action!r}")
    if composite is None:
        raise LookupError("this site has no [sampler.composite]")
    if action == "start":
        composite.start(signed.actor, bottle, reason, signed.at, step)
    elif action == "stop":
        composite.stop(signed.actor, reason, signed.at, step)
    else:
        composite.collected(signed.actor, signed.at, step)
