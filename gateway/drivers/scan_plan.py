"""What a scan will ask and how long that takes: settings, unit addresses, the time an absent unit costs. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.drivers.quiet import BITS_PER_CHARACTER
from gateway.drivers.target import Setting, is_serial

__all__ = ["ALL_UNITS", "LIKELY_SETTINGS", "LIKELY_UNITS", "ScanPlan", "likely_settings", "parse_units"]

ALL_UNITS = tuple(range(1, 248))  # Modbus over serial line 2.2
LIKELY_UNITS = (*range(1, 11), 12, 20, 30, 40, 247)
"""Where makers and technicians put instruments: the defaults of the shipped profiles, and 1 to 10."""
_NATIVE_UNITS = (255, 0)  # what a Modbus TCP device without a unit address is asked by (messaging guide 4.4.2.2)

_STOP_BITS = {"N": 2, "E": 1, "O": 1}
# The likeliest first: what the shipped profiles' instruments leave the works with, then the standard's other speeds.
LIKELY_SETTINGS = tuple(
    Setting(baud, parity, _STOP_BITS[parity])
    for baud, parity in (
        (9600, "N"), (19200, "E"), (19200, "N"), (9600, "E"), (38400, "N"), (57600, "N"), (115200, "N"), (4800, "N"),
    )
)  # fmt: skip

_ASK_AND_ANSWER = 8 + 7  # characters of a request for one register and of its answer
_REACTION_S = 0.12  # ours: instruments on a wire answer within 100 ms, as their manuals say; a sleeping one does not
_TCP_REACTION_S = 0.6  # ours: a converter passes the question on to its line, and waits there
_OVERHEAD_S = 0.01  # between two questions


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """Who is asked on which settings. `reaction_s` is how long a unit may think before it counts as absent."""

    where: str
    settings: tuple[Setting, ...]
    units: tuple[int, ...]
    reaction_s: float

    @classmethod
    def of(
        cls,
        where: str,
        *,
        settings: Sequence[Setting] = (),
        units: Sequence[int] = (),
        reaction_s: float | None = None,
    ) -> "ScanPlan":
        """The plan for a serial port or a host, the likely settings and units where none are given."""
        if is_serial(where):
            return cls(
                where, tuple(settings) or LIKELY_SETTINGS, tuple(units) or LIKELY_UNITS, reaction_s or _REACTION_S
            )
        return cls(
            where,
            (Setting(9600, "N", 2),),  # of no meaning on TCP
            tuple(units) or (*LIKELY_UNITS, *_NATIVE_UNITS),
            reaction_s or _TCP_REACTION_S,
        )

    def timeout_s(self, setting: Setting) -> float:
        """How long one unit is waited for: its reaction, and the characters both ways at this speed."""
        on_the_wire_s = _ASK_AND_ANSWER * BITS_PER_CHARACTER / setting.baud if is_serial(self.where) else 0.0
        return self.reaction_s + on_the_wire_s

    @property
    def longest_s(self) -> float:
        """How long the whole takes when nobody answers."""
        return sum(len(self.units) * (self.timeout_s(setting) + _OVERHEAD_S) for setting in self.settings)


def likely_settings(bauds: Iterable[int], parities: Iterable[str], stop_bits: int | None) -> tuple[Setting, ...]:
    """The likely settings narrowed to these speeds and parities; any speed or parity that is asked for is tried.

    No parity goes with two stop bits unless told otherwise: a receiver looks at the first stop bit only, so that both
    kinds of device answer.
    """
    speeds, kinds = tuple(bauds), tuple(parities)
    if not speeds and not kinds and stop_bits is None:
        return LIKELY_SETTINGS
    chosen = dict.fromkeys(
        (setting.baud, setting.parity)
        for setting in LIKELY_SETTINGS
        if (not speeds or setting.baud in speeds) and (not kinds or setting.parity in kinds)
    )
    wanted = ((baud, parity) for baud in speeds for parity in kinds or ("N", "E"))
    chosen |= dict.fromkeys(wanted)
    if kinds and not speeds:
        chosen |= {(baud, parity): None for parity in kinds for baud in (9600, 19200)}
    return tuple(Setting(baud, parity, stop_bits or _STOP_BITS[parity]) for baud, parity in chosen)


def parse_units(text: str) -> tuple[int, ...]:
    """`1-32,247` as numbers, none twice. ValueError for anything else, and for an address no unit can have."""
    units: dict[int, None] = {}
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f"{part.strip()!r} is no unit address: write 1-32,247")
        low, high = int(first), int(last or first)
        if not 0 <= low <= high <= 255:
            raise ValueError(f"{part.strip()!r}: unit addresses run from 1 to 247 (0 to 255 on Modbus TCP)")
        units |= dict.fromkeys(range(low, high + 1))
    return tuple(units)
