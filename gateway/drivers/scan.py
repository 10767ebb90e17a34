"""Asks who is on a line, with which characters, and what they are. It only reads, and never writes.

Any answer counts, an exception too: the unit is there. Bytes that make no sound frame mean that somebody is there whose
speed or parity this is not, or that two units answer at once.
"""

import asyncio
import errno
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from gateway.drivers.facts import FactReader, Likeness, known_profiles
from gateway.drivers.modbus import BadCheckSum, ModbusLine
from gateway.drivers.profile import Profile, Span
from gateway.drivers.scan_plan import ScanPlan
from gateway.drivers.target import Setting, bus_of, is_serial
from gateway.errors import BadReply, BusDown, DeviceFault, DeviceSilent, NoSuchRegister
from gateway.site import SERIAL_KINDS, TCP_KINDS

__all__ = ["Answer", "Scanner"]

_FUNCTION, _REGISTER = 3, 0
_LISTEN_S = 0.15  # before the first question: who talks unasked
_LOOK_S = 0.002
_WAKING_S, _AWAKE_S = 1.0, 0.3
_PATIENCE_S = 2.0  # for a unit that was seen to answer late
_FACT_S = 0.5
_ANY_UNIT_AFTER = 4  # TCP: so many units in a row, and an unlikely one is asked
_UNLIKELY_UNIT = 211
_OPEN_TRIES, _OPEN_WAIT_S = 10, 0.05
_LATEST = 4  # a late answer belongs to one of so many units asked before


@dataclass(slots=True)
class Answer:
    """What one unit did at one setting.

    `how` is `answered` (`told` says with what), `garbled` or `odd` (somebody else's or another answer).
    """

    unit: int
    setting: Setting
    how: str
    told: str
    latency_s: float = 0.0
    stop_bits_either: bool = False
    models: tuple[Likeness, ...] = ()
    kind: str = ""


@dataclass(slots=True)
class Scanner:
    """One scan; what it has found stands in its fields at any moment, also after it was cancelled.

    With `one_setting` it ends with the first setting at which somebody answered: all units of a line must share it.
    """

    plan: ScanPlan
    progress: Callable[[str], None]
    kind: str = ""
    one_setting: bool = False
    answers: list[Answer] = field(default_factory=list)
    asked: int = 0
    talks_unasked: list[Setting] = field(default_factory=list)
    echo: bool = False
    any_unit: bool = False
    lost: str = ""
    refused: list[Setting] = field(default_factory=list)

    @property
    def sound(self) -> list[Answer]:
        """The answers that prove a unit at a setting."""
        return [answer for answer in self.answers if answer.how == "answered"]

    @property
    def longest_s(self) -> float:
        """How long the scan takes when nobody answers."""
        serial = is_serial(self.plan.where)
        patience_s = sum(
            _tries(profile) * _patient_s(profile)
            for setting in self.plan.settings
            for unit in self.plan.units
            for _, profile in _patient_questions(unit, setting, serial=serial)
        )
        return len(self.kinds) * (self.plan.longest_s + patience_s + len(self.plan.settings) * _LISTEN_S)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of bus that are tried, each only when nobody answered on the one before."""
        if self.kind:
            return (self.kind,)
        return SERIAL_KINDS[:1] if is_serial(self.plan.where) else TCP_KINDS

    async def run(self) -> None:
        """Asks everyone on every setting. BusDown when the port cannot be opened at all."""
        for kind in self.kinds:
            await self._run(kind)
            if self.sound or self.lost:
                return

    async def _run(self, kind: str) -> None:
        for number, setting in enumerate(self.plan.settings):
            line = ModbusLine(bus_of(self.plan.where, setting, kind))
            try:
                await _open(line, again=number > 0)
            except BusDown as error:
                if _refuses_setting(error):
                    self.refused.append(setting)
                    continue
                if not number:
                    raise
                self.lost = str(error)
                return
            try:
                await self._listen(line, setting)
                await self._ask_all(line, setting)
                line.close()
                await self._one_stop_bit(setting, kind)
            except BusDown as error:
                self.lost = str(error)
                return
            finally:
                self.echo = self.echo or line.counts.echoes > 0
                line.close()
            if self.any_unit or (self.one_setting and self.sound):
                return

    async def _listen(self, line: ModbusLine, setting: Setting) -> None:
        """A line that is not at rest before anybody was asked has another master, or a device that talks by itself."""
        if not is_serial(self.plan.where):
            return
        await asyncio.sleep(line.gap_s + _LOOK_S)
        loop = asyncio.get_running_loop()
        until = loop.time() + _LISTEN_S
        while loop.time() < until:
            if line.busy_s(0) > 0:
                self.talks_unasked.append(setting)
                return
            await asyncio.sleep(_LOOK_S)

    async def _ask_all(self, line: ModbusLine, setting: Setting) -> None:
        known = {answer.unit for answer in self.sound}
        silent: list[int] = []
        suspects: dict[int, None] = {}
        for unit in self.plan.units:
            if unit in known:
                continue
            name = str(setting) if is_serial(self.plan.where) else self.plan.where
            self.progress(f"{name}: unit {unit}, {len(self.sound)} found")
            late = line.counts.late_answers
            answer = await self._ask(line, unit, setting, self.plan.timeout_s(setting))
            if answer is None:
                answer = await self._ask_patiently(line, unit, setting)
            if line.counts.late_answers > late:
                suspects |= dict.fromkeys(silent[-_LATEST:])
            if answer is None:
                silent.append(unit)
                continue
            await self._note(line, answer)
            if self.any_unit:
                return
        for unit in suspects:
            answer = await self._ask(line, unit, setting, _PATIENCE_S)
            if answer is not None:
                answer.told += f", slow: it took {answer.latency_s:.2g} s"
                await self._note(line, answer)

    async def _note(self, line: ModbusLine, answer: Answer) -> None:
        answer.kind = line.bus.kind
        self.answers.append(answer)
        if answer.how != "answered":
            return
        if not is_serial(self.plan.where) and not self.any_unit and len(self.sound) == _ANY_UNIT_AFTER:
            other = await self._ask(line, _UNLIKELY_UNIT, answer.setting, self.plan.reaction_s)
            self.any_unit = other is not None and other.how == "answered"
        told = answer.models
        first = told[0].profile if told else ""
        with suppress(BusDown):
            reader = FactReader(line, answer.unit, max(_FACT_S, 2 * answer.latency_s))
            answer.models = await reader.likenesses(first) or told

    async def _ask(self, line: ModbusLine, unit: int, setting: Setting, timeout_s: float) -> Answer | None:
        """One question; a garbled answer is asked for again. None when nothing came."""
        garbled: Answer | None = None
        for _ in range(2):
            self.asked += 1
            try:
                if not line.connected:
                    await _open(line, again=True)
                words = await line.read(unit, _FUNCTION, _REGISTER, 1, timeout_s)
            except (NoSuchRegister, DeviceFault) as error:
                return Answer(unit, setting, "answered", f"exception {error.code}", line.latency_s)
            except BadCheckSum as error:
                garbled = Answer(unit, setting, "garbled", str(error))
                continue
            except DeviceSilent:
                return garbled
            except BadReply as error:
                return Answer(unit, setting, "odd", str(error))
            told = f"register {_REGISTER} is {words[0]:04X}"
            return Answer(unit, setting, "answered", told, line.latency_s)
        return garbled

    async def _ask_patiently(self, line: ModbusLine, unit: int, setting: Setting) -> Answer | None:
        """What gives no answer to an unknown register, or sleeps: asked for a register it has, at its own address."""
        for span, profile in _patient_questions(unit, setting, serial=is_serial(self.plan.where)):
            for _ in range(_tries(profile)):
                self.asked += 1
                try:
                    if not line.connected:
                        await _open(line, again=True)
                    await line.read(unit, span.function, span.start, span.count, _patient_s(profile))
                except (NoSuchRegister, DeviceFault) as error:
                    return Answer(unit, setting, "answered", f"exception {error.code}", line.latency_s)
                except (DeviceSilent, BadReply):
                    continue
                model = Likeness(
                    profile.id, profile.variant, profile.model, (f"register {span.start} was answered",), weak=True
                )
                told = f"function {span.function}, register {span.start} was answered"
                return Answer(unit, setting, "answered", told, line.latency_s, models=(model,))
        return None

    async def _one_stop_bit(self, setting: Setting, kind: str) -> None:
        """Whether those found with two stop bits answer with one as well."""
        here = [answer for answer in self.sound if answer.setting == setting]
        if not here or not is_serial(self.plan.where) or (setting.parity, setting.stop_bits) != ("N", 2):
            return
        one = replace(setting, stop_bits=1)
        line = ModbusLine(bus_of(self.plan.where, one, kind))
        try:
            await _open(line, again=True)
            for answer in here:
                again = await self._ask(line, answer.unit, one, max(self.plan.timeout_s(one), 2 * answer.latency_s))
                answer.stop_bits_either = again is not None and again.how == "answered"
        finally:
            line.close()


def _refuses_setting(error: BusDown) -> bool:
    """Whether the port is there and cannot do this speed or parity (EINVAL of tcsetattr, as a termios.error)."""
    cause = error.__cause__
    return cause is not None and cause.args[:1] == (errno.EINVAL,)


async def _open(line: ModbusLine, *, again: bool) -> None:
    """Opens the line; one that was closed a moment ago is not given back by the system at once."""
    for tries_left in reversed(range(_OPEN_TRIES if again else 1)):
        try:
            await line.open()
        except BusDown:
            if not tries_left:
                raise
            await asyncio.sleep(_OPEN_WAIT_S)
        else:
            return


def _patient_s(profile: Profile) -> float:
    """One that sleeps may take long to wake; one that is silent on an unknown register answers a known one at once."""
    return _WAKING_S if profile.quirks.wake is not None else _AWAKE_S


def _tries(profile: Profile) -> int:
    return 1 if profile.quirks.wake is None else 2


def _patient_questions(unit: int, setting: Setting, *, serial: bool) -> Iterator[tuple[Span, Profile]]:
    """Registers of the profiles that would let the usual question pass unanswered, each once."""
    told: set[Span] = set()
    for profile in known_profiles():
        transport, wants = profile.transport, profile.quirks.wake is not None or profile.limits.unknown_is_silent
        if not wants or transport.unit != unit:
            continue
        if serial and (
            (transport.baud or setting.baud) != setting.baud or transport.parity not in (None, setting.parity)
        ):
            continue
        point = next(iter(profile.points.values()))
        span = point.span_of(point.register)
        if span not in told:
            told.add(span)
            yield span, profile
