"""What goes wrong on a line and when: faults as data, a line of text each, or drawn at random from a seed.

One fault is one line, `WHICH: WHAT`. `#` begins a comment::

    answer 3: delay 400ms          the third answer comes 0.4 s late
    answer 4-6: drop               three answers never come
    answer 7: twice                it comes again at once; `twice after 50ms` later
    answer 8: hold                 it comes behind the next one
    answer 9: keep 4               only its first four bytes come
    answer 10: noise 00 ff         stray bytes before it
    answer 11: flip 3 4 19         these bits of the frame arrive inverted, from 0, the lowest of each byte first
    answer 12: unit 9              another unit's name on it, with the right check sum
    answer 13: function 4          another function, with the right check sum
    answer 14: registers 1         another number of registers, with the right check sum
    answer 15: exception 6         an exception in its place
    answer 16: transaction 7       TCP: another transaction id
    request 2: echo                the adapter gives the request back before the answer
    request 20: black-hole 2s      nothing passes in either direction for so long, the request included
    request 21: half-open          TCP: nothing passes on this connection any more, and nobody hangs up
    request 22: hang-up            TCP: the connection is reset

WHICH counts from 1, in each direction; `every` or `every 4` stands for all or each fourth, and `of unit 2` counts the
frames of that unit only. Several faults may hit one frame; they happen in the order of the script.
"""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from gateway.errors import InputError
from gateway.units import parse_duration_us

__all__ = ["NOT_ON_SERIAL", "NOT_ON_TCP", "Action", "Fault", "parse", "random_faults"]


class Action(StrEnum):
    """What happens to a frame."""

    DELAY = "delay"
    DROP = "drop"
    TWICE = "twice"
    HOLD = "hold"
    KEEP = "keep"
    NOISE = "noise"
    FLIP = "flip"
    UNIT = "unit"
    FUNCTION = "function"
    REGISTERS = "registers"
    EXCEPTION = "exception"
    TRANSACTION = "transaction"
    ECHO = "echo"
    BLACK_HOLE = "black-hole"
    HALF_OPEN = "half-open"
    HANG_UP = "hang-up"


NOT_ON_SERIAL = frozenset({Action.TRANSACTION, Action.HALF_OPEN, Action.HANG_UP})
"""What only a connection can do."""
NOT_ON_TCP = frozenset({Action.ECHO, Action.FLIP})
"""What only a serial line does: TCP has a check sum of its own, and nothing in Modbus TCP could see a flipped bit."""

_REQUESTS_ONLY = frozenset({Action.ECHO, Action.HALF_OPEN, Action.HANG_UP})
_ANSWERS_ONLY = frozenset({Action.REGISTERS, Action.EXCEPTION})
_WITH_NUMBER = {
    Action.KEEP: 253, Action.UNIT: 255, Action.FUNCTION: 127, Action.REGISTERS: 125, Action.EXCEPTION: 255,
    Action.TRANSACTION: 0xFFFF,
}  # fmt: skip
_WITH_DURATION = frozenset({Action.DELAY, Action.BLACK_HOLE})
_LATE = frozenset({Action.DELAY, Action.HOLD})
_STRANGER = 250  # from 248 to 255 no unit is addressed (Modbus over serial line 2.2)
_LINE = re.compile(
    r"(?P<side>request|answer) (?:(?P<first>\d+)(?:-(?P<last>\d+))?|every(?: (?P<every>\d+))?)"
    r"(?: of unit (?P<unit>\d+))?: *(?P<action>[a-z-]+) *(?P<rest>.*)"
)
_MOST = 1 << 31


@dataclass(frozen=True, slots=True)
class Fault:
    """One line of a script. `number`, `data`, `bits` and `after_us` belong to the actions that take them."""

    answer: bool  # else it befalls requests
    action: Action
    first: int = 1
    last: int = _MOST
    every: int = 1
    unit: int | None = None
    number: int = 0
    data: bytes = b""
    bits: tuple[int, ...] = ()
    after_us: int = 0

    def hits(self, nth: int) -> bool:
        """Whether it befalls the nth frame it counts."""
        return self.first <= nth <= self.last and (nth - self.first) % self.every == 0

    def __str__(self) -> str:
        which = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        if self.last == _MOST:
            which = f"every {self.every}" if self.every > 1 else "every"
        unit = f" of unit {self.unit}" if self.unit is not None else ""
        what = {
            Action.NOISE: self.data.hex(" "),
            Action.FLIP: " ".join(map(str, self.bits)),
            Action.TWICE: f"after {self.after_us / 1000:g}ms" if self.after_us else "",
        }.get(self.action, "")
        if self.action in _WITH_NUMBER:
            what = str(self.number)
        elif self.action in _WITH_DURATION:
            what = f"{self.after_us / 1000:g}ms"
        return f"{'answer' if self.answer else 'request'} {which}{unit}: {self.action} {what}".rstrip()


def parse(lines: Iterable[str], name: str = "script") -> tuple[Fault, ...]:
    """The faults of a script. InputError lists every line that is none, with its number."""
    faults: list[Fault] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            faults.append(_fault(text))
        except ValueError as error:
            problems.append(f"{name}:{number}: {error}")
    if problems:
        raise InputError("\n".join(problems))
    return tuple(faults)


def random_faults(
    seed: int, framing: str, *, frames: int = 12, most: int = 5, longest_us: int = 100_000, units: Sequence[int] = ()
) -> tuple[Fault, ...]:
    """From one to `most` faults among the first `frames` frames; the same seed gives the same ones.

    No delay or black hole is longer than `longest_us`. What arrives inverted in a serial frame (`rtu`, `ascii`) is only
    what its check sum is sure to find: of RTU an odd number of bits, or bits that lie within 16 of one another (CRC-16
    with this polynomial finds every such pattern, and misses one in 65,536 of the others); of ASCII bits of one
    character, for its sum of bytes misses much. A second copy comes at once on a serial line, and at any time on TCP;
    `unit` picks among `units` too, so that a name may be that of a neighbour.

    What no client could see through is not drawn: an answer cut to fewer registers and filled up again; a request led
    to another unit whose answer then bears the first one's name; on a serial line, a late answer from a neighbour or
    under its name, one that is late twice over, or a second copy that comes late.
    """
    draw = random.Random(seed)
    serial = framing != "tcp"
    actions = sorted(set(Action) - (NOT_ON_SERIAL if serial else NOT_ON_TCP))
    drawn = [
        _random_fault(draw, draw.choice(actions), framing, frames, longest_us, units)
        for _ in range(draw.randint(1, most))
    ]
    return tuple(_bearable(drawn, serial=serial))


def _bearable(drawn: Sequence[Fault], *, serial: bool) -> Iterable[Fault]:
    """The faults that a client can see through together, in their order."""
    lies = {fault.action for fault in drawn if fault.answer}
    late = next((fault for fault in drawn if serial and fault.action in _LATE), None)
    recounted = next((fault for fault in drawn if fault.action is Action.REGISTERS), None)
    for fault in drawn:
        if fault.action in {Action.UNIT, Action.FUNCTION} and not fault.answer and fault.action in lies:
            continue
        if late is not None and fault.action in {*_LATE, Action.TWICE} and fault is not late:
            continue
        if fault.action is Action.REGISTERS and fault is not recounted:
            continue
        if late is not None and fault.action is Action.UNIT:
            yield replace(fault, number=_STRANGER)
        else:
            yield fault


def _random_fault(
    draw: random.Random, action: Action, framing: str, frames: int, longest_us: int, units: Sequence[int]
) -> Fault:
    answer = action not in _REQUESTS_ONLY and (action in _ANSWERS_ONLY or draw.random() < 0.75)
    first = draw.randint(1, frames)
    after_us = 0
    if action in _WITH_DURATION or (action is Action.TWICE and framing == "tcp"):
        after_us = draw.randrange(1000, longest_us, 1000)
    number = {
        Action.KEEP: draw.randint(0, 12),
        Action.UNIT: draw.choice([*units, draw.randint(0, 255)]),
        Action.FUNCTION: draw.choice([1, 2, 3, 4, 5, 6, 16, 23, 127]),
        Action.REGISTERS: draw.randint(0, 6),
        Action.EXCEPTION: draw.choice([1, 2, 3, 4, 5, 6, 8, 10, 11]),
        Action.TRANSACTION: draw.choice([0, 1, draw.randint(0x1000, 0xFFFF)]),  # never that of a request to come
    }.get(action, 0)
    last = first + (draw.randint(1, 4) if draw.random() < 0.25 else 0)
    data = draw.randbytes(draw.randint(1, 9)) if action is Action.NOISE else b""
    bits = _seen(draw, framing) if action is Action.FLIP else ()
    return Fault(answer, action, first, last, number=number, data=data, bits=bits, after_us=after_us)


def _seen(draw: random.Random, framing: str) -> tuple[int, ...]:
    """Bits to invert, anywhere in the shortest frame, that the check sum of the framing cannot miss."""
    if framing == "ascii":
        start = 8 * draw.randint(0, 10)
        return tuple(sorted(draw.sample(range(start, start + 7), draw.randint(1, 7))))
    if draw.random() < 0.5:
        start = draw.randint(0, 24)
        return tuple(sorted(draw.sample(range(start, start + 16), draw.randint(1, 16))))
    return tuple(sorted(draw.sample(range(40), draw.choice([1, 3, 5, 7]))))


def _fault(text: str) -> Fault:
    match = _LINE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not WHICH: WHAT, as in `answer 3: drop` or `request every 4 of unit 2: echo`")
    answer, rest = match["side"] == "answer", match["rest"]
    try:
        action = Action(match["action"])
    except ValueError:
        raise ValueError(f"unknown fault {match['action']!r}; known are {', '.join(Action)}") from None
    if answer and action in _REQUESTS_ONLY:
        raise ValueError(f"{action} befalls requests, not answers")
    if not answer and action in _ANSWERS_ONLY:
        raise ValueError(f"{action} befalls answers, not requests")
    first = int(match["first"] or match["every"] or 1)
    last = int(match["last"] or first) if match["first"] else _MOST
    every = int(match["every"] or 1)
    if not 1 <= first <= last or every < 1:
        raise ValueError(f"{text!r}: frames count from 1, the lower number first")
    unit = int(match["unit"]) if match["unit"] else None
    number, data, bits, after_us = _operands(action, rest)
    return Fault(answer, action, first, last, every, unit, number, data, bits, after_us)


def _operands(action: Action, rest: str) -> tuple[int, bytes, tuple[int, ...], int]:
    number, data, bits, after_us = 0, b"", (), 0
    if action in _WITH_NUMBER:
        if not rest.isdecimal() or int(rest) > _WITH_NUMBER[action]:
            raise ValueError(f"{action} takes a number up to {_WITH_NUMBER[action]}, not {rest!r}")
        number = int(rest)
    elif action in _WITH_DURATION:
        after_us = parse_duration_us(rest)
    elif action is Action.NOISE:
        data = _hex(rest)
    elif action is Action.FLIP:
        words = rest.split()
        if not words or not all(word.isdecimal() for word in words):
            raise ValueError(f"flip takes the numbers of bits, not {rest!r}")
        bits = tuple(int(word) for word in words)
    elif action is Action.TWICE and rest:
        after_us = parse_duration_us(rest.removeprefix("after").strip())
    elif rest:
        raise ValueError(f"{action} takes nothing more, not {rest!r}")
    return number, data, bits, after_us


def _hex(text: str) -> bytes:
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if not data:
        raise ValueError(f"noise takes bytes as 00 ff, not {text!r}")
    return data
