"""Device profiles as frozen records: which registers an instrument has, how they decode, and when not to believe them.

A profile is a TOML file of facts, shipped (`config/devices`) or the user's own; `profiles` reads it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gateway.drivers.frames import BIT_READS
from gateway.drivers.quirks import NO_QUIRKS, Quirks
from gateway.drivers.registers import Decoder, decoder, words_of
from gateway.model import Quality

__all__ = [
    "Band", "Fact", "Limits", "Listing", "Pace", "Point", "Profile", "Register", "Span", "StatusRule", "Term",
    "Transport", "UnitRule",
]  # fmt: skip


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
    """One number in the device's map: function code 1 to 4, wire address from 0, type and byte order.

    With functions 1 (coils) and 2 (discrete inputs) the type is `bit`: 0 or 1.

    `byte` and `bits` as `registers.decoder` takes them: a number that begins inside a register, a field of bits in one.
    """

    function: int
    address: int
    type: str
    order: str = "ABCD"
    byte: int | None = None
    bits: tuple[int, int] | None = None
    span: Span = field(init=False, compare=False, repr=False)
    """The registers the number takes."""
    keys: tuple[tuple[int, int], ...] = field(init=False, compare=False, repr=False)
    """The same as (function, address) each."""
    number: Decoder = field(init=False, compare=False, repr=False)
    """Makes the number of the words at `keys`."""

    def __post_init__(self) -> None:
        span = Span(self.function, self.address, words_of(self.type, self.byte or 0))
        object.__setattr__(self, "span", span)
        object.__setattr__(self, "keys", tuple((self.function, n) for n in range(span.start, span.end)))
        object.__setattr__(self, "number", decoder(self.type, self.order, self.byte, self.bits))


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


OPEN = Band()


@dataclass(frozen=True, slots=True)
class StatusRule:
    """What a status register says of the value beside it.

    `kind` is `codes` (the number is looked up), `bits` (every set bit is looked up by its position in the manual's
    `numbering`, the worst counts), `band` (the number must lie in `band`), `unchanged` (a code that nobody documents:
    what it was with the first sound value it must go on being) or `moves` (a count that goes on while the instrument
    measures); of both the poll remembers what they were. `meanings` gives quality and text per code or bit; one that
    is not listed means `otherwise`.
    """

    register: Register
    kind: str
    meanings: Mapping[int, tuple[Quality, str]] = field(default_factory=dict)
    otherwise: Quality = Quality.FAIL
    band: Band = OPEN
    name: str = "status"
    numbering: str = "lsb0"


@dataclass(frozen=True, slots=True)
class UnitRule:
    """The register in which the device says its unit, with the unit for each code or one-hot flag.

    `refined` is for units that another register decides further: a temperature is in degC unless that one says degF.
    """

    register: Register
    units: Mapping[int, str]
    refined: Mapping[str, "UnitRule"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Term:
    """A further register that a point's number is made of, with what it does to the number.

    `fraction` and `carry` are parts of a split total: the number is carry x `weight` + value + fraction, all of one
    sign. `exponent` moves the point: x 10^(code + `add`); `decimals` moves it the other way. `multiplier` multiplies.
    `full_scale` is what 32767 stands for. `negative` makes the number negative when it is not zero.
    """

    role: str
    register: Register
    weight: float = 1.0
    add: int = 0


@dataclass(frozen=True, slots=True)
class Listing:
    """A list in which the device says itself what stands where: codes first, then values in the same places.

    `units` are the codes of one measured value with the unit that each stands for; `slots` is the point for each place.
    """

    codes: tuple[Register, ...]
    units: Mapping[int, str]
    slots: tuple["Point", ...]
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One measured value of a device.

    `unit` is empty when only `unit_register`, or the device's menu, knows it. `sentinels` are compared with the number
    before `scale` and `offset`. `block` is the (start, count) that the device insists on being asked for whole;
    `groups` are registers that must come in one request. A point with a `listing` takes its value from the place that
    carries its code.
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
    band: Band = OPEN
    terms: tuple[Term, ...] = ()
    groups: tuple[Span, ...] = ()
    listing: Listing | None = None
    verified: bool = True
    resolution: float | None = None  # the least step it shows, in `unit`

    @property
    def address(self) -> int:
        """Wire address of the value, from 0."""
        return self.register.address

    @property
    def function(self) -> int:
        """Function code with which the value is read."""
        return self.register.function

    def parts(self) -> Iterator[tuple[str, Register]]:
        """Every register of the point with what it is for: value, fraction, unit, status, code and so on."""
        if self.listing is not None:
            yield from (("code", register) for register in self.listing.codes)
            for slot in self.listing.slots:
                yield from slot.parts()
            return
        yield "value", self.register
        yield from ((term.role, term.register) for term in self.terms)
        if self.unit_register is not None:
            yield "unit", self.unit_register.register
            yield from (("unit", rule.register) for rule in self.unit_register.refined.values())
        yield from (("status", rule.register) for rule in self.status)

    def for_unit(self, unit: str) -> "Point":
        """The point for a channel that takes this unit, without registers that could only decide about others."""
        rule = self.unit_register
        if rule is None or not rule.refined:
            return self
        kept = {name: more for name, more in rule.refined.items() if unit == name or unit in more.units.values()}
        return replace(self, unit_register=replace(rule, refined=kept))

    def registers(self) -> Iterator[Register]:
        """Everything the point may need: the value first, then its other parts, unit and status."""
        return (register for _, register in self.parts())

    def needed(self, words: Mapping[tuple[int, int], int]) -> Iterator[Register]:
        """What the point needs to be read, given what was read: of a list only the place that carries its code."""
        if self.listing is None:
            yield from self.registers()
            return
        yield from self.listing.codes
        slot = self.slot(words)
        if slot is not None:
            yield from slot.registers()

    def slot(self, words: Mapping[tuple[int, int], int]) -> "Point | None":
        """The place of the list that carries the point's code now; None when none does or the codes are not there."""
        listing = self.listing
        if listing is None:
            return None
        for register, slot in zip(listing.codes, listing.slots, strict=True):
            if any(key not in words for key in register.keys):
                return None
            code = register.number([words[key] for key in register.keys])
            if code == listing.end:
                return None
            if code in listing.units:
                return slot
        return None

    def span_of(self, register: Register) -> Span:
        """The registers to be asked for to get one of `registers`: the whole block or group where it lies in one."""
        own = register.span
        if self.block is not None:
            block = Span(self.function, *self.block, whole=True)
            if block.covers(own):
                return block
        return next((group for group in self.groups if group.covers(own)), own)


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a device says of itself that is no measurement: serial number, tag, firmware, clock, a setting.

    `type` is a number's, `ascii`, `utf16` or one of `texts.TIME_TYPES`; `meanings` are words for a number's codes.
    `block` is the (start, count) that the device insists on being asked for whole. `identifies` are the texts, as read
    and told, that only this kind of device gives: one that ends in `*` is a beginning, `{unit}` is its own address.
    """

    name: str
    span: Span
    type: str
    order: str = "ABCD"
    doc_register: str = ""
    unit: str = ""
    scale: float = 1.0
    meanings: Mapping[int, str] = field(default_factory=dict)
    verified: bool = True
    block: tuple[int, int] | None = None
    identifies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request to the device may ask.

    At most `max_registers` (1: single registers only) over holes of at most `max_gap`, from even addresses only when
    `even_start`, and never across less than whole blocks of `align` registers. `unknown_is_silent` says that it gives
    no answer at all where it has no register, instead of an exception. Coils and inputs have a maximum of their own,
    and holes as long on the wire: sixteen of them for a register.
    """

    max_registers: int = 125
    max_gap: int = 0
    even_start: bool = False
    align: int = 1
    unknown_is_silent: bool = False
    max_bits: int = 2000

    def most(self, function: int) -> int:
        """How many registers, coils or inputs one request may ask for."""
        return self.max_bits if function in BIT_READS else self.max_registers

    def hole(self, function: int) -> int:
        """How many that nobody wants one request may run over."""
        return 16 * self.max_gap if function in BIT_READS else self.max_gap


@dataclass(frozen=True, slots=True)
class Transport:
    """Factory settings of the serial side where a document gives them; None where it does not.

    None of them is certain to be what the technician will find; `verified` says that the maker's document gives them.
    `framings` are the ways the device can be spoken to: `rtu`, `ascii`, `tcp`.
    """

    baud: int | None = None
    parity: str | None = None
    stop_bits: int | None = None
    unit: int | None = None
    verified: bool = False
    framings: tuple[str, ...] = ("rtu",)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long it may take to answer, how often it is asked again, how long it is left alone after a request, and for
    how long after a silence its values do not count; None where the profile does not say."""

    timeout_us: int | None = None
    retries: int | None = None
    gap_us: int | None = None
    warm_up_us: int | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything known of one kind of instrument.

    `confidence` says how far the facts were verified, `tier` sums it up (A: as it stands; B: what `confirm` names is
    open; C: a template), `confirm` is what the technician must compare with the display. `variant` is which of its
    models, generations or modules this is. `pace` is how it is to be asked when the site does not say.
    """

    id: str
    model: str
    source: tuple[str, ...]
    points: Mapping[str, Point]
    limits: Limits = Limits()
    transport: Transport = Transport()
    confidence: str = ""
    notes: tuple[str, ...] = ()
    tier: str = "A"
    confirm: tuple[str, ...] = ()
    confirmed: bool = False
    facts: Mapping[str, Fact] = field(default_factory=dict)
    quirks: Quirks = NO_QUIRKS
    variant: str = ""
    pace: Pace = Pace()


def _below(value: float, bound: float | None) -> bool:
    return bound is not None and value < bound


def _above(value: float, bound: float | None) -> bool:
    return bound is not None and value > bound
