"""The body of `probe`: one value of an unknown map, every reading of it shown, nothing chosen silently."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from gateway.drivers.facts import known_profiles
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.probe_candidates import Candidate, Display, Verdict, candidates, places_of, survivors, twins
from gateway.drivers.registers import words_of
from gateway.errors import BadReply, DeviceFault, DeviceSilent, NoSuchRegister
from gateway.site import Bus

__all__ = ["Question", "run_probe"]

_WORDS = {
    Verdict.EQUAL: "EQUALS THE DISPLAY",
    Verdict.NEAR: "near the display",
    Verdict.PLAUSIBLE: "plausible",
    Verdict.IMPLAUSIBLE: "no",
    Verdict.NO_NUMBER: "no number",
    Verdict.REFUSED: "not read",
}
_MOST_WRITTEN_OUT = 6
_MOST_NAMED = 5
_TRIES = 2  # a sleeping or disturbed device is asked once more


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for: unit address, the manual's register number, and what is known of the value."""

    unit: int
    address: int
    functions: tuple[int, ...] = (3, 4)
    types: tuple[str, ...] = ()
    display: Display | None = None
    band: tuple[float, float] | None = None  # in `unit_name`
    quantity: str = ""
    unit_name: str = ""
    block: tuple[int, int] | None = None  # what the device insists on being asked for, (start, count)
    timeout_s: float = 1.0


def run_probe(bus: Bus, question: Question, out: TextIO, *, as_json: bool) -> int:
    """Read what stands around the address and show every reading; 0 when at least one agrees, 1 when none does.

    Raises BusDown and DeviceSilent when there was nobody to ask.
    """
    words, refusals = asyncio.run(_read(bus, question))
    found = candidates(
        words,
        refusals,
        functions=question.functions,
        address=question.address,
        types=question.types,
        display=question.display,
        band=question.band,
    )
    left = survivors(found)
    if as_json:
        out.write(json.dumps(_data(question, found, left), ensure_ascii=False, allow_nan=False) + "\n")
    else:
        out.writelines(f"{line}\n" for line in (*_table(question, found), "", *_advice(question, found, left)))
    return 0 if left else 1


async def _read(bus: Bus, question: Question) -> tuple[dict[tuple[int, int], int], dict[int, str]]:
    """The registers the candidates need, with as few requests as it allows, and what it refused, by function."""
    words: dict[tuple[int, int], int] = {}
    refusals: dict[int, str] = {}
    line = ModbusLine(bus)
    try:
        await line.open()
        for function in question.functions:
            for round_ in _rounds(question):
                for start, count in round_:
                    if all((function, start + n) in words for n in range(count)):
                        continue
                    try:
                        registers = await _ask(line, question, function, start, count)
                    except (NoSuchRegister, DeviceFault) as error:
                        refusals.setdefault(function, f"exception {error.code}")
                        continue
                    words |= {(function, start + n): word for n, word in enumerate(registers)}
                if all((function, start + n) in words for start, count in _wanted(question) for n in range(count)):
                    break
    finally:
        line.close()
    return words, refusals


async def _ask(line: ModbusLine, question: Question, function: int, start: int, count: int) -> tuple[int, ...]:
    for tries_left in reversed(range(_TRIES)):
        try:
            if not line.connected:
                await line.open()
            return await line.read(question.unit, function, start, count, question.timeout_s)
        except (DeviceSilent, BadReply):
            if not tries_left:
                raise
    raise AssertionError("unreachable")  # the last try returns or raises


def _wanted(question: Question) -> tuple[tuple[int, int], ...]:
    count = max(words_of(type_name) for type_name in question.types or ("f32",))
    return tuple((question.address + base, count) for base in places_of(question.address))


def _rounds(question: Question) -> Iterator[tuple[tuple[int, int], ...]]:
    """All in one request; then each candidate by itself; then single registers, for whole numbers."""
    if question.block is not None:
        yield (question.block,)
        return
    wanted = _wanted(question)
    start = min(first for first, _ in wanted)
    yield ((start, max(first + count for first, count in wanted) - start),)
    yield wanted
    yield tuple((first, 1) for first, _ in wanted)


def _table(question: Question, found: Sequence[Candidate]) -> Iterator[str]:
    shown = "" if question.display is None else f"; the display says {question.display.value:g}"
    yield f"unit {question.unit}, register {question.address} of the manual{shown}"
    yield f"{'function':<8} {'wire':>5} {'':<10} {'type':<5} {'order':<8} {'raw words':<19} {'value':>13}  verdict"
    refused: set[tuple[int, int]] = set()
    for c in found:
        counted = "as printed" if c.base == 0 else "less one"
        functions = " or ".join(str(function) for function in c.functions)
        if c.verdict is Verdict.REFUSED:
            if (c.functions[0], c.address) not in refused:
                refused.add((c.functions[0], c.address))
                yield f"{functions:<8} {c.address:>5} {counted:<10} not read in any order: {c.remark}"
            continue
        value = "-" if c.value is None else f"{c.value:.7g}"
        raw = " ".join(f"{word:04X}" for word in c.words)
        scale = "" if c.scale == 1.0 else f" x {c.scale:g}"
        off = "" if c.off is None or c.verdict is Verdict.EQUAL else f", off by {c.off:+.3g}"
        remark = f" ({c.remark})" if c.remark else ""
        yield (
            f"{functions:<8} {c.address:>5} {counted:<10} {c.type:<5} {c.order:<8} {raw:<19} {value:>13}  "
            f"{_WORDS[c.verdict]}{scale}{off}{remark}"
        )


def _advice(question: Question, found: Sequence[Candidate], left: Sequence[Candidate]) -> Iterator[str]:
    if not left:
        yield from _nothing(question, found)
        return
    if left[0].verdict is not Verdict.EQUAL:
        yield (
            "No display was given: these are only plausible. Look at the instrument and probe again with --display."
            if question.display is None
            else "None equals the display. If the value moves, look and probe again; the nearest are below."
        )
    yield from _undecided(question, left)
    if len(left) > _MOST_WRITTEN_OUT:
        return
    for number, candidate in enumerate(left, 1):
        head = "If it is this one" if len(left) > 1 else "It is not chosen for you; if you agree"
        count = f" ({number} of {len(left)})" if len(left) > 1 else ""
        yield ""
        yield f"{head}{count}: {candidate.value:.7g}, in a profile of your own (docs/device-profiles.md):"
        yield from (f"    {line}" for line in _toml(question, candidate))
        if len(candidate.words) > 1 and (others := _also_sent_by(candidate)):
            yield f"    So do {others}."
    yield ""
    yield (
        "Where a shipped profile has this register and reads it wrongly, say it in the site file's [devices.NAME] "
        'instead: order = "..." for all of its numbers, points.NAME.address = ... for one of them.'
    )


def _also_sent_by(candidate: Candidate) -> str:
    """Some instruments that send such numbers in the same order: a hint, for the maker may be one of theirs."""
    models = dict.fromkeys(
        profile.id
        for profile in known_profiles()
        for point in profile.points.values()
        if (point.register.type, point.register.order) == (candidate.type, candidate.order)
    )
    return ", ".join(list(models)[:_MOST_NAMED])


def _undecided(question: Question, left: Sequence[Candidate]) -> Iterator[str]:
    """What this one reading cannot decide, and how to find out."""
    if len(left) == 1:
        return
    yield f"{len(left)} candidates cannot be told apart by this reading; nothing was chosen."
    for group in twins(left):
        yield f"  {_why_equal(group)}: {', '.join(_short(c) for c in group)}"
    change = "put the sensor in another buffer" if question.quantity == "pH" else "let the value change"
    yield f"To find out, {change} (far from {left[0].value:.4g}, and not 0), and probe again with --display."


def _why_equal(group: Sequence[Candidate]) -> str:
    words = group[0].words
    if group[0].value == 0.0:
        return "zero is zero in every order"
    if len({c.words for c in group}) == 1 and words == words[::-1]:
        return "the words are the same backwards"
    return f"the same number, {group[0].value:.7g}"


def _short(c: Candidate) -> str:
    return f"{c.type} {c.order} at {c.address}" + ("" if 3 in c.functions else " (function 4)")


def _nothing(question: Question, found: Sequence[Candidate]) -> Iterator[str]:
    if all(c.verdict is Verdict.REFUSED for c in found):
        yield f"Unit {question.unit} is there, but it has no such registers: {found[0].remark}."
        yield "Look for the number in the manual again; a device that wants whole blocks takes --block START:COUNT."
        return
    yield "Nothing here agrees, so nothing is proposed. Either of these is usual:"
    yield "  another register: manuals count within a table, or from 30001 and 40001 (take the last four digits);"
    yield "  another type: try --type int16, uint16, int32, uint32 or float64, with the display as it is shown;"
    yield "  another unit: the device may send degF, mV or m3/s where its display says something else."


def _toml(question: Question, c: Candidate) -> Iterator[str]:
    name = question.quantity or "value"
    yield f"[points.{name}]"
    yield f"doc_register = {question.address}"
    yield f"function = {c.functions[0]}" + (" " * 21 + "# or 4: the same registers" if len(c.functions) > 1 else "")
    yield f"address = {c.address}" + " " * 20 + "# on the wire"
    yield f'type = "{c.type}"'
    if len(c.words) > 1 or c.order != "ABCD":
        yield f'order = "{c.order}"'
    if c.scale != 1.0:
        yield f"scale = {c.scale:g}"
    yield f'unit = "{question.unit_name}"'
    if question.block is not None:
        yield f"block = [{question.block[0]}, {question.block[1]}]"


def _data(question: Question, found: Sequence[Candidate], left: Sequence[Candidate]) -> dict[str, Any]:
    return {
        "unit": question.unit,
        "register": question.address,
        "display": None if question.display is None else question.display.value,
        "candidates": [
            {
                "functions": list(c.functions),
                "address": c.address,
                "type": c.type,
                "order": c.order,
                "scale": c.scale,
                "raw": [f"{word:04X}" for word in c.words],
                "value": c.value if c.value is not None and c.verdict is not Verdict.NO_NUMBER else None,
                "verdict": c.verdict.name.lower(),
                "off": c.off,
                "remark": c.remark,
                "survives": c in left,
            }
            for c in found
        ],
    }
