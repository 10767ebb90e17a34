"""Instruments as they look on the wire: their registers, what they refuse, and how they say that something is wrong.

Addresses, types, word orders and unit codes are typed here from the makers' documents (each class names its own) and
never from the gateway's device profiles, so that the two can disagree and a test can see it. Pure: no I/O, no clock.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from math import isfinite, nan

from simulators.words import NAN_EH, Words, abcd, cdab, f32, f64, i32, text, u32

__all__ = [
    "HamiltonPhArc", "Instrument", "KellerSeries30", "Liquiline", "Mag6000", "Point", "Refusal", "Tuf2000m",
    "WaveshareAi8", "PROFILES",
]  # fmt: skip

_READS = frozenset((3, 4))
_HOLDING = frozenset((3,))
_INPUT = frozenset((4,))


class Refusal(IntEnum):
    """A Modbus exception: the instrument's answer to a request it cannot serve."""

    ILLEGAL_FUNCTION = 1
    ILLEGAL_ADDRESS = 2
    ILLEGAL_VALUE = 3


@dataclass(frozen=True, slots=True)
class Point:
    """One value an instrument shows: what it measures, in which unit, in which steps, and in which registers."""

    name: str
    quantity: str
    unit: str
    resolution: float
    address: int
    words: int = 2
    also: tuple[tuple[int, int], ...] = ()  # where the same value stands in other forms: (address, words)

    def covered_by(self, address: int, count: int) -> bool:
        """Whether a read of these registers carries the whole value in one of its forms."""
        places = ((self.address, self.words), *self.also)
        return any(address <= start and start + words <= address + count for start, words in places)

    def rounded(self, value: float) -> float:
        """The value in whole steps of the instrument's resolution."""
        return round(value / self.resolution) * self.resolution


class Instrument(ABC):
    """One device on a line. `silent` makes it mute; `on_read` is called after each read it answered.

    A read sees the registers of one moment: they are swapped in whole values and nothing is awaited in between.
    """

    profile: str
    functions = _READS
    max_registers = 125  # the protocol's own limit

    def __init__(self, unit: int) -> None:
        self.unit = unit
        self.silent = False
        self.on_read: Callable[[int, int], None] | None = None  # address, count
        self.points: dict[str, Point] = {}
        self._registers: dict[int, int] = {}

    def set(self, name: str, value: float | None) -> None:
        """Show a value in the point's unit, at the instrument's resolution; None or NaN is the device's own "no value".

        KeyError for a point the instrument does not have.
        """
        point = self.points[name]
        self._show(point, point.rounded(value) if value is not None and isfinite(value) else None)

    def read(self, function: int, address: int, count: int) -> Words | Refusal:
        """What the instrument answers to a read, or the exception it answers with."""
        refusal = self._refuse(function, address, count)
        if refusal is not None:
            return refusal
        words = tuple(self._registers[address + i] for i in range(count))
        if self.on_read is not None:
            self.on_read(address, count)
        return words

    def blocks(self) -> Iterable[tuple[int, int]]:
        """The registers there are, as (address, count) without gaps."""
        start = count = 0
        for address in sorted(self._registers):
            if count and address != start + count:
                yield start, count
                count = 0
            start, count = (start, count + 1) if count else (address, 1)
        yield start, count

    @abstractmethod
    def _show(self, point: Point, value: float | None) -> None:
        """Write a value, already in whole steps, into the registers."""

    def _refuse(self, function: int, address: int, count: int) -> Refusal | None:
        if function not in self.functions:
            return Refusal.ILLEGAL_FUNCTION
        if not 1 <= count <= self.max_registers:
            return Refusal.ILLEGAL_VALUE
        if any(address + i not in self._registers for i in range(count)):
            return Refusal.ILLEGAL_ADDRESS
        return None

    def _add(self, *points: Point) -> None:
        """Declare points, each without a value for now."""
        for point in points:
            self.points[point.name] = point
            self._show(point, None)

    def _put(self, address: int, words: Words) -> None:
        self._registers.update((address + i, word) for i, word in enumerate(words))


class HamiltonPhArc(Instrument):
    """Hamilton pH Arc: blocks of ten registers (unit, value, status, low, high), each 32 bits, low word first.

    Programmer's Manual 624300: register 2090 (wire 2089) pH, 2410 (wire 2409) temperature. The unit is one bit of 32;
    status bit 4 says "error". Only whole blocks are answered.
    """

    profile = "hamilton-ph-arc"
    _BLOCK = 10
    _UNITS: Mapping[str, int] = {"pH": 0x1000, "degC": 0x0004}
    _SPANS: Mapping[str, tuple[float, float]] = {"pH": (0.0, 14.0), "degC": (-10.0, 130.0)}
    _ERROR = 1 << 4

    def __init__(self, unit: int = 1) -> None:
        super().__init__(unit)
        self._add(
            Point("pH", "pH", "pH", 0.01, 2091),
            Point("temperature", "temperature", "degC", 0.1, 2411),
        )

    def _show(self, point: Point, value: float | None) -> None:
        low, high = self._SPANS[point.unit]
        fields = (
            u32(self._UNITS[point.unit]),
            f32(0.0 if value is None else value),
            u32(self._ERROR if value is None else 0),
            f32(low),
            f32(high),
        )
        self._put(point.address - 2, tuple(word for field in fields for word in cdab(field)))

    def _refuse(self, function: int, address: int, count: int) -> Refusal | None:
        starts = {point.address - 2 for point in self.points.values()}
        if function in self.functions and (address not in starts or count != self._BLOCK):
            return Refusal.ILLEGAL_ADDRESS
        return super()._refuse(function, address, count)


class Liquiline(Instrument):
    """Endress+Hauser Liquiline CM44x: sixteen inputs of four registers (f32 high word first, status, unit code).

    Modbus guideline CM44x: input n at 4(n-1), as holding and as input register; what each input carries was set up in
    the device's menu, hence `inputs`. Status 0 good, 2 bad, 3 not assigned; no value is 7FA00000.
    """

    profile = "eh-liquiline-cm44x"
    _INPUTS = 16
    # quantity: its unit on Modbus, that unit's code, the resolution
    _KINDS: Mapping[str, tuple[str, int, float]] = {
        "pH": ("pH", 53, 0.01),
        "temperature": ("degC", 89, 0.1),
        "conductivity": ("mS/cm", 72, 0.001),
        "tss": ("mg/L", 47, 1.0),
        "turbidity": ("FNU", 33, 0.1),
        "orp": ("mV", 110, 1.0),
    }

    def __init__(self, unit: int = 1, inputs: Mapping[int, str] | None = None) -> None:
        """`inputs` says which quantity each input carries, numbered from 1. ValueError for one it cannot carry."""
        super().__init__(unit)
        for i in range(self._INPUTS):
            self._put(4 * i, (*NAN_EH, 3, 0))
        self._put(1016, (0,))  # temperatures in degC
        self._put(1024, abcd(f32(0.0)))  # watchdog off
        self._put(1151, text("MANHOLE", 16))
        for number, quantity in sorted((inputs or {}).items()):
            if quantity not in self._KINDS or not 1 <= number <= self._INPUTS:
                raise ValueError(f"a Liquiline has no input {number} for {quantity}")
            name, (unit_name, _, resolution) = f"AI{number}", self._KINDS[quantity]
            self._add(Point(name, quantity, unit_name, resolution, 4 * (number - 1)))

    def _show(self, point: Point, value: float | None) -> None:
        words, status = (NAN_EH, 2) if value is None else (abcd(f32(value)), 0)
        self._put(point.address, (*words, status, self._KINDS[point.quantity][1]))

    def _refuse(self, function: int, address: int, count: int) -> Refusal | None:
        if function in _INPUT and address >= 4 * self._INPUTS:
            return Refusal.ILLEGAL_ADDRESS
        return super()._refuse(function, address, count)


class Mag6000(Instrument):
    """Siemens SITRANS F M MAG 6000 with the Modbus module: f32 and f64, high word first, holding registers only.

    Manual: 4:03003 (wire 3002) volume flow in m3/s, 4:03015 (wire 3014) totalizer 1 as f64, 4:03023 (wire 3022) as f32.
    The document gives no code for a missing value: NaN is this bench's assumption.
    """

    profile = "siemens-mag6000"
    functions = _HOLDING

    def __init__(self, unit: int = 1) -> None:
        super().__init__(unit)
        self._put(602, (24,))  # product code: MAG 6000
        self._put(607, text("SIEMENS", 6))
        self._put(2005, abcd(f32(0.02)))  # full scale, m3/s
        self._put(2029, (1,))  # empty-pipe detection on
        self._put(3014, (0,) * 12)
        self._add(
            Point("volume_flow", "flow", "m3/s", 1e-7, 3002),
            Point("totalizer1", "volume", "m3", 1e-6, 3014, words=4, also=((3022, 2),)),
        )

    def _show(self, point: Point, value: float | None) -> None:
        number = nan if value is None else value
        if point.words == 4:
            self._put(point.address, abcd(f64(number)))
            self._put(3022, abcd(f32(number)))
        else:
            self._put(point.address, abcd(f32(number)))


class KellerSeries30(Instrument):
    """Keller series 30 pressure transmitter: f32 high word first, holding registers, four registers at most in a read.

    Protocol v3.5: P1 at 0x0002 in bar, TOB1 at 0x0008 in degC, both together at 0x0100; short integers in hundredths
    from 0x0010, long ones in Pa and hundredths of a degree from 0x0020. NaN is "inactive". An odd start or count among
    the values is refused with exception 2.
    """

    profile = "keller-series30"
    functions = _HOLDING
    max_registers = 4

    def __init__(self, unit: int = 1) -> None:
        super().__init__(unit)
        self._put(0x0000, abcd(f32(nan)) * 6)  # CH0, P1, P2, T, TOB1, TOB2
        self._put(0x0020, abcd(i32(_integer(None, 1, bits=32))) * 6)
        self._put(0x0202, (*abcd(u32(30_001)), 0b10))  # serial number; only P1 is active
        self._put(0x020C, (0, 0, 0x0514))  # status, class.group 5.20
        self._put(0x0010, (_integer(None, 1, bits=16),) * 6)
        self._add(
            Point("P1", "level", "bar", 1e-5, 0x0002, also=((0x0011, 1), (0x0022, 2), (0x0100, 2))),
            Point("TOB1", "temperature", "degC", 0.01, 0x0008, also=((0x0014, 1), (0x0028, 2), (0x0102, 2))),
        )

    def _show(self, point: Point, value: float | None) -> None:
        words = abcd(f32(nan if value is None else value))
        short, long, pair = (start for start, _ in point.also)
        scale = 100_000 if point.unit == "bar" else 100  # as a long integer: Pa, hundredths of a degree
        self._put(point.address, words)
        self._put(pair, words)
        self._put(long, abcd(i32(_integer(value, scale, bits=32))))
        self._put(short, (_integer(value, 100, bits=16) & 0xFFFF,))

    def _refuse(self, function: int, address: int, count: int) -> Refusal | None:
        values = address < 0x000C or 0x0020 <= address < 0x002C
        if function in self.functions and values and (address % 2 or count % 2):
            return Refusal.ILLEGAL_ADDRESS
        return super()._refuse(function, address, count)


def _integer(value: float | None, scale: int, bits: int) -> int:
    """A Keller integer: its largest number is "error or overflow", its smallest "underflow"."""
    limit = 1 << (bits - 1)
    return limit - 1 if value is None else max(-limit, min(limit - 1, round(value * scale)))


class Tuf2000m(Instrument):
    """TUF-2000M transit-time meter: f32 and i32 low word first, holding registers; register n is wire n-1.

    Manual: 1 flow in m3/h, 9 and 11 the positive total as whole and fraction, 72 error bits, 92 working step and signal
    quality. No value is error bit 0, "no received signal", with quality 0.
    """

    profile = "tuf-2000m"
    functions = _HOLDING
    _STEP_AND_QUALITY = (3 << 8) | 82
    _BORE_M2 = 0.00785  # a 100 mm pipe
    _NO_SIGNAL = 1

    def __init__(self, unit: int = 1) -> None:
        super().__init__(unit)
        self._put(0, (0,) * 104)
        self._put(1436, (0, 0, 3))  # m3/h, m3, multiplier 10^0
        self._put(96, cdab(f32(100.0)))  # travel-time ratio, %
        self._add(
            Point("flow_rate", "flow", "m3/h", 1e-4, 0), Point("positive_total", "volume", "m3", 1e-3, 8, words=4)
        )

    def _show(self, point: Point, value: float | None) -> None:
        if point.quantity == "volume":
            total = value or 0.0
            self._put(point.address, (*cdab(i32(int(total))), *cdab(f32(total - int(total)))))
            return
        self._put(point.address, cdab(f32(value or 0.0)))
        self._put(4, cdab(f32((value or 0.0) / 3600.0 / self._BORE_M2)))  # velocity, m/s
        self._put(71, (self._NO_SIGNAL if value is None else 0,))
        self._put(91, (3 << 8 if value is None else self._STEP_AND_QUALITY,))


class WaveshareAi8(Instrument):
    """Waveshare eight-channel 4 to 20 mA module: microamperes in input registers 0 to 7, twelve bits over 20 mA.

    Wiki and firmware sources: modes at holding 0x1000 (3 is 4 to 20 mA), unit address at 0x4000. The module has no word
    for a broken loop; it reads no current.
    """

    profile = "waveshare-ai8"
    _CHANNELS = 8
    _FULL_SCALE_UA, _CODES = 20_000, 4095

    def __init__(self, unit: int = 1) -> None:
        super().__init__(unit)
        self._put(0x1000, (3,) * self._CHANNELS)
        self._put(0x4000, (unit,))
        self._add(
            *(Point(f"AI{i + 1}", "current", "mA", 20.0 / self._CODES, i, words=1) for i in range(self._CHANNELS))
        )

    def _show(self, point: Point, value: float | None) -> None:
        code = min(self._CODES, max(0, round((value or 0.0) * 1000 * self._CODES / self._FULL_SCALE_UA)))
        self._put(point.address, (round(code * self._FULL_SCALE_UA / self._CODES),))

    def _refuse(self, function: int, address: int, count: int) -> Refusal | None:
        if function in self.functions and (function in _INPUT) != (address < self._CHANNELS):
            return Refusal.ILLEGAL_ADDRESS
        return super()._refuse(function, address, count)


PROFILES: Mapping[str, Callable[..., Instrument]] = {
    cls.profile: cls for cls in (HamiltonPhArc, Liquiline, Mag6000, KellerSeries30, Tuf2000m, WaveshareAi8)
}
