"""What an instrument wants beyond being read: as data, with what the gateway does about each now, and what it refuses.

Nothing is ever written that the profile does not list as writable: triggers, and never a calibration, a zero or a unit.
"""

from dataclasses import dataclass

__all__ = ["MOST_WAIT_US", "NO_QUIRKS", "Quirks", "Start", "Trigger", "Wake", "Watchdog", "refused_on"]

MOST_WAIT_US = 2_000_000
"""The longest a device may take between a trigger and the read: the values of one poll are to be of one moment.

The others are asked meanwhile.
"""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Before each read: write `value` to `address` (function 6 or 16), wait, then read.

    Without it such a device returns its previous sample for ever. `wait_us` is the time from the write to valid data.
    """

    function: int
    address: int
    value: int
    wait_us: int = 0

    @property
    def request(self) -> bytes:
        """The PDU of the write."""
        head = bytes((self.function,)) + self.address.to_bytes(2, "big")
        value = self.value.to_bytes(2, "big")
        return head + value if self.function == 6 else head + b"\x00\x01\x02" + value


@dataclass(frozen=True, slots=True)
class Start:
    """Before the first read, again after a silence and every `every_us`: this PDU as it stands, then a wait.

    For devices that are started by a request of no registers, which the protocol forbids and a library refuses to make.
    A device that lost its power between two polls shows nothing of it, hence the repetition.
    """

    request: bytes
    wait_us: int = 0
    every_us: int | None = None

    def is_due(self, started_us: int | None, now_us: int) -> bool:
        """Whether the device must be told to start, given when it last was."""
        return started_us is None or (self.every_us is not None and now_us - started_us >= self.every_us)


@dataclass(frozen=True, slots=True)
class Wake:
    """A device left alone for `asleep_after_us` sleeps: its next answer is lost or old, so it is read twice.

    The first answer is thrown away; `wait_us` is the time between the two.
    """

    asleep_after_us: int
    wait_us: int = 0


@dataclass(frozen=True, slots=True)
class Watchdog:
    """A register that arms the device's own watchdog: `value` units of `unit_us` without a request put it to rest.

    What its outputs are then put to is set in the device, not from here.
    """

    address: int
    unit_us: int

    def value(self, after_us: int) -> int:
        """What to write for at least this long. ValueError when it does not fit the register."""
        value = -(-after_us // self.unit_us)
        if not 0 < value <= 0xFFFF:
            raise ValueError(f"the watchdog counts from 1 to 65535 times {self.unit_us / 1000:g} ms")
        return value


@dataclass(frozen=True, slots=True)
class Quirks:
    """All of them; most devices have none.

    `writable` are the only registers the gateway may write to, `writable_coils` the only coils, but for what the site
    file allows for itself. `refresh_us` is how often the device renews its values:
    reading faster gives the same number again.
    """

    trigger: Trigger | None = None
    start: Start | None = None
    wake: Wake | None = None
    writable: frozenset[int] = frozenset()
    refresh_us: int | None = None
    writable_coils: frozenset[int] = frozenset()
    watchdog: Watchdog | None = None


NO_QUIRKS = Quirks()

_FRAMING = {"modbus-rtu": "rtu", "modbus-rtu-over-tcp": "rtu", "modbus-ascii": "ascii"}


def refused_on(bus_kind: str, framings: tuple[str, ...]) -> str:
    """Why a device that is spoken to in these framings cannot be read on a bus of this kind; empty when it can.

    Behind Modbus TCP any framing may stand: the converter speaks it, not the gateway.
    """
    framing = _FRAMING.get(bus_kind)
    if framing is None or framing in framings:
        return ""
    spoken = " or ".join("TCP" if f == "tcp" else f"Modbus {f.upper()}" for f in framings)
    kinds = [kind for kind in ("modbus-rtu", "modbus-ascii", "modbus-tcp") if _FRAMING.get(kind, "tcp") in framings]
    advice = f"give it a bus of kind {' or '.join(kinds)}"
    if "tcp" not in framings:
        advice += ", or a converter from Modbus TCP that speaks it"
    return f"this instrument speaks {spoken}, which a {bus_kind} line cannot: {advice}"
