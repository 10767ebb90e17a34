"""The body of `scan`: what it will do, what it found, and what to look at when nobody answers."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, TextIO

from gateway.drivers.interruption import until_interrupted
from gateway.drivers.scan import Answer, Scanner
from gateway.drivers.scan_plan import ScanPlan
from gateway.drivers.target import is_serial

__all__ = ["run_scan"]

_SERIAL_REASONS = (
    "A and B: swap the two wires at one end (makers do not agree on the letters); nothing is harmed by trying",
    "power: is the instrument on, and is Modbus its chosen output (not HART, not 4 to 20 mA alone)?",
    "ground: RS-485 wants the common wire too; without it some instruments answer at times",
    "termination: 120 ohm at the two ends of the line, and only there; a bias at one place",
    "another master: stop the gateway, a PLC, or the maker's program; two that ask at once hear nobody",
    "the unit address: --all asks 1 to 247",
    "speed and parity: --baud 1200,2400,4800 --parity N,E,O, if the instrument's menu says so",
    "an instrument that thinks for long or sleeps: --timeout 1",
    "Modbus ASCII: an instrument set to it hears no RTU; choose RTU in its menu, or scan with --kind modbus-ascii",
)
_TCP_REASONS = (
    "the unit address: --all asks 1 to 247; a converter passes it on to its serial line",
    "the converter's own serial side: its speed, parity and wires are set in its web page",
    "how many connections it takes: some take one; stop the other client",
    "a slow line behind it: --timeout 2",
)


def run_scan(plan: ScanPlan, out: TextIO, err: TextIO, *, as_json: bool, kind: str = "") -> int:
    """Scan and tell; 0 when somebody answered soundly, 1 when nobody did. BusDown when the port cannot be opened."""
    live = err.isatty()
    told: list[str] = []

    def progress(text: str) -> None:
        if live:
            err.write(f"\r{text:<60}")
            err.flush()
        elif not told or told[-1] != text.partition(":")[0]:
            told.append(text.partition(":")[0])
            err.write(f"{told[-1]}\n")

    scanner = Scanner(plan, progress, kind)
    err.writelines(f"{line}\n" for line in _announced(plan, scanner.longest_s, kind))
    interrupted = asyncio.run(until_interrupted(scanner.run()))
    if live:
        err.write(f"\r{'':<60}\r")
    if as_json:
        out.write(json.dumps(_data(scanner, interrupted=interrupted), ensure_ascii=False, allow_nan=False) + "\n")
    else:
        out.writelines(f"{line}\n" for line in _told(scanner, interrupted=interrupted))
    return 0 if scanner.sound else 1


def _announced(plan: ScanPlan, longest_s: float, kind: str) -> Iterator[str]:
    yield (
        f"scan {plan.where}: asks each unit for one register (function 3, register 0) and whoever answers for the "
        "registers that tell its model. It reads only; nothing is written."
    )
    units = f"{len(plan.units)} unit{'s' if len(plan.units) > 1 else ''}"
    if is_serial(plan.where):
        waits = ", ".join(f"{plan.timeout_s(s) * 1e3:.0f}" for s in plan.settings[:3])
        more = ", ..." if len(plan.settings) > 3 else ""
        names = ", ".join(str(setting) for setting in plan.settings)
        yield f"{len(plan.settings)} settings ({names}) x {units}; an absent one costs {waits}{more} ms."
        yield "8N2 finds instruments with one stop bit too."
    else:
        wait_ms = plan.timeout_s(plan.settings[0]) * 1e3
        yield f"{units}; an absent one costs {wait_ms:.0f} ms. Modbus TCP first, then bare serial frames through TCP."
    if kind == "modbus-ascii":
        yield "Modbus ASCII: seven data bits instead of eight."
    yield f"At most {longest_s:.0f} s if nobody answers. Ctrl-C ends it, with what was found by then."


def _told(scanner: Scanner, *, interrupted: bool) -> Iterator[str]:
    serial = is_serial(scanner.plan.where)
    for answer in scanner.sound:
        yield from _found(answer, serial=serial, any_unit=scanner.any_unit)
    for answer in scanner.answers:
        if answer.how != "answered" and all(answer.unit != sound.unit for sound in scanner.sound):
            yield from _unsound(answer, serial=serial)
    if scanner.any_unit:
        yield (
            f"{scanner.plan.where} answers to every unit address: one device that does not look at it. "
            "Use the address its manual gives, else 1 (or 255)."
        )
    if scanner.echo:
        yield "The adapter gives back what is sent (local echo). The gateway steps over it; switching it off is better."
    if scanner.talks_unasked:
        names = ", ".join(str(setting) for setting in scanner.talks_unasked)
        yield (
            f"The line was not silent before anybody was asked ({names}): another master, an instrument that sends "
            "by itself, or noise. Stop it before the gateway runs: two masters hear nobody."
        )
    if scanner.refused:
        yield f"The port cannot do {', '.join(str(setting) for setting in scanner.refused)}: not asked there."
    settings = {answer.setting for answer in scanner.sound}
    if serial and len(settings) > 1:
        yield ("Units answer at different settings: one line needs one. Set them all alike, one at a time on the line.")
    if scanner.lost:
        yield f"Stopped: {scanner.lost}."
    if interrupted:
        yield f"Interrupted after {scanner.asked} questions: this is what was found by then."
    if not scanner.sound:
        yield f"Nobody answered on {scanner.plan.where} ({scanner.asked} questions). Look at:"
        yield from (f"  - {reason}" for reason in (_SERIAL_REASONS if serial else _TCP_REASONS))


def _found(answer: Answer, *, serial: bool, any_unit: bool) -> Iterator[str]:
    either = " (or with one stop bit)" if answer.stop_bits_either else ""
    at = f" at {answer.setting}{either}" if serial else f" ({answer.kind})"
    yield f"unit {answer.unit:>3}{at}: {answer.told}, after {answer.latency_s * 1e3:.0f} ms"
    for model in answer.models:
        weight = "may be" if model.weak else "looks like"
        variant = f', variant = "{model.variant}"' if model.variant else ""
        yield f'          {weight} {model.model}: profile = "{model.profile}"{variant}'
        yield f"          because {'; '.join(model.evidence)}. Compare with its name plate."
    if not answer.models and not any_unit:
        yield "          no shipped profile knows it by its registers; the name plate decides"


def _unsound(answer: Answer, *, serial: bool) -> Iterator[str]:
    at = f" at {answer.setting}" if serial else ""
    if answer.how == "odd":
        yield f"unit {answer.unit:>3}{at}: a wrong answer: {answer.told}"
        return
    yield f"unit {answer.unit:>3}{at}: somebody answers, but nothing sound came: {answer.told}"
    yield "          another speed or parity, two instruments with this address, or a bad line (A/B, ends, ground)"


def _data(scanner: Scanner, *, interrupted: bool) -> dict[str, Any]:
    serial = is_serial(scanner.plan.where)
    return {
        "port": scanner.plan.where,
        "units": [_unit_data(answer, serial=serial) for answer in scanner.answers],
        "asked": scanner.asked,
        "settings": [str(setting) for setting in scanner.plan.settings] if serial else [],
        "echo": scanner.echo,
        "any_unit": scanner.any_unit,
        "talks_unasked": [str(setting) for setting in scanner.talks_unasked],
        "interrupted": interrupted,
        "lost": scanner.lost,
        "refused_settings": [str(setting) for setting in scanner.refused],
    }


def _unit_data(answer: Answer, *, serial: bool) -> dict[str, Any]:
    setting = answer.setting
    return {
        "unit": answer.unit,
        "how": answer.how,
        "kind": answer.kind,
        "told": answer.told,
        "latency_s": round(answer.latency_s, 4),
        "models": [
            {"profile": m.profile, "variant": m.variant, "model": m.model, "evidence": list(m.evidence), "weak": m.weak}
            for m in answer.models
        ],
    } | (
        {
            "baud": setting.baud,
            "parity": setting.parity,
            "stop_bits": setting.stop_bits,
            "stop_bits_either": answer.stop_bits_either,
        }
        if serial
        else {}
    )
