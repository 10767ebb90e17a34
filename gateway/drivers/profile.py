"""Device profiles as frozen records: which registers an instrument has, how they decode, and when not to believe them.

A profile is a TOML file of facts, shipped (`config/devices`) or the user's own; `profiles` reads it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gateway.drivers.registers import words_of
from gateway.model import Quality

__all__ = ["Band", "Limits", "Point", "Profile", "Register", "Span", "StatusRule", "Transport", "UnitRule"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Registers that belong together and are never split over two requests; `whole` when only exactly so."""

    function: int
    start: int
    count: int
    whole: bool = False

    @property
    def end(self) -> int:
        """The address after the last one."""
        return self.start + self.count

    def covers(self, other: "Span") -> bool:
        """Whether the other's registers all lie in this one."""
        return self.function == other.function and self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Register:
    """One number in the device's map: function code 3 or 4, wire address from 0, type and byte order."""

    function: int
    address: int
    type: str
    order: str = "ABCD"

    @property
    def span(self) -> Span:
        """The registers the number takes."""
        return Span(self.function, self.address, words_of(self.type))


@dataclass(frozen=True, slots=True)
class Band:
    """Where a number is believed: FAIL outside the fail bounds, SUSPECT outside the suspect bounds, bounds included.

    NAMUR NE 43 for a 4-20 mA loop is 3.6 / 3.8 / 20.5 / 21 mA. A bound that is None is open.
    """

    fail_below: float | None = None
    suspect_below: float | None = None
    suspect_above: float | None = None
    fail_above: float | None = None

    def judge(self, value: float) -> Quality:
        """GOOD, SUSPECT or FAIL; NaN is none of this rule's business and comes back GOOD."""
        if _below(value, self.fail_below) or _above(value, self.fail_above):
            return Quality.FAIL
        if _below(value, self.suspect_below) or _above(value, self.suspect_above):
            return Quality.SUSPECT
        return Quality.GOOD


@dataclass(frozen=True, slots=True)
class StatusRule:
    """What a status register says of the value beside it.

    `kind` is `codes` (the number is looked up), `bits` (every set bit is looked up, the worst counts) or `band` (the
    number must lie in `band`). `meanings` gives quality and text per code or bit; one that is not listed means
    `otherwise`.
    """

    register: Register
    kind: str
    meanings: Mapping[int, tuple[Quality, str]] = field(default_factory=dict)
    otherwise: Quality = Quality.FAIL
    band: Band = Band()
    name: str = "status"


@dataclass(frozen=True, slots=True)
class UnitRule:
    """The register in which the device says its unit, with the unit for each code or one-hot flag."""

    register: Register
    units: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Point:
    """One measured value of a device.

    `unit` is empty when only `unit_register` knows it. `sentinels` are compared with the number before `scale` and
    `offset`. `block` is the (start, count) that the device insists on being asked for whole.
    """

    name: str
    register: Register
    unit: str
    doc_register: str = ""
    scale: float = 1.0
    offset: float = 0.0
    sentinels: tuple[float, ...] = ()
    block: tuple[int, int] | None = None
    status: tuple[StatusRule, ...] = ()
    unit_register: UnitRule | None = None
    band: Band = Band()

    @property
    def address(self) -> int:
        """Wire address of the value, from 0."""
        return self.register.address

    @property
    def function(self) -> int:
        """Function code with which the value is read."""
        return self.register.function

    def registers(self) -> Iterator[Register]:
        """Everything the point needs: the value first, then unit and status."""
        yield self.register
        if self.unit_register is not None:
            yield self.unit_register.register
        for rule in self.status:
            yield rule.register

    def span_of(self, register: Register) -> Span:
        """The registers to be asked for to get one of `registers`: the whole block where it lies in the block."""
        if self.block is not None:
            block = Span(self.function, *self.block, whole=True)
            if block.covers(register.span):
                return block
        return register.span


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request to the device may ask: how many registers, over which hole, and from even addresses only."""

    max_registers: int = 125
    max_gap: int = 0
    even_start: bool = False


@dataclass(frozen=True, slots=True)
class Transport:
    """Factory settings of the serial side where a document gives them; None where it does not."""

    baud: int | None = None
    parity: str | None = None
    stop_bits: int | None = None
    unit: int | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything known of one kind of instrument. `confidence` says how far the facts were verified."""

    id: str
    model: str
    source: tuple[str, ...]
    points: Mapping[str, Point]
    limits: Limits = Limits()
    transport: Transport = Transport()
    confidence: str = ""
    notes: tuple[str, ...] = ()


def _below(value: float, bound: float | None) -> bool:
    return bound is not None and value < bound


def _above(value: float, bound: float | None) -> bool:
    return bound is not None and value > bound
