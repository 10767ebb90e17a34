"""A relay and contact module as it looks on the wire, and an autosampler wired to its relays. Pure: no I/O, no clock.

Everything that is written is counted here, at the far end: what the gateway says of itself proves nothing.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from gateway.outputs.wired import ContactRole, OutputRole
from gateway.site import Site
from simulators.instruments import Instrument, Point, Refusal

__all__ = ["Autosampler", "RelayModule", "attach_sampler"]


class RelayModule(Instrument):
    """Eight relays (coils 0 to 7) and eight inputs (discrete inputs 0 to 7).

    Waveshare Modbus RTU Relay (D), maker's wiki: relays by functions 1, 5 and 15, inputs by function 2. `rising` counts
    how often each relay closed, `written` every write in order; `stuck` relays take a write and do not move. With
    `watchdog_at` there is a register that arms a watchdog, as other makers' modules have; `armed` is what was written.
    """

    profile = "waveshare-relay-d8"
    functions = frozenset((1, 2, 5, 15))
    COUNT = 8

    def __init__(self, unit: int = 1, watchdog_at: int | None = None) -> None:
        super().__init__(unit)
        self.watchdog_at = watchdog_at
        self.armed: list[int] = []
        self.coils = [False] * self.COUNT
        self.inputs = [False] * self.COUNT
        self.rising: Counter[int] = Counter()
        self.written: list[tuple[int, bool]] = []
        self.stuck: set[int] = set()
        self.on_coil: Callable[[int, bool], None] | None = None
        self._asked = [False] * self.COUNT
        names = [f"DI{n + 1}" for n in range(self.COUNT)]
        self.points = {name: Point(name, "contact", "state", 1.0, n, words=1) for n, name in enumerate(names)}

    def bits(self, function: int) -> list[bool]:
        """The coils (function 1), the inputs (2), or what a write is confirmed with: as it was asked, moved or not."""
        return {1: self.coils, 2: self.inputs}.get(function, self._asked)

    def write_coils(self, address: int, states: Sequence[bool]) -> Refusal | None:
        """Write coils from an address on; the refusal when there is none there."""
        if self.silent or address + len(states) > self.COUNT:
            return Refusal.ILLEGAL_ADDRESS
        for place, state in enumerate(states, address):
            self.written.append((place, bool(state)))
            self._asked[place] = bool(state)
            if place in self.stuck:
                continue
            if state and not self.coils[place]:
                self.rising[place] += 1
            changed = self.coils[place] != bool(state)
            self.coils[place] = bool(state)
            if changed and self.on_coil is not None:
                self.on_coil(place, bool(state))
        return None

    def blocks(self) -> Sequence[tuple[int, int]]:
        """No registers."""
        return ()

    def _show(self, point: Point, value: float | None) -> None:
        """An input; without a value it stays as it is."""
        if value is not None:
            self.inputs[point.address] = value >= 0.5


class Autosampler:
    """Takes an aliquot at every so many pulses of the pace relay, and an event bottle at each of the grab relay.

    `taken_input` closes with each aliquot and opens when the relay does; `full_input` closes once the bottle is full.
    """

    def __init__(
        self,
        relays: RelayModule,
        *,
        pace: int | None = None,
        grab: int | None = None,
        taken_input: int | None = None,
        full_input: int | None = None,
        most_aliquots: int = 1000,
        pulses_per_aliquot: int = 1,
    ) -> None:
        self.pulses = self.grabs = 0
        self._each = pulses_per_aliquot
        self._relays = relays
        self._pace, self._grab = pace, grab
        self._taken, self._full = taken_input, full_input
        self._most = most_aliquots
        relays.on_coil = self._moved

    @property
    def aliquots(self) -> int:
        """How many are in the bottle."""
        return self.pulses // self._each

    def _moved(self, coil: int, closed: bool) -> None:
        if coil == self._grab:
            self.grabs += closed
        if coil != self._pace:
            return
        self.pulses += closed
        if self._taken is not None:
            self._relays.inputs[self._taken] = closed and self.pulses % self._each == 0
        if self._full is not None and self.aliquots >= self._most:
            self._relays.inputs[self._full] = True


def attach_sampler(site: Site, instruments: Mapping[str, Instrument]) -> Autosampler | None:
    """The sampler that a site's outputs and contacts describe, wired to its relay module; None when it has none.

    Contacts begin in their normal state.
    """
    modules = {name: one for name, one in instruments.items() if isinstance(one, RelayModule)}
    places: dict[ContactRole, int] = {}
    for name, spec in site.inputs.items():
        channel = site.channels[name]
        module = modules.get(channel.device or "")
        if module is not None:
            place = module.points[channel.point or ""].address
            module.inputs[place] = spec.normal
            places[spec.role] = place
    coils: dict[OutputRole, int] = {}
    driven: RelayModule | None = None
    for output in site.outputs.values():
        if output.pulsed and output.device in modules:
            coils[output.role] = output.address
            driven = modules[output.device]
    if driven is None:
        return None
    plan = site.sampler.composite
    return Autosampler(
        driven,
        pace=coils.get(OutputRole.SAMPLER_PACE),
        grab=coils.get(OutputRole.SAMPLER_GRAB),
        taken_input=places.get(ContactRole.SAMPLE_TAKEN),
        full_input=places.get(ContactRole.BOTTLE_FULL),
        most_aliquots=1000 if plan is None else plan.most_aliquots,
        pulses_per_aliquot=1 if plan is None else plan.pulses_per_aliquot,
    )
